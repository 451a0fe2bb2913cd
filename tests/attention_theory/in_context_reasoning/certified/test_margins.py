import pytest
import torch

from attention_theory.in_context_reasoning.certified.margins import (
    ask_hard_margin,
    certify_hard_margin,
    certify_more_outputs,
)
from attention_theory.in_context_reasoning.direction import instance

CASE = instance(5, 6)


def test_the_direction_of_the_paper_is_the_hard_margin() -> None:
    assert certify_hard_margin([instance(4, 4), CASE]).settled


def test_the_direction_with_more_outputs() -> None:
    assert certify_more_outputs((2, 3)).settled


@pytest.mark.parametrize("code", [0, 1, 2, 3, 5, 9])
def test_another_direction_is_noticed(code: int) -> None:
    """An entry of the direction is one more."""
    direction = CASE.claimed_direction
    direction[code] += 1
    assert {answer.outcome for answer in ask_hard_margin(CASE, direction)} != {"proved"}


def test_a_sentence_that_breaks_the_instance_is_noticed() -> None:
    """A neutral word follows the trigger in the context."""
    tokens = CASE.sentences.tokens.clone()
    tokens[-1] = torch.tensor([0, 4, 0, 2, 3, 0])
    case = type(CASE)(CASE.tokens, CASE.outputs, type(CASE.sentences)(tokens, *_labels()), CASE.probability)
    assert {answer.outcome for answer in ask_hard_margin(case, case.claimed_direction)} != {"proved"}


def _labels() -> tuple[torch.Tensor, torch.Tensor]:
    return CASE.sentences.trigger, CASE.sentences.output
