// Compiles and runs Python sources by the scripts of the instrument "program", without a page.
// Arguments: the scripts' folder, and a file {machine, rules, cases: [{source, example, shorter, passes}]}. Writes a list.
const fs = require("fs"), path = require("path"), vm = require("vm");
const [folder, file] = process.argv.slice(2);
globalThis.window = globalThis;
globalThis.document = { currentScript: { src: "", dataset: {} }, readyState: "complete", querySelectorAll: () => [] };
const load = (name) => vm.runInThisContext(fs.readFileSync(path.join(folder, name), "utf8"), { filename: name });
["instruments.js", "program.js"].forEach(load);
window.instruments.program.needs.filter((name) => !name.includes("panel")).forEach(load);
const { python_compile: python, subleq_core: core } = window.instruments;
const { machine, rules, cases } = JSON.parse(fs.readFileSync(file, "utf8"));

// The states after some passes, and what the program gives in the end.
function run(made, passes) {
  const data = core.sized(machine, made.program), now = core.session(data, made.program), states = [];
  for (; !now.over; now.step()) {
    if (passes.includes(now.steps + 1)) states.push(Array.from(now.moments()[machine.layers.length - 1].state));
  }
  return { states, steps: now.steps, wrong: now.wrong, answer: python.answer(made, now.found.memory) };
}

const results = cases.map(({ source, example = null, shorter = true, passes }) => {
  try {
    const made = python.compile(source, { rules, example, shorter });
    const { listing, lines, errors, program, cells } = made;
    return { listing, lines, errors, memory: program.memory, code: program.code, cells: [...cells], ...(passes ? { run: run(made, passes) } : {}) };
  } catch (error) {
    return { fault: error.message };
  }
});
process.stdout.write(JSON.stringify(results));
