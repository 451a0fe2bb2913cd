# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 4 · A calculator
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Theorem 4 (Lemma 6 in the body), Algorithm 7, Appendix M.*
#
# A looped transformer, a network of fixed weights whose output is fed back as its next input, can be a pocket
# calculator. The FLEQ machine ({doc}`theorem_2_fleq`) executes programs whose instructions call functions. Here it is
# given six: sum, difference, product, percentage (a number divided by 100), reciprocal and root. The last two are no
# sums or products of the input. They are approximated by a sum of sigmoids, $\sum_i c_i\,\phi(a_ix-b_i)$ with
# $\phi(u)=1/(1+e^{-u})$, like a staircase with rounded steps, and attention computes a sigmoid in each head
# ({doc}`lemma_11_sigmoids`). With $m$ heads there are $m$ steps. So the error falls as $m$ grows, but not everywhere: a
# reciprocal is steep near 0, and a root is wanted on a long interval. The theorem says how far one can go with $m$
# heads. ($\tilde\Omega$ hides logarithms of $m$.)
#
# <!-- claim looped-transformers/theorem-4 -->
# <blockquote>
#
# **Theorem 4 (Calculator)** *Appendix D; Appendix M; also Lemma 6*
#
# A FLEQ machine of at most 12 layers with $m$ heads for the sums of sigmoids computes $+$, $-$, $\times$, percentages,
# reciprocals up to $O(1/\sqrt m)$ for $|x|\in[\tilde\Omega(1/\sqrt m),e^{O(m)}]$, and roots up to $O(1/m)$ on
# $[0,O(m^2)]$. Negative reciprocals take the mirror images of the sigmoids; roots on the long interval take the
# sigmoids of Corollary 9.
#
# </blockquote>
# <!-- /claim -->
#
# The sums, differences, products and percentages were built before, and share the heads of the sigmoids, as all
# function blocks of a machine can ({doc}`lemma_7_newton`). The sigmoids are placed so as to follow the reciprocal of
# positive numbers; their mirror images do the same for negative ones. Corollary 9 ({doc}`lemma_17_reciprocal`) has
# sigmoids whose slopes form a geometric sequence, so that few of them cover a long interval. One program is run, six
# operations long.

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

# %% [markdown]
# The program as text; the percentage is a product with 0.01:

# %%
print(TEXT)

# %% [markdown]
# ## Algorithm 7
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
#   caption is $\sqrt{d/((a+b)-c)}\,/100$, which is the same for $d=\pm1$ only.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
# Line 4 takes the reciprocal of what line 3 has left, the whole product. So the parentheses are as in the exact
# evaluation here, and not as in the caption.
#
# The budget of each step: rounding and the product's error for the first three; $\epsilon$ for the reciprocal $r$;
# for the root $\epsilon$ and what an error of $\epsilon$ does under a root, $\epsilon/2\sqrt r$ to first order.

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

# %% [markdown]
# Step by step, beside the exact values:

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
# The sigmoids are taken out of a softmax over all columns, so their blocks have to know how many there are. The root
# block by itself is told the right number, and ten too few.

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

# %% [markdown]
# Every step stays within its budget.

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

# %% [markdown]
# ## The theorem
# The block of Lemma 11 takes two layers here (copying the input aside is the machine's own doing), so that the
# calculator has 11 layers where 12 are claimed. For negative numbers the reciprocal needs the mirror images of its
# sigmoids, twice the heads. The six operations ran above, under Algorithm 7, where they are judged. Their root is for a
# short range. For $[0,m^2]$ the sum of
# Corollary 9 takes their place, with $m$ heads and slopes in geometric sequence.

# %%
both_signs, root = calculator_sums(error, 0.2, 8.0, 6.0, both_signs=True)
operands = torch.zeros(121, 3, 3, dtype=torch.float64)
half = torch.linspace(0.2, 7.9, 60, dtype=torch.float64)
operands[:, 0, 0] = torch.cat([-half.flip(0), torch.ones(1).double(), half])
reciprocals = run_block(SigmoidSumBlock("inverse", both_signs), operands, operands).result[:, 0, 0]
one_sided = run_block(SigmoidSumBlock("inverse", sums[0]), operands, operands).result[:, 0, 0]
wanted = 1 / operands[:, 0, 0]
counts = summarise(machine.transformer)

