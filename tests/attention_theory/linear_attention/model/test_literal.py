import torch

from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.linear_attention.model.literal import cubic_features_by_loops, mhla_by_sums
from attention_theory.linear_attention.model.mhla import Heads

#: Two tokens (1, 2) and (3, -1): <z_1, z_1> = 10, <z_1, z_2> = -1, <z_2, z_2> = 5, last token (3, -1).
TOKENS = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64)


def test_output_worked_by_hand() -> None:
    values = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]], dtype=torch.float64)
    queries = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64)
    # Q z_n = (-1, 3); Zᵀ Q z_n = (5, -6); Z (5, -6) = (-13, 16); V gives (-13, 32).
    assert mhla_by_sums(Heads(values, queries), TOKENS).tolist() == [-13, 32]


def test_features_worked_by_hand() -> None:
    assert cubic_features_by_loops(TOKENS).tolist() == [[30, -10, -3, 1], [-3, 1, 15, -5]]
    assert certificate_features(TOKENS).tolist() == [-3, 1, 30, -10, 15, -5]
