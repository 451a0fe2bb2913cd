"""Numbers too small for the full precision of their type, which cost a processor a hundred times as much as others."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def subnormals_as_zero() -> Iterator[None]:
    """Within it this thread takes numbers below the smallest normal one for 0, and returns 0 in their place.

    That is 1.2e-38 in float32 and 2.2e-308 in float64. It is for sums in which such numbers are next to larger ones;
    where the smallest numbers are squared or compared it would move the place where they underflow. A processor that
    has no such mode goes on as before.
    """
    if _are_zero():
        yield
        return
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _are_zero() -> bool:
    """Test whether this thread is in that mode."""
    return sys.float_info.min / 2 == 0.0
