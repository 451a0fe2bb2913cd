// Store my labels: the keys and queries that Theorem 1 constructs, and a read-out that is solved for what is typed.
window.instruments.store_labels_core = (() => {
  "use strict";
  const dot = (one, other) => one.reduce((sum, value, k) => sum + value * other[k], 0);
  const times = (matrix, vector) => matrix.map((row) => dot(row, vector));
  const across = (matrix, vector) => matrix[0].map((_, column) => matrix.reduce((sum, row, k) => sum + row[column] * vector[k], 0));

  // The softmax weights of each head on the tokens of the context, for one query (Eqs. 1 to 3).
  function weights({ context, keys, queries }, query) {
    return keys.map((key, head) => {
      const asked = across(queries[head], query);
      const logits = context.map((token) => dot(across(key, token), asked));
      const sizes = logits.map((logit) => Math.exp(logit - Math.max(...logits)));
      const total = sizes.reduce((sum, size) => sum + size, 0);
      return sizes.map((size) => size / total);
    });
  }

  // A row of Z: the means that the heads take of the context, one after another.
  const features = (data, query) => weights(data, query).flatMap((theta) => across(data.context, theta));

  // Gauss's elimination with the largest pivot of each column.
  function solve(matrix, right) {
    const rows = matrix.map((row, k) => [...row, right[k]]);
    for (let column = 0; column < rows.length; column += 1) {
      const best = rows.reduce((most, row, k) => (k >= column && Math.abs(row[column]) > Math.abs(rows[most][column]) ? k : most), column);
      [rows[column], rows[best]] = [rows[best], rows[column]];
      for (let k = column + 1; k < rows.length; k += 1) {
        const factor = rows[k][column] / rows[column][column];
        for (let j = column; j <= rows.length; j += 1) rows[k][j] -= factor * rows[column][j];
      }
    }
    const solution = right.map(() => 0);
    for (let k = rows.length - 1; k >= 0; k -= 1) {
      solution[k] = (rows[k][rows.length] - dot(rows[k].slice(k + 1, -1), solution.slice(k + 1))) / rows[k][k];
    }
    return solution;
  }

  // What the layer returns for the first examples, as many as there are labels, with the smallest read-out that meets
  // the labels best. The rows of Z are independent up to the theorem's number. One more row is a combination of them,
  // and then the labels are first moved to the nearest ones that obey the same combination.
  function outputs(data, labels) {
    const Z = data.examples.slice(0, labels.length).map((query) => features(data, query));
    const count = Math.min(Z.length, data.capacity), base = Z.slice(0, count);
    const gram = base.map((row) => times(base, row));
    let wanted = labels;
    if (Z.length > count) {
      const relation = [...solve(gram, times(base, Z[count])), -1];
      const amount = dot(relation, labels) / dot(relation, relation);
      wanted = labels.map((label, k) => label - amount * relation[k]);
    }
    const readout = across(base, solve(gram, wanted.slice(0, count)));
    return times(Z, readout);
  }

  return { weights, features, outputs };
})();

