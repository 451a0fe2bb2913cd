"""Which examples a new head fits, and how their rows are cleared by earlier ones (the induction step of Appendix B)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from scipy.linalg import qr
from torch import Tensor

from attention_theory.validation import require


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


def fixed_roles(gram: Float[Tensor, "examples examples"], block: range) -> Roles:
    """A block of its own for every head; the rows before it clear it in least squares.

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

    In rounded arithmetic the rank is a decision about small pivots, of which the print says nothing: here k is the
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
