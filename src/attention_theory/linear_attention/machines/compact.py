"""The universal Turing machine of Lemma 2.2 within the sizes of the lemma: run it, write prompts, read tapes.

:mod:`.compact_heads` explains the heads; the paper's own construction, repaired, is in :mod:`.universal`.
"""

from collections.abc import Iterator
from functools import cached_property

import torch
from jaxtyping import Int, Num
from torch import Tensor

from attention_theory.linear_attention.machines.compact_heads import WORK, CompactHeads
from attention_theory.linear_attention.machines.recurrent_layer import RecurrentLayer
from attention_theory.linear_attention.machines.turing import (
    MOVES,
    RULE,
    Comparison,
    Configurations,
    compare_with_simulator,
)
from attention_theory.linear_attention.model.rounding import read_letter
from attention_theory.validation import Each, refuse_unless, require, require_shape

#: Machines that run side by side in a comparison.
_AT_ONCE = 250


class CompactMachine(CompactHeads):
    """One set of heads that runs every machine and word within its bounds (Lemma 2.2), a cell more each step.

    Weights lie in {-1, 0, 1}, and so do all entries of all tokens. The tape is bounded on the left: a head that leaves
    it there is lost or stays, as in :func:`.turing.simulate`; to the right it grows as fast as a head can walk.

    Args:
        states: most states of a machine, at least 1.
        letters: size of the alphabet, at least 1; letter 0 is the blank.
        word: most letters of a word, at least 1. The empty word is written as one blank.
        steps: most steps of a machine, at least 1.
        take_back: ``False`` leaves pair and departure in the memory, which shows that they must be taken back.
        stays: whether a head in the first cell that moves left stays there, by one more entry of one V.

    Raises:
        ParameterError: a bound below 1.
    """

    @property
    def width(self) -> int:
        """d, the width of a token."""
        return self.rows.size

    @cached_property
    def layer(self) -> RecurrentLayer:
        return RecurrentLayer(self.heads, self.width)

    def embed(
        self,
        tables: Int[Tensor, "machines states letters 3"],
        words: Int[Tensor, "machines cells"],
        places: Int[Tensor, " machines"],
        dtype: torch.dtype = torch.int8,
        starts: Int[Tensor, " machines"] | None = None,
    ) -> Num[Tensor, "machines tokens width"]:
        """Machines and words as prompts (Eqs. 59-61): the table's columns, ``#``, then the cells of the word.

        Every machine starts with its head at the cell ``places``, in state 0 unless ``starts`` names another. The cell
        with the head holds its state twice (rows ``state`` and ``head``), and the last cell starts the run (``go``).

        Raises:
            ParameterError: machines or words that do not fit this universal machine, a head off the word, or a start
                state that it does not have.
        """
        machines, cells = words.shape
        device = tables.device
        starts = torch.zeros_like(places) if starts is None else starts
        _check(self, tables, words, places, starts)
        prompt = torch.zeros(machines, self.states + 1 + cells, self.width, dtype=dtype, device=device)
        state, machine = (torch.arange(count, device=device) for count in (self.states, machines))
        prompt[:, state, self.rows.indices("table of", device)] = 1
        for letter in range(self.letters):
            self.rows.view(prompt, f"table {letter}")[:, state] = 1
            for number, part in enumerate(RULE):
                rows = self.rows.indices(f"table {letter} {part}", device)
                prompt[machine[:, None], state, rows[tables[:, :, letter, number]]] = 1
        self.rows.view(prompt, "#")[:, self.states] = 1
        tape = prompt[:, self.states + 1 :]
        cell = torch.arange(cells, device=device)
        tape[:, cell, self.rows.indices("cell", device)[:cells]] = 1
        tape[machine[:, None], cell, self.rows.indices("letter", device)[words]] = 1
        for name in ("state", "head"):
            self.rows.view(tape, name)[machine, places, starts] = 1
        self.rows.view(tape, "go")[:, -1] = 1
        return prompt

    def tokens_until(self, step: int, cells: int) -> int:
        """c(t): the tokens after the prompt until the configuration x^t of a word of ``cells`` letters is written.

        Raises:
            ParameterError: a step or a word out of bounds.
        """
        require(step=(step, 0, self.steps), cells=(cells, 1, self.word))
        return step * (len(WORK) + cells) + step * (step + 1) // 2

    def run(self, prompt: Num[Tensor, "machines tokens width"], steps: int) -> Num[Tensor, "machines longer width"]:
        """The prompt and all tokens of so many steps of every machine.

        Raises:
            ParameterError: steps out of bounds, or a prompt of another width.
        """
        return self.layer.run(prompt, self.tokens_until(steps, prompt.shape[1] - self.states - 1))

    def configurations(self, prompt: Num[Tensor, "machines tokens width"], steps: int) -> Iterator[Configurations]:
        """x^0, x^1, ..., each read from the last ``cells + t`` tokens as they come; earlier tokens are not kept.

        One row a machine; a letter that is not exactly one 1 among zeros, or a state that is not at most one, reads
        as -1.

        Raises:
            ParameterError: steps out of bounds, or a prompt of another width.
        """
        cells = prompt.shape[1] - self.states - 1
        require(steps=(steps, 0, self.steps))
        refuse_unless(
            1 <= cells <= self.word,
            f"prompt must have from {self.states + 2} to {self.states + 1 + self.word} tokens, got {prompt.shape[1]}",
        )
        tokens = self.layer.tokens(prompt)
        yield self.read(prompt[:, -cells:])
        for step in range(1, steps + 1):
            for _ in WORK:
                next(tokens)
            yield self.read(torch.stack([next(tokens) for _ in range(cells + step)], dim=1))

    def read(self, tokens: Num[Tensor, "machines cells width"]) -> Configurations:
        """Letter and state of each token, a cell's: no state is ``states``, as in :class:`.turing.Configurations`."""
        letter, state = (self.rows.view(tokens, name) for name in ("letter", "state"))
        empty = (state == 0).all(dim=-1)
        return Configurations(read_letter(letter), torch.where(empty, self.states, read_letter(state)))

    def compare(
        self,
        tables: Int[Tensor, "machines states letters 3"],
        words: Int[Tensor, "machines cells"],
        places: Int[Tensor, " machines"],
        steps: int,
        dtype: torch.dtype = torch.int8,
        stays: bool | None = None,
    ) -> Comparison:
        """Run all machines in the layer and in the simulator, where a head stays as here unless ``stays`` differs.

        Raises:
            ParameterError: what :meth:`embed` refuses, or steps out of bounds.
        """
        require(steps=(steps, 0, self.steps))
        stays, runs = self.stays if stays is None else stays, []
        parts = (part.split(_AT_ONCE) for part in (tables, torch.nn.functional.pad(words, (0, steps)), places))
        for table, tape, place in zip(*parts, strict=True):
            prompt = self.embed(table, tape[:, : words.shape[1]], place, dtype)
            runs.append(compare_with_simulator(self.configurations(prompt, steps), table, tape, place, steps, stays))
        return Comparison(torch.cat([run.exact for run in runs]), torch.cat([run.kept for run in runs]))

    @staticmethod
    def width_formula(states: int, letters: int, word: int, steps: int) -> int:
        """d in closed form: three rows for each cell, and the rest does not grow with word or steps."""
        return 3 * (word + steps) + letters * (2 * states + letters + 6) + 6 * states + 13

    @staticmethod
    def heads_formula(letters: int, word: int, steps: int) -> int:
        """H in closed form: one head for each cell, two for each letter, and 13."""
        return word + steps + 2 * letters + 13


def _check(machine: CompactMachine, tables: Tensor, words: Tensor, places: Tensor, starts: Tensor) -> None:
    machines, cells = len(tables), words.shape[1]
    require_shape(
        tables=(tables, (None, machine.states, machine.letters, 3)),
        words=(words, (machines, None)),
        places=(places, (machines,)),
        starts=(starts, (machines,)),
    )
    refuse_unless(cells <= machine.word, f"words must have at most {machine.word} letters, got {cells}")
    most = torch.tensor([machine.states, machine.letters, len(MOVES)], device=tables.device) - 1
    refuse_unless(
        bool(((tables >= 0) & (tables <= most)).all()),
        f"tables must hold states, letters and moves up to {most.tolist()}, got {tables.amax(dim=(0, 1, 2)).tolist()}",
    )
    require(
        words=(Each(words), 0, machine.letters - 1),
        places=(Each(places), 0, cells - 1),
        starts=(Each(starts), 0, machine.states - 1),
    )
