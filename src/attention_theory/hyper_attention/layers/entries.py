"""How many numbers a computation reads and writes: the entrywise work that a count of matrix products leaves out."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def entries_touched(run: Callable[[], object]) -> int:
    """The entries of all tensors that the operations inside ``run()`` take and give, added up.

    A sum, a product of entries or a prefix sum costs a fixed number of operations for each of them. The inner loops of
    a matrix product are not seen (:func:`attention_theory.measure.matrix_operations` counts those), and a view counts
    like a copy, so this gives exponents and no times. It does not depend on the machine.
    """
    with _Touched() as counter:
        run()
    return counter.entries


class _Touched(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = (x for x in tree_leaves((args, kwargs or {}, result)) if isinstance(x, Tensor))
        self.entries += sum(x.numel() for x in tensors)
        return result
