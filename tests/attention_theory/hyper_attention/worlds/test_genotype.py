import pytest
import torch

from attention_theory.encodings import one_hot
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.genotype import activation, activation_score

DICTIONARY = {1: [3], 2: [], 4: [2, 0]}


def outputs(symbols: torch.Tensor, score: torch.Tensor) -> torch.Tensor:
    ones = torch.ones(5, 1, dtype=torch.float64)
    return linear_attention(one_hot(5)[symbols], score, ones).squeeze(-1)


def test_activation_of_one_sequence() -> None:
    assert activation(torch.tensor([4, 1, 2]), DICTIONARY, 5).tolist() == [0.5, 0, 1]
    assert activation(torch.tensor([3, 1, 0, 4]), DICTIONARY, 5).tolist() == [0, 1, 0, 0.5]


@pytest.mark.parametrize("length", [1, 3, 5])
def test_the_layer_is_right_at_every_length(length: int) -> None:
    symbols = sample_sequences(50, length, 5, seed=length, unique=True)
    torch.testing.assert_close(
        outputs(symbols, activation_score(DICTIONARY, 5)), activation(symbols, DICTIONARY, 5), rtol=0, atol=1e-15
    )


def test_the_printed_row_is_right_at_its_length_only() -> None:
    score = activation_score(DICTIONARY, 5, form="printed", length=4)
    symbols = sample_sequences(50, 4, 5, seed=0, unique=True)
    torch.testing.assert_close(outputs(symbols, score), activation(symbols, DICTIONARY, 5))
    shorter = torch.tensor([[2, 0]])
    assert outputs(shorter, score)[0, 0] == pytest.approx(0.5)


def test_a_relu_layer_makes_the_printed_row_right_at_every_length() -> None:
    dictionary = {1: [3], 2: [], 4: [2]}
    score = activation_score(dictionary, 5, form="printed", length=4)
    for length in range(1, 6):
        symbols = sample_sequences(50, length, 5, seed=length, unique=True)
        torch.testing.assert_close((4 * outputs(symbols, score)).clamp(max=1), activation(symbols, dictionary, 5))
