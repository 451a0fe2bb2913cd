"""One Turing machine on three transformers: linear attention, SUBLEQ and FLEQ, situation by situation (Bridge 1)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.bridges.situations import Situation, situations, working_states
from attention_theory.bridges.turing_to_fleq import fleq_bounds, fleq_of
from attention_theory.bridges.turing_to_subleq import SubleqTape, subleq_bounds, subleq_of
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.turing import Machine, pad_table, random_inputs, random_tables
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.machine.codes import address_bits
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.looped_transformers.subleq.runner import SubleqRunner
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require, require_some


@dataclass(frozen=True)
class Job:
    """A machine on a tape: its head's first cell and the steps that it is followed for."""

    machine: Machine
    tape: Int[Tensor, " cells"]
    head: int
    steps: int

    @property
    def expected(self) -> list[Situation]:
        """The situations that the plain simulator goes through."""
        return situations(self.machine, self.tape, self.head, self.steps)


def random_jobs(count: int, states: int, letters: int, steps: int, seed: Seed) -> list[Job]:
    """Random machines that never halt, each on a random tape so long that no head can leave it.

    Raises:
        ParameterError: a count below 1.
    """
    require(count=(count, 1, None), states=(states, 1, None), letters=(letters, 1, None), steps=(steps, 1, None))
    source = generator(seed)
    tables = random_tables(count, states, letters, source)
    tapes, _ = random_inputs(count, letters, 2 * steps + 1, source)
    names, signs = tuple(f"q{state}" for state in range(states)), "_" + ascii_lowercase[: letters - 1]
    return [Job(Machine(names, signs, table), tape, steps, steps) for table, tape in zip(tables, tapes, strict=True)]


@dataclass(frozen=True)
class _Way:
    """One job run by one transformer.

    Attributes:
        name: of the transformer.
        layers, heads, width: of its weights; heads as the widest layer has them.
        tokens: columns or tokens at the start.
        passes: how often the layers were applied.
        exact: how many of the situations were right, from the first on.
        situations: how many there are.
        deviation: of any number in memory from the exact one, as far as it is followed.
        seconds: of a processor, that the run took.
    """

    name: str
    layers: int
    heads: int
    width: int
    tokens: int
    passes: int
    exact: int
    situations: int
    deviation: float
    seconds: float

    @property
    def right(self) -> bool:
        """Test whether all situations were right."""
        return self.exact == self.situations


def _agreeing(found: Sequence[Situation], expected: Sequence[Situation]) -> int:
    agree = [one == other for one, other in zip(found, expected, strict=False)]
    return agree.index(False) if False in agree else len(agree)


def by_linear_attention(jobs: Sequence[Job], take_back: bool = True) -> list[_Way]:
    """One set of heads of Lemma 2.2 for all jobs; the prompt brings machine and tape.

    Args:
        jobs: machines on tapes.
        take_back: as in :class:`.compact.CompactMachine`; ``False`` for a control.
    """
    sizes = [(*job.machine.table.shape[:2], len(job.tape), job.steps) for job in jobs]
    states, letters, word, steps = (max(one) for one in zip(*sizes, strict=True))
    universal = CompactMachine(states, letters, word, steps, take_back)
    ways = []
    for job in jobs:
        expected, table = job.expected, pad_table(job.machine.table, states, letters)[None]
        prompt = universal.embed(table, job.tape[None], torch.tensor([job.head]), torch.float64)
        begun = time.process_time()
        read = list(universal.configurations(prompt, len(expected) - 1))
        seconds = time.process_time() - begun
        found = [_situation(job, one.letters[0].tolist(), one.states[0].tolist()) for one in read]
        passes = universal.tokens_until(len(expected) - 1, len(job.tape))
        sizes_of = (1, len(universal.heads), universal.width, prompt.shape[1])
        exact = _agreeing(found, expected)
        off = 0.0 if exact == len(expected) else torch.inf
        ways.append(_Way("linear attention", *sizes_of, passes, exact, len(expected), off, seconds))
    return ways


def _situation(job: Job, letters: list[int], states: list[int]) -> Situation:
    """Of a tape that has grown to the right by blanks; -1 where it is not what a tape should be."""
    cells, working = len(job.tape), set(working_states(job.machine))
    places = [place for place, state in enumerate(states) if 0 <= state < len(job.machine.states)]
    if len(places) != 1 or any(letters[cells:]):
        return Situation(-1, None, tuple(letters[:cells]))
    state = states[places[0]]
    return Situation(state, places[0] if state in working else None, tuple(letters[:cells]))


