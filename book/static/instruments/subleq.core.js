// SUBLEQ in a transformer, without a page: what attention_theory.looped_transformers has as FrozenSubleq, assemble and
// interpret. A machine is computed from its weights.
window.instruments.subleq_core = (() => {
  "use strict";
  const RESERVED = [0, -1];

  // ---- The transformer ----

  // A matrix from {shape, entries}, sorted by row: the rows that have entries, where those of each begin, and the entries.
  function byRow({ entries }) {
    const rows = [...new Set(entries.map(([row]) => row))];
    const starts = rows.map((row) => entries.findIndex((entry) => entry[0] === row));
    return {
      rows: Int32Array.from(rows),
      starts: Int32Array.from([...starts, entries.length]),
      columns: Int32Array.from(entries, (entry) => entry[1]),
      values: Float64Array.from(entries, (entry) => entry[2]),
    };
  }

  // The machine of a data file. `turned` turns the sign of one weight, the first of W2 in the layer that writes.
  function machine(data, { temperature = data.temperature, turned = false } = {}) {
    const [columns, rows] = data.state;
    const layers = data.layers.map((layer) => ({
      name: layer.name,
      heads: layer.heads.map((head) => ({ name: head.name, key: byRow(head.K), query: byRow(head.Q), value: byRow(head.V) })),
      hidden: layer.b1.length,
      inner: byRow(layer.W1),
      b1: layer.b1,
      outer: byRow(layer.W2),
      b2: layer.b2,
    }));
    if (turned) {
      const { values } = layers.find((layer) => layer.name.startsWith("write")).outer;
      values[0] = -values[0];
    }
    return { ...data, columnsOf: data.columns, rowsOf: data.rows, layers, columns, rows, temperature };
  }

  // A matrix times the entries of `from` that begin at `offset`, into `result`: a number for each row that has entries.
  function times({ starts, columns, values }, from, offset, result) {
    for (let place = 0; place < starts.length - 1; place += 1) {
      let sum = 0;
      for (let k = starts[place]; k < starts[place + 1]; k += 1) sum += values[k] * from[offset + columns[k]];
      result[place] = sum;
    }
  }

  // A matrix times every column of the state.
  function project(matrix, state, { columns, rows }) {
    const made = Array.from({ length: columns }, () => new Float64Array(matrix.rows.length));
    made.forEach((result, column) => times(matrix, state, column * rows, result));
    return made;
  }

  // Eq. (1a): every column attends to every column. Returns the new state and the weights of each head, row by row.
  function attend(layer, state, made) {
    const { columns, rows, temperature } = made;
    const result = state.slice();
    const attention = layer.heads.map((head) => {
      const [keys, queries, values] = [head.key, head.query, head.value].map((matrix) => project(matrix, state, made));
      const weights = new Float64Array(columns * columns);
      for (let asks = 0; asks < columns; asks += 1) {
        const row = weights.subarray(asks * columns, (asks + 1) * columns);
        let best = -Infinity;
        for (let other = 0; other < columns; other += 1) {
          let score = 0;
          for (let k = 0; k < queries[asks].length; k += 1) score += queries[asks][k] * keys[other][k];
          row[other] = temperature * score;
          best = Math.max(best, row[other]);
        }
        let total = 0;
        for (let other = 0; other < columns; other += 1) total += row[other] = Math.exp(row[other] - best);
        for (let other = 0; other < columns; other += 1) row[other] /= total;
        head.value.rows.forEach((target, place) => {
          let sum = 0;
          for (let other = 0; other < columns; other += 1) sum += row[other] * values[other][place];
          result[asks * rows + target] += sum;
        });
      }
      return { name: head.name, weights };
    });
    return { state: result, attention };
  }

  // Eq. (1b): ReLU units, in every column.
  function feedForward(layer, state, { columns, rows }) {
    const result = state.slice();
    const sums = new Float64Array(layer.inner.rows.length);
    const outputs = new Float64Array(layer.outer.rows.length);
    const hidden = new Float64Array(layer.hidden);
    for (let column = 0; column < columns; column += 1) {
      const offset = column * rows;
      times(layer.inner, state, offset, sums);
      hidden.set(layer.b1);
      for (let place = 0; place < sums.length; place += 1) hidden[layer.inner.rows[place]] += sums[place];
      for (let unit = 0; unit < hidden.length; unit += 1) hidden[unit] = Math.max(hidden[unit], 0);
      times(layer.outer, hidden, 0, outputs);
      for (let place = 0; place < outputs.length; place += 1) result[offset + layer.outer.rows[place]] += outputs[place];
      for (let row = 0; row < rows; row += 1) result[offset + row] += layer.b2[row];
    }
    return result;
  }

  // One cycle: for each layer its name, the weights of its heads and the state after it.
  function cycle(made, state) {
    return made.layers.map((layer) => {
      const attended = attend(layer, state, made);
      state = feedForward(layer, attended.state, made);
      return { name: layer.name, attention: attended.attention, state };
    });
  }

  // The same cycle again and again, with less work: `pass` gives what `cycle` gives. In every layer a column is computed
  // again only if what it is made of has changed since the pass before by more than TINY, which nothing of size 1 can show.
  const TINY = 1e-18;

  function follow(made, start) {
    const { columns: count, rows, temperature } = made;
    const sizes = (matrix) => matrix.rows.length;
    const numbers = (...lengths) => new Float64Array(lengths.reduce((product, length) => product * length, 1));
    const kept = made.layers.map((layer) => ({
      layer,
      input: numbers(count, rows).fill(NaN),
      output: numbers(count, rows),
      sums: numbers(sizes(layer.inner)),
      hidden: numbers(layer.hidden),
      outputs: numbers(sizes(layer.outer)),
      heads: layer.heads.map((head) => ({
        head, keys: numbers(count, sizes(head.key)), queries: numbers(count, sizes(head.query)), values: numbers(count, sizes(head.value)),
        weights: numbers(count, count), best: numbers(count), total: numbers(count), read: numbers(count, sizes(head.value)),
      })),
    }));
    // What a pass shows; the next pass writes over it.
    const trace = kept.map(({ layer, heads, output }) => ({
      name: layer.name, attention: heads.map(({ head, weights }) => ({ name: head.name, weights })), state: output,
    }));
    let [state, moved] = [start, Array.from({ length: count }, (_, column) => column)];

    // Take over what has changed in a column, and say whether anything has.
    function renew(kept, offset, from, start, length) {
      let differs = false;
      for (let k = 0; k < length; k += 1) {
        if (!(Math.abs(from[start + k] - kept[offset + k]) <= TINY)) differs = true;
      }
      if (differs) for (let k = 0; k < length; k += 1) kept[offset + k] = from[start + k];
      return differs;
    }

    function project(matrix, from, column, into) {
      const found = numbers(sizes(matrix));
      times(matrix, from, column * rows, found);
      return renew(into, column * found.length, found, 0, found.length);
    }

    function score({ queries, keys, head }, asks, other) {
      const length = sizes(head.query);
      let sum = 0;
      for (let k = 0; k < length; k += 1) sum += queries[asks * length + k] * keys[other * length + k];
      return temperature * sum;
    }

    // One row of the attention matrix, and what it reads.
    function readRow(each, asks) {
      const { weights, values, read, best, total } = each, length = sizes(each.head.value);
      const row = weights.subarray(asks * count, (asks + 1) * count), result = read.subarray(asks * length, (asks + 1) * length);
      best[asks] = -Infinity;
      for (let other = 0; other < count; other += 1) best[asks] = Math.max(best[asks], row[other] = score(each, asks, other));
      total[asks] = 0;
      for (let other = 0; other < count; other += 1) total[asks] += row[other] = Math.exp(row[other] - best[asks]);
      result.fill(0);
      for (let other = 0; other < count; other += 1) {
        row[other] /= total[asks];
        if (row[other] === 0) continue;
        for (let k = 0; k < length; k += 1) result[k] += row[other] * values[other * length + k];
      }
    }

    // Whether a row sees that other columns have new keys or values.
    function sees(each, asks, others) {
      for (const other of others) {
        if (!(each.weights[asks * count + other] <= TINY)) return true;
        if (!(Math.exp(score(each, asks, other) - each.best[asks]) / each.total[asks] <= TINY)) return true;
      }
      return false;
    }

    // All heads: the columns that read something new.
    function attend({ heads, input }, touched) {
      const again = new Set(touched);
      for (const each of heads) {
        const asking = new Set(), others = [];
        for (const column of touched) {
          if (project(each.head.query, input, column, each.queries)) asking.add(column);
          const [key, value] = [project(each.head.key, input, column, each.keys), project(each.head.value, input, column, each.values)];
          if (key || value) others.push(column);
        }
        for (let column = 0; column < count; column += 1) {
          if (!asking.has(column) && !sees(each, column, others)) continue;
          readRow(each, column);
          again.add(column);
        }
      }
      return [...again];
    }

    // A column's heads and units added to it.
    function units({ layer, heads, input, output, sums, hidden, outputs }, column) {
      const offset = column * rows, mine = output.subarray(offset, offset + rows);
      mine.set(input.subarray(offset, offset + rows));
      for (const { head, read } of heads) head.value.rows.forEach((row, k) => { mine[row] += read[column * sizes(head.value) + k]; });
      times(layer.inner, mine, 0, sums);
      hidden.set(layer.b1);
      for (let k = 0; k < sums.length; k += 1) hidden[layer.inner.rows[k]] += sums[k];
      for (let k = 0; k < hidden.length; k += 1) hidden[k] = Math.max(hidden[k], 0);
      times(layer.outer, hidden, 0, outputs);
      for (let k = 0; k < outputs.length; k += 1) mine[layer.outer.rows[k]] += outputs[k];
      for (let row = 0; row < rows; row += 1) mine[row] += layer.b2[row];
    }

    function pass() {
      for (const one of kept) {
        const touched = moved.filter((column) => renew(one.input, column * rows, state, column * rows, rows));
        moved = attend(one, touched);
        moved.forEach((column) => units(one, column));
        state = one.output;
      }
      return trace;
    }

    return { pass };
  }

  // ---- Between programs and states ----

  const bitsOf = (number, count) => Array.from({ length: count }, (_, k) => (Math.floor(number / 2 ** k) % 2 === 0 ? -1 : 1));

  // The number that signs of entries stand for; null where an entry is no number.
  function fromBits(entries, signed = false) {
    if (entries.some(Number.isNaN)) return null;
    const size = entries.length;
    return entries.reduce((sum, bit, k) => sum + (bit > 0 ? (signed && k === size - 1 ? -1 : 1) * 2 ** k : 0), 0);
  }

  const block = (made, state, column, name) => {
    const [start, stop] = made.rowsOf[name];
    return Array.from(state.subarray(column * made.rows + start, column * made.rows + stop));
  };

  const range = ([start, stop]) => Array.from({ length: stop - start }, (_, k) => start + k);

  // The same program with further cells of 0 and further last instructions, so that it fills the machine.
  function padded(made, program) {
    const [cells, instructions] = ["cells", "instructions"].map((name) => range(made.columnsOf[name]).length);
    const short = (count, most, what) => {
      if (count > most) throw new Error(`the program has ${count} ${what}; this machine has room for ${most}`);
    };
    short(program.memory.length, cells, "memory cells, the reserved two included");
    short(program.code.length, instructions, "instructions, the halt included");
    const [last, end] = [program.code.length - 1, instructions - 1];
    const code = program.code.slice(0, last).map(([a, b, c]) => [a, b, c === last ? end : c]);
    while (code.length < instructions) code.push([0, 1, end]);
    const memory = [...program.memory];
    while (memory.length < cells) memory.push(0);
    return { ...program, memory, code };
  }

  // The state from which a padded program runs (eq. 5).
  function load(made, program) {
    const state = new Float64Array(made.columns * made.rows);
    for (const [column, row, value] of made.blank) state[column * made.rows + row] = value;
    const put = (column, name, values) => state.set(values, column * made.rows + made.rowsOf[name][0]);
    const { bits, address_bits: length } = made.sizes;
    const [cells, first] = [made.columnsOf.cells[0], made.columnsOf.instructions[0]];
    program.memory.forEach((value, cell) => put(cells + cell, "memory", bitsOf(value, bits)));
    program.code.forEach(([a, b, c], place) => {
      put(first + place, "command", [a + cells, b + cells, c + first].flatMap((column) => bitsOf(column, length)));
    });
    return state;
  }

  const counter = (made, state) => fromBits(block(made, state, 0, "counter")) - made.columnsOf.instructions[0];
  const memory = (made, state) => range(made.columnsOf.cells).map((column) => fromBits(block(made, state, column, "memory"), true));

  // ---- The language ----

  // One step of the interpreter (Algorithm 1), in two's complement.
  function interpret(program, bits, { counter: at, memory: before }) {
    const [a, b, c] = program.code[at];
    const half = 2 ** (bits - 1);
    const result = ((((before[b] - before[a] + half) % (2 * half)) + 2 * half) % (2 * half)) - half;
    const after = before.slice();
    after[b] = result;
    return { counter: result <= 0 ? c : at + 1, memory: after };
  }

  // What a data file says of a machine, for a program of any size that its addresses can name: only the input is larger.
  function sized(machine, { memory, code }) {
    const { rows, sizes: { address_bits: length } } = machine;
    const first = 1 + memory.length, count = first + code.length, most = 2 ** length;
    if (count > most) throw new Error(`the program needs ${count} tokens; this machine has addresses for ${most}`);
    const address = (column, name, number) => bitsOf(number, length).map((bit, k) => [column, rows[name][0] + k, bit]);
    const blank = [[0, rows.indicator[0], 1], ...address(0, "counter", first)];
    for (let column = 1; column < count; column += 1) blank.push([column, rows.idle[0], 1], ...address(column, "encoding", column));
    const width = Math.max(...Object.values(rows).map(([, stop]) => stop));
    return { ...machine, state: [count, width], blank, columns: { scratchpad: [0, 1], cells: [1, first], instructions: [first, count] } };
  }

  // A run of a program on a machine, beside the interpreter. What has been once comes again for ever: `repeats` is when.
  function session(data, program, options) {
    const made = machine(data, options), whole = padded(made, program);
    const end = whole.code.length - 1;
    const run = {
      data, program, made, whole, end, found: { counter: 0, memory: whole.memory }, expected: { counter: 0, memory: whole.memory },
      steps: 0, halted: false, repeats: null, over: false, wrong: null, moments, step,
    };
    const passes = follow(made, load(made, whole));
    let trace = null, kept = { steps: 0, at: run.expected, until: 1 };

    // The pass that executes the instruction at hand, layer by layer.
    function moments() {
      trace = trace || passes.pass();
      return trace;
    }

    const alike = (one, other) => one.counter === other.counter && one.memory.every((value, cell) => value === other.memory[cell]);

    function step() {
      if (run.over) return;
      const { state } = moments()[made.layers.length - 1];
      run.found = { counter: counter(made, state), memory: memory(made, state) };
      trace = null;
      run.expected = interpret(whole, data.sizes.bits, run.expected);
      run.steps += 1;
      if (run.wrong === null && !alike(run.found, run.expected)) run.wrong = run.steps;
      run.halted = run.expected.counter === end;
      if (alike(run.expected, kept.at)) run.repeats = kept.steps;
      else if (run.steps === kept.until) kept = { steps: run.steps, at: run.expected, until: 2 * kept.until };
      run.over = run.halted || run.repeats !== null;
    }

    return run;
  }

  const DATA = /^([a-z]\w*)\s*=\s*(-?\d{1,19}(?:[\s,]+-?\d{1,19})*)$/;
  const STATEMENT = /^([a-z]\w*(?:\[\d{1,19}\])?)\s*-=\s*([a-z]\w*(?:\[\d{1,19}\])?)(?:\s+if\s*<=\s*0\s+goto\s+(\w+))?$/;
  const GOTO = /^goto\s+(\w+)$/;

  // A program from its text, in the language of attention_theory's assembler; an Error says what is wrong, and where.
  function assemble(text, bits = 8) {
    const made = [...RESERVED];
    const blocks = new Map([["zero", [0, 1]], ["minus_one", [1, 1]]]);
    const labels = new Map();
    const statements = [];
    const most = 2 ** (bits - 1) - 1;
    window.instruments.programLines(text).forEach(({ number, line: whole }) => {
      const refuse = (what) => { throw new Error(`line ${number}: ${what}`); };
      let line = whole;
      for (let found = line.match(/^(\w+)\s*:\s*/); found; found = line.match(/^(\w+)\s*:\s*/)) {
        if (labels.has(found[1])) refuse(`label '${found[1]}' is given twice`);
        labels.set(found[1], statements.length);
        line = line.slice(found[0].length);
      }
      const data = line.match(DATA);
      if (data) {
        if (blocks.has(data[1]) || data[1] === "mem") refuse(`cell '${data[1]}' is given twice`);
        const written = data[2].split(/[\s,]+/);
        const values = written.map((value) => Number(value) + 0); // no -0
        const large = written.find((value) => Math.abs(Number(value)) > most);
        if (large !== undefined) refuse(`${large} is out of range: ${bits} bits hold -${most} to ${most}`);
        blocks.set(data[1], [made.length, values.length]);
        values.forEach((value) => made.push(value)); // of any number
      } else if (line) statements.push({ line, number });
    });
    const last = statements.length ? statements[statements.length - 1] : { number: 1 };
    if (last.line !== "halt") throw new Error(`line ${last.number}: the program has no end: its last statement must be 'halt'`);
    const early = statements.slice(0, -1).find(({ line }) => line === "halt");
    if (early) throw new Error(`line ${early.number}: 'halt' must be the last statement; use a label and 'goto'`);
    blocks.set("mem", [0, made.length]);
    const code = statements.map((statement, place) => instruction(statement, place, blocks, labels));
    const names = made.map((_, cell) => String(cell));
    for (const [name, [start, size]] of blocks) {
      if (name === "mem") continue;
      for (let k = 0; k < size; k += 1) names[start + k] = size > 1 ? `${name}[${k}]` : name;
    }
    return { memory: made, code, names, lines: statements.map(({ number }) => number), used: made.length, blocks };
  }

  function instruction({ line, number }, place, blocks, labels) {
    const refuse = (what) => { throw new Error(`line ${number}: ${what}`); };
    const label = (name) => (labels.has(name) ? labels.get(name) : refuse(`unknown label '${name}'`));
    const cell = (operand) => {
      const [, name, index] = operand.match(/^(\w+)(?:\[(\d+)\])?$/);
      if (!blocks.has(name)) refuse(`unknown cell '${name}'`);
      const [start, size] = blocks.get(name);
      const within = Number(index || 0);
      if (within >= size) refuse(`address '${operand}' is out of range: '${name}' has ${size} cells`);
      return start + within;
    };
    if (line === "halt") return [0, 1, place];
    const jump = line.match(GOTO);
    if (jump) return [0, 0, label(jump[1])];
    const found = line.match(STATEMENT);
    if (!found) refuse(`cannot read '${line}'`);
    const [a, b] = [cell(found[2]), cell(found[1])];
    if (b === 1 || (b === 0 && a !== 0)) refuse(`cell '${["zero", "minus_one"][b]}' is reserved and must not change`);
    return [a, b, found[3] ? label(found[3]) : place + 1];
  }

  return { machine, attend, feedForward, cycle, follow, sized, session, load, padded, counter, memory, interpret, assemble, fromBits, block, range };
})();
