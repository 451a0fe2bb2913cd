"""The universal Turing machine of Lemma 2.2 as a module of torch: one layer of linear attention."""

from dataclasses import dataclass
from typing import Any, Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_theory.linear_attention.machines.block_heads import dense
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.turing import Machine, pad_table, parse_machine, write_tape
from attention_theory.linear_attention.model.linear_attention import LinearAttention
from attention_theory.validation import require, require_shape


@dataclass(frozen=True)
class TuringRun:
    """The tokens of a run; every list begins with the start and has an entry for each step after it.

    Attributes:
        trace: all tokens, those of the prompt first.
        tapes: the letters on the tape, a cell more after each step.
        states: the state of the machine; nothing where its head has left the tape or no state can be read.
        places: the cell of its head; nothing likewise.
    """

    trace: Float[Tensor, "tokens embed"]
    tapes: list[str]
    states: list[str | None]
    places: list[int | None]

    @property
    def steps(self) -> int:
        """The steps of the machine, without those in which it rests."""
        return len(self.tapes) - 1

    @property
    def halted(self) -> bool:
        """Test whether the machine came to rest: its last state is then ``accept`` or ``reject``."""
        return self.states[-1] in ("accept", "reject")


class UniversalTransformer(nn.Module):
    r"""One layer of linear attention that runs every Turing machine within its bounds (Lemma 2.2).

    ``forward`` writes one token, from tokens ``(..., tokens, embed_dim)`` to ``(..., tokens + 1, embed_dim)``. The
    machine, a table of rules, is in the prompt with the word, and not in the weights; see ``load``. The weights are
    those of a :class:`~attention_theory.nn.LinearAttention`, all -1, 0 or 1, and so are all entries of tokens.

    >>> from attention_theory.nn import UniversalTransformer
    >>> rules = "go 0 -> go 1 R\ngo 1 -> go 0 R\ngo _ -> accept _ S"
    >>> result = UniversalTransformer.compile(rules, word=4, steps=5).run("0110")
    >>> result.tapes[0], result.tapes[-1], result.states[-1]
    ('0110', '1001_____', 'accept')

    Args:
        machine: is run unless another is given.
        word: the most letters of a word.
        steps: the most steps. Rows of a token grow with ``word + steps``, weights with the cube.
        states, letters: room for larger machines; those of ``machine`` unless given.
        stays: whether a head in the first cell that moves left stays there, or is lost.

    Raises:
        ParameterError: a number out of its range.
    """

    def __init__(
        self,
        machine: Machine,
        word: int = 8,
        steps: int = 24,
        *,
        states: int | None = None,
        letters: int | None = None,
        stays: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__()
        states = len(machine.states) if states is None else states
        letters = len(machine.letters) if letters is None else letters
        require(states=(states, len(machine.states), None), letters=(letters, len(machine.letters), None))
        self.machine = machine
        self._compact = CompactMachine(states, letters, word, steps, stays=stays)
        self.embed_dim, self.num_heads = self._compact.width, len(self._compact.heads)
        self.attention = LinearAttention.from_heads(dense(self._compact.heads, self.embed_dim), last_token=True)
        self.to(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Restore the compiled weights, which are never drawn."""
        heads = dense(self._compact.heads, self.embed_dim)
        self.attention.load_state_dict({"values": heads.values, "queries": heads.queries})

    @classmethod
    def compile(cls, program: str | Machine, word: int = 8, steps: int = 24, **options: Any) -> Self:  # type: ignore[override]
        """Make the transformer of a machine, or of its rules, in the language of :func:`.turing.parse_machine`.

        It takes the place of ``Module.compile``; ``torch.compile`` works as for every module.

        Raises:
            ParameterError: rules that cannot be read, or as the constructor.
        """
        return cls(parse_machine(program) if isinstance(program, str) else program, word, steps, **options)

    def load(self, word: str, machine: Machine | None = None, place: int = 0) -> Float[Tensor, "tokens embed"]:
        """The prompt (Eqs. 59 to 61): the rules, a token for each state, and the word, a token for each letter.

        Args:
            word: the empty word is written as one blank.
            machine: another one that has room.
            place: the cell of the head.

        Raises:
            ParameterError: a word or a machine that does not fit, a letter that the machine does not know, or a head
                off the word.
        """
        ours, compact = self.machine if machine is None else machine, self._compact
        table = pad_table(ours.table, compact.states, compact.letters)
        tape = write_tape(ours, word, max(len(word), 1))
        prompt = compact.embed(table[None], tape[None], torch.tensor([place]), torch.float64)
        return prompt[0].to(self.attention.values)

    def forward(self, tokens: Float[Tensor, "... tokens embed"]) -> Float[Tensor, "... tokens_and_one embed"]:
        """The tokens, and the one that the layer writes behind them.

        Raises:
            ParameterError: tokens of another width.
        """
        require_shape(tokens=(tokens, (..., None, self.embed_dim)))
        return torch.cat([tokens, self.attention(tokens)[..., None, :]], dim=-2)

    @torch.no_grad()
    def run(self, word: str, steps: int | None = None, machine: Machine | None = None, place: int = 0) -> TuringRun:
        """Run a machine on a word until it accepts or rejects, or for so many steps.

        Args:
            word, machine, place: as in ``load``.
            steps: at most; all that there is room for unless given.

        Raises:
            ParameterError: as ``load``, or steps that there is no room for.
        """
        ours, compact = self.machine if machine is None else machine, self._compact
        steps = compact.steps if steps is None else steps
        require(steps=(steps, 0, compact.steps))
        tokens, cells = self.load(word, machine, place), max(len(word), 1)
        prompt, run = len(tokens), TuringRun(tokens, [], [], [])
        for step in range(steps + 1):
            while len(tokens) < prompt + compact.tokens_until(step, cells):
                tokens = self(tokens)
            self._read(tokens[-(cells + step) :], ours, run)
            if run.halted:
                break
        return TuringRun(tokens, run.tapes, run.states, run.places)

    def _read(self, cells: Float[Tensor, "cells embed"], machine: Machine, run: TuringRun) -> None:
        """Add a configuration to a run; a letter that is none reads as ``?``."""
        read = self._compact.read(cells[None])
        known = machine.letters + "?" * (self._compact.letters - len(machine.letters) + 1)
        run.tapes.append("".join(known[letter] for letter in read.letters[0].tolist()))
        here = [place for place, state in enumerate(read.states[0].tolist()) if 0 <= state < len(machine.states)]
        run.places.append(here[0] if len(here) == 1 else None)
        run.states.append(machine.states[int(read.states[0, here[0]])] if len(here) == 1 else None)

    def extra_repr(self) -> str:
        compact = self._compact
        return (
            f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, states={compact.states}, "
            f"letters={compact.letters}, word={compact.word}, steps={compact.steps}, blank={self.machine.letters[0]!r}"
        )
