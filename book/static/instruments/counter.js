// The front page's moving picture: a machine that counts in binary, its tape read from the tokens that one layer of linear
// attention writes. Layer and weights are those of the instrument "turing".
window.instruments.counter = (room) => {
  "use strict";
  const { make, borrow, calm, player } = window.instruments;
  const RULES = "add _ -> back 1 L\nadd 0 -> back 1 L\nadd 1 -> add 0 R\nback 0 -> back 0 L\nback 1 -> back 1 L\nback | -> add | R";
  const [STEPS, SHOWN, PAUSE] = [44, 10, 650];

  const tape = make("div", { class: "counter-tape", role: "img", "aria-label": "The tape of a machine that counts." });
  const said = make("p", { class: "counter-said" });
  const counting = player({ word: "Play", every: PAUSE, step: advance });
  counting.button.disabled = true;
  room.append(tape, make("div", { class: "counter-foot" }, counting.button, said));

  let core, layer, machine, history, step, rows;

  function begin() {
    machine = core.parse(RULES);
    const letters = core.spell(layer, machine, "|_");
    history = core.begin(layer, core.embed(layer, core.padded(layer, machine.table), letters, 1));
    step = 0;
    rows = [core.read(layer, history.tokens.slice(-letters.length))];
    show();
  }

  // One step of the machine: six tokens of work, and the tape, a token a cell, one cell longer each time.
  function advance() {
    if (step === STEPS) return begin();
    step += 1;
    for (let count = core.WORK.length + 2 + step; count; count -= 1) core.append(history, core.next(layer, history).token);
    rows.push(core.read(layer, history.tokens.slice(-(2 + step))));
    show();
  }

  function show() {
    const shown = rows.slice(-SHOWN);
    const width = Math.max(8, ...rows.map(({ letters }) => 1 + letters.findLastIndex((one) => machine.letters[one] !== "_")));
    tape.replaceChildren(...shown.map(({ letters, states }, place) => make("div", { class: place === shown.length - 1 ? "now" : "" },
      ...Array.from({ length: width }, (_, cell) => {
        const state = machine.states[states[cell]];
        const sign = letters[cell] === undefined ? "" : machine.letters[letters[cell]].replace("_", "·");
        return make("span", { class: state ? "head" : "" }, sign, state ? make("small", {}, state) : null);
      }))));
    const digits = rows.at(-1).letters.map((one) => machine.letters[one]).join("").replace(/[|_]/g, "");
    const value = parseInt([...digits].reverse().join("") || "0", 2);
    tape.setAttribute("aria-label", `The tape after ${step} steps: a binary number, its lowest digit first, with the value ${value}.`);
    said.textContent = `The tape reads ${value}, lowest digit first. Step ${step}, token ${history.tokens.length}.`;
  }

  borrow("turing.data.js", "turing.js").then(() => {
    core = window.instruments.turing_core;
    layer = core.layer(window.instruments.data.turing.turing);
    begin();
    for (let count = 0; count < SHOWN - 1; count += 1) advance();
    counting.button.disabled = false;
    if (!calm()) counting.start();
  });
};
