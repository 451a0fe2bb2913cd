import torch

from attention_theory.memorization.saturation import saturation, saturation_by_model
from attention_theory.memorization.synthetic import Setting


def test_counts_by_hand() -> None:
    one_hot, nearly, even = [1.0, 0.0, 0.0], [0.995, 0.005, 0.0], [1 / 3] * 3
    found = saturation(torch.tensor([[one_hot, even], [nearly, one_hot]]))
    assert found.saturated.tolist() == [[True, False], [True, True]]
    assert found.heads_per_example.tolist() == [2, 1]
    assert found.share == 0.75
    assert found.share_with_a_free_head == 0.5


def test_heads_that_saturate_by_chance() -> None:
    one_hot, even = [1.0, 0.0], [0.5, 0.5]
    found = saturation(torch.tensor([[one_hot, even, even, even], [one_hot, one_hot, even, even]]))
    assert found.share_free_by_chance == 1 - 1 / 4 * 1 / 2
    assert found.share_with_a_free_head == 3 / 4


def test_each_model_of_a_panel_has_its_own_heads_and_examples() -> None:
    settings = [Setting(2, 3, 4, 5), Setting(1, 2, 6, 5)]
    weights = torch.zeros(3, 6, 3)
    weights[:2, :4] = 1 / 3  # what is beyond a model's examples and tokens is no softmax, and is not looked at
    weights[2, :, 0] = 1.0
    even, sharp = saturation_by_model(weights, settings)
    assert (even.largest.shape, sharp.largest.shape) == ((2, 4), (1, 6))
    assert (even.share, sharp.share) == (0, 1)
