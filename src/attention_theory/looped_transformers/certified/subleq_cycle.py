"""One cycle of a SUBLEQ machine with a hard maximum, for every instruction and every memory.

A cycle is followed on the columns that it can touch: the scratchpad, the instruction, the two operands, and one more
memory cell and one more instruction, which stand for all others. Their addresses, their integers and the jump are
words of bits that may have any value. So the number of columns is not fixed.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify
from attention_theory.certificates.certificate import Clock, Counterexample, joined, name_of
from attention_theory.certificates.smt import Term, prove, z3
from attention_theory.looped_transformers.certified.columns import (
    Column,
    Network,
    apply,
    combine,
    feed_forward,
    suggestions,
)
from attention_theory.looped_transformers.certified.words import ONE, AtMostZero, Atom, Choice, Linear, Row, Words
from attention_theory.looped_transformers.machine.codes import from_bits
from attention_theory.looped_transformers.machine.layers import DenseLayer
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.validation import refuse_unless

#: The columns that stand for all other memory cells and instructions, and a second one of each, which is only read.
OTHERS = {"cell": "another cell", "instruction": "another instruction"}
SCRATCH = "scratchpad"


@dataclass(frozen=True)
class Stage:
    """One layer on all columns: what enters it, what its heads see, and what leaves attention and the layer."""

    name: str
    before: dict[str, Column]
    seen: list[dict[str, list[str]]]  # by head and column: those with the largest score
    attended: dict[str, Column]
    after: dict[str, Column]


class Undecided(Exception):
    """The proof does not go through at some row or score; its answer says where."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.question)
        self.answer = answer


@dataclass(frozen=True)
class Scene:
    """The columns that a cycle can touch, before it and after it, and the words that they are made of.

    Attributes:
        words: of bits.
        before: the columns.
        after: as the cycle should leave them.
        others: for columns that stand for all others like them, the name of a second one, in which the words of
            :data:`OTHERS` are other ones.
        loose: the rows of the scratchpad that need be signs only after the cycle.
    """

    words: Words
    before: dict[str, Column]
    after: dict[str, Column]
    others: Mapping[str, str] = field(default_factory=lambda: OTHERS)
    loose: Sequence[int] = ()


def scene(machine: SubleqMachine, same: bool, distinct: bool = True, samples: int = 64) -> Scene:
    """The columns as :meth:`SubleqMachine.load` makes them, and as Algorithm 1 leaves them after an instruction.

    Args:
        machine: with its integers in rows for each bit.
        same: whether both operands are one cell.
        distinct: whether all columns are assumed to have different addresses; without it, for a control, another cell
            has that of the second operand.
        samples: the number of values by which bits are recognised.
    """
    words, draws, b = Words(), random.Random(0), "a" if same else "b"
    size, addresses = machine.address_bits, range(2**machine.address_bits)
    codes = list(dict.fromkeys(["pc", "a", b, *OTHERS, *OTHERS.values()]))
    drawn = [draws.sample(addresses, len(codes)) for _ in range(samples)]
    for place, name in enumerate(codes):
        words.add(name, size, [sample[place] for sample in drawn])
    words.given.append(z3.Distinct([words.term(name) for name in codes if distinct or name != "cell"]))
    if not distinct:
        words.given.append(words.term("cell") == words.term(b))
    for name in ("c", "x", "y", "z"):  # the jump, and the operands and the jump of another instruction
        words.add(name, size, draws.choices(addresses, k=samples))
    integers = {name: _integers(machine.bits, samples, draws) for name in ("mem[a]", f"mem[{b}]", "mem[cell]")}
    if not same:  # a result of 0 is a case that must be seen
        integers["mem[b]"][1::4] = integers["mem[a]"][1::4]
    for name, values in integers.items():
        words.add(name, machine.bits, values)
    for name in ("left", "over"):  # from an earlier instruction
        words.add(name, machine.rows.size, [0] * samples)
    words.define("-mem[a]", machine.bits, Linear({"mem[a]": -1}))
    words.define("result", machine.bits, Linear({f"mem[{b}]": 1, "-mem[a]": 1}))
    words.define("flag", 1, AtMostZero("result"))
    words.define("pc + 1", size, Linear({"pc": 1}, 1))
    words.define("next", size, Choice("flag", "c", "pc + 1"))
    before = _columns(machine, words, same, "pc", None)
    return Scene(words, before, _columns(machine, words, same, "next", "result"), loose=leftovers(machine))


