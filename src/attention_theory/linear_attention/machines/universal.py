"""The paper's universal Turing machine inside one layer of linear attention (Appendix C.1): run it, read its tapes.

Smaller heads, within the sizes of Lemma 2.2, are in :mod:`.compact`.
"""

from functools import cached_property

import torch
from jaxtyping import Int, Num
from torch import Tensor

from attention_theory.linear_attention.machines._universal_heads import BLOCK, EMIT, UniversalHeads
from attention_theory.linear_attention.machines.block_heads import BlockLayer
from attention_theory.linear_attention.machines.turing import (
    MOVES,
    RULE,
    Comparison,
    Configurations,
    compare_with_simulator,
)
from attention_theory.linear_attention.model.rounding import read_letter
from attention_theory.validation import require, require_shape


class UniversalMachine(UniversalHeads):
    """One set of heads that runs every machine within its bounds (Algorithms 6 and 7, repaired).

    Args:
        states: most states of a machine, at least 1.
        letters: size of the alphabet, at least 1.
        window: cells of the tape, at least 1. A head that leaves the window is lost.
        steps: most steps of a machine, at least 1.
        working_rows: ``private`` to every block; ``shared`` by all blocks shows that this construction needs them.
        form: ``printed`` writes nothing for the state of a cell without the head, as Algorithm 7 does, where the
            correct form has a letter "no state". Nothing is read as no state, and cannot be looked up afterwards.
    """

    @property
    def width(self) -> int:
        """d, the width of a token."""
        return self.rows.size

    @cached_property
    def layer(self) -> BlockLayer:
        return BlockLayer(self.heads, self.width)

    def embed(
        self,
        tables: Int[Tensor, "machines states letters 3"],
        tapes: Int[Tensor, "machines window"],
        places: Int[Tensor, " machines"],
        dtype: torch.dtype = torch.int8,
    ) -> Num[Tensor, "machines tokens width"]:
        """Machines and their inputs as prompts (Eqs. 59-61): the table's columns, then the cells of the tape.

        Every machine starts in state 0 with its head at the cell ``places``.

        Raises:
            ParameterError: machines or tapes that do not have the sizes of this universal machine.
        """
        require_shape(tables=(tables, (None, self.states, self.letters, 3)), tapes=(tapes, (None, self.window)))
        machines = len(tables)
        device = tables.device
        prompt = torch.zeros(machines, self.prompt_tokens, self.width, dtype=dtype, device=device)
        token = torch.arange(self.prompt_tokens, device=device)
        prompt[:, token, self.rows.indices("position", device)[: self.prompt_tokens]] = 1
        state, machine = (torch.arange(count, device=device) for count in (self.states, machines))
        prompt[:, state, self.rows.indices("table of", device)] = 1
        for letter in range(self.letters):
            for number, part in enumerate(RULE):
                rows = self.rows.indices(f"table {letter} {part}", device)
                prompt[machine[:, None], state, rows[tables[:, :, letter, number]]] = 1
        cells = torch.full((machines, self.window), self.states, device=device)
        cells[machine, places] = 0
        cell = self.states + torch.arange(self.window, device=device)
        prompt[machine[:, None], cell, self.rows.indices("letter", device)[tapes]] = 1
        prompt[machine[:, None], cell, self.rows.indices("state", device)[cells]] = 1
        return prompt

    def run(self, prompt: Num[Tensor, "machines tokens width"]) -> Num[Tensor, "machines longer width"]:
        """All steps of every machine, by the layer."""
        return self.layer.run(prompt, self.tokens - self.prompt_tokens)

    def read(self, history: Num[Tensor, "machines tokens width"], step: int) -> Configurations:
        """The tapes after ``step`` steps, read from the last token of each cell's block.

        One row a machine; a letter or state that is not exactly one 1 among zeros reads as -1. In the printed form
        nothing at all in the rows of the state reads as no state.

        Raises:
            ParameterError: a step outside 0 to the machine's steps.
        """
        require(step=(step, 0, self.steps))
        return self.read_cells(history[:, [self.place(step, cell, EMIT) for cell in range(self.window)]])

    def read_cells(self, tokens: Num[Tensor, "machines window width"]) -> Configurations:
        """Letter and state of given tokens, as :meth:`read`."""
        state = self.rows.view(tokens, "state")
        number = read_letter(state)
        if self.form == "printed":
            number = torch.where((state == 0).all(dim=-1), self.states, number)
        return Configurations(read_letter(self.rows.view(tokens, "letter")), number)

    def read_tables(self, prompt: Num[Tensor, "machines tokens width"]) -> Int[Tensor, "machines states letters 3"]:
        """The transition tables back from a prompt: the inverse of the first part of :meth:`embed`."""
        columns = prompt[:, : self.states]
        rules = [
            torch.stack([read_letter(self.rows.view(columns, f"table {letter} {part}")) for part in RULE], dim=-1)
            for letter in range(self.letters)
        ]
        return torch.stack(rules, dim=2)

    def compare(
        self,
        tables: Int[Tensor, "machines states letters 3"],
        tapes: Int[Tensor, "machines window"],
        places: Int[Tensor, " machines"],
        dtype: torch.dtype = torch.int8,
    ) -> tuple[Comparison, Num[Tensor, "machines tokens width"]]:
        """Run all machines in the layer and in the simulator; also returns all tokens."""
        history = self.run(self.embed(tables, tapes, places, dtype))
        runs = (self.read(history, step) for step in range(self.steps + 1))
        return compare_with_simulator(runs, tables, tapes, places, self.steps), history

    @staticmethod
    def width_formula(states: int, letters: int, window: int, steps: int) -> int:
        """d in closed form: Θ(window · steps · letters · (letters + states))."""
        rule = states + letters + len(MOVES)
        tokens = states + window + BLOCK * window * steps
        shared = tokens + states + letters * rule + letters + states + 1
        neighbour = 2 * letters + (states + 1) + letters * rule + rule
        return shared + window * steps * (3 * neighbour + 2 * (states + 1) + letters)

    @staticmethod
    def heads_formula(letters: int, window: int, steps: int) -> int:
        """H in closed form: one for the position, 25 + 3 · letters for each block, less 4 for each step."""
        return 1 + window * steps * (25 + 3 * letters) - 4 * steps
