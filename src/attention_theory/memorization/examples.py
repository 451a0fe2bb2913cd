"""Examples that satisfy the assumptions of Theorem 1, and examples that break one of them."""

from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.memorization.attention import Examples
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import require

_Law = Literal["gaussian", "uniform", "integer"]
_Fault = Literal["duplicate", "affine", "linear"]


def draw(law: _Law, *shape: int, seed: Seed) -> Tensor:
    """Independent entries: standard normal, U(0,1), or whole numbers from -9 to 9 (kept as float64).

    Raises:
        ParameterError: an unknown law.
    """
    require(law=(law, {"gaussian", "uniform", "integer"}))
    source = generator(seed)
    if law == "gaussian":
        return normal(*shape, seed=source)
    if law == "uniform":
        return torch.rand(*shape, generator=source, dtype=torch.float64, device=source.device)
    return torch.randint(-9, 10, shape, generator=source, device=source.device).double()


def sample_examples(
    count: int, tokens: int, width: int, shared: bool = True, law: _Law = "gaussian", seed: Seed = 0
) -> Examples:
    """Random examples: T = ``count`` queries, contexts of n = ``tokens`` tokens of width d = ``width``.

    Args:
        shared: one context for all examples, or one for each.

    Raises:
        ParameterError: no example, no token, or as many tokens as the width or more (the paper takes n < d).
    """
    require(count=(count, 1, None), width=(width, 2, None))
    require(tokens=(tokens, 1, width - 1))
    source = generator(seed)
    contexts = draw(law, *(() if shared else (count,)), tokens, width, seed=source)
    return Examples(contexts, draw(law, count, width, seed=source))


def with_token_sum(examples: Examples, total: float) -> Examples:
    """Shift every context token along (1, ..., 1) so that its entries sum to ``total`` (Proposition 5)."""
    excess = examples.contexts.sum(dim=-1, keepdim=True) - total
    return Examples(examples.contexts - excess / examples.width, examples.queries)


def with_faulty_context(examples: Examples, fault: _Fault) -> Examples:
    """Break Assumption 2: the last token becomes dependent on the others.

    ``duplicate`` repeats the first token; ``affine`` takes their mean; ``linear`` takes their sum, which is not an
    affine combination of them.

    Raises:
        ParameterError: an unknown fault.
    """
    require(fault=(fault, {"duplicate", "affine", "linear"}))
    others = examples.contexts[..., :-1, :]
    last = {"duplicate": others[..., 0, :], "affine": others.mean(dim=-2), "linear": others.sum(dim=-2)}[fault]
    return Examples(torch.cat([others, last[..., None, :]], dim=-2), examples.queries)


def with_query_span(examples: Examples, dimensions: int, seed: Seed) -> Examples:
    """Replace the queries by generic ones in a random subspace: Kruskal rank ``dimensions`` (Remark 1).

    Raises:
        ParameterError: no dimension, or more than the tokens have.
    """
    require(dimensions=(dimensions, 1, examples.width))
    source = generator(seed)
    inside = draw("gaussian", examples.count, dimensions, seed=source)
    queries = inside @ draw("gaussian", dimensions, examples.width, seed=source)
    return Examples(examples.contexts, queries.to(examples.queries))


def with_query_sum(examples: Examples, terms: int) -> Examples:
    """The query after the first ``terms`` becomes their sum, the others stay generic: Kruskal rank ``terms``.

    Raises:
        ParameterError: no term, or no query left to replace.
    """
    require(terms=(terms, 1, min(examples.count - 1, examples.width)))
    queries = examples.queries.clone()
    queries[terms] = queries[:terms].sum(dim=0)
    return Examples(examples.contexts, queries)


def integer_vectors(count: int, width: int, seed: Seed, largest: int = 9) -> Int[Tensor, "vectors width"]:
    """Vectors of whole numbers from ``-largest`` to ``largest``, for exact ranks."""
    return torch.randint(-largest, largest + 1, (count, width), generator=generator(seed))
