"""A compiled machine run to its end, with all that it went through."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from attention_theory.validation import require


@dataclass(frozen=True)
class MachineRun:
    """What a machine did; every list begins with the start and has an entry for each cycle after it.

    Attributes:
        trace: the states.
        counters: the number of the instruction that comes next.
        memories: what the memory cells hold.
        memory: what is in the memory at the end, by the names that the program gives to its cells.
        halted: whether the last instruction was reached.
    """

    trace: Float[Tensor, "times tokens features"]
    counters: Int[Tensor, " times"]
    memories: Num[Tensor, "times ..."]
    memory: dict[str, Any]
    halted: bool

    @property
    def steps(self) -> int:
        """The instructions executed, without the halt."""
        return len(self.counters) - 1


def follow(
    cycle: Callable[[Tensor], Tensor],
    state: Float[Tensor, "tokens features"],
    read: Callable[[Tensor], tuple[int, Tensor]],
    name: Callable[[Tensor], dict[str, Any]],
    end: int,
    steps: int,
) -> MachineRun:
    """Run a machine until its counter is at the end, or for so many cycles.

    Args:
        cycle: one pass.
        state: at the start.
        read: the counter and the memory of a state.
        name: the memory by names.
        end: the number of the last instruction, which halts.
        steps: at most.

    Raises:
        ParameterError: steps below 0.
    """
    require(steps=(steps, 0, None))
    states, seen = [state], [read(state)]
    while len(states) <= steps and seen[-1][0] != end:
        states.append(cycle(states[-1]))
        seen.append(read(states[-1]))
    counters, memories = zip(*seen, strict=True)
    return MachineRun(
        torch.stack(states), torch.tensor(counters), torch.stack(memories), name(memories[-1]), counters[-1] == end
    )
