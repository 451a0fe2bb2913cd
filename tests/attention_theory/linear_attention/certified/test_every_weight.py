"""Every entry of Q and V of the compact machine, one after another, is off by 1, the smallest step of whole numbers.

Of 134,560 entries 110,084 are silent in a step: what they add to a token is 0 for all inputs, or lies where nothing
reads it. Of these 93,744 are harmless for ever, and the others would read a sum that is not kept from step to step,
which the certificate asks. Of the rest, with both signs, an identity of the certificate fails on one of a few inputs,
or when it is asked; or it proves that the machine is right all the same, as it does of some hundred.
"""

import random
from collections import defaultdict
from itertools import product

import pytest
import torch
from torch import Tensor

from attention_theory.certificates.one_hot import ZERO, OneHotRing, Polynomial, add
from attention_theory.linear_attention.certified.universal_step import Inputs, Prompts, SymbolicLayer, Token, ask_step
from attention_theory.linear_attention.machines.block_heads import dense
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.compact_heads import RULE, WORK

MACHINE = CompactMachine(2, 2, word=1, steps=2)
LENGTHS = (1, 2)
LAYER = dense(MACHINE.heads, MACHINE.width)
MATRICES = [LAYER.queries.float(), LAYER.values.float()]
(Q, V), SHAPE = (matrix.nonzero().tolist() for matrix in MATRICES), MATRICES[0].shape
READ = [*MACHINE.rows["letter"], *MACHINE.rows["state"]]
PAIRS = {(value, key) for h, _, value in V for head, key, _ in Q if head == h}
SOURCES = {source for _, _, source in Q}

#: 0 for Q and 1 for V, then head, row and column.
Entry = tuple[int, int, int, int]
#: By head and row: the rows of a token that change, and by how much.
Changes = dict[tuple[int, int], dict[int, Polynomial]]


def new_pairs(entry: Entry) -> set[tuple[int, int]]:
    """The sums that an entry makes a head read."""
    part, h, row, column = entry
    if part:
        return {(column, key) for head, key, _ in Q if head == h}
    return {(value, row) for head, _, value in V if head == h}


def run(prompt: Tensor, entries: Tensor, steps: int) -> Tensor:
    """The tokens of machines in which an entry is off by 1, by Eq. 2; an entry of -1 is none."""
    tokens, number = prompt.expand(len(entries), -1, -1), torch.arange(len(entries))
    part, h, row, column, off = entries.mT
    (qh, key, source), (vh, to, value) = (torch.tensor(one).mT for one in (Q, V))
    for _ in range(steps):
        last, asked = tokens[:, -1], torch.zeros(len(entries), *SHAPE[:2])
        weights = [matrix[tuple(matrix.nonzero().mT)] for matrix in MATRICES]
        asked.flatten(1).index_add_(1, qh * SHAPE[1] + key, last[:, source] * weights[0])
        asked[number, h, row] += off * (part == 0) * last[number, column]
        found = (tokens @ asked.mT).mT @ tokens
        new = torch.zeros_like(last).index_add_(1, to, found[:, vh, value] * weights[1])
        new[number, row] += off * (part == 1) * found[number, h, column]
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    return tokens


