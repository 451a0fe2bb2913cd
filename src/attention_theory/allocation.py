"""Memory that is freed and taken again at every step of a training."""

import torch

#: Bytes of the block; from one of 32 MiB on glibc learns nothing.
_BLOCK = 31 << 20


def keep_freed_memory() -> None:
    """Have this process keep what it frees for what it takes next.

    The C library of most Linux systems maps blocks of some megabytes one by one, and gives the free end of its heap
    back. Then every step of a training pays for the same pages anew, which can be half of its time. The library learns
    from the largest block that it sees freed: blocks up to that size come from the heap from then on, and twice as much
    is kept there. So one block is taken and freed, and never touched. Elsewhere that does nothing.
    """
    torch.empty(_BLOCK, dtype=torch.uint8)
