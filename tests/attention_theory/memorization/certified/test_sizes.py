from collections.abc import Callable

import pytest

from attention_theory.certificates import Certificate
from attention_theory.memorization.certified import sizes
from attention_theory.memorization.certified.sizes import (
    certify_key_width,
    certify_longer_contexts,
    certify_more_heads,
    certify_parameter_count,
)


def _key_width() -> Certificate:
    return certify_key_width(heads=2, width=8)


def test_a_formula_that_forgets_a_weight_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = sizes.parameter_count
    monkeypatch.setattr(sizes, "parameter_count", lambda *shape, **form: exact(*shape, **form) - 1)
    assert certify_parameter_count().outcome != "proved"


@pytest.mark.parametrize("certify", [certify_more_heads, _key_width])
def test_a_count_that_is_wrong_by_the_heads_is_noticed(
    certify: Callable[[], Certificate], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = sizes.dimension_count
    monkeypatch.setattr(sizes, "dimension_count", lambda H, n, d, d_h, shared: exact(H, n, d, d_h, shared) + H * d_h)
    assert certify().outcome != "proved"


def test_a_count_that_adds_a_label_for_every_token_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = sizes.dimension_count
    monkeypatch.setattr(sizes, "dimension_count", lambda H, n, d, d_h, shared: exact(H, n, d, d_h, shared) + n)
    assert certify_longer_contexts().outcome != "proved"
