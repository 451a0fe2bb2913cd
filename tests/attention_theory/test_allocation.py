"""Pages that a process takes anew, before and after it has been told to keep them."""

import platform
import subprocess
import sys

import pytest

#: Pages taken by twenty blocks of 4 MB, one after the other, in a new process; then the same once more after the call.
COUNT = """\
import resource, torch
from attention_theory.allocation import keep_freed_memory

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        several = [torch.ones(1 << 20) for _ in range(2)]
        del several
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

first = pages()
keep_freed_memory()
pages()
print(first, pages())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc, which this is for")
def test_freed_memory_is_taken_again() -> None:
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert after < 1024  # the pages of one block of forty
    assert after < before / 4
