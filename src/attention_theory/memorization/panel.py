"""Attention models of different sizes side by side, read at the query only (Section 5.2, Appendix A).

A model embeds its tokens linearly, adds sinusoidal positions (0 for the query, 1 to n for the context), attends from
the query to the context with H heads of value width 1, and reads out a score for each class or one real number.

Two things make this fast. Only the query's output is ever read, so nothing is computed at the other positions; and
all that does not depend on an example is multiplied out before the examples come in. A head's logits are one matrix,
tokens by entries of the raw query, times that query: with a 1 beside its entries the query brings bias and position
along. Where every example has a separate context, raw tokens x become tokens x W + p (p for bias and position), so
that the same matrix is made for the rows of W and p in place of tokens. Heads of all models stand in one row, ``owner``
says whose they are: a model with few heads costs few.

Inside, examples are columns and the last axis. A softmax along a last axis below 16 is made entry by entry, along an
axis before it by vectors: some ten times as fast for a context of 8 tokens.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.encodings import sinusoidal
from attention_theory.memorization.synthetic import Setting
from attention_theory.randomness import generator
from attention_theory.training import Parameters
from attention_theory.validation import require

#: How wide the output map's first entries are drawn; see :func:`initial_weights`.
Start = Literal["xavier", "fan-in"]

#: Keeps the draw of the weights apart from the draw of the data, which starts from the same seed.
_WEIGHTS_SEED = 1_000_003


@dataclass(frozen=True)
class Panel:
    """The layout of the heads and tokens of several models in stacked tensors.

    Attributes:
        settings: one a model.
        width: d.
        outputs: the number of classes, or 1 for a real number.
        owner: the model of each head.
        runs: neighbouring models with equally many heads, which are multiplied together: how many they are, which
            models, and which heads.
        closed: ``-inf`` in the last column at the tokens that a head's model does not have, 0 elsewhere.
        positions: the sinusoidal encodings, row 0 for the query.
    """

    settings: list[Setting]
    width: int
    outputs: int
    owner: Int[Tensor, " heads"]
    runs: list[tuple[int, slice, slice]]
    closed: Float[Tensor, "heads tokens width_and_one"]
    positions: Float[Tensor, "positions width"]

    def of_owner(self, per_model: Float[Tensor, "models ..."]) -> Float[Tensor, "heads ..."]:
        """For each head what its model has."""
        return per_model.index_select(0, self.owner)

    def each(
        self, per_head: Float[Tensor, "heads rows inner"], per_model: Float[Tensor, "models inner columns"]
    ) -> Float[Tensor, "heads rows columns"]:
        """``per_head @ of_owner(per_model)``, by one product a model for all of its heads."""
        rows, inner = per_head.shape[1:]
        parts = [
            torch.bmm(per_head[heads].reshape(count, -1, inner), per_model[models]).view(-1, rows, per_model.shape[2])
            for count, models, heads in self.runs
        ]
        return _joined(parts)

    def over(
        self, left: Float[Tensor, "heads rows left"], right: Float[Tensor, "heads rows right"]
    ) -> Float[Tensor, "models left right"]:
        """``left.mT @ right``, summed over the heads of every model."""
        parts = [
            torch.bmm(left[heads].reshape(count, -1, left.shape[2]).mT, right[heads].reshape(count, -1, right.shape[2]))
            for count, _, heads in self.runs
        ]
        return _joined(parts)

    def total(self, per_head: Float[Tensor, "heads ..."]) -> Float[Tensor, "models ..."]:
        """The sum over the heads of every model."""
        return _joined([per_head[heads].unflatten(0, (count, -1)).sum(dim=1) for count, _, heads in self.runs])

    def by_run(
        self, work: Callable[..., Tensor], per_head: Float[Tensor, "heads ..."], *per_model: Float[Tensor, "models ..."]
    ) -> Float[Tensor, "heads ..."]:
        """``work`` on every run of models, given what is per head as (models, heads, ...) and what is per model."""
        parts = [
            work(per_head[heads].unflatten(0, (count, -1)), *(part[models] for part in per_model))
            for count, models, heads in self.runs
        ]
        return _joined(parts)


def _joined(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def make_panel(
    settings: list[Setting],
    width: int,
    outputs: int,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Panel:
    """Lay out the heads of all models in one row."""
    most_tokens = max(setting.tokens for setting in settings)
    owner = [model for model, setting in enumerate(settings) for _ in range(setting.heads)]
    runs, model, head = [], 0, 0
    for heads, group in groupby(setting.heads for setting in settings):
        count = len(list(group))
        runs.append((count, slice(model, model + count), slice(head, head + count * heads)))
        model, head = model + count, head + count * heads
    tokens = torch.tensor([settings[model].tokens for model in owner])
    closed = torch.zeros(len(owner), most_tokens, width + 1, dtype=dtype)
    closed[..., -1].masked_fill_(torch.arange(most_tokens) >= tokens[:, None], -torch.inf)
    positions = sinusoidal(most_tokens + 1, width, dtype=torch.float64).to(dtype)
    return Panel(
        settings, width, outputs, torch.tensor(owner).to(device), runs, closed.to(device), positions.to(device)
    )


def initial_weights(panel: Panel, dtype: torch.dtype = torch.float32, start: Start = "fan-in") -> Parameters:
    """Xavier-uniform keys, queries and values; uniform within 1/sqrt(inputs) for the linear maps around them.

    The text (Section 5.2, Appendices A and H) does not say how weights start. The output map W_O has two starts. Both
    take the same draws, so that they differ by a factor alone.

    Key and query columns beyond a model's d_h start at 0, where their gradient is 0: they stay there, so that padding
    never takes part.

    Args:
        panel: the models.
        dtype: of the weights.
        start: ``"fan-in"`` draws W_O within 1/sqrt(H), as the linear maps around the layer; ``"xavier"`` within
            sqrt(6 / (H + d)), as keys, queries and values, and as the authors' published code has it.

    Raises:
        ParameterError: another ``start``.
    """
    require(start=(start, {"xavier", "fan-in"}))
    most_width = max(setting.head_width for setting in panel.settings)
    d = panel.width
    parts: list[Parameters] = []
    for setting in panel.settings:
        draw = generator(setting.seed + _WEIGHTS_SEED)
        H, d_h = setting.heads, setting.head_width

        def uniform(bound: float, *shape: int, draw: torch.Generator = draw) -> Tensor:
            return (2 * torch.rand(*shape, generator=draw, dtype=dtype) - 1) * bound

        keys, queries = torch.zeros(H, d, most_width, dtype=dtype), torch.zeros(H, d, most_width, dtype=dtype)
        keys[:, :, :d_h] = uniform(math.sqrt(6 / (d + d_h)), H, d, d_h)
        queries[:, :, :d_h] = uniform(math.sqrt(6 / (d + d_h)), H, d, d_h)
        parts.append(
            {
                "embed": uniform(d**-0.5, d, d),
                "embed_bias": uniform(d**-0.5, d),
                "keys": keys,
                "queries": queries,
                "values": uniform(math.sqrt(6 / (d + 1)), H, d),
                "output": uniform(math.sqrt(6 / (H + d)) if start == "xavier" else H**-0.5, H, d),
                "decode": uniform(d**-0.5, d, panel.outputs),
                "decode_bias": uniform(d**-0.5, panel.outputs),
            }
        )
    weights = {name: torch.stack([part[name] for part in parts]) for name in parts[0] if not _per_head(name)}
    weights |= {name: torch.cat([part[name] for part in parts]) for name in parts[0] if _per_head(name)}
    return {name: value.to(panel.owner.device) for name, value in weights.items()}


def _per_head(name: str) -> bool:
    return name in ("keys", "queries", "values", "output")


class Attended(NamedTuple):
    """The attention of a panel's heads on a batch, with all that their gradients need (:mod:`.panel_gradients`).

    The rows of a head are the tokens of a shared context; without one the rows of the embedding, then the positions.
    """

    attention: Float[Tensor, "heads tokens batch"]
    values: Float[Tensor, "heads tokens batch"] | Float[Tensor, "heads tokens 1"]
    answers: Float[Tensor, "heads 1 batch"]
    asked: Float[Tensor, "models batch width_and_one"]
    query_map: Float[Tensor, "models width_and_one width"]
    rows: Float[Tensor, "heads rows width"]
    keyed: Float[Tensor, "heads rows key_width"]
    into: Float[Tensor, "heads rows width"]


def forward(
    panel: Panel,
    weights: Parameters,
    queries: Float[Tensor, "models batch width"],
    contexts: Float[Tensor, "models tokens width"] | Float[Tensor, "models batch tokens width"],
) -> tuple[Float[Tensor, "models batch outputs"], Float[Tensor, "heads batch tokens"]]:
    """The outputs of all models on their batches, and the attention weights of all heads.

    The logits carry the factor 1/sqrt(d), also where d_h is smaller.
    """
    attended = attend(panel, weights, queries, contexts)
    return read_out(panel, weights, attended.answers)[1].mT, attended.attention.mT


def read_out(
    panel: Panel, weights: Parameters, answers: Float[Tensor, "heads 1 batch"]
) -> tuple[Float[Tensor, "heads 1 outputs"], Float[Tensor, "models outputs batch"]]:
    """The contribution of each head to the outputs for an answer of 1, and the outputs."""
    read = panel.each(weights["output"][:, None], weights["decode"])
    return read, panel.over(read, answers) + weights["decode_bias"][..., None]


def attend(
    panel: Panel,
    weights: Parameters,
    queries: Float[Tensor, "models batch width"],
    contexts: Float[Tensor, "models tokens width"] | Float[Tensor, "models batch tokens width"],
) -> Attended:
    """Every head at the query of every example, up to its answer: the weighted mean of its values."""
    embed, bias = weights["embed"], weights["embed_bias"][:, None]
    asked = torch.nn.functional.pad(queries, (0, 1), value=1.0)
    query_map = torch.cat([embed, bias + panel.positions[0]], dim=1)
    places = bias + panel.positions[1:]
    shared = contexts.ndim == 3
    rows = panel.of_owner(torch.baddbmm(places, contexts, embed) if shared else torch.cat([embed, places], dim=1))
    keyed = rows @ weights["keys"]
    into = keyed @ weights["queries"].mT * panel.width**-0.5
    maps, values = panel.each(into, query_map.mT), rows @ weights["values"][..., None]
    if shared:
        attention = panel.each(maps + panel.closed, asked.mT).softmax(dim=1)
        answers = values.mT @ attention
    else:
        own, maps = maps[:, : panel.width], maps[:, panel.width :]
        logits = panel.each(maps + panel.closed, asked.mT) + panel.by_run(_own_logits, own, asked, contexts)
        attention = logits.softmax(dim=1)
        own, values = values[:, : panel.width], values[:, panel.width :]
        values = values + panel.by_run(_own_values, own, contexts)
        answers = (attention * values).sum(dim=1, keepdim=True)
    return Attended(attention, values, answers, asked, query_map, rows, keyed, into)


def _own_logits(
    maps: Float[Tensor, "models heads width width_and_one"],
    asked: Float[Tensor, "models batch width_and_one"],
    contexts: Float[Tensor, "models batch tokens width"],
) -> Float[Tensor, "models_heads tokens batch"]:
    """The part of the logits that comes from the raw tokens of every example; inside, examples come before tokens."""
    carried = (asked @ maps.flatten(1, 2).mT).unflatten(2, maps.shape[1:3])
    return (carried @ contexts.mT).permute(0, 2, 3, 1).flatten(0, 1)


def _own_values(
    maps: Float[Tensor, "models heads width 1"], contexts: Float[Tensor, "models batch tokens width"]
) -> Float[Tensor, "models_heads tokens batch"]:
    """The part of the values that comes from the raw tokens of every example."""
    values = maps[..., 0] @ contexts.flatten(1, 2).mT
    return values.unflatten(2, contexts.shape[1:3]).mT.flatten(0, 1)