def _integers(bits: int, count: int, draws: random.Random) -> list[int]:
    extremes = [0, 1, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1]
    return [draws.choice(extremes) if draws.random() < 0.3 else draws.randrange(2**bits) for _ in range(count)]


def _columns(machine: SubleqMachine, words: Words, same: bool, counter: str, result: str | None) -> dict[str, Column]:
    """Column by column, block by block of rows: the words in it."""
    b = "a" if same else "b"
    contents: dict[str, dict[str, list[str]]] = {
        SCRATCH: {"counter": [counter]},
        "pc": {"encoding": ["pc"], "command": ["a", b, "c"]},
        "a": {"encoding": ["a"], "memory": ["mem[a]"]},
        "b": {"encoding": [b], "memory": [result or f"mem[{b}]"]},
        "cell": {"encoding": ["cell"], "memory": ["mem[cell]"]},
        "instruction": {"encoding": ["instruction"], "command": ["x", "y", "z"]},
    }
    if same:
        contents["a"] = contents.pop("b")
    columns: dict[str, Column] = {}
    for name, blocks in contents.items():
        mark = "indicator" if name == SCRATCH else "idle"
        column: Column = {row: {ONE: Fraction(1)} for row in machine.rows.blocks.get(mark, ())}
        for block, listed in blocks.items():
            bits = [bit for word in listed for bit in words.bits(word)]
            column |= dict(zip(machine.rows[block], bits, strict=True))
        columns[name] = column
    for row in leftovers(machine):  # half the sum of two signs is -1, 0 or 1, and may be each
        columns[SCRATCH][row] = {("left", row): Fraction(1, 2), ("over", row): Fraction(1, 2)}
    return columns


def certify_cycle(machine: SubleqMachine) -> Certificate:
    """Lemma 1: a cycle executes an instruction, for all instructions, memories and numbers of columns.

    Args:
        machine: any with its integers in rows for each bit and one scratchpad column.

    Returns:
        The certificate. Its control gives another memory cell the address of the second operand.

    Raises:
        ParameterError: another machine.
    """
    refuse_unless(
        not machine.real and machine.scratch == 1 and machine.address_bits >= 3,
        "machine must keep bits in rows, have one scratchpad column and at least 3 address bits, "
        f"got real={machine.real}, scratch={machine.scratch}, address_bits={machine.address_bits}",
    )
    return certify(
        "One cycle with a hard maximum executes one SUBLEQ instruction, whatever the program, its memory and the "
        "earlier contents of the scratchpad, and leaves a state of the same form. So every run from such a state is "
        "right; that loading a program writes such a state is tested, and not part of this certificate.",
        f"integers of {machine.bits} bits; any number of columns up to {2**machine.address_bits}; "
        f"{len(machine.dense)} layers; the operands in two cells or in the same cell",
        [ask_cycle(machine, same) for same in (False, True)],
        Control.of(
            "another memory cell is given the address of the second operand",
            ask_cycle(machine, same=False, distinct=False),
            lambda values: run_cycle(machine, values),
        ),
    )


def run_cycle(machine: SubleqMachine, values: Counterexample) -> tuple[str, bool]:
    """Run a cycle of the machine's own layers on the columns of a scene: the memory, and whether it is wrong."""
    now = scene(machine, same=False)
    words = now.words.at({name: int(value) for name, value in values.items() if name in now.words.sizes})
    before, after = (state_of(machine, columns, words) for columns in (now.before, now.after))
    left = machine.cycle(before, 1.0, "hardmax")
    memories = [from_bits(machine.rows.view(state, "memory"), signed=True).tolist() for state in (left, after)]
    wrong = [
        f"{name} = {seen} instead of {wanted}"
        for name, seen, wanted in zip(now.before, *memories, strict=True)
        if seen != wanted
    ]
    exact = torch.equal(machine.rows.view(left, "memory"), machine.rows.view(after, "memory"))
    a, b, cell = (int(words.samples[name][0]) for name in ("mem[a]", "mem[b]", "mem[cell]"))
    return f"{', '.join(wrong) or 'all right'}, from mem[a] = {a}, mem[b] = {b}, mem[cell] = {cell}", not exact


def state_of(machine: SubleqMachine, columns: dict[str, Column], words: Words) -> Tensor:
    """The columns as a state of the machine, at the first sample."""
    state = torch.zeros(len(columns), machine.rows.size, dtype=machine.dtype)
    for place, column in enumerate(columns.values()):
        for row, value in column.items():
            state[place, row] = words.at_samples(value)[0]
    return state


