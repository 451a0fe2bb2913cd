// The inside of a SUBLEQ machine as it runs: instructions, memory, and each layer with its heads. `session` gives the run
// that is shown (see subleq_core.session); `disturbed` is called when the reader disturbs the machine.
window.instruments.subleq_panel = (room, session, disturbed) => {
  "use strict";
  const { make, pixels, mix, colour, onTheme, subleq_core: core } = window.instruments;
  const WIDEST = 800; // pixels of a canvas
  let layer = 2;      // the layer looked at, from 1
  let asks = 0;       // the column whose attention is read out
  let drawn = null;   // the program whose instructions are listed

  // ---- The parts ----

  const button = (text, act, attributes = {}) => make("button", { type: "button", click: act, ...attributes }, text);
  const field = (text, control, ...rest) => make("label", { class: "instrument-field" }, make("span", {}, text), control, ...rest);
  const listing = make("div", { class: "instrument-listing", tabindex: "0", role: "region", "aria-label": "The program, instruction by instruction" });
  const cells = make("div", { class: "instrument-scroll", tabindex: "0", role: "region", "aria-label": "The memory" });
  const steps = make("div", { class: "instrument-steps", role: "group", "aria-label": "The layer shown" });
  const back = button("◂", () => look(layer - 1), { "aria-label": "The previous layer" });
  const next = button("▸", () => look(layer + 1), { "aria-label": "The next layer" });
  const about = make("p", { class: "instrument-about" });
  const heads = make("div", { class: "instrument-heads" });
  const column = make("select", { change: () => { asks = Number(column.value); drawLayer(); } });
  const reading = make("p", { class: "instrument-reading" });
  const scratchpad = make("div", {});
  const picture = make("canvas", { role: "img" });
  const blocks = make("div", { class: "instrument-blocks", "aria-hidden": "true" });
  const heat = make("span", { class: "number" });
  const temperature = make("input", { type: "range", min: "1", max: "40", step: "0.5", input: () => { heat.textContent = temperature.value; disturbed(); } });
  const turned = make("input", { type: "checkbox", change: () => disturbed() });
  const weights = make("span", {});

  const disturbing = [
    make("h4", {}, "Disturb it"),
    make("p", {}, "A softmax that is too soft makes the machine go wrong, and so does one wrong weight among its ", weights, "."),
    field("Inverse temperature λ, which multiplies the scores ", temperature, heat),
    make("label", { class: "instrument-check" }, turned, " Flip the sign of one weight in the layer that writes"),
  ];
  const memory = [make("h4", {}, "Memory"), cells];
  const layers = make("section", {}, make("h3", {}, "Inside a layer"),
    make("div", { class: "instrument-buttons" }, back, steps, next),
    about, heads,
    field("Query column", column), reading,
    make("div", { class: "instrument-columns" },
      make("div", {}, make("h4", {}, "The scratchpad, read from the state"), scratchpad),
      make("div", {}, make("h4", {}, "The state after this layer"), make("div", { class: "instrument-map" }, blocks, picture),
        make("p", { class: "instrument-key" }, make("i", { class: "plus" }), " +1 ", make("i", { class: "none" }), " 0 ", make("i", { class: "minus" }), " −1 · each column of the picture is a column of the state"))));

  // ---- Names ----

  const first = () => session().data.columns.instructions[0];
  const cellName = (cell) => session().program.names[cell] ?? `cell ${cell}`;
  const place = (number) => (number >= session().program.code.length - 1 ? "halt" : String(number));
  const number = (value) => (value === null ? "no number" : String(value).replace("-", "−"));

  function columnName(number) {
    if (number === 0) return "the scratchpad";
    if (number < first()) return `memory, ${cellName(number - session().data.columns.cells[0])}`;
    const instruction = number - first();
    return place(instruction) === "halt" ? `instruction ${instruction} (halt)` : `instruction ${instruction}`;
  }

  // ---- What is drawn ----

  function look(place) {
    layer = Math.min(Math.max(place, 1), session().made.layers.length);
    drawLayer();
  }

  // How the machine is disturbed; undefined for the temperature that it has.
  const options = () => ({ temperature: temperature.value === heat.dataset.own || !heat.textContent ? undefined : Number(temperature.value), turned: turned.checked });

  // Draw what changes with the program.
  function prepare() {
    const { program, data, made } = session();
    if (!heat.textContent) {
      heat.dataset.own = heat.textContent = temperature.value = String(data.temperature);
      weights.textContent = String(data["of the transformer"].nonzeros);
      steps.replaceChildren(...made.layers.map((one, place) => button(String(place + 1), () => look(place + 1), { "aria-label": `Layer ${place + 1}: ${one.name}`, title: one.name })));
      blocks.replaceChildren(...Object.entries(data.rows).filter(([, [start, stop]]) => 25 * (stop - start) >= made.rows || made.rows < 100).map(([name, [start, stop]]) =>
        make("span", { style: `top: ${(50 * (start + stop)) / data.state[1]}%` }, name)));
    }
    if (drawn === program) return;
    drawn = program;
    asks = Math.min(asks, made.columns - 1);
    const words = ([a, b, c], number) => {
      if (number === program.code.length - 1) return "halt";
      const jump = c === number + 1 ? "" : ` if ≤ 0 goto ${place(c)}`;
      return a === 0 && b === 0 ? `goto ${place(c)}` : `${cellName(b)} -= ${cellName(a)}${jump}`;
    };
    const head = ["", "instruction", "line"].map((text) => make("th", { scope: "col" }, text));
    const line = (number) => (program.sources ? make("td", { class: "number" }, program.sources[number] || "") : null);
    listing.replaceChildren(make("table", {},
      program.sources ? make("thead", {}, make("tr", {}, ...head)) : "",
      make("tbody", {}, ...program.code.map((one, number) => make("tr", {}, make("th", { scope: "row" }, String(number)), make("td", {}, words(one, number)), line(number))))));
    column.replaceChildren(...Array.from({ length: made.columns }, (_, number) => make("option", { value: number }, `${number}: ${columnName(number)}`)));
    column.value = String(asks);
  }

  function show() {
    prepare();
    const { found, expected, program } = session();
    const here = Math.min(found.counter, program.code.length - 1);
    listing.querySelectorAll("tbody tr").forEach((row, number) => {
      row.classList.toggle("here", number === here);
      if (number === here) row.setAttribute("aria-current", "step"); else row.removeAttribute("aria-current");
      if (number === here) listing.scrollTop = Math.max(0, row.offsetTop - listing.clientHeight / 2);
    });
    const shown = Array.from({ length: program.used }, (_, cell) => cell);
    const differs = (cell) => found.memory[cell] !== expected.memory[cell];
    const strays = found.memory.map((_, cell) => cell).filter((cell) => cell >= program.used && differs(cell));
    cells.replaceChildren(make("table", {},
      make("thead", {}, make("tr", {}, ...["cell", "transformer", "interpreter"].map((text, k) => make("th", { scope: "col", class: k ? "number" : null }, text)))),
      make("tbody", {}, ...[...shown, ...strays].map((cell) => make("tr", { class: differs(cell) ? "wrong" : "" },
        make("th", { scope: "row" }, cellName(cell)),
        make("td", { class: "number" }, number(found.memory[cell])),
        make("td", { class: "number" }, number(expected.memory[cell])))))));
    drawLayer();
  }

  function drawLayer() {
    const run = session(), made = run.made.layers[layer - 1], moment = run.moments()[layer - 1];
    steps.querySelectorAll("button").forEach((each, index) => each.setAttribute("aria-pressed", String(index + 1 === layer)));
    back.disabled = layer === 1;
    next.disabled = layer === run.made.layers.length;
    const many = made.heads.length === 1 ? "1 head" : `${made.heads.length} heads`;
    const when = `while instruction ${place(run.found.counter)} is executed`;
    about.replaceChildren(make("strong", {}, `Layer ${layer}: ${made.name}`), `. ${made.heads.length ? many : "No head"}, ${made.hidden} hidden units; ${when}.`);
    const seen = moment.attention;
    heads.replaceChildren(...seen.map(({ name, weights }) => drawHead(name, weights)));
    column.parentElement.hidden = reading.hidden = !seen.length;
    reading.replaceChildren(...seen.flatMap(({ name, weights }, index) => [index ? make("br") : null, `${name}: ${attended(weights)}`]).filter(Boolean));
    drawScratchpad(moment.state);
    drawState(moment.state);
  }

  function attended(weights) {
    const n = session().made.columns;
    const row = Array.from(weights.subarray(asks * n, (asks + 1) * n));
    const most = row.map((weight, other) => [weight, other]).filter(([weight]) => weight >= 0.005).sort((x, y) => y[0] - x[0]);
    const said = most.slice(0, 4).map(([weight, other]) => `${Math.round(100 * weight)} % to ${other === asks ? "itself" : columnName(other)}`);
    const rest = most.length > 4 ? `, the rest to ${most.length - 4} others` : "";
    const who = columnName(asks);
    return `${who[0].toUpperCase()}${who.slice(1)} attends ${said.length ? said.join(", ") : "to all others a little"}${rest}.`;
  }

  // Colours from one to another, made once for a picture of many squares.
  const SHADES = 64;
  const shades = (from, to) => Array.from({ length: SHADES + 1 }, (_, k) => mix(from, to, k / SHADES));

  const scale = () => Math.max(2, Math.min(16, Math.floor(WIDEST / session().made.columns)));

  // Lines where scratchpad, memory and instructions meet; along both axes of a head's picture.
  function rule(context, axes, ink) {
    context.fillStyle = `rgba(${ink.join(",")}, 0.55)`;
    for (const edge of [session().data.columns.cells[0], first()]) {
      context.fillRect(edge * scale() - 1, 0, 2, context.canvas.height);
      if (axes === 2) context.fillRect(0, edge * scale() - 1, context.canvas.width, 2);
    }
  }

  function drawHead(name, weights) {
    const n = session().made.columns;
    const inks = shades(colour(room, "--instrument-ground"), colour(room, "--instrument-plus"));
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
    const context = pixels(canvas, n, n, scale(), (x, y) => inks[Math.round(SHADES * Math.sqrt(weights[y * n + x]))] ?? inks[0]);
    rule(context, 2, text);
    context.strokeStyle = `rgb(${colour(room, "--instrument-minus").join(",")})`;
    context.lineWidth = 3;
    context.strokeRect(1.5, Math.max(1.5, asks * scale() - 1.5), canvas.width - 3, scale() + 3);
    return make("figure", {}, canvas, make("figcaption", {}, `Head “${name}”. Down: the query column. Across: the key column. Lines separate scratchpad, memory and instructions.`));
  }

  function drawState(state) {
    const { made: { columns, rows }, data } = session();
    const [ground, plus, minus] = ["--instrument-ground", "--instrument-plus", "--instrument-minus"].map((name) => colour(room, name));
    const [above, below] = [shades(ground, plus), shades(ground, minus)];
    const context = pixels(picture, columns, rows, scale(), (x, y) => {
      const value = Math.max(-1, Math.min(1, state[x * rows + y])) || 0;
      return (value > 0 ? above : below)[Math.round(SHADES * Math.abs(value))];
    });
    const ink = colour(room, "--pst-color-text-base");
    rule(context, 1, ink);
    context.fillStyle = `rgba(${ink.join(",")}, 0.55)`;
    for (const [start] of Object.values(data.rows)) if (start) context.fillRect(0, start * scale() - 1, context.canvas.width, 2);
    picture.setAttribute("aria-label", `The state, ${rows} rows by ${columns} columns; from the top the blocks ${Object.keys(data.rows).join(", ")}. The table next to the picture shows what the scratchpad holds.`);
  }

  // A block of the scratchpad in words: what its bits stand for, where they are bits.
  function said(name, state) {
    const { made, data } = session(), entries = core.block(made, state, 0, name);
    const clear = (values) => values.every((value) => Math.abs(Math.abs(value) - 1) < 0.25);
    const empty = (values) => values.every((value) => Math.abs(value) < 0.25);
    const length = data.sizes.address_bits;
    if (empty(entries)) return "empty";
    if (name === "indicator" || name === "flag") return entries[0].toFixed(0);
    if (name === "instruction" && clear(entries)) {
      const [a, b, c] = [0, 1, 2].map((operand) => core.fromBits(entries.slice(operand * length, (operand + 1) * length)));
      return `a: ${columnName(a)}; b: ${columnName(b)}; c: ${columnName(c)}`;
    }
    if (["counter", "following"].includes(name) && clear(entries)) return columnName(core.fromBits(entries));
    if (["first", "second", "memory"].includes(name) && clear(entries)) return number(core.fromBits(entries, true));
    return `${entries.filter((value) => Math.abs(value) >= 0.25).length} of ${entries.length} entries in use`;
  }

  const TITLES = {
    counter: "counter", instruction: "instruction", following: "counter + 1", first: "first operand", second: "second operand, result",
    buffer: "buffer", flag: "flag: is the result at most 0?", indicator: "mark of the scratchpad",
  };

  function drawScratchpad(state) {
    const names = Object.keys(TITLES).filter((name) => name in session().data.rows);
    scratchpad.replaceChildren(make("table", {}, make("tbody", {}, ...names.map((name) => make("tr", {},
      make("th", { scope: "row" }, TITLES[name]), make("td", {}, said(name, state)))))));
  }

  // Pictures follow the theme where they are seen.
  onTheme(() => { if (layers.isConnected && layers.offsetParent !== null) drawLayer(); });
  return { disturbing, listing, memory, layers, options, show, place, columnName };
};
