import math

import pytest
import torch

from attention_theory.memorization.panel import forward, initial_weights, make_panel
from attention_theory.memorization.synthetic import DataSets, Setting, sample_data_sets
from attention_theory.training import Parameters

SETTINGS = [Setting(3, 4, 7, 5, seed=0), Setting(1, 2, 9, 2, seed=1), Setting(2, 5, 4, 3, seed=2)]
EQUAL_HEADS = [Setting(3, 4, 7, 5, seed=0), Setting(3, 2, 9, 2, seed=1)]
PER_HEAD = ("keys", "queries", "values", "output")


def literal_output(weights: Parameters, setting: Setting, query: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
    """One example through one model, one head after another, positions written out."""
    d = query.shape[0]

    def position(place: int) -> torch.Tensor:
        angles = [place / 10_000 ** (2 * (i // 2) / d) for i in range(d)]
        values = [math.sin(a) if i % 2 == 0 else math.cos(a) for i, a in enumerate(angles)]
        return torch.tensor(values, dtype=torch.float64)

    e = query @ weights["embed"] + weights["embed_bias"] + position(0)
    E = torch.stack([x @ weights["embed"] + weights["embed_bias"] + position(i + 1) for i, x in enumerate(context)])
    mixed = torch.zeros(d, dtype=torch.float64)
    for h in range(setting.heads):
        logits = (E @ weights["keys"][h]) @ (weights["queries"][h].T @ e) / math.sqrt(d)
        mixed += (logits.softmax(0) @ E @ weights["values"][h]) * weights["output"][h]
    return mixed @ weights["decode"] + weights["decode_bias"]


def literal_outputs(weights: Parameters, settings: list[Setting], data: DataSets) -> list[torch.Tensor]:
    """The outputs of every model on its examples, one example after another."""
    outputs, first_head = [], 0
    for model, setting in enumerate(settings):
        heads = slice(first_head, first_head + setting.heads)
        own = {name: value[model] for name, value in weights.items() if name not in PER_HEAD}
        own |= {name: weights[name][heads] for name in PER_HEAD}
        first_head += setting.heads
        contexts = [data.contexts[model] if data.shared else data.contexts[model, t] for t in range(setting.examples)]
        examples = zip(data.queries[model], (one[: setting.tokens] for one in contexts), strict=False)
        outputs.append(torch.stack([literal_output(own, setting, query, context) for query, context in examples]))
    return outputs


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("settings", [SETTINGS, EQUAL_HEADS, SETTINGS[1:2]])
def test_forward_is_the_literal_model(settings: list[Setting], shared: bool) -> None:
    data = sample_data_sets(settings, width=6, shared=shared, classes=5, dtype=torch.float64)
    panel = make_panel(settings, 6, 5, torch.float64)
    weights = initial_weights(panel, torch.float64)
    outputs, attention = forward(panel, weights, data.queries, data.contexts)
    assert torch.allclose(attention.sum(-1), torch.ones(()).double(), atol=1e-14)
    ours = torch.cat([outputs[model, : setting.examples] for model, setting in enumerate(settings)])
    literal = torch.cat(literal_outputs(weights, settings, data))
    assert torch.allclose(ours, literal, rtol=0, atol=1e-12)


def test_the_two_starts_differ_by_the_width_of_the_output_map_alone() -> None:
    panel = make_panel(SETTINGS, 6, 5)
    fan_in, xavier = (initial_weights(panel, start=start) for start in ("fan-in", "xavier"))
    for head, model in enumerate(panel.owner.tolist()):
        heads = SETTINGS[model].heads
        factor = math.sqrt(6 * heads / (heads + 6))
        assert torch.allclose(xavier["output"][head], factor * fan_in["output"][head])
    assert all(torch.equal(xavier[name], fan_in[name]) for name in fan_in if name != "output")
