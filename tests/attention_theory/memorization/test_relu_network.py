import pytest
import torch

from attention_theory.memorization.relu_network import jacobian_ranks


def test_a_singular_value_counts_only_above_its_share_of_the_largest() -> None:
    x = torch.tensor([[1.0, 0.0], [1.0, 1e-6]], dtype=torch.float64)
    near = [jacobian_ranks(x, 4, points=2, seed=0, rtol=rtol).tolist() for rtol in (1e-9, 1e-3, 1.0)]
    assert near == [[2, 2], [1, 1], [0, 0]]


@pytest.mark.parametrize("outputs", [1, 2])
def test_jacobian_rank_of_equal_inputs_is_that_of_their_outputs(outputs: int) -> None:
    x = torch.zeros(6, 2, dtype=torch.float64)
    assert (jacobian_ranks(x, 3, points=4, seed=0, outputs=outputs) == outputs).all()
