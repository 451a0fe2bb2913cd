// How much fits: the examples that one layer of attention stores, by Theorem 1 and by the exact rank of its features.
// The ranks are the book's, in a table; `how_much_fits_core` holds the look-up and the counts that stand beside it.
(() => {
  "use strict";
  const NAME = "how_much_fits";
  const instruments = (window.instruments = window.instruments || {});

  // ---------------------------------------------------------------------------------------------- mathematics

  /** Sizes are {heads, tokens, width, headWidth, contexts}; contexts is "shared" or "separate". */
  const core = {
    /** The exact rank of the features, from the table. */
    rank: (table, { heads, tokens, width, headWidth, contexts }) =>
      table.ranks[contexts][table.tokens.indexOf(tokens)][table.widths.indexOf(width)][table.head_widths.indexOf(headWidth)][
        table.heads.indexOf(heads)
      ],
    /** What no keys and queries exceed (Proposition 2, and the number of columns). */
    most: ({ heads, tokens, width, contexts }) =>
      contexts === "shared" ? Math.min(heads * (tokens - 1) + 1, heads * width) : tokens > 1 ? heads * width : width,
    /** Theorem 1: H (min(n, d_h) - 1) + 1. */
    promised: ({ heads, tokens, headWidth }) => heads * (Math.min(tokens, headWidth) - 1) + 1,
    /** Whether the theorem speaks of these sizes: it asks for n < d. */
    covered: ({ tokens, width }) => tokens < width,
    /** Which examples each head takes: min(n, d_h) the first, one less every further one; from and to, without to. */
    blocks: ({ heads, tokens, headWidth }) => {
      const together = Math.min(tokens, headWidth);
      return Array.from({ length: heads }, (_, head) => [head ? 1 + head * (together - 1) : 0, 1 + (head + 1) * (together - 1)]);
    },
    /** All numbers in the layer with d_v = d_out = 1: keys, queries, values, output weights, decoder. */
    parameters: ({ heads, width, headWidth }) => 2 * heads * width * headWidth + 2 * heads * width + width,
    /** The directions in which these numbers move the outputs, counted; null outside n from 2 to d - 1. */
    directions: ({ heads, tokens, width, headWidth, contexts }) => {
      if (tokens < 2 || tokens >= width) return null;
      const rows = contexts === "shared" ? tokens - 1 : width;
      const rank = Math.min(headWidth, rows);
      return heads * rank * (rows + width - rank) + (contexts === "shared" ? heads * rows + 1 : heads * width);
    },
  };
  instruments[`${NAME}_core`] = core;

  // -------------------------------------------------------------------------------------------------- drawing

  const SIZES = [
    ["heads", "heads", "Heads <i>H</i>", "H"],
    ["tokens", "tokens", "Tokens in the context <i>n</i>", "n"],
    ["width", "widths", "Width of a token <i>d</i>", "d"],
    ["headWidth", "head_widths", "Width of keys <i>d<sub>h</sub></i>", "d_h"],
  ];
  const NAMES = { heads: "heads H", tokens: "tokens n", width: "width d", headWidth: "key width d_h" };
  const ROW = 17;

  const frame = (table) => `
  <section class="hmf-set">
    <div class="hmf-sliders">
      ${SIZES.map(([key, list, name]) => `<div><label for="hmf-${key}">${name} <output for="hmf-${key}"></output></label><input type="range" id="hmf-${key}" min="0" max="${table[list].length - 1}" step="1"></div>`).join("")}
    </div>
    <fieldset><legend><h3>What the examples look at</h3></legend>
      <label><input type="radio" name="hmf-contexts" value="shared" checked><span><b>one context for all</b> <small>examples differ by their queries alone</small></span></label>
      <label><input type="radio" name="hmf-contexts" value="separate"><span><b>a context for each</b> <small>every example brings tokens of its own</small></span></label>
    </fieldset>
  </section>
  <section>
    <h3 id="hmf-fits">What fits</h3>
    <p class="hmf-said" role="status" data-part="said"></p>
    <table aria-labelledby="hmf-fits"><tbody></tbody></table>
    <p class="hmf-small" data-part="more"></p>
  </section>
  <section>
    <h3>Who stores what</h3>
    <div data-part="stairs"></div>
    <ul class="hmf-key"><li class="hmf-own">stored by this head (Theorem 1)</li><li class="hmf-room">room that the rank leaves</li><li class="hmf-none">no room: some labels cannot be met</li></ul>
  </section>
  <section>
    <h3>Along one size</h3>
    <fieldset class="hmf-axis"><legend class="hmf-small">the others stay as they are; a column can be clicked</legend>
      ${Object.entries(NAMES).map(([key, name], i) => `<label><input type="radio" name="hmf-axis" value="${key}"${i ? "" : " checked"}><span>${name.replace("d_h", "d<sub>h</sub>")}</span></label>`).join("")}
    </fieldset>
    <div data-part="chart"></div>
    <ul class="hmf-key"><li class="hmf-own">Theorem 1</li><li class="hmf-open">the same formula, where the theorem is silent (n ≥ d)</li><li class="hmf-dot">exact rank</li></ul>
  </section>`;

  const count = (k, noun) => `${k} ${noun}${k === 1 ? "" : "s"}`;

  function start(element, data) {
    const table = data.ranks;
    const sizes = { heads: 4, tokens: 5, width: 8, headWidth: 8, contexts: "shared" };
    let axis = "heads";
    element.classList.add("hmf");
    element.innerHTML = frame(table);
    const find = (selector) => element.querySelector(selector);
    const listOf = (key) => table[SIZES.find((one) => one[0] === key)[1]];

    function draw() {
      for (const [key, list, , symbol] of SIZES) {
        const slider = find(`#hmf-${key}`);
        slider.value = table[list].indexOf(sizes[key]);
        slider.setAttribute("aria-valuetext", `${symbol} = ${sizes[key]}`);
        find(`output[for=hmf-${key}]`).textContent = `= ${sizes[key]}`;
      }
      drawNumbers();
      drawStairs();
      drawChart();
    }

    function drawNumbers() {
      const { heads, tokens, width, headWidth, contexts } = sizes;
      const rank = core.rank(table, sizes);
      const promised = core.promised(sizes);
      const covered = core.covered(sizes);
      const parameters = core.parameters(sizes);
      const directions = core.directions(sizes);
      const shared = contexts === "shared";
      const layer = `${count(heads, "head")} over ${count(tokens, "token")}`;
      const said = [];
      if (shared && tokens === 1) said.push("With one token in the context, every head returns that token for every query. All examples get the same answer, so one fits.");
      else said.push(`<b>${count(rank, "example")} ${rank === 1 ? "fits" : "fit"}</b> into ${layer}, whatever the labels${shared ? "" : ", if each example has a separate context"}.`);
      if (!covered) said.push(`Theorem 1 says nothing here: it requires n &lt; d, and n = ${tokens} is ${tokens === width ? "equal to" : "larger than"} d = ${width}.`);
      else if (tokens === 1 && !shared) said.push("Theorem 1 gives weights for 1 example. The tokens themselves, which differ between the examples, allow more.");
      else if (promised === rank && tokens > 1) said.push("Theorem 1 gives weights for all of them, and by Proposition 2 no further example fits.");
      else if (promised < rank) {
        const narrow = headWidth < tokens;
        const why = shared
          ? `each head stores ${count(headWidth, "example")}, the width of the keys, and wider keys would store ${tokens}. But almost all keys and queries of this width give features of the same rank as wide ones`
          : `it promises only what examples with one shared context allow${narrow ? ", and fewer for narrow keys" : ""}, but examples with separate contexts use all H d = ${heads * width} columns of the features`;
        said.push(`Theorem 1 gives weights for ${promised} of them: ${why}.`);
      }
      const times = parameters / rank;
      said.push(`Counting the layer's ${parameters} numbers would suggest ${times >= 1.5 ? `${times >= 10 ? Math.round(times) : times.toFixed(1)} times as many` : "about as many"}.`);
      find("[data-part=said]").innerHTML = said.join(" ");
      const rows = [
        ["Theorem 1", covered ? promised : null, covered ? `H (min(n, d<sub>h</sub>) − 1) + 1` : "says nothing for n ≥ d", "own"],
        ["exact rank", rank, shared ? (tokens - 1 < width ? "at most H (n − 1) + 1" : "at most H d") : tokens > 1 ? "at most H d" : "at most d", "dot"],
        ["directions", directions, directions === null ? "counted only for 1 &lt; n &lt; d" : "in which the outputs can move", "free"],
        ["parameters", parameters, "2 H d d<sub>h</sub> + 2 H d + d", "all"],
      ];
      const largest = Math.max(...rows.map((one) => one[1] || 0));
      find("tbody").innerHTML = rows
        .map(([name, value, formula, kind]) => `<tr><th scope="row">${name}<small>${formula}</small></th><td class="number">${value === null ? "–" : value}</td><td class="hmf-bar"><span class="hmf-${kind}" style="--p:${((value || 0) / largest).toFixed(5)}"></span></td></tr>`)
        .join("");
      const proof = rank === core.most(sizes) ? `The rank is exact: integer arithmetic modulo a prime gives ${rank}, and no keys and queries have a higher rank.` : `Integer arithmetic modulo a prime shows that the rank is at least ${rank}. It is at most ${core.most(sizes)}.`;
      find("[data-part=more]").innerHTML = `${proof} It is what keys and queries that are fixed beforehand can do for <em>all</em> labels, one number an example. Keys and queries trained for given labels meet more of them, and beyond the number of directions hardly any.`;
    }

    /** Heads above examples: which examples each head of the construction takes. */
    function drawStairs() {
      const width = wide();
      const left = 52;
      const right = 10;
      const rank = core.rank(table, sizes);
      const promised = core.promised(sizes);
      const covered = core.covered(sizes);
      const last = Math.max(core.most({ ...sizes, heads: table.heads.at(-1) }), core.promised({ ...sizes, heads: table.heads.at(-1) })) + 1;
      const step = (width - left - right) / last;
      const x = (example) => left + step * example;
      const top = 22;
      const bottom = top + ROW * table.heads.length;
      const box = (from, to, y, height, kind) => (to > from ? `<rect class="hmf-${kind}" x="${x(from).toFixed(2)}" y="${y}" width="${(step * (to - from)).toFixed(2)}" height="${height}"/>` : "");
      const parts = [];
      const gap = Math.min(1, step / 6);
      table.heads.forEach((head, i) => {
        const y = top + ROW * i;
        const used = head <= sizes.heads;
        parts.push(`<text${used ? ' class="hmf-strong"' : ""} x="${left - 8}" y="${y + 12.5}" text-anchor="end">head ${head}</text>`);
        if (!used) {
          parts.push(`<path class="hmf-unused" d="M${left} ${y + ROW / 2}H${width - right}"/>`);
          return;
        }
        const [from, to] = core.blocks(sizes)[i];
        if (covered) {
          parts.push(box(0, promised, y + 1, ROW - 2, "band"));
          for (let example = from; example < to; example++) {
            parts.push(`<rect class="hmf-own" x="${(x(example) + gap / 2).toFixed(2)}" y="${y + 1}" width="${(step - gap).toFixed(2)}" height="${ROW - 2}"/>`);
          }
        }
      });
      const low = top + ROW * sizes.heads;
      const stored = covered ? Math.min(promised, rank) : 0;
      parts.push(box(stored, rank, top + 1, low - top - 2, "room"), box(rank, last, top + 1, low - top - 2, "none"));
      const mark = (at, label, y, from, to) =>
        `<path class="hmf-mark" d="M${x(at).toFixed(1)} ${from}V${to}"/><text x="${Math.min(width - 4, Math.max(left + 4, x(at))).toFixed(1)}" y="${y}" text-anchor="${x(at) > width - 90 ? "end" : x(at) < left + 60 ? "start" : "middle"}">${label}</text>`;
      if (covered) parts.push(mark(promised, `Theorem 1: ${promised}`, 12, 16, low + 2));
      parts.push(mark(rank, `rank: ${rank}`, bottom + 18, top - 2, bottom + 5));
      const said = covered
        ? `A staircase: each of ${count(sizes.heads, "head")} stores separate examples, ${promised} in all; the rank leaves room for ${rank}.`
        : `No staircase, since the theorem says nothing here; the rank leaves room for ${rank} examples.`;
      find("[data-part=stairs]").innerHTML = `<svg width="${width}" height="${bottom + 38}" role="img" aria-label="${said}"><defs><pattern id="hmf-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6"/></pattern></defs>${parts.join("")}<text x="${left}" y="${bottom + 34}">examples, 1 to ${last}</text></svg>`;
    }

    /** Theorem and rank while one size runs through the table. */
    function drawChart() {
      const width = wide();
      const list = listOf(axis);
      const points = list.map((size) => ({ ...sizes, [axis]: size }));
      const highest = Math.max(...points.map((one) => Math.max(core.rank(table, one), core.promised(one))));
      const [left, right, top, height] = [10, 10, 24, 170];
      const bottom = top + height;
      const step = (width - left - right) / list.length;
      const y = (v) => bottom - (height * v) / highest;
      const parts = points.map((one, i) => {
        const [rank, promised, covered, now] = [core.rank(table, one), core.promised(one), core.covered(one), list[i] === sizes[axis]];
        const a = left + step * i;
        const middle = a + step / 2;
        const low = bottom - y(promised) < 18; // a bar too low for its own number
        const room = y(promised) - y(rank) > (low ? 30 : 12);
        const inside = room ? `<text class="${covered && !low ? "hmf-on" : ""}" x="${middle}" y="${low ? y(promised) - 5 : y(promised) + 14}" text-anchor="middle">${promised}</text>` : "";
        return `<g data-size="${i}" class="${now ? "hmf-now" : ""}"><rect class="hmf-column" x="${a}" y="0" width="${step}" height="${bottom + 24}"/>
<rect class="${covered ? "hmf-own" : "hmf-open"}" x="${a + step * 0.14}" y="${y(promised)}" width="${step * 0.72}" height="${Math.max(1, bottom - y(promised))}"/>
<path class="hmf-level" d="M${a + step * 0.06} ${y(rank)}H${a + step * 0.94}"/><circle class="hmf-dot" cx="${middle}" cy="${y(rank)}" r="5"/>
<text class="hmf-strong" x="${middle}" y="${y(rank) - 9}" text-anchor="middle">${rank}</text>${inside}
<text class="hmf-strong" x="${middle}" y="${bottom + 17}" text-anchor="middle">${list[i]}</text></g>`;
      });
      const said = points.map((one, i) => `${list[i]}: ${core.covered(one) ? core.promised(one) : "nothing"}, rank ${core.rank(table, one)}`).join("; ");
      find("[data-part=chart]").innerHTML = `<svg width="${width}" height="${bottom + 44}" role="img" aria-label="Examples against ${NAMES[axis]}, by Theorem 1 and by the rank. ${said}."><path class="hmf-mark" d="M${left} ${bottom}H${width - right}"/>${parts.join("")}<text x="${width / 2}" y="${bottom + 38}" text-anchor="middle">${NAMES[axis].replace("d_h", 'd<tspan dy="3" font-size="9.5">h</tspan>')}</text></svg>`;
    }

    const wide = () => Math.max(280, Math.min(900, find("[data-part=stairs]").clientWidth || 600));

    element.addEventListener("input", (event) => {
      const key = event.target.id.replace("hmf-", "");
      if (event.target.type !== "range") return;
      sizes[key] = listOf(key)[Number(event.target.value)];
      draw();
    });
    element.addEventListener("change", (event) => {
      if (event.target.name === "hmf-contexts") sizes.contexts = event.target.value;
      else if (event.target.name === "hmf-axis") axis = event.target.value;
      else return;
      draw();
    });
    element.addEventListener("click", (event) => {
      const column = event.target.closest("[data-size]");
      if (!column) return;
      sizes[axis] = listOf(axis)[Number(column.dataset.size)];
      draw();
    });
    let drawnAt = 0;
    new ResizeObserver(() => {
      if (wide() === drawnAt) return;
      drawnAt = wide();
      drawStairs();
      drawChart();
    }).observe(find("[data-part=stairs]"));
    draw();
  }

  instruments[NAME] = Object.assign(start, { styled: true });
})();
