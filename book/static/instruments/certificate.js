// Drag the data: the certificate of Lemma 4.1 for six inputs of two tokens with two entries each.
window.instruments.certificate_core = (() => {
  "use strict";
  const SIX = [0, 1, 2, 3, 4, 5];
  const dot = (one, other) => one.reduce((sum, value, k) => sum + value * other[k], 0);

  // The mean of H Hᵀ over the inputs.
  const moment = (rows) => SIX.map((j) => SIX.map((k) => rows.reduce((sum, row) => sum + row[j] * row[k], 0) / rows.length));

  // The rank of the features, exactly: tokens are halves of integers, and elimination without fractions keeps integers.
  function rank(rows) {
    const whole = rows.map((row) => row.map((value) => BigInt(Math.round(8 * value))));
    let [found, before] = [0, 1n];
    for (let column = 0; column < 6; column += 1) {
      const pivot = whole.findIndex((row, k) => k >= found && row[column] !== 0n);
      if (pivot < 0) continue;
      [whole[found], whole[pivot]] = [whole[pivot], whole[found]];
      for (let k = found + 1; k < whole.length; k += 1) {
        const [above, factor] = [whole[found], whole[k][column]];
        whole[k] = whole[k].map((value, j) => (value * above[column] - factor * above[j]) / before);
      }
      before = whole[found][column];
      found += 1;
    }
    return found;
  }

  // The smallest eigenvalue of a symmetric matrix and its eigenvector, by Jacobi's rotations.
  function smallest(matrix) {
    const a = matrix.map((row) => [...row]), v = SIX.map((j) => SIX.map((k) => Number(j === k)));
    for (let sweep = 0; sweep < 30; sweep += 1) for (const p of SIX) for (const q of SIX.slice(p + 1)) {
      if (a[p][q] === 0) continue;
      const angle = Math.atan2(2 * a[p][q], a[q][q] - a[p][p]) / 2, [c, s] = [Math.cos(angle), Math.sin(angle)];
      for (const rows of [a, v]) for (const row of rows) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
      [a[p], a[q]] = [a[p].map((value, k) => c * value - s * a[q][k]), a[p].map((value, k) => s * value + c * a[q][k])];
    }
    const place = SIX.reduce((least, k) => (a[k][k] < a[least][least] ? k : least), 0);
    const vector = v.map((row) => row[place]);
    const largest = vector.reduce((most, value) => (Math.abs(value) > Math.abs(most) + 1e-9 ? value : most), 0);
    return { value: a[place][place], vector: vector.map((value) => value * Math.sign(largest)) };
  }

  // For inputs of tokens that are multiples of ½: the rank, λ_min, and the direction that the data show least.
  function certificate(inputs) {
    const rows = inputs.map(window.instruments.cubicFeatures), found = rank(rows), { value, vector } = smallest(moment(rows));
    return { rank: found, value: found < 6 ? 0 : value, direction: vector };
  }

  return { certificate, dot };
})();

