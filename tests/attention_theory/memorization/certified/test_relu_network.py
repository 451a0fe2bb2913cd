import pytest
import torch

from attention_theory.memorization.certified import relu_network
from attention_theory.memorization.certified.relu_network import certify_as_powerful, certify_fold
from attention_theory.training import Parameters


def test_a_fold_that_is_wrong_in_its_last_bit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = relu_network.fold_prefix

    def wrong(*arguments: object) -> Parameters:
        folded = exact(*arguments)  # type: ignore[arg-type]
        return folded | {"b1": torch.nextafter(folded["b1"], torch.tensor(9.0).double())}

    monkeypatch.setattr(relu_network, "fold_prefix", wrong)
    assert certify_fold(tokens=2, width=3).outcome != "proved"


def test_a_network_that_is_far_larger_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = relu_network.parameter_count
    monkeypatch.setattr(relu_network, "parameter_count", lambda *sizes: 4 * exact(*sizes))
    assert certify_as_powerful().outcome == "refuted"
