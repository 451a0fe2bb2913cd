"""The universal machine of Lemma 2.2 against the paper's own construction, and a thousand machines at once, in one run.

Run it by itself: ``python benchmarks/linear_attention_compact.py``. First both run the same ten machines with 3
states and 3 letters on words of 3 letters for 5 steps; the paper's construction has a window as wide as the tape can
grow. Every configuration is compared with the simulator's. Then the smaller heads run 1,000 random machines with 4
states and 4 letters on words of 12 for 60 steps. The script ends non-zero if a configuration is not the simulator's,
if the smaller heads have not a tenth of the other's rows and heads, or are slower, or if the thousand machines take
more than 60 CPU seconds. One thread; embedding, building of the layer and the simulator included.
"""

import sys

import torch

from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.turing import random_inputs, random_tables
from attention_theory.linear_attention.machines.universal import UniversalMachine
from attention_theory.measure import timed

STATES, LETTERS, WORD, STEPS = BOTH = (3, 3, 3, 5)
MANY, MACHINES, MOST_SECONDS, LEAST_RATIO = (4, 4, 12, 60), 1000, 60.0, 10.0


def main() -> int:
    torch.set_num_threads(1)
    tables, (words, places) = random_tables(10, STATES, LETTERS, 0), random_inputs(10, LETTERS, WORD, 1)
    tapes = torch.nn.functional.pad(words, (0, STEPS))
    small, wide = CompactMachine(*BOTH), UniversalMachine(STATES, LETTERS, WORD + STEPS, STEPS)
    exact, seconds = timed(lambda: small.compare(tables, words, places, STEPS).machines)
    wide_exact, wide_seconds = timed(lambda: wide.compare(tables, tapes, places)[0].machines)
    print(f"states, letters, word, steps = {BOTH}, ten machines")
    print(f"  the paper's  d = {wide.width:6d}, H = {len(wide.heads):5d}  {wide_seconds:7.3f} s  {wide_exact} exact")
    print(f"  these heads  d = {small.width:6d}, H = {len(small.heads):5d}  {seconds:7.3f} s  {exact} exact")

    many = CompactMachine(*MANY)
    draws = (random_tables(MACHINES, *MANY[:2], 0), *random_inputs(MACHINES, *MANY[1:3], 1))
    all_exact, many_seconds = timed(lambda: many.compare(*draws, MANY[3]).machines)
    print(f"states, letters, word, steps = {MANY}: d = {many.width}, H = {len(many.heads)}")
    print(f"  {all_exact} of {MACHINES} machines exact in {many_seconds:.1f} s (at most {MOST_SECONDS:.0f})")

    right = (exact, wide_exact, all_exact) == (10, 10, MACHINES)
    smaller = min(wide.width / small.width, len(wide.heads) / len(small.heads)) >= LEAST_RATIO
    return 0 if right and smaller and seconds <= wide_seconds and many_seconds <= MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
