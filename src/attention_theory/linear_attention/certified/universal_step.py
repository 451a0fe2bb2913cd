"""One step of the compact universal machine of Lemma 2.2, for all inputs at once.

The layer sees its prompt through sums ``Σ z zᵀ`` alone. So a step is right, and the steps after it, as long as the tape
has cells left, if the tokens that it writes are the next configuration, and leave the sums and the last token as the
prompt of the next configuration has them. The prompt itself is asked about apart: :func:`ask_prompt`. Both sides are
integer functions of one-hot choices: the letter of every cell, the cell and state of the head, and the parts of every
rule. They are computed from the heads' own matrices, and compared term by term.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify
from attention_theory.certificates.certificate import Clock, Counterexample, decided
from attention_theory.certificates.one_hot import ONE, ZERO, Number, OneHotRing, Polynomial, add, engine
from attention_theory.linear_attention.machines.block_heads import dense
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.compact_heads import RULE, WORK
from attention_theory.linear_attention.machines.turing import LEFT, MOVES, RIGHT, STAY, simulate
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.validation import require

#: A token: the polynomial of every row that is not zero.
Token = dict[int, Polynomial]

SHIFTS = {LEFT: -1, RIGHT: 1, STAY: 0}


@dataclass(frozen=True)
class _Situation:
    """The contents of a prompt, as polynomials.

    Attributes:
        letters: by cell and letter, 1 where the cell holds the letter.
        heads: by cell and state, 1 where the head is there in that state; all are 0 once the head has left the tape.
    """

    letters: list[list[Polynomial]]
    heads: list[list[Polynomial]]


class Inputs:
    """All inputs of a machine with tapes of ``cells`` cells: the choices, and the configuration that follows.

    Raises:
        ParameterError: cells below 1.
    """

    def __init__(self, machine: CompactMachine, cells: int, ring: OneHotRing) -> None:
        require(cells=(cells, 1, None))
        self.machine, self.ring, self.cells = machine, ring, cells
        self._prompts = Prompts(machine)
        letters = [self.ring.choice(f"letter {cell}", machine.letters) for cell in range(cells)]
        head = self.ring.choice("head", 1 + cells * machine.states)[1:]
        states = machine.states
        self.situation = _Situation(letters, [head[cell * states : (cell + 1) * states] for cell in range(cells)])
        sizes = (machine.states, machine.letters, len(MOVES))
        self.rules = {
            (state, letter): [
                self.ring.choice(f"rule {state} {letter} {part}", size) for part, size in zip(RULE, sizes, strict=True)
            ]
            for state in range(machine.states)
            for letter in range(machine.letters)
        }

    def following(self) -> _Situation:
        """The configuration after one step by the definition of a Turing machine, with a blank cell more."""
        letters = [[dict(letter) for letter in cell] for cell in self.situation.letters]
        letters.append([dict(ONE if letter == 0 else ZERO) for letter in range(self.machine.letters)])
        heads: list[list[Polynomial]] = [[{} for _ in range(self.machine.states)] for _ in range(self.cells + 1)]
        for cell, letter, here, (next_state, written, move) in self._active():
            add(letters[cell][letter], here, -1)
            for value, chosen in enumerate(written):
                add(letters[cell][value], self.ring.times(here, chosen))
            for number, shift in SHIFTS.items():
                place = max(cell + shift, 0) if self.machine.stays else cell + shift
                for value, chosen in enumerate(next_state if place >= 0 else []):
                    add(heads[place][value], self.ring.times(here, move[number], chosen))
        return _Situation(letters, heads)

    def _active(self) -> Iterator[tuple[int, int, Polynomial, list[list[Polynomial]]]]:
        """Cell, letter, where the head is there and reads it, and the rule that it then follows."""
        for cell, (letters, states) in enumerate(zip(self.situation.letters, self.situation.heads, strict=True)):
            for (state, letter), rule in self.rules.items():
                yield cell, letter, self.ring.times(states[state], letters[letter]), rule

    def prompt(self, situation: _Situation) -> list[Token]:
        """The tokens that ``embed`` writes, as polynomials: what each choice changes in them, times its indicator."""
        cells = len(situation.letters)
        base = self._prompts.write(cells, {})
        tokens: list[Token] = [{} for _ in base]
        _put(tokens, base, ONE)
        for cell, letters in enumerate(situation.letters):
            for letter, chosen in enumerate(letters[1:], start=1):
                _put(tokens, self._prompts.write(cells, {f"letter {cell}": letter}) - base, chosen)
        for cell, states in enumerate(situation.heads):
            for state, chosen in enumerate(states):
                head = {"head": 1 + cell * self.machine.states + state}
                _put(tokens, self._prompts.write(cells, head) - base, chosen)
        for (state, letter), rule in self.rules.items():
            for part, values in zip(RULE, rule, strict=True):
                for value, chosen in enumerate(values[1:], start=1):
                    changed = {f"rule {state} {letter} {part}": value}
                    _put(tokens, self._prompts.write(cells, changed) - base, chosen)
        return tokens


class Prompts:
    """The prompts that a machine's own ``embed`` writes, for tapes as long as a run can make them.

    ``embed`` takes words, and the last tape of a run is longer than any word. So a machine with room for such a word
    writes it; its rows are those of ``machine`` and some more, which are zero.
    """

    def __init__(self, machine: CompactMachine) -> None:
        self.machine = machine
        self._wide = CompactMachine(machine.states, machine.letters, len(machine.rows["cell"]), 1)
        blocks = machine.rows.blocks.items()
        self._rows = [row for name, block in blocks for row in self._wide.rows[name][: len(block)]]

    def write(self, cells: int, choices: Counterexample) -> Int[Tensor, "tokens width"]:
        """The prompt in which the choices have these values and all others are 0; head 0 is none on the tape."""
        table, word, place, state = concrete(self.machine, cells, choices)
        places, states = torch.tensor([place]), torch.tensor([state])
        prompt = self._wide.embed(table[None], word[None], places, torch.int64, states)[0]
        if not choices.get("head", 0):
            for name in ("state", "head"):
                self._wide.rows.view(prompt, name)[:] = 0
        return prompt[:, self._rows]


class SymbolicLayer:
    """One layer of heads (Eq. 2) on tokens of polynomials, from the matrices Q and V of the heads.

    ``memory`` holds the sums ``Σ z[value] z[key]`` that some head reads.
    """

    def __init__(self, heads: Heads, ring: OneHotRing) -> None:
        self.ring = ring
        self.memory: dict[tuple[int, int], Polynomial] = {}
        self._paths: dict[int, list[tuple[int, int, int, Number]]] = {}
        for queries, values in zip(heads.queries, heads.values, strict=True):
            for key, source in queries.nonzero().tolist():
                for destination, value in values.nonzero().tolist():
                    weight = _exact(queries[key, source]) * _exact(values[destination, value])
                    self._paths.setdefault(source, []).append((value, key, destination, weight))
                    self.memory[value, key] = {}
        self._keys: dict[int, list[int]] = {}
        for value, key in self.memory:
            self._keys.setdefault(value, []).append(key)

    @property
    def sources(self) -> list[int]:
        """The rows of the last token that some query reads."""
        return sorted(self._paths)

    def remember(self, token: Token) -> None:
        """Add ``z zᵀ`` to the memory."""
        for value, amount in token.items():
            for key in self._keys.get(value, []):
                if key in token:
                    add(self.memory[value, key], self.ring.times(amount, token[key]))

    def following(self, token: Token) -> Token:
        """``Σ_h V_h G Q_h z``."""
        result: Token = {}
        for source, entry in token.items():
            for value, key, destination, weight in self._paths.get(source, []):
                amount = self.ring.times(self.memory[value, key], entry)
                add(result.setdefault(destination, {}), amount, weight)
        return {row: entry for row, entry in result.items() if entry}


def certify_step(machine: CompactMachine) -> Certificate:
    """Lemma 2.2: every step of the compact universal machine, for all transition tables, tapes, states and heads.

    Args:
        machine: its bounds are those of the tables and tapes; its heads are what is certified.

    Returns:
        The certificate. Its control is a small machine that does not take back what it wrote.
    """
    lengths = range(1, len(machine.rows["cell"]))
    states, letters = min(machine.states, 2), min(machine.letters, 2)
    careless = CompactMachine(states, letters, 2, 2, take_back=False, stays=machine.stays)
    return certify(
        "One step of the compact universal machine is right for every transition table, tape, state and place of the "
        "head, on the tape or off, writes no entry but -1, 0 and 1, and leaves the sums and the last token as the next "
        "configuration's prompt has them. So within these bounds every run is right at every step.",
        f"{machine.states} states, {machine.letters} letters, tapes of {lengths[0]} to {lengths[-1]} cells before the "
        f"step; a head that leaves the tape {'stays' if machine.stays else 'is lost'}; d = {machine.width}, "
        f"H = {len(machine.heads)}",
        [ask_prompt(machine), *(ask_step(machine, cells) for cells in lengths)],
        Control.of(
            f"pair and departure stay in the memory (take_back=False; {states} states, {letters} letters, 2 cells)",
            ask_step(careless, 2),
            lambda choices: run_and_compare(careless, 2, choices),
        ),
    )


def ask_prompt(machine: CompactMachine) -> Answer:
    """Ask whether ``embed`` writes each choice apart from the others, as :meth:`Inputs.prompt` takes it.

    Asked for all words with all pairs of choices: a choice changes the prompt by the same entries whatever the other
    is. The changes are those of :class:`Prompts`, so that both write the same prompt.
    """
    clock, prompts = Clock(), Prompts(machine)
    compared, wrong = 0, None
    for cells in range(1, machine.word + 1):
        base = prompts.write(cells, {})
        single = _choices(machine, cells)
        change = {choice: prompts.write(cells, dict([choice])) - base for choice in single}
        heads = [choice for choice in single if choice[0] == "head"]
        rest = [choice for choice in single if choice[0] != "head"]
        cases: list[tuple[tuple[str, int], ...]] = [(head, other) for head in heads for other in rest]
        cases += [(heads[0], *pair) for pair in combinations(rest, 2) if pair[0][0] != pair[1][0]]
        written = _embed(machine, cells, [dict(case) for case in cases])
        expected = torch.stack([base + sum(change[choice] for choice in case) for case in cases])
        faults = (written != expected).flatten(1).any(dim=1).nonzero().flatten()
        compared += len(cases)
        if len(faults):
            wrong = dict(cases[int(faults[0])])
            break
    question = f"embed writes a choice apart from the others, in {compared} prompts with each pair of choices"
    return Answer(question, decided(wrong), engine(), clock.seconds, wrong)


def _choices(machine: CompactMachine, cells: int) -> list[tuple[str, int]]:
    """All choices with their values other than 0."""
    sizes = {f"letter {cell}": machine.letters for cell in range(cells)} | {"head": 1 + cells * machine.states}
    limits = dict(zip(RULE, (machine.states, machine.letters, len(MOVES)), strict=True))
    for state, letter, part in product(range(machine.states), range(machine.letters), RULE):
        sizes[f"rule {state} {letter} {part}"] = limits[part]
    return [(name, value) for name, size in sizes.items() for value in range(1, size)]


def _embed(machine: CompactMachine, cells: int, choices: list[Counterexample]) -> Int[Tensor, "cases tokens width"]:
    """The prompts of the machine's own ``embed`` for choices that have a head."""
    tables, words, places, states = zip(*(concrete(machine, cells, one) for one in choices), strict=True)
    starts = torch.tensor(states)
    return machine.embed(torch.stack(tables), torch.stack(words), torch.tensor(places), torch.int64, starts)


