"""The deeper students of Section 6.1, stacked over runs: layers of linear attention, and a full transformer layer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, pad, scaled_dot_product_attention

from attention_theory.encodings import sinusoidal
from attention_theory.layers import attention, causal_mask
from attention_theory.linear_attention.experiments.run_data import RunData
from attention_theory.linear_attention.experiments.teacher_task import Tasks
from attention_theory.randomness import Seed, generator, normal
from attention_theory.training import Parameters, train_many
from attention_theory.validation import require, require_some

#: From stacked parameters and the inputs of every model to the outputs of every model.
_Student = Callable[[Parameters, Float[Tensor, "models batch tokens width"]], Float[Tensor, "models batch tokens"]]


@dataclass(frozen=True)
class _StackRuns:
    """Trained students of one kind.

    Attributes:
        parameters: the stacked parameters.
        curves: the mean error of each on the batches of each window of steps, over that of always answering zero.
    """

    parameters: Parameters
    curves: Float[Tensor, "windows models"]


def linear_layers_start(
    width: int, layers: int, heads: int, seeds: Sequence[Seed], dtype: torch.dtype = torch.float32
) -> Parameters:
    """Students of several layers of linear attention, one for each seed; every entry Gaussian of deviation ``1/√d``.

    ``queries`` have shape (models, layers, heads, width, width), ``values`` the same with one layer less. The last
    layer's values are rows, ``read``, since the output is one number.

    Raises:
        ParameterError: a size below 1, or no seed.
    """
    require(width=(width, 1, None), layers=(layers, 1, None), heads=(heads, 1, None))
    require_some(seeds=seeds)
    shapes = {"read": (heads, width), "queries": (layers, heads, width, width)}
    if layers > 1:
        shapes["values"] = (layers - 1, heads, width, width)
    return _gaussian(shapes, width**-0.5, seeds, dtype)


def linear_layers(
    models: Parameters, tokens: Float[Tensor, "models batch tokens width"]
) -> Float[Tensor, "models batch tokens"]:
    """Each layer adds its causal output to its input; the last layer gives one number at each position."""
    stream = tokens.permute(0, 3, 1, 2).contiguous()  # features first, so that every product runs over many positions
    *inner, last = range(models["queries"].shape[1])
    for layer in inner:
        values = models["values"][:, layer].transpose(1, 2).flatten(2)
        stream = _layer(values, models["queries"][:, layer], stream, adds=True)
    asked, wanted = models["queries"][:, last], models["read"]
    if asked.shape[1] > asked.shape[-1]:
        return _read_merged(wanted, asked, stream)
    return _layer(wanted.flatten(1)[:, None], asked, stream, adds=False)[:, 0]


def _mix(
    matrix: Float[Tensor, "models out features"],
    stream: Float[Tensor, "models *features batch tokens"],
    onto: Float[Tensor, "models out batch tokens"] | None = None,
) -> Float[Tensor, "models out batch tokens"]:
    """A matrix of each model on all of its positions, added to what is given."""
    places, flat = stream.shape[-2:], stream.reshape(len(stream), matrix.shape[-1], -1)
    mixed = matrix @ flat if onto is None else torch.baddbmm(onto.flatten(2), matrix, flat)
    return mixed.unflatten(-1, places)


def _layer(
    values: Float[Tensor, "models out heads_width"],
    queries: Float[Tensor, "models heads width width"],
    stream: Float[Tensor, "models width batch tokens"],
    adds: bool,
) -> Float[Tensor, "models out batch tokens"]:
    """``Σ_h V_h G_t Q_h z_t``, by Gram matrices of the tokens up to each, or by scores of pairs if these are fewer.

    With ``adds`` the stream is added to it.
    """
    width, length = stream.shape[1], stream.shape[-1]
    if width**2 <= length:
        return _GramLayer.apply(values, queries.flatten(1, 2), stream, adds)
    keys = _mix(queries.flatten(1, 2), stream).unflatten(1, (-1, width))
    rows, seen = keys.permute(0, 1, 3, 4, 2), stream.permute(0, 2, 3, 1)[:, None]
    found = attention(rows, seen, seen, "linear", causal_mask(length, stream.device))
    return _mix(values, found.permute(0, 1, 4, 2, 3), stream if adds else None)


class _GramLayer(torch.autograd.Function):
    """A layer by ``G_t``, the sum of ``x_s x_sᵀ`` over the tokens x of the stream up to t, and its backward pass.

    Let k be the keys ``Q_h x`` and ``f = G k``. With the gradient ``g`` of f that of k is ``G g``, and that of ``x_s``
    is ``R_s x_s``, where R sums ``g_t k_tᵀ + k_t g_tᵀ`` over the heads and all t from s on, besides the part through k.
    """

    @staticmethod
    def forward(
        ctx: Any,
        values: Float[Tensor, "models out heads_width"],
        queries: Float[Tensor, "models heads_width width"],
        stream: Float[Tensor, "models width batch tokens"],
        adds: bool,
    ) -> Float[Tensor, "models out batch tokens"]:
        sums = [(stream[:, i] * stream[:, j]).cumsum(dim=-1) for i, j in _pairs(stream.shape[1])]
        keys = _mix(queries, stream).unflatten(1, (-1, stream.shape[1]))
        found = _times(sums, keys)
        ctx.save_for_backward(values, queries, stream, keys, found, *sums)
        ctx.adds = adds
        return _mix(values, found, stream if adds else None)

    @staticmethod
    def backward(
        ctx: Any, upstream: Float[Tensor, "models out batch tokens"]
    ) -> tuple[Tensor, Tensor, Tensor | None, None]:
        values, queries, stream, keys, found, *sums = ctx.saved_tensors
        of_found = _mix(values.mT, upstream).view_as(found)
        of_keys = _times(sums, of_found)
        of_values = upstream.reshape(len(upstream), upstream.shape[1], -1) @ found.flatten(1, 2).flatten(2).mT
        of_queries = of_keys.flatten(1, 2).flatten(2) @ stream.flatten(2).mT
        if not ctx.needs_input_grad[2]:
            return of_values, of_queries, None, None
        of_stream = _mix(queries.mT, of_keys, upstream if ctx.adds else None)
        for i, j in _pairs(stream.shape[1]):
            both = of_found[:, :, i] * keys[:, :, j]
            if i < j:
                both.addcmul_(of_found[:, :, j], keys[:, :, i])
            later = (both.sum(dim=1) if both.shape[1] > 1 else both[:, 0]).flip(-1).cumsum(dim=-1).flip(-1)
            of_stream[:, i].addcmul_(later, stream[:, j], value=1 if i < j else 2)
            if i < j:
                of_stream[:, j].addcmul_(later, stream[:, i])
        return of_values, of_queries, of_stream, None


def _times(
    sums: Sequence[Float[Tensor, "models batch tokens"]], keys: Float[Tensor, "models heads width batch tokens"]
) -> Float[Tensor, "models heads width batch tokens"]:
    """Symmetric matrices, given by their entries on and above the diagonal, times the vectors of each head."""
    found = torch.empty_like(keys)
    for (i, j), entry in zip(_pairs(keys.shape[2]), sums, strict=True):
        if i == j:
            torch.mul(entry[:, None], keys[:, :, i], out=found[:, :, i])
        else:
            found[:, :, i].addcmul_(entry[:, None], keys[:, :, j])
            found[:, :, j].addcmul_(entry[:, None], keys[:, :, i])
    return found


def _pairs(width: int) -> Iterator[tuple[int, int]]:
    """Every pair of coordinates once, ``i <= j``; those on the diagonal first."""
    return chain(((one, one) for one in range(width)), combinations(range(width), 2))


def _read_merged(
    read: Float[Tensor, "models heads width"],
    queries: Float[Tensor, "models heads width width"],
    stream: Float[Tensor, "models width batch tokens"],
) -> Float[Tensor, "models batch tokens"]:
    """``sum over heads of v_h . G_t Q_h z_t``. It depends on the sum of ``v_h x Q_h`` alone, so heads cost nothing."""
    merged = read.mT @ queries.flatten(2)
    products = (stream[:, :, None] * stream[:, None]).cumsum(dim=-1).flatten(1, 2)
    return (_mix(merged.reshape(len(read), -1, stream.shape[1]), stream) * products).sum(dim=1)


def transformer_start(width: int, hidden: int, seeds: Sequence[Seed], dtype: torch.dtype = torch.float32) -> Parameters:
    """Full transformer layers, one for each seed: Gaussian matrices of deviation one over the root of their inputs.

    The last row of every matrix is a bias. All begin at zero except that of the map that reads tokens in: there layer
    normalisation would hide the size of a token.

    Raises:
        ParameterError: a width below 1, fewer than 2 hidden features, or no seed.
    """
    require(width=(width, 1, None), hidden=(hidden, 2, None))
    require_some(seeds=seeds)
    shapes = {
        "read": (width + 1, hidden),
        "attend": (hidden, 3 * hidden),
        "mix": (hidden, hidden),
        "expand": (hidden, 4 * hidden),
        "contract": (4 * hidden, hidden),
        "write": (hidden, 1),
    }
    drawn = _gaussian(shapes, 1.0, seeds, dtype)
    scaled = {name: shapes[name][0] ** -0.5 * value for name, value in drawn.items()}
    return {name: value if name == "read" else pad(value, (0, 0, 0, 1)) for name, value in scaled.items()}


def transformer(
    models: Parameters, tokens: Float[Tensor, "models batch tokens width"], heads: int = 1
) -> Float[Tensor, "models batch tokens"]:
    """A pre-norm layer: causal softmax attention, a feed-forward part, affine maps in and out, sinusoidal positions.

    As in Vaswani et al. (2017), Section 3.4, the embedding is multiplied by the root of the hidden width.
    """
    places, hidden = tokens.shape[:3], models["read"].shape[-1]
    positions = sinusoidal(places[2], hidden, dtype=tokens.dtype, device=tokens.device)
    embedded = hidden**0.5 * _affine(models["read"], tokens.flatten(1, 2))
    stream = (embedded.unflatten(1, places[1:]) + positions).flatten(1, 2)
    size = (hidden,)
    mixed = _affine(models["attend"], layer_norm(stream, size)).unflatten(1, places[1:]).flatten(0, 1)
    queries, keys, found = (one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in mixed.chunk(3, dim=-1))
    attended = scaled_dot_product_attention(queries, keys, found, is_causal=True)
    stream = stream + _affine(models["mix"], attended.transpose(1, 2).reshape(stream.shape))
    inner = gelu(_affine(models["expand"], layer_norm(stream, size)))
    stream = stream + _affine(models["contract"], inner)
    return _affine(models["write"], layer_norm(stream, size)).reshape(places)


def _affine(
    matrix: Float[Tensor, "models features_and_one out"], inputs: Float[Tensor, "models positions features"]
) -> Float[Tensor, "models positions out"]:
    """A matrix of each model on all of its positions, and its last row as a bias."""
    return torch.baddbmm(matrix[:, -1:], inputs, matrix[:, :-1])


def _gaussian(
    shapes: Mapping[str, tuple[int, ...]], deviation: float, seeds: Sequence[Seed], dtype: torch.dtype
) -> Parameters:
    """Stacked Gaussian parameters, each model's by its own seed."""
    draws = [generator(seed) for seed in seeds]
    return {
        name: torch.stack([deviation * normal(*shape, seed=source) for source in draws]).to(dtype)
        for name, shape in shapes.items()
    }


