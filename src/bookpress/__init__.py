"""The press: runs notebooks, keeps their evidence, and binds the book. It knows nothing of attention.

A notebook uses these names: :class:`Claim` to give evidence, :func:`estimate` and the intervals for what is random,
:func:`report` for numbers that a sweep gathers, and :mod:`show` for figures and tables. The last is imported when it is
first used, so that the command ``book`` starts without matplotlib.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from bookpress.claims.claim import Claim, report
from bookpress.claims.intervals import estimate, interval_from_error, interval_of, interval_of_difference

if TYPE_CHECKING:
    from bookpress.claims import show

__all__ = ["Claim", "estimate", "interval_from_error", "interval_of", "interval_of_difference", "report", "show"]


def __getattr__(name: str) -> Any:
    if name == "show":
        return importlib.import_module("bookpress.claims.show")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Sums come out in another order on another number of threads. A notebook is to give the same values under any runner,
# so it computes on one thread unless the user says otherwise.
if "OMP_NUM_THREADS" not in os.environ:
    import numpy  # noqa: F401, its threads are to be there to be limited

    threadpool_limits(1)
