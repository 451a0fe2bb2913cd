"""Aggregate pairwise interactions (Eq. 2), and what a linear attention layer makes of them.

The paper's symbols: ``effect[a, b]`` is f(a, b), how strongly symbol b acts on symbol a; ``weights[b]`` is w_b, how the
action is expressed; row a of the embedding ``B`` is x(a). A sequence of symbols enters a layer only through its counts
``s``: row i of the output is the sum over b of ``s_b T[X(i), b]``, with the functional tensor ``T`` of the layer.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.randomness import Seed, generator
from attention_theory.validation import Each, ParameterError, require, require_shape


def sample_sequences(
    samples: int, length: int, size: int, seed: Seed, unique: bool = False
) -> Int[Tensor, "samples length"]:
    """Uniform sequences of symbols 0 to ``size - 1`` (Section 3), independent; with ``unique`` no symbol comes twice.

    Raises:
        ParameterError: no sequence, token or symbol, or more unique tokens than symbols.
    """
    require(samples=(samples, 1, None), size=(size, 1, None), length=(length, 1, size if unique else None))
    draw = generator(seed)
    if unique:
        return torch.rand(samples, size, generator=draw, device=draw.device).argsort(dim=-1)[:, :length]
    return torch.randint(size, (samples, length), generator=draw, device=draw.device)


def aggregate_interactions(
    symbols: Int[Tensor, "... length"],
    effect: Float[Tensor, "size size"],
    weights: Float[Tensor, "size features"],
    self_term: bool = True,
) -> Float[Tensor, "... length features"]:
    """Row i is the sum over j of ``f(X(i), X(j)) w_{X(j)}`` (Eq. 2); without ``self_term`` the sum leaves out j = i.

    Raises:
        ParameterError: a symbol that the effect does not have.
    """
    require(symbols=(Each(symbols), 0, len(effect) - 1))
    pairs = effect[symbols[..., :, None], symbols[..., None, :]]
    if not self_term:
        pairs = pairs - torch.diag_embed(pairs.diagonal(dim1=-2, dim2=-1))
    return pairs @ weights[symbols]


def counts(symbols: Int[Tensor, "... length"], size: int) -> Float[Tensor, "... size"]:
    """Count each symbol in each sequence (the vector ``s`` of Definition 4.1)."""
    zeros = torch.zeros(*symbols.shape[:-1], size, dtype=torch.float64, device=symbols.device)
    return zeros.scatter_add_(-1, symbols, torch.ones_like(symbols, dtype=torch.float64))


def functional_tensor(
    embedding: Float[Tensor, "... size width"],
    score: Float[Tensor, "... width width"],
    value: Float[Tensor, "... width features"],
) -> Float[Tensor, "... size size features"]:
    """``T[a, b, k] = (x(a)^T C x(b)) (x(b)^T W_k)``: all of a layer that its outputs can show (Corollary D.3)."""
    return (embedding @ score @ embedding.mT).unsqueeze(-1) * (embedding @ value).unsqueeze(-3)


def outputs_from_counts(
    symbols: Int[Tensor, "... length"], tensor: Float[Tensor, "size size features"]
) -> Float[Tensor, "... length features"]:
    """The outputs of a layer from its functional tensor: row i is the sum over b of ``s_b T[X(i), b]`` (Eq. 30)."""
    by_symbol = torch.einsum("...b,abk->...ak", counts(symbols, tensor.shape[0]).to(tensor.dtype), tensor)
    return by_symbol.gather(-2, symbols.unsqueeze(-1).expand(*symbols.shape, tensor.shape[-1]))


def represent(
    effect: Float[Tensor, "size size"], weights: Float[Tensor, "size features"], embedding: Float[Tensor, "size _size"]
) -> tuple[Float[Tensor, "size size"], Float[Tensor, "size features"]]:
    """Score and value matrices with which linear attention equals the interaction exactly (Theorem 3.1).

    ``C = B^-1 F B^-T`` and ``W_V = B^-1 W`` for any invertible embedding; for the orthonormal one of the paper's proof
    they are ``B^T F B`` and ``B^T W``.

    Raises:
        ParameterError: an embedding that is not invertible; the embedding is not square.
    """
    size = len(embedding)
    require_shape(embedding=(embedding, (size, size)))
    try:
        half = torch.linalg.solve(embedding, effect)
    except torch.linalg.LinAlgError as error:
        raise ParameterError("embedding must be invertible, got a singular one") from error
    return torch.linalg.solve(embedding, half.mT).mT, torch.linalg.solve(embedding, weights)


def represent_others(
    effect: Float[Tensor, "size size"],
    weights: Float[Tensor, "size 1"],
    embedding: Float[Tensor, "size _size"],
    length: int,
) -> tuple[Float[Tensor, "size size"], Float[Tensor, "size 1"]]:
    """Score and value matrices whose layer, on sequences of ``length`` tokens, sums over the *others* (Eq. 18).

    With ``W_V`` reading 1 of every symbol, the score ``f(a, b) w_b - f(a, a) w_a / length`` adds up to the sum over all
    j less the term j = i. That is right at the one length only: sequences of a single symbol show that no weights are
    right at two, unless all ``f(a, a) w_a`` are 0.

    Raises:
        ParameterError: the embedding is not square, or a length below 1.
    """
    require(length=(length, 1, None))
    products = effect * weights.mT
    own = products.diagonal().unsqueeze(-1)
    return represent(products - own / length, torch.ones_like(weights), embedding)
