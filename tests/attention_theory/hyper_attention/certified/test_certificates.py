from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_theory.certificates import Certificate
from attention_theory.hyper_attention.certified import (
    data,
    fourier,
    gradients,
    moments,
    pairs,
    saddles,
    sizes,
    tuples,
    worlds,
)

EVERY: dict[str, Callable[[], Certificate]] = {
    "3.1": lambda: pairs.certify_representation(3),
    "B.1": pairs.certify_turn,
    "B.2": pairs.certify_narrow_layers,
    "5.1": pairs.certify_feature_layer,
    "F.6": pairs.certify_parallelogram,
    "beyond F.6": pairs.certify_reach,
    "gradients": gradients.certify_loss_gradients,
    "Eq. 21": gradients.certify_residual_motion,
    "C.1": gradients.certify_diagonal_counts,
    "C.2": gradients.certify_conservation,
    "G.9": gradients.certify_tuple_conservation,
    "strict saddles": saddles.certify_negative_curvature,
    "several outputs": saddles.certify_stuck,
    "3.2": data.certify_unshared_parameters,
    "unseen direction": lambda: data.certify_unseen_direction(5, 3),
    "4.9": data.certify_equivalence,
    "illustration of 4.8": data.certify_unseen_change,
    "4.6": lambda: data.certify_generalization([3]),
    "4.8": lambda: data.certify_generalization([1, 2, 3, 4, 5]),
    "E.1": moments.certify_second_moment,
    "E.3": moments.certify_scenario,
    "E.2": moments.certify_growth,
    "example 1": worlds.certify_collisions,
    "alleles": worlds.certify_saturated_alleles,
    "hunters": worlds.certify_hunters,
    "B.4": fourier.certify_window_series,
    "B.6": fourier.certify_differences,
    "F.4": sizes.certify_block_parameters,
    "trigram": tuples.certify_skip_trigram,
    "6.1": tuples.certify_five_sums,
    "G.4": tuples.certify_tuple_representation,
    "low rank": tuples.certify_low_rank_form,
    "Eq. 43": tuples.certify_linear_form,
    "G.8": tuples.certify_four_factors,
    "G.10": tuples.certify_pair_versatility,
}

#: What a certificate is about: the name under which its module calls it. Not those that hold for a scaled layer too.
CALLED = [
    ("3.1", pairs, "represent"),
    ("3.1", pairs, "linear_attention"),
    ("5.1", pairs, "layer_of"),
    ("beyond F.6", pairs, "linear_stack"),
    ("gradients", gradients, "loss_gradients"),
    ("Eq. 21", gradients, "residual_maps"),
    ("C.2", gradients, "gram_gradients"),
    ("strict saddles", saddles, "gram_loss"),
    ("several outputs", saddles, "linear_attention"),
    ("unseen direction", data, "unique_null_vector"),
    ("unseen direction", data, "data_matrix"),
    ("illustration of 4.8", data, "unique_null_vector"),
    ("4.9", data, "functional_tensor"),
    ("E.1", moments, "uniform_second_moment"),
    ("6.1", tuples, "pair_counts"),
    ("G.4", tuples, "factors_of"),
    ("Eq. 43", tuples, "linear_pair_sum"),
    ("low rank", tuples, "tensor_from_factors"),
    ("G.8", tuples, "four_fold_counts"),
]


def _in_last_bit(made: Any) -> Any:
    """The same with one entry of the first tensor moved by the relative size of a last bit."""
    if isinstance(made, tuple | list):
        return type(made)([_in_last_bit(made[0]), *made[1:]])
    if not isinstance(made, Tensor):
        return type(made)(_in_last_bit(made.score), made.value, made.loss)
    factor = torch.ones(made.shape, dtype=torch.float64)
    place = int((made != 0).flatten().int().argmax()) if type(made) is Tensor else made.numel() - 1
    factor.view(-1)[place] += torch.finfo(torch.float64).eps
    return made * factor


#: What is wrong of what code makes; the floats of the second half are certified up to rounding, or by cases or sizes.
WRONG: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    *((claim, module, name, _in_last_bit) for claim, module, name in CALLED),
    ("E.2", moments, "counts", lambda made: 2 * made),
    ("example 1", worlds, "window_matrix", _in_last_bit),
    ("example 1", worlds, "simulate", lambda made: (made[0], made[1].transpose(1, 2) & made[1].roll(1, 0))),
    ("alleles", worlds, "activation_score", lambda made: made * (1 - 1e-14)),
    ("alleles", worlds, "activation", lambda made: made.round()),
    ("hunters", worlds, "value_heads", lambda made: made[1:]),
    ("hunters", worlds, "simulated_values", lambda made: made.clamp(min=-1)),
    ("B.4", fourier, "window_coefficients", lambda made: made + 3e-14),
    ("B.6", fourier, "attention_matrix", lambda made: made + 1e-13),
    ("B.6", fourier, "position_code", lambda made: made.roll(1, 1)),
    ("F.4", sizes, "_count", lambda made: made + 1),
    ("trigram", tuples, "aggregate_interactions", _in_last_bit),
    ("trigram", tuples, "aggregate_tuples", _in_last_bit),
]


@pytest.mark.parametrize(("claim", "module", "name", "wrong"), WRONG)
def test_what_is_a_little_wrong_is_noticed(
    claim: str, module: Any, name: str, wrong: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *args, **named: wrong(code(*args, **named)))
    assert EVERY[claim]().outcome != "proved"


@pytest.mark.parametrize("claim", EVERY)
def test_it_is_settled(claim: str) -> None:
    assert EVERY[claim]().settled


def test_a_layer_that_is_right_in_training_alone_is_refused() -> None:
    control = data.certify_generalization([1, 2, 3]).control
    assert control.outcome == "refuted"
    assert "off by 0 in training" in control.observed
