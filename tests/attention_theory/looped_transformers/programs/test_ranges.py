"""Both ends of every bound of the programs: the value at an end is taken, one beyond is refused by its name."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from attention_theory.looped_transformers.blocks.approximation import reciprocal_partition
from attention_theory.looped_transformers.programs.backpropagation import random_network
from attention_theory.looped_transformers.programs.backpropagation_program import (
    listing_program,
    machine_listing,
    machine_program,
)
from attention_theory.looped_transformers.programs.calculator import calculator_program, finest_reciprocal
from attention_theory.looped_transformers.programs.losses import (
    huber_loss,
    loss_listing,
    loss_program,
    smooth_huber_by_rounds,
    smooth_huber_sigmoids,
)
from attention_theory.looped_transformers.programs.newton import newton_error_bound, newton_program, newton_residuals
from attention_theory.looped_transformers.programs.power_iteration import (
    distance_bounds,
    inverse_root_iterates,
    least_length,
    power_error_bound,
    power_iterates,
    power_program,
    root_rounds,
)
from attention_theory.looped_transformers.programs.regression import sgd_program, unrolled_program
from attention_theory.randomness import normal
from ends_of_ranges import hold_ends

MATRIX = torch.tensor([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.7]], dtype=torch.float64)
ONE = torch.tensor(1.0, dtype=torch.float64)
DATA = {"x": normal(2, 3, seed=0), "y": normal(2, seed=1), "rate": 0.1}
TRAINED = DATA | {"network": random_network(3, 3, 0)}
FITTED = DATA | {"w": normal(3, seed=2)}
FEWEST = reciprocal_partition(1.0, 0.5, 1.0).intervals
FORMS = (["correct", "printed"], ["right"])

#: What is called, with what, which argument is moved (and what it is called), to which ends, and beyond them.
CASES: list[tuple[Callable[..., Any], dict[str, Any], str, list[Any], list[Any]]] = [
    (random_network, {"d": 2, "seed": 0}, "hidden", [1], [0]),
    (random_network, {"hidden": 2, "seed": 0}, "d", [1], [0]),
    (listing_program, TRAINED, "epochs", [1], [0]),
    (machine_program, TRAINED, "epochs", [1], [0]),
    (
        listing_program,
        TRAINED,
        "network=hidden",
        [random_network(3, 3, 0)],
        [random_network(2, 3, 0), random_network(4, 3, 0)],
    ),
    (
        machine_program,
        TRAINED,
        "network=hidden",
        [random_network(3, 3, 0)],
        [random_network(2, 3, 0), random_network(4, 3, 0)],
    ),
    (machine_listing, {"points": 1}, "size", [1], [0]),
    (machine_listing, {"size": 1}, "points", [1], [0]),
    (calculator_program, {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}, "size", [2], [1]),
    (finest_reciprocal, {"least": 0.5, "most": 1.0}, "terms", [FEWEST], [FEWEST - 1]),
    (huber_loss, {"terms": 2}, "delta", [1e-6], [0.0]),
    (huber_loss, {"delta": 1.0}, "terms", [1], [0]),
    (huber_loss, {"delta": 1.0, "terms": 2}, "steepness", [1e-6], [0.0]),
    (smooth_huber_sigmoids, {}, "terms", [2], [1]),
    (smooth_huber_sigmoids, {"terms": 2}, "steepness", [1e-6], [0.0]),
    (smooth_huber_by_rounds, {"largest": 2.0}, "rounds", [1], [0]),
    (smooth_huber_by_rounds, {"rounds": 1}, "largest", [1.0], [0.9]),
    (loss_listing, {}, "points", [1], [0]),
    (loss_program, FITTED, "epochs", [1], [0]),
    (loss_program, FITTED | {"epochs": 1}, "inner", [0], [-1]),
    (loss_program, FITTED | {"epochs": 1}, "largest", [1.0], [0.9]),
    (newton_residuals, {"matrix": MATRIX}, "steps", [1], [0]),
    (newton_residuals, {"matrix": MATRIX, "steps": 1}, "form", *FORMS),
    (newton_error_bound, {"matrix": MATRIX, "slope": 1e-7}, "steps", [1], [0]),
    (newton_error_bound, {"matrix": MATRIX, "steps": 1}, "slope", [1e-30], [0.0]),
    (newton_program, {"matrix": MATRIX}, "rounds", [0], [-1]),
    (newton_program, {"matrix": MATRIX, "rounds": 1}, "form", *FORMS),
    (power_iterates, {"matrix": MATRIX, "start": MATRIX[0]}, "steps", [1], [0]),
    (distance_bounds, {"matrix": MATRIX}, "steps", [1], [0]),
    (inverse_root_iterates, {"square": ONE}, "steps", [1], [0]),
    (root_rounds, {}, "square", [1e-300 * ONE, ONE], [0 * ONE]),
    (root_rounds, {"square": ONE}, "error", [1e-300, 0.5], [0.0, 0.6]),
    (least_length, {"matrix": MATRIX}, "steps", [1], [0]),
    (power_error_bound, {"matrix": MATRIX, "slope": 1e-7}, "steps", [1], [0]),
    (power_error_bound, {"matrix": MATRIX, "steps": 1}, "slope", [1e-30], [0.0]),
    (power_program, {"matrix": MATRIX}, "steps", [1], [0]),
    (sgd_program, FITTED, "epochs", [1], [0]),
    (unrolled_program, FITTED, "epochs", [1], [0]),
]


@pytest.mark.parametrize(("call", "given", "argument", "taken", "refused"), CASES)
def test_the_ends_are_taken_and_what_is_beyond_is_refused_by_name(
    call: Callable[..., Any], given: dict[str, Any], argument: str, taken: list[Any], refused: list[Any]
) -> None:
    hold_ends(call, given, argument, taken, refused)