def ask_step(machine: CompactMachine, cells: int, heads: Heads | None = None) -> Answer:
    """Run the layer on all inputs with tapes of one length, and compare with the prompt of the next configuration.

    Args:
        machine: whose prompts are written.
        cells: of the tape before the step.
        heads: the matrices of the layer; the machine's own unless given.
    """
    heads = dense(machine.heads, machine.width) if heads is None else heads
    clock, ring = Clock(), OneHotRing()
    words = "The layer after one step of the machine (left) and the prompt of the next configuration (right):"
    answer = ring.prove_equal(_identities(heads, Inputs(machine, cells, ring)), words)
    return replace(answer, seconds=clock.seconds)


def _identities(heads: Heads, inputs: Inputs) -> Iterator[tuple[str, Polynomial, Polynomial]]:
    """The tokens that are read, the last token and the sums, each with what it must equal."""
    machine, layer, wanted = inputs.machine, *(SymbolicLayer(heads, inputs.ring) for _ in range(2))
    prompt, following = inputs.prompt(inputs.situation), inputs.prompt(inputs.following())
    for token in prompt:
        layer.remember(token)
    for token in following:
        wanted.remember(token)
    written = [prompt[-1]]
    for _ in range(len(WORK) + len(inputs.situation.letters) + 1):
        written.append(layer.following(written[-1]))
        layer.remember(written[-1])
    names = {row: f"{name} {place}" for name, block in machine.rows.blocks.items() for place, row in enumerate(block)}
    for place in range(-len(inputs.situation.letters) - 1, 0):
        rows = {*machine.rows["letter"], *machine.rows["state"], *(layer.sources if place == -1 else [])}
        for row in sorted(rows):
            name = f"{names[row]} of token {place}"
            yield name, written[place].get(row, ZERO), following[place].get(row, ZERO)
    for (value, key), entry in layer.memory.items():
        yield f"sum of {names[value]} times {names[key]}", entry, wanted.memory[value, key]
    for number, token in enumerate(written[1:]):
        for row, entry in token.items():
            cube = inputs.ring.times(entry, entry, entry)
            yield f"{names[row]} of new token {number} is its own cube: -1, 0 or 1", cube, entry


