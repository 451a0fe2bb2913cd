"""Weights written down that memorise any labels: Theorem 1 and Proposition 1 (Appendix B), in a well-conditioned form.

The first head fits min(n, d_h) examples, every further head fits one less. A new head does two things: it gives its own
examples chosen softmax weights, so that their features leave the span of what is there, and it is saturated on all
others, so that those do not move while it is being chosen.

The printed proof asks at every head which rows of the feature matrix depend on which, a question that rounding cannot
answer without a tolerance. Here every head has its examples from the start. Subtracting from the fresh rows their
least-squares combination C of earlier rows leaves rows orthogonal to the earlier row space, so the rank still adds up
(Lemma 1 in the coordinates of that row space): rank Z >= rank Z'[earlier] + rank(Z''[fresh] + C Z''[earlier]), whether
they depend on earlier rows or not.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from scipy.linalg import qr
from torch import Tensor

from attention_theory.memorization.attention import Examples, KeyQueryHeads, features
from attention_theory.memorization.general_position import fresh_examples
from attention_theory.memorization.single_head import (
    column_logits,
    fit_targets,
    one_hot_of_largest,
    saturating_scale,
    silent_direction,
)
from attention_theory.randomness import Seed, generator
from attention_theory.validation import FORMS, Form, refuse_unless, require

#: No chosen weight is smaller: softmax reaches the inside of the simplex only (Claim 1).
_FLOOR = 1e-3
#: A head that misses its chosen weights by more has been given examples that break an assumption.
_MISSED = 1e-6
_CANDIDATES = 200


@dataclass(frozen=True)
class Roles:
    """The part of the examples in one step of the induction.

    Attributes:
        fresh: the examples that the new head fits.
        earlier: the examples whose rows clear the fresh ones.
        C: with it, Z'[fresh] + C Z'[earlier] is 0, or as small as it can be.
    """

    fresh: Int[Tensor, " fresh"]
    earlier: Int[Tensor, " earlier"]
    C: Float[Tensor, "fresh earlier"]


def blocks(count: int, heads: int, together: int, further: int | None = None) -> list[range]:
    """The examples of each head: ``together`` for the first, ``further`` for each other one, while there are any.

    Where ``further`` is not given it is one less than ``together``.
    """
    more = together - 1 if further is None else further
    starts = [0] + [together + head * more for head in range(heads - 1)]
    ends = [together + head * more for head in range(heads)]
    return [range(min(start, count), min(end, count)) for start, end in zip(starts, ends, strict=True)]


def _fixed_roles(gram: Float[Tensor, "examples examples"], block: range) -> Roles:
    """A separate block for every head; the rows before it clear it in least squares.

    C comes from Z' Z'^T and need not be exact: it only steers the choice of the fresh weights. A ridge keeps the
    factorisation safe.
    """
    rows = torch.arange(block.stop, device=gram.device)
    fresh, earlier = rows[block.start :], rows[: block.start]
    known = gram[: block.start, : block.start]
    ridge = 1e-14 * known.diagonal().sum() * torch.eye(block.start, dtype=gram.dtype, device=gram.device)
    solution = torch.cholesky_solve(gram[: block.start, block.start : block.stop], torch.linalg.cholesky(known + ridge))
    return Roles(fresh, earlier, -solution.mT)


def printed_roles(Z: Float[Tensor, "examples features"], together: int, tolerance: float) -> Roles:
    """As printed: k = rank Z', k independent rows, and fresh examples among the rows that depend on them.

    In rounded arithmetic the rank is a decision about small pivots, on which the paper is silent: here k is the
    number of pivots above ``tolerance`` times the largest. The basis may be as ill-conditioned as that lets it be.

    Raises:
        ParameterError: a tolerance outside 1e-15 to 0.5.
    """
    require(tolerance=(tolerance, 1e-15, 0.5))
    _, R, order = qr(Z.T.numpy(), mode="economic", pivoting=True)
    pivots = abs(R.diagonal())
    rank = int((pivots > tolerance * pivots[0]).sum())
    order = torch.from_numpy(order.astype("int64"))
    few = min(together - 1, len(Z) - rank)
    independent, fresh = order[:rank], order[len(Z) - few :]
    coefficients = torch.linalg.pinv(Z[independent].T) @ Z[fresh].T
    return Roles(fresh, independent, -coefficients.T)


@dataclass(frozen=True)
class _HeadReport:
    """The task of one head and how well it does it.

    Attributes:
        fresh: the number of examples that the head fits.
        distance: delta, the allowed distance of all other examples from one-hot weights (L1).
        scale: c, the size of the saturating part.
        target_error: the largest deviation of a fresh example's weights from the chosen ones.
        one_hot_error: the largest L1 distance from one-hot weights on the other examples.
    """

    fresh: int
    distance: float
    scale: float
    target_error: float
    one_hot_error: float


@dataclass(frozen=True)
class _Construction:
    """The heads, their feature matrix and a report on each.

    Attributes:
        heads, Z: with ``Z`` the matrix that they make of the examples.
        reports: one for each head.
        roles: of the examples in the step of each head after the first. In the printed form rounding decides them.
    """

    heads: KeyQueryHeads
    Z: Float[Tensor, "examples heads_times_width"]
    reports: list[_HeadReport]
    roles: list[Roles]


def build_heads(
    examples: Examples,
    heads: int,
    head_width: int,
    seed: Seed = 0,
    form: Form = "correct",
    rank_limit: int | None = None,
    rank_tolerance: float = 1e-2,
    general_position: bool = False,
) -> _Construction:
    """Heads whose feature matrix has rank T (Proposition 1).

    Args:
        examples: T examples satisfying Assumptions 1 and 2, at most H (min(n, d_h) - 1) + 1 of them.
        heads: H, at least 1.
        head_width: d_h, at least 1.
        form: ``printed`` decides ranks in every step as Appendix B does; it is there to be compared.
        rank_limit: fit so many examples in a head instead of min(n, d_h); Remark 1 takes the queries' Kruskal rank.
        rank_tolerance: of the printed form, which counts pivots above this share of the largest.
        general_position: all tokens are, so that a head fits more (Appendix I.1): the first one min(d, d_h), each other
            one as many as :func:`~attention_theory.memorization.general_position.fresh_examples` says.

    Raises:
        ParameterError: an argument out of its range, more examples than the theorem allows, or (``missed_weights``)
            examples that break Assumption 1 or 2, so that a head cannot give them the weights chosen.
    """
    require(heads=(heads, 1, None), head_width=(head_width, 1, None), form=(form, FORMS))
    if rank_limit is not None:
        require(rank_limit=(rank_limit, 1, None))
    together = min(examples.tokens, head_width, examples.tokens if rank_limit is None else rank_limit)
    further = together - 1
    if general_position:
        require(form=(form, {"correct"}))
        together = min(examples.width, head_width)
        further = fresh_examples(examples.tokens, examples.width, head_width)
    most = together + (heads - 1) * further
    refuse_unless(examples.count <= most, f"examples must be at most {most} with {heads} heads, got {examples.count}")
    source = generator(seed)
    built: list[KeyQueryHeads] = []
    reports: list[_HeadReport] = []
    parts: list[Tensor] = []
    steps: list[Roles] = []
    gram = examples.queries.new_zeros(examples.count, examples.count)
    for index, block in enumerate(blocks(examples.count, heads, together, further)):
        if index == 0:
            head, report = _first_head(examples, together, head_width, source)
        else:
            roles = (
                _fixed_roles(gram, block)
                if form == "correct"
                else printed_roles(torch.cat(parts, 1), together, rank_tolerance)
            )
            steps.append(roles)
            needed = len(roles.fresh) > 0
            head, report = (
                _add_head(examples, roles, head_width, source) if needed else _idle_head(examples, head_width)
            )
        refuse_unless(
            report.target_error <= _MISSED,
            f"examples must have queries that are independent (Assumption 1) up to a residual of {_MISSED}, "
            f"got {report.target_error:.1e}",
        )
        built.append(head)
        reports.append(report)
        parts.append(features(head, examples))
        gram += parts[-1] @ parts[-1].T
    keys, queries = (torch.cat([getattr(head, name) for head in built]) for name in ("keys", "queries"))
    return _Construction(KeyQueryHeads(keys, queries), torch.cat(parts, dim=1), reports, steps)


def _add_head(
    examples: Examples, roles: Roles, head_width: int, source: torch.Generator
) -> tuple[KeyQueryHeads, _HeadReport]:
    """A head that fits the fresh examples and is saturated on all others."""
    is_fresh = examples.queries.new_zeros(examples.count, dtype=torch.bool)
    is_fresh[roles.fresh] = True
    own = examples.take(roles.fresh)
    silent = silent_direction(examples, is_fresh, ~is_fresh, source)[0]
    decisive = column_logits(examples, silent)
    saturated = one_hot_of_largest(decisive)
    limit = (saturated[roles.earlier, None] @ examples.take(roles.earlier).contexts)[:, 0]
    targets, smallest = _choose_targets(own, roles.C @ limit, source)

    columns = fit_targets(own, targets)
    distance = _allowed_distance(smallest, roles.C, examples.contexts.norm(dim=-1).max().item())
    scale = saturating_scale(column_logits(examples, columns)[~is_fresh], decisive[~is_fresh], distance)
    columns = columns.beside(silent, scale)
    weights = column_logits(examples, columns).softmax(dim=-1)
    target_error = (weights[roles.fresh] - targets).abs().max().item()
    one_hot_error = (weights - saturated)[~is_fresh].abs().sum(dim=-1).max().item()
    return columns.as_head(head_width), _HeadReport(own.count, distance, scale, target_error, one_hot_error)


def _first_head(
    examples: Examples, together: int, head_width: int, source: torch.Generator
) -> tuple[KeyQueryHeads, _HeadReport]:
    """The start of the induction: one example more than later heads, and nothing to leave alone."""
    own = examples.take(slice(0, min(together, examples.count)))
    targets, _ = _choose_targets(own, torch.zeros_like(own.queries), source)
    columns = fit_targets(own, targets)
    error = (column_logits(own, columns).softmax(dim=-1) - targets).abs().max().item()
    return columns.as_head(head_width), _HeadReport(own.count, 0.0, 0.0, error, 0.0)


def _idle_head(examples: Examples, head_width: int) -> tuple[KeyQueryHeads, _HeadReport]:
    """A head that is not needed: it takes the mean of the context."""
    nothing = examples.queries.new_zeros(1, examples.width, head_width)
    return KeyQueryHeads(nothing, nothing), _HeadReport(0, 0.0, 0.0, 0.0, 0.0)


def _allowed_distance(smallest: float, C: Float[Tensor, "fresh earlier"], largest_token: float) -> float:
    """delta: half of what Appendix B.2 allows, since Lemma 5 needs strict inequality and Claim 2 gives ``<=``.

    If the saturated weights are within delta of one-hot, C Z'' is within sigma_min of its limit, and the rank stays.
    """
    size = largest_token * torch.linalg.matrix_norm(C, 2).item() * C.shape[1] ** 0.5
    return min(0.5, 0.5 * smallest / size) if size else 0.5


def _choose_targets(
    fresh: Examples, shift: Float[Tensor, "examples width"], seed: Seed
) -> tuple[Float[Tensor, "examples tokens"], float]:
    """Weights theta for which the rows E^T theta + shift are as independent as possible, one row after another.

    For every row many candidates are tried, random ones and some half way to the corners of the simplex. The best is
    the one whose combination lies farthest from the span of its shift and the rows before it.

    Returns:
        the weights, all at least about ``_FLOOR``, and the smallest singular value of the rows they lead to.
    """
    source = generator(seed)
    n = fresh.tokens
    rows = fresh.queries.new_zeros(fresh.count, fresh.width)
    basis = fresh.queries.new_zeros(0, fresh.width)
    targets = fresh.queries.new_zeros(fresh.count, n)
    corners = 0.5 * torch.eye(n, dtype=rows.dtype, device=rows.device) + 0.5 / n
    floor = _FLOOR / n
    for row, context in enumerate(fresh.context_of_each):
        drawn = torch.rand(_CANDIDATES, n, generator=source, dtype=torch.float64, device=source.device)
        inside = -drawn.log().to(rows)
        candidates = torch.cat([inside / inside.sum(dim=1, keepdim=True), corners]) * (1 - n * floor) + floor
        forbidden = _extend(basis, shift[row])
        points = candidates @ context
        beyond = points - (points @ forbidden.T) @ forbidden
        best = beyond.norm(dim=1).argmax()
        targets[row] = candidates[best]
        rows[row] = points[best] + shift[row]
        basis = _extend(basis, rows[row])
    return targets, torch.linalg.svdvals(rows)[-1].item()


def _extend(basis: Float[Tensor, "rows width"], vector: Float[Tensor, " width"]) -> Float[Tensor, "more width"]:
    """An orthonormal basis with one more direction, unless it is there already."""
    left = vector
    for _twice_is_enough in range(2):
        left = left - (left @ basis.T) @ basis
    length = left.norm()
    if length <= 1e-12 * vector.norm():
        return basis
    return torch.cat([basis, left[None] / length])
