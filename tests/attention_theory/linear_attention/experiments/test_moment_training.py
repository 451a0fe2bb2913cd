import pytest
import torch

from attention_theory.linear_attention.experiments._moment_training import SequenceMoments, train_by_moments
from attention_theory.linear_attention.experiments.one_layer_students import students_start
from attention_theory.linear_attention.experiments.run_data import batches_of_runs
from attention_theory.linear_attention.experiments.teacher_task import Tasks
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.training import Parameters, train_many


@pytest.mark.parametrize("width", [2, 3, 4])  # what is kept of the moments hangs on their size and type
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_means_of_moments_are_those_of_the_features(width: int, dtype: torch.dtype) -> None:
    tokens = Tasks.draw(width, 6, 50, [0, 1]).tokens.to(dtype)
    rows = torch.tensor([[4, 0, 5], [1, 1, 2]])
    found = SequenceMoments(tokens).means(rows)
    for run in range(2):
        features = certificate_features(tokens[run, rows[run]], is_causal=True).flatten(0, 1)
        torch.testing.assert_close(found[run], features.mT @ features / len(features))


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_the_way_back_is_that_of_automatic_differentiation(decay: float) -> None:
    tasks, start = Tasks.draw(3, 12, 20, [5, 6]), students_start(3, [1, 4], [7, 8])
    target, moments, batches = (
        coefficients(tasks.teachers),
        SequenceMoments(tasks.tokens),
        batches_of_runs(12, 5, 25, [1, 2]),
    )

    def loss(models: Parameters, step: int) -> torch.Tensor:
        head_matrices = models["values"].flatten(-2).mT @ models["queries"].flatten(-2)
        gap = coefficients(head_matrices).unflatten(0, (2, 2))[..., 0, :] - target
        return (gap @ moments.means(batches[min(step, 24)]) * gap).sum(dim=-1).flatten()

    begin = {"values": start.values.flatten(0, 1), "queries": start.queries.flatten(0, 1)}
    literal = train_many(loss, begin, 25, 0.01, weight_decay=decay, record_every=1)
    trained, history = train_by_moments(start, target, moments, batches, 0.01, decay)
    torch.testing.assert_close(history.flatten(1), literal.history[:-1], rtol=1e-9, atol=0)
    torch.testing.assert_close(trained.values.flatten(0, 1), literal.parameters["values"], rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(trained.queries.flatten(0, 1), literal.parameters["queries"], rtol=1e-9, atol=1e-12)
