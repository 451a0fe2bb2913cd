"""Weights that make one head do as it should: Claims 1 and 2, Lemmas 3 and 4 (Appendix B.1 and D).

A head acts through W = W_K W_Q^T. The weights are built as columns: ``fit_targets`` gives one column for each example
whose softmax weights are prescribed, ``silent_direction`` one more column that those examples do not notice and that
decides all other examples once it is large. So the factors W_K and W_Q are written down, not found by decomposition.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_theory.memorization.attention import Examples, KeyQueryHeads
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import Each, refuse_unless, require


@dataclass(frozen=True)
class Columns:
    """Matching columns of W_K and W_Q; the head's matrix is ``keys @ queries.T``."""

    keys: Float[Tensor, "width columns"]
    queries: Float[Tensor, "width columns"]

    @property
    def matrix(self) -> Float[Tensor, "width width"]:
        return self.keys @ self.queries.T

    def beside(self, other: "Columns", scale: float) -> "Columns":
        """These columns and ``scale`` times the others."""
        return Columns(
            torch.cat([self.keys, scale * other.keys], dim=1), torch.cat([self.queries, other.queries], dim=1)
        )

    def as_head(self, head_width: int) -> KeyQueryHeads:
        """A single head of width d_h, the missing columns filled with zeros.

        Raises:
            ParameterError: there are more columns than d_h.
        """
        require(head_width=(head_width, self.keys.shape[1], None))
        missing = head_width - self.keys.shape[1]
        keys, queries = (torch.nn.functional.pad(part, (0, missing)) for part in (self.keys, self.queries))
        return KeyQueryHeads(keys[None], queries[None])


def fit_targets(fresh: Examples, targets: Float[Tensor, "examples tokens"]) -> Columns:
    """Claim 1: columns with softmax(E W e) = the target on each of the given examples.

    W e must be a solution b of E b = log(target); independent queries let each example have its own b.

    Args:
        fresh: at most n examples with independent queries and contexts of rank n.
        targets: convex weights, all above 0 (softmax never reaches the boundary of the simplex).

    Raises:
        ParameterError: a target that is not above 0.
    """
    require(targets=(Each(targets), 1e-300, None))
    wanted = (torch.linalg.pinv(fresh.context_of_each) @ targets.log()[..., None])[..., 0]
    return Columns(wanted.T, torch.linalg.pinv(fresh.queries))


def silent_direction(
    examples: Examples,
    silent: Bool[Tensor, " examples"],
    decided: Bool[Tensor, " examples"],
    seed: Seed,
    draws: int = 64,
) -> tuple[Columns, float]:
    """Lemma 3: u is orthogonal to the queries of the silent examples, v is random; the draw of largest gap is taken.

    Returns:
        v and u, one column each, and the smallest distance between the two largest logits over the decided examples.

    Raises:
        ParameterError: the silent queries span the whole space, or no draw.
    """
    quiet = examples.queries[silent]
    require(draws=(draws, 1, None))
    refuse_unless(
        len(quiet) < examples.width, f"silent must be fewer examples than the width, {examples.width}, got {len(quiet)}"
    )
    source = generator(seed)
    best: tuple[Columns, float] | None = None
    basis = torch.linalg.qr(quiet.T).Q
    for _ in range(draws):
        u, v = normal(2, examples.width, seed=source, dtype=examples.queries.dtype).to(examples.queries)
        for _twice_is_enough in range(2):
            u = u - basis @ (basis.T @ u)
        u, v = u / u.norm(), v / v.norm()
        gap = _top_gap(examples, v, u)[decided].min().item() if decided.any() else torch.inf
        if best is None or gap > best[1]:
            best = Columns(v[:, None], u[:, None]), gap
    assert best is not None
    return best


def _top_gap(examples: Examples, v: Tensor, u: Tensor) -> Float[Tensor, " examples"]:
    """The distance between the two largest logits (E v)(u e): the sign of u e turns the order of E v round."""
    along = examples.contexts @ v
    across = examples.queries @ u
    if examples.tokens == 1:
        return torch.full_like(across, torch.inf)
    highest, lowest = (side.topk(2, dim=-1).values for side in (along, -along))
    gap_up, gap_down = highest[..., 0] - highest[..., 1], lowest[..., 0] - lowest[..., 1]
    return across.abs() * torch.where(across > 0, gap_up, gap_down)


def column_logits(examples: Examples, columns: Columns) -> Float[Tensor, "examples tokens"]:
    """E W e of every example, W = ``columns.matrix``."""
    carried = (examples.queries @ columns.queries) @ columns.keys.T
    return (examples.contexts @ carried[..., None])[..., 0] if not examples.shared else carried @ examples.contexts.T


def one_hot_of_largest(values: Float[Tensor, "examples tokens"]) -> Float[Tensor, "examples tokens"]:
    """theta_+: 1 at the largest entry of every row (Lemma 4)."""
    return torch.nn.functional.one_hot(values.argmax(dim=-1), values.shape[-1]).to(values.dtype)


def saturating_scale(
    fixed: Float[Tensor, "examples tokens"], decisive: Float[Tensor, "examples tokens"], distance: float
) -> float:
    """A scale c with ||softmax(fixed + c decisive) - theta_+||_1 <= ``distance`` in every row (Lemma 4, made explicit).

    It is 0 or the largest of :func:`sufficient_scales`.

    Raises:
        ParameterError: as :func:`sufficient_scales`.
    """
    scales = sufficient_scales(fixed, decisive, distance)
    return max(0.0, scales.max().item()) if scales.numel() else 0.0


def sufficient_scales(
    fixed: Float[Tensor, "examples tokens"], decisive: Float[Tensor, "examples tokens"], distance: float
) -> Float[Tensor, " others"]:
    """The scale at which each token but the winner has a small enough weight (Lemma 4).

    The distance is twice the weight outside the winner, so each of the n - 1 others must lie log(2 (n - 1) / distance)
    below it.

    Raises:
        ParameterError: a distance that is not above 0, or a tie for the largest decisive logit.
    """
    require(distance=(distance, 1e-300, None))
    if not fixed.numel() or fixed.shape[-1] == 1:
        return fixed.new_zeros(0)
    winner = decisive.argmax(dim=-1, keepdim=True)
    lead = decisive.gather(-1, winner) - decisive
    behind = fixed - fixed.gather(-1, winner)
    others = torch.ones_like(lead, dtype=torch.bool).scatter(-1, winner, False)
    least = lead[others].min().item()
    refuse_unless(least >= 1e-300, f"decisive must have a largest entry in every row, its least lead is {least}")
    needed = (behind + math.log(2 * (fixed.shape[-1] - 1) / distance)) / lead
    return needed[others]
