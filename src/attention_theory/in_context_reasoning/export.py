"""Files of this paper: the trained models that the instrument "Trigger and answer" runs.

``EXPORTS`` is all that a program needs that offers it: for each name a function whose parameters are the options, with
their defaults, and which gives, for each ending of a file's name, what makes its content.
"""

import json
from collections.abc import Callable, Mapping

from attention_theory.in_context_reasoning.instrument import trained_table

#: For each ending of a file's name, what makes the content.
_Forms = Mapping[str, Callable[[], bytes]]


def _readers(rate: float = 0.1, samples: int = 2048, seed: int = 0) -> _Forms:
    """Three one-layer models over sixteen words, at a ladder of noise levels and training times (Sections 3 to 5).

    Args:
        rate: learning rate η.
        samples: labelled sentences that Algorithm 1 is given.
        seed: of the draws.

    Raises:
        ParameterError: an argument out of its range.
    """
    return {".json": lambda: (json.dumps(trained_table(rate, samples, seed)) + "\n").encode()}


EXPORTS: dict[str, Callable[..., _Forms]] = {"readers": _readers}
