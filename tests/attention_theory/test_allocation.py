"""Pages that a process takes anew, before and after it has been told to keep them."""

import platform
import subprocess
import sys

import pytest

#: Pages taken by 40 MB in small blocks, ten times over, in a new process, with and without the call in between. From
#: small blocks the C library does not learn by itself, as it does from large ones.
COUNT = """\
import ctypes, resource, sys
from attention_theory.allocation import keep_freed_memory

library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.free.argtypes = [ctypes.c_void_p]
library.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        blocks = [library.malloc(1 << 16) for _ in range(640)]
        for block in blocks:
            library.memset(block, 1, 1 << 16)
        for block in reversed(blocks):
            library.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

first = pages()
if sys.argv[1] == "kept":
    keep_freed_memory()
pages()
print(first, pages())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc, which this is for")
@pytest.mark.parametrize("told", ["kept", "given back"])
def test_freed_memory_is_taken_again_only_where_that_was_asked_for(told: str) -> None:
    done = subprocess.run([sys.executable, "-c", COUNT, told], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert (after < before / 10) == (told == "kept")
