from attention_theory.linear_attention.experiments.automata import StringForm
from attention_theory.linear_attention.experiments.decoder import DecoderSize
from attention_theory.linear_attention.experiments.dfa_training import data_sets, one_pass

FORM = StringForm(4, 1, 1)
SIZE = DecoderSize(FORM.vocabulary, 16, 2, 1)


def test_an_easy_form_is_learned_in_one_pass() -> None:
    reached = one_pass(FORM, SIZE, batch=16, steps=400, rate=0.01, seed=0)
    assert reached.examples is not None
    assert reached.examples == reached.curve[-1][0]
    assert reached.history >= 0.99
    assert one_pass(FORM, SIZE, batch=16, steps=400, rate=0.01, seed=0) == reached


def test_too_few_steps_reach_nothing() -> None:
    reached = one_pass(StringForm(3, 2, 2), DecoderSize(8, 16, 2, 1), batch=4, steps=10, rate=0.01, seed=0)
    assert reached.examples is None
    assert reached.history < 0.99


def test_data_sets_are_tried_in_order() -> None:
    reached = data_sets(FORM, SIZE, [2, 16, 64], batch=16, epochs=100, rate=0.01, seed=0)
    assert reached.examples in (2, 16, 64)
    assert reached.history >= 0.99
