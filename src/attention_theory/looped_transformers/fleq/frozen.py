"""The FLEQ computer for programs up to a size, with its weights frozen: what goes into a file."""

from collections.abc import Callable, Sequence

from attention_theory.looped_transformers.blocks.base import FunctionBlock
from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.sigmoid import RowSigmoidBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.blocks.transpose import TransposeBlock
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.portable.frozen import FrozenMachine
from attention_theory.validation import Each, refuse_unless, require

#: The blocks that a frozen machine can have, by the functions' names.
BLOCKS: dict[str, Callable[[], FunctionBlock]] = {
    "mul": ProductBlock,
    "add": lambda: SumBlock("add", 1),
    "sub": lambda: SumBlock("sub", 1),
    "transpose": TransposeBlock,
    "rowsigmoid": RowSigmoidBlock,
}


class FrozenFleq:
    """A machine that takes every program up to its sizes: shorter ones are padded.

    Args:
        size: ``d``, of the matrices.
        cells: columns of memory, of which the first ``3 d`` hold the assembler's ``one``, ``zero`` and ``junk``.
        instructions: the halt included.
        functions: whose blocks the machine has; ``add`` must be one of them, since the halt adds zeros.
        inverse_temperature: factor on the scores, at least 20: below, it may go wrong.

    Raises:
        ParameterError: an argument out of its range, an unknown function, or one named twice.
    """

    def __init__(
        self,
        size: int = 4,
        cells: int = 40,
        instructions: int = 24,
        functions: Sequence[str] = tuple(BLOCKS),
        inverse_temperature: float = 40.0,
    ) -> None:
        require(
            size=(size, 3, 8),
            instructions=(instructions, 1, 1000),
            inverse_temperature=(inverse_temperature, 20.0, 100.0),
        )
        require(cells=(cells, 3 * size, 1000), functions=(Each(functions), list(BLOCKS)))
        refuse_unless(
            len(functions) == len(set(functions)) and "add" in functions,
            f"functions must be different ones and 'add' among them, got {list(functions)}",
        )
        self.cells, self.instructions, self.inverse_temperature = cells, instructions, inverse_temperature
        blank = self.fitted(assemble("halt", {}, size))
        self.machine = FleqMachine(blank, [BLOCKS[name]() for name in functions], inverse_temperature)
        layout = self.machine.layout
        first = layout.first_instruction
        self.frozen = FrozenMachine(
            name="FLEQ",
            transformer=self.machine.transformer,
            inverse_temperature=inverse_temperature,
            sizes={"size": size, "cells": cells, "instructions": instructions, "functions": list(functions)}
            | {"address_bits": layout.bits, "function_bits": layout.function_bits},
            columns={
                "scratchpad": (0, layout.scratch),
                "cells": (layout.scratch, first),
                "instructions": (first, layout.columns),
            },
            blank=layout.pack(blank),
        )

    def fitted(self, source: FleqProgram) -> FleqProgram:
        """The program, padded to the machine's sizes. It can be packed, and interpreted.

        Raises:
            ParameterError: a program with more cells or instructions.
        """
        return source.padded(self.cells, self.instructions)
