// Shorter programs in three-address code, and what the compiler knows of the cells' values: as `intervals` and `optimise`
// of attention_theory.looped_transformers.compiler, so that both write the same program. What may take long is a generator,
// which stops now and then so that a page is not held up.
window.instruments.python_optimise = (() => {
  "use strict";
  const { isTemporary, mod } = window.instruments.python_read;

  const PATIENCE = 3; // so often may an interval grow at one place before its moving end is given up
  const OPERATORS = {
    "+": (left, right) => left + right, "-": (left, right) => left - right, "*": (left, right) => left * right,
    "//": (left, right) => Math.floor(left / right), "%": (left, right) => left - right * Math.floor(left / right),
  };
  const OPERANDS = { copy: ["source"], compute: ["left", "right"], load: ["index"], store: ["index", "source"], branch: ["left", "right"] };
  const isCell = (operand) => typeof operand === "string";

  // An integer in two's complement of so many bits.
  function wrap(value, bits) {
    const half = 2 ** (bits - 1);
    return mod(value + half, 2 * half) - half;
  }

  // An instruction with other operands to read.
  function withOperands(one, change) {
    const made = { ...one };
    for (const name of OPERANDS[one.op] ?? []) made[name] = change(one[name]);
    return made;
  }

  const reads = (one) => (OPERANDS[one.op] ?? []).map((name) => one[name]).filter(isCell);
  const writes = (one) => (["copy", "compute", "load"].includes(one.op) ? one.target : null);
  const jumps = (one) => one.op === "jump" || one.op === "branch";
  const placesOf = (instructions) => new Map(instructions.flatMap((one, place) => (one.op === "label" ? [[one.name, place]] : [])));

  // ---- Intervals: the least and the largest that a cell can hold before each instruction ----

  const everything = (bits) => [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
  const of = (operand, known, whole) => (isCell(operand) ? known.get(operand) ?? whole : [operand, operand]);
  const interval = (operand, known, bits) => of(operand, known, everything(bits));
  const same = (one, other) => one.size === other.size && [...one].every(([name, [low, high]]) => {
    const there = other.get(name);
    return there !== undefined && there[0] === low && there[1] === high;
  });

  // A run is followed over all ways at once. Null where no run comes; a cell without an interval can hold anything.
  function* intervals(code, bits) {
    const { instructions } = code, places = placesOf(instructions), whole = everything(bits);
    const before = instructions.map(() => null), grown = new Map(), ends = restingPlaces(code, whole);
    before[0] = new Map([...code.cells].filter(([name]) => !code.inputs.includes(name)).map(([name, value]) => [name, [value, value]]));
    const waiting = [0]; // what comes first is settled first, so that a loop is before what follows it
    while (waiting.length) {
      yield;
      const place = waiting.shift();
      for (const [then, after] of follow(instructions[place], place, before[place], places, whole)) {
        const old = before[then], made = old === null ? after : joined(old, after, then, grown, ends);
        if (old !== null && same(made, old)) continue;
        before[then] = made;
        if (waiting.includes(then)) continue;
        const later = waiting.findIndex((one) => one > then);
        waiting.splice(later < 0 ? waiting.length : later, 0, then);
      }
    }
    return before;
  }

  function* atEach(code, bits) {
    return (yield* intervals(code, bits)).map((known) => known ?? new Map());
  }

  // Where a run goes from here, and what is known there.
  function follow(one, place, known, places, whole) {
    const known_ = (name, value) => new Map(known).set(name, value);
    switch (one.op) {
      case "stop": return [];
      case "jump": return [[places.get(one.label), known]];
      case "branch": {
        const taken = narrowed(known, one.left, one.relation, one.right, whole);
        const other = narrowed(known, ...negation(one), whole);
        return [[places.get(one.label), taken], [place + 1, other]].filter(([, after]) => after !== null);
      }
      case "copy": return [[place + 1, known_(one.target, of(one.source, known, whole))]];
      case "compute": {
        const result = computed(of(one.left, known, whole), one.operator, of(one.right, known, whole));
        return [[place + 1, known_(one.target, whole[0] <= result[0] && result[1] <= whole[1] ? result : whole)]];
      }
      case "load": {
        const after = new Map(known);
        after.delete(one.target);
        return [[place + 1, after]];
      }
    }
    return [[place + 1, known]];
  }

  // Where the result lies before it wraps around; the widest interval that is easy to say.
  function computed([a, b], operator, [c, d]) {
    if (operator === "+") return [a + c, b + d];
    if (operator === "-") return [a - d, b - c];
    if (operator === "*") {
      const corners = [a * c, a * d, b * c, b * d];
      return [Math.min(...corners), Math.max(...corners)];
    }
    if (operator === "%" && c > 0) return [0, d - 1];
    if (operator === "//" && c > 0) return [Math.min(a, Math.floor(a / c)), Math.max(b, Math.floor(b / c))];
    const size = Math.max(...[a, b, c, d].map(Math.abs)) + 1;
    return [-size, size];
  }

  function negation({ left, relation, right }) {
    if (relation === "<=") return [right, "<", left];
    if (relation === "<") return [right, "<=", left];
    return [left, relation === "==" ? "!=" : "==", right];
  }

  // What is known where the relation holds; null where it cannot.
  function narrowed(known, left, relation, right, whole) {
    let [a, b] = [of(left, known, whole), of(right, known, whole)];
    if (relation === "<=") [a, b] = [[a[0], Math.min(a[1], b[1])], [Math.max(a[0], b[0]), b[1]]];
    else if (relation === "<") [a, b] = [[a[0], Math.min(a[1], b[1] - 1)], [Math.max(a[0] + 1, b[0]), b[1]]];
    else if (relation === "==") a = b = [Math.max(a[0], b[0]), Math.min(a[1], b[1])];
    else [a, b] = [without(a, b), without(b, a)];
    if (a[0] > a[1] || b[0] > b[1]) return null;
    const made = new Map(known);
    if (isCell(left)) made.set(left, a);
    if (isCell(right)) made.set(right, b);
    return made;
  }

  // An interval without a single value at one of its ends.
  function without(one, other) {
    if (other[0] !== other[1]) return one;
    return [one[0] + (one[0] === other[0]), one[1] - (one[1] === other[0])];
  }

  // Where an interval that grows may come to rest: the numbers of the program and their neighbours.
  function restingPlaces(code, whole) {
    const named = code.instructions.flatMap((one) => (OPERANDS[one.op] ?? []).map((name) => one[name])).filter((value) => !isCell(value));
    const near = [...named, ...[...code.blocks.values()].map(({ length }) => length)].flatMap((value) => [-2, -1, 0, 1, 2].map((by) => value + by));
    return [...new Set([...whole, ...near.filter((value) => whole[0] < value && value < whole[1])])].sort((x, y) => x - y);
  }

  function joined(old, fresh, place, grown, ends) {
    const out = new Map();
    for (const [name, before] of old) {
      const other = fresh.get(name);
      if (other === undefined) continue;
      let [low, high] = [Math.min(before[0], other[0]), Math.max(before[1], other[1])];
      if (low !== before[0] || high !== before[1]) {
        const key = `${place} ${name}`;
        grown.set(key, (grown.get(key) ?? 0) + 1);
        if (grown.get(key) > PATIENCE) {
          if (low !== before[0]) low = ends.filter((end) => end <= low).pop();
          if (high !== before[1]) high = ends.find((end) => end >= high);
        }
      }
      out.set(name, [low, high]);
    }
    return out;
  }

  // Whether a branch is always taken, or never; null where both can be.
  function decided({ left, relation, right }, known, bits) {
    const [a, b] = [interval(left, known, bits), interval(right, known, bits)];
    const apart = a[1] < b[0] || b[1] < a[0], equal = a[0] === a[1] && b[0] === b[1] && a[0] === b[0];
    const [holds, fails] = { "<=": [a[1] <= b[0], a[0] > b[1]], "<": [a[1] < b[0], a[0] >= b[1]], "==": [equal, apart], "!=": [apart, equal] }[relation];
    return holds ? true : fails ? false : null;
  }

  // Numbers for cells that can hold one value only, and no branches that go one way only.
  function* settle(code, bits) {
    const known = yield* atEach(code, bits);
    return code.instructions.flatMap((one, place) => {
      const taken = one.op === "branch" ? decided(one, known[place], bits) : null;
      if (taken === null) {
        return [withOperands(one, (operand) => {
          const [low, high] = isCell(operand) ? known[place].get(operand) ?? [0, 1] : [operand, operand];
          return low === high ? low : operand;
        })];
      }
      return taken ? [{ op: "jump", label: one.label, line: one.line }] : [];
    });
  }

  // ---- Passes ----

  // What is read after the end: the result, and the variables where there is none.
  function wantedOf(code) {
    if (code.result !== null) return new Set(code.cells.has(code.result) ? [code.result] : []);
    return new Set(code.inputs.length ? [] : code.variables.keys());
  }

  // Constants and copies forward, to the next label; an index that is known to be wrong ends the program.
  function propagate(instructions, bits, blocks) {
    const values = new Map(), out = [];
    for (const instruction of instructions) {
      let one = withOperands(instruction, (operand) => (isCell(operand) ? values.get(operand) ?? operand : operand));
      if (one.op === "label") values.clear();
      else if (one.op === "compute") one = simpler(one, bits);
      else if ((one.op === "load" || one.op === "store") && !isCell(one.index) && one.index >= blocks.get(one.block).length) one = { op: "stop", error: "IndexError", line: one.line };
      else if (one.op === "branch" && one.left === one.right) {
        if (!["<=", "=="].includes(one.relation)) continue;
        one = { op: "jump", label: one.label, line: one.line };
      }
      if (one.op === "copy" && one.target === one.source) continue;
      const written = writes(one);
      if (written !== null) {
        for (const [name, value] of values) if (name === written || value === written) values.delete(name);
        if (one.op === "copy") values.set(written, one.source);
      }
      out.push(one);
    }
    return out;
  }

  // A computation, or a copy where one operand or both decide it.
  function simpler(one, bits) {
    const { target, left, operator, right, line } = one, copy = (source) => ({ op: "copy", target, source, line });
    const [divides, adds] = ["//%".includes(operator), "+-".includes(operator)];
    if (!isCell(left) && !isCell(right)) return divides && right === 0 ? one : copy(wrap(OPERATORS[operator](left, right), bits));
    if ((adds && right === 0) || ((operator === "*" || operator === "//") && right === 1)) return copy(left);
    if ((operator === "+" && left === 0) || (operator === "*" && left === 1)) return copy(right);
    if ((operator === "*" && (left === 0 || right === 0)) || (operator === "%" && right === 1)) return copy(0);
    return one;
  }

  // A jump to a jump, or to the same branch, leads to where that leads; a jump to the next instruction goes.
  function followJumps(instructions) {
    const places = placesOf(instructions);
    const first = (place) => {
      while (place < instructions.length && instructions[place].op === "label") place += 1;
      return place;
    };
    const alike = (one, other) => one.op === "branch" && other.op === "branch" && ["left", "relation", "right"].every((name) => one[name] === other[name]);
    const end = (one) => {
      const passed = new Set();
      let { label } = one;
      while (!passed.has(label)) {
        passed.add(label);
        const then = instructions[first(places.get(label))];
        if (then.op === "jump" || alike(then, one)) label = then.label;
      }
      return label;
    };
    const out = [];
    instructions.forEach((instruction, place) => {
      if (!jumps(instruction)) return void out.push(instruction);
      const one = { ...instruction, label: end(instruction) };
      if (first(place + 1) !== first(places.get(one.label))) out.push(one);
    });
    return out;
  }

  // The places to which a run can go from here.
  function following(instructions, place, places) {
    const one = instructions[place];
    if (one.op === "stop") return [];
    if (one.op === "jump") return [places.get(one.label)];
    return one.op === "branch" ? [places.get(one.label), place + 1] : [place + 1];
  }

  // Without what no run reaches, and without labels that nothing jumps to.
  function reachable(instructions) {
    const places = placesOf(instructions), seen = new Set(), toSee = [0];
    while (toSee.length) {
      const place = toSee.pop();
      if (seen.has(place)) continue;
      seen.add(place);
      toSee.push(...following(instructions, place, places));
    }
    const used = new Set(instructions.filter((one, place) => seen.has(place) && jumps(one)).map(({ label }) => label));
    return instructions.filter((one, place) => seen.has(place) && !(one.op === "label" && !used.has(one.name)));
  }

  // After each instruction, the cells that may still be read.
  function* live(instructions, wanted) {
    const places = placesOf(instructions), after = instructions.map(() => new Set()), before = instructions.map(() => new Set());
    for (let changed = true; changed;) {
      changed = false;
      yield;
      for (let place = instructions.length - 1; place >= 0; place -= 1) {
        const one = instructions[place], alive = new Set(one.op === "stop" && one.error === null ? wanted : []);
        for (const then of following(instructions, place, places)) for (const name of before[then]) alive.add(name);
        const needed = new Set(alive);
        needed.delete(writes(one));
        for (const name of reads(one)) needed.add(name);
        changed ||= needed.size !== before[place].size || [...needed].some((name) => !before[place].has(name));
        [after[place], before[place]] = [alive, needed];
      }
    }
    return after;
  }

  // Without computations whose result nobody reads. A load may stop the program, unless its index is a number.
  function* withoutDead(instructions, wanted) {
    const after = yield* live(instructions, wanted);
    return instructions.filter((one, place) => {
      const target = writes(one);
      return target === null || after[place].has(target) || (one.op === "load" && isCell(one.index));
    });
  }

  // `t = a + b; x = t` becomes `x = a + b` where nobody else reads `t`.
  function* retarget(instructions, wanted) {
    const after = yield* live(instructions, wanted), out = [...instructions];
    for (let place = 0; place < out.length - 1; place += 1) {
      const [one, other] = [out[place], out[place + 1]];
      if (writes(one) === null || other.op !== "copy" || other.source !== one.target) continue;
      if (after[place + 1].has(one.target) || other.target === one.target) continue;
      out[place] = { ...one, target: other.target };
      out[place + 1] = { ...other, source: other.target };
    }
    return out.filter((one) => !(one.op === "copy" && one.target === one.source));
  }

  // Temporaries that are never alive at once get one cell; each takes the first that is free.
  function* shareCells(code) {
    const after = yield* live(code.instructions, wantedOf(code)), meets = new Map();
    const met = (name) => meets.get(name) ?? meets.set(name, new Set()).get(name);
    code.instructions.forEach((one, place) => {
      const target = writes(one);
      if (target === null || !isTemporary(target)) return;
      met(target);
      for (const name of after[place]) {
        if (!isTemporary(name) || name === target) continue;
        met(target).add(name);
        met(name).add(target);
      }
    });
    const fresh = new Map();
    for (const name of [...meets.keys()].sort((x, y) => Number(x.slice(2)) - Number(y.slice(2)))) {
      const taken = new Set([...meets.get(name)].map((other) => fresh.get(other)));
      let number = 1;
      while (taken.has(`t_${number}`)) number += 1;
      fresh.set(name, `t_${number}`);
    }
    const renamed = (operand) => (isCell(operand) ? fresh.get(operand) ?? operand : operand);
    const instructions = code.instructions.map((one) => {
      const made = withOperands(one, renamed);
      return writes(made) === null ? made : { ...made, target: renamed(made.target) };
    });
    const kept = new Set([...instructions.flatMap((one) => [...reads(one), writes(one)]), ...code.inputs, ...code.variables.keys(), code.result]);
    const cells = [...code.cells].filter(([name]) => kept.has(name) && !isTemporary(name));
    return { ...code, instructions, cells: new Map([...cells, ...[...new Set(fresh.values())].sort().map((name) => [name, 0])]) };
  }

  // Whether two lists of instructions are equal, field by field.
  const equal = (one, other) => one.length === other.length && one.every((left, place) => {
    const right = other[place];
    return left === right || Object.keys(left).every((name) => left[name] === right[name]);
  });

  // The same program, shorter: passes in turn until nothing changes.
  function* optimise(code, bits) {
    const wanted = wantedOf(code);
    let { instructions } = code;
    for (let before = []; !equal(before, instructions);) {
      before = instructions;
      instructions = yield* settle({ ...code, instructions }, bits);
      instructions = propagate(instructions, bits, code.blocks);
      instructions = reachable(followJumps(instructions));
      instructions = yield* withoutDead(instructions, wanted);
      instructions = yield* retarget(instructions, wanted);
    }
    return yield* shareCells({ ...code, instructions });
  }

  return { optimise, atEach, interval, wrap };
})();
