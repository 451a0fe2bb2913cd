# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 4 · A calculator from staircases
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Theorem 4 (Lemma 6 in the body), Algorithm 7, Appendix M.*
#
# A pocket calculator adds, multiplies, and takes reciprocals and roots. The first two are easy for a looped
# transformer, but reciprocals and roots are neither sums nor products. How accurate can they be with only so many
# attention heads?

# %%
import math
from itertools import pairwise

import torch

from attention_theory.looped_transformers.blocks.approximation import reciprocal_sigmoids, root_at_scales, root_sigmoids
from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSumBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FUNCTIONS, interpret
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.calculator import (
    TEXT,
    calculator_blocks,
    calculator_program,
    calculator_sums,
    exact_trace,
    first_entries,
    whole_range_sums,
)
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# The paper's program starts with four numbers. Here they are 3, 2, 1 and 1.

# %%
fig, axis = schematic.canvas(7.0, 1.0)
lines = ["3 + 2 = 5", "5 − 1 = 4", "4 · 1 = 4", "1/4 = 0.25", "√0.25 = 0.5", "% = 0.005"]
schematic.tokens(axis, lines, (0.2, 0.55), [3, 4], 2.3)
for k in range(1, 6):
    schematic.arrow(axis, (0.2 + 2.3 * k - 0.3, 1.0), (0.2 + 2.3 * k, 1.0), colour=schematic.QUIET)
show.figure(
    fig,
    name="tiny",
    caption="Six instructions. Those in blue are approximate; the others are exact up to rounding and the product's "
    "error.",
    alt="Six boxes joined by arrows: 3 + 2 = 5, 5 - 1 = 4, 4 times 1 = 4, 1/4 = 0.25, root of 0.25 = 0.5, percent = "
    "0.005.",
)

# %% [markdown]
# An error of the fourth instruction passes through a root and a percentage.
#
# ## The paper states
# <!-- claim looped-transformers/theorem-4 -->
# <blockquote>
#
# **Theorem 4 (Calculator)** *Appendix D; Appendix M; also Lemma 6*
#
# **The paper states.** There exists a transformer with 12 layers, $m$ heads and dimensionality $O(\log n)$ to implement
# a calculator which can perform addition, subtraction, multiplication, and computing the inverse, square root and
# percentage. For the inverse and square root, the operand needs to be in $[-e^{O(m)},-\tilde\Omega(\frac1{\sqrt
# m})]\cup[\tilde\Omega(\frac1{\sqrt m}),e^{O(m)}]$ and $[0,O(m^2)]$, and the output is correct up to $O(1/\sqrt m)$ and
# $O(1/m)$, respectively.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Eleven layers are enough. Negative reciprocals use the mirror images of the sigmoids, and roots
# on the long interval use the sigmoids of Corollary 9. The symbol $\tilde\Omega$ hides logarithms of $m$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/algorithm-7 -->
# <blockquote>
#
# **Algorithm 7 (A calculator program)** *Appendix M*
#
# **The paper states.** The following algorithm performs $\frac{\sqrt{1/((a+b)-c)\cdot d}}{100}$: $t=a+b$; $t=(a+b)-c$;
# $t=((a+b)-c)*d$; $t=1/((a+b)-c)*d$; $t=\sqrt{1/((a+b)-c)*d}$; $t=\frac{\sqrt{1/((a+b)-c)*d}}{100}$.
#
# <details><summary>Slips (1)</summary>
#
# - The caption and the comments of lines 4 to 6 lack a pair of parentheses. The reciprocal is taken of the whole
#   product in line 3, so the six instructions compute $\sqrt{1/(((a+b)-c)\,d)}\,/100$. By the usual precedence the
#   caption is $\sqrt{d/((a+b)-c)}\,/100$, which is the same only for $d=\pm1$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A sum of sigmoids $\sum_ic_i\,\phi(a_ix-b_i)$ is a staircase with rounded steps, and attention computes one sigmoid
# per head ([Lemma 11](lemma_11_sigmoids.ipynb)). With $m$ heads we have $m$ steps. A reciprocal is steep near 0, so
# its interval starts at about $1/\sqrt m$. Negative numbers use the mirror images of the steps. The root needs a long
# interval; there the slopes of the sigmoids form a geometric sequence, so that few of them are enough ([Corollary
# 9](lemma_17_reciprocal.ipynb)).
#
# The machine is the FLEQ machine ([Theorem 2](theorem_2_fleq.ipynb)). All its blocks share the heads of the sigmoids.
#
# ## See it run

