// From three-address code to SUBLEQ, and the whole way from Python: as `subleq`, `writer` and `program` of
// attention_theory.looped_transformers.compiler. The rules come with the data, so that both have the same.
window.instruments.python_compile = (() => {
  "use strict";
  const { CompileError, read } = window.instruments.python_read;
  const { optimise, atEach, interval, wrap } = window.instruments.python_optimise;
  const { assemble } = window.instruments.subleq_core;

  // Cells for passing use, by the letters of the rules.
  const PASSING = Object.fromEntries([..."PQRSTUV"].map((letter, place) => [letter, `s_${place + 1}`]));
  const isCell = (operand) => typeof operand === "string";

  // Collects statements, their lines in the source, and the cells that they need.
  class Writer {
    constructor(code, bits, rules) {
      Object.assign(this, { code, bits, rules, statements: [], lines: [], labels: [], constants: new Map(), errors: new Map(), count: 0, line: 0 });
    }

    * write() {
      const known = yield* atEach(this.code, this.bits);
      this.code.instructions.forEach((one, place) => {
        this.line = one.line;
        this.instruction(one, known[place]);
      });
      this.line = 0;
      this.labels.push("_end");
      this.put("halt");
    }

    instruction(one, known) {
      switch (one.op) {
        case "label": return void this.labels.push(one.name);
        case "jump": return this.jump(one.label);
        case "stop": return one.error === null ? this.jump("_end") : this.stop(one.error);
        case "copy": return this.copy(one.target, one.source);
        case "compute": return this.compute(one);
        case "branch": return this.branch(one, known);
        case "load": return isCell(one.index) ? this.load(one, known) : this.copy(one.target, this.item(one.block, one.index));
        default: return isCell(one.index) ? this.store(one, known) : this.copy(this.item(one.block, one.index), one.source);
      }
    }

    // ---- Statements and cells ----

    // Write a statement behind the labels that wait for it.
    put(statement) {
      this.statements.push(this.labels.splice(0).map((label) => `${label}: `).join("") + statement);
      this.lines.push(this.line);
    }

    jump(label) { this.put(`goto ${label}`); }
    clear(cell) { this.put(`${cell} -= ${cell}`); }

    // A cell that holds a number; it may be moved and put back.
    number(value) {
      if (!this.constants.has(value)) this.constants.set(value, value >= 0 ? `c_${value}` : `c_m${-value}`);
      return this.constants.get(value);
    }

    // A cell with a number, to be read only.
    constant(number) {
      const value = wrap(number, this.bits);
      return value === 0 ? "zero" : value === -1 ? "minus_one" : this.number(value);
    }

    cell(operand) { return isCell(operand) ? operand : this.number(operand); }
    item(block, index) { return this.code.blocks.get(block).length > 1 ? `${block}[${index}]` : block; }

    // Put a rule's statements with the operands in place.
    rule(name, operands) {
      this.count += 1;
      const own = this.count;
      const word = (found, label, number, letter) => {
        if (label) return `r${own}_${label}`;
        if (number) return this.constant({ N: this.bits, "-N": -this.bits }[number] ?? Number(number));
        return operands[letter] ?? PASSING[letter];
      };
      for (const line of this.rules[name].split("\n").map((one) => one.trim()).filter(Boolean)) {
        const [, label, statement] = line.match(/^(?:\.(\w+):\s*)?(.*)$/);
        if (label) this.labels.push(`r${own}_${label}`);
        if (statement) this.put(statement.replace(/\.(\w+)|\{(-?\w+)\}|\b([A-Z])\b/g, word));
      }
    }

    stop(error) {
      const key = `${this.line} ${error}`;
      if (!this.errors.has(key)) this.errors.set(key, { number: this.errors.size + 1, line: this.line, error });
      const { number } = this.errors.get(key);
      if (number >= 2 ** (this.bits - 1)) throw new CompileError(`bits must suffice to number the places that may stop the program, got ${this.bits}`);
      this.put(`error -= ${this.constant(-number)}`);
      this.jump("_end");
    }

    // ---- Instructions ----

    addNumber(target, value) {
      if (wrap(value, this.bits)) this.put(`${target} -= ${this.constant(-value)}`);
    }

    copy(target, source) {
      if (!isCell(source)) {
        this.clear(target);
        this.addNumber(target, source);
      } else if (source !== target) this.rule("copy", { A: source, D: target });
    }

    compute({ target, left, operator, right }) {
      if (operator === "+") return this.add(target, left, right);
      if (operator === "-") return this.subtract(target, left, right);
      if (operator === "*") return this.multiply(target, left, right);
      const operands = { A: this.cell(left), B: this.cell(right), D: target };
      this.rule("divide", operands);
      return this.rule(operator === "//" ? "quotient" : "remainder", operands);
    }

    add(target, one, other) {
      const [left, right] = !isCell(one) || other === target ? [other, one] : [one, other];
      if (!isCell(right)) {
        this.copy(target, left);
        this.addNumber(target, right);
      } else if (left === target) {
        this.clear("s_1");
        this.put(`s_1 -= ${right}`);
        this.put(`${target} -= s_1`);
      } else this.rule("add", { A: this.cell(left), B: right, D: target });
    }

    subtract(target, left, right) {
      if (!isCell(right)) this.add(target, left, wrap(-right, this.bits));
      else if (right !== target) {
        this.copy(target, left);
        this.put(`${target} -= ${right}`);
      } else this.rule("subtract", { A: this.cell(left), B: right, D: target });
    }

    multiply(target, one, other) {
      const [left, right] = isCell(one) ? [one, other] : [other, one];
      if (isCell(left) && !isCell(right)) this.multiplyByNumber(target, left, right);
      else this.rule("multiply", { A: this.cell(left), B: this.cell(right), D: target });
    }

    // From the highest digit on: `s_1` is minus the multiple so far.
    multiplyByNumber(target, cell, value) {
      this.clear("s_1");
      [...Math.abs(value).toString(2)].forEach((digit, place) => {
        if (place) {
          this.clear("s_2");
          this.put("s_2 -= s_1");
          this.put("s_1 -= s_2");
        }
        if (digit === "1") this.put(`s_1 -= ${cell}`);
      });
      if (value <= 0) {
        this.clear("s_2");
        this.put("s_2 -= s_1");
      }
      this.clear(target);
      this.put(`${target} -= ${value > 0 ? "s_1" : "s_2"}`);
    }

    branch({ left, relation, right, label }, known) {
      if (relation === "<=" || relation === "==") return this.test(left, relation, right, label, known);
      const past = `p${this.count + 1}`; // past a jump that the opposite takes around it
      if (relation === "<") this.test(right, "<=", left, past, known);
      else this.test(left, "==", right, past, known);
      this.jump(label);
      return void this.labels.push(past);
    }

    // Branch to a label if `left <= right`, or if they are equal.
    test(left, relation, right, label, known) {
      if (relation === "==") {
        const [zero, other] = isCell(left) ? [right, left] : [left, right];
        const rule = zero === 0 ? "zero" : "equal";
        this.rule(rule, { A: this.cell(other), B: this.cell(zero), L: label });
      } else if (right === 0) this.rule("at most zero", { A: this.cell(left), L: label });
      else if (right === -1) this.rule("negative", { A: this.cell(left), L: label });
      else if (left === 0 || left === 1) {
        const past = `q${this.count + 1}`;
        this.rule(left === 0 ? "negative" : "at most zero", { A: this.cell(right), L: past });
        this.jump(label);
        this.labels.push(past);
      } else {
        const [low, high] = interval(left, known, this.bits), [least, most] = interval(right, known, this.bits), half = 2 ** (this.bits - 1);
        const near = -half <= low - most && high - least < half;
        this.rule(near ? "at most, near" : "at most", { A: this.cell(left), B: this.cell(right), L: label });
      }
    }

    // Count an index down to its case, and write each case where its code belongs.
    cases(block, index, known, write) {
      const [low, high] = interval(index, known, this.bits), { length } = this.code.blocks.get(block);
      const reachable = [];
      for (let item = Math.max(low, 0); item < Math.min(high + 1, length); item += 1) reachable.push(item);
      this.count += 1;
      const own = `k${this.count}`;
      this.copy("s_3", index);
      for (const item of reachable) {
        const step = item === 0 ? "zero" : this.constant(item === reachable[0] ? item : 1);
        this.put(`s_3 -= ${step} if <= 0 goto ${own}_${item}`);
      }
      if (high >= length) this.stop("IndexError");
      for (const item of reachable) {
        this.labels.push(`${own}_${item}`);
        write(item);
        if (item !== reachable[reachable.length - 1]) this.jump(`${own}_end`);
      }
      this.labels.push(`${own}_end`);
    }

    load({ target, block, index }, known) {
      this.clear("s_2");
      this.cases(block, index, known, (item) => this.put(`s_2 -= ${this.item(block, item)}`));
      this.clear(target);
      this.put(`${target} -= s_2`);
    }

    store({ block, index, source }, known) {
      const minus = isCell(source) ? "s_2" : this.constant(-source);
      if (isCell(source)) {
        this.clear("s_2");
        this.put(`s_2 -= ${source}`);
      }
      this.cases(block, index, known, (item) => {
        this.clear(this.item(block, item));
        if (minus !== "zero") this.put(`${this.item(block, item)} -= ${minus}`);
      });
    }

    // The cells and lists that are used, or are to be seen, with what they hold at the start.
    data() {
      const { cells, blocks, inputs, variables, result } = this.code;
      const used = new Set(this.statements.join("\n").match(/[a-z]\w*/g)), kept = new Set([...inputs, ...variables.keys(), result]);
      const data = new Map([...[...cells].map(([name, value]) => [name, [value]]), ...blocks]);
      for (const name of ["error", ...Object.values(PASSING)]) data.set(name, [0]);
      return [...[...data].filter(([name]) => used.has(name) || kept.has(name)), ...[...this.constants].map(([value, name]) => [name, [value]])];
    }
  }

  // Compile a text, bit by bit. What is given: `rules` of each instruction, `bits` of an integer, and `example`, arguments
  // that say which parameters are lists.
  function* compiling(source, { rules, bits = 8, example = null, shorter = true }) {
    const whole = read(source, bits, example);
    const code = shorter ? yield* optimise(whole, bits) : whole;
    const writer = new Writer(code, bits, rules);
    yield* writer.write();
    const data = writer.data(), least = -(2 ** (bits - 1));
    const shown = data.map(([name, values]) => `${name} = ${values.map((value) => Math.max(value, least + 1)).join(" ")}`);
    const listing = [...shown, "", ...writer.statements].join("\n");
    const program = assemble(listing, bits);
    const compiled = { code, listing, program, bits, lines: writer.lines, errors: [...writer.errors.values()].map(({ line, error }) => [line, error]) };
    for (const [name, values] of data) put(compiled, name, values);
    compiled.cells = new Map([...code.variables].flatMap(([cell, name]) => (program.blocks.has(cell) ? [[name, rangeOf(compiled, cell)]] : [])));
    return compiled;
  }

  // The same at once.
  function compile(source, options) {
    const steps = compiling(source, options);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  }

  const rangeOf = ({ program }, cell) => {
    const [start, size] = program.blocks.get(cell);
    return [start, start + size];
  };

  // Put numbers into the cells of a name, as the assembler's language cannot say them all.
  function put({ program }, name, values) {
    const [start] = program.blocks.get(name);
    values.forEach((value, place) => { program.memory[start + place] = value; });
  }

  // What the program gives, read from a memory: an error in Python's words, a value, or its variables by name.
  function answer({ code, program, errors }, memory) {
    const held = (name) => {
      const [start, size] = program.blocks.get(name);
      return code.blocks.has(name) ? memory.slice(start, start + size) : memory[start];
    };
    const number = program.blocks.has("error") ? held("error") : 0;
    if (number) return { error: `${errors[number - 1]?.[1] ?? "an unknown error"} in line ${errors[number - 1]?.[0] ?? "?"}` };
    if (code.result !== null) return { value: held(code.result) };
    if (code.inputs.length || !code.variables.size) return { value: null };
    return { variables: [...code.variables].flatMap(([cell, shown]) => (program.blocks.has(cell) ? [[shown, held(cell)]] : [])) };
  }

  return { CompileError, compiling, compile, answer };
})();
