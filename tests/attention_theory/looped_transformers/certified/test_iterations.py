from typing import Any

import pytest

from attention_theory.looped_transformers.certified import iterations
from attention_theory.looped_transformers.certified.iterations import certify_inverse_root, certify_newton


def test_a_step_with_another_factor_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def newton(matrix: Any, x: Any, identity: Any) -> Any:
        return x @ (2 * identity - x @ matrix @ x)

    def root(x: Any, square: Any) -> Any:
        return x * (1.5 - square * x / 2)

    monkeypatch.setattr(iterations, "newton_step", newton)
    monkeypatch.setattr(iterations, "inverse_root_step", root)
    assert certify_newton(2).outcome == "refuted"
    assert certify_inverse_root().outcome != "proved"
