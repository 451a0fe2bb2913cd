"""Linear attention as a module, next to every score and to PyTorch's attention with a softmax, in one run.

Run it by itself: ``python benchmarks/linear_attention_block.py``. For each length, causal or not, it prints the CPU
seconds of a pass forward and backward, the forms taking turns, and how far the first pass raises the peak of the
resident memory, which a fresh process reads from the system for each form (Linux only), beyond its inputs and the code
that a pass of 8 tokens loads. Four heads over 64 features, batch 4, float32, one thread; all forms share the module's
matrices.

``literal`` forms every score, as Eq. 1 is written. ``peer`` is ``torch.nn.functional.scaled_dot_product_attention``
with the same queries, keys and values, 64 features a head: the layer that the paper leaves the softmax out of.

Two goals. The module is never slower than the peer. At 1024 tokens it takes a tenth of the literal memory. It prints
each goal that is missed, then ``NOT MET``, and ends with the exit code 1.

Measured on a shared core: where every token sees all, the module is 1.1, 5.7 and 31 times as fast as the peer at 64,
256 and 1024 tokens, and takes 17 times less memory than the literal form at 1024. Causal, it is 1.9 and 3.5 times as
fast at 256 and 1024. Two goals are missed there: at 64 tokens, where both form every score, it takes 1.06 times the
time of the peer, which has no checks for tokens that are not finite; and at 1024 it takes the peer's memory, 4.9 times
less than the literal form, because the queries of all heads are kept for the gradient.
"""

import argparse
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention

from attention_theory.measure import timed
from attention_theory.nn import LinearAttention
from attention_theory.randomness import generator, normal

BATCH, WIDTH, HEADS = 4, 64, 4
REPEATS = {64: 40, 256: 15, 1024: 5}
FORMS = ("module", "literal", "peer")


def one_pass(form: str, is_causal: bool, tokens: int) -> Callable[[], Tensor]:
    """A pass forward and backward in one of the forms, on random inputs; it gives the outputs."""
    torch.manual_seed(0)
    module: Any = LinearAttention(WIDTH, HEADS, is_causal=is_causal)
    x = normal(BATCH, tokens, WIDTH, seed=generator(0), dtype=torch.float32).requires_grad_()

    def peer() -> Tensor:
        queries, values = (
            linear(x, matrices.flatten(0, 1)).unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)
            for matrices in (module.queries, module.values)
        )
        keys = x[:, None].expand(-1, HEADS, -1, -1)
        return scaled_dot_product_attention(queries, keys, values, is_causal=is_causal).sum(1)

    forward = {"module": lambda: module(x), "literal": lambda: module(x, need_weights=True)[0], "peer": peer}[form]

    def run() -> Tensor:
        out = forward()
        torch.autograd.grad(out.square().sum(), [x, *module.parameters()])
        return out.detach()

    return run


def seconds(is_causal: bool, tokens: int) -> tuple[dict[str, float], float]:
    """The medians of all forms, taking turns, and the relative difference of the two that have no softmax."""
    runs = {form: one_pass(form, is_causal, tokens) for form in FORMS}
    first = {form: run() for form, run in runs.items()}
    times: dict[str, list[float]] = {form: [] for form in runs}
    for _ in range(REPEATS[tokens]):
        for form, run in runs.items():
            times[form].append(timed(run)[1])
    difference = (first["literal"] - first["module"]).abs().max() / first["literal"].abs().max()
    return {form: statistics.median(each) for form, each in times.items()}, difference.item()


def resident_growth(form: str, is_causal: bool, tokens: int) -> float:
    """Megabytes by which a pass raises this process's peak of resident memory; a short pass loads the code before."""
    run, small = one_pass(form, is_causal, tokens), one_pass(form, is_causal, 8)
    small()
    before = _peak_resident()
    run()
    return (_peak_resident() - before) / 1e6


def _peak_resident() -> int:
    """Bytes. (``ru_maxrss`` would also remember the process that started this one.)"""
    kilobytes = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert kilobytes is not None, "the system does not say what the process holds"
    return 1024 * int(kilobytes[1])


def measured_outside(form: str, is_causal: bool, tokens: int) -> float:
    """:func:`resident_growth` of a fresh process, at least a tenth of a megabyte."""
    command = [sys.executable, __file__, "--memory", form, str(int(is_causal)), str(tokens)]
    return max(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout), 0.1)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", nargs=3, help="measure this process: FORM CAUSAL TOKENS")
    chosen = parser.parse_args().memory
    torch.set_num_threads(1)
    if chosen:
        print(resident_growth(chosen[0], chosen[1] == "1", int(chosen[2])))
        return 0
    missed: list[str] = []
    for is_causal in (True, False):
        name = "causal" if is_causal else "all"
        for tokens in REPEATS:
            times, difference = seconds(is_causal, tokens)
            megabytes = {form: measured_outside(form, is_causal, tokens) for form in FORMS}
            line = [f"{name:6s}{tokens:5d} tokens   module {times['module']:7.4f} s {megabytes['module']:7.1f} MB"]
            for form in FORMS[1:]:
                slower, more = times[form] / times["module"], megabytes[form] / megabytes["module"]
                line.append(f"{form} {times[form]:7.4f} s ({slower:5.2f}x) {megabytes[form]:7.1f} MB ({more:5.1f}x)")
            print("   ".join([*line, f"difference {difference:.1e}"]), flush=True)
            if times["peer"] < times["module"]:
                missed.append(
                    f"{name}, {tokens} tokens: {times['module'] / times['peer']:.2f} times as slow as the peer"
                )
            if tokens == 1024 and megabytes["literal"] < 10 * megabytes["module"]:
                missed.append(
                    f"{name}, {tokens} tokens: {megabytes['literal'] / megabytes['module']:.1f} times smaller"
                )
    print(*missed, "NOT MET" if missed else "met", sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
