import pytest
import torch

from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum
from attention_theory.looped_transformers.certified import approximation
from attention_theory.looped_transformers.certified.approximation import certify_root_sigmoids
from attention_theory.validation import ParameterError


def test_a_height_that_is_too_large_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = approximation.root_sigmoids

    def wrong(error: float, most: float) -> SigmoidSum:
        built = exact(error, most)
        built.heights[3] += 2 * error
        return built

    monkeypatch.setattr(approximation, "root_sigmoids", wrong)
    assert certify_root_sigmoids().outcome != "proved"


def test_a_sum_that_falls_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    falling = SigmoidSum(*(torch.tensor([value], dtype=torch.float64) for value in (-1.0, 0.0, 1.0)))
    monkeypatch.setattr(approximation, "root_sigmoids", lambda error, most: falling)
    with pytest.raises(ParameterError, match="sigmoids that rise"):
        certify_root_sigmoids()