# %% tags=["parameters"]
a = 1.3  # first number, from -50 to 50; ((a + b) - c) d has to lie from 0.2 to 5
b = 2.1  # second number, from -50 to 50
c = 0.7  # third number, from -50 to 50
d = 0.9  # fourth number, from -50 to 50
error = 0.05  # wanted of the reciprocal and of the root, from 0.02 to 0.2

# %%
require(a=(a, -50.0, 50.0), b=(b, -50.0, 50.0), c=(c, -50.0, 50.0), d=(d, -50.0, 50.0))
inner = (a + b - c) * d
require(error=(error, 0.02, 0.2), inner=(inner, 0.2, 5.0))

# %%
print(TEXT)

# %%
sums = calculator_sums(error, 0.2, 8.0, 6.0)
program, blocks = calculator_program(a, b, c, d), calculator_blocks(*sums)
machine = FleqMachine(program, blocks)
run = machine.run(program, 20)
functions = FUNCTIONS | {block.name: block.reference for block in blocks}
by_sums = compare(run, interpret(program, functions=functions))
trace, exact = first_entries(program, run.memories, "t"), exact_trace(a, b, c, d)
root_budget = error + error / (2 * math.sqrt(exact[3] - error))
budgets = [1e-5, 1e-5, 1e-5, error, root_budget, 0.01 * root_budget + 1e-5]

# %%
names = ["a + b", "- c", "· d", "1/t", "√t", "/ 100"]
show.table(
    ["step", "machine", "exact", "difference", "budget"],
    [
        (name, ours, right, abs(ours - right), budget)
        for name, ours, right, budget in zip(names, trace, exact, budgets, strict=True)
    ],
)
off = [abs(ours - right) / budget for ours, right, budget in zip(trace, exact, budgets, strict=True)]

# %% [markdown]
# ### All operations and ranges in one machine
# The program above has a root on a short interval. Now one machine with 36 heads computes all six operations for 24
# sets of numbers, on the full ranges of the theorem.

# %%
both_signs, root = calculator_sums(error, 0.2, 8.0, 6.0, both_signs=True)
operands = torch.zeros(121, 3, 3, dtype=torch.float64)
half = torch.linspace(0.2, 7.9, 60, dtype=torch.float64)
operands[:, 0, 0] = torch.cat([-half.flip(0), torch.ones(1).double(), half])
reciprocals = run_block(SigmoidSumBlock("inverse", both_signs), operands, operands).result[:, 0, 0]
one_sided = run_block(SigmoidSumBlock("inverse", sums[0]), operands, operands).result[:, 0, 0]
wanted = 1 / operands[:, 0, 0]
counts = summarise(machine.transformer)

# %%
instructions, around = len(program.code), machine.layout.scratch + len(program.code)
widths = [FleqLayout(program.size, n - around, instructions, blocks, 40.0).rows.size for n in (64, 256, 1024, 4096)]
growth = [(after - before) / 2 for before, after in pairwise(widths)]
show.table(["columns n", "rows"], list(zip((64, 256, 1024, 4096), widths, strict=True)))

