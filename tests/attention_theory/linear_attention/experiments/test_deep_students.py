import pytest
import torch
from torch.nn.functional import layer_norm

from attention_theory.linear_attention.experiments.deep_students import (
    _read_in,
    linear_layers,
    linear_layers_start,
    train_students,
    transformer,
    transformer_start,
)
from attention_theory.linear_attention.experiments.teacher_task import SharedInputs, shared_inputs, teacher_task
from attention_theory.linear_attention.model.mhla import Heads, mhla_causal
from attention_theory.validation import ParameterError

TASK = shared_inputs(2, 6, 9, 2, seed=0)


@pytest.mark.parametrize("width", [2, 4])  # width ** 2 below and above the number of tokens
@pytest.mark.parametrize("heads", [1, 5])  # below and above the width
def test_one_layer_is_linear_attention(width: int, heads: int) -> None:
    tokens = teacher_task(width, 6, 9, seed=0).tokens
    models = linear_layers_start(width, 1, heads, [4, 5])
    outputs = linear_layers(models, tokens)
    for place in range(2):
        layer = Heads(models["values"][place, 0, :, :1], models["queries"][place, 0])
        torch.testing.assert_close(outputs[place], mhla_causal(layer, tokens)[..., 0])


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("heads", [1, 5])
def test_layers_add_to_their_input(width: int, heads: int) -> None:
    tokens = teacher_task(width, 6, 9, seed=0).tokens
    models = linear_layers_start(width, 2, heads, [4])
    first = Heads(models["values"][0, 0], models["queries"][0, 0])
    second = Heads(models["values"][0, 1, :, :1], models["queries"][0, 1])
    stream = tokens + mhla_causal(first, tokens)
    torch.testing.assert_close(linear_layers(models, tokens)[0], mhla_causal(second, stream)[..., 0])


def test_the_transformer_looks_back_only() -> None:
    models = transformer_start(2, 8, [1, 2])
    outputs = transformer(models, TASK.tokens)
    changed = TASK.tokens.clone()
    changed[:, 5:] += 1
    again = transformer(models, changed)
    torch.testing.assert_close(outputs[:, :, :5], again[:, :, :5])
    assert (outputs - again)[:, :, 5:].abs().min() > 0


def test_the_transformer_tells_tokens_of_different_size() -> None:
    """What is read in differs after layer normalisation, which a map without a bias would not do."""
    models = transformer_start(2, 8, [1])
    once, seven = (layer_norm(_read_in(models, factor * TASK.tokens), (8,)) for factor in (1, 7))
    assert (once - seven).abs().max() > 0.1
    models["read"][:, -1] = 0
    once, seven = (layer_norm(_read_in(models, factor * TASK.tokens), (8,), eps=0.0) for factor in (1, 7))
    assert torch.allclose(once, seven, atol=1e-4)


def test_stacked_students_train_as_by_themselves() -> None:
    both = train_students(linear_layers, linear_layers_start(2, 2, 1, [4, 5]), TASK, 3, 10, 0.01, seed=0)
    second = SharedInputs(TASK.tokens, TASK.labels[1:])
    alone = train_students(linear_layers, linear_layers_start(2, 2, 1, [5]), second, 3, 10, 0.01, seed=0)
    assert both.losses[1].item() == pytest.approx(alone.losses[0].item())


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="layers"):
        linear_layers_start(2, 0, 1, [0])
    with pytest.raises(ParameterError, match="hidden"):
        transformer_start(2, 1, [0])
