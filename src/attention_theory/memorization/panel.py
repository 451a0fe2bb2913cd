"""Attention models of different sizes side by side, read at the query only (Section 5.2, Appendix A).

A model embeds its tokens linearly, adds sinusoidal positions (0 for the query, 1 to n for the context), attends from
the query to the context with H heads of value width 1, and reads out a score for each class or one real number.

Two things make this fast. Only the query's output is ever read, so nothing is computed at the other positions; and
where the context is shared by all examples, its keys and values are made once a step instead of once an example. Heads
of all models stand in one row, ``owner`` says whose they are: a model with few heads costs few.

Inside, examples are columns and the last axis. A softmax along a last axis below 16 is made entry by entry, along an
axis before it by vectors: some ten times as fast for a context of 8 tokens.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

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
    """How the heads and tokens of several models are laid out in stacked tensors.

    Attributes:
        settings: one a model.
        width: d.
        outputs: the number of classes, or 1 for a real number.
        owner: the model of each head.
        slot: the place of each head in a table of (models, most heads).
        closed: ``-inf`` at the tokens that a head's model does not have, 0 elsewhere.
        positions: the sinusoidal encodings, row 0 for the query.
    """

    settings: list[Setting]
    width: int
    outputs: int
    owner: Int[Tensor, " heads"]
    slot: Int[Tensor, " heads"]
    closed: Float[Tensor, "heads tokens 1"]
    positions: Float[Tensor, "positions width"]

    @cached_property
    def most_heads(self) -> int:
        return max(setting.heads for setting in self.settings)

    @cached_property
    def full(self) -> bool:
        """Whether all models have as many heads: then the row of heads is the table, and nothing has to be copied."""
        return len(self.owner) == len(self.settings) * self.most_heads

    def to_table(self, per_head: Float[Tensor, "heads ..."]) -> Float[Tensor, "models most_heads ..."]:
        """Rows of heads as a table of models by heads, zeros where a model has fewer."""
        if self.full:
            return per_head.unflatten(0, (-1, self.most_heads))
        shape = (len(self.settings) * self.most_heads, *per_head.shape[1:])
        table = per_head.new_zeros(shape).index_copy(0, self.slot, per_head)
        return table.unflatten(0, (len(self.settings), self.most_heads))

    def of_owner(self, per_model: Float[Tensor, "models ..."]) -> Float[Tensor, "heads ..."]:
        """For each head what its model has."""
        return per_model.index_select(0, self.owner)

    def from_table(self, table: Float[Tensor, "models most_heads ..."]) -> Float[Tensor, "heads ..."]:
        return table.flatten(0, 1) if self.full else table.flatten(0, 1).index_select(0, self.slot)

    def with_owner(
        self,
        start: Float[Tensor, "heads rows 1"],
        per_head: Float[Tensor, "heads rows width"],
        per_model: Float[Tensor, "models width batch"],
    ) -> Float[Tensor, "heads rows batch"]:
        """``start + per_head @ of_owner(per_model)``; in a full panel one product a model, for all of its heads."""
        if not self.full:
            return torch.baddbmm(start, per_head, self.of_owner(per_model))
        starts, maps = (part.unflatten(0, (-1, self.most_heads)).flatten(1, 2) for part in (start, per_head))
        return torch.baddbmm(starts, maps, per_model).unflatten(1, (self.most_heads, -1)).flatten(0, 1)


def make_panel(
    settings: list[Setting],
    width: int,
    outputs: int,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Panel:
    """Lay out the heads of all models in one row."""
    most_heads = max(setting.heads for setting in settings)
    most_tokens = max(setting.tokens for setting in settings)
    owner = [model for model, setting in enumerate(settings) for _ in range(setting.heads)]
    slot = [model * most_heads + head for model, setting in enumerate(settings) for head in range(setting.heads)]
    tokens = torch.tensor([settings[model].tokens for model in owner])
    beyond = torch.arange(most_tokens) >= tokens[:, None]
    closed = torch.zeros(len(owner), most_tokens, dtype=dtype).masked_fill(beyond, -torch.inf)
    positions = sinusoidal(most_tokens + 1, width, dtype=torch.float64).to(dtype)
    parts = (torch.tensor(owner), torch.tensor(slot), closed[..., None], positions)
    return Panel(settings, width, outputs, *(part.to(device) for part in parts))


def initial_weights(panel: Panel, dtype: torch.dtype = torch.float32, start: Start = "fan-in") -> Parameters:
    """Xavier-uniform keys, queries and values; uniform within 1/sqrt(inputs) for the linear maps around them.

    The text (Section 5.2, Appendices A and H) does not say how weights start. The output map W_O has two starts. Both
    take the same draws, so that they differ by a factor alone.

    Key and query columns beyond a model's d_h, and output rows beyond its H, start at 0, where their gradient is 0:
    they stay there, so that padding never takes part.

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
    weights = {name: value.to(panel.owner.device) for name, value in weights.items()}
    weights["output"] = panel.to_table(weights["output"])
    return weights


