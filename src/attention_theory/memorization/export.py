"""What of this paper can be written to a file: the exact ranks that the instrument "How much fits" shows.

``EXPORTS`` is all that a program needs that offers it: for each name a function whose parameters are the options, with
their defaults, and which gives, for each ending of a file's name, what makes its content.
"""

import json
from collections.abc import Callable, Mapping

from attention_theory.memorization.instrument import rank_table

#: For each ending of a file's name, what makes the content.
Forms = Mapping[str, Callable[[], bytes]]


def ranks(seed: int = 0) -> Forms:
    """The exact ranks of the feature matrix over a grid of heads, tokens, widths and key widths (Propositions 1 and 2).

    Args:
        seed: of the draws.

    Raises:
        ParameterError: a seed out of range.
    """
    return {".json": lambda: (json.dumps(rank_table(seed)) + "\n").encode()}


EXPORTS: dict[str, Callable[..., Forms]] = {"ranks": ranks}
