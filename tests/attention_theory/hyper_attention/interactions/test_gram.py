import torch
from torch import Tensor

from attention_theory.hyper_attention.interactions.gradients import loss_gradients, residuals
from attention_theory.hyper_attention.interactions.gram import descend, gram_gradients, gram_loss, gram_tensors
from attention_theory.hyper_attention.interactions.interactions import counts, sample_sequences
from attention_theory.randomness import generator, normal

SIZE = 5


def setting() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    draw = generator(0)
    symbols = sample_sequences(30, 6, SIZE, draw)
    target = normal(SIZE, SIZE, seed=draw)
    score = normal(SIZE, SIZE, seed=draw)
    return symbols, target, score, torch.rand(SIZE, generator=draw, dtype=torch.float64) + 0.5


def test_gram_tensors_equal_the_mean_of_triple_products() -> None:
    symbols = setting()[0]
    rows = counts(symbols, SIZE)
    ours = gram_tensors(symbols, SIZE)
    torch.testing.assert_close(ours, torch.einsum("na,nb,nc->abc", rows, rows, rows) / len(rows))
    assert torch.equal(ours, ours.transpose(0, 2))


def test_gram_form_equals_the_form_sample_by_sample() -> None:
    symbols, target, score, value = setting()
    tokens = torch.eye(SIZE, dtype=torch.float64)[symbols]
    ones = torch.ones(SIZE, dtype=torch.float64)
    targets = residuals(tokens, torch.zeros(symbols.shape, dtype=torch.float64), target, ones)
    by_score, by_value, loss = gram_gradients(gram_tensors(symbols, SIZE), target, score, value)
    expected_score, expected_value = loss_gradients(tokens, targets, score, value)
    torch.testing.assert_close(by_score, expected_score)
    torch.testing.assert_close(by_value, expected_value)
    torch.testing.assert_close(loss, residuals(tokens, targets, score, value).square().sum(dim=1).mean())
    torch.testing.assert_close(gram_loss(gram_tensors(symbols, SIZE), score * value, target), loss)


def test_models_are_trained_side_by_side() -> None:
    symbols, target, _, value = setting()
    gram = gram_tensors(symbols, SIZE)
    targets, values = torch.stack([target, -target]), torch.stack([value, 2 * value])
    rates = [(0.01, 0.01), (0.02, 0.005)]
    both = descend(gram, targets, values, rates, 15)
    for model in range(2):
        alone = descend(gram, targets[model : model + 1], values[model : model + 1], rates[model : model + 1], 15)
        torch.testing.assert_close(both.score[model], alone.score[0])