# %%
heads = 36
whole, everything = whole_range_sums(heads), "s = add(p, q)\nt = sub(p, q)\nu = mul(p, q)\nv = mul(p, percent)"
everything += "\nw = inverse(x)\nr = root(y)\nhalt"
least, most, numbers = 1.5 / math.sqrt(heads / 2), math.exp(heads / 2), []
for place in torch.linspace(0, 1, 12).double().tolist():
    inner_x = least * ((1 - 1e-6) * most / least) ** place
    numbers += [(8 * place - 4, 2.5 - 3 * place, sign * inner_x, place * heads**2) for sign in (-1, 1)]
empty = {"percent": 0.01, **dict.fromkeys("stuvwr", 0.0)}
six = [assemble(everything, dict(zip("pqxy", values, strict=True)) | empty, size=2) for values in numbers]
one_machine = FleqMachine(six[0], calculator_blocks(*whole), gate=2 * most)
answers = list(zip(six, one_machine.run_many(six), strict=True))
read = [[one.variable(done.memory, name)[0, 0].item() for name in "stuvwr"] for one, done in answers]

# %%
right = [[p + q, p - q, p * q, p / 100, 1 / x, math.sqrt(y)] for p, q, x, y in numbers]
apart = (torch.tensor(read).double() - torch.tensor(right).double()).abs().amax(dim=0)
plain_off, inverse_off, root_off = apart[:4].max(), apart[4] * math.sqrt(heads), apart[5] * heads
whole_heads = summarise(one_machine.transformer).heads
longer = max(one.terms for one in sums)
wrong_counters = sum(done.counters != [1, 2, 3, 4, 5, 6] for _, done in answers)
show.table(["+", "-", "×", "%", "1/x", "√y"], [apart.tolist()], caption="Largest error of each operation.")

# %% [markdown]
# Next we take roots on the long interval, with $m$ sigmoids at many scales and with $m$ equal steps.

# %%
ranges = []
for m in (25, 50):
    wide = [SumBlock("add"), SigmoidSumBlock("root", root_at_scales(m, float(m**2), 1 / m))]
    for x in (0.0, 0.3, 7.0, 0.5 * m**2, float(m**2)):
        one_root = assemble("t = root(p)\nhalt", {"p": x, "t": 0.0}, size=2)
        found = FleqMachine(one_root, wide, gate=1e4).run(one_root, 2)
        stepped = root_sigmoids(1.0, float(m**2))(torch.tensor(x, dtype=torch.float64)).item()
        off_by = abs(first_entries(one_root, found.memories, "t")[-1] - math.sqrt(x))
        ranges.append((m, x, math.sqrt(x), off_by * m, abs(stepped - math.sqrt(x)) * m))
show.table(
    ["m", "x", "√x", "error in the machine, times m", "m equal steps: error times m"],
    ranges,
    caption="Roots on [0, m²] by a calculator with m heads.",
)
near = torch.zeros(400, 3, 3, dtype=torch.float64)
near[:, 0, 0] = torch.linspace(0.8, 1.6, 400, dtype=torch.float64)
staircase = run_block(SigmoidSumBlock("inverse", sums[0]), near, near).result[:, 0, 0]

# %% [markdown]
# Finally, we take reciprocals of both signs with more heads. We evaluate the sum up to $e^{m/2}$ and the transformer
# up to $10^6$.

# %%
rates = []
for m in (36, 100, 225):
    step = 1.5 / math.sqrt(m / 2)
    many = reciprocal_sigmoids(step, step, math.exp(m / 2)).mirrored()
    far = torch.logspace(math.log10(step), m / 2 / math.log(10), 2000, dtype=torch.float64)
    far = far.clamp(step, math.exp(m / 2) * (1 - 1e-9))
    plain_error = max((many(sign * far) - sign / far).abs().max().item() for sign in (1, -1))
    tried = torch.zeros(100, 3, 3, dtype=torch.float64)
    tried[:50, 0, 0] = torch.logspace(math.log10(step), 6, 50, dtype=torch.float64).clamp(min=step)
    tried[50:] = -tried[:50]
    result = run_block(SigmoidSumBlock("inverse", many), tried, tried).result[:, 0, 0]
    block_error = (result - 1 / tried[:, 0, 0]).abs().max().item()
    rates.append(
        (m, many.terms, step, math.exp(m / 2), *(value * math.sqrt(m) for value in (plain_error, block_error)))
    )
