// Trigger and answer: a one-layer transformer reads a sentence of the in-context task, by Eq. (1) of the paper, with
// weights that the book has trained. The mathematics is `trigger_and_answer_core`, which the tests hold against torch;
// the rest draws it.
(() => {
  "use strict";
  const NAME = "trigger_and_answer";
  const instruments = (window.instruments = window.instruments || {});

  // ---------------------------------------------------------------------------------------------- mathematics

  /** The places of the special words: the first is the trigger q, the last the noise token τ. */
  const TRIGGER = 0;

  const zeros = (rows, columns) => Array.from({ length: rows }, () => new Float64Array(columns));

  /** A matrix from whole numbers of units, row after row into the given rows; no number stands for zeros. */
  function fromUnits(whole, table, rows, height) {
    const size = table.words.length;
    const matrix = zeros(height, 2 * size);
    const perOne = Math.round(1 / table.unit);
    if (whole.length) rows.forEach((row, i) => matrix[row].forEach((_, j) => (matrix[row][j] = whole[2 * size * i + j] / perOne)));
    return matrix;
  }

  /** V, W and F of a model at a stop of the noise and a stop of the time, in the codes of words and words before. */
  function weightsAt(table, model, level, time) {
    const size = table.words.length;
    const part = table.models[model];
    const noisy = part.noises[level] > 0;
    const all = table.words.map((_, i) => i);
    let value = zeros(size, 2 * size);
    let feedForward = zeros(size, 2 * size);
    if (model === "all") {
      value = fromUnits(part.value[level][time], table, all, size);
      feedForward = fromUnits(part.feed_forward[level][time], table, all, size);
    } else {
      all.forEach((i) => (value[i][i] = 1));
      if (noisy) {
        feedForward[size - 1][TRIGGER] = part.gammas[level];
        feedForward[size - 1][size + TRIGGER] = 1;
      }
    }
    if (model !== "scales") {
      return { value, feedForward, queryKey: fromUnits(part.query_key[level][time], table, table.rows, 2 * size) };
    }
    const queryKey = zeros(2 * size, 2 * size);
    queryKey[TRIGGER][size + TRIGGER] = part.scales[level][time];
    if (noisy) queryKey[TRIGGER][size - 1] = -part.scales[level][time];
    return { value, feedForward, queryKey };
  }

  /** The places of the ones in x_h: the word, and the word before it; the first word has none before. */
  const ones = (tokens, h, size) => (h > 0 ? [tokens[h], size + tokens[h - 1]] : [tokens[h]]);

  /** The entries of W that make up the score of word h: a row and a column each. */
  function scoreParts(weights, tokens, h) {
    const size = weights.value.length;
    const parts = [];
    for (const row of ones(tokens, tokens.length - 1, size)) {
      for (const column of ones(tokens, h, size)) parts.push({ row, column, value: weights.queryKey[row][column] });
    }
    return parts;
  }

  const dot = (row, vector) => row.reduce((sum, entry, i) => sum + entry * vector[i], 0);

  /** exp of the logits over their sum. */
  function softmax(logits) {
    const largest = Math.max(...logits);
    const raised = logits.map((one) => Math.exp(one - largest));
    const total = raised.reduce((a, b) => a + b, 0);
    return raised.map((one) => one / total);
  }

  /** Eq. (1) with linear attention, where the feed-forward layer sees the attended sum too (FA). */
  function forward(weights, tokens) {
    const size = weights.value.length;
    const attention = tokens.map((_, h) => scoreParts(weights, tokens, h).reduce((sum, one) => sum + one.value, 0));
    const attended = new Float64Array(2 * size);
    tokens.forEach((_, h) => ones(tokens, h, size).forEach((place) => (attended[place] += attention[h])));
    const seen = attended.slice();
    for (const place of ones(tokens, tokens.length - 1, size)) seen[place] += 1;
    const fromAttention = weights.value.map((row) => dot(row, attended));
    const fromFeedForward = weights.feedForward.map((row) => dot(row, seen));
    const logits = fromAttention.map((one, j) => one + fromFeedForward[j]);
    return { attention, fromAttention, fromFeedForward, logits, probabilities: softmax(logits) };
  }

  /** What Definition 2.1 says of a sentence: which of its conditions fail, the output word, whether training had it. */
  function judge(table, tokens, noise) {
    const size = table.words.length;
    const silent = noise > 0 ? size - 1 : -1; // the noise token, which the noiseless task does not have
    const followers = new Set();
    let stray = false;
    tokens.forEach((word, h) => {
      if (h > 0 && tokens[h - 1] === TRIGGER && word !== silent) followers.add(word);
      if (word === silent && (h === 0 || tokens[h - 1] !== TRIGGER)) stray = true;
    });
    const faults = [];
    if (tokens[tokens.length - 1] !== TRIGGER) faults.push("end");
    if (!followers.size) faults.push("I");
    if (stray) faults.push("II");
    if (followers.size > 1 || followers.has(TRIGGER)) faults.push("III");
    const output = followers.size === 1 ? [...followers][0] : -1;
    return { faults, output, followers: [...followers], seen: table.outputs.includes(output) };
  }

  /** The law of the next word: the output with probability 1 - α, the noise token with α (Section 4.1). */
  function bayes(table, output, noise) {
    const law = table.words.map(() => 0);
    law[output] += 1 - noise;
    if (noise > 0) law[table.words.length - 1] += noise;
    return law;
  }

  /** The mean loss in nats when the next word has this law, and the least that any answer can have: its entropy. */
  function losses(logits, law) {
    const largest = Math.max(...logits);
    const total = largest + Math.log(logits.reduce((sum, one) => sum + Math.exp(one - largest), 0));
    const loss = law.reduce((sum, p, j) => (p ? sum + p * (total - logits[j]) : sum), 0);
    return { loss, least: law.reduce((sum, p) => (p ? sum - p * Math.log(p) : sum), 0) };
  }

  /** The words of a text: their numbers, and what is no word of the vocabulary. */
  function parse(table, text) {
    const numbers = new Map(table.words.map((word, i) => [word.toLowerCase(), i]));
    const tokens = [];
    const unknown = [];
    for (const word of text.split(/[^\p{L}\p{N}']+/u).filter(Boolean)) {
      const number = numbers.get(word.toLowerCase());
      if (number === undefined) unknown.push(word);
      else tokens.push(number);
    }
    return { tokens, unknown };
  }

  instruments[`${NAME}_core`] = { weightsAt, forward, judge, bayes, losses, parse, scoreParts };

  // -------------------------------------------------------------------------------------------------- drawing

  const MODELS = {
    scales: ["one number", "λ, the strength of an attention that Lemma 4.1 writes down; γ is estimated (Algorithm 1)"],
    "query-key": ["the matrix W", "all of W by descent, the other two as in the lemma"],
    all: ["V, W and F", "all three matrices by descent from zero"],
  };
  const START = "Anna gives a book to Bob and then she sends a letter to the cat and";
  const MOST_WORDS = 32;

  const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const percent = (p) => (p > 0 && p < 0.0005 ? "< 0.1 %" : `${(100 * p).toFixed(p > 0.9995 && p < 1 ? 2 : 1)} %`);
  const number = (x) => (Math.abs(x) < 0.005 ? "0" : x.toFixed(Math.abs(x) < 9.995 ? 2 : 1)).replace("-", "−");
  const nats = (x) => (x && x < 0.0005 ? "< 0.001" : x ? x.toFixed(3) : "0");
  const nearest = (stops, wanted) =>
    stops.reduce((best, one, i) => (Math.abs(one - wanted) < Math.abs(stops[best] - wanted) ? i : best), 0);

  const frame = (table) => {
    const button = (i, kind) => `<button type="button" class="ta-key ta-${kind}" data-word="${i}">${table.words[i]}</button>`;
    const last = table.words.length - 1;
    const neutral = table.words.map((_, i) => i).filter((i) => i !== TRIGGER && i !== last && !table.outputs.includes(i));
    const group = (name, words, kind) =>
      `<div class="ta-group" role="group" aria-label="${name}"><span class="ta-legend">${name}</span>${words.map((i) => button(i, kind)).join("")}</div>`;
    const models = Object.entries(MODELS).map(
      ([key, [name, about]], i) =>
        `<label><input type="radio" name="ta-model" value="${key}"${i ? "" : " checked"}><span><b>${name}</b> <small>${about}</small></span></label>`,
    );
    return `
  <section class="ta-write">
    <h3><label for="ta-text">The sentence</label></h3>
    <div class="ta-line"><textarea id="ta-text" rows="2" spellcheck="false" autocapitalize="off" aria-describedby="ta-note"></textarea>
      <span class="ta-last"><b>to</b> <span aria-hidden="true">?</span><span class="ta-hidden">, the last word of every sentence; which word comes next?</span></span></div>
    <div class="ta-keys" role="group" aria-label="words to insert">
      ${group("trigger", [TRIGGER], "trigger")}${group("noise", [last], "noise")}${group("answers in training", table.outputs, "output")}${group("other words", neutral, "neutral")}
    </div>
    <div class="instrument-buttons">
      <button type="button" data-act="draw">Draw a sentence</button>
      <button type="button" data-act="unseen">… with an unseen answer</button>
      <button type="button" data-act="back">Take back a word</button>
      <button type="button" data-act="clear">Clear</button>
    </div>
    <p id="ta-note" class="ta-note" role="status"></p>
  </section>
  <section class="ta-set">
    <fieldset class="ta-models"><legend><h3>What was trained</h3></legend>${models.join("")}</fieldset>
    <div class="ta-sliders">
      <div><label for="ta-noise">Noise <i>α</i> <output for="ta-noise"></output></label><input type="range" id="ta-noise" min="0" step="1"></div>
      <div><label for="ta-time">Training time <i>t</i> <output for="ta-time"></output></label><input type="range" id="ta-time" min="0" step="1">
        <span data-part="train"></span></div>
      <p class="ta-small" data-part="facts"></p>
    </div>
  </section>
  <section class="ta-look">
    <h3 id="ta-attention">Where attention goes</h3>
    <ol class="ta-words" aria-labelledby="ta-attention"></ol>
    <p class="ta-small" data-part="score"></p>
  </section>
  <div class="ta-two">
    <section class="ta-answer">
      <h3 id="ta-answered">What is answered</h3>
      <table aria-labelledby="ta-answered"><thead><tr><th scope="col">next word</th><th scope="col">attention <i>ξ<sub>A</sub></i></th><th scope="col">feed-forward <i>ξ<sub>F</sub></i></th><th scope="col" colspan="2">model</th><th scope="col">Bayes</th></tr></thead><tbody></tbody></table>
      <p class="ta-result" role="status" data-part="result"></p>
    </section>
    <section class="ta-curve">
      <h3 id="ta-loss">How training went</h3>
      <div data-part="curve"></div>
      <p class="ta-small" data-part="under">Loss on this sentence minus the least possible loss, in nats, over the steps of training. The ring marks the position of the slider.</p>
    </section>
  </div>`;
  };

  function start(element, data) {
    const table = data.readers;
    const last = table.words.length - 1;
    const state = { model: "scales", level: 0, time: 0, picked: -1 };
    element.classList.add("ta");
    element.innerHTML = frame(table);
    const find = (selector) => element.querySelector(selector);
    const [text, noiseSlider, timeSlider] = ["#ta-text", "#ta-noise", "#ta-time"].map(find);
    const training = instruments.player({ word: "Train", every: 600, begin, step, class: "instrument-main" });
    find("[data-part=train]").replaceWith(training.button);
    const part = () => table.models[state.model];

    /** Takes a model, at the stops of noise and time that are nearest to where the sliders stand. */
    function choose(model, noise, time) {
      state.model = model;
      state.level = nearest(part().noises, noise);
      state.time = nearest(part().times.map(Math.log1p), Math.log1p(time));
      noiseSlider.max = part().noises.length - 1;
      timeSlider.max = part().times.length - 1;
      noiseSlider.value = state.level;
      timeSlider.value = state.time;
    }

    function reading() {
      const { tokens, unknown } = parse(table, text.value);
      const kept = [...tokens.slice(0, MOST_WORDS - 1), TRIGGER];
      const noise = part().noises[state.level];
      const verdict = judge(table, kept, noise);
      return { tokens: kept, unknown, cut: tokens.length >= MOST_WORDS, noise, verdict, law: verdict.faults.length ? null : bayes(table, verdict.output, noise) };
    }

    function draw() {
      const now = reading();
      const weights = weightsAt(table, state.model, state.level, state.time);
      const done = forward(weights, now.tokens);
      drawSliders(now);
      drawNote(now);
      drawWords(now, weights, done);
      drawAnswer(now, done);
      drawCurve(now);
    }

    function drawSliders(now) {
      const time = part().times[state.time];
      const say = (slider, said, long) => {
        find(`output[for=${slider.id}]`).textContent = said;
        slider.setAttribute("aria-valuetext", long);
      };
      say(noiseSlider, `= ${now.noise}`, `α = ${now.noise}`);
      say(timeSlider, `= ${time}`, `${time} steps of ${part().times.at(-1)}`);
      const stops = `The sliders offer the ${part().noises.length} noise levels and ${part().times.length} times at which we saved this model.`;
      const gamma = part().gammas[state.level];
      const facts =
        state.model === "scales"
          ? `λ = ${number(part().scales[state.level][state.time])}` +
            (now.noise ? `, γ̂ = ${number(gamma)} from α̂ = ${part().estimates[state.level].toFixed(4)}, the share of “the” among ${table.samples} labels` : "; without noise there is no γ")
          : `${(state.model === "all" ? 8 : 4) * table.words.length ** 2} trained numbers` + (state.model === "all" || !now.noise ? "" : `, γ = ${number(gamma)}`);
      find("[data-part=facts]").textContent = `${facts}. Learning rate ${table.rate}. ${stops}`;
    }

    function drawNote(now) {
      const name = (i) => `“${table.words[i]}”`;
      const said = [];
      if (now.unknown.length) said.push(`Left out, because the model knows only ${table.words.length} words: ${[...new Set(now.unknown)].join(", ")}.`);
      if (now.cut) said.push(`Words after the first ${MOST_WORDS - 1} are left out.`);
      const { faults, followers, output, seen } = now.verdict;
      const wrong = {
        I: "no word follows a “to” before the last one, so there is no answer; insert “to Rome”, for example",
        II: "a “the” has no “to” before it",
        III: followers.includes(TRIGGER) ? "a “to” follows a “to”" : `different words follow “to”: ${followers.map(name).join(", ")}`,
      };
      if (faults.length) said.push(`This is not a sentence of the task: ${faults.map((one) => wrong[one]).join("; and ")}. The model still answers, but there is no Bayes prediction to compare it with.`);
      else if (!seen) said.push(`${name(output)} follows “to” here but never did in training: an unseen answer.`);
      else said.push(`A sentence of the task: ${name(output)} follows “to”.`);
      find("#ta-note").textContent = said.join(" ");
      find("#ta-note").classList.toggle("ta-warns", faults.length > 0 || now.unknown.length > 0);
    }

    function drawWords(now, weights, done) {
      const largest = Math.max(...done.attention.map(Math.abs)) || 1;
      const below = Math.max(0, ...done.attention.map((w) => -w / largest));
      if (state.picked >= now.tokens.length) state.picked = -1;
      const picked = state.picked >= 0 ? state.picked : done.attention.reduce((best, w, h) => (Math.abs(w) > Math.abs(done.attention[best]) ? h : best), now.tokens.length - 1);
      const list = find(".ta-words");
      list.style.setProperty("--below", below.toFixed(4));
      while (list.children.length > now.tokens.length) list.lastChild.remove();
      while (list.children.length < now.tokens.length) {
        const item = document.createElement("li");
        item.innerHTML = '<button type="button"><span class="ta-weight"></span><span class="ta-track" aria-hidden="true"><i></i></span><span class="ta-word"></span></button>';
        list.append(item);
      }
      now.tokens.forEach((token, h) => {
        const button = list.children[h].firstChild;
        const [weight, track, word] = button.children;
        const w = done.attention[h];
        weight.textContent = number(w);
        word.textContent = table.words[token];
        track.firstChild.style.setProperty("--share", (Math.abs(w) / largest).toFixed(4));
        track.firstChild.className = w < 0 ? "ta-negative" : "";
        button.className = `ta-${kindOf(token)}${w && Math.abs(w) === largest ? " ta-most" : ""}`;
        button.setAttribute("aria-pressed", h === picked);
        button.setAttribute("aria-label", `${table.words[token]}, word ${h + 1}, attention ${number(w)}`);
      });
      const size = table.words.length;
      const place = (i) => (i < size ? table.words[i] : `after ${table.words[i - size]}`);
      const parts = scoreParts(weights, now.tokens, picked);
      const sum = parts.map((one) => `W[${place(one.row)}, ${place(one.column)}]`).join(" + ");
      const values = parts.map((one, i) => (i ? (one.value < 0 ? " − " : " + ") : one.value < 0 ? "−" : "") + number(Math.abs(one.value))).join("");
      find("[data-part=score]").textContent = `The attention on “${table.words[now.tokens[picked]]}” (word ${picked + 1}) is ${sum}${parts.length > 1 ? ` = ${values}` : ""} = ${number(done.attention[picked])}. The longest bar marks the largest attention. Select another word to see its sum.`;
    }

    function kindOf(token) {
      if (token === TRIGGER) return "trigger";
      if (token === last) return "noise";
      return table.outputs.includes(token) ? "output" : "neutral";
    }

    function drawAnswer(now, done) {
      const output = now.verdict.output;
      const shown = [...new Set([...(output > 0 ? [output] : []), last, ...table.outputs])];
      const others = table.words.map((_, i) => i).filter((i) => !shown.includes(i));
      const total = others.reduce((sum, i) => sum + done.probabilities[i], 0);
      const bar = (p, law) =>
        `<td class="ta-bars"><span style="--p:${p.toFixed(5)}"></span>${!law ? "" : `<i style="--p:${law.toFixed(5)}"></i>`}</td>`;
      const row = (word, attention, feedForward, p, law, kind) =>
        `<tr class="ta-${kind}"><th scope="row">${word}</th><td>${attention}</td><td>${feedForward}</td>${bar(p, law)}<td>${percent(p)}</td><td>${law === null ? "–" : percent(law)}</td></tr>`;
      const rows = shown.map((i) =>
        row(table.words[i], number(done.fromAttention[i]), number(done.fromFeedForward[i]), done.probabilities[i], now.law && now.law[i], i === output ? "right" : "other"),
      );
      rows.push(row(`${others.length} others`, "", "", total, now.law && others.reduce((sum, i) => sum + now.law[i], 0), "rest"));
      find(".ta-answer tbody").innerHTML = rows.join("");
      const order = done.probabilities.map((_, i) => i).sort((a, b) => done.probabilities[b] - done.probabilities[a]);
      const tied = order.filter((i) => done.probabilities[order[0]] - done.probabilities[i] < 1e-9).length;
      const answers = order.slice(0, done.probabilities[order[1]] > 0.05 ? 2 : 1);
      let said = tied > 2 ? `The model prefers none of ${tied} words: each has probability ${percent(done.probabilities[order[0]])}.` : `The model answers ${answers.map((i) => `<b>${table.words[i]}</b> with ${percent(done.probabilities[i])}`).join(" and ")}.`;
      if (now.law) {
        const { loss, least } = losses(done.logits, now.law);
        const right = now.noise ? `${table.words[output]} with ${percent(1 - now.noise)} and the with ${percent(now.noise)}` : `${table.words[output]} with certainty`;
        said += ` The Bayes answer is ${right}. Loss on this sentence: ${nats(loss)} nats; no answer has less than ${nats(least)}.`;
      }
      find("[data-part=result]").innerHTML = said;
    }

    /** The loss above the least of all models that have this noise level, over the steps of training. */
    function drawCurve(now) {
      const place = find("[data-part=curve]");
      find("[data-part=under]").hidden = !now.law;
      if (!now.law) {
        place.innerHTML = '<p class="ta-small ta-empty">A sentence outside the task has no least possible loss.</p>';
        return;
      }
      const [width, height, left, right, top, bottom] = [340, 190, 44, 12, 10, 30];
      const [low, high] = [1e-3, 100];
      const longest = Math.log1p(part().times.at(-1));
      const x = (t) => left + ((width - left - right) * Math.log1p(t)) / longest;
      const y = (v) => top + ((height - top - bottom) * Math.log(high / Math.min(high, Math.max(low, v)))) / Math.log(high / low);
      const lines = [];
      let ring = "";
      for (const [model, each] of Object.entries(table.models)) {
        const level = each.noises.indexOf(now.noise);
        if (level < 0) continue;
        const points = each.times.map((t, i) => {
          const { loss, least } = losses(forward(weightsAt(table, model, level, i), now.tokens).logits, now.law);
          return [x(t), y(loss - least)];
        });
        const path = points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
        lines.push(`<path class="ta-line-${model}${model === state.model ? " ta-now" : ""}" d="${path}"/>`);
        if (model === state.model) ring = `<circle class="ta-line-${model}" cx="${points[state.time][0].toFixed(1)}" cy="${points[state.time][1].toFixed(1)}" r="5"/>`;
      }
      const across = [0, 1, 3, 10, 30, 100, 200].map((t) => `<text x="${x(t)}" y="${height - 14}" text-anchor="middle">${t}</text>`);
      const up = [0.001, 0.01, 0.1, 1, 10, 100].map((v) => `<path class="ta-grid" d="M${left} ${y(v)}H${width - right}"/><text x="${left - 5}" y="${y(v) + 4}" text-anchor="end">${v === 0.001 ? "≤ .001" : v}</text>`);
      const legend = Object.keys(table.models)
        .filter((model) => table.models[model].noises.includes(now.noise))
        .map((model) => `<li class="ta-line-${model}${model === state.model ? " ta-now" : ""}"><svg viewBox="0 0 26 8" aria-hidden="true"><path d="M1 4H25"/></svg>${MODELS[model][0]}</li>`);
      place.innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Curves of the loss over training, one for each model that is kept at this noise level">${up.join("")}${across.join("")}<text x="${(left + width - right) / 2}" y="${height - 1}" text-anchor="middle">steps</text>${lines.join("")}${ring}</svg><ul class="ta-key-of">${legend.join("")}</ul>`;
    }

    /** Puts a word in where the cursor stands. */
    function put(word) {
      const [from, to] = [text.selectionStart, text.selectionEnd];
      const before = text.value.slice(0, from).replace(/\s+$/, "");
      const after = text.value.slice(to).replace(/^\s+/, "");
      text.value = [before, word, after].filter(Boolean).join(" ");
      const caret = (before ? before.length + 1 : 0) + word.length;
      text.setSelectionRange(caret, caret);
    }

    /** A sentence of the task at the noise level of the moment, as the book draws them: bigrams that do not touch. */
    function drawn(unseen) {
      const pick = (list) => list[Math.floor(Math.random() * list.length)];
      const noisy = part().noises[state.level] > 0;
      const neutral = table.words.map((_, i) => i).filter((i) => i !== TRIGGER && !(noisy && i === last) && !table.outputs.includes(i));
      const output = pick(unseen ? neutral : table.outputs);
      const fillers = [...neutral, ...table.outputs];
      const words = Array.from({ length: table.length - 1 }, () => [pick(fillers)]);
      const bigrams = [output, ...(Math.random() < 0.5 ? [output] : []), ...(noisy ? Array.from({ length: Math.floor(3 * Math.random()) }, () => last) : [])];
      words.length -= bigrams.length; // a bigram takes the place of two words
      const places = words.map((_, i) => i).sort(() => Math.random() - 0.5);
      bigrams.forEach((second, i) => (words[places[i]] = [TRIGGER, second]));
      return words.flat().map((i) => table.words[i]).join(" ");
    }

    const atEnd = () => state.time === part().times.length - 1;

    function begin() {
      if (atEnd()) timeSlider.value = state.time = 0;
      state.picked = -1;
      draw();
    }

    function step() {
      timeSlider.value = state.time += 1;
      draw();
      if (atEnd()) training.pause();
    }

    const acts = {
      draw: () => (text.value = drawn(false)),
      unseen: () => (text.value = drawn(true)),
      back: () => (text.value = text.value.trimEnd().split(/\s+/).slice(0, -1).join(" ")),
      clear: () => (text.value = ""),
    };

    element.addEventListener("click", (event) => {
      const key = event.target.closest("[data-word]");
      const act = event.target.closest("[data-act]");
      const word = event.target.closest(".ta-words button");
      if (key) put(table.words[key.dataset.word]);
      else if (act) acts[act.dataset.act]();
      else if (word) state.picked = [...find(".ta-words").children].indexOf(word.parentElement);
      else return;
      if (key || act) state.picked = -1;
      draw();
    });
    text.addEventListener("input", () => {
      state.picked = -1;
      draw();
    });
    noiseSlider.addEventListener("input", () => {
      state.level = Number(noiseSlider.value);
      draw();
    });
    timeSlider.addEventListener("input", () => {
      training.pause();
      state.time = Number(timeSlider.value);
      draw();
    });
    element.addEventListener("change", (event) => {
      if (event.target.name !== "ta-model") return;
      training.pause();
      choose(event.target.value, part().noises[state.level], part().times[state.time]);
      draw();
    });

    text.value = START;
    text.setSelectionRange(START.length, START.length);
    choose("scales", 0.2, 50);
    draw();
  }

  instruments[NAME] = Object.assign(start, { styled: true });
})();
