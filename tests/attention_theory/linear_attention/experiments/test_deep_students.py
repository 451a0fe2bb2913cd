import pytest
import torch
from torch.nn.functional import gelu, layer_norm

from attention_theory.encodings import sinusoidal
from attention_theory.linear_attention.experiments.deep_students import (
    errors_on_sequences,
    linear_layers,
    linear_layers_start,
    parameters_each,
    train_stack,
    transformer,
    transformer_start,
)
from attention_theory.linear_attention.experiments.one_layer_students import CoefficientErrors, train_by_coefficients
from attention_theory.linear_attention.experiments.run_data import RunData, batches_of_runs
from attention_theory.linear_attention.experiments.teacher_task import Tasks
from attention_theory.linear_attention.model.mhla import Heads, mhla_every_token
from attention_theory.randomness import normal
from attention_theory.training import Parameters

EXACT = torch.float64
TASKS = Tasks.draw(2, 6, 9, [0, 1])
DATA = RunData(TASKS, batches_of_runs(6, 3, 10, [8, 9]), [8, 9])


def layer(models: Parameters, place: int, number: int) -> Heads:
    """A layer of one model; the last one has a single output."""
    last = number == models["queries"].shape[1] - 1
    values = models["read"][place, :, None] if last else models["values"][place, number]
    return Heads(values, models["queries"][place, number])


@pytest.mark.parametrize("width", [2, 4])  # width ** 2 below and above the number of tokens
@pytest.mark.parametrize("heads", [1, 5])  # below and above the width
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_layers_add_to_their_input(width: int, heads: int, layers: int) -> None:
    tokens = normal(2, 6, 9, width, seed=0)
    models = linear_layers_start(width, layers, heads, [4, 5], EXACT)
    outputs = linear_layers(models, tokens)
    for place in range(2):
        stream = tokens[place]
        for number in range(layers - 1):
            stream = stream + mhla_every_token(layer(models, place, number), stream, is_causal=True)
        expected = mhla_every_token(layer(models, place, layers - 1), stream, is_causal=True)[..., 0]
        torch.testing.assert_close(outputs[place], expected)


@pytest.mark.parametrize("heads", [1, 2])
def test_layers_have_the_gradient_of_finite_differences(heads: int) -> None:
    models = linear_layers_start(2, 3, heads, [4, 5], EXACT)
    names = list(models)
    leaves = [value.requires_grad_() for value in models.values()]
    tokens = normal(2, 2, 5, 2, seed=0).requires_grad_()

    def outputs(inputs: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        return linear_layers(dict(zip(names, values, strict=True)), inputs)

    assert torch.autograd.gradcheck(outputs, (tokens, *leaves))


def with_biases(models: Parameters) -> Parameters:
    """The same models with biases that are not zero."""
    return {name: value + 0.1 * normal(*value.shape, seed=3) for name, value in models.items()}


@pytest.mark.parametrize("heads", [1, 2])
def test_the_transformer_is_the_one_of_the_books(heads: int) -> None:
    """One sequence of one model, position by position."""
    models = with_biases(transformer_start(2, 8, [1], EXACT))

    def affine(name: str, inputs: torch.Tensor) -> torch.Tensor:
        return inputs @ models[name][0, :-1] + models[name][0, -1]

    stream = 8**0.5 * affine("read", TASKS.tokens[0, 0]) + sinusoidal(9, 8)
    queries, keys, values = affine("attend", layer_norm(stream, (8,))).chunk(3, dim=-1)
    found = torch.zeros_like(stream)
    for part in torch.arange(8).chunk(heads):
        for t in range(len(stream)):
            weights = (keys[: t + 1, part] @ queries[t, part] * len(part) ** -0.5).softmax(0)
            found[t, part] = weights @ values[: t + 1, part]
    stream = stream + affine("mix", found)
    stream = stream + affine("contract", gelu(affine("expand", layer_norm(stream, (8,)))))
    expected = affine("write", layer_norm(stream, (8,)))[:, 0]
    torch.testing.assert_close(transformer(models, TASKS.tokens[:1], heads)[0, 0], expected)


def test_stacked_students_train_as_by_themselves() -> None:
    both = train_stack(linear_layers, linear_layers_start(2, 2, 1, [4, 5], EXACT), DATA, 0.01)
    second = Tasks(Heads(TASKS.teachers.values[1:], TASKS.teachers.queries[1:]), TASKS.tokens[1:], TASKS.labels[1:])
    data = RunData(second, DATA.batches[:, 1:], [9])
    alone = train_stack(linear_layers, linear_layers_start(2, 2, 1, [5], EXACT), data, 0.01)
    torch.testing.assert_close(both.curves[:, 1], alone.curves[:, 0])
    torch.testing.assert_close(both.parameters["read"][1], alone.parameters["read"][0])


def test_one_layer_here_and_in_the_space_of_coefficients_is_the_same_student() -> None:
    models = linear_layers_start(2, 1, 3, [4, 5], EXACT)
    here = train_stack(linear_layers, models, DATA, 0.01, weight_decay=0.1, window=1)
    start = Heads(models["read"][:, None, :, None], models["queries"][:, :1])
    students, history = train_by_coefficients(start, CoefficientErrors(TASKS), DATA.batches, 0.01, weight_decay=0.1)
    torch.testing.assert_close(here.curves, history[..., 0] / TASKS.power, rtol=1e-8, atol=0)
    errors = CoefficientErrors(TASKS).of_sequences(students)[:, 0]
    torch.testing.assert_close(errors_on_sequences(linear_layers, here.parameters, TASKS, 4), errors, rtol=1e-7, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_training_is_in_the_type_of_the_students(dtype: torch.dtype) -> None:
    trained = train_stack(transformer, transformer_start(2, 4, [4, 5], dtype), DATA, 0.01)
    assert trained.parameters["read"].dtype == dtype
    assert trained.curves.dtype == torch.float64
    assert trained.curves.shape == (5, 2)  # two batches of three in a pass of six sequences
    assert trained.curves[-1].max() < trained.curves[0].max()


def test_parameters_are_counted() -> None:
    assert parameters_each(linear_layers_start(2, 4, 1, [0])) == 3 * 8 + 6
    assert parameters_each(linear_layers_start(2, 1, 5, [0])) == 5 * 6
    assert parameters_each(transformer_start(2, 4, [0])) == 3 * 4 + 5 * 12 + 5 * 4 + 5 * 16 + 17 * 4 + 5
