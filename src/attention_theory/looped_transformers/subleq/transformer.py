"""SUBLEQ as a module of torch: a program becomes a transformer that runs it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.layers import Rule
from attention_theory.looped_transformers.machine._module import LoopedModule, MachineRun
from attention_theory.looped_transformers.machine.codes import address_bits
from attention_theory.looped_transformers.subleq.assembler import assemble
from attention_theory.looped_transformers.subleq.language import RESERVED, SubleqProgram
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.looped_transformers.subleq.one_layer import OneLayerMachine
from attention_theory.validation import refuse_unless, require

#: The numbers of layers that machines have.
_Layers = Depth | Literal[1]


class SubleqTransformer(LoopedModule):
    r"""A looped transformer that executes one SUBLEQ instruction in each pass (Lemma 1, Appendix G).

    ``forward`` is one pass, of a state or of a batch of states, ``(..., tokens, embed_dim)`` in and out. Tokens are
    rows here, as everywhere at the door: a column of the paper's X is a token, a row of it a feature. The first token
    is the scratchpad, then come the memory cells, then the instructions.

    The program is in the state and not in the weights, so one transformer runs every program that has room; see
    ``load``. Weights are buffers, in float64 unless asked otherwise. Forward hooks on ``layers`` show each layer.

    >>> from attention_theory.nn import SubleqTransformer
    >>> computer = SubleqTransformer.compile("x = 7\ny = 9\ny -= x\nhalt", num_layers=4)
    >>> computer.run().memory
    {'x': 7, 'y': 2}
    >>> computer.run({"y": 100}).memory["y"]
    93

    Args:
        program: gives the number of tokens, and is run unless another is given.
        bits: of an integer, in two's complement.
        num_layers: 10 for the paper's construction; 6 and 4 merge layers; 1 has one head too, and more tokens: four for
            each cell and two for each instruction. With ``real``, any from 4 to 10.
        real: keep an integer in one real feature, not in a feature for each bit.
        num_tokens: room for larger programs; that of ``program`` unless given.
        inverse_temperature: multiplies the scores.
        rule: ``softmax``, or ``hardmax``, its limit at temperature zero.

    Raises:
        ParameterError: an argument out of its range, or a program that does not fit.
    """

    def __init__(
        self,
        program: SubleqProgram,
        bits: int = 8,
        num_layers: _Layers = 10,
        *,
        real: bool = False,
        num_tokens: int | None = None,
        inverse_temperature: float = 30.0,
        rule: Rule = "softmax",
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        length = max(2, address_bits(max(program.columns(), num_tokens or 0)))
        refuse_unless(not (real and num_layers == 1), "real must be False with num_layers=1, got True")
        require(num_layers=(num_layers, {4, 5, 6, 7, 8, 9, 10} if real else {1, 4, 6, 10}))
        machine = (
            OneLayerMachine(length, bits) if num_layers == 1 else SubleqMachine(length, bits, num_layers, real=real)
        )
        least = machine.columns(program)
        num_tokens = least if num_tokens is None else num_tokens
        require(num_tokens=(num_tokens, least, None))
        super().__init__((layer.module() for layer in machine.dense), machine.rows.size, inverse_temperature, rule)
        self.program, self.num_tokens = program, num_tokens
        self.machine = machine
        self.to(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Restore the compiled weights, which are never drawn."""
        self._restore(layer.module() for layer in self.machine.dense)

    @classmethod
    def compile(cls, program: str | SubleqProgram, bits: int = 8, num_layers: _Layers = 10, **options: Any) -> Self:  # type: ignore[override]
        """Make the transformer of a program, or of its text, in the language of :func:`.subleq.assembler.assemble`.

        It takes the place of ``Module.compile``; ``torch.compile`` works as for every module.

        Raises:
            AssemblyError: a text that is no program.
            ParameterError: as the constructor.
        """
        source = assemble(program, bits) if isinstance(program, str) else program
        return cls(source, bits, num_layers, **options)

    def load(self, program: SubleqProgram | Sequence[SubleqProgram] | None = None) -> Float[Tensor, "... tokens embed"]:
        """The state from which a program runs (eq. 5); a batch for several of one shape.

        Raises:
            ParameterError: a program that does not fit, or programs of different shapes.
        """
        return self.like_weights(self.machine.load(self.program if program is None else program))

    def run(
        self,
        inputs: Mapping[str, int | Iterable[int]] | None = None,
        steps: int = 1000,
        program: SubleqProgram | None = None,
    ) -> MachineRun:
        """Run a program to its end, or for so many instructions.

        Args:
            inputs: what the named cells hold at the start, in place of what the program says.
            steps: at most; the trace holds a state for each.
            program: another one that has room.

        Raises:
            ParameterError: steps below 0, inputs that the program does not have or that do not fit, NaN in the state.
        """
        source = (self.program if program is None else program).with_inputs(inputs or {})

        def read(state: Tensor) -> tuple[int, Tensor]:
            return int(self.machine.counter(state, source)), self.machine.memory(state, source)

        def name(memory: Tensor) -> dict[str, Any]:
            named = {key: memory[cells.start : cells.stop].tolist() for key, cells in source.blocks.items()}
            own = {key: values for key, values in named.items() if source.cells[key] >= len(RESERVED)}
            return {key: values[0] if len(values) == 1 else values for key, values in own.items()}

        return self._follow(self.load(source), read, name, source.end, steps)

    def extra_repr(self) -> str:
        return (
            f"num_tokens={self.num_tokens}, embed_dim={self.embed_dim}, bits={self.machine.bits}, "
            f"num_layers={len(self.layers)}, {super().extra_repr()}"
        )
