"""Order 3 as a module, next to the literal sum over triples and to the package simplicial-attention, in one run.

Run it by itself: ``python benchmarks/hyper_attention_order3.py``. For each sum and length it prints the CPU seconds of
a pass forward and backward, the forms taking turns, and how far the first pass raises the peak of the resident memory,
which a fresh process reads from the system for each form (Linux only), beyond its inputs and the code that a pass of 8
tokens loads. One head of 16 features, batch 1, float32, one thread; all forms share the module's projections.

``causal`` is the sum of Definition G.1 in a language model (``j2 <= j1 <= i``), ``pairs`` all pairs in the past,
``all`` the sum of Theorem G.4, ``window`` the causal sum in windows of 32 tokens. The peer has ``pairs`` and ``all``,
its windows being for an accelerator alone; where it is not installed (extra ``peer``) its columns are left out. Forms
that hold every triple are left out at 1024 tokens, where one tensor of scores is 4 GB.

Three goals. At 256 tokens the causal sum takes a tenth of the literal memory and a fifth of its time. No sum is slower
than the peer at any length that the peer runs. From 256 to 1024 tokens the sum in windows takes at most five times the
time. It prints each goal that is missed, then ``NOT MET``, and ends with the exit code 1.

Measured on a shared core: the causal sum is 9.2 times faster than the literal one and takes 97 times less memory; four
times the tokens take 3.2 times the time in windows. At 256 tokens the peer takes 3.9 times the time of the module for
``pairs`` and 2.3 times for ``all``. At 64 tokens, where every triple fits into the cache, the module takes 1.30 and
1.24 times the time of the peer: there the second goal is not met.
"""

import argparse
import importlib.util
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention_theory.measure import timed
from attention_theory.nn import HyperAttention
from attention_theory.randomness import generator, normal

WIDTH = 16
REPEATS = {64: 40, 256: 5, 1024: 1}
SUMS: dict[str, dict[str, Any]] = {
    "causal": {"sum_over": "ge"},
    "pairs": {"sum_over": "all"},
    "all": {"sum_over": "all", "is_causal": False},
    "window": {"sum_over": "ge", "window": (32, 32)},
}


def forms_of(name: str, tokens: int) -> list[str]:
    """The forms that have a sum and fit into memory."""
    if tokens > 256:
        return ["module"]
    has_peer = importlib.util.find_spec("simplicial_attention") and name in ("pairs", "all")
    return ["module", "literal", "peer"] if has_peer else ["module", "literal"]


def one_pass(form: str, name: str, tokens: int) -> Callable[[], Tensor]:
    """A pass forward and backward in one of the forms, on random inputs; it gives the outputs."""
    torch.manual_seed(0)
    module: Any = HyperAttention(WIDTH, sharing=False, **SUMS[name])
    x = normal(1, tokens, WIDTH, seed=generator(0), dtype=torch.float32).requires_grad_()

    def peer() -> Tensor:
        import simplicial_attention

        queries, *others = (project(x)[:, None] for project in (module.queries, *module.keys, *module.values))
        keys, values = tuple(others[:2]), tuple(others[2:])
        mixed = simplicial_attention.naive_two_simplicial_attend(queries, keys, values, causal=module.is_causal)
        return module.out(mixed[:, 0])

    forward = {"module": lambda: module(x), "literal": lambda: module(x, need_weights=True)[0], "peer": peer}[form]

    def run() -> Tensor:
        out = forward()
        torch.autograd.grad(out.square().sum(), [x, *module.parameters()])
        return out.detach()

    return run


def seconds(name: str, tokens: int) -> tuple[dict[str, float], float]:
    """The medians of all forms, taking turns, and the largest difference of their outputs from the module's."""
    runs = {form: one_pass(form, name, tokens) for form in forms_of(name, tokens)}
    first = [run() for run in runs.values()]
    times: dict[str, list[float]] = {form: [] for form in runs}
    for _ in range(REPEATS[tokens]):
        for form, run in runs.items():
            times[form].append(timed(run)[1])
    difference = max((out - first[0]).abs().max().item() for out in first)
    return {form: statistics.median(each) for form, each in times.items()}, difference


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


def measured_outside(form: str, name: str, tokens: int) -> float:
    """:func:`resident_growth` of a fresh process, without the code."""
    command = [sys.executable, __file__, "--memory", form, name, str(tokens)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", nargs=3, help="measure this process: FORM SUM TOKENS")
    chosen = parser.parse_args().memory
    torch.set_num_threads(1)
    if chosen:
        print(*resident_growth(chosen[0], chosen[1], int(chosen[2])))
        return 0
    missed: list[str] = []
    windowed: dict[int, float] = {}
    for name in SUMS:
        for tokens in REPEATS:
            times, difference = seconds(name, tokens)
            megabytes = {form: max(measured_outside(form, name, tokens), 0.1) for form in times}
            line = [f"{name:7s}{tokens:5d} tokens", f"module {times['module']:8.4f} s {megabytes['module']:7.1f} MB"]
            for form in [*times][1:]:
                faster, less = times[form] / times["module"], megabytes[form] / megabytes["module"]
                line.append(f"{form} {times[form]:8.4f} s ({faster:5.1f}x) {megabytes[form]:7.1f} MB ({less:6.1f}x)")
                if form == "peer" and faster < 1:
                    missed.append(f"{name}, {tokens} tokens: {1 / faster:.2f} times the seconds of the peer")
                if (form, name, tokens) == ("literal", "causal", 256) and (faster < 5 or less < 10):
                    missed.append(
                        f"causal, 256 tokens: {faster:.1f} times faster than literal, {less:.1f} times smaller"
                    )
            print("   ".join([*line, f"difference {difference:.1e}"]), flush=True)
            if name == "window":
                windowed[tokens] = times["module"]
    growth = windowed[1024] / windowed[256]
    if growth > 5:
        missed.append(f"window: {growth:.1f} times the seconds for 4 times the tokens")
    print(*missed, "NOT MET" if missed else "met", sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