show.table(["m", "heads used", "from", "to", "error of the sum, times √m", "as a transformer"], rates)

# %%
fig, axes = show.axes(1, 2, width=8.0)
axes[0].plot(near[:, 0, 0], staircase, label="as a transformer")
axes[0].plot(near[:, 0, 0], 1 / near[:, 0, 0], "--", label="$1/x$")
axes[0].set(xlabel="$x$", ylabel="reciprocal")
axes[0].legend()
axes[1].plot(
    operands[:, 0, 0], (reciprocals - wanted).where(operands[:, 0, 0].abs() < 8, torch.nan), "C0o", markersize=3
)
axes[1].axhspan(-error, error, color="C1", alpha=0.2)
axes[1].set(xlabel="$x$", ylabel="error")
show.figure(
    fig,
    name="reciprocal",
    caption="Left: a piece of the reciprocal as the block computes it, a staircase of sigmoids. Right: its error on "
    "both sides of 0, within ε (the band).",
    alt="Left: a falling curve followed closely by a staircase. Right: points on both sides of zero that scatter "
    "within a coloured band.",
)

# %% [markdown]
# On the left we see the staircase follow $1/x$. On the right its error stays within $\epsilon$ on both sides of 0.
#
# ## How we checked
# We compare each step with its exact value. The error budget is rounding and the product's error for the first three
# steps, $\epsilon$ for the reciprocal $r$, and $\epsilon$ for the root, plus about $\epsilon/2\sqrt r$ for the
# reciprocal's error under the root. For the theorem, the errors times $\sqrt m$ and $m$ must stay below a constant,
# and the rows must grow by the same number for every doubling of the columns. The controls omit the mirror images,
# use equal steps, or count ten columns too few.

# %%
setting = machine.layout.setting
several = torch.zeros(60, 2, 2, dtype=torch.float64)
several[:, 0, 0] = torch.linspace(0.2, 5.0, 60, dtype=torch.float64)
several[0, 0, 0] = trace[3]


def root_with_columns(counted):
    """The root block's results, at the reciprocal found and at others, told a number of columns."""
    block, spare = SigmoidSumBlock("root", sums[1]), setting.columns - 8
    return run_block(block, several, several, columns=counted, spare=spare).result[:, 0, 0]


right_count, wrong_count = root_with_columns(setting.columns), root_with_columns(setting.columns - 10)

# %%
claim = Claim("looped-transformers/algorithm-7")
claim.at_most("largest difference to the exact trace, in budgets", max(off), 1.0)
claim.equal("instructions executed until the halt", len(run.counters), 6)
claim.at_most("machine against the same sums evaluated plainly", by_sums.deviation, 1e-5)
claim.close("root block alone, columns counted: distance to the machine", right_count[0], trace[4], atol=1e-9)
claim.control.close("10 columns not counted: largest change", wrong_count, right_count, atol=1e-3)
as_captioned = math.sqrt(d / (a + b - c)) / 100
claim.misprint.close("the caption by the usual precedence: distance to the exact result", as_captioned, exact[-1])
claim.number("result", trace[-1])
claim.number("exact result", exact[-1])
claim.verdict()