def parameters_each(models: Parameters) -> int:
    """Number of parameters of each model of a stack."""
    return sum(value[0].numel() for value in models.values())


def train_stack(
    student: _Student,
    start: Parameters,
    data: RunData,
    lr: float | Float[Tensor, " runs"],
    weight_decay: float = 0.0,
    window: int | None = None,
) -> _StackRuns:
    """Train stacked students by Adam on mini-batches at a constant rate, one student for each run.

    Args:
        student: the forward pass.
        start: the stacked parameters to begin from, on the device of the data; their type is that of the training.
        data: what the runs are trained on.
        lr: the learning rate, one for all or one for each run.
        weight_decay: decoupled decay, as a multiple of the rate: AdamW.
        window: steps over which errors are averaged; those of a pass unless given.
    """
    tasks = data.tasks.to(next(iter(start.values())).dtype)
    runs, sequences = tasks.labels.shape[:2]
    tokens, labels = tasks.tokens.mT.flatten(0, 1).contiguous(), tasks.labels.flatten(0, 1)
    places = data.batches + sequences * torch.arange(runs, device=labels.device)[:, None]

    def loss(models: Parameters, step: int) -> Tensor:
        rows = places[min(step, len(places) - 1)]
        inputs, wanted = (of.index_select(0, rows.flatten()).unflatten(0, rows.shape) for of in (tokens, labels))
        apart = (student(models, inputs.mT) - wanted).flatten(1)
        return torch.linalg.vecdot(apart, apart) / apart.shape[1]

    trained = train_many(loss, start, len(data.batches), lr, weight_decay=weight_decay, record_every=1)
    return _StackRuns(trained.parameters, data.curves(trained.history[:-1].double(), window))


@torch.no_grad()
def errors_on_sequences(
    student: _Student, models: Parameters, tasks: Tasks, at_once: int = 32
) -> Float[Tensor, "models sequences"]:
    """The mean squared error of each student on each sequence of its run, over the positions."""
    parts = zip(tasks.tokens.split(at_once, dim=1), tasks.labels.split(at_once, dim=1), strict=True)
    return torch.cat([(student(models, tokens) - labels).square().mean(dim=-1) for tokens, labels in parts], dim=1)