def leftovers(machine: SubleqMachine) -> list[int]:
    """The rows of the scratchpad that a cycle need not clear, since its reads put something else in their place."""
    blocks = () if machine.writing_layer == 2 else ("first", "second", "instruction")
    return [row for block in blocks for row in machine.rows[block]]


def ask_cycle(machine: SubleqMachine, same: bool, distinct: bool = True, watched: list[Stage] | None = None) -> Answer:
    """:func:`ask_scene` of the columns that :func:`scene` has for these arguments."""
    return ask_scene(machine, scene(machine, same, distinct), watched)


def ask_scene(machine: SubleqMachine, now: Scene, watched: list[Stage] | None = None) -> Answer:
    """Ask whether one cycle makes of the columns before an instruction those after it.

    Args:
        machine: whose cycle it is.
        now: the columns.
        watched: takes up the layers as they are followed.
    """
    clock, columns, answers = Clock(), now.before, list[Answer]()
    try:
        for stage in stages(machine, now, answers):
            columns = stage.after
            if watched is not None:
                watched.append(stage)
        for name, column in now.after.items():
            left = now.loose if name == SCRATCH else ()
            for row in sorted({*column, *columns[name]}):
                end, wanted, title = (
                    columns[name].get(row, {}),
                    column.get(row, {}),
                    f"after the cycle, {name}, row {row}",
                )
                answers += _is_sign(end, title) if row in left else _compare(end, wanted, now.words, title)
    except Undecided as fault:
        return replace(fault.answer, seconds=clock.seconds)
    return replace(together(answers), engine=name_of("z3-solver"), seconds=clock.seconds)


def together(answers: Sequence[Answer]) -> Answer:
    """Many proved answers as one, with all their questions."""
    engines = ", ".join(dict.fromkeys(answer.engine for answer in answers))
    question = joined([answer.question for answer in answers])
    return Answer(question, "proved", engines, sum(answer.seconds for answer in answers))


def stages(machine: SubleqMachine, now: Scene, answers: list[Answer]) -> Iterator[Stage]:
    """A cycle layer by layer, with a hard maximum; what is proved on the way is added to the answers.

    Raises:
        Undecided: a row or a score for which the proof does not go through.
    """
    columns = now.before
    for layer, built in zip(machine.dense, machine.layers, strict=True):
        stage = stage_of(layer, built.name, columns, now.words, answers, now.others)
        yield stage
        columns = stage.after


def stage_of(
    layer: DenseLayer,
    name: str,
    columns: dict[str, Column],
    words: Words,
    answers: list[Answer],
    others: Mapping[str, str] = OTHERS,
) -> Stage:
    """One layer on these columns; what is proved on the way is added to the answers.

    Raises:
        Undecided: a row or a score for which the proof does not go through.
    """
    attended, seen = attend(layer, name, columns, words, answers, others)
    after = {column: _fold(layer, f"{name}, {column}", rows, words, answers) for column, rows in attended.items()}
    return Stage(name, columns, seen, attended, after)


def attend(
    layer: DenseLayer,
    name: str,
    columns: dict[str, Column],
    words: Words,
    answers: list[Answer],
    others: Mapping[str, str] = OTHERS,
) -> tuple[dict[str, Column], list[dict[str, list[str]]]]:
    """Eq. (1a) with a hard maximum: the mean over the columns that are proved to have the largest score; and these."""
    result = {name: dict(column) for name, column in columns.items()}
    seen: list[dict[str, list[str]]] = []
    for number, head in enumerate(layer.heads):
        seen.append({})
        queries = {column: apply(head.query, rows) for column, rows in columns.items()}
        keys = {column: apply(head.key, rows) for column, rows in columns.items()}
        values = {column: apply(head.value, rows) for column, rows in columns.items()}
        for kind, other in others.items():  # a column like any other, at another address
            keys[other] = {row: _renamed(entry) for row, entry in keys[kind].items()}
        asked = list[tuple[Column, list[str]]]()
        for column, query in queries.items():
            title = f"{name}, head {number + 1}, {column}"
            best = next((seen for before, seen in asked if before == query), None)  # columns may ask for the same
            best = best or _best(query, keys, words, title, answers, {*others.values()})
            asked.append((query, best))
            seen[number][column] = best
            for other in best:
                for row, entry in values[other].items():
                    before = result[column].get(row, {})
                    result[column][row] = combine([(Fraction(1), before), (Fraction(1, len(best)), entry)])
    return result, seen


def _renamed(row: Row) -> Row:
    return {(OTHERS.get(name, name), bit): weight for (name, bit), weight in row.items()}


#: The least distance between the largest score and the others, which a softmax needs.
GAP = 2