window.instruments.store_labels = (room, given) => {
  "use strict";
  const { construction: data } = given;
  const { make, svg, picture, digits, store_labels_core: core } = window.instruments;
  const [heads, tokens] = [data.keys.length, data.context.length];
  const all = data.examples.map((query) => core.weights(data, query));
  let chosen = data.blocks[1][0];

  const text = make("input", { type: "text", value: "Store my labels.", maxlength: data.capacity, spellcheck: "false", autocomplete: "off", input: show });
  const more = make("input", { type: "checkbox", change: () => { text.maxLength = data.capacity + (more.checked ? 1 : 0); text.value = more.checked ? `${text.value.padEnd(data.capacity)}!` : text.value.slice(0, data.capacity); show(); } });
  const returned = make("code", { class: "instrument-returned" });
  const status = make("p", { class: "instrument-status", role: "status" });
  const which = make("select", { change: () => { chosen = Number(which.value); show(); } });
  const about = make("p", { class: "instrument-reading" });
  const staircase = picture({ height: heads * (tokens * 9 + 6) + 34, draw });
  const ownerOf = (example) => data.blocks.findIndex(([start, stop]) => start <= example && example < stop);
  const sign = (label) => (label >= 32 && label < 65536 ? String.fromCharCode(label) : "▯");

  const letters = () => [...Array(data.capacity + (more.checked ? 1 : 0)).keys()].map((k) => text.value.charAt(k) || " ");

  function draw(width) {
    const count = letters().length, left = 54, step = (width - left - 4) / (data.capacity + 1), tall = tokens * 9 + 6;
    const parts = all.slice(0, count).flatMap((rows, example) => rows.flatMap((theta, head) => theta.map((weight, token) =>
      svg("rect", { class: "plus", x: (left + step * example + 1).toFixed(1), y: 24 + tall * head + 9 * token, width: (step - 2).toFixed(1), height: 8, "fill-opacity": (0.06 + 0.94 * weight).toFixed(3) }))));
    const blocks = data.blocks.map(([start, stop], head) => svg("g", {},
      svg("text", { x: left - 6, y: 24 + tall * head + tall / 2, "text-anchor": "end" }, `head ${head + 1}`),
      svg("rect", { class: "outline", x: left + step * start - 0.5, y: 21.5 + tall * head, width: step * (stop - start) + 1, height: tall - 2 })));
    const typed = letters().map((letter, k) => svg("text", { class: k === chosen ? "strong" : null, x: left + step * (k + 0.5), y: 14, "text-anchor": "middle" }, letter === " " ? "␣" : letter));
    return {
      said: `Softmax weights of ${heads} heads on ${tokens} tokens, for ${count} examples. On its own block of examples, outlined, a head spreads its weight; on all others, except in head 1, it puts nearly all on one token.`,
      parts: [...typed, ...parts, ...blocks,
        ...typed.map((_, k) => svg("rect", { class: k === chosen ? "hit here" : "hit", x: left + step * k, y: 1, width: step, height: heads * tall + 26, click: () => { chosen = k; show(); } }))],
    };
  }

  function show() {
    const wanted = letters(), labels = wanted.map((letter) => letter.charCodeAt(0));
    const found = core.outputs(data, labels);
    const back = found.map((value) => sign(Math.round(value)));
    const wrong = back.filter((letter, k) => letter !== wanted[k]).length;
    const off = Math.max(...found.map((value, k) => Math.abs(value - labels[k])));
    chosen = Math.min(chosen, wanted.length - 1);
    returned.textContent = back.join("");
    const failed = off > 1e-6, many = `${wanted.length} letters`;
    status.className = `instrument-status ${failed ? "wrong" : "right"}`;
    if (failed) status.textContent = `✗ ${wrong || "None"} of ${many} ${wrong === 1 ? "comes" : "come"} back wrong. The best outputs miss a label by up to ${digits(off)}. The theorem promises ${data.capacity} examples, and with one shared context no layer of this size stores one more, whatever its labels.`;
    else status.textContent = `✓ All ${many} come back. The largest error of an output is ${digits(off, 1)}. ${wanted.length > data.capacity ? "These labels happen to fit; most others do not." : "Keys and queries do not depend on the letters: only the read-out was solved again."}`;
    which.replaceChildren(...wanted.map((letter, k) => make("option", { value: k }, `${k + 1}: “${letter}”`)));
    which.value = String(chosen);
    const owner = ownerOf(chosen), theta = owner < 0 ? "" : all[chosen][owner].map((weight) => `${Math.round(100 * weight)} %`).join(", ");
    about.textContent = `“${wanted[chosen]}” has the label ${labels[chosen]}. The layer returns ${found[chosen].toFixed(6)}. ${owner < 0 ? "No head owns this example." : `Head ${owner + 1} owns this example: its weights on the ${tokens} tokens are ${theta}.`}`;
    staircase.show();
  }

  const field = (label, control) => make("label", { class: "instrument-field" }, make("span", {}, label), control);
  room.append(make("section", {},
    field(`Type up to ${data.capacity} letters`, text),
    make("p", {}, "The layer returns ", returned),
    status,
    make("label", { class: "instrument-check" }, more, " One letter more than the theorem allows"),
    staircase.place,
    make("p", { class: "instrument-note" }, `Across: the examples. Down: ${heads} heads, each with its weights on the ${tokens} tokens of the one context; the darker, the more weight. Outlined: the examples that the head owns.`),
    field("Example", which), about));
  show();
};
window.instruments.store_labels.needs = ["drawing.js"];
