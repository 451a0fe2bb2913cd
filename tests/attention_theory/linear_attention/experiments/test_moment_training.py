import pytest
import torch

from attention_theory.linear_attention.experiments._moment_training import SequenceMoments
from attention_theory.linear_attention.experiments.teacher_task import Tasks
from attention_theory.linear_attention.model.features import certificate_features


@pytest.mark.parametrize("width", [2, 3, 4])  # what is kept of the moments hangs on their size and type
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_means_of_moments_are_those_of_the_features(width: int, dtype: torch.dtype) -> None:
    tokens = Tasks.draw(width, 6, 50, [0, 1]).tokens.to(dtype)
    rows = torch.tensor([[4, 0, 5], [1, 1, 2]])
    found = SequenceMoments(tokens).means(rows)
    for run in range(2):
        features = certificate_features(tokens[run, rows[run]], is_causal=True).flatten(0, 1)
        torch.testing.assert_close(found[run], features.mT @ features / len(features))
