# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Remark 2 · A calculator with one head
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Remark 2, Corollary 2, Appendix M.*
#
# The calculator of [Theorem 4](theorem_4_calculator.ipynb) approximates reciprocals and roots by staircases of
# sigmoids, and it uses one head per step. [Corollary 2](lemma_11_sigmoids.ipynb) has a cheaper way: one head has
# separate weights in every column, so it can make one sigmoid per column. Can the whole calculator run with a single
# head?

# %%
import math

import torch

from attention_theory.looped_transformers.blocks.approximation import reciprocal_sigmoids, root_sigmoids
from attention_theory.looped_transformers.blocks.base import BlockSetting, run_block, scratch_columns
from attention_theory.looped_transformers.blocks.column_sums import ColumnSumBlock
from attention_theory.looped_transformers.blocks.sigmoid_sums import OneHead
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FUNCTIONS, interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.calculator import (
    calculator_blocks,
    calculator_program,
    exact_trace,
    finest_reciprocal,
    first_entries,
)
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
least = 0.2  # the least operand of the reciprocal, from 0.15 to 0.5
most = 8.0  # the largest operand of both functions, from 3 to 20
widest = 16  # the largest d, from 8 to 20

# %%
require(least=(least, 0.15, 0.5), most=(most, 3.0, 20.0), widest=(widest, 8, 20))

# %% [markdown]
# ## The paper states
# <!-- claim looped-transformers/remark-2 -->
# <blockquote>
#
# **Remark 2 (Dimension in place of heads)** *Appendix M, Remark 2*
#
# **The paper states.** In the proof of this theorem, we use Lemma 11 to approximate the square root and the inversion
# function. That lemma provides error guarantees in terms of the number of heads $m$. We prove Corollary 2 which
# provides equivalent error guarantees, but where the error decreases with the dimension $d$ of the transformer.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** We use the construction of Corollary 2 with the column of zeros that its proof needs.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/remark-2-calculator -->
# <blockquote>
#
# **Remark 2 inside the calculator (A calculator with one head)** *Appendix M, Remark 2; Corollary 2*
#
# **The paper states.** Depending on the design choices of the transformer, either of the results can be used, and the
# calculator's error guarantee will also change accordingly.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The calculator of Theorem 4 runs with one head in each of its 11 layers if its sums of sigmoids
# have a column for each term in place of a head. With the $\max(4d,d^2)$ columns of its scratchpad, the reciprocal is
# within $O(1/d^2)$ on a fixed interval, and so is the root. Such a sum takes $O(\log d)$ rows.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# In the FLEQ machine, the columns already exist: its scratchpad has $\max(4d,d^2)$ of them. Column $i$ holds the slope
# and the shift of step $i$ as fixed entries and uses them as a query. Only the first column, with the operand $x$, has
# a key. Column $i$ therefore gives it the weight $\phi(\text{slope}_i\,x+\text{shift}_i)$, where $\phi$ is the sigmoid,
# and needs no copy of $x$. A hidden unit multiplies the weight by the height of the step. In the second layer,
# attention averages over all columns, which gives the sum.
#
# With $m=d^2$ columns, the root on $[0,C]$ has error $\sqrt C/m$ (Lemma 20), and the reciprocal an error of order $1/m$
# on a fixed interval (Lemma 18).
#
# ## See it run
# First we run the sums of Corollary 2 on their own, for three target errors.


# %%
def one_head(function, x, form="correct"):
    """A sum of sigmoids by the three layers of Corollary 2, for a batch of numbers."""
    directions = torch.stack([function.slopes, function.shifts], dim=1)
    inputs = torch.stack([x, torch.ones_like(x)], dim=1)
    height = float((inputs @ directions.mT).clamp(min=0).max() + 50)
    head = OneHead(directions, function.heights, height=height, form=form)
    return head.sums(inputs)[:, 0], summarise(head.machine)


# %%
rows = []
x = torch.linspace(0.3, 5.0, 40, dtype=torch.float64)
for wanted_error in (0.4, 0.2, 0.1):
    for name, function, exact_value in (
        ("1/x", reciprocal_sigmoids(wanted_error, 0.25, 6.0), 1 / x),
        ("root", root_sigmoids(wanted_error, 6.0), x.sqrt()),
    ):
        value, size = one_head(function, x)
        rows.append(
            (name, function.terms, size.width, size.heads, (value - exact_value).abs().max().item(), wanted_error)
        )
