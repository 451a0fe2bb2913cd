from collections.abc import Callable

import pytest
import torch

from attention_theory.certificates import Certificate
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSum
from attention_theory.looped_transformers.certified import approximation
from attention_theory.looped_transformers.certified.approximation import (
    certify_huber,
    certify_inversion,
    certify_reciprocal_sigmoids,
    certify_reciprocal_steps,
    certify_root_at_scales,
    certify_root_sigmoids,
    certify_root_steps,
)
from attention_theory.validation import ParameterError


@pytest.mark.parametrize(
    "certificate",
    [
        certify_reciprocal_steps,
        certify_root_steps,
        certify_reciprocal_sigmoids,
        certify_inversion,
        certify_root_sigmoids,
        certify_root_at_scales,
        certify_huber,
    ],
)
def test_sums_are_near_their_functions_at_every_real_number(certificate: Callable[[], Certificate]) -> None:
    assert certificate().settled


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
