import pytest
import torch

from attention_theory.linear_attention.experiments.automata import StringForm
from attention_theory.linear_attention.experiments.decoder import DecoderSize
from attention_theory.linear_attention.experiments.dfa_training import DecoderTraining

FORM = StringForm(4, 1, 1)
SIZE = DecoderSize(FORM.vocabulary, 16, 2, 1)
EASY = DecoderTraining(batch=8, lr=0.01)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
def test_an_easy_form_is_learned_in_one_pass(device: str) -> None:
    reached = EASY.one_pass(FORM, SIZE, 6400, [0, 1], device)
    for one in reached:
        assert one.examples is not None
        assert one.examples == one.curve[-1][0]
        assert one.examples % EASY.every < EASY.batch
        assert one.history >= 0.97
        assert one.other_tables < 0.95
    if device == "cpu":
        assert EASY.one_pass(FORM, SIZE, 6400, [0, 1]) == reached


def test_a_run_in_a_stack_is_a_run_by_itself() -> None:
    """Up to the order of sums: the others of the stack, and their leaving it, are not seen by a run."""
    together = EASY.one_pass(FORM, SIZE, 6400, [0, 1, 2])
    alone = [EASY.one_pass(FORM, SIZE, 6400, [seed])[0] for seed in range(3)]
    assert len({one.examples for one in alone}) > 1
    for one, other in zip(together, alone, strict=True):
        assert one.examples is not None
        assert other.examples is not None
        assert abs(one.examples - other.examples) <= 2 * EASY.every


def test_too_few_strings_reach_nothing() -> None:
    form = StringForm(3, 2, 2)
    (reached,) = EASY.one_pass(form, DecoderSize(form.vocabulary, 16, 2, 1), 40, [0])
    assert reached.examples is None
    assert reached.history < 0.99


def test_what_gets_nowhere_is_given_up() -> None:
    idle = DecoderTraining(batch=64, lr=1e-7, patience=1000)
    (reached,) = idle.one_pass(FORM, SIZE, 10**9, [0])
    assert reached.examples is None


@pytest.mark.parametrize("device", DEVICES)
def test_data_sets_are_tried_in_order(device: str) -> None:
    reached = EASY.data_sets(FORM, SIZE, [2, 64, 128], 100, [0, 1], device)
    for one in reached:
        assert one.examples in (64, 128)
        assert one.history >= 0.97