show.table(["function", "sigmoids", "rows", "heads", "largest error", "ε"], rows)
flat, _ = one_head(root_sigmoids(0.2, 6.0), x, form={"empty column": "printed"})

# %% [markdown]
# The error falls as the rows grow, and one head is enough throughout. Next we build calculators of growing $d$, and for
# comparison some that may use only half of their columns.


# %%
def sums_for(columns):
    """The finest reciprocal and root that so many sigmoids make, and their errors."""
    errors = finest_reciprocal(columns, least, most), math.sqrt(most) / columns
    return (reciprocal_sigmoids(errors[0], least, most), root_sigmoids(min(1.0, errors[1]), most)), errors


def calculator(d, columns):
    """The machine of size d, its results for numbers from the range, and the errors of its sums."""
    functions, wanted = sums_for(columns)
    numbers = torch.linspace(least, 0.99 * most, 9, dtype=torch.float64)
    text = "t = inverse(p)\nu = root(p)\nhalt"
    programs = [assemble(text, {"p": number, "t": 0.0, "u": 0.0}, size=d) for number in numbers.tolist()]
    machine = FleqMachine(programs[0], calculator_blocks(*functions, columns=True))
    runs = machine.run_many(programs)
    t, u = (torch.stack([programs[0].variable(run.memory, name)[0, 0] for run in runs]) for name in "tu")
    off = (t - 1 / numbers).abs().max().item(), (u - numbers.sqrt()).abs().max().item()
    plainly = max((t - functions[0](numbers)).abs().max().item(), (u - functions[1](numbers)).abs().max().item())
    return off, wanted, plainly, summarise(machine.transformer)


