"""Both ends of every bound of model and learning: the value at an end is taken, one beyond is refused by its name."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from attention_theory.linear_attention.learning.error_bounds import draw_directions, printed_noise_numerator
from attention_theory.linear_attention.learning.exact_moments import (
    exact_second_moment,
    gaussian_law,
    linear_feature_moments,
)
from attention_theory.linear_attention.learning.gradient_descent import descend
from attention_theory.linear_attention.learning.interpolation import design, interpolate, least_eigenvalue_bound
from attention_theory.linear_attention.learning.kernel import kernel_fit, learn_runs, prefix_kernel, sectors
from attention_theory.linear_attention.learning.learned_machine import learning_curve
from attention_theory.linear_attention.learning.levenberg_marquardt import fit_many
from attention_theory.linear_attention.learning.operations import steps_to
from attention_theory.linear_attention.learning.quadratic import random_quadratic
from attention_theory.linear_attention.learning.regression import least_squares, statistics
from attention_theory.linear_attention.learning.sample_complexity import excess_risks
from attention_theory.linear_attention.model.autoregression import autoregress, history_entry, last_tokens
from attention_theory.linear_attention.model.features import cubic_features, psi
from attention_theory.linear_attention.model.mhla import random_heads
from attention_theory.linear_attention.model.parameters import antisymmetric_twin, coefficients, heads_from_matrix
from attention_theory.randomness import normal
from ends_of_ranges import hold_ends

DATA = statistics(normal(20, 3, 2, seed=0), normal(20, 1, seed=1))
RUNS = normal(3, 5, 2, seed=0)
TOKENS = normal(5, 2, seed=0)
LAW = gaussian_law()
NOISE = {"epsilon": 0.1, "noise": torch.ones(2, 1), "data": normal(2, 3, 2, seed=0)}
RISKS = {"width": 2, "tokens": 3, "samples": [12], "repetitions": 1, "seed": 0}
KERNEL = {"left": RUNS, "right": RUNS}


def design_labels(width: int) -> torch.Tensor:
    return torch.ones(width * (width + 1) // 2 + 1, 1)


def curve(**given: Any) -> list[torch.Tensor]:
    return list(learning_curve(RUNS, RUNS, **given))


def add(tokens: torch.Tensor) -> torch.Tensor:
    return tokens[..., -1, :]


#: What is called, with what, which argument is moved (and what it is called), to which ends, and beyond them.
CASES: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any], list[Any]]] = [
    (printed_noise_numerator, NOISE, "failure", [1e-300, 1.0], [0.0, 1.1]),
    (draw_directions, {"data": DATA, "seed": 0}, "count", [3], [2]),
    (exact_second_moment, {"law": LAW, "width": 1}, "tokens", [1], [0]),
    (exact_second_moment, {"law": LAW, "tokens": 1}, "width", [1], [0]),
    (linear_feature_moments, {"law": LAW}, "tokens", [1], [0, 9]),
    (descend, {"data": DATA, "seed": 0}, "steps", [0], [-1]),
    (design, {"last": 0}, "width", [1], [0]),
    (design, {"width": 3}, "last", [0, 2], [-1, 3]),
    (interpolate, {"labels": design_labels(3), "width": 3}, "last", [0, 2], [-1, 3]),
    (interpolate, {"width": 1, "last": 0}, "labels=samples", [torch.ones(2, 1)], [torch.ones(1, 1), torch.ones(3, 1)]),
    (least_eigenvalue_bound, {}, "width", [1], [0]),
    (prefix_kernel, KERNEL | {"others": [1]}, "lengths", [[1], [5], [1, 2]], [[0], [6]]),
    (prefix_kernel, KERNEL | {"lengths": [1]}, "others", [[1], [5], [1, 2]], [[0], [6]]),
    (prefix_kernel, KERNEL | {"others": [1]}, "lengths=rise of lengths", [[1, 2]], [[1, 1], [2, 1]]),
    (sectors, {"runs": RUNS}, "first", [1, 4], [0, 5]),
    (kernel_fit, {"gram": torch.eye(2), "labels": torch.ones(2, 1)}, "rtol", [0.0, 1.0], [-0.1, 1.1]),
    (kernel_fit, {"labels": torch.ones(0, 1)}, "gram=samples", [], [torch.ones(0, 0)]),
    (learn_runs, {"first": 1}, "runs", [RUNS[:1]], [RUNS[:0]]),
    (curve, {"first": 1}, "counts", [[1], [3]], [[0], [4], []]),
    (
        fit_many,
        {"features": torch.ones(2, psi(1)), "labels": torch.ones(2, 1), "start": random_heads(1, 1, 0, models=(1,))},
        "steps",
        [1],
        [0],
    ),
    (steps_to, {"data": DATA, "width": 2}, "epsilon", [1e-3], [0.0, -1.0]),
    *[(random_quadratic, {"heads": 2, "width": 2, "seed": 0}, name, [1], [0]) for name in ("heads", "width")],
    (least_squares, {"features": torch.eye(2), "labels": torch.ones(2, 1)}, "rtol", [0.0, 1.0], [-0.1, 1.1]),
    (least_squares, {"labels": torch.ones(0, 1)}, "features=samples", [], [torch.ones(0, 2)]),
    (DATA.solve, {}, "rtol", [0.0, 1.0], [-0.1, 1.1]),
    (excess_risks, RISKS | {"samples": [2]}, "width", [1], [0]),
    (excess_risks, RISKS, "tokens", [2], [1]),
    (excess_risks, RISKS, "repetitions", [1], [0]),
    (excess_risks, RISKS, "samples", [[12]], [[11], []]),
    (excess_risks, RISKS, "labels", ["gaussian", "cauchy", "signs"], ["even"]),
    (excess_risks, RISKS, "inputs", ["normal", "pareto"], ["even"]),
    (autoregress, {"step": add, "prompt": TOKENS}, "steps", [0], [-1]),
    (autoregress, {"step": add, "prompt": TOKENS, "steps": 1}, "form", ["correct", "printed"], ["right"]),
    (history_entry, {"tokens": TOKENS, "step": 0}, "prompt_tokens", [1, 5], [0, 6]),
    (history_entry, {"tokens": TOKENS, "prompt_tokens": 2}, "step", [0, 3], [-1, 4]),
    (last_tokens, {"tokens": TOKENS}, "count", [1, 5], [0, 6]),
    (cubic_features, {"tokens": TOKENS}, "form", ["correct", "printed"], ["right"]),
    (psi, {}, "width", [1], [0]),
    *[
        (random_heads, {"heads": 2, "width": 2, "out": 2, "seed": 0}, name, [1], [0])
        for name in ("heads", "width", "out")
    ],
    (coefficients, {"heads": random_heads(1, 2, 0)}, "form", ["correct", "printed"], ["right"]),
    (heads_from_matrix, {"matrix": torch.eye(4)}, "rtol", [0.0, 1.0], [-0.1, 1.1]),
    (antisymmetric_twin, {"seed": 0}, "matrix=width", [torch.zeros(2, 4)], [torch.zeros(1, 1)]),
]


@pytest.mark.parametrize(("call", "given", "argument", "taken", "refused"), CASES)
def test_the_ends_are_taken_and_what_is_beyond_is_refused_by_name(
    call: Callable[..., Any], given: dict[str, Any], argument: str, taken: list[Any], refused: list[Any]
) -> None:
    hold_ends(call, given, argument, taken, refused)