def _best(
    query: Column, keys: dict[str, Column], words: Words, title: str, answers: list[Answer], others: set[str]
) -> list[str]:
    """The columns with the largest score, proved to be so for all words."""
    sampled = {
        name: sum(
            (words.at_samples(query[row]) * words.at_samples(key[row]) for row in query if row in key), _zeros(words)
        )
        for name, key in keys.items()
    }
    stacked = torch.stack(list(sampled.values()))
    largest = (stacked == stacked.amax(dim=0)).all(dim=1)
    best = [name for name, is_best in zip(sampled, largest.tolist(), strict=True) if is_best]
    if not best or {*best} & others:
        raise Undecided(Answer(f"{title}: no column has the largest score at all samples", "unknown", "samples", 0.0))
    scores = {name: _score(query, key) for name, key in keys.items()}
    claims = []
    for name, score in scores.items():
        difference = _difference(scores[best[0]], score)
        claim = _integer(difference, words)
        claims.append(claim == 0 if name in best else claim >= _scale(difference) * GAP)
    answers.append(_decided(prove(words.given, z3.And(claims), f"{title}: the largest scores are at {best}")))
    return best


def _zeros(words: Words) -> Tensor:
    return words.at_samples({})


#: A score: weight by pair of atoms.
Score = dict[tuple[Atom, Atom], Fraction]


def _score(query: Column, key: Column) -> Score:
    score: Score = {}
    for row in query.keys() & key.keys():
        for atom, weight in query[row].items():
            for other, factor in key[row].items():
                pair = (min(atom, other), max(atom, other)) if atom != other else (ONE, ONE)  # a sign squared is 1
                score[pair] = score.get(pair, Fraction(0)) + weight * factor
    return score


def _difference(left: Score, right: Score) -> Score:
    pairs = left.keys() | right.keys()
    return {pair: left.get(pair, Fraction(0)) - right.get(pair, Fraction(0)) for pair in pairs}


def _scale(score: Score) -> int:
    return math.lcm(1, *(weight.denominator for weight in score.values()))


def _integer(score: Score, words: Words) -> Term:
    """A score times its scale, as an integer of z3."""
    scale = _scale(score)

    parts = [
        z3.If(words.agree(one, other), int(scale * weight), -int(scale * weight))
        for (one, other), weight in score.items()
        if weight and (one, other) != (ONE, ONE)
    ]
    return z3.Sum([z3.IntVal(int(scale * score.get((ONE, ONE), 0))), *parts])


def _decided(answer: Answer) -> Answer:
    if answer.outcome != "proved":
        raise Undecided(answer)
    return answer


def _fold(layer: DenseLayer, title: str, column: Column, words: Words, answers: list[Answer]) -> Column:
    """Eq. (1b): each row that is not already linear in the atoms is proved to be one that the samples suggest."""
    outputs = feed_forward(layer.w1, layer.b1, layer.w2, layer.b2, column)
    sampled = {row: network.at_samples(words) for row, network in outputs.items()}
    suggested = suggestions(sampled, words)
    result: Column = {}
    for row, network in outputs.items():
        wanted = suggested.get(row, network.linear)
        if network.units and row not in suggested:
            raise Undecided(Answer(f"{title}, row {row}: not a bit of any word", "unknown", "samples", 0.0))
        if network.units or (len(network.linear) == 1 and wanted != network.linear):
            answers.append(_decided(network.equals(wanted, words, f"{title}, row {row}: {_text(wanted)}")))
            result[row] = wanted
        else:
            result[row] = network.linear
    return {row: value for row, value in result.items() if value}


def _is_sign(row: Row, title: str) -> list[Answer]:
    """A row is -1, 0 or 1, whatever the words are: a constant, a bit, or 0 and a bit."""
    middle, weights = row.get(ONE, Fraction(0)), [abs(weight) for atom, weight in row.items() if atom != ONE]
    if (
        (middle in (-1, 0, 1) and not weights)
        or (middle == 0 and weights == [1])
        or (weights == [abs(middle)] == [0.5])
    ):
        return []
    raise Undecided(Answer(f"{title}: {_text(row)} may be other than -1, 0 and 1", "unknown", "extents", 0.0))


def _compare(row: Row, wanted: Row, words: Words, title: str) -> list[Answer]:
    """Equal as combinations of atoms, or else for all words."""
    if row == wanted:
        return []
    return [_decided(Network(row, []).equals(wanted, words, title))]


def _text(row: Row) -> str:
    return " + ".join(f"{weight} {name}[{bit}]" if name else f"{weight}" for (name, bit), weight in row.items()) or "0"
