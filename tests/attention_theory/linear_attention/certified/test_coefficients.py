import pytest
import torch

from attention_theory.linear_attention.certified import coefficients as certified
from attention_theory.linear_attention.model.features import cubic_features
from attention_theory.linear_attention.model.parameters import coefficients, lift


def test_inputs_of_two_tokens_determine_the_features() -> None:
    """They span as much as many random ones do."""
    some = certified.whole_inputs(3, 2)
    many = torch.randint(-9, 10, (200, 2, 3), generator=torch.Generator().manual_seed(0)).double()
    ranks = [torch.linalg.matrix_rank(cubic_features(inputs).flatten(1)).item() for inputs in (some, many)]
    assert ranks == [18, 18]


def test_a_lift_that_is_wrong_in_its_last_bit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(row: torch.Tensor, width: int) -> torch.Tensor:
        lifted = lift(row, width)
        lifted[..., 0, 0] *= 1 + 2.0**-52
        return lifted

    monkeypatch.setattr(certified, "lift", wrong)
    assert certified.certify_many_heads(2).outcome == "refuted"


def test_coefficients_that_lose_a_term_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(model: torch.Tensor) -> torch.Tensor:
        p = coefficients(model).clone()
        p[..., 0] = 0
        return p

    monkeypatch.setattr(certified, "coefficients", wrong)
    assert certified.certify_distance(2).outcome == "refuted"
