from collections.abc import Callable

import pytest
import torch

from attention_theory.certificates import Certificate
from attention_theory.linear_attention.certified import coefficients as certified
from attention_theory.linear_attention.model.features import cubic_features
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.linear_attention.model.parameters import coefficients, lift


def test_inputs_of_two_tokens_determine_the_features() -> None:
    """They span as much as many random ones do."""
    some = certified.whole_inputs(3, 2)
    many = torch.randint(-9, 10, (200, 2, 3), generator=torch.Generator().manual_seed(0)).double()
    ranks = [torch.linalg.matrix_rank(cubic_features(inputs).flatten(1)).item() for inputs in (some, many)]
    assert ranks == [18, 18]


@pytest.mark.parametrize("certify", [certified.certify_many_heads, certified.certify_least_norm])
def test_a_lift_that_is_wrong_in_its_last_bit_is_noticed(
    certify: Callable[[int], Certificate], monkeypatch: pytest.MonkeyPatch
) -> None:
    factor = torch.ones(4, 4, dtype=torch.float64)
    factor[0, 0] += 2.0**-52
    monkeypatch.setattr(certified, "lift", lambda row, width: lift(row, width) * factor)
    assert certify(2).outcome == "refuted"


def test_coefficients_that_lose_a_term_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = torch.tensor([0.0, 1, 1, 1, 1, 1], dtype=torch.float64)
    monkeypatch.setattr(certified, "coefficients", lambda model: coefficients(model) * kept)
    assert certified.certify_distance(2).outcome == "refuted"


def test_a_distance_that_leaves_out_a_coefficient_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(first: Heads, second: Heads) -> torch.Tensor:
        return torch.linalg.matrix_norm((coefficients(first) - coefficients(second))[:, 1:])

    monkeypatch.setattr(certified, "distance", wrong)
    assert certified.certify_distance(2).outcome == "refuted"