def by_subleq(jobs: Sequence[Job], bits: int = 8, inverse_temperature: float = 30.0) -> list[_Way]:
    """The SUBLEQ transformer of ten layers (Lemma 1), one set of weights for the programs of all jobs."""
    made = [subleq_of(job.machine, job.tape, job.head) for job in jobs]
    cells, instructions = (max(len(getattr(one.source, part)) for one in made) for part in ("memory", "code"))
    machine = SubleqMachine(address_bits(1 + cells + instructions), bits)
    size = summarise(machine)
    ways = []
    for job, one in zip(jobs, made, strict=True):
        expected = job.expected
        begun = time.process_time()
        runner = SubleqRunner(machine, [one.source.padded(cells, instructions)], inverse_temperature)
        _, most_a_step = subleq_bounds(len(working_states(job.machine)), len(job.machine.letters), len(job.tape))
        found, cycles = _follow(one, runner, len(expected), most_a_step * (len(expected) - 1))
        seconds = time.process_time() - begun
        columns = 1 + cells + instructions
        exact = _agreeing(found, expected)
        off = 0.0 if exact == len(expected) else torch.inf
        ways.append(
            _Way("SUBLEQ", size.layers, size.heads, size.width, columns, cycles, exact, len(expected), off, seconds)
        )
    return ways


def _follow(one: SubleqTape, runner: SubleqRunner, wanted: int, most: int) -> tuple[list[Situation], int]:
    """The first ``wanted`` situations of a program, and the cycles it took to the last of them."""
    found: list[Situation] = []
    cycles, counter, memory = 0, 0, list(one.source.memory)
    while len(found) < wanted and cycles <= most:
        if (now := one.read(counter, memory)) is not None:
            found.append(now)
        if len(found) < wanted:  # the pass that would come after the last situation is not made
            runner.cycle()
            counter, memory, cycles = int(runner.counters()[0]), runner.memories()[0].tolist(), cycles + 1
    return found, cycles


def by_fleq(jobs: Sequence[Job], inverse_temperature: float = 40.0) -> list[_Way]:
    """The FLEQ transformer (Theorem 2), one set of weights for the programs of all jobs.

    Situations are read by rounding; ``deviation`` says from how far.
    """
    made = [fleq_of(job.machine, job.tape, job.head) for job in jobs]
    cells, instructions = (max(len(getattr(one.source, part)) for one in made) for part in ("memory", "code"))
    programs = [one.source.padded(cells, instructions) for one in made]
    machine = FleqMachine(programs[0], inverse_temperature=inverse_temperature)
    size = summarise(machine.transformer)
    expected = [job.expected for job in jobs]
    ways = []
    for job, one, source, wanted in zip(jobs, made, programs, expected, strict=True):
        _, a_step = fleq_bounds(len(working_states(job.machine)), len(job.machine.letters))
        begun = time.process_time()
        run = machine.run(source, a_step * (len(wanted) - 1))
        seconds = time.process_time() - begun
        off = max((memory - memory.round()).abs().max().nan_to_num(torch.inf).item() for memory in run.memories)
        exact = _agreeing(one.situations(run)[: len(wanted)], wanted)
        at_read = [0, *(cycle for cycle, counter in enumerate(run.counters, start=1) if counter == 0)]
        cycles = at_read[min(len(wanted), len(at_read)) - 1]
        sizes_of = (size.layers, size.heads, size.width, machine.layout.columns)
        ways.append(_Way("FLEQ", *sizes_of, cycles, exact, len(wanted), off, seconds))
    return ways


#: The three, in the order of the page.
_WAYS: tuple[Callable[[Sequence[Job]], list[_Way]], ...] = (by_linear_attention, by_subleq, by_fleq)


def all_ways(jobs: Sequence[Job]) -> list[list[_Way]]:
    """Every job on every transformer: a list for each job.

    Raises:
        ParameterError: no job.
    """
    require_some(jobs=jobs)
    return [list(one) for one in zip(*(way(jobs) for way in _WAYS), strict=True)]
