"""A SUBLEQ machine with a softmax: the noise of a whole cycle, bounded layer by layer, and removed at its end.

The columns are those of :mod:`subleq_cycle`, whose cycle with a hard maximum is proved right on the way. That proof
also shows that the largest scores are 2 above all others, which bounds the weights of a softmax. If a cycle that begins
in an exact state ends in one, whatever the program, then every later cycle does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, balls, certify
from attention_theory.certificates.balls import Ball
from attention_theory.certificates.certificate import Clock, Counterexample, decided, joined, name_of
from attention_theory.looped_transformers.certified.columns import Column, apply, combine, extent
from attention_theory.looped_transformers.certified.ramps import Noise, noise_after
from attention_theory.looped_transformers.certified.subleq_cycle import GAP, Stage, ask_cycle
from attention_theory.looped_transformers.certified.words import Row
from attention_theory.looped_transformers.machine.layers import DenseHead
from attention_theory.looped_transformers.subleq.language import interpret, program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.validation import require


def certify_softmax(machine: SubleqMachine, inverse_temperature: float, hot: float = 0.5) -> Certificate:
    """Appendix G, Step 6: with a softmax at this inverse temperature the machine is exact for ever.

    Args:
        machine: any with its integers in rows for each bit and one scratchpad column.
        inverse_temperature: the paper's λ.
        hot: another, for the control, at which the machine is wrong.

    Raises:
        ParameterError: a negative inverse temperature, or a machine that :func:`ask_cycle` cannot be asked of.
    """
    require(inverse_temperature=(inverse_temperature, 0.0, None))

    def run(values: Counterexample) -> tuple[str, bool]:
        source = program([-1, 1], [(0, 1, 0)])
        state = machine.cycle(machine.load(source), float(values["inverse temperature"]))
        seen, right = machine.memory(state, source), interpret(source, machine.bits, 1).memories[0]
        words = f"after a cycle the memory is {seen.tolist()} and should be {right.tolist()}"
        return words, not torch.equal(seen, right)

    cycles = [follow(machine, same) for same in (False, True)]
    answers = [ask_softmax(machine, inverse_temperature, *cycle) for cycle in cycles]
    return certify(
        "With a softmax at this inverse temperature, in exact arithmetic, a cycle that begins in a state of ±1 bits "
        "ends in one: it removes the noise of all its look-ups and what its layers make of it, and has executed one "
        "SUBLEQ instruction. So every run is right for ever.",
        f"λ = {inverse_temperature}, {len(machine.dense)} layers, integers of {machine.bits} bits, any number of "
        f"columns up to {2**machine.address_bits}, every instruction and memory",
        answers,
        Control.of(f"inverse temperature {hot}", ask_softmax(machine, hot, *cycles[0]), run),
    )


def follow(machine: SubleqMachine, same: bool) -> tuple[Answer, list[Stage]]:
    """The cycle with a hard maximum: whether it is right, and its layers one by one."""
    followed: list[Stage] = []
    return ask_cycle(machine, same, watched=followed), followed


def ask_softmax(
    machine: SubleqMachine,
    inverse_temperature: float,
    exact: Answer,
    followed: Sequence[Stage],
    columns: int | None = None,
) -> Answer:
    """Ask whether no noise is left after a cycle, in which every step is right without it.

    Args:
        machine: as in :func:`certify_softmax`.
        inverse_temperature: the paper's λ.
        exact, followed: the cycle without noise, from :func:`follow`.
        columns: the most that a state has; a column for each address unless given.
    """
    columns = columns or 2**machine.address_bits
    if exact.outcome != "proved":
        return exact
    clock, noises = Clock(), dict[str, Noise]()
    lines = [f"the largest noise at λ = {inverse_temperature}, with {columns} columns"]
    for stage, fetched, noises in noise_by_layer(machine, followed, inverse_temperature, columns):
        lines.append(f"{stage.name}: {largest(fetched):.3g} behind the heads, {largest(noises):.3g} behind the units")
    left, seconds = largest(noises), exact.seconds + clock.seconds
    point = {"inverse temperature": inverse_temperature, "noise after a cycle, at most": left} if left else None
    engine = f"{exact.engine}, {name_of('python-flint')}"
    return Answer(joined(["\n".join(lines), exact.question]), decided(point), engine, seconds, point)


def noise_by_layer(
    machine: SubleqMachine, followed: Sequence[Stage], inverse_temperature: float, columns: int | None = None
) -> Iterator[tuple[Stage, dict[str, Noise], dict[str, Noise]]]:
    """For each layer of a cycle from an exact state the noise of all columns behind its heads and behind its units."""
    noises: dict[str, Noise] = {name: {} for name in followed[0].before}
    for stage, layer in zip(followed, machine.dense, strict=True):
        fetched = {name: dict(noise) for name, noise in noises.items()}
        for head, seen in zip(layer.heads, stage.seen, strict=True):
            look = Look(head, stage.before, noises, inverse_temperature, columns or 2**machine.address_bits)
            for name, best in seen.items():
                for row, size in look.noise_of(name, best).items():
                    fetched[name][row] = fetched[name].get(row, Fraction(0)) + size
        noises = {
            name: _rounded_up(noise_after(layer.w1, layer.b1, layer.w2, stage.attended[name], noise))
            for name, noise in fetched.items()
        }
        yield stage, fetched, noises


class Look:
    """One head on columns with noise: the noise of what it fetches.

    Args:
        head: its matrices.
        columns: without noise.
        noises: of the columns.
        inverse_temperature: λ.
        count: the most columns that the state has; these stand for all.
    """

    def __init__(
        self,
        head: DenseHead,
        columns: Mapping[str, Column],
        noises: Mapping[str, Noise],
        inverse_temperature: float,
        count: int,
    ) -> None:
        self.inverse_temperature, self.count = Fraction(inverse_temperature), count
        self.queries, self.keys, self.values = (
            {name: _Signal(apply(matrix, column), _spread(matrix, noises[name])) for name, column in columns.items()}
            for matrix in (head.query, head.key, head.value)
        )

    def noise_of(self, name: str, best: Sequence[str]) -> Noise:
        """The noise that a column fetches, which without noise has its largest scores, all equal, at ``best``.

        All other columns have scores at least :data:`GAP` less. So they have the weight ``rest`` together, at most,
        and each of the best is ``uneven`` away from its part.
        """
        query = self.queries[name]
        moved = {other: query.times(key) for other, key in self.keys.items()}
        apart = max(self._apart(query, self.keys[one], self.keys[other]) for one in best for other in best)
        gap = GAP - max(moved[other] for other in best) - max(moved.values())
        share = Fraction(1, len(best))
        rest = min(_power(-self.inverse_temperature * gap) * (self.count - len(best)) * share, Fraction(1))
        uneven = min((_power(self.inverse_temperature * apart) - 1) * share, Fraction(1))  # as all weights are
        found: Noise = {}
        for row in {row for value in self.values.values() for row in value.rows}:
            sizes = {other: value.size(row) for other, value in self.values.items()}
            found[row] = rest * max(size + off for size, off in sizes.values())
            for size, off in (sizes[other] for other in best):
                found[row] += (uneven + rest) * size + (share + uneven) * off
        return found

    @staticmethod
    def _apart(query: "_Signal", one: "_Signal", other: "_Signal") -> Fraction:
        """The most by which noise sets two equal scores of a query apart."""
        total = Fraction(0)
        for row in query.rows | one.rows | other.rows:
            between = combine([(Fraction(1), one.exact.get(row, {})), (Fraction(-1), other.exact.get(row, {}))])
            exact, off = query.size(row)
            total += _most(between) * off + (exact + off) * (one.size(row)[1] + other.size(row)[1])
        return total if one is not other else Fraction(0)


@dataclass(frozen=True)
class _Signal:
    """A matrix times a column: without noise, and the most noise, by row."""

    exact: Column
    off: Noise

    @property
    def rows(self) -> set[int]:
        return {*self.exact, *self.off}

    def size(self, row: int) -> tuple[Fraction, Fraction]:
        """The largest size of a row without noise, and the noise."""
        return _most(self.exact.get(row, {})), self.off.get(row, Fraction(0))

    def times(self, key: "_Signal") -> Fraction:
        """The most by which noise moves the score of this query and a key."""
        total = Fraction(0)
        for row in self.rows | key.rows:
            (exact, off), (other, others_off) = self.size(row), key.size(row)
            total += exact * others_off + other * off + off * others_off
        return total


def _spread(matrix: Tensor, noise: Noise) -> Noise:
    """The noise of a matrix times a column."""
    found: Noise = {}
    for into, row in matrix.nonzero().tolist():
        if row in noise:
            found[into] = found.get(into, Fraction(0)) + abs(Fraction(matrix[into, row].item())) * noise[row]
    return found


def _most(row: Row) -> Fraction:
    low, high = extent(row)
    return max(-low, high)


def _power(exponent: Fraction) -> Fraction:
    """An upper bound of ``exp`` by balls, or for exponents above 100, where no bound is of use, of ``exp(100)``."""
    return _above(balls.ball(min(max(exponent, Fraction(-1000)), Fraction(100))).exp())


def _above(ball: Ball) -> Fraction:
    """The upper end of a ball."""
    mantissa, power = ball.upper().mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(power)


def _rounded_up(noise: Noise) -> Noise:
    """The same or a little more, with few digits."""
    return {row: _above(balls.ball(size)) for row, size in noise.items()}


def largest(noises: Mapping[str, Noise]) -> float:
    """The largest noise of any row of any column."""
    return max((float(size) for noise in noises.values() for size in noise.values()), default=0.0)
