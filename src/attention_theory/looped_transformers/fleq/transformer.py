"""FLEQ as a module of torch: a program of matrix functions becomes a transformer that runs it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.looped_transformers.blocks.base import FunctionBlock
from attention_theory.looped_transformers.fleq._one_head import HeadSharing
from attention_theory.looped_transformers.fleq.assembler import Value, assemble, with_inputs
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.fleq.machine import FleqMachine, standard_blocks
from attention_theory.looped_transformers.machine._module import LoopedModule, MachineRun


class FleqTransformer(LoopedModule):
    r"""A looped transformer that executes one FLEQ instruction in each pass (Theorem 2): a function of matrices.

    ``forward`` is one pass, of a state or of a batch of states, ``(..., tokens, embed_dim)`` in and out. Tokens are
    rows here, as everywhere at the door: a column of the paper's X is a token, a row of it a feature. The scratchpad
    comes first, then the memory cells, then the instructions.

    The program is in the state and not in the weights, so one transformer runs every program of its functions that has
    room; see ``load``. It needs a softmax: products and sigmoids are made of its slope. Weights are buffers, in
    float64 unless asked otherwise, and float32 is too coarse for products.

    >>> from attention_theory.nn import FleqTransformer
    >>> computer = FleqTransformer.compile("y = mul(a, x)\ny = add(y, x)\nhalt", {"a": 2.0, "x": 3.0, "y": 0.0}, size=2)
    >>> round(computer.run().memory["y"][0, 0].item(), 3)
    9.0
    >>> round(computer.run({"x": 5.0}).memory["y"][0, 0].item(), 3)
    15.0

    Args:
        program: gives the size of matrices, and the numbers of cells and instructions; it is run unless another is
            given.
        functions: those that have a block; those of ``program`` unless given.
        blocks: function blocks in place of the standard ones of ``functions``.
        pointers: with blocks that move pointers; if the program moves some, unless given.
        heads: ``one`` head a layer where the blocks share theirs, or ``several``, as in the proof of Theorem 2.
        inverse_temperature: multiplies the scores.
        gate: the constant C of the paper, which must exceed the data and costs its rounding error.

    Raises:
        ParameterError: an argument out of its range, or a program that does not fit.
    """

    def __init__(
        self,
        program: FleqProgram,
        *,
        functions: Collection[str] | None = None,
        blocks: Sequence[FunctionBlock] | None = None,
        pointers: bool | None = None,
        heads: HeadSharing = "one",
        inverse_temperature: float = 40.0,
        gate: float = 1e3,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        names = program.functions if functions is None else functions
        blocks = standard_blocks(names, sum_heads=1 if heads == "one" else 2) if blocks is None else blocks
        machine = FleqMachine(program, blocks, inverse_temperature, gate, heads=heads, pointers=pointers)
        layers = (layer.module() for layer in machine.transformer.dense)
        super().__init__(layers, machine.layout.rows.size, inverse_temperature)
        self.program, self.machine, self.layout = program, machine, machine.layout
        self.functions = [block.name for block in blocks]
        self.num_tokens = machine.layout.columns
        self.to(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Restore the compiled weights, which are never drawn."""
        self._restore(layer.module() for layer in self.machine.transformer.dense)

    @classmethod
    def compile(  # type: ignore[override]
        cls, program: str | FleqProgram, variables: Mapping[str, Value] | None = None, size: int = 4, **options: Any
    ) -> Self:
        """Make the transformer of a program, or of its text, in the language of :func:`.fleq.assembler.assemble`.

        It takes the place of ``Module.compile``; ``torch.compile`` works as for every module.

        Args:
            program: the program or its text.
            variables: for a text, its variables in memory order, with what they hold at the start: numbers, or matrices
                up to ``size`` by ``size``.
            size: for a text, the most rows and columns of a matrix.
            options: of the constructor.

        Raises:
            AssemblyError: a text that is no program.
            ParameterError: as the constructor.
        """
        source = assemble(program, variables or {}, size) if isinstance(program, str) else program
        return cls(source, **options)

    def load(self, program: FleqProgram | None = None) -> Float[Tensor, "tokens embed"]:
        """The state from which a program runs; it is padded to the transformer's numbers of cells and instructions.

        Raises:
            ParameterError: a program that does not fit.
        """
        return self.like_weights(self.layout.pack(self._fitted(self.program if program is None else program)))

    def run(
        self, inputs: Mapping[str, Value] | None = None, steps: int = 1000, program: FleqProgram | None = None
    ) -> MachineRun:
        """Run a program to its end, or for so many instructions.

        Args:
            inputs: what the variables hold at the start, in place of what the program says.
            steps: at most; the trace holds a state for each.
            program: another one that has room.

        Raises:
            ParameterError: steps below 0, inputs that the program does not have or that do not fit.
        """
        source = self._fitted(with_inputs(self.program if program is None else program, inputs or {}))

        def read(state: Tensor) -> tuple[int, Tensor]:
            return self.layout.counter(state), self.layout.memory(state)

        def name(memory: Tensor) -> dict[str, Any]:
            return {key: source.variable(memory, key) for key in source.addresses}

        return self._follow(self.load(source), read, name, source.halt, steps)

    def _fitted(self, source: FleqProgram) -> FleqProgram:
        return source.padded(self.layout.cells, self.layout.columns - self.layout.first_instruction)

    def extra_repr(self) -> str:
        return (
            f"num_tokens={self.num_tokens}, embed_dim={self.embed_dim}, size={self.layout.size}, "
            f"num_layers={len(self.layers)}, functions={self.functions}, {super().extra_repr()}"
        )
