"""Heads built for given labels, floor(H/2) (kappa - 1) of them in pairs or H (kappa - 1) single, at any context length.

All heads have the same key v, so a head with query weights a gives the example (E, e) the number f(a.e), where
f(s) = v.E^T softmax(s E v) increases from the smallest entry of E v to the largest. The two heads of a pair have the
query weights c u + q and c u - q and the values L v and -L v. The pair owns at most kappa - 1 examples. On these u.e is
0, so that q chooses the label. On all others u.e is not 0: both heads are saturated alike, and their values cancel.
Single heads need one shared context: what they saturate at are tokens of which they read 0.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.memorization.attention import Examples, KeyQueryHeads, Readout, predict, softmax_weights
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import refuse_unless, require, require_finite, require_shape, require_some

#: The values L v reach so many times the largest label.
_ROOM = 4.0
#: Queries that miss independence by more break the assumption.
_DEPENDENT = 1e-8
_DRAWS = 64
_BISECTIONS, _NEWTON_STEPS, _DOUBLINGS = 52, 8, 30
#: Labels that are missed by more, relative to the largest, ask for a larger c.
_MISSED = 1e-9


@dataclass(frozen=True)
class HeadsForLabels:
    """Heads that are built for labels, in pairs or single, with all that the label of an example depends on.

    Attributes:
        heads, readout: the layer; heads in pairs are neighbours, and of an odd number of them the last one is idle.
        owner: the pair, or the head, of every example.
        duals: for every example the vector that is 1 on its query and 0 on the other queries of its owner. A multiple
            of it is added to the first column of the query weights of the owner's first head, taken from its second's.
        scale: c.
        residual: the largest distance of an output from its label.
        partners: the heads of each owner, 2 or 1.
    """

    heads: KeyQueryHeads
    readout: Readout
    owner: Int[Tensor, " examples"]
    duals: Float[Tensor, "examples width"]
    scale: float
    residual: float
    partners: int


def pair_capacity(heads: int, kruskal_rank: int) -> int:
    """floor(H/2) (kappa - 1): the scalar labels that pairs of heads memorise, whatever the number of tokens.

    >>> pair_capacity(heads=6, kruskal_rank=8)
    21

    Raises:
        ParameterError: fewer than two heads, or a Kruskal rank below 2.
    """
    require(heads=(heads, 2, None), kruskal_rank=(kruskal_rank, 2, None))
    return heads // 2 * (kruskal_rank - 1)


def build_pairs(
    examples: Examples, labels: Float[Tensor, " examples"], heads: int, head_width: int = 1, seed: Seed = 0
) -> HeadsForLabels:
    """Heads in pairs that give every query its label.

    With b examples in each pair, every b + 1 queries must be independent, and every context must have two tokens that
    differ.

    Args:
        heads: H, at least 2.
        head_width: d_h; one column is used, the others are 0.

    Raises:
        ParameterError: an argument out of its range, more examples than the pairs take, or examples that break an
            assumption.
    """
    require(heads=(heads, 2, None), head_width=(head_width, 1, None))
    require_some(queries=examples.queries)
    require_shape(labels=(labels, (examples.count,)))
    require_finite(contexts=examples.contexts, queries=examples.queries, labels=labels)
    refuse_unless(examples.width >= 2, f"queries must have at least 2 entries, got {examples.width}")
    most = pair_capacity(heads, examples.width)
    refuse_unless(
        examples.count <= most, f"examples must be at most {most} with {heads} heads in pairs, got {examples.count}"
    )
    source = generator(seed)
    key = _separating_key(examples, source)
    owner, duals, away = _own_directions(examples, heads // 2, source)
    along = examples.context_of_each @ key
    span = along.amax(dim=1) - along.amin(dim=1)
    largest = labels.abs().max().item()
    reach = _ROOM * (largest or 1.0) / span.min().item()
    start, scale = _step_of_difference(labels / reach, along), _first_scale(examples, owner, away, span)
    tried: list[HeadsForLabels] = []
    for _ in range(_DOUBLINGS):
        steps = start
        for _ in range(_NEWTON_STEPS):
            steered = torch.zeros_like(away).index_add(0, owner, steps[:, None] * duals)
            layer, readout = _layer(scale * away, steered, key, reach, heads, head_width)
            missed = labels - predict(layer, readout, examples)[:, 0]
            tried.append(HeadsForLabels(layer, readout, owner, duals, scale, missed.abs().max().item(), 2))
            derivative = _derivative(layer, readout, examples, owner, duals)
            steps = steps + torch.linalg.lstsq(derivative, missed, driver="gelsd").solution
        best = min(tried, key=lambda pairs: pairs.residual)
        if best.residual <= _MISSED * largest:
            break
        scale *= 2.0
    return best


def build_single_heads(
    examples: Examples, labels: Float[Tensor, " examples"], heads: int, head_width: int = 2, seed: Seed = 0
) -> HeadsForLabels:
    """Heads without partners that give every query its label: H (kappa - 1) of them, for one context of n >= 3 tokens.

    A head reads the weight of the third token. On the queries of others its logits are c u.e and -c u.e at the first
    two tokens, which take all the weight; on its own, where u.e is 0, the third token's logit q.e chooses the label. A
    constant, which no weight changes, brings all labels into the range of the heads.

    Args:
        heads: H, at least 1.
        head_width: d_h, at least 2; two columns are used, the others are 0.

    Raises:
        ParameterError: an argument out of its range, contexts that are not shared, more examples than the heads take,
            or examples that break an assumption.
    """
    width, tokens = examples.width, examples.tokens
    require(heads=(heads, 1, None), head_width=(head_width, 2, None))
    require_some(queries=examples.queries)
    require_shape(labels=(labels, (examples.count,)))
    require_finite(contexts=examples.contexts, queries=examples.queries, labels=labels)
    refuse_unless(
        examples.shared and tokens >= 3, f"contexts must be one of at least 3 tokens, got {examples.contexts.shape}"
    )
    most = heads * (width - 1)
    refuse_unless(examples.count <= most, f"examples must be at most {most} with {heads} heads, got {examples.count}")
    owner, duals, away = _own_directions(examples, heads, generator(seed))
    unit = torch.eye(tokens).to(labels)
    wanted = torch.stack([unit[2], unit[0] - unit[1], unit.sum(dim=0)], dim=1)
    keys = torch.linalg.pinv(examples.contexts) @ wanted
    wrong = (examples.contexts @ keys - wanted).abs().max().item()
    refuse_unless(wrong <= _DEPENDENT, f"contexts must have independent tokens, got some that miss it by {wrong:.1e}")

    size = labels.abs().max().item() or 1.0
    low, reach = labels.min() - size, labels.max() - labels.min() + 2 * size
    steps = (labels - low).log() - (reach + low - labels).log() + math.log(tokens - 1)
    steering = torch.zeros_like(away).index_add(0, owner, steps[:, None] * duals)
    others = torch.arange(heads, device=owner.device) != owner[:, None]
    saturated = (examples.queries @ away.T).abs()[others]
    scale = (
        (40.0 + (examples.queries @ steering.T).abs().max()) / saturated.min()
        if len(saturated)
        else steps.new_zeros(())
    )
    queries = torch.nn.functional.pad(torch.stack([steering, scale * away], dim=-1), (0, head_width - 2))
    values = (reach * keys[:, :1]).repeat(heads, 1, 1)
    values[0] += low * keys[:, 2:]
    first = torch.eye(1, width).to(labels)
    both = torch.nn.functional.pad(keys[:, :2], (0, head_width - 2))
    layer, readout = KeyQueryHeads(both.repeat(heads, 1, 1), queries), Readout(values, first.repeat(heads, 1), first.T)
    residual = (predict(layer, readout, examples)[:, 0] - labels).abs().max().item()
    return HeadsForLabels(layer, readout, owner, duals, scale.item(), residual, 1)


def _derivative(
    heads: KeyQueryHeads, readout: Readout, examples: Examples, owner: Tensor, duals: Tensor
) -> Float[Tensor, "examples examples"]:
    """Of every output, by the multiple of every dual vector that steers its pair.

    The derivative of a head's output by its logit factor a.e is the covariance of logits and values under its weights.
    """
    pairs = heads.count // 2
    logits, values = (examples.context_of_each @ part[: 2 * pairs, :, 0].T for part in (heads.keys, readout.values))
    weights = softmax_weights(heads, examples)[:, : 2 * pairs].mT
    mean = (weights * values).sum(dim=1, keepdim=True)
    covariance = (weights * logits * (values - mean)).sum(dim=1).unflatten(1, (pairs, 2))
    return (covariance[..., 0] - covariance[..., 1])[:, owner] * (examples.queries @ duals.T)


def _separating_key(examples: Examples, source: torch.Generator) -> Float[Tensor, " width"]:
    """A direction v along which the tokens of every context differ: of random ones that of the largest smallest span.

    Raises:
        ParameterError: a context whose tokens are all the same.
    """
    drawn = normal(_DRAWS, examples.width, seed=source, dtype=examples.queries.dtype).to(examples.queries)
    drawn = drawn / drawn.norm(dim=1, keepdim=True)
    contexts = examples.contexts if examples.contexts.ndim == 3 else examples.contexts[None]
    along = contexts @ drawn.T
    spans = (along.amax(dim=1) - along.amin(dim=1)).amin(dim=0)
    limit = _DEPENDENT * contexts.abs().max().item()
    refuse_unless(
        spans.max().item() > limit, f"contexts must have two tokens that differ, got one of span {spans.max():.1e}"
    )
    return drawn[spans.argmax()]


def _own_directions(
    examples: Examples, pairs: int, source: torch.Generator
) -> tuple[Int[Tensor, " examples"], Float[Tensor, "examples width"], Float[Tensor, "pairs width"]]:
    """The pair of every example, its dual vector there, and for each pair a u that is 0 on its own queries only.

    Raises:
        ParameterError: queries that are not independent.
    """
    size = -(-examples.count // pairs)
    queries = examples.queries / examples.queries.norm(dim=1, keepdim=True)
    owner = torch.arange(examples.count, device=queries.device) // size
    slot = torch.arange(examples.count, device=queries.device) % size
    own = queries.new_zeros(pairs, size, examples.width)
    own[owner, slot] = queries
    inverse = torch.linalg.pinv(own)
    missed = ((own @ inverse)[owner, slot] - torch.eye(size).to(queries)[slot]).abs().max().item()
    # Rows that are filled up with 0 have an inverse of 0, so that they add nothing to any of these vectors.
    silent = torch.linalg.svd(own).Vh[:, size:]
    weights = normal(_DRAWS, pairs, 1, silent.shape[1], seed=source, dtype=queries.dtype).to(queries)
    drawn = torch.nn.functional.normalize((weights @ silent)[:, :, 0], dim=-1)
    distance = (drawn @ queries.T).abs()
    distance[:, owner, torch.arange(examples.count, device=queries.device)] = torch.inf
    smallest, best = distance.amin(dim=-1).max(dim=0)
    refuse_unless(
        missed <= _DEPENDENT and smallest.min().item() > _DEPENDENT,
        f"queries must be independent, every {min(size + 1, examples.count)} of them; got some that are not",
    )
    duals = inverse[owner, :, slot] / examples.queries.norm(dim=1, keepdim=True)
    return owner, duals, drawn[best, torch.arange(pairs, device=queries.device)]


def _first_scale(examples: Examples, owner: Tensor, away: Tensor, span: Tensor) -> float:
    """A scale c at which c u.e is of order 20 on the queries of other pairs, in units of the span of the logits."""
    if int(owner.max()) == 0:
        return 0.0
    logits = (examples.queries @ away.T).abs() * span[:, None]
    others = torch.arange(len(away), device=owner.device) != owner[:, None]
    return 20.0 / logits[others].min().item()


def _mean(steps: Float[Tensor, " examples"], along: Float[Tensor, "examples tokens"]) -> Float[Tensor, " examples"]:
    """f(s), the mean of ``along`` with the weights softmax(s along)."""
    return ((steps[:, None] * along).softmax(dim=-1) * along).sum(dim=-1)


def _step_of_difference(
    wanted: Float[Tensor, " examples"], along: Float[Tensor, "examples tokens"]
) -> Float[Tensor, " examples"]:
    """The s with f(s) - f(-s) = ``wanted``, by bisection; the left side is odd and increases with s."""

    def difference(steps: Tensor) -> Tensor:
        return _mean(steps, along) - _mean(-steps, along)

    size, low = wanted.abs(), torch.zeros_like(wanted)
    high = torch.ones_like(wanted)
    while bool((short := difference(high) < size).any()):
        high = torch.where(short, 2 * high, high)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        below = difference(middle) < size
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return wanted.sign() * (low + high) / 2


def _layer(
    saturating: Float[Tensor, "pairs width"],
    steering: Float[Tensor, "pairs width"],
    key: Float[Tensor, " width"],
    reach: float,
    heads: int,
    head_width: int,
) -> tuple[KeyQueryHeads, Readout]:
    """Two heads for each pair, with query weights c u + q and c u - q and values L v and -L v."""
    width = len(key)
    pair = torch.stack([saturating + steering, saturating - steering], dim=1).flatten(0, 1)
    signs = reach * torch.tensor([1.0, -1.0]).to(key).repeat(len(saturating))
    idle = heads - len(pair)
    queries = torch.nn.functional.pad(pair[..., None], (0, head_width - 1, 0, 0, 0, idle))
    keys = torch.nn.functional.pad(key.expand(heads, -1)[..., None], (0, head_width - 1))
    values = torch.nn.functional.pad(signs[:, None, None] * key[:, None], (0, 0, 0, 0, 0, idle))
    first = torch.eye(1, width).to(key)
    return KeyQueryHeads(keys, queries), Readout(values, first.repeat(heads, 1), first.T)
