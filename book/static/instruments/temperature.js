// How sharp is sharp enough: the ten layers in two orders, and the first instruction that each executes wrongly.
window.instruments.temperature_core = (() => {
  "use strict";
  // A run of the program on one of the machines: its instructions, the first wrong one, and what it leaves as the product.
  function run(data, order, bits, temperature) {
    const { assemble, session } = window.instruments.subleq_core;
    const program = assemble(data.program, bits);
    const machine = data.machines[bits], layers = order === "reads" ? [...machine.reads, ...machine.layers.slice(2)] : machine.layers;
    const one = session({ ...machine, layers }, program, { temperature });
    while (!one.over) one.step();
    return { steps: one.steps, wrong: one.wrong, product: one.found.memory[program.names.indexOf("product")] };
  }

  return { run };
})();

window.instruments.temperature = (room, given) => {
  "use strict";
  const { orders: data } = given;
  const { make, svg, picture, slider, temperature_core: core } = window.instruments;
  const [LOW, HIGH, STEP, SLICE] = [1, 16, 0.25, 12];
  const ORDERS = [["last", "Rounded after the adders, as in the paper", "minus"], ["reads", "Rounded at the reads as well", "plus"]];
  const heats = Array.from({ length: 1 + (HIGH - LOW) / STEP }, (_, k) => LOW + STEP * k);
  const lengths = Object.keys(data.machines).map(Number).sort((one, other) => one - other);
  let [heat, bits] = [5, 8];
  const kept = {};

  const named = (order, at) => [order, bits, at].join();
  const run = (order, at) => (kept[named(order, at)] = kept[named(order, at)] || core.run(data, order, bits, at));

  const status = make("p", { class: "instrument-status", role: "status" });
  const chosen = slider({ label: "Inverse temperature λ, which multiplies the scores", min: LOW, max: HIGH, step: STEP, value: heat, changed: (value) => { heat = value; show(); } });
  const length = make("select", { change: () => { bits = Number(length.value); show(); } }, ...lengths.map((one) => make("option", { value: one }, `${one} bits`)));
  length.value = String(bits);
  const tracks = make("div", {});
  const strip = picture({ height: 190, draw });

  function draw(width) {
    const steps = run("reads", heats[heats.length - 1]).steps, left = 40;
    const x = (at) => left + 8 + ((width - left - 16) * (at - LOW)) / (HIGH - LOW), y = (wrong) => 148 - (124 * ((wrong || steps + 2) - 1)) / (steps + 1);
    const known = (order) => heats.filter((at) => kept[named(order, at)]);
    const dots = ORDERS.flatMap(([order, , colour], k) => known(order).map((at) => svg(k ? "circle" : "rect", k ? { class: colour, cx: x(at), cy: y(run(order, at).wrong) - 3, r: 3.2 } : { class: colour, x: x(at) - 3, y: y(run(order, at).wrong) + 1, width: 6, height: 6 })));
    return { said: `The first wrong instruction against λ. ${ORDERS.map(([order, label]) => { const good = known(order).filter((at, k, all) => all.slice(k).every((other) => !run(order, other).wrong)); return `${label}: none from λ = ${good.length ? good[0] : "?"} on`; }).join(". ")}.`,
      parts: [svg("path", { class: "here", d: `M${x(heat)} 8V156` }), svg("path", { class: "mark", d: `M${left} 156H${width - 4}` }),
        svg("text", { x: left - 6, y: y(null) + 4, "text-anchor": "end" }, "none"), ...[1, steps].map((step) => svg("text", { x: left - 6, y: y(step) + 4, "text-anchor": "end" }, step)),
        ...dots, ...[1, 4, 8, 12, 16].map((at) => svg("text", { x: x(at), y: 171, "text-anchor": "middle" }, at)), svg("text", { x: (left + width) / 2, y: 187, "text-anchor": "middle" }, "λ")] };
  }

  function show() {
    const answers = ORDERS.map(([order]) => run(order, heat));
    const word = ({ wrong, steps }) => (wrong ? `goes wrong at instruction ${wrong} of ${steps}` : `executes all ${steps} instructions`);
    status.className = `instrument-status ${answers.some(({ wrong }) => wrong) ? "wrong" : "right"}`;
    status.textContent = `At λ = ${heat} and ${bits} bits, the paper’s order ${word(answers[0])}. With rounding at the reads, the machine ${word(answers[1])}.`;
    tracks.replaceChildren(...ORDERS.map(([, label], k) => {
      const { steps, wrong, product } = answers[k];
      return make("div", { class: "instrument-track" }, make("span", {}, label), make("span", { role: "img", "aria-label": wrong ? `right up to instruction ${wrong - 1}, wrong from ${wrong} on` : "all right" },
        ...Array.from({ length: steps }, (_, step) => make("i", { class: wrong && step + 1 >= wrong ? "wrong" : "right" }, wrong && step + 1 >= wrong ? "✗" : "✓"))),
        make("span", { class: "number" }, `2 · 3 = ${String(product ?? "?").replace("-", "−")}`));
    }));
    strip.show();
    sweep();
  }

  // All other temperatures, in slices between which the page can be used.
  let going = false;
  function sweep() {
    if (going || !room.isConnected) return;
    going = true;
    const left = () => heats.flatMap((at) => ORDERS.map(([order]) => [order, at])).filter(([order, at]) => !kept[named(order, at)]);
    setTimeout(function slice() {
      let rest = left();
      for (const end = performance.now() + SLICE; rest.length && performance.now() < end; rest = rest.slice(1)) run(...rest[0]);
      strip.show();
      if (rest.length && room.isConnected) setTimeout(slice);
      else going = false;
    });
  }

  const field = (label, control) => make("label", { class: "instrument-field" }, make("span", {}, label), control);
  room.append(make("section", {}, chosen.field, field("Length of an integer", length), status, tracks, strip.place,
    make("p", { class: "instrument-note" }, "Up: the first wrong instruction. Orange squares: the paper’s order. Blue dots: rounding at the reads as well.")));
  show();
};
window.instruments.temperature.needs = ["subleq.core.js", "drawing.js"];
