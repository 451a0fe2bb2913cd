"""Multi-head linear attention: no softmax, so the output is cubic in the tokens and linear in every head.

The paper writes the tokens as columns, ``Z`` of shape (d, n); here they are rows, ``tokens`` of shape (n, d), and
``Z`` is ``tokens.T``. The head matrices are the paper's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import ParameterError, refuse_unless, require, require_some


@dataclass(frozen=True)
class Heads:
    """The parameters Θ = {(V_h, Q_h)} of one model; the functions of ``parameters`` take stacks of models as well.

    Attributes:
        values: V_h; ``out`` is the width, except where a model has fewer outputs than inputs.
        queries: Q_h, key rows by query columns.
    """

    values: Float[Tensor, "... heads out width"]
    queries: Float[Tensor, "... heads width width"]

    @property
    def count(self) -> int:
        """H, the number of heads."""
        return self.values.shape[-3]

    @property
    def width(self) -> int:
        """d, the number of features of a token."""
        return self.values.shape[-1]

    @property
    def out(self) -> int:
        """The number of features of an output."""
        return self.values.shape[-2]

    def to(self, device: torch.device | str) -> "Heads":
        """The same heads on another device."""
        return Heads(self.values.to(device), self.queries.to(device))


def random_heads(
    heads: int, width: int, seed: Seed, out: int | None = None, scale: float = 1.0, models: Sequence[int] = ()
) -> Heads:
    """Gaussian heads, every entry of standard deviation ``scale``; ``models`` are leading dimensions of a stack.

    Raises:
        ParameterError: a negative or infinite scale; heads, width or out below 1.
    """
    out = width if out is None else out
    require(heads=(heads, 1, None), width=(width, 1, None), out=(out, 1, None), scale=(scale, 0.0, None))
    source = generator(seed)
    values = normal(*models, heads, out, width, seed=source)
    queries = normal(*models, heads, width, width, seed=source)
    return Heads(scale * values, scale * queries)


def gram(tokens: Float[Tensor, "... tokens width"], is_causal: bool = False) -> Float[Tensor, "... width width"]:
    """The Gram matrix Z Zᵀ, which holds ``<z_j, z_k>`` for all feature rows of Z; or that of every prefix of Z."""
    if is_causal:
        return (tokens[..., :, None] * tokens[..., None, :]).cumsum(dim=-3)
    return tokens.mT @ tokens


def mhla(heads: Heads, tokens: Float[Tensor, "... tokens width"]) -> Float[Tensor, "... out"]:
    """The output at the last token, ``Σ_h V_h Z (Zᵀ Q_h z_n)``, by way of the Gram matrix (Eq. 2).

    Raises:
        ParameterError: no token, or tokens of another width than the heads.
    """
    _refuse_other_tokens(heads, tokens)
    return _read(heads, gram(tokens), tokens[..., -1, :])


def mhla_every_token(
    heads: Heads, tokens: Float[Tensor, "... tokens width"], is_causal: bool = False
) -> Float[Tensor, "... tokens out"]:
    """The output at every token, ``Σ_h V_h Z (Zᵀ Q_h Z)`` (Eq. 1); causal, Eq. 2 on every prefix (Section 6.1).

    Raises:
        ParameterError: no token, or tokens of another width than the heads.
    """
    _refuse_other_tokens(heads, tokens)
    return _read(heads, gram(tokens, is_causal=True) if is_causal else gram(tokens)[..., None, :, :], tokens)


def stack_lengths(sequences: Sequence[Float[Tensor, "_tokens width"]]) -> Float[Tensor, "batch tokens width"]:
    """Sequences of different lengths in one tensor, with zero tokens in front of the shorter ones.

    A zero token adds nothing to the Gram matrix, and the last token stays the last: the output is unchanged.

    Raises:
        ParameterError: no sequence, or sequences of different widths.
    """
    require_some(sequences=sequences)
    shapes = [list(sequence.shape) for sequence in sequences]
    refuse_unless(len({shape[-1] for shape in shapes}) == 1, f"sequences must have equal widths, got shapes {shapes}")
    longest = max(len(sequence) for sequence in sequences)
    return torch.stack([torch.nn.functional.pad(one, (0, 0, longest - len(one), 0)) for one in sequences])


def _read(
    heads: Heads, products: Float[Tensor, "... width width"], queries: Float[Tensor, "... width"]
) -> Float[Tensor, "... out"]:
    """``Σ_h V_h G Q_h z``: each head forms its key, reads the Gram matrix with it, and maps what it finds."""
    keys = torch.einsum("hkl,...l->...hk", heads.queries, queries)
    found = keys @ products
    return torch.einsum("haj,...hj->...a", heads.values, found)


def _refuse_other_tokens(heads: Heads, tokens: Tensor) -> None:
    if tokens.shape[-2] == 0 or tokens.shape[-1] != heads.width:
        raise ParameterError(f"tokens must have shape [..., at least 1, {heads.width}], got {list(tokens.shape)}")
