import torch

from attention_theory.memorization.attention import capacity, predict
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.readout import solve_readout
from attention_theory.randomness import normal


def test_readout_is_the_best_in_least_squares_where_rows_depend() -> None:
    Z = torch.ones(2, 4).double()
    labels = torch.tensor([[0.0], [1.0]]).double()
    fitted = Z @ solve_readout(Z, labels, 1, 1).values[0]
    assert torch.allclose(fitted, torch.full((2, 1), 0.5).double())


def test_skip_labels() -> None:
    examples = sample_examples(capacity(3, 4, 8), 4, 8, seed=0)
    labels = normal(examples.count, 2, seed=1)
    built = build_heads(examples, 3, 8)
    readout = solve_readout(built.Z, labels - examples.queries[:, :2], 3, 2)
    assert torch.allclose(predict(built.heads, readout, examples, skip=True), labels, atol=1e-10)


def test_values_that_are_not_asked_for_are_zero() -> None:
    Z, labels = torch.eye(4).double(), torch.tensor([[1.0], [2.0], [3.0], [4.0]]).double()
    readout = solve_readout(Z, labels, heads=2, values=2)
    assert readout.values.shape == (2, 2, 2)
    assert readout.values.flatten(0, 1).tolist() == [[1, 0], [2, 0], [3, 0], [4, 0]]
    assert readout.output.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert readout.decode.tolist() == [[1], [0]]
    assert solve_readout(Z, labels, heads=1, values=1).values.shape == (1, 4, 1)
