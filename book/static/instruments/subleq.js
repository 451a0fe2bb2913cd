// A program in a transformer: the ten-layer SUBLEQ machine, beside an interpreter.
window.instruments.subleq = (room, given) => {
  "use strict";
  const { subleq: data, programs } = given;
  const { make, runner, subleq_core: core, subleq_panel } = window.instruments;
  const plain = core.machine(data);
  const OWN = "a program of your own";
  const fits = (text) => { try { core.padded(plain, core.assemble(text, data.sizes.bits)); return true; } catch { return false; } };
  const library = Object.fromEntries(Object.entries(programs).filter(([, text]) => fits(text)));
  const spoken = (name) => name.replace(/_/g, " ");
  const long = Object.keys(programs).filter((name) => !(name in library)).map(spoken);

  let run; // the run: see `begin`

  // ---- The parts ----

  const choice = make("select", { change: () => choose(choice.value) },
    ...Object.keys(library).map((name) => make("option", { value: name }, spoken(name))),
    make("option", { value: OWN }, OWN));
  const source = make("textarea", {
    rows: 14, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "subleq-language",
    input: () => { choice.value = OWN; edited(); },
  });
  const refusal = make("p", { class: "instrument-refusal", role: "alert" });
  const button = (text, act, attributes = {}) => make("button", { type: "button", click: act, ...attributes }, text);
  const restart = button("Back to the start", () => begin());
  const one = button("One instruction", () => { running.pause(); run.step(); show(); });
  const status = make("p", { class: "instrument-status", role: "status" });
  const running = runner({ every: 250, over: () => run.over, begin, step: () => run.step(), show, made: () => executed(run.steps), status });
  const panel = subleq_panel(room, () => run, disturb);

  const field = (text, control, ...rest) => make("label", { class: "instrument-field" }, make("span", {}, text), control, ...rest);
  const part = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);

  room.append(
    make("div", { class: "instrument-columns" },
      part("Program",
        field("Example", choice),
        make("label", { class: "instrument-field" }, make("span", {}, "Text of the program"), source),
        refusal,
        make("p", { class: "instrument-note" }, `At most ${data.sizes.instructions} instructions before the halt, ${data.sizes.integers} memory cells besides the two reserved ones, and integers of ${data.sizes.bits} bits. That makes ${data.state[0]} columns. `,
          long.length ? `Of the programs that come with the package, ${long.join(" and ")} are too long for this machine.` : ""),
        make("details", {}, make("summary", {}, "The language in four lines"), make("ul", { id: "subleq-language" },
          make("li", {}, make("code", {}, "x = 7"), ": a memory cell and its value; ", make("code", {}, "list = 3 1 4"), " is three cells."),
          make("li", {}, make("code", {}, "y -= x if <= 0 goto done"), ": subtract, and jump if the result is at most 0. Otherwise go on with the next line."),
          make("li", {}, make("code", {}, "done:"), " in front of a line is the label of that line; ", make("code", {}, "goto done"), " always jumps."),
          make("li", {}, "The last line is ", make("code", {}, "halt"), ". The cells ", make("code", {}, "zero"), " and ", make("code", {}, "minus_one"), " are always there."))),
      ),
      part("Run",
        make("div", { class: "instrument-buttons" }, running.button, one, running.finish, restart),
        status,
        ...panel.disturbing, panel.listing, ...panel.memory),
    ),
    panel.layers,
  );

  // ---- What happens ----

  function choose(name) {
    if (name !== OWN) source.value = library[name];
    edited();
  }

  function edited() {
    running.pause();
    try {
      const program = core.assemble(source.value, data.sizes.bits);
      core.padded(plain, program);
      refusal.textContent = "";
      source.removeAttribute("aria-invalid");
      begin(program);
    } catch (error) {
      refusal.textContent = `${error.message}. The previous program is still loaded.`;
      source.setAttribute("aria-invalid", "true");
    }
  }

  function begin(program = run.program) {
    running.pause();
    run = core.session(data, program, panel.options());
    show();
  }

  // A disturbed machine begins again, and runs as far as the machine before it had.
  function disturb() {
    const ended = run.over;
    begin();
    if (ended) running.toTheEnd();
  }

  // ---- What is said ----

  function show() {
    panel.show();
    status.className = `instrument-status ${run.wrong === null ? "right" : "wrong"}`;
    status.textContent = words(run.found);
    one.disabled = running.finish.disabled = run.over;
  }

  const executed = (count) => (count === 1 ? "1 instruction" : `${count} instructions`);

  function words(found) {
    if (!run.steps) return "Loaded. Transformer and interpreter are at instruction 0.";
    const count = executed(run.steps);
    const at = (counter) => (counter === null || counter < 0 ? "no instruction" : panel.place(counter) === "halt" ? "the halt" : `instruction ${counter}`);
    const over = run.halted ? "The program has halted. "
      : run.repeats !== null ? `The program never halts: program counter and memory are the same as after ${executed(run.repeats)}. ` : "";
    if (run.wrong !== null) return `✗ ${over}After ${count}: the two have differed since instruction ${run.wrong} (the transformer is at ${at(found.counter)}, the interpreter at ${at(run.expected.counter)}).`;
    return `✓ ${over}After ${count}: both at ${at(found.counter)}, and all ${found.memory.length} cells are equal. The two agreed after every instruction.`;
  }

  choice.value = "multiply" in library ? "multiply" : Object.keys(library)[0];
  choose(choice.value);
};
window.instruments.subleq.needs = ["subleq.core.js", "subleq.panel.js"];
