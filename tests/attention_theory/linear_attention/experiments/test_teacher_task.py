import pytest
import torch

from attention_theory.linear_attention.experiments.teacher_task import printed_labels, shared_inputs, teacher_task
from attention_theory.linear_attention.model.features import causal_certificate_features
from attention_theory.validation import ParameterError


def test_labels_are_the_sums_over_the_past() -> None:
    task = teacher_task(3, 2, 7, seed=1)
    value, query = task.teacher.values[0, 0], task.teacher.queries[0]
    for sequence, labels in zip(task.tokens, task.labels, strict=True):
        for t in range(7):
            expected = sum((value @ sequence[s]) * (sequence[s] @ query @ sequence[t]) for s in range(t + 1))
            assert labels[t, 0].item() == pytest.approx(float(expected), rel=1e-12, abs=1e-15)


def test_the_two_readings_differ_by_their_scales() -> None:
    small, large = (teacher_task(2, 3, 16, 0, scale) for scale in ("deviation", "variance"))
    ratio = (large.labels / small.labels).flatten()
    assert torch.allclose(ratio, torch.full_like(ratio, 2**0.5 * 16**0.75))


def test_one_teacher_on_shared_inputs_is_the_task() -> None:
    task, shared = teacher_task(3, 4, 6, seed=2), shared_inputs(3, 4, 6, 1, seed=2)
    assert torch.equal(task.tokens, shared.tokens)
    assert torch.equal(task.labels[..., 0], shared.labels[0])


def test_every_teacher_of_shared_inputs_is_another_linear_attention() -> None:
    shared = shared_inputs(2, 8, 5, 3, seed=0)
    features = causal_certificate_features(shared.tokens).flatten(0, 1)
    for labels in shared.labels:
        fit = torch.linalg.lstsq(features, labels.flatten()[:, None]).solution
        assert torch.allclose(features @ fit, labels.flatten()[:, None], atol=1e-12)
    assert shared.labels.diff(dim=0).abs().amax(dim=(1, 2)).min() > 1e-3


def test_the_printed_formula_has_no_meaning() -> None:
    task = teacher_task(2, 1, 5, seed=0)
    with pytest.raises(RuntimeError, match="shape"):
        printed_labels(task.teacher, task.tokens[0])


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="scale"):
        teacher_task(2, 1, 5, 0, "other")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="teachers"):
        shared_inputs(2, 1, 5, 0, 0)
