"""Figure 1's one-layer grid on mini-batches: all students of a width in one stack against one at a time, in one run.

Run it by itself: ``python benchmarks/linear_attention_gram.py``. The grid is the paper's: widths 2, 4, 8, 16, heads 1,
2, 4, 8, 16, two learning rates, three runs, 120 students; batches of 32 sequences of 100 tokens. The stacked form
trains every width's 30 students in the space of their coefficients. The literal form trains one after another and
computes every output; it is timed for a few steps of each width and number of heads, as rates and runs cost the same.
Reported are CPU seconds of a step of all students, on one thread. The stacked form is charged for the moments of its
sequences, spread over a run of 100 passes. Ends non-zero below a ratio of 20 at d = 2 and 4, where the moments are
kept, or of 3 over the whole grid.
"""

import sys
import time
from collections.abc import Callable
from itertools import product

import torch

from attention_theory.linear_attention.experiments.one_layer_students import (
    CoefficientErrors,
    run_heads,
    students_start,
    train_literally,
)
from attention_theory.linear_attention.experiments.run_data import RunData
from attention_theory.linear_attention.experiments.search_spaces import FIGURE_1
from attention_theory.linear_attention.model.mhla import Heads

RUNS, SEQUENCES, PASSES = 3, 256, 100
TIMED_PASSES, LITERAL_STEPS = {2: 20, 4: 20, 8: 3, 16: 1}, 5
LEAST_RATIO, LEAST_OVER_ALL = 20.0, 3.0


def seconds(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def stacked_step(data: RunData, width: int) -> float:
    """CPU seconds of one step of all students of a width, with its share of the moments."""
    kinds = [(heads, rate, 1.0) for heads, rate in product(FIGURE_1["heads"], FIGURE_1["rate"])]
    part = data.first_passes(TIMED_PASSES[width])
    single = data.tasks.to(torch.float32)
    rows = data.batches[0]

    def moments() -> None:
        errors = CoefficientErrors(single)
        errors.pull(errors.gap(students_start(width, [1], data.seeds)).float(), rows)

    moments()
    once = seconds(moments)
    whole = seconds(lambda: run_heads(part, kinds))
    return (whole - once) / len(part.batches) + once / len(data.batches)


def literal_step(data: RunData, width: int, heads: int) -> float:
    """CPU seconds of one step of one student, after a warm-up."""
    tasks = data.tasks.to(torch.float32)
    drawn = students_start(width, [heads], data.seeds)
    start = Heads(drawn.values[0, 0].float(), drawn.queries[0, 0].float())
    batches = data.batches[:LITERAL_STEPS, 0]
    train_literally(tasks, start, batches[:1], 0.01)
    return seconds(lambda: train_literally(tasks, start, batches, 0.01)) / (LITERAL_STEPS + 1)


def main() -> int:
    torch.set_num_threads(1)
    each = len(FIGURE_1["rate"]) * RUNS
    ratios, all_stacked, all_literal = {}, 0.0, 0.0
    print("seconds for one step of all students of a width\nwidth  students    stacked   one at a time   ratio")
    for width in FIGURE_1["width"]:
        data = RunData.draw(width, RUNS, 0, sequences=SEQUENCES, passes=PASSES)
        stacked = stacked_step(data, width)
        literal = each * sum(literal_step(data, width, heads) for heads in FIGURE_1["heads"])
        ratios[width] = literal / stacked
        all_stacked, all_literal = all_stacked + stacked, all_literal + literal
        count = each * len(FIGURE_1["heads"])
        print(f"{width:5d}  {count:8d}  {stacked:9.5f}  {literal:14.3f}  {ratios[width]:6.0f}", flush=True)
    over_all = all_literal / all_stacked
    print(f"whole grid: {over_all:.1f} times (at least {LEAST_OVER_ALL:.0f}; {LEAST_RATIO:.0f} at d = 2 and 4)")
    return 0 if over_all >= LEAST_OVER_ALL and min(ratios[2], ratios[4]) >= LEAST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
