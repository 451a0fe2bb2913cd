"""The deeper students of Section 6.1, stacked over seeds: layers of linear attention, and a full transformer layer."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, pad, scaled_dot_product_attention

from attention_theory.layers import attention, causal_mask
from attention_theory.linear_attention.experiments.teacher_task import SharedInputs
from attention_theory.linear_attention.model.mhla import causal_gram
from attention_theory.randomness import Seed, generator, normal
from attention_theory.training import Parameters, Trained, train_many
from attention_theory.validation import require

#: From stacked parameters and inputs to the outputs of every model.
Student = Callable[[Parameters, Float[Tensor, "batch tokens width"]], Float[Tensor, "models batch tokens"]]


def linear_layers_start(width: int, layers: int, heads: int, seeds: Sequence[int]) -> Parameters:
    """Students of several layers of linear attention, one for each seed; every entry Gaussian of deviation ``1/√d``.

    ``values`` and ``queries`` have shape (models, layers, heads, width, width). Of the last layer's values only the
    first row is used: the output is one number.

    Raises:
        ParameterError: a size below 1, no seed, or a seed below 0.
    """
    require(width=(width, 1, None), layers=(layers, 1, None), heads=(heads, 1, None), seeds=(list(seeds), 0, None))
    shape = (2, layers, heads, width, width)
    drawn = torch.stack([normal(*shape, seed=seed) for seed in seeds])
    return {"values": width**-0.5 * drawn[:, 0], "queries": width**-0.5 * drawn[:, 1]}


def linear_layers(
    models: Parameters, tokens: Float[Tensor, "batch tokens width"]
) -> Float[Tensor, "models batch tokens"]:
    """Each layer adds its causal output to its input; the last layer gives its first output alone."""
    values, queries = models["values"], models["queries"]
    *inner, last = range(values.shape[1])
    stream = tokens.expand(len(values), *tokens.shape)
    for layer in inner:
        found = _read(queries[:, layer], stream)
        stream = stream + torch.einsum("mhaj,mhbtj->mbta", values[:, layer], found)
    one_number, asked = values[:, last, :, 0], queries[:, last]
    if asked.shape[1] > asked.shape[-1]:
        return _read_merged(one_number, asked, stream)
    return torch.einsum("mhj,mhbtj->mbt", one_number, _read(asked, stream))


def _read(
    queries: Float[Tensor, "models heads width width"], stream: Float[Tensor, "models batch tokens width"]
) -> Float[Tensor, "models heads batch tokens width"]:
    """``G_t Q_h z_t``, by Gram matrices of the tokens up to each, or by scores of pairs where these are fewer."""
    keys = torch.einsum("mhkl,mbtl->mhbtk", queries, stream)
    length, width = stream.shape[-2:]
    if width**2 <= length:
        return (keys[..., None, :] @ causal_gram(stream)[:, None]).squeeze(-2)
    return attention(keys, stream[:, None], stream[:, None], "linear", causal_mask(length, stream.device))


def _read_merged(
    values: Float[Tensor, "models heads width"],
    queries: Float[Tensor, "models heads width width"],
    stream: Float[Tensor, "models batch tokens width"],
) -> Float[Tensor, "models batch tokens"]:
    """``sum over heads of v_h . G_t Q_h z_t``. It depends on the sum of ``v_h x Q_h`` alone, so heads cost nothing."""
    merged = torch.einsum("mhj,mhkl->mjkl", values, queries)
    asked = torch.einsum("mjkl,mbtl->mbtjk", merged, stream)
    return (asked * causal_gram(stream)).sum(dim=(-2, -1))


def transformer_start(width: int, hidden: int, seeds: Sequence[int]) -> Parameters:
    """Full transformer layers, one for each seed: Gaussian matrices of deviation one over the root of their inputs.

    The last row of the map that reads tokens in is a bias. Without it layer normalisation would throw away the size of
    a token: ``z`` and ``7z`` would look the same. All are float32: softmax over every prefix is the costliest part of
    the figure, and these students stay far above the rounding of either type.

    Raises:
        ParameterError: a width below 1, fewer than 2 hidden features, no seed, or a seed below 0.
    """
    require(width=(width, 1, None), hidden=(hidden, 2, None), seeds=(list(seeds), 0, None))
    shapes = {
        "read": (width + 1, hidden),
        "attend": (hidden, 3 * hidden),
        "mix": (hidden, hidden),
        "expand": (hidden, 4 * hidden),
        "contract": (4 * hidden, hidden),
        "write": (hidden, 1),
    }
    models: Parameters = {}
    draws = [generator(seed) for seed in seeds]
    for name, (inputs, outputs) in shapes.items():
        drawn = [normal(inputs, outputs, seed=source) for source in draws]
        models[name] = (inputs**-0.5 * torch.stack(drawn)).float()
    return models


def transformer(
    models: Parameters, tokens: Float[Tensor, "batch tokens width"], heads: int = 2
) -> Float[Tensor, "models batch tokens"]:
    """A pre-norm layer, causal softmax attention and a feed-forward part, with linear maps in and out, no positions."""
    count, (batch, length, _) = len(models["read"]), tokens.shape
    stream = _read_in(models, tokens)
    size = (stream.shape[-1],)
    mixed = torch.einsum("mhk,mbth->mbtk", models["attend"], layer_norm(stream, size))
    parts = (one.unflatten(-1, (heads, -1)).transpose(2, 3).flatten(0, 1) for one in mixed.chunk(3, dim=-1))
    queries, keys, found = parts
    attended = scaled_dot_product_attention(queries, keys, found, is_causal=True)
    attended = attended.transpose(1, 2).reshape(count, batch, length, -1)
    stream = stream + torch.einsum("mhk,mbth->mbtk", models["mix"], attended)
    inner = gelu(torch.einsum("mhk,mbth->mbtk", models["expand"], layer_norm(stream, size)))
    stream = stream + torch.einsum("mkh,mbtk->mbth", models["contract"], inner)
    return torch.einsum("mho,mbth->mbt", models["write"], layer_norm(stream, size))


def _read_in(
    models: Parameters, tokens: Float[Tensor, "batch tokens width"]
) -> Float[Tensor, "models batch tokens hidden"]:
    """A linear map of the token and a bias."""
    return torch.einsum("mwh,btw->mbth", models["read"], pad(tokens.float(), (0, 1), value=1.0))


def train_students(
    student: Student,
    start: Parameters,
    task: SharedInputs,
    batch: int,
    steps: int,
    rate: float,
    seed: Seed,
    record_every: int | None = None,
) -> Trained:
    """Train stacked students by Adam on mini-batches, the same batches for all; the last record is on the whole data.

    Args:
        student: the forward pass.
        start: the stacked parameters to begin from.
        task: the training data, with a teacher for each model of the stack.
        batch: sequences in a step, drawn with replacement.
        steps: the number of steps.
        rate: the learning rate, falling along a cosine.
        seed: draws the batches.
        record_every: steps between records of the mini-batch loss.

    Raises:
        ParameterError: a batch below 1, or an argument that ``train_many`` refuses.
    """
    require(batch=(batch, 1, None))
    source = generator(seed)
    picks = torch.randint(len(task.tokens), (steps, batch), generator=source, device=source.device)
    picks = picks.to(task.tokens.device)

    def loss(models: Parameters, step: int) -> Tensor:
        rows = picks[step] if step < steps else slice(None)
        return (student(models, task.tokens[rows]) - task.labels[:, rows]).square().mean(dim=(1, 2))

    return train_many(loss, start, steps, rate, schedule="cosine", record_every=record_every)
