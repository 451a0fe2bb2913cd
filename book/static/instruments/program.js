// A program in Python, compiled and run by a transformer: the text, line by line; its variables; what the heads read; and
// below, on request, the instructions and the layers, which are those of the instrument "subleq".
window.instruments.program = (room, given) => {
  "use strict";
  const { machine, rules, examples } = given.compiler;
  const { make, pixels, mix, colour, onTheme, player, runner, subleq_core: core, subleq_panel, python_compile, python_read } = window.instruments;
  const SHOWN = {
    gcd: ["the greatest common divisor of two numbers", "48, 36"],
    bubble_sort: ["bubble sort of eight numbers", "[5, 2, 9, -3, 7, 1, 8, 0]"],
    primes: ["the primes below 30", "[0] * 30"],
    queens: ["six queens on a board of 6 by 6", "[0] * 6"],
  };
  const OWN = "a program of your own";
  const PACES = { slow: 0.25, medium: 3, fast: 30 }; // passes for each tick
  const TICK = 100, SLICE = 12, LINE = 300, WAIT = 250; // milliseconds
  const BITS = machine.sizes.bits, LAYERS = machine.layers.length;

  let made = null;   // the compiled program; null while there is none
  let run = null;    // its run: subleq_core.session
  let inputs = null; // the arguments, as they were given
  let due = 0;       // passes that are due
  let fault = null;  // the line of an error
  let waiting = null, steps = null; // until the program is compiled

  // ---- The parts ----

  const button = (text, act, attributes = {}) => make("button", { type: "button", click: act, ...attributes }, text);
  const field = (text, control, ...rest) => make("label", { class: "instrument-field" }, make("span", {}, text), control, ...rest);
  const part = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);

  const choice = make("select", { change: () => choose(choice.value) },
    ...Object.entries(SHOWN).map(([name, [title]]) => make("option", { value: name }, title)),
    make("option", { value: OWN }, OWN));
  const source = make("textarea", {
    rows: 14, maxlength: 100001, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": "Program, in Python", "aria-describedby": "program-language program-refusal",
    placeholder: "a = 48\nb = 36\nwhile b:\n    a, b = b, a % b",
    input: () => { choice.value = OWN; later(); }, scroll: () => drawLines(), keydown: indent,
  });
  const numbers = make("div", { class: "program-numbers", "aria-hidden": "true" });
  const here = make("div", { class: "program-here" });
  const wrong = make("div", { class: "program-wrong" });
  const editor = make("div", { class: "program-editor" }, numbers, make("div", { class: "program-text" }, here, wrong, source));
  const refusal = make("p", { class: "instrument-refusal", id: "program-refusal", role: "alert" });
  const shorter = make("input", { type: "checkbox", change: () => compile() });
  const typed = make("input", { type: "text", spellcheck: "false", autocomplete: "off", input: () => later() });
  const why = make("span", { class: "instrument-note" });
  const pace = make("select", {}, ...Object.keys(PACES).map((name) => make("option", { value: name }, name)));
  const status = make("p", { class: "instrument-status", role: "status" });
  const running = runner({ every: TICK, over: () => run.over, begin, step: tick, show, made: () => passes(run.steps), status });
  const lining = player({ word: "One line", halt: "Stop", every: 0, begin: startLine, step: sliceLine, changed: (going) => { if (!going) show(); } });
  const one = button("One pass", () => { stop(); run.step(); show(); });
  const restart = button("Back to the start", () => begin());
  const variables = make("div", { class: "instrument-scroll", tabindex: "0", role: "region", "aria-label": "The variables" });
  const reads = make("div", { class: "program-reads" });
  const size = make("p", { class: "instrument-note" });
  const panel = subleq_panel(room, () => run, disturb);
  const inside = make("details", { class: "program-inside", toggle: () => { if (inside.open && run) panel.show(); } },
    make("summary", {}, "Show the instructions"),
    make("p", {}, "The compiler turns each line into instructions of SUBLEQ, a machine that can only subtract: “y -= x” takes cell x from cell y and jumps if the result is at most 0."),
    make("div", { class: "instrument-columns" }, make("div", {}, ...panel.disturbing, panel.listing), make("div", {}, ...panel.memory)),
    panel.layers);

  pace.value = "medium";
  room.append(
    make("div", { class: "instrument-columns" },
      part("Program",
        field("Example", choice),
        editor, refusal,
        field("Arguments", typed, why),
        make("label", { class: "instrument-check" }, shorter, " Shorten the program: fewer instructions, but not every variable is kept"),
        make("details", { id: "program-language" }, make("summary", {}, "Which Python?"), make("ul", {},
          make("li", {}, `Integers of ${BITS} bits, ${-(2 ** (BITS - 1))} to ${2 ** (BITS - 1) - 1}. What gets too large wraps around.`),
          make("li", {}, "Lists of fixed length; + − * // %, comparisons, and, or, not, x if c else y; if, while, for, break, continue, assert."),
          make("li", {}, "Functions that do not call themselves, and len. The last function is the program. Without functions, the lines are."),
          make("li", {}, `Room for ${2 ** machine.sizes.address_bits} tokens: one for each instruction, one for each memory cell, one for the scratchpad.`)))),
      part("Run",
        make("div", { class: "instrument-buttons" }, running.button, lining.button, one, running.finish, restart),
        status,
        field("Speed", pace),
        make("h4", {}, "Variables"), variables)),
    part("What the heads read",
      make("p", { class: "instrument-note" }, "Each strip is the attention of the scratchpad, the token that computes, to all tokens: itself, the memory cells, the instructions."),
      reads, size),
    make("section", {}, inside));
  new ResizeObserver(() => drawLines()).observe(source);

  // ---- The text ----

  function choose(name) {
    source.value = name === OWN ? "" : examples[name].trimEnd();
    source.rows = Math.max(8, Math.min(16, source.value.split("\n").length + 1));
    typed.value = name === OWN ? "" : SHOWN[name][1];
    source.scrollTop = 0;
    compile();
    if (name === OWN) source.focus();
  }

  // Enter keeps the indentation, and adds to it behind a colon. Tab goes on to the next control, as everywhere.
  function indent(event) {
    if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey) return;
    const { value, selectionStart: start, selectionEnd: end } = source;
    const before = value.slice(value.lastIndexOf("\n", start - 1) + 1, start);
    const added = `\n${before.match(/^ */)[0]}${/:\s*$/.test(before) ? "    " : ""}`;
    event.preventDefault();
    if (!document.execCommand("insertText", false, added)) { // which can be undone
      source.setRangeText(added, start, end, "end");
      source.dispatchEvent(new Event("input"));
    }
  }

  // What has been typed is compiled after a pause; until then there is nothing to run.
  function later() {
    stop();
    [made, run, steps] = [null, null, null];
    status.className = "instrument-status";
    status.textContent = "Compiling …";
    allow();
    clearTimeout(waiting);
    waiting = setTimeout(compile, WAIT);
  }

  // ---- Compiling, in slices ----

  function compile() {
    stop();
    clearTimeout(waiting);
    if (!source.value.trim()) return refuse("");
    try {
      const way = source.value.length > 100000 ? "none" : python_read.argumentsOf(source.value);
      typed.disabled = way !== "field";
      why.textContent = { none: "This program takes none.", call: "The last line gives them.", field: "" }[way];
      inputs = way === "field" && typed.value.trim() ? python_read.readArguments(typed.value) : null;
      steps = python_compile.compiling(source.value, { rules, bits: BITS, example: inputs, shorter: shorter.checked });
      status.textContent = "Compiling …";
      compileOn(steps);
    } catch (error) {
      refuse(error.message);
    }
  }

  function compileOn(mine) {
    if (mine !== steps || !room.isConnected) return undefined;
    try {
      for (const end = performance.now() + SLICE; performance.now() < end;) {
        const { done, value } = mine.next();
        if (done) return compiled(value);
      }
      return setTimeout(() => compileOn(mine));
    } catch (error) {
      const hint = /tokens/.test(error.message) && !shorter.checked ? " Shorten it by the box above, or by hand." : "";
      return refuse(`${error.message}${hint && "."}${hint}`);
    }
  }

  function compiled(value) {
    steps = null;
    value.program.sources = value.lines;
    value.program.names = value.program.names.map((name) => value.code.variables.get(name) ?? name);
    core.sized(machine, value.program); // refuses one that is too large
    const written = new Set([...value.code.inputs, ...value.code.instructions.flatMap(({ op, target, block }) => (op === "store" ? [block] : target ? [target] : []))]);
    value.kept = [...value.code.variables].filter(([cell, name]) => value.cells.has(name) && written.has(cell));
    made = value;
    fault = null;
    refusal.textContent = "";
    source.removeAttribute("aria-invalid");
    begin();
    drawLines(true);
  }

  function refuse(words) {
    [made, run, steps] = [null, null, null];
    fault = Number(words.match(/^line (\d+):/)?.[1]) || null;
    refusal.textContent = words;
    if (words) source.setAttribute("aria-invalid", "true"); else source.removeAttribute("aria-invalid");
    status.className = "instrument-status";
    status.textContent = words ? "The program cannot be compiled: see the message under the text." : "Type a program, or choose one.";
    [variables, reads, size].forEach((one) => one.replaceChildren());
    inside.open = false;
    inside.hidden = true;
    allow();
    drawLines();
  }

  // ---- Running ----

  function stop() {
    running.pause();
    lining.pause();
  }

  function begin() {
    stop();
    if (!made) return;
    inside.hidden = false;
    run = core.session(core.sized(machine, made.program), made.program, panel.options());
    due = 0;
    prepareReads();
    show();
  }

  // A disturbed machine begins again, and runs as far as the machine before it had.
  function disturb() {
    const ended = run.over;
    begin();
    if (ended) running.toTheEnd();
  }

  function tick() {
    for (due += PACES[pace.value]; due >= 1 && !run.over; due -= 1) run.step();
  }

  // As far as the next line of the text.
  let from = 0, since = 0;
  function startLine() {
    running.pause();
    [from, since] = [lineAt(), performance.now()];
    return made !== null && !run.over;
  }

  function sliceLine() {
    const passed = () => run.over || (lineAt() !== from && lineAt() !== 0);
    for (const end = performance.now() + SLICE; performance.now() < end && !passed();) run.step();
    if (passed()) lining.pause();
    else if (performance.now() - since > LINE) show();
  }

  const lineAt = () => made.lines[Math.min(run.found.counter, made.lines.length - 1)] ?? 0;

  // ---- What is drawn ----

  function allow() {
    for (const each of [running.button, restart]) each.disabled = !made;
    for (const each of [one, lining.button, running.finish]) each.disabled = !made || run.over;
  }

  function show() {
    if (!run) return;
    allow();
    status.className = `instrument-status ${run.wrong === null ? "right" : "wrong"}`;
    status.textContent = words();
    drawLines(true);
    drawVariables();
    drawReads();
    if (inside.open) panel.show();
  }

  // The numbers of the lines that are seen, and the marks of two of them.
  function drawLines(follow = false) {
    const { lineHeight, paddingTop } = getComputedStyle(source), height = parseFloat(lineHeight), above = parseFloat(paddingTop);
    if (!height || !source.clientHeight) return;
    const current = run && run.steps && !run.over ? lineAt() : 0, top = (line) => above + (line - 1) * height - source.scrollTop;
    if (follow && current && document.activeElement !== source && (top(current) < 0 || top(current) > source.clientHeight - 2 * height)) {
      source.scrollTop = Math.max(0, (current - 1) * height - source.clientHeight / 2);
    }
    const first = Math.floor(Math.max(0, source.scrollTop - above) / height) + 1;
    const last = Math.min(first + Math.ceil(source.clientHeight / height), lineCount());
    numbers.replaceChildren(...Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => make("span", {
      class: `${first + k === current ? "here" : ""} ${first + k === fault ? "wrong" : ""}`, style: `top: ${top(first + k)}px`,
    }, String(first + k))));
    for (const [each, line] of [[here, current], [wrong, fault]]) {
      each.hidden = !line;
      if (line) each.style.cssText = `top: ${top(line)}px; height: ${height}px`;
    }
  }

  let counted = [null, 0];
  function lineCount() {
    if (counted[0] !== source.value) counted = [source.value, source.value.split("\n").length];
    return counted[1];
  }

  const numeral = (value) => String(value).replace("-", "−");
  const text = (value) => (Array.isArray(value) ? `[${value.map(numeral).join(", ")}]` : value === null ? "None" : numeral(value));

  let before = new Map();
  function drawVariables() {
    const { memory } = run.found, then = run.steps ? before : new Map();
    before = new Map();
    const rows = made.kept.map(([cell, name]) => {
      const [start, stop] = made.cells.get(name), values = memory.slice(start, stop).map(numeral), old = then.get(name) ?? values;
      before.set(name, values);
      const cells = values.map((value, k) => make("span", { class: value === old[k] ? "" : "changed" }, value));
      return make("tr", {}, make("th", { scope: "row" }, name),
        make("td", {}, ...(made.code.blocks.has(cell) ? ["[", ...cells.flatMap((cell, k) => [k ? ", " : null, cell]), "]"] : cells)));
    });
    variables.replaceChildren(rows.length ? make("table", {}, make("tbody", {}, ...rows)) : make("p", { class: "instrument-note" }, "The program has no variables."));
  }

  // One strip for each head: the attention of the scratchpad to every token.
  let strips = [];
  function prepareReads() {
    strips = run.moments().flatMap(({ name, attention }, layer) => attention.map((head, place) => {
      const canvas = make("canvas", { role: "img" }), mark = make("i", { "aria-hidden": "true" }), said = make("figcaption", {});
      const figure = make("figure", {}, said, make("div", { class: "program-strip" }, canvas, mark));
      return { layer, place, figure, canvas, mark, said, title: `Layer ${layer + 1}, head “${head.name}”` };
    }));
    reads.replaceChildren(...strips.map(({ figure }) => figure));
    const { instructions, cells } = run.data.columns;
    size.textContent = `${run.made.columns} tokens: the scratchpad, ${cells[1] - cells[0]} memory cells and ${instructions[1] - instructions[0]} instructions. `
      + `Every pass goes through the same ${LAYERS} layers, whose weights are the same for every program.`;
  }

  function drawReads() {
    const [ground, ink, edge] = ["--instrument-ground", "--instrument-plus", "--pst-color-text-muted"].map((name) => colour(room, name));
    const moments = run.moments(), n = run.made.columns, { cells, instructions } = run.data.columns;
    for (const { layer, place, canvas, mark, said, title } of strips) {
      const row = moments[layer].attention[place].weights.subarray(0, n);
      const context = pixels(canvas, n, 1, 4, (x) => mix(ground, ink, Math.sqrt(row[x])));
      context.fillStyle = `rgb(${edge.join(",")})`;
      for (const column of [cells[0], instructions[0]]) context.fillRect(column * 4 - 1, 0, 1, 4);
      const read = Array.from(row, (weight, token) => [weight, token]).filter(([weight]) => weight >= 0.05).sort((x, y) => y[0] - x[0]).slice(0, 3);
      const parts = read.map(([weight, token]) => `${Math.round(100 * weight)} % to ${tokenName(token)}`).join(", ");
      const words = read[0]?.[0] >= 0.995 ? `reads ${tokenName(read[0][1])}` : `attends ${parts || "to everything a little"}`;
      said.replaceChildren(make("strong", {}, title), ` ${words}`);
      canvas.setAttribute("aria-label", `${title} ${words}.`);
      mark.style.left = `${(100 * ((read[0]?.[1] ?? 0) + 0.5)) / n}%`;
    }
  }

  function tokenName(token) {
    const { cells, instructions } = run.data.columns;
    if (token === 0) return "the scratchpad itself";
    if (token >= instructions[0]) {
      const number = token - instructions[0], line = made.lines[number];
      if (number === made.lines.length - 1) return "the halt";
      return `instruction ${number}${line ? `, of line ${line}` : ""}`;
    }
    const name = made.program.names[token - cells[0]], constant = name.match(/^c_(m?)(\d+)$/);
    if (constant) return `the number ${constant[1] && "−"}${constant[2]}`;
    if (name === "zero" || name === "minus_one") return `the number ${name === "zero" ? "0" : "−1"}`;
    return /^[st]_\d+$/.test(name) ? `the auxiliary cell ${name}` : name;
  }

  const passes = (count) => (count === 1 ? "1 pass" : `${count} passes`);

  function words() {
    const { code } = made, named = code.name !== "the program";
    const call = named ? `${code.name}(${(inputs ?? givenInputs()).map(text).join(", ")})` : "The program";
    if (!run.steps) return `${named ? `Ready to compute ${call}` : "Ready"}: ${made.program.code.length} instructions. Press Run.`;
    if (run.wrong !== null) return `✗ After ${passes(run.steps)}: the transformer has differed from an interpreter of its instructions since pass ${run.wrong}.${run.halted ? " The program has ended." : ""}`;
    const agreed = "An interpreter of the instructions agreed after every pass.";
    if (run.repeats !== null) return `✓ The program never ends: after ${passes(run.steps)} everything is as it was after ${passes(run.repeats)}. ${agreed}`;
    if (!run.halted) return `After ${passes(run.steps)} through the ${LAYERS} layers: ${lineAt() ? `at line ${lineAt()}` : "between two lines"}.`;
    const found = python_compile.answer(made, run.found.memory);
    const end = found.error ? `${call} ends with ${found.error}` : found.variables ? "The program has ended" : `${call} = ${text(found.value)}`;
    return `✓ ${end}, after ${passes(run.steps)} through the ${LAYERS} layers. ${agreed}`;
  }

  const givenInputs = () => made.code.inputs.map((name) => {
    const [start, length] = made.program.blocks.get(name), values = made.program.memory.slice(start, start + length);
    return made.code.blocks.has(name) ? values : values[0];
  });

  onTheme(() => { if (run) drawReads(); });
  choose("gcd");
  choice.value = "gcd";
};
window.instruments.program.styled = true;
window.instruments.program.needs = [
  "subleq.core.js", "subleq.panel.js", "program.parse.js", "program.words.js", "program.read.js", "program.optimise.js", "program.lower.js",
];
