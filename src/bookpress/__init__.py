"""The press: runs notebooks, keeps their evidence, and binds the book. It knows nothing of attention.

A notebook uses two names of it: :class:`Claim` to give evidence and :mod:`show` for figures and tables.
"""

from bookpress import show
from bookpress.evidence import Claim

__all__ = ["Claim", "show"]