# %% [markdown]
# The paper's width is $O(\log n)$, for $n$ columns: with every doubling of $n$ the input may grow by a fixed number of
# rows and no more.

# %%
instructions, around = len(program.code), machine.layout.scratch + len(program.code)
widths = [FleqLayout(program.size, n - around, instructions, blocks, 40.0).rows.size for n in (64, 256, 1024, 4096)]
growth = [(after - before) / 2 for before, after in pairwise(widths)]
show.table(["columns n", "rows"], list(zip((64, 256, 1024, 4096), widths, strict=True)))

# %% [markdown]
# One machine has to do all of it: the six operations with $m=36$ heads, reciprocals of both signs from $1.5/\sqrt{m/2}$
# to $e^{m/2}$, and roots from 0 to $m^2$. Its gate exceeds the largest number, about $10^8$. It runs 24 programs side
# by side, each with all six operations.

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
# The root on the long interval, in a machine, by $m$ sigmoids at many scales and by $m$ equal steps:

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
# The reciprocal with $m$ heads, half of them for each sign: the rate $1/\sqrt m$ on an interval that grows like
# $e^{O(m)}$. The sum of sigmoids is tried up to $e^{m/2}$, and as a transformer up to $10^6$.

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

# %% [markdown]
# What a sum of sigmoids looks like, and the error of the reciprocal on both sides of 0:

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
# The verdict on the theorem:

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
# ## Division
# <!-- claim looped-transformers/remark-division -->
# <blockquote>
#
# **App. M (Division)** *Appendix M*
#
# Division can be implemented as well: a reciprocal and a product, with an error of at most $|p|\epsilon$ for $p/q$
# where the reciprocal's sum of sigmoids, made for $\delta\le|q|\le C$, has the error $\epsilon$.
#
# </blockquote>
# <!-- /claim -->
# A quotient is a reciprocal and a product: two instructions. The reciprocal is off by at most $\epsilon$, so that the
# quotient of $p$ and $q$ is off by at most $|p|\epsilon$ and the product's own error. The sum of sigmoids is made for
# divisors of modulus 0.2 to 8, of either sign. Outside it returns what its last step says, and the error shows it.

# %%
divide = "t = inverse(q)\nt = mul(p, t)\nhalt"
divisors = [sign * q for sign in (-1.0, 1.0) for q in torch.linspace(0.2, 7.9, 20).tolist()]
pairs = [(p, q) for q in divisors for p in (-3.0, 0.7)]
outside = [(0.7, 0.05), (0.7, -0.1)]
quotients = [assemble(divide, {"p": p, "q": q, "t": 0.0}, size=2) for p, q in pairs + outside]
divider = FleqMachine(quotients[0], calculator_blocks(both_signs, root))
found = [one.variable(run.memory, "t")[0, 0] for one, run in zip(quotients, divider.run_many(quotients), strict=True)]
errors = [abs(value - p / q) / (abs(p) * error + 1e-5) for value, (p, q) in zip(found, pairs + outside, strict=True)]

# %% [markdown]
# All quotients are run side by side on one machine.

# %%
claim = Claim("looped-transformers/remark-division")
claim.at_most(f"{len(pairs)} quotients, error over |p| ε + 1e-5, largest", max(errors[: len(pairs)]), 1.0)
claim.control.at_most("divisors 0.05 and -0.1, outside the range: the same", min(errors[len(pairs) :]), 1.0)
claim.number("layers", summarise(divider.transformer).layers)
claim.verdict()

# %% [markdown]
# ## What was learned
# Six operations and division run in eleven layers; the heads are those of the longer sum of sigmoids. Sums and products
# are right to the floor of the product block, reciprocals and roots to the error that their sums are made for, on the
# range that they are made for and for both signs. With a column in place of a head for each sigmoid one head would do
# (Remark 2, {doc}`remark_2_calculator`).
#
# ## To try
# - Set `error = 0.1`: about half as many heads do, and the staircase has steps twice as high.
# - Set `c = 2.9`: the result is the root of a larger reciprocal; the steps stay within their budgets.
