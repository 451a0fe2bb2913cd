"""Assumptions 1 and 2 and general position in a language model, layer by layer, by the paper's test (Section 5.1).

The rule of the test is that of the precision: vectors count as independent if their smallest singular value is above
max(k, d) times machine epsilon times the largest. Here the singular values are computed in float64 whatever the
precision of the vectors, so that for vectors in float32 the rule is decided and not estimated.
:func:`predicted_rank` says from the spectrum of the vectors where the rule will fail.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.encodings import sinusoidal
from attention_theory.memorization.kruskal import independent_prefixes
from attention_theory.memorization.language import PretrainedModel
from attention_theory.memorization.transformer import cast
from attention_theory.randomness import Seed
from attention_theory.validation import require, require_some

_BATCH = 20  # texts at a time


@dataclass(frozen=True)
class AtDepth:
    """A model after some of its layers.

    Attributes:
        depth: the number of layers.
        prefixes: how many of the queries are independent in each random order of them, at most d.
        contexts: which contexts have full rank.
        ratio: the smallest over the largest singular value of a context, the smallest of all contexts.
        spectrum: the eigenvalues of the queries' mean outer product, the largest first.
        repeats: queries that are equal to an earlier one, number by number.
    """

    depth: int
    prefixes: Int[Tensor, " draws"]
    contexts: Bool[Tensor, " texts"]
    ratio: float
    spectrum: Float[Tensor, " width"]
    repeats: int


def examine_depths(
    model: PretrainedModel,
    texts: Int[Tensor, "texts tokens"],
    dtype: torch.dtype,
    draws: int,
    contexts: int,
    depth: int | None = None,
    seed: Seed = 0,
) -> list[AtDepth]:
    """Queries and contexts of a model at the embedding and after each layer.

    Args:
        texts: token numbers.
        dtype: the precision of weights and vectors, float32 or float64, whose tolerance applies.
        draws: random orders of the queries.
        contexts: of so many texts the rank of the context is taken; 0 where n > d, since none can have rank n.
        depth: how many layers; all, unless it is given.

    Raises:
        ParameterError: no draw, more contexts than texts, more layers than the model has.
    """
    depth = len(model.layers) if depth is None else depth
    require(draws=(draws, 1, None), contexts=(contexts, 0, len(texts)), depth=(depth, 0, len(model.layers)))
    own, rows = cast(model, dtype), []
    states = [own.tokens(part) for part in texts.split(_BATCH)]
    for level in range(depth + 1):
        if level:
            states = [own.layers[level - 1].everywhere(part, own.causal) for part in states]
        queries = torch.cat([part[:, own.query_position] for part in states])
        ratios = _smallest_ratios(torch.cat([part[: max(0, contexts)] for part in states])[:contexts])
        prefixes = independent_prefixes(queries, min(queries.shape), draws, seed)
        spectrum = torch.linalg.svdvals(queries.double()).square() / len(queries)
        repeats = len(queries) - len(queries.unique(dim=0))
        least = float(ratios.min()) if contexts else 0.0
        rows.append(AtDepth(level, prefixes, ratios > _tolerance(states[0].shape[1:], dtype), least, spectrum, repeats))
    return rows


def _tolerance(shape: torch.Size | tuple[int, int], dtype: torch.dtype) -> float:
    """The usual one for ranks: the larger dimension times machine epsilon."""
    return max(shape) * torch.finfo(dtype).eps


def _smallest_ratios(matrices: Float[Tensor, "batch rows columns"]) -> Float[Tensor, " batch"]:
    """The smallest of as many singular values as there are rows, over the largest; 0 for more rows than columns."""
    if matrices.shape[1] > matrices.shape[2]:
        return torch.zeros(len(matrices), dtype=torch.float64)
    values = [torch.linalg.svdvals(part.double()) for part in matrices.split(_BATCH)]
    ratios = [part[:, -1] / part[:, 0] for part in values]
    return torch.cat(ratios) if ratios else torch.zeros(0, dtype=torch.float64)


def predicted_rank(spectrum: Float[Tensor, " width"], dtype: torch.dtype) -> int:
    """The number of random vectors with this spectrum that the rule still counts as independent.

    Of k Gaussian vectors whose mean outer product has the eigenvalues λ, the smallest squared singular value tends to
    the largest value that (Σ λ τ/(1 + λ τ) - k)/τ takes for τ > 0, as k and d grow (the lower edge of the spectrum, by
    the fixed point equation of Silverstein and Bai). The largest is about k λ_1 if λ_1 leads. The first quotient counts
    the directions that are not below the resolution 1/τ. The number is an estimate, below the rank of the spectrum.

    Raises:
        ParameterError: no eigenvalue.
    """
    require_some(spectrum=spectrum)
    width, largest = len(spectrum), spectrum.max().item()
    if largest == 0:
        return 0
    scaled = spectrum.double() / largest
    resolutions = torch.logspace(0, 36, 7201, dtype=torch.float64)
    seen = (scaled * resolutions[:, None] / (1 + scaled * resolutions[:, None])).sum(dim=1)
    sizes = torch.arange(1, width + 1, dtype=torch.float64)
    edges = ((seen[:, None] - sizes) / resolutions[:, None]).amax(dim=0)
    passed = edges > sizes * _tolerance((width, width), dtype) ** 2
    return int(passed.long().cumprod(dim=0).sum())


def cut_positions(model: PretrainedModel, tokens: int, rank: int) -> PretrainedModel:
    """The model with its first positions replaced by their best approximation of a rank, in float64 for exact zeros.

    Raises:
        ParameterError: more tokens than positions, or a rank outside 0 to their number.
    """
    require(tokens=(tokens, 1, len(model.positions)))
    require(rank=(rank, 0, tokens))
    left, values, right = torch.linalg.svd(model.positions[:tokens].double(), full_matrices=False)
    return replace(cast(model, torch.float64), positions=(left[:, :rank] * values[:rank]) @ right[:rank])


def kinds_of_positions(model: PretrainedModel, seed: Seed = 0) -> dict[str, PretrainedModel]:
    """The model as it is, with random positions of the same norm, without any, and with sines and cosines."""
    waves = sinusoidal(*model.positions.shape).to(model.positions)
    return {
        "trained": model,
        "random": model.with_random_positions(seed),
        "none": replace(model, positions=torch.zeros_like(model.positions)),
        "sinusoidal": replace(model, positions=waves),
    }
