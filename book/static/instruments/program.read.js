// From the tree of a Python program to three-address code on named cells: what is in the subset, and what is refused.
//
// As attention_theory.looped_transformers.compiler has it in `source` and `expressions`, rule by rule and word by word.
// An instruction is {op, line, ...}: copy, compute, load, store, branch, jump, label or stop. An operand is a number or
// the name of a cell.
window.instruments.python_read = (() => {
  "use strict";
  const { CompileError, refuseAt } = window.instruments.python_tokens;
  const { parse } = window.instruments.python_parse;
  const { words } = window.instruments.python_words;

  const MOST_CHARACTERS = 100000, MOST_INSTRUCTIONS = 4000;
  const OPERATORS = ["+", "-", "*", "//", "%"];
  // The relation between the operands; true where they change places.
  const RELATIONS = { "<": ["<", false], "<=": ["<=", false], ">": ["<", true], ">=": ["<=", true], "==": ["==", false], "!=": ["!=", false] };
  const NEGATED = { "<": ["<=", true], "<=": ["<", true], "==": ["!=", false], "!=": ["==", false] };
  // Names that the assembler, or this compiler, has for itself.
  const TAKEN = /^(zero|one|minus_one|junk|error|mem|goto|if|halt|(\w+_)?result|[tcsv]_\w+)$/;
  const NAMEABLE = /^[a-z]\w{0,30}$/;

  const refuse = (node, reason) => refuseAt(node.line ?? 1, reason);
  const isTemporary = (name) => name.startsWith("t_");
  const isNumber = (node) => node.kind === "Constant" && ["number", "bigint"].includes(typeof node.value);
  const minus = (node) => node.kind === "UnaryOp" && node.op === "-";
  const isCell = (place) => typeof place === "string";
  const calledBy = (node) => (node.kind === "Call" && node.func.kind === "Name" ? node.func.id : null);
  const copyOf = (known) => (known ? new Set(known) : null);
  const mod = (value, by) => ((value % by) + by) % by;

  // What is known on all ways on which a run can come.
  function all(ways) {
    const reached = ways.filter(Boolean);
    return reached.length ? new Set([...reached[0]].filter((name) => reached.every((way) => way.has(name)))) : null;
  }

  class Reader {
    constructor(bits) {
      Object.assign(this, { bits, functions: new Map(), constants: new Map(), code: [], cells: new Map(), blocks: new Map() });
      Object.assign(this, { frames: [], numbers: {}, variables: new Map(), named: new Map() });
    }

    // ---- Names and places ----

    get frame() { return this.frames[this.frames.length - 1]; }

    emit(instruction) {
      if (this.frame.known || ["label", "stop"].includes(instruction.op)) this.code.push(instruction);
      if (this.code.length > MOST_INSTRUCTIONS) refuseAt(instruction.line, `the program gets longer than ${MOST_INSTRUCTIONS} instructions`);
    }

    number(kind) {
      this.numbers[kind] = (this.numbers[kind] ?? 0) + 1;
      return this.numbers[kind];
    }

    label() { return `L${this.number("label")}`; }
    mark(name, line) { this.emit({ op: "label", name, line }); }
    jump(label, line) { this.emit({ op: "jump", label, line }); }
    branch(left, relation, right, label, line) { this.emit({ op: "branch", left, relation, right, label, line }); }
    copy(target, source, line) { this.emit({ op: "copy", target, source, line }); }

    temporary() {
      const name = `t_${this.number("temporary")}`;
      this.cells.set(name, 0);
      return name;
    }

    copied(node, value) {
      const cell = this.temporary();
      this.copy(cell, value, node.line ?? 0);
      return cell;
    }

    // The cell of a variable of this function; its name is the variable's where the assembler can say it.
    place(name) {
      const known = this.frame.places.get(name);
      if (isCell(known)) return known;
      const cell = this.nameOf(name);
      this.frame.places.set(name, cell);
      if (!this.cells.has(cell)) this.cells.set(cell, 0);
      return cell;
    }

    nameOf(name) {
      const key = `${this.frame.name} ${name}`, wanted = `${this.frame.prefix}${name}`;
      if (!this.named.has(key)) {
        const usable = NAMEABLE.test(wanted) && !TAKEN.test(wanted) && !this.cells.has(wanted) && !this.blocks.has(wanted);
        const cell = usable ? wanted : `v_${this.number("variable")}`;
        this.named.set(key, cell);
        this.variables.set(cell, wanted);
      }
      return this.named.get(key);
    }

    know(name) { this.frame.known?.add(name); }

    newList(node, name, values) {
      if (!values.length) refuse(node, `the list '${name}' has no items; its length is fixed, so it needs at least one`);
      const block = this.nameOf(name);
      if (!this.blocks.has(block)) this.blocks.set(block, values);
      this.frame.places.set(name, { block });
      return block;
    }

    // The value of a name.
    cell(node, name) {
      const place = this.frame.places.get(name);
      if (place === undefined && this.constants.has(name)) return this.constants.get(name);
      if (place?.block) refuse(node, `'${name}' is a list where a number must be`);
      if (this.frame.known && (place === undefined || !this.frame.known.has(name))) {
        refuse(node, `'${name}' has no value${place !== undefined ? " on every way that leads here" : ""}`);
      }
      return place ?? 0;
    }

    // The list that a name stands for.
    block(node) {
      if (node.kind !== "Name") refuse(node, "a list must have a name");
      const place = this.frame.places.get(node.id);
      if (!place?.block || (this.frame.known && !this.frame.known.has(node.id))) {
        refuse(node, isCell(place) ? `'${node.id}' is no list` : `'${node.id}' has no value`);
      }
      return place.block;
    }

    fits(node, value) {
      const half = 2 ** (this.bits - 1);
      if (!(-half <= value && value < half)) refuse(node, `${Math.abs(Number(value)) < 1e20 ? value : "a number of more than 20 digits"} does not fit in ${this.bits} bits, which hold ${-half} to ${half - 1}`);
      return value;
    }

    literal(node) {
      if (isNumber(node)) return this.fits(node, node.value);
      if (minus(node) && isNumber(node.operand)) return this.fits(node, -node.operand.value) + 0;
      if (node.kind === "Name" && this.constants.has(node.id) && !(this.frames.length && this.frame.places.has(node.id))) return this.constants.get(node.id);
      return refuse(node, "a number is needed here that is known before the program runs");
    }

    // ---- Expressions ----

    value(node) {
      switch (node.kind) {
        case "Constant":
          if (isNumber(node)) return this.literal(node);
          break;
        case "Name": return this.cell(node, node.id);
        case "UnaryOp":
          if (node.op === "not") return this.truth(node);
          if (node.op === "-") return isNumber(node.operand) ? this.literal(node) : this.compute(node, 0, "-", this.value(node.operand));
          if (node.op === "+") return this.value(node.operand);
          break;
        case "BinOp": {
          const left = this.value(node.left);
          return this.compute(node, left, node.op, this.value(node.right));
        }
        case "Compare": return this.truth(node);
        case "BoolOp": return this.firstThatDecides(node, node.op === "or", node.values);
        case "IfExp": return this.choice(node);
        case "Subscript": {
          const block = this.block(node.value), target = this.temporary();
          this.emit({ op: "load", target, block, index: this.index(node.slice, block), line: node.line });
          return target;
        }
        case "Call": return this.call(node, true);
        case "List": case "Tuple": refuse(node, "a list must get a name: xs = [...]");
      }
      return refuse(node, `'${words(node)}' is not in the subset of Python that is compiled`);
    }

    compute(node, left, operator, right) {
      if (!OPERATORS.includes(operator)) refuse(node, `'${words(node)}' has another operator than + - * // and %`);
      const line = node.line ?? 0, target = this.temporary();
      if (operator === "//" || operator === "%") {
        const fine = this.label();
        this.branch(right, "!=", 0, fine, line);
        this.emit({ op: "stop", error: "ZeroDivisionError", line });
        this.mark(fine, line);
      }
      this.emit({ op: "compute", target, left, operator, right, line });
      return target;
    }

    truth(node) {
      const target = this.temporary(), end = this.label();
      this.copy(target, 1, node.line);
      this.jumpIf(node, end, true);
      this.copy(target, 0, node.line);
      this.mark(end, node.line);
      return target;
    }

    firstThatDecides(node, when, values) {
      const target = this.temporary(), end = this.label();
      values.forEach((value, place) => {
        this.copy(target, this.value(value), node.line);
        if (place < values.length - 1) this.branch(target, when ? "!=" : "==", 0, end, node.line);
      });
      this.mark(end, node.line);
      return target;
    }

    choice(node) {
      const [target, otherwise, end] = [this.temporary(), this.label(), this.label()];
      this.jumpIf(node.test, otherwise, false);
      this.copy(target, this.value(node.body), node.line);
      this.jump(end, node.line);
      this.mark(otherwise, node.line);
      this.copy(target, this.value(node.orelse), node.line);
      this.mark(end, node.line);
      return target;
    }

    // Jump where the condition is as wanted, else go on.
    jumpIf(node, label, when) {
      if (node.kind === "UnaryOp" && node.op === "not") this.jumpIf(node.operand, label, !when);
      else if (node.kind === "BoolOp") {
        const on = this.label(), decisive = node.op === "or";
        for (const value of node.values.slice(0, -1)) this.jumpIf(value, decisive === when ? label : on, decisive);
        this.jumpIf(node.values[node.values.length - 1], label, when);
        this.mark(on, node.line);
      } else if (node.kind === "Compare") this.jumpIfCompared(node, [node.left, ...node.comparators], label, when);
      else if (isNumber(node)) {
        if (Boolean(node.value) === when) this.jump(label, node.line);
      } else this.branch(this.value(node), when ? "!=" : "==", 0, label, node.line);
    }

    // `a < b < c`: each term once, and no further than the first relation that fails.
    jumpIfCompared(node, terms, label, when) {
      const out = this.label();
      let left = this.value(terms[0]);
      node.ops.forEach((op, number) => {
        if (!(op in RELATIONS)) refuse(node, `'${words(node)}' has another comparison than < <= > >= == and !=`);
        const right = this.value(terms[number + 1]);
        let [relation, swapped] = RELATIONS[op];
        const last = number === node.ops.length - 1;
        if (!(last && when)) {
          const [negated, other] = NEGATED[relation];
          [relation, swapped] = [negated, swapped !== other];
        }
        const [first, second] = swapped ? [right, left] : [left, right];
        this.branch(first, relation, second, last || !when ? label : out, node.line);
        left = right;
      });
      this.mark(out, node.line);
    }

    // An index of a list, counted from its end where it is negative.
    index(node, block) {
      const { length } = this.blocks.get(block);
      if (node.kind === "Slice" || node.kind === "Tuple") refuse(node, "an index is one number");
      const index = this.value(node);
      if (typeof index === "number") {
        if (!(-length <= index && index < length)) this.emit({ op: "stop", error: "IndexError", line: node.line });
        return mod(index, length);
      }
      const place = this.copied(node, index), fine = this.label();
      this.branch(0, "<=", place, fine, node.line);
      this.emit({ op: "compute", target: place, left: place, operator: "+", right: this.fits(node, length), line: node.line });
      this.branch(0, "<=", place, fine, node.line);
      this.emit({ op: "stop", error: "IndexError", line: node.line });
      this.mark(fine, node.line);
      return place;
    }

    // ---- Functions ----

    call(node, wanted) {
      const name = calledBy(node);
      if (name === null || node.keywords.length) refuse(node, "a call names a function and gives its arguments in order");
      if (this.frame.places.has(name)) refuse(node, `'${name}' is a variable here, and no function`);
      if (name === "len" && !this.functions.has(name) && node.args.length === 1) return this.fits(node, this.blocks.get(this.block(node.args[0])).length);
      if (!this.functions.has(name)) refuse(node, `there is no function '${name}'; there are ${["len", ...this.functions.keys()].join(", ")}`);
      if (this.frames.some((frame) => frame.name === name)) refuse(node, `'${name}' calls itself; there is no recursion`);
      const made = this.functions.get(name), parameters = made.args.args.map(({ arg }) => arg);
      if (parameters.length !== node.args.length) refuse(node, `'${name}' takes ${parameters.length} arguments, got ${node.args.length}`);
      return this.writeOut(node, made, parameters, wanted);
    }

    newFrame(name, prefix, given, known = new Set()) {
      return { name, prefix, end: this.label(), places: new Map(), known, returns: [], loops: [], given, walked: [] };
    }

    // A function that is called is written out at its place.
    writeOut(node, made, parameters, wanted) {
      const caller = this.frame, given = node.args.map((one) => this.argument(one));
      const frame = this.newFrame(made.name, `${made.name}_`, parameters, caller.known ? new Set() : null);
      this.frames.push(frame);
      parameters.forEach((name, place) => {
        if (given[place]?.block) frame.places.set(name, given[place]);
        else this.copy(this.place(name), given[place], node.line);
        this.know(name);
      });
      this.statements(made.body);
      this.mark(frame.end, node.line);
      const fallsThrough = frame.known !== null;
      this.frames.pop();
      if (!wanted) {
        if (!fallsThrough && !frame.returns.length) caller.known = null;
        return null;
      }
      if (caller.known && (fallsThrough || frame.returns.includes("none"))) refuse(node, `'${made.name}' may end without a value`);
      const result = `${made.name}_result`;
      if (!this.cells.has(result)) this.cells.set(result, 0);
      return this.copied(node, result);
    }

    argument(node) {
      if (node.kind === "Name" && this.frame.places.get(node.id)?.block) return { block: this.block(node) };
      return this.value(node);
    }

    // ---- The program ----

    read(tree, example) {
      const body = [...tree.body];
      body.filter(({ kind }) => kind === "FunctionDef").forEach((node) => this.define(node));
      if (!example && this.functions.size && body.length && body[body.length - 1].kind === "Expr") example = this.given(body.pop());
      const statements = body.filter((node) => node.kind !== "FunctionDef" && !(node.kind === "Expr" && node.value.text));
      if (this.functions.size) this.readConstants(statements);
      if (this.functions.size) return this.entry([...this.functions.values()].pop(), example);
      if (!statements.length) refuse(tree, "the source has no statement");
      const frame = this.newFrame("the program", "", []);
      this.frames.push(frame);
      this.statements(statements);
      return this.finish(frame, [], null);
    }

    define(node) {
      const { posonlyargs, args, vararg, kwarg, kwonlyargs, defaults } = node.args, names = args.map(({ arg }) => arg);
      if (vararg || kwarg || [posonlyargs, kwonlyargs, defaults, node.decorators].some(({ length }) => length)) {
        refuse(node, "a function has plain parameters, without defaults, stars, slashes or decorators");
      }
      const twice = names.find((name, place) => names.indexOf(name) < place);
      if (twice) refuse(node, `the parameter '${twice}' is there twice`);
      if (this.functions.has(node.name)) refuse(node, `the function '${node.name}' is defined twice`);
      this.functions.set(node.name, node);
    }

    // `N = 8` outside of functions: a constant.
    readConstants(statements) {
      for (const node of statements) {
        const [target] = node.targets ?? [];
        const constant = node.kind === "Assign" && node.targets.length === 1 && target.kind === "Name" && !this.constants.has(target.id) && !this.functions.has(target.id);
        if (!constant) refuse(node, "beside functions, only constants such as N = 8 and, last, a call");
        this.constants.set(target.id, this.literal(node.value));
      }
    }

    // The arguments of a call in the last line.
    given(node) {
      const entry = [...this.functions.keys()].pop(), call = node.value;
      if (calledBy(call) !== entry || call.keywords.length) {
        refuse(node, `the last line may only call '${entry}', the last function, with numbers and lists of numbers`);
      }
      return call.args.map((one) => (one.kind === "List" ? one.elts.map((item) => this.literal(item)) : this.literal(one)));
    }

    entry(made, example) {
      const parameters = made.args.args.map(({ arg }) => arg), given = example ?? parameters.map(() => 0);
      if (given.length !== parameters.length) refuse(made, `'${made.name}' takes ${parameters.length} arguments, got ${given.length}`);
      const frame = this.newFrame(made.name, "", parameters);
      this.frames.push(frame);
      parameters.forEach((name, place) => this.bind(made, name, given[place]));
      const inputs = parameters.map((name) => frame.places.get(name).block ?? frame.places.get(name));
      this.statements(made.body);
      return this.finish(frame, inputs, this.result(made, frame));
    }

    finish(frame, inputs, result) {
      this.mark(frame.end, 0);
      this.emit({ op: "stop", error: null, line: 0 });
      return { name: frame.name, instructions: this.code, cells: this.cells, blocks: this.blocks, inputs, result, variables: this.variables };
    }

    // Give a parameter of the program its place and what it holds.
    bind(node, name, value) {
      if (Array.isArray(value)) this.newList(node, name, value.map((item) => this.fits(node, item)));
      else this.cells.set(this.place(name), this.fits(node, value));
      this.know(name);
    }

    result(made, frame) {
      const kinds = new Set([...frame.returns, ...(frame.known ? ["none"] : [])]);
      if (kinds.size > 1) refuse(made, `'${made.name}' returns a value on some ways and none, or another list, on others`);
      const [kind] = kinds.size ? kinds : ["none"];
      return kind === "none" ? null : kind === "int" ? "result" : kind.slice("list ".length);
    }

    // ---- Statements ----

    statements(nodes) { nodes.forEach((node) => this.statement(node)); }

    statement(node) {
      switch (node.kind) {
        case "Assign":
          if (node.targets.length === 1) return this.assign(node, node.targets[0], node.value);
          break;
        case "AugAssign": return this.augment(node, node.target, node.op, node.value);
        case "AnnAssign":
          if (node.value) return this.assign(node, node.target, node.value);
          break;
        case "If": return this.if_(node);
        case "While": return this.while_(node);
        case "For": return this.for_(node);
        case "Break": case "Continue": return this.leave(node);
        case "Return": return this.return_(node);
        case "Assert": {
          const passed = this.label();
          this.jumpIf(node.test, passed, true);
          this.emit({ op: "stop", error: "AssertionError", line: node.line });
          return this.mark(passed, node.line);
        }
        case "Pass": return undefined;
        case "Expr":
          if (node.value.kind === "Constant") return undefined;
          if (node.value.kind === "Call") return this.call(node.value, false);
          break;
      }
      return refuse(node, `'${words(node)}' is not in the subset of Python that is compiled`);
    }

    assign(node, target, value) {
      if (target.kind === "Tuple" && value.kind === "Tuple" && target.elts.length === value.elts.length) this.assignAtOnce(node, target.elts, value.elts);
      else if (target.kind === "Name" && (value.kind === "List" || (value.kind === "BinOp" && value.left.kind === "List"))) this.makeList(node, target.id, value);
      else if (target.kind === "Name" || target.kind === "Subscript") this.set(node, target, this.value(value));
      else if (target.kind === "Tuple") refuse(node, "as many values as names are needed on the right");
      else refuse(node, `'${words(target)}' cannot be assigned to here`);
    }

    // `a, b = b, a`: all values first. A name that an earlier target changes is kept in a cell apart.
    assignAtOnce(node, targets, values) {
      const changed = new Set(targets.slice(0, -1).filter(({ kind }) => kind === "Name").map(({ id }) => id));
      const kept = values.map((value) => {
        const operand = this.value(value);
        return value.kind === "Name" && changed.has(value.id) ? this.copied(value, operand) : operand;
      });
      targets.forEach((target, place) => this.set(node, target, kept[place]));
    }

    set(node, target, value) {
      if (target.kind === "Name") {
        this.refuseConstant(node, target.id);
        if (this.frame.places.get(target.id)?.block) refuse(node, `'${target.id}' is a list and stays one`);
        this.copy(this.place(target.id), value, node.line);
        this.know(target.id);
      } else if (target.kind === "Subscript") {
        const block = this.block(target.value);
        this.emit({ op: "store", block, index: this.index(target.slice, block), source: value, line: node.line });
      } else refuse(node, `'${words(target)}' cannot be assigned to`);
    }

    refuseConstant(node, name) {
      if (this.functions.has(name) || this.constants.has(name)) refuse(node, `'${name}' is a function or a constant`);
    }

    // `xs = [1, a, 3]` or `xs = [a] * 8`. The cells are filled each time that the statement is reached.
    makeList(node, name, value) {
      let operands;
      if (value.kind === "List") operands = value.elts.map((item) => this.value(item));
      else if (value.op === "*" && value.left.elts.length === 1) {
        const length = this.literal(value.right);
        if (!(1 <= length && length <= MOST_INSTRUCTIONS)) refuse(node, `a list has at least one item, got ${length}`);
        operands = Array(length).fill(this.value(value.left.elts[0]));
      } else refuse(node, "a list is written as [a, b, c] or [a] * length");
      const place = this.frame.places.get(name);
      if (isCell(place) || (place?.block && this.blocks.get(place.block).length !== operands.length)) refuse(node, `'${name}' has another kind or length already`);
      this.refuseConstant(node, name);
      if (this.frame.given.includes(name)) refuse(node, `'${name}' belongs to the caller; a new list needs a new name`);
      const block = this.newList(node, name, operands.map(() => 0));
      if (this.frame.walked.includes(block)) refuse(node, `a loop goes over '${name}'; a new list needs a new name`);
      operands.forEach((source, index) => this.emit({ op: "store", block, index, source, line: node.line }));
      this.know(name);
    }

    augment(node, target, op, value) {
      if (target.kind === "Name") {
        const before = this.cell(target, target.id);
        this.set(node, target, this.compute(node, before, op, this.value(value)));
      } else if (target.kind === "Subscript") {
        const block = this.block(target.value), index = this.index(target.slice, block), before = this.temporary();
        this.emit({ op: "load", target: before, block, index, line: node.line });
        const after = this.compute(node, before, op, this.value(value));
        this.emit({ op: "store", block, index, source: after, line: node.line });
      } else refuse(node, `'${words(target)}' cannot be assigned to`);
    }

    if_(node) {
      const otherwise = this.label(), end = this.label(), { frame } = this;
      this.jumpIf(node.test, otherwise, false);
      const before = copyOf(frame.known);
      this.statements(node.body);
      if (node.orelse.length) this.jump(end, node.line);
      this.mark(otherwise, node.line);
      const after = frame.known;
      frame.known = before;
      this.statements(node.orelse);
      this.mark(end, node.line);
      frame.known = all([after, frame.known]);
    }

    // The test is at the end of the loop, so that a round has one jump; the first test is a jump there.
    while_(node) {
      this.refuseElse(node);
      const [body, test, end] = [this.label(), this.label(), this.label()], { frame } = this;
      const endless = isNumber(node.test) && Boolean(node.test.value);
      const before = copyOf(frame.known);
      if (!endless) this.jump(test, node.line);
      const breaks = this.loop(body, test, end, () => this.statements(node.body));
      frame.known = copyOf(before);
      this.mark(test, node.line);
      this.jumpIf(node.test, body, true);
      this.mark(end, node.line);
      frame.known = before && all(endless ? breaks : [...breaks, before]);
    }

    refuseElse(node) {
      if (node.orelse.length) refuse(node.orelse[0], "a loop has no else here");
    }

    // The body of a loop; returns what is known at its breaks.
    loop(body, again, end, write) {
      const breaks = [];
      this.mark(body, 0);
      this.frame.loops.push([again, end, breaks]);
      write();
      this.frame.loops.pop();
      return breaks;
    }

    for_(node) {
      this.refuseElse(node);
      if (node.target.kind !== "Name") refuse(node, "a loop has one variable");
      const { iter } = node, ends = iter.args ?? [];
      const ranges = calledBy(iter) === "range" && ends.length >= 1 && ends.length <= 3 && !iter.keywords.length;
      if (ranges && !this.functions.has("range") && !this.frame.places.has("range")) this.forRange(node, ends);
      else if (iter.kind === "Name") this.forList(node, this.block(iter));
      else refuse(node, "a loop goes over a range(...) or over a list with a name");
    }

    forList(node, block) {
      this.frame.walked.push(block);
      this.count(node, 0, this.blocks.get(block).length, 1, (index) => {
        const target = this.temporary();
        this.emit({ op: "load", target, block, index, line: node.line });
        return target;
      });
      this.frame.walked.pop();
    }

    forRange(node, ends) {
      const start = ends.length > 1 ? this.value(ends[0]) : 0;
      let stop = this.value(ends.length > 1 ? ends[1] : ends[0]);
      const step = ends.length > 2 ? this.literal(ends[2]) : 1;
      if (step === 0) refuse(node, "the step of a range is not 0");
      // The body may change the cell that said where to stop.
      if (isCell(stop) && !isTemporary(stop)) stop = this.copied(node, stop);
      this.count(node, start, stop, step, (counter) => counter);
    }

    // The loop of a counter that is not the variable, since the body may change that. It is tested before it is moved.
    count(node, start, stop, step, item) {
      const { line } = node, [body, again, end] = [this.label(), this.label(), this.label()], { frame } = this;
      const counter = this.copied(node, start), before = copyOf(frame.known), half = 2 ** (this.bits - 1);
      const runs = typeof start === "number" && typeof stop === "number" && (step > 0 ? start < stop : start > stop);
      if (!runs) this.branch(step > 0 ? stop : counter, "<=", step > 0 ? counter : stop, end, line);
      const breaks = this.loop(body, again, end, () => {
        this.set(node, node.target, item(counter));
        this.statements(node.body);
      });
      const ended = frame.known;
      frame.known = copyOf(before);
      this.mark(again, line);
      if (Math.abs(step) > 1) {
        const room = step > 0 ? half - 1 - step : -half - step;
        this.branch(step > 0 ? room : counter, "<", step > 0 ? counter : room, end, line);
      }
      this.emit({ op: "compute", target: counter, left: counter, operator: "+", right: step, line });
      this.branch(step > 0 ? counter : stop, "<", step > 0 ? stop : counter, body, line);
      this.mark(end, line);
      frame.known = before && all([...breaks, runs && !continues(node) ? ended : before]);
    }

    leave(node) {
      const { frame } = this;
      if (!frame.loops.length) refuse(node, "there is no loop to leave");
      const [again, end, breaks] = frame.loops[frame.loops.length - 1], breaking = node.kind === "Break";
      this.jump(breaking ? end : again, node.line);
      if (breaking && frame.known) breaks.push(new Set(frame.known));
      frame.known = null;
    }

    return_(node) {
      const { frame } = this;
      if (this.frames.length === 1 && frame.name === "the program") refuse(node, "return is outside of a function");
      let kind = "none";
      if (node.value?.kind === "Name" && frame.places.get(node.value.id)?.block) {
        kind = `list ${this.block(node.value)}`;
        if (this.frames.length > 1) refuse(node, "only the last function returns a list; others change the lists that they are given");
      } else if (node.value && node.value.word !== "None") {
        const result = `${frame.prefix}result`;
        kind = "int";
        if (!this.cells.has(result)) this.cells.set(result, 0);
        this.copy(result, this.value(node.value), node.line);
      }
      if (frame.known) frame.returns.push(kind);
      this.jump(frame.end, node.line);
      frame.known = null;
    }
  }

  // Whether a `continue` is anywhere in a node.
  function continues(node) {
    if (Array.isArray(node)) return node.some(continues);
    return node !== null && typeof node === "object" && (node.kind === "Continue" || Object.values(node).some(continues));
  }

  // Arguments from their text, as in a call: integers, lists of integers, and `[0] * 30`.
  function readArguments(text) {
    const wrong = () => { throw new CompileError("the arguments are integers and lists of integers, such as 48, [3, 1, 2]"); };
    const one = (node) => {
      if (isNumber(node)) return node.value;
      if (minus(node) && isNumber(node.operand)) return 0 - Number(node.operand.value);
      if (node.kind === "List") return node.elts.some(({ kind }) => kind === "List") ? wrong() : node.elts.map(one);
      const [list, times] = node.kind === "BinOp" && node.op === "*" ? [one(node.left), one(node.right)] : [];
      return Array.isArray(list) && list.length === 1 && typeof times === "number" && times >= 0 && times <= MOST_INSTRUCTIONS ? Array(times).fill(list[0]) : wrong();
    };
    let tree;
    try {
      tree = text.length > MOST_CHARACTERS ? wrong() : parse(`f(${text.replaceAll("−", "-")})`);
    } catch {
      wrong();
    }
    const [{ value }] = tree.body;
    if (tree.body.length > 1 || value?.kind !== "Call" || value.func.id !== "f" || value.keywords.length) wrong();
    return value.args.map(one);
  }

  // How a program is given its arguments: by its last line, "call"; by a reader, "field"; or there are none.
  function argumentsOf(source) {
    const { body } = parse(source), entry = body.filter(({ kind }) => kind === "FunctionDef").pop();
    if (!entry) return "none";
    return body[body.length - 1].kind === "Expr" && !body[body.length - 1].value.text ? "call" : "field";
  }

  // Read a program; the last line, where it only calls the last function, gives the arguments, and so does `example`.
  function read(source, bits, example = null) {
    if (source.length > MOST_CHARACTERS && [...source].length > MOST_CHARACTERS) {
      refuseAt(1, `at most ${MOST_CHARACTERS} characters are read, the source has more`);
    }
    const tree = parse(source);
    try {
      return new Reader(bits).read(tree, example);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return refuseAt(1, "the source is nested too deeply");
    }
  }

  return { CompileError, read, readArguments, argumentsOf, isTemporary, mod };
})();
