import pytest
import torch

from attention_theory.linear_attention.experiments.head_grid import head_grid, train_in_gram_form, train_literally
from attention_theory.linear_attention.experiments.teacher_task import TeacherTask, teacher_task
from attention_theory.linear_attention.learning.certificate import second_moment
from attention_theory.linear_attention.model.features import causal_certificate_features
from attention_theory.linear_attention.model.mhla import Heads, mhla_causal
from attention_theory.validation import ParameterError


def moment_of(task: TeacherTask) -> torch.Tensor:
    return second_moment(causal_certificate_features(task.tokens).flatten(0, 1))


def test_the_gram_form_is_the_mean_squared_error() -> None:
    task = teacher_task(3, 8, 10, seed=0)
    grid = head_grid(3, [1, 2], [0.01], [5, 6])
    trained = train_in_gram_form(grid, moment_of(task), 1, record_every=1)
    for place in range(4):
        student = Heads(grid.start.values[place], grid.start.queries[place])
        teacher = Heads(grid.teachers.values[place], grid.teachers.queries[place])
        direct = (mhla_causal(student, task.tokens) - mhla_causal(teacher, task.tokens)).square().mean()
        assert trained.history[0, place].item() == pytest.approx(direct.item(), rel=1e-10)


def test_models_in_a_stack_train_as_by_themselves_and_keep_their_heads() -> None:
    moment = moment_of(teacher_task(2, 8, 10, seed=0))
    together = train_in_gram_form(head_grid(2, [1, 4], [0.01, 0.001], [7]), moment, 20)
    alone = train_in_gram_form(head_grid(2, [1], [0.001], [7]), moment, 20)
    assert together.parameters["values"][1, 1:].abs().max() == 0
    torch.testing.assert_close(together.parameters["values"][1, :1], alone.parameters["values"][0])
    assert together.losses[1].item() == pytest.approx(alone.losses[0].item())


def test_the_literal_trainer_on_the_whole_data_is_the_gram_form() -> None:
    task = teacher_task(2, 1, 12, seed=3)
    grid = head_grid(2, [2], [0.01], [4])
    literal_task = TeacherTask(
        task.teacher,
        task.tokens,
        mhla_causal(Heads(*(one[0] for one in (grid.teachers.values, grid.teachers.queries))), task.tokens),
    )
    start = Heads(grid.start.values[0], grid.start.queries[0])
    literal = train_literally(literal_task, start, 0.01, batch=1, steps=15, seed=0)
    batched = train_in_gram_form(grid, moment_of(task), 15)
    torch.testing.assert_close(literal.parameters["values"], batched.parameters["values"])


def test_the_grid_knows_its_places() -> None:
    grid = head_grid(2, [1, 4], [0.01, 0.001], [0, 1, 2])
    assert len(grid.runs) == 12
    assert [grid.runs[place] for place in grid.of(4, 0.001)] == [(4, 0.001, seed) for seed in range(3)]
    with pytest.raises(ParameterError, match="heads"):
        head_grid(2, [0], [0.01], [0])
