from functools import partial

import pytest
import torch

from attention_theory.linear_attention.learning.regression import fit_linear_attention, learn, least_squares, statistics
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.literal import literal_regression, separate_regressions
from attention_theory.linear_attention.model.mhla import mhla, mhla_every_token, random_heads
from attention_theory.linear_attention.model.parameters import coefficients, lift
from attention_theory.numerics import relative_error
from attention_theory.randomness import normal


@pytest.mark.parametrize("width", [2, 3])
def test_the_lifted_solution_is_the_literal_minimiser(width: int) -> None:
    tokens, labels = normal(psi(width) + 20, 4, width, seed=0), normal(psi(width) + 20, width, seed=1)
    learned = learn(tokens, labels)
    assert relative_error(learned.matrix, literal_regression(tokens, labels)) < 1e-10
    assert relative_error(learned.matrix, separate_regressions(tokens, labels)) < 1e-10
    assert relative_error(coefficients(learned.heads), coefficients(learned.matrix)) < 1e-12
    assert learned.heads.count == width * (width + 1) // 2
    assert torch.equal(learned.heads.queries, learned.heads.queries.mT)
    printed = literal_regression(tokens, labels, form="printed")  # every Q_h transposed
    transposed = learned.matrix.unflatten(-1, (width, width)).mT.flatten(-2)
    assert relative_error(printed, transposed) < 1e-10


def test_statistics_are_means_over_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attention_theory.linear_attention.learning.regression._ENTRIES_AT_ONCE", 200)
    tokens, labels = normal(30, 4, 2, seed=0), normal(30, 2, seed=1)
    features = certificate_features(tokens)
    data = statistics(tokens, labels)
    assert data.samples == 30
    assert relative_error(data.second_moment, features.mT @ features / 30) < 1e-14
    assert relative_error(data.cross, labels.mT @ features / 30) < 1e-14
    row = normal(2, psi(2), seed=3)
    direct = (features @ row.mT - labels).square().sum() / 30
    assert relative_error(data.loss(row), direct) < 1e-13


@pytest.mark.parametrize("width", [2, 3])
def test_on_too_few_samples_the_matrix_has_the_least_norm(width: int) -> None:
    tokens, labels = normal(psi(width) - 1, 4, width, seed=0), normal(psi(width) - 1, width, seed=1)
    literal = literal_regression(tokens, labels)
    assert relative_error(learn(tokens, labels).matrix, literal) < 1e-9
    of_statistics = lift(statistics(tokens, labels).solve(), width)
    assert relative_error(of_statistics, literal) < 1e-5
    nearest = lift(least_squares(certificate_features(tokens), labels), width)  # of least norm in p, not in W
    assert nearest.norm() > 1.0001 * literal.norm()


def test_every_position_is_a_sample_in_the_causal_form() -> None:
    tokens = normal(9, 5, 2, seed=0)
    teacher = random_heads(1, 2, seed=3, out=1)
    labels = mhla_every_token(teacher, tokens, is_causal=True)
    data = statistics(tokens, labels, causal=True)
    rows = certificate_features(tokens, is_causal=True).flatten(0, 1)
    assert data.samples == 45
    assert relative_error(data.second_moment, rows.mT @ rows / 45) < 1e-13
    learned = learn(tokens, labels)
    assert learned.heads.count <= 2  # one output: the matrix has d rows
    assert relative_error(learned.coefficients, coefficients(teacher)) < 1e-9


def test_what_the_data_do_not_say_is_answered_by_zero() -> None:
    """Of the coefficients that fit equally well those of least norm are taken: zero, where the inputs are zero."""
    found = statistics(torch.zeros(5, 4, 2, dtype=torch.float64), normal(5, 3, seed=0)).solve()
    assert torch.equal(found, torch.zeros(3, psi(2), dtype=torch.float64))


@pytest.mark.parametrize("every_token", [False, True])
def test_the_fitted_block_is_the_teacher_on_new_sequences(every_token: bool) -> None:
    teacher, form = (
        random_heads(2, 3, seed=0, out=4),
        partial(mhla_every_token, is_causal=True) if every_token else mhla,
    )
    tokens, others = normal(100, 5, 3, seed=1), normal(20, 9, 3, seed=2)
    student = fit_linear_attention(tokens, form(teacher, tokens))
    torch.testing.assert_close(student(others), form(teacher, others), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("samples", [40, 4])
def test_closed_form_is_the_loop(samples: int) -> None:
    data = statistics(normal(samples, 3, 2, seed=0), normal(samples, 2, seed=1))
    row = data.descend(steps=0, seed=7)
    rate = 1 / torch.linalg.eigvalsh(data.second_moment)[-1]
    for _ in range(25):
        row = row - rate * (row @ data.second_moment - data.cross)
    assert relative_error(data.descend(steps=25, seed=7), row) < 1e-6
