import pytest
import torch

from attention_theory.linear_attention.certified import small_machines
from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor


def test_a_weight_of_the_automaton_that_is_two_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are whole numbers; the smallest step is 1. The state then has an entry 2, which is no letter."""
    heads = AutomatonExecutor(2, 2, 2).heads
    weights = torch.ones_like(heads[-1].value)
    weights[0] = 2
    object.__setattr__(heads[-1], "weight", weights)
    monkeypatch.setattr(AutomatonExecutor, "heads", heads)
    assert small_machines.certify_automata(2, 2, 2).outcome == "refuted"
