"""Both ends of every bound of the blocks: the value at an end is taken, one beyond is refused by its name."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from attention_theory.looped_transformers.blocks.approximation import (
    reciprocal_partition,
    reciprocal_sigmoids,
    root_partition,
    root_sigmoids,
)
from attention_theory.looped_transformers.blocks.barron import Element, bump_constant, greedy_fit
from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.product import ProductBlock, divided_entry
from attention_theory.looped_transformers.blocks.relu_square import (
    deep_square,
    distance_to_square,
    fewest_layers,
    least_distance,
    pieces,
    wide_square,
    zigzag,
)
from attention_theory.looped_transformers.blocks.root_integral import root_at_scales
from attention_theory.looped_transformers.blocks.sum import SumBlock, sum_in_four_steps
from attention_theory.looped_transformers.blocks.transpose import (
    TransposeBlock,
    transpose_in_groups,
    transpose_vectorised,
)
from ends_of_ranges import hold_ends

EYE = torch.eye(2, dtype=torch.float64)
POINTS = torch.linspace(-1, 1, 5, dtype=torch.float64)
FIT = {"target": POINTS, "x": POINTS, "terms": 2, "tau": 5.0, "constant": 1.0, "shifts": 5}
ELEMENT = {"gamma": 1.0, "a": 1.0, "b": 1.0, "tau": 1.0, "constant": 1.0}
BLOCK = {"block": SumBlock("add"), "a": EYE, "b": EYE}
FORMS = (["correct", "printed"], ["right"])

#: What is called, with what, which argument is moved (and what it is called), to which ends, and beyond them.
CASES: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any], list[Any]]] = [
    (reciprocal_partition, {"least": 1.0, "most": 1.0}, "error", [1e-6, 1.0], [0.0, 1.1]),
    (reciprocal_partition, {"error": 1.0, "most": 1.0}, "least", [0.5, 1.0], [0.0, 1.1]),
    (reciprocal_partition, {"error": 1.0, "least": 1.0}, "most", [1.0], [0.9]),
    (reciprocal_sigmoids, {"error": 1.0, "least": 0.5}, "most", [1.0], [0.9]),
    (root_partition, {"most": 1e-9}, "error", [1e-6, 1.0], [0.0, 1.1]),
    (root_partition, {"error": 1.0}, "most", [1e-9], [0.0, -1.0]),
    (root_sigmoids, {"most": 1e-9}, "error", [1e-6, 1.0], [0.0, 1.1]),
    (root_sigmoids, {"error": 1.0}, "most", [1e-9], [0.0, -1.0]),
    (bump_constant, {}, "width", [1e-6], [0.0, -1.0]),
    (Element, ELEMENT, "gamma", [-2.0, 2.0], [-2.1, 2.1]),
    (Element, ELEMENT, "a", [-1.0, 1.0], [-1.1, 1.1]),
    (Element, ELEMENT, "b", [-1.0, 1.0], [-1.1, 1.1]),
    (Element, ELEMENT, "tau", [0.0], [-0.1]),
    (Element, ELEMENT | {"gamma": 0.0}, "constant", [0.0], []),
    (greedy_fit, FIT, "terms", [1], [0]),
    (greedy_fit, FIT, "tau", [0.0], [-0.1]),
    (greedy_fit, FIT, "shifts", [2], [1]),
    (run_block, BLOCK, "temperature", [1e-6], [0.0]),
    (run_block, BLOCK, "spare", [0, 1], [-1]),
    (ProductBlock, {}, "product", ["ab", "ba", "bb", "aa"], ["cc"]),
    (ProductBlock, {}, "slope", [1e-30], [0.0]),
    (ProductBlock, {}, "height", [0.0, 300.0], [-0.1, 300.1]),
    (ProductBlock, {}, "form", *FORMS),
    (divided_entry, {"scores": POINTS, "height": 40.0}, "form", *FORMS),
    (least_distance, {"depth": 1}, "width", [1], [0]),
    (least_distance, {"width": 1}, "depth", [1], [0]),
    (wide_square, {}, "units", [1], [0]),
    (deep_square, {}, "depth", [1], [0]),
    (zigzag, {"depth": 1}, "units", [2], [1]),
    (zigzag, {"units": 2}, "depth", [1], [0]),
    (distance_to_square, {"network": wide_square(1)}, "parts", [1], [0]),
    (pieces, {"network": wide_square(1)}, "parts", [2], [0]),
    (fewest_layers, {"error": 0.1}, "width", [1], [0]),
    (fewest_layers, {"width": 2}, "error", [1e-300, 0.125], [0.0, 0.126]),
    (root_at_scales, {"most": 1.0, "error": 0.1}, "terms", [3], [2]),
    (root_at_scales, {"terms": 3, "error": 0.1}, "most", [1e-9], [0.0]),
    (root_at_scales, {"terms": 3, "most": 1.0}, "error", [1e-9], [0.0]),
    (SumBlock, {}, "name", ["add", "sub"], ["mul"]),
    (SumBlock, {"name": "add"}, "heads", [1, 2], [0, 3]),
    (sum_in_four_steps, {"a": POINTS, "b": POINTS}, "form", *FORMS),
    (TransposeBlock, {}, "form", *FORMS),
    (transpose_in_groups, {"matrix": EYE}, "temperature", [1e-6], [0.0]),
    (transpose_in_groups, {}, "matrix=size", [EYE], [EYE[:1, :1]]),
    (transpose_in_groups, {"matrix": EYE}, "form", *FORMS),
    (transpose_vectorised, {"matrix": EYE}, "form", *FORMS),
]


@pytest.mark.parametrize(("call", "given", "argument", "taken", "refused"), CASES)
def test_the_ends_are_taken_and_what_is_beyond_is_refused_by_name(
    call: Callable[..., Any], given: dict[str, Any], argument: str, taken: list[Any], refused: list[Any]
) -> None:
    hold_ends(call, given, argument, taken, refused)
