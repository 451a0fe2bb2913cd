// A program in a transformer: the ten-layer SUBLEQ machine, computed from its weights, beside an interpreter.

// The mathematics: what attention_theory.looped_transformers has as FrozenSubleq, assemble and interpret.
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
    return { memory: made, code, names, lines: statements.map(({ number }) => number), used: made.length };
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

  return { machine, attend, feedForward, cycle, load, padded, counter, memory, interpret, assemble, fromBits, block, range };
})();

// What the reader sees and touches.
window.instruments.subleq = (room, given) => {
  "use strict";
  const { subleq: data, programs } = given;
  const { make, pixels, mix, colour, onTheme, runner } = window.instruments;
  const core = window.instruments.subleq_core;
  const plain = core.machine(data);
  const [CELLS, FIRST] = [data.columns.cells[0], data.columns.instructions[0]];
  const END = data.columns.instructions[1] - FIRST - 1;
  const SCALE = 16; // pixels of a canvas for each entry
  const OWN = "a program of your own";
  const fits = (text) => { try { core.padded(plain, core.assemble(text, data.sizes.bits)); return true; } catch { return false; } };
  const library = Object.fromEntries(Object.entries(programs).filter(([, text]) => fits(text)));
  const spoken = (name) => name.replace(/_/g, " ");
  const long = Object.keys(programs).filter((name) => !(name in library)).map(spoken);

  let run;            // the run: see `begin`
  let layer = 2;      // the layer looked at, from 1
  let asks = 0;       // the column whose attention is read out

  // ---- The parts ----

  const choice = make("select", { change: () => choose(choice.value) },
    ...Object.keys(library).map((name) => make("option", { value: name }, spoken(name))),
    make("option", { value: OWN }, OWN));
  const source = make("textarea", {
    rows: 14, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "subleq-language",
    input: () => { choice.value = OWN; edited(); },
  });
  const refusal = make("p", { class: "instrument-refusal", role: "alert" });
  const button = (text, act, attributes = {}) => make("button", { type: "button", click: act, ...attributes }, text);
  const restart = button("Back to the start", () => begin());
  const one = button("One instruction", () => { running.pause(); step(); show(); });
  const status = make("p", { class: "instrument-status", role: "status" });
  const running = runner({ every: 250, over: () => run.over, begin, step, show, made: () => executed(run.steps), status });
  const listing = make("div", { class: "instrument-listing", tabindex: "0", role: "region", "aria-label": "The program, instruction by instruction" });
  const cells = make("div", { class: "instrument-scroll", tabindex: "0", role: "region", "aria-label": "The memory" });
  const steps = make("div", { class: "instrument-steps", role: "group", "aria-label": "The layer shown" },
    ...plain.layers.map((made, place) => button(String(place + 1), () => look(place + 1), { "aria-label": `Layer ${place + 1}: ${made.name}`, title: made.name })));
  const back = button("◂", () => look(layer - 1), { "aria-label": "The previous layer" });
  const next = button("▸", () => look(layer + 1), { "aria-label": "The next layer" });
  const about = make("p", { class: "instrument-about" });
  const heads = make("div", { class: "instrument-heads" });
  const column = make("select", { change: () => { asks = Number(column.value); drawLayer(); } });
  const reading = make("p", { class: "instrument-reading" });
  const scratchpad = make("div", {});
  const picture = make("canvas", { role: "img" });
  const blocks = make("div", { class: "instrument-blocks", "aria-hidden": "true" }, ...Object.entries(data.rows).map(([name, [start, stop]]) =>
    make("span", { style: `top: ${(50 * (start + stop)) / data.state[1]}%` }, name)));
  const heat = make("span", { class: "number" }, String(data.temperature));
  const temperature = make("input", { type: "range", min: "1", max: "40", step: "0.5", value: String(data.temperature), input: () => { heat.textContent = temperature.value; disturb(); } });
  const turned = make("input", { type: "checkbox", change: () => disturb() });

  const field = (text, control, ...rest) => make("label", { class: "instrument-field" }, make("span", {}, text), control, ...rest);
  const part = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);

  room.append(
    make("div", { class: "instrument-columns" },
      part("Program",
        field("Example", choice),
        make("label", { class: "instrument-field" }, make("span", {}, "Text of the program"), source),
        refusal,
        make("p", { class: "instrument-note" }, `At most ${data.sizes.instructions} instructions before the halt, ${data.sizes.integers} memory cells besides the two reserved ones, and integers of ${data.sizes.bits} bits. That makes ${data.state[0]} columns. `,
          long.length ? `Of the programs that come with the package, ${long.join(" and ")} are too long for this machine.` : ""),
        make("details", {}, make("summary", {}, "The language in four lines"), make("ul", { id: "subleq-language" },
          make("li", {}, make("code", {}, "x = 7"), ": a memory cell and its value; ", make("code", {}, "list = 3 1 4"), " is three cells."),
          make("li", {}, make("code", {}, "y -= x if <= 0 goto done"), ": subtract, and jump if the result is at most 0. Otherwise go on with the next line."),
          make("li", {}, make("code", {}, "done:"), " in front of a line is the label of that line; ", make("code", {}, "goto done"), " always jumps."),
          make("li", {}, "The last line is ", make("code", {}, "halt"), ". The cells ", make("code", {}, "zero"), " and ", make("code", {}, "minus_one"), " are always there."))),
      ),
      part("Run",
        make("div", { class: "instrument-buttons" }, running.button, one, running.finish, restart),
        status,
        make("h4", {}, "Disturb it"),
          make("p", {}, "A softmax that is too soft makes the machine go wrong, and so does one wrong weight among its ", String(data["of the transformer"].nonzeros), "."),
          field("Inverse temperature λ, which multiplies the scores ", temperature, heat),
          make("label", { class: "instrument-check" }, turned, " Flip the sign of one weight in the layer that writes"),
        listing, make("h4", {}, "Memory"), cells),
    ),
    part("Inside a layer",
      make("div", { class: "instrument-buttons" }, back, steps, next),
      about, heads,
      field("Query column", column), reading,
      make("div", { class: "instrument-columns" },
        make("div", {}, make("h4", {}, "The scratchpad, read from the state"), scratchpad),
        make("div", {}, make("h4", {}, "The state after this layer"), make("div", { class: "instrument-map" }, blocks, picture),
          make("p", { class: "instrument-key" }, make("i", { class: "plus" }), " +1 ", make("i", { class: "none" }), " 0 ", make("i", { class: "minus" }), " −1 · each column of the picture is a column of the state")))),
  );

  // ---- What happens ----

  function choose(name) {
    if (name !== OWN) source.value = library[name];
    edited();
  }

  function edited() {
    running.pause();
    try {
      const program = core.assemble(source.value, data.sizes.bits);
      core.padded(plain, program);
      refusal.textContent = "";
      source.removeAttribute("aria-invalid");
      begin(program);
    } catch (error) {
      refusal.textContent = `${error.message}. The previous program is still loaded.`;
      source.setAttribute("aria-invalid", "true");
    }
  }

  function begin(program = run.program) {
    running.pause();
    const made = core.machine(data, { temperature: Number(temperature.value), turned: turned.checked });
    const whole = core.padded(made, program);
    const state = core.load(made, whole);
    const start = { counter: 0, memory: whole.memory };
    run = { program, made, whole, state, trace: null, expected: start, steps: 0, halted: false, seen: new Map([[`0 ${whole.memory}`, 0]]), repeats: null, over: false, wrong: null };
    drawListing();
    show();
  }

  // A disturbed machine begins again, and runs as far as the machine before it had.
  function disturb() {
    const ended = run.over;
    begin();
    if (ended) running.toTheEnd();
  }

  // The cycle that executes the instruction at hand, layer by layer.
  function moments() {
    run.trace = run.trace || core.cycle(run.made, run.state);
    return run.trace;
  }

  function step() {
    if (run.over) return;
    run.state = moments()[run.made.layers.length - 1].state;
    run.trace = null;
    run.expected = core.interpret(run.whole, data.sizes.bits, run.expected);
    run.steps += 1;
    const found = { counter: core.counter(run.made, run.state), memory: core.memory(run.made, run.state) };
    const same = found.counter === run.expected.counter && found.memory.every((value, cell) => value === run.expected.memory[cell]);
    if (!same && run.wrong === null) run.wrong = run.steps;
    run.halted = run.expected.counter === END;
    const here = `${run.expected.counter} ${run.expected.memory}`;
    if (run.seen.has(here)) run.repeats = run.seen.get(here); // what has been once comes again for ever
    run.seen.set(here, run.steps);
    run.over = run.halted || run.repeats !== null;
  }

  function look(place) {
    layer = Math.min(Math.max(place, 1), plain.layers.length);
    drawLayer();
  }

  // ---- What is drawn ----

  const cellName = (cell) => run.program.names[cell] ?? `cell ${cell}`;
  const place = (number) => (number >= run.program.code.length - 1 ? "halt" : String(number));

  function columnName(number) {
    if (number === 0) return "the scratchpad";
    if (number < FIRST) return `memory, ${cellName(number - CELLS)}`;
    const instruction = number - FIRST;
    return instruction === END || instruction >= run.program.code.length ? `instruction ${instruction} (halt)` : `instruction ${instruction}`;
  }

  function drawListing() {
    const rows = run.program.code.map(([a, b, c], number) => {
      const last = number === run.program.code.length - 1;
      const jump = c === number + 1 ? "" : ` if ≤ 0 goto ${place(c)}`;
      const words = a === 0 && b === 0 ? `goto ${place(c)}` : `${cellName(b)} -= ${cellName(a)}${jump}`;
      return make("tr", {}, make("th", { scope: "row" }, String(number)), make("td", {}, last ? "halt" : words));
    });
    listing.replaceChildren(make("table", {}, make("tbody", {}, ...rows)));
    column.replaceChildren(...Array.from({ length: data.state[0] }, (_, number) => make("option", { value: number }, `${number}: ${columnName(number)}`)));
    column.value = String(asks);
  }

  function show() {
    const found = { counter: core.counter(run.made, run.state), memory: core.memory(run.made, run.state) };
    const at = (counter) => Math.min(counter, run.program.code.length - 1);
    listing.querySelectorAll("tr").forEach((row, number) => {
      const here = number === at(found.counter);
      row.classList.toggle("here", here);
      if (here) row.setAttribute("aria-current", "step"); else row.removeAttribute("aria-current");
      if (here) listing.scrollTop = Math.max(0, row.offsetTop - listing.clientHeight / 2);
    });
    const shown = Array.from({ length: run.program.used }, (_, cell) => cell);
    const differs = (cell) => found.memory[cell] !== run.expected.memory[cell];
    const strays = found.memory.map((_, cell) => cell).filter((cell) => cell >= run.program.used && differs(cell));
    cells.replaceChildren(make("table", {},
      make("thead", {}, make("tr", {}, ...["cell", "transformer", "interpreter"].map((text, k) => make("th", { scope: "col", class: k ? "number" : null }, text)))),
      make("tbody", {}, ...[...shown, ...strays].map((cell) => make("tr", { class: differs(cell) ? "wrong" : "" },
        make("th", { scope: "row" }, cellName(cell)),
        make("td", { class: "number" }, number(found.memory[cell])),
        make("td", { class: "number" }, number(run.expected.memory[cell])))))));
    status.className = `instrument-status ${run.wrong === null ? "right" : "wrong"}`;
    status.textContent = words(found);
    one.disabled = running.finish.disabled = run.over;
    drawLayer();
  }

  const number = (value) => (value === null ? "no number" : String(value).replace("-", "−"));

  const executed = (count) => (count === 1 ? "1 instruction" : `${count} instructions`);

  function words(found) {
    if (!run.steps) return "Loaded. Transformer and interpreter are at instruction 0.";
    const count = executed(run.steps);
    const at = (counter) => (counter === null || counter < 0 ? "no instruction" : place(counter) === "halt" ? "the halt" : `instruction ${counter}`);
    const over = run.halted ? "The program has halted. "
      : run.repeats !== null ? `The program never halts: program counter and memory are the same as after ${executed(run.repeats)}. ` : "";
    if (run.wrong !== null) return `✗ ${over}After ${count}: the two have differed since instruction ${run.wrong} (the transformer is at ${at(found.counter)}, the interpreter at ${at(run.expected.counter)}).`;
    return `✓ ${over}After ${count}: both at ${at(found.counter)}, and all ${found.memory.length} cells are equal. The two agreed after every instruction.`;
  }

  function drawLayer() {
    const made = run.made.layers[layer - 1];
    const moment = moments()[layer - 1];
    steps.querySelectorAll("button").forEach((each, index) => each.setAttribute("aria-pressed", String(index + 1 === layer)));
    back.disabled = layer === 1;
    next.disabled = layer === run.made.layers.length;
    const many = made.heads.length === 1 ? "1 head" : `${made.heads.length} heads`;
    const when = `while instruction ${place(core.counter(run.made, run.state))} is executed`;
    about.replaceChildren(make("strong", {}, `Layer ${layer}: ${made.name}`), `. ${made.heads.length ? many : "No head"}, ${made.hidden} hidden units; ${when}.`);
    const drawn = moment.attention;
    heads.replaceChildren(...drawn.map(({ name, weights }) => drawHead(name, weights)));
    column.parentElement.hidden = reading.hidden = !drawn.length;
    reading.replaceChildren(...drawn.flatMap(({ name, weights }, index) => [index ? make("br") : null, `${name}: ${attended(weights)}`]).filter(Boolean));
    drawScratchpad(moment.state);
    drawState(moment.state);
  }

  function attended(weights) {
    const n = run.made.columns;
    const row = Array.from(weights.subarray(asks * n, (asks + 1) * n));
    const most = row.map((weight, other) => [weight, other]).filter(([weight]) => weight >= 0.005).sort((x, y) => y[0] - x[0]);
    const said = most.slice(0, 4).map(([weight, other]) => `${Math.round(100 * weight)} % to ${other === asks ? "itself" : columnName(other)}`);
    const rest = most.length > 4 ? `, the rest to ${most.length - 4} others` : "";
    const who = columnName(asks);
    return `${who[0].toUpperCase()}${who.slice(1)} attends ${said.length ? said.join(", ") : "to all others a little"}${rest}.`;
  }

  // Lines where scratchpad, memory and instructions meet; along both axes of a head's picture.
  function rule(context, axes, ink) {
    context.fillStyle = `rgba(${ink.join(",")}, 0.55)`;
    for (const edge of [CELLS, FIRST]) {
      context.fillRect(edge * SCALE - 1, 0, 2, context.canvas.height);
      if (axes === 2) context.fillRect(0, edge * SCALE - 1, context.canvas.width, 2);
    }
  }

  function drawHead(name, weights) {
    const n = run.made.columns;
    const [ground, ink] = [colour(room, "--instrument-ground"), colour(room, "--instrument-plus")];
    const text = colour(room, "--pst-color-text-base");
    const canvas = make("canvas", {
      role: "img",
      "aria-label": `Attention of the head “${name}”: ${n} query columns, downwards, by ${n} key columns. ${attended(weights)}`,
      click: (event) => {
        const box = canvas.getBoundingClientRect();
        asks = Math.min(n - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * n)));
        column.value = String(asks);
        drawLayer();
      },
    });
    const context = pixels(canvas, n, n, SCALE, (x, y) => mix(ground, ink, Math.sqrt(weights[y * n + x])));
    rule(context, 2, text);
    context.strokeStyle = `rgb(${colour(room, "--instrument-minus").join(",")})`;
    context.lineWidth = 3;
    context.strokeRect(1.5, Math.max(1.5, asks * SCALE - 1.5), canvas.width - 3, SCALE + 3);
    return make("figure", {}, canvas, make("figcaption", {}, `Head “${name}”. Down: the query column. Across: the key column. Lines separate scratchpad, memory and instructions.`));
  }

  function drawState(state) {
    const { columns, rows } = run.made;
    const [ground, plus, minus] = ["--instrument-ground", "--instrument-plus", "--instrument-minus"].map((name) => colour(room, name));
    const context = pixels(picture, columns, rows, SCALE, (x, y) => {
      const value = Math.max(-1, Math.min(1, state[x * rows + y]));
      return mix(ground, value > 0 ? plus : minus, Math.abs(value));
    });
    rule(context, 1, colour(room, "--pst-color-text-base"));
    const ink = colour(room, "--pst-color-text-base");
    context.fillStyle = `rgba(${ink.join(",")}, 0.55)`;
    for (const [start] of Object.values(data.rows)) if (start) context.fillRect(0, start * SCALE - 1, context.canvas.width, 2);
    picture.setAttribute("aria-label", `The state, ${rows} rows by ${columns} columns; from the top the blocks ${Object.keys(data.rows).join(", ")}. The table next to the picture shows what the scratchpad holds.`);
  }

  // A block of the scratchpad in words: what its bits stand for, where they are bits.
  function said(name, state) {
    const entries = core.block(run.made, state, 0, name);
    const clear = (values) => values.every((value) => Math.abs(Math.abs(value) - 1) < 0.25);
    const empty = (values) => values.every((value) => Math.abs(value) < 0.25);
    const length = data.sizes.address_bits;
    if (empty(entries)) return "empty";
    if (name === "indicator") return entries[0].toFixed(0);
    if (name === "instruction" && clear(entries)) {
      const [a, b, c] = [0, 1, 2].map((operand) => core.fromBits(entries.slice(operand * length, (operand + 1) * length)));
      return `a: ${columnName(a)}; b: ${columnName(b)}; c: ${columnName(c)}`;
    }
    if (name === "counter" && clear(entries)) return columnName(core.fromBits(entries));
    if (["first", "second", "memory"].includes(name) && clear(entries)) return number(core.fromBits(entries, true));
    return `${entries.filter((value) => Math.abs(value) >= 0.25).length} of ${entries.length} entries in use`;
  }

  function drawScratchpad(state) {
    const names = { counter: "counter", instruction: "instruction", first: "first operand", second: "second operand, result", buffer: "buffer", indicator: "mark of the scratchpad" };
    scratchpad.replaceChildren(make("table", {}, make("tbody", {}, ...Object.entries(names).map(([name, title]) => make("tr", {},
      make("th", { scope: "row" }, title), make("td", {}, said(name, state)))))));
  }

  onTheme(() => drawLayer());
  choice.value = "multiply" in library ? "multiply" : Object.keys(library)[0];
  choose(choice.value);
};