def unnoticed(choices: dict[str, int], entries: Tensor, cells: int) -> Tensor:
    """Entries with which no identity of the certificate fails for this input."""
    prompt = Prompts(MACHINE).write(cells, choices).float()
    exact = run(prompt, torch.zeros(1, 5, dtype=torch.int64), len(WORK) + cells + 1)
    seen = MACHINE.read(exact[:, -cells - 1 :])
    place, state = seen.states[0].min(dim=0).indices, seen.states[0].min()
    after = {f"letter {cell}": int(letter) for cell, letter in enumerate(seen.letters[0])}
    after["head"] = int(1 + place * MACHINE.states + state) if state < MACHINE.states else 0
    following = Prompts(MACHINE).write(cells + 1, choices | after).float()
    kept = []
    for some in entries.split(4000):
        tokens = run(prompt, some, len(WORK) + cells + 1)
        wrong = (tokens**3 != tokens).flatten(1).any(dim=1)
        wrong |= (tokens[:, -cells - 1 :, READ] != following[-cells - 1 :, READ]).flatten(1).any(dim=1)
        pairs = [sorted(PAIRS | new_pairs(entry[:4])) for entry in some.tolist()]
        most = max(map(len, pairs))
        values, keys = torch.tensor([(one * most)[:most] for one in pairs]).unbind(dim=2)
        ours, due = (
            (
                t.gather(2, values[:, None].expand(-1, t.shape[1], -1))
                * t.gather(2, keys[:, None].expand(-1, t.shape[1], -1))
            ).sum(1)
            for t in (tokens, following.expand(len(some), -1, -1))
        )
        wrong |= (ours != due).any(dim=1)
        sources = torch.zeros(len(some), SHAPE[1], dtype=torch.bool)
        sources[:, sorted(SOURCES)] = True
        sources[torch.arange(len(some)), some[:, 3]] |= some[:, 0] == 0
        wrong |= (sources & (tokens[:, -1] != following[-1])).any(dim=1)
        kept.append(some[~wrong])
    return torch.cat(kept)


class Step:
    """A step of the exact machine as polynomials: what an entry that is 1 more would add to its tokens, and where."""

    def __init__(self, cells: int) -> None:
        self.ring = OneHotRing()
        inputs, layer = Inputs(MACHINE, cells, self.ring), SymbolicLayer(LAYER, self.ring)
        self.tokens = inputs.prompt(inputs.situation)
        for token in self.tokens:
            layer.remember(token)
        self.added: list[tuple[Changes, Changes]] = []  # for each new token: by head and key row, and value row
        for _ in range(len(WORK) + cells + 1):
            self.added.append(self._changes())
            self.tokens.append(layer.following(self.tokens[-1]))
            layer.remember(self.tokens[-1])
        self.cells, now, then = cells, sums(self.tokens, self.ring), sums(inputs.prompt(inputs.following()), self.ring)
        rows = range(SHAPE[1])
        self.kept = {pair for pair in product(rows, rows) if now.get(pair, ZERO) == then.get(pair, ZERO)}

    def _changes(self) -> tuple[Changes, Changes]:
        """Of an entry of Q, times the last token's row; and of one of V."""
        of_q: Changes = defaultdict(dict)
        of_v: Changes = defaultdict(dict)
        now = sums(self.tokens, self.ring)
        for (value, key), total in now.items():
            for h, to, _ in (weight for weight in V if weight[2] == value):
                add(of_q[h, key].setdefault(to, {}), total, int(LAYER.values[h, to, value]))
            for h, _, source in (weight for weight in Q if weight[1] == key):
                amount = self.ring.times(total, self.tokens[-1].get(source, ZERO))
                add(of_v[h, value].setdefault(0, {}), amount, int(LAYER.queries[h, key, source]))
        return of_q, of_v

    def is_silent(self, entry: Entry) -> bool:
        """Whether what an entry adds is 0 for all inputs, or lies where nothing reads it: nothing else changes then."""
        part, h, row, column = entry
        pairs, sources = PAIRS | new_pairs(entry), SOURCES if part else SOURCES | {column}
        for place, changes in enumerate(self.added, start=len(self.tokens) - len(self.added)):
            before, token = self.tokens[place - 1], self.tokens[place]
            if part:
                added = {row: changes[1].get((h, column), {}).get(0, ZERO)}
            else:
                by_row = changes[0].get((h, row), {}) if column in before else {}
                added = {to: self.ring.times(total, before[column]) for to, total in by_row.items()}
            for to, change in added.items():
                seen = to in sources or (to in READ and place >= len(self.tokens) - self.cells - 1)
                partners = {key for value, key in pairs if value == to} | {value for value, key in pairs if key == to}
                others = (added.get(one) or token.get(one, ZERO) for one in partners)
                if change and (seen or any(self.ring.times(change, other) for other in others)):
                    return False
        return True


