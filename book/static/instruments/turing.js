// A Turing machine in one layer: the universal machine of Lemma 2.2, computed from its heads, beside an ordinary one.

// The mathematics: what attention_theory.linear_attention.machines has in turing, compact and mhla. Whole numbers only.
window.instruments.turing_core = (() => {
  "use strict";
  const MOVES = "LRS";
  const SHIFT = [-1, 1, 0];
  const RULE = ["state", "letter", "move"];
  const WORK = ["LOCATE", "READ", "PAIR", "WRITE", "LEAVE", "ARRIVE"];

  // ---- The layer ----

  // The entries of a matrix by column: from a column to its rows and values.
  function byColumn({ entries }) {
    const columns = new Map();
    for (const [row, column, value] of entries) {
      if (!columns.has(column)) columns.set(column, []);
      columns.get(column).push([row, value]);
    }
    return columns;
  }

  // The layer of a data file. `turned` turns the sign of one weight: a departure is written again where it was taken back.
  function layer(data, { turned = false } = {}) {
    const heads = data.heads.map((head) => ({ query: byColumn(head.Q), value: byColumn(head.V) }));
    const asking = Array.from({ length: data.width }, () => []);
    heads.forEach((head, number) => head.query.forEach((_, source) => asking[source].push(number)));
    if (turned) {
      const [start, stop] = data.rows.move;
      const entries = heads.flatMap((head) => [...head.value.values()].flat());
      const one = entries.find(([row, value]) => value === -1 && row >= start && row < stop);
      one[1] = 1;
    }
    return { ...data, heads, asking };
  }

  // Tokens as they come: each a list of [row, amount], with the tokens of every row found quickly.
  function begin(made, prompt) {
    const history = { tokens: [], holders: Array.from({ length: made.width }, () => []) };
    prompt.forEach((token) => append(history, token));
    return history;
  }

  function append(history, token) {
    token.forEach(([row, amount]) => history.holders[row].push([history.tokens.length, amount]));
    history.tokens.push(token);
  }

  function add(sums, place, amount) {
    const sum = (sums.get(place) || 0) + amount;
    if (!Number.isSafeInteger(sum)) throw new Error("a number is too large to be exact");
    if (sum === 0) sums.delete(place);
    else sums.set(place, sum);
  }

  const sorted = (sums) => [...sums].sort(([one], [other]) => one - other);

  // Eq. (2): the next token is the sum over the heads of V Z (Z^T Q z), with z the last token. For each head that asks:
  // its key, the score of every token that answers, and what it writes.
  function next(made, history) {
    const last = history.tokens[history.tokens.length - 1];
    const numbers = [...new Set(last.flatMap(([row]) => made.asking[row]))].sort((one, other) => one - other);
    const result = new Map();
    const reads = numbers.map((number) => {
      const { query, value } = made.heads[number];
      const [key, scores, found, wrote] = [new Map(), new Map(), new Map(), new Map()];
      for (const [row, amount] of last) for (const [asked, weight] of query.get(row) || []) add(key, asked, weight * amount);
      for (const [row, amount] of key) for (const [token, held] of history.holders[row]) add(scores, token, amount * held);
      for (const [token, score] of scores) for (const [row, held] of history.tokens[token]) add(found, row, score * held);
      for (const [row, amount] of found) for (const [target, weight] of value.get(row) || []) add(wrote, target, weight * amount);
      for (const [row, amount] of wrote) add(result, row, amount);
      return { number, key: sorted(key), scores: sorted(scores), wrote: sorted(wrote) };
    });
    return { token: sorted(result), reads };
  }

  // ---- Machines, prompts and tapes ----

  // A machine from its lines `state letter -> state letter move`; an Error says what is wrong, and where. The blank, the
  // first of its letters, is `_` where the rules name it, and else the first letter in them.
  function parse(text) {
    const rules = new Map();
    const [states, letters] = [new Set(), new Set()];
    window.instruments.programLines(text).forEach(({ number, line }) => {
      const words = line.replaceAll("->", " -> ").trim().split(/\s+/);
      const one = (word) => [...word].length === 1;
      if (words.length !== 6 || words[2] !== "->" || !one(words[1]) || !one(words[4]) || !one(words[5]) || !MOVES.includes(words[5])) {
        throw new Error(`line ${number} of the machine must read 'state letter -> state letter L|R|S', got '${line}'`);
      }
      const [state, letter, , nextState, written, move] = words;
      if (rules.has(`${state} ${letter}`)) throw new Error(`line ${number} of the machine names the pair (${state}, ${letter}) again`);
      rules.set(`${state} ${letter}`, { state: nextState, letter: written, move: MOVES.indexOf(move) });
      [state, nextState].forEach((name) => states.add(name));
      [letter, written].forEach((sign) => letters.add(sign));
    });
    if (!rules.size) throw new Error("text must have at least one rule, got none");
    const names = [...new Set([...states, "accept", "reject"])];
    const signs = [...letters].sort((first, second) => (second === "_") - (first === "_"));
    const table = names.map((name) => signs.map((sign) => {
      const rest = ["accept", "reject"].includes(name) ? name : "reject";
      const rule = rules.get(`${name} ${sign}`) || { state: rest, letter: sign, move: 2 };
      return [names.indexOf(rule.state), signs.indexOf(rule.letter), rule.move];
    }));
    return { states: names, letters: signs, table };
  }

  // The same table within the layer's bounds: states and letters that it does not use stay as they are.
  function padded(made, table) {
    const { states, letters } = made.sizes;
    if (table.length > states) throw new Error(`the machine has ${table.length} states, accept and reject included; this layer has room for ${states}`);
    if (table[0].length > letters) throw new Error(`the machine has ${table[0].length} letters; this layer has room for ${letters}`);
    return Array.from({ length: states }, (_, state) => Array.from({ length: letters }, (__, letter) => table[state]?.[letter] ?? [state, letter, 2]));
  }

  // A word as numbers of letters.
  function spell(made, machine, word) {
    const signs = [...word];
    if (!signs.length || signs.length > made.sizes.word) throw new Error(`the word must have 1 to ${made.sizes.word} letters, got ${signs.length}`);
    return signs.map((sign) => {
      const letter = machine.letters.indexOf(sign);
      if (letter < 0) throw new Error(`the machine does not know the letter ${sign}; its letters are ${machine.letters.join(" ")}`);
      return letter;
    });
  }

  // Eqs. (59) to (61): the table's columns, #, the cells of the word. A token is a list of [row, 1].
  function embed(made, table, letters, head) {
    const row = (name, place = 0) => made.rows[name][0] + place;
    const column = (rules, state) => [row("table of", state), ...rules.flatMap((rule, letter) => [
      row(`table ${letter}`), ...RULE.map((part, place) => row(`table ${letter} ${part}`, rule[place]))])];
    const cell = (letter, place) => [row("cell", place), row("letter", letter),
      ...(place === head ? [row("state", 0), row("head", 0)] : []), ...(place === letters.length - 1 ? [row("go")] : [])];
    const tokens = [...table.map(column), [row("#")], ...letters.map(cell)];
    return tokens.map((token) => token.sort((one, other) => one - other).map((place) => [place, 1]));
  }

  // c(t): the tokens after the prompt until the tape after `step` steps is written.
  const tokensUntil = (step, cells) => step * (WORK.length + cells) + (step * (step + 1)) / 2;

  // What a token of the run is: its step and its work, or the cell that it prints; steps of 0 are the prompt.
  function kind(made, cells, index) {
    const tape = made.sizes.states + 1;
    if (index < tape - 1) return { step: 0, name: "TABLE", place: index };
    if (index === tape - 1) return { step: 0, name: "#" };
    if (index < tape + cells) return { step: 0, name: "CELL", place: index - tape };
    let [step, left] = [1, index - tape - cells];
    for (; left >= WORK.length + cells + step; step += 1) left -= WORK.length + cells + step;
    return left < WORK.length ? { step, name: WORK[left] } : { step, name: "PRINT", place: left - WORK.length };
  }

  // Letters and states that tokens spell out: -1 where they are not exactly one letter and at most one state.
  function read(made, tokens) {
    const unit = (token, name, empty) => {
      const [start, stop] = made.rows[name];
      const held = token.filter(([row]) => row >= start && row < stop);
      if (!held.length) return empty;
      return held.length === 1 && held[0][1] === 1 ? held[0][0] - start : -1;
    };
    return { letters: tokens.map((token) => unit(token, "letter", -1)), states: tokens.map((token) => unit(token, "state", made.sizes.states)) };
  }

  // The ordinary machine: one step. A head off the tape is lost; with `stays` it stays in the first cell.
  function simulate(table, { cells, head, state }, stays) {
    const after = cells.slice();
    if (head < 0) return { cells: [...after, 0], head, state };
    const [nextState, written, move] = table[state][cells[head]];
    after[head] = written;
    const place = head + SHIFT[move];
    return { cells: [...after, 0], head: stays ? Math.max(place, 0) : place, state: nextState };
  }

  return { MOVES, WORK, layer, begin, append, next, parse, padded, spell, embed, tokensUntil, kind, read, simulate };
})();

