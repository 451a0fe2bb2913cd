"""Figure 1's one-layer grid: all models of a width in one stack against one model at a time, in one run.

Run it by itself: ``python benchmarks/linear_attention_gram.py``. The grid is the paper's: widths 2, 4, 8, 16, heads 1,
2, 4, 8, 16, two learning rates, three seeds, 120 models. The stacked form trains every width's 30 models on the exact
loss of all data by way of its second moment. The literal form trains one model after another on mini-batches of 32
sequences of 100 tokens and computes every output; it is timed for a few steps of each width and number of heads, as
rates and seeds cost the same. Reported are model-steps a CPU second over the whole grid, on one thread. The stacked
form is charged for its second moments, spread over the 3000 steps of a run. Ends non-zero below a ratio of 20.
"""

import sys
import time

import torch

from attention_theory.linear_attention.experiments.head_grid import head_grid, train_in_gram_form, train_literally
from attention_theory.linear_attention.experiments.search_spaces import FIGURE_1
from attention_theory.linear_attention.experiments.teacher_task import TeacherTask, teacher_task
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.model.mhla import Heads

SEEDS, SEQUENCES, TOKENS, BATCH = (0, 1, 2), 512, 100, 32
RUN_STEPS, TIMED_STEPS, LEAST_RATIO = 3000, {2: 400, 4: 400, 8: 200, 16: 40}, 20.0
LITERAL_STEPS = 5


def literal_seconds(task: TeacherTask, heads: int) -> float:
    """CPU seconds of one step of one model, after a warm-up."""
    grid = head_grid(task.tokens.shape[-1], [heads], [0.01], [0])
    start = Heads(grid.start.values[0], grid.start.queries[0])
    train_literally(task, start, 0.01, BATCH, 1, seed=0)
    begin = time.process_time()
    train_literally(task, start, 0.01, BATCH, LITERAL_STEPS, seed=0)
    return (time.process_time() - begin) / (LITERAL_STEPS + 1)


def main() -> int:
    torch.set_num_threads(1)
    stacked = literal = 0.0
    models_each = len(FIGURE_1["rate"]) * len(SEEDS)
    print(
        "seconds for one step of all models of a width\nwidth  models    stacked  (moment once)   one at a time   ratio"
    )
    for width in FIGURE_1["width"]:
        task = teacher_task(width, SEQUENCES, TOKENS, seed=0)
        begin = time.process_time()
        moment = statistics(task.tokens, task.labels, causal=True).second_moment
        moment_seconds = time.process_time() - begin
        grid = head_grid(width, FIGURE_1["heads"], FIGURE_1["rate"], SEEDS)
        begin = time.process_time()
        train_in_gram_form(grid, moment, TIMED_STEPS[width])
        stack_step = (time.process_time() - begin) / TIMED_STEPS[width]
        one_step = models_each * sum(literal_seconds(task, heads) for heads in FIGURE_1["heads"])
        whole = moment_seconds / RUN_STEPS + stack_step
        stacked, literal = stacked + whole, literal + one_step
        print(
            f"{width:5d}  {len(grid.runs):6d}  {whole:9.5f}  {moment_seconds:13.2f}  {one_step:14.3f}"
            f"  {one_step / whole:6.0f}"
        )
    models = len(FIGURE_1["width"]) * len(FIGURE_1["heads"]) * models_each
    ratio = literal / stacked
    print(
        f"whole grid, {models} models: {models / stacked:.0f} model-steps a second stacked, {models / literal:.0f} one"
    )
    print(f"at a time: {ratio:.0f} times (at least {LEAST_RATIO:.0f})")
    return 0 if ratio >= LEAST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
