"""Results that can be written to a file: exact ranks, and the keys and queries that Theorem 1 constructs.

``EXPORTS`` is all that a program needs that offers it: for each name a function whose parameters are the options, with
their defaults, and which gives, for each ending of a file's name, what makes its content.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from attention_theory.memorization.attention import capacity
from attention_theory.memorization.construction import blocks, build_heads
from attention_theory.memorization.exact_rank import BASE, exact_ranks
from attention_theory.memorization.examples import sample_examples
from attention_theory.numerics import PRIME
from attention_theory.randomness import streams
from attention_theory.validation import require

#: For each ending of a file's name, what makes the content.
_Forms = Mapping[str, Callable[[], bytes]]


_HEADS = 8
_TOKENS = tuple(range(1, 9))
_WIDTHS = (2, 3, 4, 5, 6, 8, 10)
_HEAD_WIDTHS = tuple(range(1, 9))


def _rank_table(seed: int = 0) -> dict[str, Any]:
    """Ranks of Z modulo a prime, as plain numbers: ``_ranks[contexts][n][d][d_h][H]`` by places in the lists of sizes.

    Every entry has separate draws. See :mod:`attention_theory.memorization.exact_rank`.

    Raises:
        ParameterError: a seed out of range.
    """
    require(seed=(seed, 0, 2**64 - 1))
    cases = [(n, d, k) for n in _TOKENS for d in _WIDTHS for k in _HEAD_WIDTHS]
    ranks = {}
    for name, of_kind in zip(("shared", "separate"), streams(seed, 2), strict=True):
        draws = iter(streams(of_kind, len(cases)))
        ranks[name] = [
            [[exact_ranks(_HEADS, n, d, k, name == "shared", next(draws)) for k in _HEAD_WIDTHS] for d in _WIDTHS]
            for n in _TOKENS
        ]
    return {
        "heads": list(range(1, _HEADS + 1)),
        "tokens": list(_TOKENS),
        "widths": list(_WIDTHS),
        "head_widths": list(_HEAD_WIDTHS),
        "base": BASE,
        "prime": PRIME,
        "seed": seed,
        "ranks": ranks,
    }


def _ranks(seed: int = 0) -> _Forms:
    """The exact ranks of the feature matrix over a grid of heads, tokens, widths and key widths (Propositions 1 and 2).

    Args:
        seed: of the draws.

    Raises:
        ParameterError: a seed out of range.
    """
    return {".json": lambda: (json.dumps(_rank_table(seed)) + "\n").encode()}


def _construction(heads: int = 5, tokens: int = 4, seed: int = 0) -> _Forms:
    """Keys and queries of Theorem 1 for one shared context, and one example more than they store.

    Args:
        heads: H, at least 2.
        tokens: n, of width n + 1, with keys of width n; at least 2.
        seed: of every draw.

    Raises:
        ParameterError: an argument out of its range.
    """
    require(heads=(heads, 2, 20), tokens=(tokens, 2, 20), seed=(seed, 0, 2**64 - 1))
    count = capacity(heads, tokens, tokens)
    examples = sample_examples(count + 1, tokens, tokens + 1, seed=seed)
    built = build_heads(examples.take(slice(0, count)), heads, tokens, seed=seed).heads
    content = {
        "capacity": count,
        "context": examples.contexts.tolist(),
        "examples": examples.queries.tolist(),
        "keys": built.keys.tolist(),
        "queries": built.queries.tolist(),
        "blocks": [[block.start, block.stop] for block in blocks(count, heads, tokens)],
    }
    return {".json": lambda: (json.dumps(content) + "\n").encode()}


EXPORTS: dict[str, Callable[..., _Forms]] = {"ranks": _ranks, "construction": _construction}
