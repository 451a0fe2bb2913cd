"""Costs of a computation: operations, entries and bytes, counted; and the seconds of a core.

The papers claim costs (linear time, memory of order L), so counting them is part of the mathematics: pages, tests and
benchmarks all read the same counters.
"""

import statistics
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from attention_theory.validation import require

_Result = TypeVar("_Result")


def matrix_operations(run: Callable[[], object]) -> int:
    """Multiplications and additions in the matrix products that ``run()`` performs."""
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def entries_touched(run: Callable[[], object]) -> int:
    """The entries of all tensors that the operations inside ``run()`` take and give, added up.

    A sum, a product of entries or a prefix sum costs a fixed number of operations for each of them. The inner loops of
    a matrix product are not seen (:func:`matrix_operations` counts those), and a view counts like a copy, so this gives
    exponents and no times. It does not depend on the machine.
    """
    with _TouchedEntries() as touched:
        run()
    return touched.count


def peak_bytes(run: Callable[[], object]) -> int:
    """The most bytes held at once by tensors that ``run()`` makes, backward passes inside it included.

    Buffers inside a single operation are not seen; the count does not depend on the machine.
    """
    with _LiveBytes() as live:
        run()
    return live.peak


def cpu_seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """The CPU seconds of ``run()``: the median of a few passes, after one to warm up.

    Raises:
        ParameterError: fewer than one pass.
    """
    require(repeats=(repeats, 1, None))
    run()
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def timed(run: Callable[[], _Result]) -> tuple[_Result, float]:
    """The result of ``run()``, and the CPU seconds of this one pass, without a pass to warm up."""
    start = time.process_time()
    result = run()
    return result, time.process_time() - start


class _TouchedEntries(TorchDispatchMode):
    """Adds the entries of every tensor that an operation reads or returns."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs or {}, result))
        self.count += sum(x.numel() for x in leaves if isinstance(x, Tensor))
        return result


class _LiveBytes(TorchDispatchMode):
    """Adds the bytes of every new storage and takes them off again when it is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {x.untyped_storage()._cdata for x in tree_leaves((args, kwargs or {})) if isinstance(x, Tensor)}
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and tensor.untyped_storage()._cdata not in given:
                self._add(tensor)
        return result

    def _add(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata in self._known:
            return
        self._known.add(storage._cdata)
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._free, storage._cdata, storage.nbytes())

    def _free(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size
