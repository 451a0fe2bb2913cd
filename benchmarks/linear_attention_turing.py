"""The universal Turing machine in one layer: links of a whole batch against the heads one by one, in one run.

Run it by itself: ``python benchmarks/linear_attention_turing.py``. Both forms run ten machines with 3 states and 3
letters on a window of 6 cells for 6 steps, and their tokens are compared entry by entry. The literal form goes through
the machines, the tokens and the heads in turn and evaluates every head whose query is not zero. Then the links run a
window and a step count of 12. The script ends non-zero if the tokens differ, a configuration is not the simulator's, or
the links are not ten times faster. CPU seconds, one thread, embedding and building of the layer included.
"""

import sys

import torch
from torch import Tensor

from attention_theory.linear_attention.machines.block_heads import BlockHead
from attention_theory.linear_attention.machines.turing import random_inputs, random_tables
from attention_theory.linear_attention.machines.universal import UniversalMachine
from attention_theory.measure import timed

MACHINES, LEAST_RATIO = 10, 10.0
SMALL, LARGE = (3, 3, 6, 6), (3, 3, 12, 12)


def draws(size: tuple[int, int, int, int]) -> tuple[Tensor, Tensor, Tensor]:
    states, letters, window, _ = size
    return random_tables(MACHINES, states, letters, 0), *random_inputs(MACHINES, letters, window, 1)


def literal_run(heads: list[BlockHead], prompt: Tensor, steps: int) -> Tensor:
    """One machine: every head at every token, ``V Z (Zᵀ Q z_n)`` on the head's own rows."""
    length, width = prompt.shape
    tokens = torch.zeros(length + steps, width, dtype=torch.int64)
    tokens[:length] = prompt
    for place in range(length, length + steps):
        past, last = tokens[:place], tokens[place - 1]
        for head in heads:
            query = last[head.source]
            if query.any():
                scores = past[:, head.key] @ query
                tokens[place, head.destination] += head.weight * (scores @ past[:, head.value])
    return tokens


def main() -> int:
    torch.set_num_threads(1)
    universal, large = UniversalMachine(*SMALL), UniversalMachine(*LARGE)
    prompts = universal.embed(*draws(SMALL))
    steps = universal.tokens - universal.prompt_tokens
    fast, fast_seconds = timed(lambda: universal.run(prompts))
    literal, literal_seconds = timed(
        lambda: torch.stack([literal_run(universal.heads, prompt, steps) for prompt in prompts])
    )
    (compared, _), large_seconds = timed(lambda: large.compare(*draws(LARGE)))

    ratio = literal_seconds / fast_seconds
    same = torch.equal(fast.long(), literal)
    print(f"states, letters, window, steps = {SMALL}: d = {universal.width}, H = {len(universal.heads)}")
    print(f"  head by head {literal_seconds:8.3f} s")
    print(f"  links        {fast_seconds:8.3f} s    ratio {ratio:.0f} (at least {LEAST_RATIO:.0f})    equal: {same}")
    print(f"states, letters, window, steps = {LARGE}: d = {large.width}, H = {len(large.heads)}")
    print(f"  links        {large_seconds:8.3f} s    {compared.machines} of {MACHINES} machines exact")
    return 0 if same and ratio >= LEAST_RATIO and compared.machines == MACHINES else 1


if __name__ == "__main__":
    sys.exit(main())
