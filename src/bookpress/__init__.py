"""The press: runs notebooks, keeps their evidence, and binds the book. It knows nothing of attention.

A notebook uses three names of it: :class:`Claim` to give evidence, :func:`report` to say numbers that a sweep gathers,
and :mod:`show` for figures and tables. The last is a module of its own, imported by those who draw: the command
``book`` starts without matplotlib.
"""

import os

from threadpoolctl import threadpool_limits

from bookpress.claim import Claim
from bookpress.report import report

__all__ = ["Claim", "report"]

# Sums come out in another order on another number of threads. A notebook is to give the same values under any runner,
# so it computes on one thread unless the user says otherwise.
if "OMP_NUM_THREADS" not in os.environ:
    import numpy  # noqa: F401, its threads are to be there to be limited

    threadpool_limits(1)
