"""Shortfalls and shares of made-up histories."""

import torch

from attention_theory.in_context_reasoning.experiments.layer_ends import share, shortfall
from attention_theory.in_context_reasoning.training import History
from attention_theory.in_context_reasoning.variants import VARIANTS, Training

NAME = "Origin-Linear-FA"


def test_shortfall_and_share() -> None:
    columns = {
        "attention_output": [0.0, 3.0],
        "attention_largest": [0.0, 4.0],
        "feed_forward_noise": [1.0, 2.0],
        "feed_forward_largest": [1.0, 2.0],
        "attention_hits": [0.0, 0.7],
        "feed_forward_hits": [0.5, 1.0],
    }
    values = {name: torch.tensor(column, dtype=torch.float64)[:, None] for name, column in columns.items()}
    history = History([Training(VARIANTS[NAME], 0.5, 0.1)], [0, 10], values)
    attention = shortfall(history, "attention", NAME, 0.5, 0.1)
    assert attention[0].isnan()
    assert attention[1] == 0.25
    assert shortfall(history, "feed_forward", NAME, 0.5, 0.1).tolist() == [0.0, 0.0]
    assert share(history, "attention", NAME, 0.5, 0.1) == 0.7
    assert share(history, "feed_forward", NAME, 0.5, 0.1) == 1.0