def _per_head(name: str) -> bool:
    return name in ("keys", "queries", "values", "output")


def forward(
    panel: Panel,
    weights: Parameters,
    queries: Float[Tensor, "models batch width"],
    contexts: Float[Tensor, "models tokens width"] | Float[Tensor, "models batch tokens width"],
) -> tuple[Float[Tensor, "models batch outputs"], Float[Tensor, "heads batch tokens"]]:
    """The outputs of all models on their batches, and the attention weights of all heads.

    The logits carry the factor 1/sqrt(d), also where d_h is smaller.
    """
    bias = weights["embed_bias"]
    query = torch.baddbmm((bias + panel.positions[0])[..., None], weights["embed"].mT, queries.mT)
    places = bias[:, None] + panel.positions[1:]
    if contexts.ndim == 3:
        attention, answers = _attend_shared(panel, weights, query, torch.baddbmm(places, contexts, weights["embed"]))
    else:
        attention, answers = _attend_each(panel, weights, query, contexts, places)
    read = (weights["output"] @ weights["decode"]).mT
    outputs = torch.baddbmm(weights["decode_bias"][..., None], read, panel.to_table(answers))
    return outputs.mT, attention.mT


def _attend_shared(
    panel: Panel,
    weights: Parameters,
    query: Float[Tensor, "models width batch"],
    context: Float[Tensor, "models tokens width"],
) -> tuple[Float[Tensor, "heads tokens batch"], Float[Tensor, "heads batch"]]:
    """One context a model: E W_K W_Q^T is made once, and every query is one product away from its logits."""
    own_context = panel.of_owner(context)
    maps = (own_context @ weights["keys"]) @ weights["queries"].mT * panel.width**-0.5
    attention = panel.with_owner(panel.closed, maps, query).softmax(dim=1)
    values = own_context @ weights["values"][..., None]
    return attention, (values.mT @ attention)[:, 0]


def _attend_each(
    panel: Panel,
    weights: Parameters,
    query: Float[Tensor, "models width batch"],
    contexts: Float[Tensor, "models batch tokens width"],
    places: Float[Tensor, "models tokens width"],
) -> tuple[Float[Tensor, "heads tokens batch"], Float[Tensor, "heads batch"]]:
    """One context an example. The query is carried through W_K and the embedding, so that no context is embedded.

    With tokens x W + p (p for bias and position) the logits are x (W c) + p c for a carried query c, and the values
    x (W v) + p v.
    """
    embed, own_places = panel.of_owner(weights["embed"]), panel.of_owner(places)
    into = weights["keys"] @ weights["queries"].mT * panel.width**-0.5
    asked = query.mT @ panel.to_table(embed @ into).flatten(1, 2).mT  # examples are rows here, as in the contexts
    logits = panel.from_table((asked.unflatten(2, (-1, panel.width)) @ contexts.mT).permute(0, 2, 3, 1))
    attention = (logits + panel.with_owner(panel.closed, own_places @ into, query)).softmax(dim=1)
    own_values = weights["values"][..., None]
    values = contexts.flatten(1, 2) @ panel.to_table((embed @ own_values)[..., 0]).mT
    values = panel.from_table(values.unflatten(1, contexts.shape[1:3]).permute(0, 3, 2, 1)) + own_places @ own_values
    return attention, (attention * values).sum(dim=1)