# %%
claim = Claim("looped-transformers/theorem-4")
claim.at_most("layers (12 claimed)", counts.layers, 12)
claim.equal("rows: different numbers for a doubling of the columns", len(set(growth)), 1)
claim.equal("one machine, all operations and ranges, m = 36: programs with a wrong counter", wrong_counters, 0)
claim.at_most("the same: heads", whole_heads, heads)
claim.at_most("the same: +, -, ×, %, largest error", plain_off, 1e-5)
claim.at_most("the same: 1/x, error times √m", inverse_off, 1.5 * math.sqrt(2))
claim.at_most("the same: √x, error times m", root_off, 1.0)
claim.close("reciprocal on both sides, largest error", reciprocals, wanted, atol=error)
claim.equal("heads of the widest layer: those of the longer sum", counts.heads, longer)
claim.control.close("no mirror images: largest error", one_sided, wanted, atol=error)
heads_used = max(row[1] / row[0] for row in rates)
claim.at_most("reciprocals of both signs up to exp(m/2), m = 36 to 225: heads over m", heads_used, 1.0)
by_rate = max(max(row[4:]) for row in rates)
claim.at_most("reciprocals alone: error times √m, of the sum and as a transformer", by_rate, 1.5 * math.sqrt(2))
claim.at_most("root with m heads on [0, m²], in the machine: error times m", max(row[3] for row in ranges), 1.0)
claim.control.at_most("root by m equal steps on [0, m²]: error times m", max(row[4] for row in ranges), 1.0)
claim.number("rows", counts.width)
claim.number("rows for a doubling of the columns", growth[0])
claim.verdict()

# %% [markdown]
# ## Also on this page
# ### Division
# <!-- claim looped-transformers/remark-division -->
# <blockquote>
#
# **Appendix M (Division)** *Appendix M*
#
# **The paper states.** Note that using Corollary 6 (multiplication) and Corollary 8 (inversion), the operation of
# division can be implemented as well.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The error of $p/q$ is at most $|p|\epsilon$ plus the error of the product, where $\epsilon$ is
# the error of the reciprocal's sum of sigmoids for $\delta\le|q|\le C$.
#
# </blockquote>
# <!-- /claim -->
#
# A quotient takes two instructions, a reciprocal and a product. Our sum covers divisors of size 0.2 to 8.

# %%
divide = "t = inverse(q)\nt = mul(p, t)\nhalt"
divisors = [sign * q for sign in (-1.0, 1.0) for q in torch.linspace(0.2, 7.9, 20).tolist()]
pairs = [(p, q) for q in divisors for p in (-3.0, 0.7)]
outside = [(0.7, 0.05), (0.7, -0.1)]
quotients = [assemble(divide, {"p": p, "q": q, "t": 0.0}, size=2) for p, q in pairs + outside]
divider = FleqMachine(quotients[0], calculator_blocks(both_signs, root))
found = [one.variable(run.memory, "t")[0, 0] for one, run in zip(quotients, divider.run_many(quotients), strict=True)]
errors = [abs(value - p / q) / (abs(p) * error + 1e-5) for value, (p, q) in zip(found, pairs + outside, strict=True)]

# %%
claim = Claim("looped-transformers/remark-division")
claim.at_most(f"{len(pairs)} quotients, error over |p| ε + 1e-5, largest", max(errors[: len(pairs)]), 1.0)
claim.control.at_most("divisors 0.05 and -0.1, outside the range: the same", min(errors[len(pairs) :]), 1.0)
claim.number("layers", summarise(divider.transformer).layers)
claim.verdict()

# %% [markdown]
# ## What to remember
# - A head computes a sigmoid, and $m$ sigmoids make a staircase with $m$ steps.
# - Reciprocals are right up to $O(1/\sqrt m)$ and roots up to $O(1/m)$.
# - Eleven layers are enough for the whole calculator.
#
# ## Exercises
#
# 1. *By hand.* We want to halve the error. By how much must $m$ grow for reciprocals, and by how much for roots?
#    <details><summary>Solution</summary>
#
#    By a factor of 4 for reciprocals, because the error is of order $1/\sqrt m$, and by a factor of 2 for roots.
#
#    </details>
# 2. *Predict, then run.* Set `a = 2.0`, `b = 2.0`, `c = 2.0`, `d = 0.5`. Which exact values does the table show?
#    <details><summary>Solution</summary>
#
#    4, 2, 1, 1, 1 and 0.01.
#
#    </details>
#
# Next: [Remark 2](remark_2_calculator.ipynb). A column can take the place of a head for each sigmoid.
