import pytest
import torch

from attention_theory.linear_attention.experiments.one_layer_students import (
    CoefficientErrors,
    run_heads,
    students_start,
    train_by_coefficients,
    train_literally,
)
from attention_theory.linear_attention.experiments.run_data import RunData, batches_of_runs
from attention_theory.linear_attention.experiments.teacher_task import Tasks
from attention_theory.linear_attention.model.mhla import Heads, mhla_every_token


def run_of(tasks: Tasks, run: int) -> Tasks:
    teacher = Heads(tasks.teachers.values[run, None], tasks.teachers.queries[run, None])
    return Tasks(teacher, tasks.tokens[run, None], tasks.labels[run, None])


def one_of(heads: Heads, run: int, kind: int, count: int) -> Heads:
    return Heads(heads.values[run, kind, :count], heads.queries[run, kind, :count])


# ψ = 18 coefficients: more than 10 tokens, fewer than 20
@pytest.mark.parametrize("length", [10, 20])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_mini_batch_training_is_that_of_an_ordinary_loop(length: int, decay: float) -> None:
    """The steps, the errors of the batches, and the students at the end: one literal run for each of the stack."""
    tasks = Tasks.draw(3, 12, length, [5, 6])
    start = students_start(3, [1, 4], [7, 8])
    batches = batches_of_runs(12, 5, 25, [1, 2])
    rates = torch.tensor([[0.01, 0.002], [0.01, 0.002]], dtype=torch.float64)
    stacked, history = train_by_coefficients(start, CoefficientErrors(tasks), batches, rates, decay)
    for run in range(2):
        for kind, heads in enumerate([1, 4]):
            rate = rates[run, kind].item()
            first = one_of(start, run, kind, heads)
            literal, errors = train_literally(run_of(tasks, run), first, batches[:, run], rate, decay)
            trained = one_of(stacked, run, kind, heads)
            torch.testing.assert_close(trained.values, literal.values, rtol=1e-9, atol=1e-9)
            torch.testing.assert_close(trained.queries, literal.queries, rtol=1e-9, atol=1e-9)
            torch.testing.assert_close(history[:, run, kind], errors, rtol=1e-8, atol=0)


@pytest.mark.parametrize("length", [10, 20])
def test_errors_on_sequences_are_those_of_the_outputs(length: int) -> None:
    tasks = Tasks.draw(3, 4, length, [5, 6])
    students = students_start(3, [1, 4], [7, 8])
    errors = CoefficientErrors(tasks).of_sequences(students)
    for run in range(2):
        for kind, heads in enumerate([1, 4]):
            outputs = mhla_every_token(one_of(students, run, kind, heads), tasks.tokens[run], is_causal=True)[..., 0]
            direct = (outputs - tasks.labels[run]).square().mean(dim=1)
            torch.testing.assert_close(errors[run, kind], direct, rtol=1e-9, atol=0)


def test_kinds_of_the_same_number_of_heads_begin_from_the_same_draws_at_their_own_scale() -> None:
    data = RunData.draw(2, 3, seed=0, sequences=8, tokens=10, batch=4, passes=3)
    kinds = [(1, 0.01, 1.0), (2, 0.01, 1.0), (2, 0.001, 1.0), (2, 0.01, 0.5)]
    found = run_heads(data, kinds, torch.float64)
    assert found.curves.shape == (3, 3, 4)
    alone = run_heads(data, kinds[:1], torch.float64)
    torch.testing.assert_close(found.curves[..., 0], alone.curves[..., 0])
    start = students_start(2, [1, 2], data.seeds)
    half = Heads(0.5 * start.values, 0.5 * start.queries)
    slow = torch.full((3, 2), 0.01, dtype=torch.float64)
    direct, history = train_by_coefficients(half, CoefficientErrors(data.tasks), data.batches, slow)
    means = history[..., 1].unflatten(0, (3, 2)).mean(dim=1) / data.tasks.power
    torch.testing.assert_close(found.curves[..., 3], means)
    torch.testing.assert_close(found.heads.values[:, 3], direct.values[:, 1])
