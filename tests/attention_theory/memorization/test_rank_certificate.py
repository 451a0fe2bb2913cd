from typing import Any

import pytest
import torch
from torch import Tensor

from attention_theory.memorization import rank_certificate as module
from attention_theory.memorization.examples import sample_examples, with_faulty_context
from attention_theory.memorization.rank_certificate import rank_certificate


@pytest.mark.parametrize("shared", [True, False])
def test_the_bound_is_met_exactly(shared: bool) -> None:
    found = rank_certificate(sample_examples(13, 4, 6, shared, "integer", seed=1), heads=4)
    assert found.rank == found.bound == 13
    assert found.queries_independent


def test_more_shared_examples_do_not_help() -> None:
    assert rank_certificate(sample_examples(17, 4, 6, True, "integer", seed=1), heads=4).rank == 13


def test_a_duplicate_token_costs_one_per_head() -> None:
    examples = with_faulty_context(sample_examples(13, 4, 6, True, "integer", seed=1), "duplicate")
    assert rank_certificate(examples, heads=4).rank == 9


def test_every_head_is_silent_on_its_own_examples_and_saturated_on_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 14 examples four heads with n = 4 fit three each; the first and the one beyond 13 are fitted by none."""
    masks: list[list[int]] = []
    find = module.silent_direction

    def noted(examples: Any, silent: Tensor, loud: Tensor, source: torch.Generator) -> Any:
        assert torch.equal(loud, ~silent)
        masks.append(silent.nonzero()[:, 0].tolist())
        found = find(examples, silent, loud, source)
        logits = module.column_logits(examples, found[0])
        assert logits[silent].abs().max() < 1e-6 * logits[loud].abs().max()
        return found

    monkeypatch.setattr(module, "silent_direction", noted)
    rank_certificate(sample_examples(14, 4, 6, True, "integer", seed=1), heads=4)
    assert masks == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]
