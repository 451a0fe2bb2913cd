"""The transformer that runs FLEQ programs (Theorem 2): 9 layers and those of the deepest function block."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers._forms import Forms, printed_places
from attention_theory.looped_transformers.blocks.base import FunctionBlock
from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.sigmoid import ColumnSigmoidBlock, RowSigmoidBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.blocks.transpose import TransposeBlock
from attention_theory.looped_transformers.fleq._one_head import HeadSharing, merged_layers
from attention_theory.looped_transformers.fleq._steps import fleq_layers
from attention_theory.looped_transformers.fleq.language import FleqProgram, FleqRun, PointerMove
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.looped_transformers.machine.sparse_layers import SparseLayers
from attention_theory.validation import Each, require, require_some

#: Where Appendix K is wrong: the offsets of the pointers, the bound of the first mask, the sign of the write's
#: second unit (as in the proof of Lemma 4), and the rows into which the write fetches, which does no harm. And the rows
#: of an instruction that is changed: the steps move d rows, too few where its addresses take more.
_PLACES = ("pointers", "first mask", "write sign", "write rows", "pointer rows")

#: Where an entry is larger, a run goes by the dense matrices: they say what becomes of numbers that are not finite.
_LARGEST = 1e100


def standard_blocks(
    functions: FleqProgram | Collection[str], slope: float = 1e-7, sum_heads: int = 1
) -> list[FunctionBlock]:
    """The blocks of functions of matrices: those that a program uses, or those named.

    Args:
        functions: a program, which may use functions that need a block of another kind, or names.
        slope: c of the product.
        sum_heads: 1 or 2.

    Raises:
        ParameterError: a name without a block.
    """
    sums = [SumBlock("add", sum_heads), SumBlock("sub", sum_heads)]
    blocks = [ProductBlock(slope=slope), *sums, TransposeBlock(), RowSigmoidBlock(), ColumnSigmoidBlock()]
    if isinstance(functions, FleqProgram):
        functions = functions.functions
    else:
        require(functions=(Each(list(functions)), [block.name for block in blocks]))
    return [block for block in blocks if block.name in functions]


class FleqMachine:
    """A looped transformer with the weights of Theorem 2, for programs of one size.

    Args:
        program: gives the numbers of memory cells and instructions, and the device; other programs of the same size
            run too.
        blocks: the function blocks; those that the program uses unless given, with sums of a single head or, for
            ``heads="several"``, of two.
        inverse_temperature: factor on the scores.
        gate: the constant C of steps 2, 3 and 5; it has to exceed the data, and costs its own rounding error.
        form: of the places where Appendix K is wrong, :data:`_PLACES`.
        constant_gate: the write's gate by a constant that is added to the data (for a control).
        cleared: ``False`` leaves the copy of the instruction at the end of a cycle (for a control).
        heads: ``one`` for Lemmas 7, 8, 9 and 23: no layer has more heads than the block that has most. ``several``
            for the plain reading of Theorem 2: the blocks' heads side by side, and three to read the operands.
        selected: ``False`` merges the blocks' heads and lets all blocks ask in every cycle (for a control).
        pointers: with blocks that change the addresses in instructions (``pointer_blocks``); if the
            program moves pointers, unless given.

    Raises:
        ParameterError: a parameter out of its range.
    """

    def __init__(
        self,
        program: FleqProgram,
        blocks: Sequence[FunctionBlock] | None = None,
        inverse_temperature: float = 40.0,
        gate: float = 1e3,
        form: Forms = "correct",
        constant_gate: bool = False,
        cleared: bool = True,
        heads: HeadSharing = "one",
        selected: bool = True,
        pointers: bool | None = None,
    ) -> None:
        require(gate=(gate, 0.0, None))
        if pointers is None:
            pointers = any(isinstance(instruction, PointerMove) for instruction in program.code)
        printed, one_reader = printed_places(form, _PLACES), heads == "one"
        blocks = standard_blocks(program, sum_heads=1 if one_reader else 2) if blocks is None else blocks
        self.inverse_temperature = inverse_temperature
        counts, moved = (len(program.memory), len(program.code)), program.size if "pointer rows" in printed else None
        self.layout = FleqLayout(program.size, *counts, blocks, inverse_temperature, heads, pointers, moved)
        self.block_depth = max(block.depth for block in blocks)
        layout = self.layout
        layers = fleq_layers(
            layout, self._block_layers(heads, selected), gate, printed, one_reader, constant_gate, cleared
        )
        self.transformer = LoopedTransformer(layout.rows, layers, device=program.memory.device)

    def _block_layers(self, heads: HeadSharing, selected: bool) -> list[Layer]:
        """Step 4: all blocks side by side, each on its own rows."""
        if heads == "one":
            copies = self.layout.copies if selected else {}
            return merged_layers(self.layout.blocks, self.layout.rows, self.layout.setting, copies)
        layers = [Layer(self.layout.rows, f"4.{stage + 1} blocks") for stage in range(self.block_depth)]
        for block in self.layout.blocks:
            for stage in range(block.depth):
                block.declare(layers[stage], stage, self.layout.setting)
        return layers

    def cycle(self, state: Float[Tensor, "... columns rows"]) -> Float[Tensor, "... columns rows"]:
        """One instruction, by the matrices as they are."""
        return self.transformer.cycle(state, self.inverse_temperature)

    def fast_cycle(self) -> Callable[[Tensor], Tensor]:
        """The cycle without what comes to nothing, on the CPU and as long as no sum can overflow.

        It remembers the cycle before, so every run takes a new one.
        """
        if self.transformer.dense[0].w1.device.type != "cpu":
            return self.cycle
        sparse = SparseLayers(self.transformer, self.inverse_temperature, self.layout.scratch)

        def cycle(state: Tensor) -> Tensor:
            return sparse.cycle(state) if bool(state.abs().max() < _LARGEST) else self.cycle(state)

        return cycle

    def run(self, program: FleqProgram, max_cycles: int = 1_000) -> FleqRun:
        """Run a program until the counter stands at the halt, the state is no longer finite, or cycles are used up.

        Its cycles are those of :meth:`cycle` up to the order of sums: see :class:`SparseLayers`.
        """
        state, cycle = self.layout.pack(program), self.fast_cycle()
        counters: list[int] = []
        memories: list[Tensor] = [self.layout.memory(state)]
        pointers: list[Tensor] = []
        while len(counters) < max_cycles and (not counters or counters[-1] != program.halt):
            state = cycle(state)
            counters.append(self.layout.counter(state))
            memories.append(self.layout.memory(state).clone())  # not a view, which would keep the whole state
            if self.layout.pointers:
                pointers.append(self.layout.addresses(state))
            if not torch.isfinite(memories[-1]).all():
                break
        return FleqRun(counters, memories[1:], counters[-1:] == [program.halt], pointers)

    def run_many(self, programs: Sequence[FleqProgram], max_cycles: int = 1_000) -> list[FleqRun]:
        """Run programs of the machine's size side by side; each ends as in :meth:`run`.

        Raises:
            ParameterError: no program, or one that is not of the machine's size.
        """
        require_some(programs=programs)
        state, cycle = torch.stack([self.layout.pack(program) for program in programs]), self.fast_cycle()
        counters: list[list[int]] = [[] for _ in programs]
        memories: list[list[Tensor]] = [[] for _ in programs]
        pointers: list[list[Tensor]] = [[] for _ in programs]
        going = list(range(len(programs)))
        while going and len(counters[going[0]]) < max_cycles:
            state = cycle(state)
            for one, number in zip(state, going, strict=True):
                counters[number].append(self.layout.counter(one))
                memories[number].append(self.layout.memory(one).clone())
                if self.layout.pointers:
                    pointers[number].append(self.layout.addresses(one))
            goes_on = [
                counters[number][-1] != programs[number].halt and bool(torch.isfinite(memories[number][-1]).all())
                for number in going
            ]
            state = state[goes_on]
            going = [number for number, on in zip(going, goes_on, strict=True) if on]
        return [
            FleqRun(counters[number], memories[number], counters[number][-1] == program.halt, pointers[number])
            for number, program in enumerate(programs)
        ]


@dataclass(frozen=True)
class _FleqComparison:
    """A run beside its reference.

    Attributes:
        cycles: of the run.
        counters_agree: whether the program counter was the reference's after every cycle, to the end of both.
        first_departure: the cycle, from 1, after which the counters differ first; 0 where they never do.
        deviation: the largest difference of any memory cell over the cycles before the counters differ; infinite
            where a cell is no longer finite.
        deviations: the same for each of these cycles.
        pointers_agree: whether over these cycles every address in every instruction was the reference's.
    """

    cycles: int
    counters_agree: bool
    first_departure: int
    deviation: float
    deviations: list[float]
    pointers_agree: bool = True


def compare(run: FleqRun, reference: FleqRun) -> _FleqComparison:
    """Set a run beside the reference interpreter's, cycle by cycle."""
    agree = [ours == theirs for ours, theirs in zip(run.counters, reference.counters, strict=False)]
    same = len(run.counters) == len(reference.counters) and all(agree)
    departure = 0 if same else (agree.index(False) if False in agree else len(agree)) + 1
    shared = len(agree) if same else departure - 1
    deviations = [
        (ours - theirs).abs().max().nan_to_num(torch.inf).item()
        for ours, theirs in zip(run.memories[:shared], reference.memories[:shared], strict=True)
    ]
    pointers = all(map(torch.equal, run.pointers[:shared], reference.pointers[:shared]))
    return _FleqComparison(len(run.counters), same, departure, max(deviations, default=torch.inf), deviations, pointers)
