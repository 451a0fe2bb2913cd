"""The SUBLEQ computer for programs up to a size, with its weights frozen: what goes into a file."""

from typing import Literal

from attention_theory.looped_transformers.machine.codes import address_bits
from attention_theory.looped_transformers.portable.frozen import FrozenMachine
from attention_theory.looped_transformers.subleq.language import RESERVED, SubleqProgram, program
from attention_theory.looped_transformers.subleq.machine import Depth, SubleqMachine
from attention_theory.looped_transformers.subleq.one_layer import OneLayerMachine
from attention_theory.validation import require


class FrozenSubleq:
    """A machine that takes every program up to its sizes: shorter ones are padded.

    Args:
        layers: 10, 6, 4 or 1.
        integers: memory cells after the reserved two, at least 1.
        instructions: before the last, at least 1.
        bits: of an integer.
        inverse_temperature: factor on the scores, at least 20: below, it may go wrong.
        rounded_reads: as :class:`SubleqMachine` takes it; one layer has no other order.

    Raises:
        ParameterError: an argument out of its range.
    """

    def __init__(
        self,
        layers: Depth | Literal[1] = 10,
        integers: int = 16,
        instructions: int = 28,
        bits: int = 8,
        inverse_temperature: float = 30.0,
        rounded_reads: bool | None = None,
    ) -> None:
        require(layers=(layers, [10, 6, 4, 1]), integers=(integers, 1, 1000), instructions=(instructions, 1, 1000))
        require(bits=(bits, 2, 32), inverse_temperature=(inverse_temperature, 20.0, 100.0))
        self.cells, self.instructions = len(RESERVED) + integers, instructions + 1
        self.inverse_temperature = inverse_temperature
        addresses = address_bits(1 + self.cells + self.instructions)
        self.machine = (
            OneLayerMachine(addresses, bits)
            if layers == 1
            else SubleqMachine(addresses, bits, layers, rounded_reads=rounded_reads)
        )
        empty = program([], []).padded(self.cells, self.instructions)
        scratch, columns = self.machine.scratch, self.machine.columns(empty)
        first = scratch + self.cells * (4 if layers == 1 else 1)
        self.frozen = FrozenMachine(
            name=f"SUBLEQ in {layers} layer{'s' * (layers > 1)}",
            transformer=self.machine,
            inverse_temperature=inverse_temperature,
            sizes={"layers": layers, "integers": integers, "instructions": instructions, "bits": bits}
            | {"address_bits": self.machine.address_bits},
            columns={"scratchpad": (0, scratch), "cells": (scratch, first), "instructions": (first, columns)},
            blank=self.machine.load(empty),
        )

    def fitted(self, source: SubleqProgram) -> SubleqProgram:
        """The program, padded to the machine's sizes. It can be loaded, and interpreted.

        Raises:
            ParameterError: a program with more cells or instructions.
        """
        return source.padded(self.cells, self.instructions)
