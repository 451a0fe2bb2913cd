import torch

from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.time_series import delay_score, roll_out, series_tokens, transition_value
from attention_theory.randomness import generator, normal

DELAYS = {2: 3.0, 5: 7.0}


def test_the_layer_predicts_the_next_value_whatever_the_query_holds() -> None:
    draw = generator(0)
    transition = normal(3, 3, seed=draw)
    series = roll_out(normal(4, 5, 3, seed=draw), transition, DELAYS, 4)
    known, coming = series[:, :-1], series[:, -1]
    tokens = series_tokens(known, normal(4, 3, seed=draw))
    slots = tokens.shape[1]
    outputs = linear_attention(tokens, delay_score(DELAYS, slots, 3), transition_value(transition, slots))
    torch.testing.assert_close(outputs[:, -1], coming, rtol=1e-12, atol=1e-12)


def test_the_series_follows_its_rule() -> None:
    series = roll_out(torch.ones(5, 1, dtype=torch.float64), 0.5 * torch.eye(1, dtype=torch.float64), DELAYS, 2)
    assert series.flatten().tolist() == [1, 1, 1, 1, 1, 5, 5]


def test_as_printed_the_factors_are_ones_and_the_transition_is_not_turned() -> None:
    assert delay_score(DELAYS, 7, 3, form="printed").unique().tolist() == [0, 1]
    transition = normal(3, 3, seed=0)
    torch.testing.assert_close(transition_value(transition, 4, form="printed")[:3], transition, rtol=0, atol=0)
