import torch

from attention_theory.memorization.readout import solve_readout


def test_readout_is_the_best_in_least_squares_where_rows_depend() -> None:
    Z = torch.ones(2, 4).double()
    labels = torch.tensor([[0.0], [1.0]]).double()
    fitted = Z @ solve_readout(Z, labels, 1, 1).values[0]
    assert torch.allclose(fitted, torch.full((2, 1), 0.5).double())


def test_values_that_are_not_asked_for_are_zero() -> None:
    Z, labels = torch.eye(4).double(), torch.tensor([[1.0], [2.0], [3.0], [4.0]]).double()
    readout = solve_readout(Z, labels, heads=2, values=2)
    assert readout.values.shape == (2, 2, 2)
    assert readout.values.flatten(0, 1).tolist() == [[1, 0], [2, 0], [3, 0], [4, 0]]
    assert readout.output.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert readout.decode.tolist() == [[1], [0]]
    assert solve_readout(Z, labels, heads=1, values=1).values.shape == (1, 4, 1)