def run_and_compare(machine: CompactMachine, cells: int, choices: Counterexample, steps: int = 2) -> tuple[str, bool]:
    """Run the machine's own layer from these choices for some steps; returns what it wrote, and whether it is wrong."""
    prompt = Prompts(machine).write(cells, choices)
    table, word, place, start = concrete(machine, cells, choices)
    steps = min(steps, len(machine.rows["cell"]) - cells)
    right = simulate(table, torch.nn.functional.pad(word, (0, steps)), place, steps, machine.stays, start)
    if not choices.get("head", 0):  # no head: the tape stays as it is
        right.states.fill_(machine.states)
        right.letters[:] = right.letters[0].clone()
    tokens = machine.layer.tokens(prompt[None])
    for step in range(1, steps + 1):
        for _ in WORK:
            next(tokens)
        seen = machine.read(torch.stack([next(tokens) for _ in range(cells + step)], dim=1))
        size = cells + step
        letters, states = right.letters[step, :size], right.states[step, :size]
        if not (torch.equal(seen.letters[0], letters) and torch.equal(seen.states[0], states)):
            words = f"letters {seen.letters[0].tolist()}, states {seen.states[0].tolist()} after step {step}"
            return f"{words}; right are {letters.tolist()}, {states.tolist()}", True
    return f"the right configurations of {steps} steps", False


def _exact(weight: Tensor) -> Number:
    """A weight as a whole number, or else as the fraction that it is."""
    number = weight.item()
    return int(number) if number == int(number) else Fraction(number)


def concrete(machine: CompactMachine, cells: int, choices: Counterexample) -> tuple[Tensor, Tensor, int, int]:
    """Table, word, place of the head and state."""
    table = torch.tensor(
        [
            [[choices.get(f"rule {state} {letter} {part}", 0) for part in RULE] for letter in range(machine.letters)]
            for state in range(machine.states)
        ]
    )
    word = torch.tensor([choices.get(f"letter {cell}", 0) for cell in range(cells)])
    place, state = divmod(max(choices.get("head", 0) - 1, 0), machine.states)
    return table, word, place, state


def _put(tokens: list[Token], change: Int[Tensor, "tokens width"], chosen: Polynomial) -> None:
    """Add a change of the prompt, times an indicator."""
    for place, row in change.nonzero().tolist():
        add(tokens[place].setdefault(row, {}), chosen, int(change[place, row]))
