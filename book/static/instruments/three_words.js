// Keep in mind: nine phrases, each with an answer, and what one layer of linear attention or HyperAttention makes of them.
window.instruments.three_words_core = (() => {
  "use strict";
  const CONTEXTS = ["keep", "take", "leave"], QUERIES = ["in", "at", "on"];
  const ANSWERS = ["mind", "bay", "track", "stride", "face", "board", "peace", "that", "hold"];
  const WORDS = [...CONTEXTS, ...QUERIES];
  const phrases = ANSWERS.map((answer, k) => ({ context: Math.floor(k / 3), query: 3 + (k % 3), answer }));

  // Order 3: f picks the pair of context and query, and the vector of this pair is the answer.
  const effect = (query, one, other) => Number(query >= 3 && one < 3 && other === query);
  const pairVector = (one, other) => ANSWERS.map((_, k) => Number(phrases[k].context === one && phrases[k].query === other));

  // The votes of order 3 for the nine answers: the sum of f w over the pairs of positions j ≤ k of the phrase.
  function order3({ context, query }) {
    const pairs = [[context, context], [context, query], [query, query]];
    return ANSWERS.map((_, k) => pairs.reduce((sum, [one, other]) => sum + effect(query, one, other) * pairVector(one, other)[k], 0));
  }

  // What linear heads put on the six words in each phrase: f of the query at its context and at itself.
  const design = (heads) => phrases.map(({ context, query }) => heads.flatMap((scores) =>
    WORDS.map((_, word) => (word === context || word === query ? scores[query][word] : 0))));

  // The votes of the heads for each phrase and answer with the best vectors of the words: the projection of the nine
  // answers onto the span of the design's columns, by Gram and Schmidt, twice.
  function votes(heads) {
    const rows = design(heads), basis = [];
    const dot = (one, other) => one.reduce((sum, value, k) => sum + value * other[k], 0);
    for (let column = 0; column < rows[0].length; column += 1) {
      const whole = rows.map((row) => row[column]);
      let left = whole;
      for (let twice = 0; twice < 2; twice += 1) for (const one of basis) { const amount = dot(left, one); left = left.map((value, k) => value - amount * one[k]); }
      const size = Math.sqrt(dot(left, left));
      if (size > 1e-10 * Math.sqrt(dot(whole, whole))) basis.push(left.map((value) => value / size));
    }
    return phrases.map((_, k) => phrases.map((_, j) => basis.reduce((sum, one) => sum + one[k] * one[j], 0)));
  }

  const squaredError = (table) => table.flat().reduce((sum, value, k) => sum + (value - Number(k % 10 === 0)) ** 2, 0);

  return { WORDS, phrases, effect, order3, design, votes, squaredError };
})();

window.instruments.three_words = (room) => {
  "use strict";
  const { make, svg, picture, digits, three_words_core: core } = window.instruments;
  const { WORDS, phrases } = core;
  let chosen = 0, count = 1;
  // The first scores are written down, so that every reader sees the same; all others are drawn.
  let scores = [[1, 2, 3], [3, 1, 2]].map((shift) => WORDS.map((_, row) => WORDS.map((_, column) => Math.sin(7 * row + shift[row % 3] * column + shift[0]))));
  const drawn = () => WORDS.map(() => WORDS.map(() => 2 * Math.random() - 1));

  const buttons = phrases.map(({ context, query, answer }, k) => make("button", { type: "button", click: () => { chosen = k; show(); } }, `${WORDS[context]} … ${WORDS[query]} ${answer}`));
  const heads = make("select", { change: () => { count = Number(heads.value); show(); } }, make("option", { value: 1 }, "one head"), make("option", { value: 2 }, "two heads"));
  const status = make("p", { class: "instrument-status", role: "status" });
  const about = make("p", { class: "instrument-note" });
  const grid = make("div", { class: "instrument-scroll", tabindex: "0", role: "region", "aria-label": "Scores of order 3" });
  const bars = picture({ height: 9 * 24 + 26, draw });

  function draw(width) {
    const [exact, best] = [core.order3(phrases[chosen]), core.votes(scores.slice(0, count))[chosen]];
    const left = 58, half = (width - left) / 2, unit = (half - 74) / 1.4;
    const parts = [exact, best].flatMap((values, side) => {
      const zero = left + half * side + 0.4 * unit + 34;
      return [svg("text", { x: left + half * side + half / 2, y: 14, "text-anchor": "middle" }, side ? `attention, ${count === 1 ? "one head" : "two heads"}` : "order 3"),
        svg("path", { class: "mark", d: `M${zero} 22V${22 + 9 * 24}` }),
        ...values.flatMap((raw, k) => {
          const value = Math.round(1000 * raw) / 1000 + 0, end = zero + unit * value;
          return [svg("rect", { class: value < 0 ? "minus" : "plus", x: Math.min(zero, end), y: 26 + 24 * k, width: Math.abs(end - zero), height: 15 }),
            svg("text", { x: end + (value < 0 ? -4 : 4), y: 38 + 24 * k, "text-anchor": value < 0 ? "end" : "start" }, digits(value, 2))];
        })];
    });
    const names = phrases.map(({ answer }, k) => svg("text", { class: k === chosen ? "strong" : null, x: 0, y: 38 + 24 * k }, answer));
    const words = (values) => phrases.map(({ answer }, k) => `${answer} ${digits(Math.round(1000 * values[k]) / 1000 + 0, 2)}`).join(", ");
    return { said: `Votes for the nine answers. Order 3: ${words(exact)}. Attention: ${words(best)}.`, parts: [...names, ...parts] };
  }

  function show() {
    const { context, query, answer } = phrases[chosen];
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === chosen)));
    const inside = (row, column) => [[context, context], [context, query], [query, query]].some(([one, other]) => one === row && other === column);
    about.textContent = `f(${WORDS[query]}; first word, second word), with the first word on the left. Framed: the pairs in “${WORDS[context]} … ${WORDS[query]}”.`;
    grid.replaceChildren(make("table", { class: "instrument-scores" },
      make("thead", {}, make("tr", {}, make("td"), ...WORDS.map((word) => make("th", { scope: "col", class: "number" }, word)))),
      make("tbody", {}, ...WORDS.map((word, row) => make("tr", {}, make("th", { scope: "row" }, word), ...WORDS.map((_, column) => {
        const score = core.effect(query, row, column);
        return make("td", { class: `number text-right${inside(row, column) ? " framed" : ""}${score ? " plus" : ""}` }, String(score));
      }))))));
    const table = core.votes(scores.slice(0, count)), error = core.squaredError(table), right = table[chosen][chosen];
    const exact = error < 1e-9;
    status.className = `instrument-status ${exact ? "right" : "wrong"}`;
    status.textContent = `Order 3: “${answer}” gets 1, all other answers 0. `
      + `${exact ? "✓ Two heads" : "✗ One head"}: “${answer}” gets ${digits(right, 2)}. The squared error over all nine phrases is ${digits(Math.round(1e6 * error) / 1e6)}${exact ? "." : ": the nine answers need nine vectors, and one head has six, one per word."}`;
    bars.show();
  }

  room.append(
    make("section", {}, make("div", { class: "instrument-nine", role: "group", "aria-label": "The phrase" }, ...buttons),
      make("div", { class: "instrument-buttons" }, make("label", {}, "Attention with ", heads),
        make("button", { type: "button", click: () => { scores = [drawn(), drawn()]; show(); } }, "Draw other scores")),
      status, bars.place),
    make("section", {}, make("h3", {}, "The scores of order 3"), about, grid));
  show();
};
window.instruments.three_words.needs = ["drawing.js"];
