import pytest
import torch

from attention_theory.linear_attention.learning.regression import least_squares
from attention_theory.linear_attention.machines.executor import Executor, execute, gaussian_samples
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.linear_attention.model.mhla import mhla
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.validation import ParameterError


def test_the_teacher_executes_every_machine() -> None:
    task = Executor(3, 6)
    assert len(task.machines) == 27
    histories = task.histories(task.machines)
    for run, tokens in enumerate(histories):
        state = run % 3
        for token in tokens[4:]:
            state = int(task.machines[run // 3, state])
            assert token.nonzero()[:, 0].tolist() == [6 + state]


def test_samples_are_prefixes_and_the_tokens_that_follow() -> None:
    task = Executor(2, 3)
    histories = task.histories(task.machines)
    features, labels = task.samples(histories)
    prefix = histories[1, : 3 + 2]
    row = 1 * 3 + 2
    assert torch.equal(features[row], certificate_features(prefix))
    assert torch.equal(labels[row], mhla(task.teacher, prefix))


def test_the_true_coefficients_execute_exactly() -> None:
    task = Executor(3, 5)
    done = execute(task, coefficients(task.teacher), task.machines)
    assert done.error == 0
    assert done.mismatch == 0
    assert done.right.tolist() == [1.0] * 5


def test_few_machines_do_not_determine_the_rest() -> None:
    task = Executor(2, 4)
    one = least_squares(*task.samples(task.histories(task.machines[:1])))
    done = execute(task, one, task.machines)
    assert done.mismatch > 0
    assert done.mismatch <= 4 * done.error * 4


def test_errors_and_mistakes_step_by_step() -> None:
    task = Executor(2, 4)
    model = least_squares(*task.samples(task.histories(task.machines[:2])))
    done = execute(task, model, task.machines)
    truth = task.histories(task.machines)
    read = task.read(task.roll_out(model, task.machines))
    for step in range(4):
        outputs = certificate_features(truth[:, : 3 + step]) @ model.mT
        error = (outputs - truth[:, 3 + step]).square().sum(dim=1).mean()
        assert done.errors[step].item() == pytest.approx(error.item())
        wrong = (read[:, 3 : 4 + step] != truth[:, 3 : 4 + step]).any(dim=2).any(dim=1)
        assert done.wrong[step].item() == pytest.approx(wrong.double().mean().item())
    assert done.bounds[-1].item() == pytest.approx(4 * done.error * 4)


def test_gaussian_samples_are_labelled_by_the_teacher() -> None:
    task = Executor(2, 1)
    inputs, labels = gaussian_samples(task.teacher, 5, 4, noise=0.0, seed=0)
    assert torch.equal(labels, mhla(task.teacher, inputs))
    noisy = gaussian_samples(task.teacher, 5, 4, noise=0.5, seed=0)[1]
    assert (noisy - labels).abs().max() > 0.1


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="states"):
        Executor(5, 1)
    with pytest.raises(ParameterError, match="noise"):
        gaussian_samples(Executor(2, 1).teacher, 5, 4, noise=-1.0, seed=0)