# %%
sizes = sorted({d for d in (3, 4, 6, 8, 12) if d < widest} | {widest})
found = {d: calculator(d, scratch_columns(d)) for d in sizes}
halved = {d: calculator(d, scratch_columns(d) // 2)[0] for d in sizes[2:4]}
own_rows = {
    d: sum(ColumnSumBlock("root", sums_for(d * d)[0][1]).sizes(BlockSetting(d, d * d, 40.0)).values())
    for d in (4, 8, 16)
}
show.table(
    ["d", "scratch columns", "rows", "heads", "1/x: error", "allowed", "root: error", "allowed"],
    [
        (d, scratch_columns(d), size.width, size.heads, off[0], wanted[0], off[1], wanted[1])
        for d, (off, wanted, _, size) in found.items()
    ],
    caption="A calculator with one head per layer, for growing d.",
)

# %%
fig, axis = show.axes()
columns = [scratch_columns(d) for d in sizes]
for place, name in enumerate(("$1/x$", r"$\sqrt{x}$")):
    axis.loglog(columns, [found[d][0][place] for d in sizes], "os"[place], color=f"C{place}", label=f"{name}, machine")
    axis.loglog(columns, [found[d][1][place] for d in sizes], "-", color=f"C{place}", label=f"{name}, allowed")
axis.loglog(columns, [1 / count for count in columns], "k--", label="$1/m$")
axis.set(xlabel="columns of the scratchpad $m$", ylabel="largest error")
axis.legend(fontsize=8)
show.figure(
    fig,
    name="one-head-calculator",
    caption="Largest errors of the calculator with one head per layer, against the number of its scratchpad's "
    "columns; the lines are the errors that its sums of sigmoids allow.",
    alt="Log-log plot with two falling lines, parallel to a dashed one of slope minus one. Dots lie at or below "
    "each line.",
)

# %% [markdown]
# Both lines run parallel to $1/m$, and every dot is on or below its line.
#
# Algorithm 7 runs on the same machine.

# %%
numbers = (1.3, 2.1, 0.7, 0.9)
program = calculator_program(*numbers, size=8)
functions, wanted = sums_for(scratch_columns(8))
blocks = calculator_blocks(*functions, columns=True)
machine = FleqMachine(program, blocks)
run = machine.run(program, 20)
against = compare(run, interpret(program, functions=FUNCTIONS | {block.name: block.reference for block in blocks}))
trace, exact = first_entries(program, run.memories, "t"), exact_trace(*numbers)
root_budget = wanted[1] + wanted[0] / (2 * math.sqrt(exact[3] - wanted[0]))
budgets = [1e-5, 1e-5, 1e-5, wanted[0], root_budget, 0.01 * root_budget + 1e-5]
over = [abs(ours - right) / budget for ours, right, budget in zip(trace, exact, budgets, strict=True)]

# %%
several = torch.zeros(20, 8, 8, dtype=torch.float64)
several[:, 0, 0] = torch.linspace(least, 0.99 * most, 20, dtype=torch.float64)
root = ColumnSumBlock("root", functions[1])
miscounted = run_block(root, several, several, columns=scratch_columns(8), spare=10).result[:, 0, 0]
off_by_ten = (miscounted - functions[1](several[:, 0, 0])).abs().max()
shares = [{f"d = {d}": one[0][k] / one[1][k] for d, one in found.items()} for k in (0, 1)]
rates = {f"d = {d}": max(one[0]) * scratch_columns(d) / (2 / least + math.sqrt(most)) for d, one in found.items()}
of_half = min(halved[d][1] / found[d][1][1] for d in halved)

# %% [markdown]
# ## How we checked
# Each error must be within what its sum of sigmoids allows. With half of the columns, or with ten columns not counted,
# the calculator must fail.

# %%
claim = Claim("looped-transformers/remark-2")
claim.at_most("largest error over ε, all sizes", max(row[4] / row[5] for row in rows), 1.0)
claim.equal("heads", max(row[3] for row in rows), 1)
falls = all(rows[i + 2][4] < rows[i][4] and rows[i + 2][2] > rows[i][2] for i in range(4))
claim.true("error falls as rows grow, both functions", falls)
claim.control.close("without the empty column: largest error of the root", flat, x.sqrt(), atol=0.2)
claim.verdict()

# %%
claim = Claim("looped-transformers/remark-2-calculator")
claim.equal("heads of the widest layer, every d", max(one[3].heads for one in found.values()), 1)
claim.at_most("layers (12 claimed)", {f"d = {d}": one[3].layers for d, one in found.items()}, 12)
claim.at_most("1/x: error over what its sum allows", shares[0], 1)
claim.at_most("root: the same", shares[1], 1)
claim.at_most("errors times the columns m, over 2/δ + √C", rates, 1)
claim.at_most("machine less the sums evaluated plainly", max(one[2] for one in found.values()), 1e-6)
claim.at_most(
    "own rows of a sum of d² sigmoids, over log₂ d", {f"d = {d}": n / math.log2(d) for d, n in own_rows.items()}, 5
)
claim.at_most("Algorithm 7, d = 8: largest difference in budgets", max(over), 1.0)
claim.at_most("Algorithm 7: machine against the same sums evaluated plainly", against.deviation, 1e-5)
claim.control.at_most("half the columns: error of the root over what all allow", of_half, 1.0)
claim.control.at_most("10 columns not counted: root less its sum evaluated plainly", off_by_ten, 1e-6)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# By Lemma 17 an error of $\epsilon$ takes about $2/\epsilon\delta$ sigmoids at most for the reciprocal, and by Lemma 20
# $\sqrt C/\epsilon$ for the root. The errors times $m$ should therefore not exceed $2/\delta+\sqrt C$. The budgets of
# Algorithm 7 are those of Theorem 4: the effect of a reciprocal's error under a root is added to the root's error.
#
# </details>
#
# ## What to remember
# - Heads can be traded for columns: the calculator has one head in each of its eleven layers.
# - Its errors are inversely proportional to the number of columns, which grows like $d^2$.
#
# ## Exercises
#
# 1. *By hand.* For the root on $[0,8]$, what error can we expect with $d=4$ and with $d=8$?
#    <details><summary>Solution</summary>
#
#    There are 16 and 64 columns, and $\sqrt8\approx2.83$, so the errors are at most 0.18 and 0.044.
#
#    </details>
# 2. *Predict, then run.* Set `least = 0.4` in place of 0.2. How does the line for the reciprocal move?
#    <details><summary>Solution</summary>
#
#    A reciprocal down to $\delta$ takes about $1/\epsilon\delta$ steps. With $\delta$ doubled, the same number of
#    columns reaches about half the error, and the line moves down by a factor of about two.
#
#    </details>
#
# Next: [Lemma 11 inside FLEQ](remark_function_choice.ipynb). Sums of sigmoids can also be chosen by the program.
