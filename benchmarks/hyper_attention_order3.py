"""Order-3 HyperAttention: block by block against the literal sum over triples, forward and backward, in one run.

Run it by itself: ``python benchmarks/hyper_attention_order3.py``. For each length it prints the CPU seconds of a pass
forward and backward, the two forms taking turns, and how far the pass raises the peak of the resident memory, which a
fresh process reads from the system for each form (Linux only), beyond its inputs. The first pass of a process also pays
for the code that it loads, some ten megabytes whatever the length, which a later pass does not. Rank
16, batch 1, float32, one thread. ``causal`` is the sum of Definition G.1 in a language model (``j2 <= j1 <= i``);
``all`` is the sum of Theorem G.4, where there is nothing to leave out.

It ends non-zero unless the causal sum at 256 tokens takes a tenth of the memory in a first pass and a fifth of the
time, and at 64 tokens no more time.
"""

import argparse
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from attention_theory.hyper_attention.layers.pair_attention import pair_attention
from attention_theory.hyper_attention.layers.sums import Sum
from attention_theory.hyper_attention.layers.tuple_softmax import tuple_attention
from attention_theory.measure import timed
from attention_theory.randomness import generator, normal

RANK = 16
REPEATS = {64: 40, 128: 12, 256: 3, 512: 1}
SUMS: dict[str, tuple[Sum, bool]] = {"causal": ("ge", True), "all": ("all", False)}
FORMS = ("literal", "blockwise")


def one_pass(form: str, name: str, tokens: int) -> Callable[[], Tensor]:
    """A pass forward and backward in one of the forms, on random inputs; it gives the outputs."""
    draw = generator(0)
    inputs = [normal(1, tokens, RANK, seed=draw, dtype=torch.float32).requires_grad_() for _ in range(5)]
    queries, keys1, keys2, values1, values2 = inputs
    sum_over, causal = SUMS[name]

    def run() -> Tensor:
        if form == "literal":
            out = tuple_attention(queries, [keys1, keys2], [values1, values2], sum_over, causal, RANK**-0.5)
        else:
            out = pair_attention(*inputs, sum_over=sum_over, causal=causal, scale=RANK**-0.5)
        torch.autograd.grad(out.square().sum(), inputs)
        return out.detach()

    return run


def seconds(name: str, tokens: int) -> tuple[float, float, float]:
    """The medians of both forms, taking turns, and the largest difference of their outputs."""
    literal, blockwise = (one_pass(form, name, tokens) for form in FORMS)
    difference = (literal() - blockwise()).abs().max().item()
    pairs = [(timed(literal)[1], timed(blockwise)[1]) for _ in range(REPEATS[tokens])]
    slow, fast = (statistics.median(times) for times in zip(*pairs, strict=True))
    return slow, fast, difference


def resident_growth(form: str, name: str, tokens: int) -> tuple[float, float]:
    """Megabytes by which a pass raises this process's peak of resident memory: with, and without, the code it loads.

    A pass of 8 tokens comes first, and loads the code.
    """
    run, small = one_pass(form, name, tokens), one_pass(form, name, 8)
    before = _peak_resident()
    small()
    loaded = _peak_resident()
    run()
    return (_peak_resident() - before) / 1e6, (_peak_resident() - loaded) / 1e6


def _peak_resident() -> int:
    """Bytes. (``ru_maxrss`` would also remember the process that started this one.)"""
    kilobytes = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert kilobytes is not None, "the system does not say what the process holds"
    return 1024 * int(kilobytes[1])


def measured_outside(form: str, name: str, tokens: int) -> list[float]:
    """:func:`resident_growth` of a fresh process."""
    command = [sys.executable, __file__, "--memory", form, name, str(tokens)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(number) for number in printed.split()]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", nargs=3, help="measure this process: FORM SUM TOKENS")
    asked = parser.parse_args().memory
    torch.set_num_threads(1)
    if asked:
        print(*resident_growth(asked[0], asked[1], int(asked[2])))
        return 0
    met = True
    print("tokens  sum     literal s  blockwise s  faster     MB: first pass          later pass      difference")
    for tokens in REPEATS:
        for name in SUMS:
            slow, fast, difference = seconds(name, tokens)
            first, later = zip(*(measured_outside(form, name, tokens) for form in FORMS), strict=True)
            memory = "   ".join(
                f"{large:6.1f} / {small:4.1f} = {large / small:5.1f}" for large, small in (first, later)
            )
            times = f"{slow:9.4f}  {fast:11.4f}  {slow / fast:5.1f}x"
            print(f"{tokens:6d}  {name:6s}  {times}  {memory}  {difference:.1e}", flush=True)
            if name == "causal":
                met &= tokens != 64 or fast <= slow
                met &= tokens != 256 or (5 * fast <= slow and 10 * first[1] <= first[0])
    print("met" if met else "NOT MET", "(at 256 tokens, causal, 10 times less memory and 5 times as fast)")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
