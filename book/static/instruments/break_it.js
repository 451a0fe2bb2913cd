// Break it: the bound of Lemma 4.4, as the paper states it and as corrected, on pairs of models whose loss is equal.
window.instruments.break_it_core = (() => {
  "use strict";
  // For each pair of models, over all inputs at a scale: the largest difference over the paper's bound, and the largest
  // squared difference over the corrected bound.
  function ratios({ epsilon, smallest, differences, inputs }, scale) {
    const rows = inputs.map((tokens) => {
      const scaled = tokens.map((token) => token.map((entry) => scale * entry));
      const size = scaled.flat().reduce((sum, entry) => sum + entry * entry, 0);
      return { features: window.instruments.cubicFeatures(scaled), bound: (epsilon / smallest) * size ** 3 };
    });
    return differences.map((moved) => {
      let [printed, correct] = [0, 0];
      for (const { features, bound } of rows) {
        let squared = 0;
        for (const row of moved) {
          let output = 0;
          for (let k = 0; k < row.length; k += 1) output += row[k] * features[k];
          squared += output * output;
        }
        printed = Math.max(printed, Math.sqrt(squared) / bound);
        correct = Math.max(correct, squared / (4 * bound));
      }
      return { printed, correct };
    });
  }

  return { ratios };
})();

window.instruments.break_it = (room, given) => {
  "use strict";
  const { pairs_of_models: data } = given;
  const { make, svg, picture, slider, digits, break_it_core: core } = window.instruments;
  const [LOW, HIGH] = [-8, 8]; // powers of ten on the axis
  const ROWS = [["printed", "the paper’s bound", "minus"], ["correct", "the corrected bound", "plus"]];
  let power = 0, found;

  const status = make("p", { class: "instrument-status", role: "status" });
  const scale = slider({
    label: "Scale of the inputs", min: -2, max: 1, step: 0.05, value: power,
    said: (value) => digits(10 ** value, 2), changed: (value) => { power = value; show(); },
  });
  const count = (name) => found.filter((one) => one[name] > 1).length;
  const most = (name) => Math.max(...found.map((one) => one[name]));
  const dots = picture({ height: 210, draw });

  function draw(width) {
    const x = (ratio) => 8 + ((width - 16) * (Math.min(HIGH, Math.max(LOW, Math.log10(ratio))) - LOW)) / (HIGH - LOW);
    const one = x(1);
    const ticks = [-6, -3, 0, 3, 6].map((tick) => svg("text", { x: x(10 ** tick), y: 184, "text-anchor": "middle" }, { "-3": "10⁻³", 0: "1", 3: "10³" }[tick] || digits(10 ** tick, 1)));
    const rows = ROWS.map(([name, label, colour], row) => svg("g", {},
      svg("text", { class: "strong", x: 10, y: 34 + 76 * row }, label),
      ...found.map((ratios, k) => svg("circle", { class: colour, cx: x(ratios[name]).toFixed(1), cy: (46 + 76 * row + 34 * ((k * 0.618) % 1)).toFixed(1), r: 3, "fill-opacity": 0.45 }))));
    return {
      said: `${data.differences.length} pairs of models. ${ROWS.map(([name, label]) => `Over ${label}: at most ${digits(most(name))}, above 1 for ${count(name)} pairs`).join(". ")}.`,
      parts: [
        svg("rect", { class: "beyond", x: one, y: 18, width: width - 8 - one, height: 150 }),
        svg("path", { class: "mark", d: `M${one} 14V168M8 168H${width - 8}` }),
        svg("text", { x: one - 6, y: 12, "text-anchor": "end" }, "bound holds"), svg("text", { x: one + 6, y: 12 }, "bound is broken"),
        ...rows, ...ticks,
        svg("text", { x: width / 2, y: 204, "text-anchor": "middle" }, "difference of two models, divided by its bound"),
      ],
    };
  }

  function show() {
    found = core.ratios(data, 10 ** power);
    dots.show();
    const [printed, correct] = [count("printed"), count("correct")];
    status.className = `instrument-status ${printed ? "wrong" : "right"}`;
    status.textContent = `${printed ? "✗" : "✓"} At scale ${digits(10 ** power, 2)}, ${printed === found.length ? `all ${printed}` : `${printed || "none"} of the ${found.length}`} pairs of models break the paper’s bound`
      + `${printed ? `, the worst by a factor of ${digits(most("printed"))}` : ""}. The corrected bound is ${correct ? `broken by ${correct}` : "broken by none"}: its largest ratio is ${digits(most("correct"))}.`;
  }

  room.append(make("section", {}, scale.field, status, dots.place,
    make("p", { class: "instrument-note" }, `Each dot is a pair of models of loss ${digits(data.epsilon, 1)}, on the worst of ${data.inputs.length} inputs. λ`, make("sub", {}, "min"), ` of the data is ${digits(data.smallest)}.`)));
  show();
};
window.instruments.break_it.needs = ["drawing.js", "features.js"];
