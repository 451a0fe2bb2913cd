import pytest
import torch

from attention_theory.linear_attention.certified import bounds
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.linear_attention.model.rounding import round_token


def test_features_that_are_too_long_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def longer(tokens: torch.Tensor) -> torch.Tensor:
        return certificate_features(tokens) * (1 + 2.0**-52)

    monkeypatch.setattr(bounds, "certificate_features", longer)
    assert bounds.certify_robustness(2, 2).outcome != "proved"


def test_another_threshold_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def lower(tokens: torch.Tensor, blocks: list[torch.Tensor], threshold: float = 0.4999) -> torch.Tensor:
        return round_token(tokens, blocks, threshold)

    monkeypatch.setattr(bounds, "round_token", lower)
    assert bounds.certify_rounding().outcome == "refuted"
