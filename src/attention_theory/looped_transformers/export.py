"""Files of this paper: the SUBLEQ and the FLEQ computer with their weights frozen, and programs.

``EXPORTS`` is all that a program needs that offers it: for each name a function whose parameters are the options, with
their defaults, and which gives, for each ending of a file's name, what makes its content.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from attention_theory.looped_transformers.compiler import examples
from attention_theory.looped_transformers.compiler.program import Target, compile
from attention_theory.looped_transformers.compiler.source import MOST_CHARACTERS
from attention_theory.looped_transformers.compiler.subleq_rules import RULES
from attention_theory.looped_transformers.fleq.frozen import BLOCKS, FrozenFleq
from attention_theory.looped_transformers.portable.frozen import FrozenMachine
from attention_theory.looped_transformers.subleq.assembler import assemble, library, library_text
from attention_theory.looped_transformers.subleq.frozen import FrozenSubleq
from attention_theory.looped_transformers.subleq.language import RESERVED
from attention_theory.looped_transformers.subleq.machine import Depth
from attention_theory.validation import refuse_unless, require

#: For each ending of a file's name, what makes the content.
_Forms = Mapping[str, Callable[[], bytes]]


def _subleq(
    layers: Depth | Literal[1] = 10,
    integers: int = 16,
    instructions: int = 28,
    bits: int = 8,
    inverse_temperature: float = 30.0,
) -> _Forms:
    """The computer of Lemma 1, which executes one SUBLEQ instruction a cycle.

    Args:
        layers: 10, 6, 4 or 1.
        integers: memory cells after the reserved two.
        instructions: before the last, which halts.
        bits: of an integer.
        inverse_temperature: factor on the scores.

    Raises:
        ParameterError: an argument out of its range.
    """
    return _forms(FrozenSubleq(layers, integers, instructions, bits, inverse_temperature).frozen)


def _fleq(
    size: int = 4,
    cells: int = 40,
    instructions: int = 24,
    functions: str = ",".join(BLOCKS),
    inverse_temperature: float = 40.0,
) -> _Forms:
    """The computer of Theorem 2, which executes one FLEQ instruction on matrices a cycle.

    Args:
        size: ``d``, of the matrices.
        cells: columns of memory, the assembler's own ``3 d`` included.
        instructions: the halt included.
        functions: names with commas between them.
        inverse_temperature: factor on the scores.

    Raises:
        ParameterError: an argument out of its range, or an unknown function.
    """
    names = [name.strip() for name in functions.split(",")]
    return _forms(FrozenFleq(size, cells, instructions, names, inverse_temperature).frozen)


def _programs() -> _Forms:
    """The texts of the SUBLEQ programs that come with the package, by name, as the assembler reads them."""
    return {".json": lambda: (json.dumps({name: library_text(name) for name in library()}) + "\n").encode()}


#: The program of :func:`_orders`: three subtractions, a product that fits into integers of four bits.
_PRODUCT = library_text("multiply").replace("x = 7", "x = 2").replace("y = 9", "y = 3")


def _orders() -> _Forms:
    """Ten layers that round in the last only, the two that read and round as well, and a program for both (Step 6).

    For integers of 4, 8 and 16 bits.
    """
    program, machines = assemble(_PRODUCT), {}
    cells, instructions = len(program.memory) - len(RESERVED), len(program.code) - 1
    for bits in (4, 8, 16):
        last, reads = (
            json.loads(FrozenSubleq(10, cells, instructions, bits, rounded_reads=rounded).frozen.json())
            for rounded in (False, True)
        )
        machines[bits] = last | {"reads": reads["layers"][:2]}  # the others are equal
    return {".json": lambda: (json.dumps({"program": _PRODUCT, "machines": machines}) + "\n").encode()}


def _program(source: str = "gcd", bits: int = 8, target: Target = "subleq") -> _Forms:
    """A Python program, compiled: its listing, memory and instructions, and the line of each.

    Args:
        source: a file, or the name of an example of :mod:`.compiler.examples`.
        bits: of an integer.
        target: ``subleq`` or ``fleq``.

    Raises:
        CompileError: what is outside the subset of Python, with its line.
        ParameterError: bits out of range, another target, or no such file or example.
    """
    path, names = Path(source), [name for name, one in vars(examples).items() if inspect.isfunction(one)]
    refuse_unless(path.is_file() or source in names, f"source must be a file or one of {names}, got {source!r}")
    if path.is_file():
        with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
            text = file.read(MOST_CHARACTERS + 1)
    else:
        text = inspect.getsource(getattr(examples, source))
    compiled = compile(text, bits=bits, target=target)
    content = {
        "source": text,
        "bits": bits,
        "target": target,
        "listing": compiled.listing,
        "memory": compiled.memory,
        "code": [one if target == "subleq" else asdict(one) for one in compiled.program.code],
        "lines": compiled.source_map,
        "cells": {name: [cells.start, cells.stop] for name, cells in compiled.cells.items()},
    }
    return {".json": lambda: (json.dumps(content) + "\n").encode()}


def _compiler(bits: int = 8, tokens: int = 512) -> _Forms:
    """The means to compile and run Python elsewhere: four layers, the rules of each instruction, and the examples.

    The layers run every program of at most so many tokens.

    Args:
        bits: of an integer, from 4 to 32.
        tokens: of the largest program, from 8 to 1000.

    Raises:
        ParameterError: an argument out of its range.
    """
    require(bits=(bits, 4, 32), tokens=(tokens, 8, 1000))
    other = 3 + len(RESERVED)  # the scratchpad, one cell, the halt
    machine = json.loads(FrozenSubleq(4, 1, tokens - other, bits).frozen.json())
    parts = ("name", "sizes", "temperature", "of the transformer", "rows", "layers")
    content = {
        "machine": {name: machine[name] for name in parts},
        "rules": RULES,
        "examples": {name: inspect.getsource(one) for name, one in vars(examples).items() if inspect.isfunction(one)},
    }
    return {".json": lambda: (json.dumps(content) + "\n").encode()}


def _forms(frozen: FrozenMachine) -> _Forms:
    return {".onnx": frozen.onnx, ".json": frozen.json}


EXPORTS: dict[str, Callable[..., _Forms]] = {
    "compiler": _compiler,
    "subleq": _subleq,
    "fleq": _fleq,
    "program": _program,
    "programs": _programs,
    "orders": _orders,
}
