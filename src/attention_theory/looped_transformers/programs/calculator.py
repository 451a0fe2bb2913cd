"""The calculator: six operations as function blocks, and the paper's sample program (Theorem 4, Algorithm 7)."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_theory.looped_transformers.blocks.approximation import (
    reciprocal_partition,
    reciprocal_sigmoids,
    root_at_scales,
    root_sigmoids,
)
from attention_theory.looped_transformers.blocks.base import FunctionBlock
from attention_theory.looped_transformers.blocks.column_sums import ColumnSumBlock
from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum, SigmoidSumBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.validation import require

#: Algorithm 7: sqrt(1 / (((a + b) - c) d)) / 100. A percentage is a product with 0.01 (Corollary 7).
TEXT = """
t = add(p, q)
t = sub(t, r)
t = mul(t, s)
t = inverse(t)
t = root(t)
t = mul(percent, t)
halt
"""


def calculator_program(a: float, b: float, c: float, d: float, size: int = 2) -> FleqProgram:
    """Algorithm 7 for four numbers; the result is in ``t``. Numbers need 2 by 2 cells, and may lie in larger ones.

    Raises:
        ParameterError: a size below 2.
    """
    require(size=(size, 2, None))
    return assemble(TEXT, {"p": a, "q": b, "r": c, "s": d, "t": 0.0, "percent": 0.01}, size)


def exact_trace(a: float, b: float, c: float, d: float) -> list[float]:
    """The exact ``t`` after each instruction."""
    steps: list[Callable[[float], float]] = [
        lambda _: a + b,
        lambda t: t - c,
        lambda t: t * d,
        lambda t: 1 / t,
        lambda t: t**0.5,
        lambda t: 0.01 * t,
    ]
    trace, t = [], 0.0
    for step in steps:
        t = step(t)
        trace.append(t)
    return trace


def calculator_sums(
    error: float, least: float, most: float, root_most: float, both_signs: bool = False
) -> tuple[SigmoidSum, SigmoidSum]:
    """The sums of sigmoids for 1/x on [least, most] (and its mirror image) and for the root on [0, root_most]."""
    reciprocal = reciprocal_sigmoids(error, least, most)
    return (reciprocal.mirrored() if both_signs else reciprocal), root_sigmoids(error, root_most)


def whole_range_sums(terms: int) -> tuple[SigmoidSum, SigmoidSum]:
    """The sums for all of Theorem 4's ranges, of at most ``terms`` sigmoids each.

    1/x for both signs and ``1.5 / sqrt(terms / 2) <= |x| <= exp(terms / 2)``, up to ``1.5 / sqrt(terms / 2)``
    (Corollary 8, half of the sigmoids for each sign); the root on [0, terms²] up to ``1 / terms`` (Corollary 9).

    Raises:
        ParameterError: fewer than 25 terms, or more than 400.
    """
    require(terms=(terms, 25, 400))
    least = 1.5 / math.sqrt(terms / 2)
    return reciprocal_sigmoids(least, least, math.exp(terms / 2)).mirrored(), root_at_scales(
        terms, float(terms**2), 1 / terms
    )


def calculator_blocks(reciprocal: SigmoidSum, root: SigmoidSum, columns: bool = False) -> list[FunctionBlock]:
    """The five blocks of the calculator; the percentage is the product's.

    With ``columns`` each has one head: a column for each sigmoid in place of a head (Remark 2).
    """
    heads, sums = (1, ColumnSumBlock) if columns else (2, SigmoidSumBlock)
    arithmetic = [ProductBlock(), SumBlock("add", heads), SumBlock("sub", heads)]
    return [*arithmetic, sums("inverse", reciprocal), sums("root", root)]


def finest_reciprocal(terms: int, least: float, most: float) -> float:
    """The least error, to a part in 10^6, for which Lemma 18 makes 1/x on [least, most] of at most ``terms`` sigmoids.

    Raises:
        ParameterError: an interval that takes more than ``terms`` sigmoids even for an error of 1.
    """
    require(terms=(terms, reciprocal_partition(1.0, least, most).intervals, None))
    low, high = 1e-6, 1.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reciprocal_partition(middle, least, most).intervals <= terms else (middle, high)
    return high


def first_entries(program: FleqProgram, memories: list[Tensor], name: str) -> list[float]:
    """A variable's first entry after each step."""
    return torch.stack(memories)[:, program.addresses[name], 0].tolist()
