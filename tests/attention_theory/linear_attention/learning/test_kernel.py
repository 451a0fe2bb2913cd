import pytest
import torch
from torch import Tensor

from attention_theory.linear_attention.learning.kernel import kernel, kernel_fit
from attention_theory.linear_attention.learning.learned_machine import learn_runs
from attention_theory.linear_attention.learning.regression import learn, least_squares
from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor
from attention_theory.linear_attention.model.features import cubic_features, psi
from attention_theory.linear_attention.model.mhla import mhla, random_heads
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal


def automata(runs: int, seed: int) -> tuple[AutomatonExecutor, Tensor]:
    task = AutomatonExecutor(2, 2, 2)
    source = torch.Generator().manual_seed(seed)
    tables = torch.randint(2, (runs, 2, 2), generator=source)
    words, starts = torch.randint(2, (runs, 2), generator=source), torch.randint(2, (runs,), generator=source)
    return task, task.run(task.prompts(tables, words, starts))


@pytest.mark.parametrize("samples", [4, 40])
def test_the_fit_is_algorithm_1(samples: int) -> None:
    """Fewer samples than features, where the solution of least norm is asked for, and more, with noise."""
    inputs, fresh = normal(samples, 4, 3, seed=0), normal(20, 5, 3, seed=1)
    labels = mhla(random_heads(2, 3, seed=2), inputs) + 0.1 * normal(samples, 3, seed=3)
    fit = kernel_fit(kernel(inputs, inputs), labels)
    learned = learn(inputs, labels)
    predicted = fit.predict(kernel(fresh, inputs))
    assert fit.rank == min(samples, psi(3))
    assert relative_error(predicted, mhla(learned.heads, fresh)) < 1e-10
    assert relative_error(mhla(fit.heads(inputs), fresh), predicted) < 1e-10


def test_what_is_outside_the_span_is_told_as_by_the_features() -> None:
    inputs, fresh = normal(10, 3, 3, seed=0), normal(5, 3, 3, seed=1)
    fresh[0] = inputs[3]
    fit = kernel_fit(kernel(inputs, inputs), torch.zeros(10, 1, dtype=torch.float64))
    found = fit.outside(kernel(fresh, inputs), kernel(fresh, fresh).diagonal())
    features = cubic_features(torch.cat([inputs, fresh])).flatten(1)
    basis = torch.linalg.qr(features[:10].mT).Q
    outside = features[10:] - features[10:] @ basis @ basis.mT
    assert torch.allclose(found, outside.square().sum(dim=1) / features[10:].square().sum(dim=1), rtol=0, atol=1e-12)
    assert found[0] < 1e-12


def test_learned_from_runs_as_by_the_features() -> None:
    task, runs = automata(20, 2)
    first = task.prompt_tokens
    model = learn_runs(runs[:12], first)
    prefixes = [(number, length) for number in range(12) for length in range(first, runs.shape[1])]
    features = torch.stack([cubic_features(runs[number, :length]).flatten() for number, length in prefixes])
    labels = torch.stack([runs[number, length] for number, length in prefixes])
    explicit = least_squares(features, labels)
    assert model.rank == torch.linalg.matrix_rank(features)
    for length in range(first, runs.shape[1]):
        expected = cubic_features(runs[12:, :length]).flatten(1) @ explicit.mT
        assert (model(runs[12:, :length]) - expected).abs().max() < 1e-10