def sums(tokens: list[Token], ring: OneHotRing) -> dict[tuple[int, int], Polynomial]:
    """``Σ z zᵀ``, all of it."""
    total: dict[tuple[int, int], Polynomial] = {}
    for token in tokens:
        for (value, amount), (key, other) in product(token.items(), repeat=2):
            add(total.setdefault((value, key), {}), ring.times(amount, other))
    return total


def drawn(cells: int, draws: random.Random) -> dict[str, int]:
    """Values for all choices."""
    sizes = {f"letter {cell}": MACHINE.letters for cell in range(cells)} | {"head": 1 + cells * MACHINE.states}
    limits = zip(RULE, (MACHINE.states, MACHINE.letters, 3), strict=True)
    for (name, size), state, letter in product(limits, range(MACHINE.states), range(MACHINE.letters)):
        sizes[f"rule {state} {letter} {name}"] = size
    return {name: draws.randrange(size) for name, size in sizes.items()}


def is_right(entries: Tensor, draws: random.Random) -> bool:
    """Whether machines in which an entry is off write what the exact machine writes, for two steps of some inputs."""
    none, right = torch.zeros(1, 5, dtype=torch.int64), True
    for _ in range(10):
        prompt = Prompts(MACHINE).write(1, drawn(1, draws)).float()
        for steps, cells in ((len(WORK) + 2, 2), (2 * len(WORK) + 5, 3)):
            seen, due = (run(prompt, some, steps)[:, -cells:, READ] for some in (entries, none))
            right &= torch.equal(seen, due.expand(len(seen), -1, -1))
    return right


@pytest.mark.exhaustive
def test_an_entry_that_is_off_by_1_is_noticed_or_harmless() -> None:
    steps, draws = [Step(cells) for cells in LENGTHS], random.Random(0)
    entries = list(product(range(2), range(SHAPE[0]), range(SHAPE[1]), range(SHAPE[2])))
    silent = [all(step.is_silent(entry) for step in steps) for entry in entries]
    both = torch.tensor(entries).repeat_interleave(2, 0)
    both = torch.cat([both, torch.tensor([[1], [-1]]).repeat(len(entries), 1)], dim=1)
    left = both[~torch.tensor(silent).repeat_interleave(2)]
    for trial in range(80):
        left = unnoticed(drawn(LENGTHS[trial % 2], draws), left, LENGTHS[trial % 2])
    proved = [place for place, entry in enumerate(left.tolist()) if is_proved(entry)]
    assert len(proved) < 1000
    assert is_right(left[proved], draws)
    harmless = [
        all(quiet and new_pairs(entry) <= step.kept for step in steps)
        for entry, quiet in zip(entries, silent, strict=True)
    ]
    chosen = torch.tensor(harmless).repeat_interleave(2).nonzero().flatten().tolist()
    assert is_right(both[draws.sample(chosen, 5000)], draws)


def is_proved(entry: list[int]) -> bool:
    """Whether the certificate of the machine with this entry off by 1 goes through."""
    heads = dense(MACHINE.heads, MACHINE.width)
    (heads.values if entry[0] else heads.queries)[tuple(entry[1:4])] += entry[4]
    return all(ask_step(MACHINE, cells, heads).outcome == "proved" for cells in LENGTHS)


def test_no_weight_that_is_there_is_silent_but_those_of_the_last_cell() -> None:
    steps, last = [Step(cells) for cells in LENGTHS], {MACHINE.rows[name][-1] for name in ("cell", "at", "next")}
    for part, weights in enumerate((Q, V)):
        for entry in weights:
            assert last & {*entry[1:]} or not all(step.is_silent((part, *entry)) for step in steps), entry
