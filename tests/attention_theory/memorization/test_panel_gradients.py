"""The gradients written out are those that autograd takes of the literal losses."""

import pytest
import torch

from attention_theory.memorization._panel_gradients import gradients
from attention_theory.memorization.panel import forward, initial_weights, make_panel
from attention_theory.memorization.synthetic import Labels, Setting, sample_data_sets

MIXED = [
    Setting(3, 4, 9, 5, seed=0),
    Setting(3, 2, 9, 2, seed=3),
    Setting(1, 1, 9, 2, seed=1),
    Setting(2, 5, 9, 3, seed=2),
]


@pytest.mark.parametrize("settings", [MIXED, MIXED[:2], MIXED[2:3]])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("labels", ["classes", "real"])
def test_gradients_are_those_of_autograd(settings: list[Setting], shared: bool, labels: Labels) -> None:
    data = sample_data_sets(settings, 6, shared, labels, classes=5, dtype=torch.float64)
    panel = make_panel(settings, 6, data.classes, torch.float64)
    weights = {name: value.requires_grad_() for name, value in initial_weights(panel, torch.float64).items()}
    outputs, _ = forward(panel, weights, data.queries, data.contexts)
    if labels == "classes":
        losses = torch.nn.functional.cross_entropy(outputs.mT, data.labels, reduction="none")
    else:
        losses = (outputs[..., 0] - data.labels) ** 2
    literal = torch.autograd.grad(losses.mean(dim=1).sum(), list(weights.values()))
    found = gradients(panel, weights, data.queries, data.contexts, data.labels)
    assert found.keys() == weights.keys()
    for name, value in zip(weights, literal, strict=True):
        assert torch.allclose(found[name], value, rtol=1e-10, atol=1e-14), name
