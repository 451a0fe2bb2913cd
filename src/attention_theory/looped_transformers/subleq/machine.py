"""SUBLEQ as a looped transformer (Lemmas 1 and 5, Appendix G): its state, loaded from a program and read back.

One cycle executes one instruction. Column 0 is the scratchpad; further scratchpad columns may follow, then the memory,
then the instructions, the last of which halts.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.looped_transformers._forms import Forms, printed_places
from attention_theory.looped_transformers.machine.access import GATE
from attention_theory.looped_transformers.machine.codes import from_bits, position_codes, to_bits
from attention_theory.looped_transformers.machine.layers import LoopedTransformer
from attention_theory.looped_transformers.subleq._layers import subleq_layers
from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.validation import ParameterError, refuse_unless, require

Depth = Literal[4, 5, 6, 7, 8, 9, 10]

#: Where Appendix G is wrong: the second unit of Lemma 4's write, the flag of eq. (4), and the constants of
#: flip and adders, which act in every column.
_PLACES = ("write", "flag", "constants")

#: The most bits that the staircase of one layer may take off: it has two units for each step.
_LONGEST_DIGIT = 12


class SubleqMachine(LoopedTransformer):
    """A looped transformer that executes one SUBLEQ instruction in each cycle.

    Args:
        address_bits: L, bits of an address: at most ``2**L`` columns.
        bits: N, bits of an integer.
        depth: 10 for the paper's construction; 6 and 4 merge layers. With
            ``real``, any from 4 to 10: three layers, and the others round.
        real: keep an integer in one real row, not in a row for each bit: right as long as no
            result leaves the N bits.
        scratch: scratchpad columns, at least 1; all but the first are idle, and only the ten-layer machine has them.
        form: of the places where Appendix G is wrong, :data:`_PLACES`.
        gate: the constant C of reads and write; below 2 it is too small (for a control).
        rounded: ``False`` leaves the last layer without its error correction (for a control); with ``real``, the
            memory without its staircase, at depth 4.
        rounded_reads: the two reads correct errors too, as they do at depths 10 and 6 with bits in rows unless
            ``rounded`` is off: nothing noisy reaches an adder, and the inverse temperature need not grow with N.
            ``False`` is the paper's order, with Step 6 in the last layer alone.
        dtype: float64 unless an experiment says otherwise.
        device: of matrices and states.

    Raises:
        ParameterError: an argument out of its range.
    """

    def __init__(
        self,
        address_bits: int,
        bits: int,
        depth: Depth = 10,
        scratch: int = 1,
        form: Forms = "correct",
        gate: float = GATE,
        rounded: bool = True,
        real: bool = False,
        rounded_reads: bool | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        require(
            address_bits=(address_bits, 2, 20),
            bits=(bits, 2, 50),
            scratch=(scratch, 1, None),
        )
        printed = printed_places(form, _PLACES)
        if (real or depth != 10) and (printed or gate != GATE or not (rounded or real) or scratch != 1):
            raise ParameterError(
                "form, gate, rounded and idle scratchpad columns are for bits in rows and depth 10 only"
            )
        require(depth=(depth, ({4, 5, 6, 7, 8, 9, 10} if rounded else {4}) if real else {10, 6, 4}))
        if rounded_reads is None:
            rounded_reads = rounded and not real and depth != 4
        refuse_unless(
            not rounded_reads or (not real and depth != 4),
            f"rounded_reads must be False with real rows and at depth 4, got real={real}, depth={depth}",
        )
        stages = depth - 3 if real and rounded else 0
        if stages:
            require(depth=(depth, 4, bits + 3), bits=(bits, 2, stages * _LONGEST_DIGIT))
        self.address_bits, self.bits, self.scratch, self.real = address_bits, bits, scratch, real
        self.dtype, self.device = dtype, torch.device(device)
        layers = subleq_layers(
            address_bits, bits, depth, stages if real else None, printed, gate, rounded, rounded_reads
        )
        #: The layer that writes to the memory, counted from 0.
        self.writing_layer = next(place for place, layer in enumerate(layers) if layer.name.startswith("write"))
        super().__init__(layers[0].rows, layers, dtype, device)

    def columns(self, source: SubleqProgram) -> int:
        """The columns of a program's state."""
        return source.columns(self.scratch)

    def load(self, source: SubleqProgram | Sequence[SubleqProgram]) -> Float[Tensor, "... columns rows"]:
        """The state from which a program runs (eq. 5), or one state for each of several of the same shape.

        Raises:
            ParameterError: more columns than addresses, integers that do not fit, programs of different shape.
        """
        if not isinstance(source, SubleqProgram):
            return self._load_all(source)
        self._refuse_outside(source)
        columns, cells, rows = self.columns(source), len(source.memory), self.rows
        codes = position_codes(columns, self.address_bits, self.device).to(self.dtype)
        state = torch.zeros(columns, rows.size, dtype=self.dtype, device=self.device)
        rows.view(state, "encoding")[1:] = codes[1:]
        rows.view(state, "indicator")[: self.scratch] = 1
        if "idle" in rows.blocks:
            rows.view(state, "idle")[self.scratch :] = 1
        memory = torch.tensor(source.memory, device=self.device)
        stored = memory[:, None].to(self.dtype) if self.real else to_bits(memory, self.bits, self.dtype)
        rows.view(state, "memory")[self.scratch : self.scratch + cells] = stored
        first = self.scratch + cells
        offsets = torch.tensor([self.scratch, self.scratch, first], device=self.device)
        shifted = torch.tensor(source.code, device=self.device) + offsets
        rows.view(state, "command")[first:] = codes[shifted].flatten(1)
        rows.view(state, "counter")[0] = codes[first]
        return state

    def _load_all(self, sources: Sequence[SubleqProgram]) -> Float[Tensor, "programs columns rows"]:
        if len({(len(one.memory), len(one.code)) for one in sources}) > 1:
            raise ParameterError("programs must have equally many cells and equally many instructions")
        return torch.stack([self.load(one) for one in sources])

    def _refuse_outside(self, source: SubleqProgram) -> None:
        """Refuse integers that do not fit."""
        limit = 2 ** (self.bits - 1)
        outside = [value for value in source.memory if not -limit <= value < limit]
        refuse_unless(
            not outside, f"source must have memory from {-limit} to {limit - 1}, {self.bits} bits, got {outside}"
        )

    def counter(self, state: Float[Tensor, "... columns rows"], source: SubleqProgram) -> Int[Tensor, "..."]:
        """The number of the instruction to come."""
        code = self.rows.view(state, "counter")[..., 0, :]
        return from_bits(code) - self.scratch - len(source.memory)

    def memory(self, state: Float[Tensor, "... columns rows"], source: SubleqProgram) -> Int[Tensor, "... cells"]:
        """The integers in the memory; where they are real rows, the nearest ones."""
        cells = slice(self.scratch, self.scratch + len(source.memory))
        stored = self.rows.view(state, "memory")[..., cells, :]
        return stored[..., 0].round().long() if self.real else from_bits(stored, signed=True)