// What the reader sees and touches.
window.instruments.turing = (room, given) => {
  "use strict";
  const { make, pixels, mix, colour, onTheme, runner } = window.instruments;
  const core = window.instruments.turing_core;
  const data = given.turing;
  const NONE = data.sizes.states;
  const SHOWN = 12; // tokens
  const OWN = "a machine of your own";
  const EXAMPLES = {
    "add one": { word: "_1011", head: 1, text: "right _ -> add _ L      # at the end of the number: go back and add one\nright 0 -> right 0 R\nright 1 -> right 1 R\nadd   1 -> add 0 L      # carry\nadd   0 -> accept 1 S\nadd   _ -> accept 1 S" },
    "an even number of ones": { word: "1101", head: 0, text: "even _ -> accept _ S\neven 1 -> odd 1 R\neven 0 -> even 0 R\nodd  1 -> even 1 R\nodd  0 -> odd 0 R\nodd  _ -> reject _ S" },
    "as many zeros as ones": { word: "_0011", head: 1, text: "start _ -> accept _ S   # nothing left\nstart 0 -> right _ R    # cross out a 0 and look for the last 1\nright 0 -> right 0 R\nright 1 -> right 1 R\nright _ -> last _ L\nlast  1 -> back _ L     # cross it out\nback  0 -> back 0 L\nback  1 -> back 1 L\nback  _ -> start _ R" },
    "a busy beaver": { word: "____", head: 2, text: "a _ -> b 1 R            # three states and accept: six ones, then it stops\na 1 -> accept 1 R\nb _ -> c _ R\nb 1 -> b 1 R\nc _ -> c 1 L\nc 1 -> a 1 L" },
    "there and back": { word: "_ab_", head: 1, text: "go   _ -> back _ L      # between two blanks, turning a into b and b into a\ngo   a -> go b R\ngo   b -> go a R\nback a -> back b L\nback b -> back a L\nback _ -> go _ R" },
  };

  let run;

  // ---- The parts ----

  const button = (text, act, attributes = {}) => make("button", { type: "button", click: act, ...attributes }, text);
  const field = (text, control, ...rest) => make("label", { class: "instrument-field" }, make("span", {}, text), control, ...rest);
  const part = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);
  const region = (title) => make("div", { class: "instrument-scroll", tabindex: "0", role: "region", "aria-label": title });

  const choice = make("select", { change: () => choose(choice.value) },
    ...Object.keys(EXAMPLES).map((name) => make("option", { value: name }, name)), make("option", { value: OWN }, OWN));
  const own = () => { choice.value = OWN; edited(); };
  const rules = make("textarea", { rows: 10, spellcheck: "false", autocapitalize: "off", autocomplete: "off", input: own });
  const word = make("input", { type: "text", size: "14", maxlength: "40", spellcheck: "false", autocapitalize: "off", autocomplete: "off", input: own });
  const head = make("input", { type: "number", min: "0", max: String(data.sizes.word - 1), step: "1", input: own });
  const refusal = make("p", { class: "instrument-refusal", role: "alert" });
  const status = make("p", { class: "instrument-status", role: "status" });
  const running = runner({ every: 500, over: () => run.over, begin, step, show, made: () => `${run.step} steps`, status });
  const one = button("One step", () => { running.pause(); step(); show(); });
  const token = button("One token", () => { running.pause(); advance(); show(); });
  const restart = button("Back to the start", () => begin());
  const delta = region("The machine’s table, with a row for each state and a column for each letter");
  const tape = make("div", { class: "instrument-tape", tabindex: "0", role: "region", "aria-label": "The tape after each step" });
  const latest = region("The newest tokens");
  const reads = region("How the newest token was computed");
  reads.classList.add("instrument-wide");
  const picture = make("canvas", { role: "img" });
  const sizes = make("p", { class: "instrument-about" });
  const turned = make("input", { type: "checkbox", change: () => disturb() });

  room.append(
    make("div", { class: "instrument-columns" },
      part("Machine",
        field("Example", choice), field("Rules, each as: state letter -> state letter move", rules),
        make("div", { class: "instrument-pair" }, field("Word on the tape", word), field("The head starts in cell", head)), refusal,
        make("p", { class: "instrument-note" }, `At most ${data.sizes.states} states (accept and reject, in which a machine rests, included), ${data.sizes.letters} letters and ${data.sizes.word} cells. The first line begins with the start state. The blank is _, or the first letter if there is no _. The moves are L, R and S (stay). A state and letter without a rule reject.`)),
      part("Run",
        make("div", { class: "instrument-buttons" }, running.button, one, token, running.finish, restart),
        status,
        make("h4", {}, "Disturb it"),
          make("label", { class: "instrument-check" }, turned, " Flip the sign of one weight: a move to the left is then written twice instead of being removed"),
        make("h4", {}, "The current rule"), delta),
    ),
    part("Tape, read from the tokens", tape),
    part("Tokens", sizes, latest, make("h4", {}, "How the newest token was computed"), reads,
      make("figure", {}, picture, make("figcaption", {}, "Which token attended to which. Down: the token that attends; it is computed from the one above it. Across: the token attended to. The score of a head is a whole number: ",
        make("span", { class: "instrument-key" }, make("i", { class: "plus" }), " positive, ", make("i", { class: "minus" }), " negative"), "; the lines part prompt and steps."))),
  );

  // ---- What happens ----

  function choose(name) {
    if (name !== OWN) {
      rules.value = EXAMPLES[name].text;
      word.value = EXAMPLES[name].word;
      head.value = String(EXAMPLES[name].head);
    }
    edited();
  }

  function edited() {
    running.pause();
    try {
      const plain = core.layer(data);
      const machine = core.parse(rules.value);
      const table = core.padded(plain, machine.table);
      const letters = core.spell(plain, machine, word.value);
      const place = Number(head.value);
      if (head.value === "" || !Number.isInteger(place) || place < 0 || place >= letters.length) throw new Error(`the head must start in a cell of the word, 0 to ${letters.length - 1}`);
      refusal.textContent = "";
      begin({ machine, table, letters, place });
    } catch (error) {
      refusal.textContent = `${error.message}. The previous machine is still loaded.`;
    }
  }

  function begin(task = run.task) {
    running.pause();
    const made = core.layer(data, { turned: turned.checked });
    const history = core.begin(made, core.embed(made, task.table, task.letters, task.place));
    const start = { cells: task.letters, head: task.place, state: 0 };
    run = { task, made, history, asked: history.tokens.map(() => []), reads: null, step: 0, expected: start, tapes: [], wrong: null, over: false, burst: false, largest: 1 };
    tape.replaceChildren(make("table", {}, make("tbody", {})));
    compare();
    show();
  }

  // A disturbed machine begins again, and runs as far as the machine before it had.
  function disturb() {
    const ended = run.over;
    begin();
    if (ended) running.toTheEnd();
  }

  // One token more; at the end of a tape it is compared with the ordinary machine's.
  function advance() {
    if (run.over) return;
    let found;
    try {
      found = core.next(run.made, run.history);
    } catch {
      run.over = run.burst = true;
      if (run.wrong === null) run.wrong = run.step + 1;
      return;
    }
    core.append(run.history, found.token);
    run.reads = found.reads;
    run.asked.push(found.reads.flatMap((each) => each.scores));
    run.largest = found.token.reduce((most, [, amount]) => Math.max(most, Math.abs(amount)), run.largest);
    const cells = run.task.letters.length;
    if (run.history.tokens.length === prompt() + core.tokensUntil(run.step + 1, cells)) {
      run.step += 1;
      run.expected = core.simulate(run.task.table, run.expected, data.sizes.edge === "stays");
      compare();
    }
  }

  const prompt = () => data.sizes.states + 1 + run.task.letters.length;

  function step() {
    for (const before = run.step; run.step === before && !run.over;) advance();
  }

  function compare() {
    const { cells, head: place, state } = run.expected;
    const found = core.read(run.made, run.history.tokens.slice(-cells.length));
    const same = cells.every((letter, cell) => found.letters[cell] === letter && found.states[cell] === (cell === place ? state : NONE));
    if (!same && run.wrong === null) run.wrong = run.step;
    run.tapes.push({ ...found, same });
    const rule = place < 0 ? null : run.task.table[state][cells[place]];
    run.rests = rule !== null && rule[0] === state && rule[1] === cells[place] && rule[2] === 2;
    run.over = run.rests || place < 0 || run.step === data.sizes.steps;
  }

  // ---- What is drawn ----

  const stateName = (state) => run.task.machine.states[state] ?? `state ${state}`;
  const letterName = (letter) => run.task.machine.letters[letter] ?? `letter ${letter}`;

  function words() {
    const count = run.step === 1 ? "1 step" : `${run.step} steps`;
    const { head: place, state } = run.expected;
    const end = run.burst ? "The numbers have grown too large to be exact. " : place < 0 ? "The head has left the tape and is lost. "
      : run.rests ? `The machine rests in ${stateName(state)}. ` : run.over ? `This layer has cells for no more steps. ` : "";
    if (!run.step && run.history.tokens.length === prompt()) return "The prompt is in place: the rule table and the word.";
    if (run.wrong !== null) return `✗ ${end}After ${count}: the tape in the tokens has differed from the ordinary machine’s tape since step ${run.wrong}.`;
    return `✓ ${end}After ${count}: the tape in the tokens equals the ordinary machine’s tape, cell by cell. The two were equal after every step.`;
  }

  function show() {
    status.className = `instrument-status ${run.wrong === null ? "right" : "wrong"}`;
    status.textContent = words();
    one.disabled = token.disabled = running.finish.disabled = run.over;
    drawRules();
    drawTape();
    drawTokens();
    drawPicture();
  }

  function drawRules() {
    const { states, letters, table } = run.task.machine;
    const { cells, head: place, state } = run.expected;
    const here = (q, a) => q === state && a === cells[place];
    delta.replaceChildren(make("table", { class: "instrument-rules" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "state"), ...letters.map((sign) => make("th", { scope: "col" }, sign)))),
      make("tbody", {}, ...states.map((name, q) => make("tr", {}, make("th", { scope: "row" }, name), ...letters.map((_, a) => {
        const [nextState, written, move] = table[q][a];
        return make("td", { class: here(q, a) ? "here" : "", "aria-current": here(q, a) ? "step" : null }, `${states[nextState]} ${letters[written]} ${core.MOVES[move]}`);
      }))))));
  }

  function drawTape() {
    const body = tape.querySelector("tbody");
    run.tapes.slice(body.children.length).forEach((each, offset) => {
      const stands = each.states.findIndex((state) => state !== NONE);
      const where = stands < 0 ? "no head" : each.states[stands] < 0 ? "unreadable" : stateName(each.states[stands]);
      body.append(make("tr", { class: each.same ? "" : "wrong" },
        make("th", { scope: "row" }, String(body.children.length)), make("td", { class: "state" }, where),
        ...each.letters.map((letter, cell) => make("td", { class: each.states[cell] === NONE ? "cell" : "cell head" },
          letter < 0 ? "?" : letterName(letter), each.states[cell] === NONE ? null : make("span", { class: "visually-hidden" }, " (head)")))));
    });
    tape.scrollTop = tape.scrollHeight;
  }

  // "letter 3" behind "at _: letter" is one letter, and said once.
  const behind = (title, name) => (name.includes(" ") && title.endsWith(name.split(" ")[0]) ? title + name.slice(name.indexOf(" ")) : `${title} ${name}`);

  // A row of the layer's width in words.
  function rowWords(row) {
    const [name, [start]] = Object.entries(data.rows).find(([, [from, to]]) => row >= from && row < to);
    const place = row - start;
    const table = name.match(/^table (\d+) ?(.*)$/);
    const pair = name.match(/^pair (\d+)$/);
    if (pair) return `pair (${stateName(place)}, ${letterName(Number(pair[1]))})`;
    if (table && !table[2]) return `table for ${letterName(Number(table[1]))}`;
    const kind = table ? table[2] : name;
    const title = table ? `at ${letterName(Number(table[1]))}: ${kind}` : name;
    if (["move", "moved"].includes(kind)) return `${title} ${core.MOVES[place]}`;
    if (["letter", "read letter"].includes(kind)) return behind(title, letterName(place));
    if (["state", "head", "read state", "table of", "next state", "brought state"].includes(kind)) return behind(title, stateName(place));
    if (["cell", "at", "next"].includes(kind)) return `${title} ${place}`;
    return title;
  }

  const signed = (entries) => (entries.length
    ? entries.map(([row, amount]) => `${amount === 1 ? "" : amount === -1 ? "−" : `${String(amount).replace("-", "−")} × `}${rowWords(row)}`).join(", ")
    : "nothing");

  function title(index) {
    const { name, place } = core.kind(data, run.task.letters.length, index);
    return place === undefined ? name : `${name} ${name === "TABLE" ? stateName(place) : place}`;
  }

  function drawTokens() {
    const { tokens } = run.history;
    const [inPrompt, made] = [prompt(), tokens.length - prompt()];
    sizes.textContent = `Width d = ${data.width}, H = ${data.heads.length} heads. The prompt has ${inPrompt} tokens, and ${made} have been written since. No entry exceeds ${run.largest}.`;
    const first = Math.max(0, tokens.length - SHOWN);
    latest.replaceChildren(make("table", {},
      make("thead", {}, make("tr", {}, ...["token", "is", "holds"].map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...tokens.slice(first).map((held, k) => make("tr", { class: first + k === tokens.length - 1 ? "newest" : "" },
        make("th", { scope: "row" }, String(first + k)), make("td", { class: "kind" }, title(first + k)), make("td", {}, signed(held)))))));
    if (!run.reads) {
      reads.replaceChildren(make("p", {}, "So far there is only the prompt, and no token has been computed."));
      return;
    }
    reads.replaceChildren(make("table", {},
      make("thead", {}, make("tr", {}, ...["head", "asked for", "answered, with score", "wrote"].map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...run.reads.map(({ number, key, scores, wrote }) => make("tr", {},
        make("th", { scope: "row" }, String(number + 1)), make("td", {}, signed(key)), make("td", {}, answers(scores)), make("td", {}, signed(wrote)))))));
  }

  function answers(scores) {
    const said = scores.slice(0, 6).map(([index, score]) => `${index} ${title(index)} (${String(score).replace("-", "−")})`);
    return said.length ? said.join(", ") + (scores.length > 6 ? ` and ${scores.length - 6} more` : "") : "none";
  }

  function drawPicture() {
    const count = run.history.tokens.length;
    const scores = new Map();
    run.asked.forEach((all, y) => all.forEach(([x, score]) => scores.set(y * count + x, (scores.get(y * count + x) || 0) + score)));
    const [ground, plus, minus, ink] = ["--instrument-ground", "--instrument-plus", "--instrument-minus", "--pst-color-text-base"].map((name) => colour(room, name));
    const scale = Math.max(1, Math.floor(900 / count));
    const context = pixels(picture, count, count, scale, (x, y) => {
      const score = scores.get(y * count + x);
      return score ? (score > 0 ? plus : minus) : x > y ? mix(ground, ink, 0.06) : ground;
    });
    context.fillStyle = `rgba(${ink.join(",")}, 0.35)`;
    for (let step = 0; step <= run.step; step += 1) {
      const edge = (prompt() + core.tokensUntil(step, run.task.letters.length)) * scale;
      context.fillRect(edge - 1, 0, 2, context.canvas.height);
      context.fillRect(0, edge - 1, context.canvas.width, 2);
    }
    picture.setAttribute("aria-label", `${count} tokens by ${count} tokens; a point for each token that another attended to. The table above describes the newest token.`);
  }

  onTheme(drawPicture);
  choice.value = Object.keys(EXAMPLES)[0];
  choose(choice.value);
};