window.instruments.certificate = (room) => {
  "use strict";
  const { make, svg, picture, slider, digits, cubicFeatures, certificate_core: core } = window.instruments;
  const [EDGE, FEATURES] = [3, ["⟨z₁,z₂⟩z₁ₙ", "⟨z₁,z₂⟩z₂ₙ", "⟨z₁,z₁⟩z₁ₙ", "⟨z₁,z₁⟩z₂ₙ", "⟨z₂,z₂⟩z₁ₙ", "⟨z₂,z₂⟩z₂ₙ"]];
  const TEACHER = [0, 1, 1, 0, 0, 0]; // the first output of a head with V = Q = identity
  // The first token and the last token of each input. The sixth input lies on the fifth; the last of all is the new one.
  const tokens = [[[1, 2], [2, 0.5]], [[-2, 1], [1, 1.5]], [[-1, -2], [-1.5, 1]], [[2, -1.5], [-0.5, -1]], [[-2.5, -1], [1.5, -2]], [[-2.5, -1], [1.5, -2]], [[0.5, 2.5], [2.5, 2]]];
  let moved = 11;

  const names = tokens.flatMap((_, k) => ["first", "last"].map((place) => `${k < 6 ? `input ${k + 1}` : "new input"}, ${place} token`));
  const choice = make("select", { change: () => { moved = Number(choice.value); show(); } }, ...names.map((name, k) => make("option", { value: k }, name)));
  const axes = [0, 1].map((axis) => slider({ label: `Its ${["first", "second"][axis]} entry`, min: -EDGE, max: EDGE, step: 0.5, value: 0, said: (value) => digits(value), changed: (value) => { at()[axis] = value; show(); } }));
  const at = () => tokens[moved >> 1][moved % 2];
  const status = make("p", { class: "instrument-status", role: "status" });
  const models = make("div", {});
  let found;

  const plane = picture({ height: 340, most: 340, draw: (width) => {
    const unit = (width - 24) / (2 * EDGE), x = (value) => 12 + unit * (value + EDGE), y = (value) => 328 - (316 / (2 * EDGE)) * (value + EDGE);
    const grid = Array.from({ length: 2 * EDGE + 1 }, (_, k) => svg("path", { class: k === EDGE ? "mark" : "grid", d: `M${x(k - EDGE)} 12V328M12 ${y(k - EDGE)}H${width - 12}` }));
    const handle = (token, number) => {
      const [colour, size] = [number < 12 ? "plus" : "minus", number === moved ? 9 : 7];
      const attributes = { class: `handle ${colour}${number === moved ? " now" : ""}`, "data-token": number };
      const label = svg("text", { class: "label", x: x(token[0]), y: y(token[1]) + 4, "text-anchor": "middle" }, number < 12 ? String((number >> 1) + 1) : "n");
      return svg("g", attributes, number % 2 ? svg("circle", { cx: x(token[0]), cy: y(token[1]), r: size + 1 })
        : svg("rect", { x: x(token[0]) - size, y: y(token[1]) - size, width: 2 * size, height: 2 * size }), label);
    };
    const lines = tokens.map(([first, last], k) => svg("path", { class: k < 6 ? "pair plus" : "pair minus", d: `M${x(first[0])} ${y(first[1])}L${x(last[0])} ${y(last[1])}` }));
    const order = [...names.keys()].sort((one, other) => Number(one === moved) - Number(other === moved) || one - other);
    return { said: `Six inputs and a new one, each with a first token (square) and a last token (circle): ${tokens.map(([first, last], k) => `${k < 6 ? k + 1 : "new"}: (${first}) and (${last})`).join("; ")}.`,
      parts: [...grid, ...lines, ...order.map((number) => handle(tokens[number >> 1][number % 2], number))] };
  } });

  // Drag a handle: it stops at multiples of ½.
  plane.place.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest("[data-token]");
    if (!handle) return;
    event.preventDefault();
    moved = Number(handle.dataset.token);
    plane.place.setPointerCapture(event.pointerId);
    show();
  });
  plane.place.addEventListener("pointermove", (event) => {
    if (!plane.place.hasPointerCapture(event.pointerId)) return;
    const box = plane.place.firstChild.getBoundingClientRect();
    const value = (share) => Math.max(-EDGE, Math.min(EDGE, Math.round(2 * (2 * EDGE * share - EDGE)) / 2)) + 0;
    const next = [value((event.clientX - box.left - 12) / (box.width - 24)), value((box.bottom - 12 - event.clientY) / (box.height - 24))];
    if (next.some((entry, axis) => entry !== at()[axis])) { [at()[0], at()[1]] = next; show(); }
  });

  const direction = picture({ height: 180, most: 420, draw: (width) => {
    const [left, zero] = [84, 84 + (width - 84) / 2], unit = (width - 84) / 2 - 36;
    return { said: `The direction: ${FEATURES.map((name, k) => `${name} ${digits(found.direction[k], 2)}`).join(", ")}.`,
      parts: [svg("path", { class: "mark", d: `M${zero} 4V176` }), ...FEATURES.flatMap((name, k) => {
        const raw = found.direction[k], value = Math.abs(raw) < 1e-9 ? 0 : raw, end = zero + unit * value;
        return [svg("text", { x: 0, y: 20 + 29 * k }, name), svg("rect", { class: value < 0 ? "minus" : "plus", x: Math.min(zero, end), y: 8 + 29 * k, width: Math.abs(end - zero), height: 16 }),
          svg("text", { x: end + (value < 0 ? -4 : 4), y: 20 + 29 * k, "text-anchor": value < 0 ? "end" : "start" }, digits(value, 2))];
      })] };
  } });

  function show() {
    choice.value = String(moved);
    axes.forEach((axis, k) => axis.set(at()[k]));
    found = core.certificate(tokens.slice(0, 6));
    const rows = tokens.map((input) => { const h = cubicFeatures(input); return [core.dot(TEACHER, h), core.dot(TEACHER, h) + core.dot(found.direction, h)].map((value) => Math.round(1e6 * value) / 1e6 + 0); });
    const sees = found.value > 0, apart = Math.abs(rows[6][1] - rows[6][0]);
    status.className = `instrument-status ${sees ? "right" : "wrong"}`;
    status.replaceChildren(sees ? "✓ λ" : "✗ λ", make("sub", {}, "min"), sees
      ? ` = ${digits(found.value)}. The six inputs show all six directions. Adding u changes the predictions on the data, by ${digits(found.value)} in mean square, so only one function fits the labels.`
      : ` = 0. The six inputs show only ${found.rank} of six directions. Two models fit every label and ${apart ? `differ by ${digits(apart)} on the new input` : "agree on the new input only by chance"}.`);
    models.replaceChildren(make("table", {},
      make("thead", {}, make("tr", {}, ...["input", "model p", "model p + u"].map((text, k) => make("th", { scope: "col", class: k ? "number" : null }, text)))),
      make("tbody", {}, ...rows.map(([one, other], k) => make("tr", { class: sees || one === other ? "" : "wrong" }, make("th", { scope: "row" }, k < 6 ? String(k + 1) : "new"), ...[one, other].map((value) => make("td", { class: "number" }, digits(value, 4))))))));
    plane.show();
    direction.show();
  }

  room.append(make("section", {}, status), make("div", { class: "instrument-columns" },
    make("section", {}, plane.place, make("p", { class: "instrument-note" }, "Drag a token. Square: the first token of an input. Circle: its last. Orange: the new input."),
      make("label", { class: "instrument-field" }, make("span", {}, "Token to move"), choice), ...axes.map(({ field }) => field)),
    make("section", {}, make("h4", {}, "The direction u that the data show least"), direction.place, make("h4", {}, "Two models"), models)));
  show();
};
window.instruments.certificate.needs = ["drawing.js", "features.js"];
