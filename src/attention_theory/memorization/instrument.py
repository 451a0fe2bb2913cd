"""The table that the instrument "How much fits" shows: exact ranks over a grid of sizes (Theorem 1, Proposition 2)."""

from typing import Any

from attention_theory.memorization.exact_rank import BASE, exact_ranks
from attention_theory.numerics import PRIME
from attention_theory.randomness import streams
from attention_theory.validation import require

HEADS = 8
TOKENS = tuple(range(1, 9))
WIDTHS = (2, 3, 4, 5, 6, 8, 10)
HEAD_WIDTHS = tuple(range(1, 9))


def rank_table(seed: int = 0) -> dict[str, Any]:
    """Ranks of Z modulo a prime, as plain numbers: ``ranks[contexts][n][d][d_h][H]`` by places in the lists of sizes.

    Every entry has draws of its own. See :mod:`attention_theory.memorization.exact_rank`.

    Raises:
        ParameterError: a seed out of range.
    """
    require(seed=(seed, 0, 2**64 - 1))
    cases = [(n, d, k) for n in TOKENS for d in WIDTHS for k in HEAD_WIDTHS]
    ranks = {}
    for name, of_kind in zip(("shared", "separate"), streams(seed, 2), strict=True):
        draws = iter(streams(of_kind, len(cases)))
        ranks[name] = [
            [[exact_ranks(HEADS, n, d, k, name == "shared", next(draws)) for k in HEAD_WIDTHS] for d in WIDTHS]
            for n in TOKENS
        ]
    return {
        "heads": list(range(1, HEADS + 1)),
        "tokens": list(TOKENS),
        "widths": list(WIDTHS),
        "head_widths": list(HEAD_WIDTHS),
        "base": BASE,
        "prime": PRIME,
        "seed": seed,
        "ranks": ranks,
    }
