"""The associative memory of Section 6.2: find the value whose key was asked for."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require

_Law = Literal["gaussian", "orthogonal"]


def memory_teacher(width: int) -> Heads:
    """The one head that looks up a value by its key: V keeps the value half of a token, Q the key half.

    ``width`` is d, the length of a key and of a value; a token has 2d features.

    Raises:
        ParameterError: a width below 1.
    """
    require(width=(width, 1, None))
    identity, nothing = torch.eye(width, dtype=torch.float64), torch.zeros(width, width, dtype=torch.float64)
    return Heads(torch.block_diag(nothing, identity)[None], torch.block_diag(identity, nothing)[None])


def lookup_heads(width: int) -> Heads:
    """The teacher and d² heads more, which on orthogonal memories give the labels of Eq. 27 to the letter. Ours.

    The heads ``V = -e_{d+m} e_jᵀ / (d + 1)``, ``Q = e_j e_{d+m}ᵀ`` for all j and m take away the last token's own term.

    Raises:
        ParameterError: a width below 1.
    """
    teacher, unit = memory_teacher(width), torch.eye(2 * width, dtype=torch.float64)
    key, value = (half.reshape(-1) for half in torch.meshgrid(*torch.arange(2 * width).split(width), indexing="ij"))
    values = -unit[value, :, None] * unit[key, None, :] / (width + 1)
    queries = unit[key, :, None] * unit[value, None, :]
    return Heads(torch.cat([teacher.values, values]), torch.cat([teacher.queries, queries]))


def hidden_head(width: int, scale: float) -> Heads:
    """A head that returns zero on every orthogonal memory: ``V = e_0 e_0ᵀ``, ``Q = scale (e_1 e_2ᵀ - e_2 e_1ᵀ)``. Ours.

    Raises:
        ParameterError: a width below 3.
    """
    require(width=(width, 3, None))
    unit = torch.eye(2 * width, dtype=torch.float64)
    turn = torch.outer(unit[1], unit[2])
    return Heads(torch.outer(unit[0], unit[0])[None], scale * (turn - turn.mT)[None])


def sample_memories(count: int, width: int, law: _Law, seed: Seed) -> Float[Tensor, "{count} {width+1} {2*width}"]:
    """Tables of d keys and values with a query behind them, as tokens (Eq. 26).

    Args:
        count: the number of tables.
        width: d, the number of pairs and the length of each key and value.
        law: ``gaussian`` entries; or the keys, and the values, of each table are a random ``orthogonal`` matrix.
        seed: of all draws. The query is one of the keys; its value half is Gaussian noise.

    Raises:
        ParameterError: count or width below 1, or an unknown law.
    """
    require(count=(count, 1, None), width=(width, 1, None), law=(law, {"gaussian", "orthogonal"}))
    source = generator(seed)
    keys, values = (normal(count, width, width, seed=source) for _ in range(2))
    if law == "orthogonal":
        keys, values = _orthogonal(keys), _orthogonal(values)
    asked = torch.randint(width, (count,), generator=source)
    noise = normal(count, width, seed=source)
    query = torch.cat([keys[torch.arange(count), asked], noise], dim=-1)
    return torch.cat([torch.cat([keys, values], dim=-1), query[:, None]], dim=1)


def mix_memories(
    gaussian: Float[Tensor, "count tokens features"],
    orthogonal: Float[Tensor, "count tokens features"],
    fraction: float,
    seed: Seed,
) -> Float[Tensor, "count tokens features"]:
    """Each table from the orthogonal set with probability ``fraction``, otherwise from the Gaussian one.

    Raises:
        ParameterError: a fraction outside [0, 1].
    """
    require(fraction=(fraction, 0.0, 1.0))
    source = generator(seed)
    chance = torch.rand(len(gaussian), generator=source, dtype=torch.float64, device=source.device)
    return torch.where((chance < fraction).to(gaussian.device)[:, None, None], orthogonal, gaussian)


def printed_labels(tokens: Float[Tensor, "count tokens features"]) -> Float[Tensor, "count features"]:
    """The labels of Eq. 27: ``Σ_j <q, k_j> v_j`` over the table alone, without the query's own token."""
    width = tokens.shape[-1] // 2
    keys, values, query = tokens[:, :-1, :width], tokens[:, :-1, width:], tokens[:, -1, :width]
    found = torch.einsum("ci,cji,cjk->ck", query, keys, values)
    return torch.cat([torch.zeros_like(found), found], dim=-1)


def _orthogonal(gaussian: Tensor) -> Tensor:
    q, r = torch.linalg.qr(gaussian)
    return q * r.diagonal(dim1=-2, dim2=-1).sign()[:, None, :]
