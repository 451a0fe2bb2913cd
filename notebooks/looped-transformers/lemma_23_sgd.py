# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 23 · Stochastic gradient descent for a linear model
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 23, Remark 3, Algorithm 13, Appendix O.*
#
# Can a computer made of attention learn? The simplest learner is a linear model: given points with labels, find weights
# that predict the labels. Stochastic gradient descent needs only products, a difference and two loops, and the [FLEQ
# machine](theorem_2_fleq.ipynb) has them all. However, an instruction names fixed cells, and every update needs another
# point.

# %%
from itertools import pairwise

import torch

from attention_theory.looped_transformers.certified.programs import certify_descent_program
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare, standard_blocks
from attention_theory.looped_transformers.machine.listing import side_by_side
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.regression import descent, sgd_beside, sgd_program, unrolled_program
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show

# %% tags=["parameters"]
d = 4  # width of a point, from 3 to 8
points = 3  # points in the machine, at least 1
epochs = 5  # passes over the points in the machine, at least 2
many = 20  # points of the program with pointers in the machine, from 19 to 100
rate = 0.1  # step size, from 0.001 to 0.3
seed = 0  # of the data, at least 0

# %%
require(d=(d, 3, 8), points=(points, 1, None), epochs=(epochs, 2, None), rate=(rate, 0.001, 0.3), seed=(seed, 0, None))
require(many=(many, 19, 100))
source = generator(seed)


# No point is longer than sqrt(2 / rate): then a step makes no error larger (the page on other losses proves it).
def data(count, source=source):
    x = torch.randn(count, d, generator=source, dtype=torch.float64)
    x = x * ((2 / rate) ** 0.5 / x.norm(dim=1, keepdim=True)).clamp(max=1.0)
    return torch.zeros(d, dtype=torch.float64), x, torch.randn(count, generator=source, dtype=torch.float64)


# %% [markdown]
# ## A tiny example
# Let $w=1$, and take the point $x=2$ with label $y=3$. The model predicts $wx=2$, so the residual is $2-3=-1$. With
# learning rate $\eta=0.1$, we move $w$ by $-\eta\cdot(-1)\cdot2=0.2$, and the new prediction is $2.4$.
#
# ## The paper states
# <!-- claim looped-transformers/algorithm-13 -->
# <blockquote>
#
# **Algorithm 13 (SGD as a program)** *Appendix O*
#
# **The paper states.** $\text{mem}[j]=-n_d$, $\text{mem}[k]=-T$. 1: $t=f_{\mathrm{mul}}(x_*,w)$. 2:
# $t=f_{\mathrm{sub}}(t,y_*)$. 3: $t=f_{\mathrm{mul}}(x_*,t)$. 4: $t=f_{\mathrm{mul}}(t,\eta)$. 5:
# $w=f_{\mathrm{sub}}(w,t)$. 6 to 8: increment pointers. 9, 10: $j=f_{\mathrm{add}}(j,1)$; if $j\le0$ goto 1. 11:
# $j=-n_d$. 12 to 14: reset pointers. 15, 16: the same for $k$. 17: EOF.
#
# **What is true.** $\text{mem}[j]=-n_d+1$, $\text{mem}[k]=-T+1$; lines 3 and 4 are $t=f_{\mathrm{mul}}(t,\eta)$ and
# $t=f_{\mathrm{mul}}(x_*^\top,t)$.
#
# **What changed.** With the lines as stated, only the first weight would ever move, and the counters make
# $(n_d+1)(T+1)$ updates, the last of each pass with a point past the end of the data.
#
# <details><summary>Slips (3)</summary>
#
# - Line 11 sets a cell to a number, which is not a FLEQ instruction. Instead, it must add 0 to a cell that holds the
#   start value.
# - The gradient of the loss, which has $1/|\mathcal D|$, lacks the factor $2/|\mathcal D|$; we absorb it into $\eta$.
# - Without pointers, the paper copies lines 1 to 3. Lines 1 to 5 must be copied, because line 1 overwrites what line 4
#   reads.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The machine runs the program in 18 instructions for any number of points. With copies,
# $6|\mathcal D|+3$ instructions are enough; the paper's $7|\mathcal D|$ are enough for three points or more.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-23 -->
# <blockquote>
#
# **Lemma 23 (SGD for a linear model)** *Appendix O*
#
# **The paper states.** There exists a transformer with 13 layers, 1 head and dimensionality $O(\log(|\mathcal D|)+d)$
# to simulate $T$ iterations of SGD over $|\mathcal D|$ data points. The simulation of each step is not exact; the error
# can be driven arbitrarily close to 0 by increasing the temperature of softmax and another free parameter which does
# not affect the size of the network.
#
# <details><summary>Slips (1)</summary>
#
# - The proof is the program of Algorithm 13 with its counters, which must start at $-n_d+1$ and $-T+1$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Twelve layers are enough. The free parameter is the constant $c$ of the product.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/remark-3 -->
# <blockquote>
#
# **Remark 3 (Error and size)** *Appendix O, Remark 3*
#
# **The paper states.** The softmax temperature can be used to drive the error of read and write arbitrarily close to 0,
# while the multiplication also has another free parameter (see (11)) that can be used to drive the error of matrix
# multiplication arbitrarily close to 0, while not affecting the transformer size or architecture.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** With 53-bit numbers, the product has an error floor near $10^{-7}$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# An update computes $t=\eta(w\cdot x_i-y_i)$ and subtracts $t\,x_i$ from $w$. There are two ways to reach the next
# point. The program can increase the address in its own instructions, or it can contain a copy of the update for every
# point. The update is affine in $w$, and with a small learning rate it enlarges no earlier error. The errors of the
# products therefore add up, and each can be made small.
#
# <details><summary>Proof of Algorithm 13, as corrected</summary>
#
# Write $n=n_d$. The vectors $w$ and `temp` lie in the first column, numbers in the first entry, of matrices that are
# zero elsewhere; every line keeps it so.
#
# *One update.* Let the pointers stand at $x_i$ and $y_i$. The first line makes the number $t=x_i^\top w$, the second
# $t-y_i$, the third $\eta(t-y_i)$. The transpose reads the point's cell and those behind it: `turned` has the row
# $x_i^\top$ on top. The product turns it back, and only its first column $x_i$ meets the number: it is $\eta(x_i\cdot
# w-y_i)x_i$, and $w$ is lessened by that.
#
# *Invariant.* At `first`, before the $i$-th update of epoch $e$ (both counted from 1), $j=-n+i$, $k=-T+e$, the two
# pointers to a point stand at the cell of $x_i$ and the one to a label at that of $y_i$, and $w$ is the iterate after
# $(e-1)n+i-1$ updates. At the start this holds with $i=e=1$. After the update the pointers stand at the next cells and
# $j=-n+i+1$. For $i\lt n$ this is at most 0 and the jump leads to `first` with $i+1$. For $i=n$ it is 1. Then $j$
# becomes $-n+1$ again, which `from` holds, the three pointers are set back to the first cells, and $k=-T+e+1$. For
# $e\lt T$ the jump leads to `first` with $e+1$ and $i=1$; for $e=T$ the program halts. So there are $Tn$ updates, point
# after point, epoch after epoch. A pointer that has gone past the last point is set back before it is read. There are
# 18 instructions: 6 for an update, 3 and 3 for the pointers, 5 for the counters and the halt.
#
# *Without pointers.* A point's copy has the 6 instructions of an update. A copy must hold all that reads or changes
# `temp`: the first line writes over what the next ones read. With counter, jump and halt there are $6n+3$, which for
# $n\ge3$ is within the $7n$ of the paper.
#
# *The factor.* The term of $\frac1n\sum_i(x_i\cdot w-y_i)^2$ for one point has gradient $\frac2n(x_i\cdot w-y_i)x_i$:
# its descent with rate $\eta'$ is the above with $\eta=2\eta'/n$.
#
# *As printed.* $f_{\mathrm{mul}}(x_i,t)=x_i^\top t$ is, with $t$ in the first entry, the first entry of $x_i$ times
# $t$: only the first weight would ever move. Counters from $-n$ and $-T$ are above 0 only after $n+1$ updates and $T+1$
# epochs: $(n+1)(T+1)$ updates, and the last of each epoch reads the cell behind the last point. $\square$
#
# </details>
#
# <details><summary>Proof of Lemma 23, with the counters corrected</summary>
#
# *Program.* The repaired program of Algorithm 13 makes the $Tn_d$ updates in order, with pointers or with copies. Its
# number of instructions executed is fixed by $T$ and $n_d$.
#
# *Machine.* The machine of Theorem 2 executes one instruction per pass, and moves of pointers are among them
# ({doc}`pointer_blocks`). It has 9 layers and those of its deepest block, the transpose with 3; its blocks share one
# head. Memory and program have $O(|\mathcal D|+d)$ columns with pointers, and $O(d\,|\mathcal D|)$ with copies, each
# point in $d$ columns. The logarithm of either is $O(\log|\mathcal D|+\log d)$, so that the $O(Md+\log n)$ rows with a
# fixed number $M$ of blocks are $O(\log|\mathcal D|+d)$. None of these numbers depends on the temperature or on $c$.
#
# *Counter and pointers.* The flags are whole numbers that are never in a product. What they and the pointers are off by
# vanishes as the temperature grows; from some temperature on all jumps and all operands are the program's.
#
# *One update.* Let the machine hold $w+\delta$ in place of $w$, let $\epsilon_1,\epsilon_2$ be the errors of the
# products $x\cdot w$ and $\eta t$ and $\epsilon_3$ that of the column $f_{\mathrm{mul}}(x^\top,\eta t)$, with what the
# entries below $\eta t$, which should be zero, make of the cells behind the point's. Since the update is affine in $w$,
# after it
#
# $$\delta'=(I-\eta\,xx^\top)\,\delta-(\eta\,\epsilon_1+\epsilon_2)\,x-\epsilon_3,\qquad
# \|\delta'\|\le\max(1,|1-\eta\|x\|^2|)\,\|\delta\|+(\eta|\epsilon_1|+|\epsilon_2|)\,\|x\|+\|\epsilon_3\| ,$$
#
# but for what the temperature leaves in reading, writing, sums and transposes. By Lemma 14 an entry $z$ of a product is
# off by at most $cz^2/2+O(e^{-C}/c)$, and by terms smaller than these. So as the temperature and $C$ grow and $c$ falls
# so that $e^{-C}/c$ goes to 0, the errors of an update vanish if $\delta$ does so. At the start $\delta$ is 0; the
# updates are $Tn_d$, a fixed number: one after another their $\delta$ go to 0, and with them the error of the whole
# run. $\square$
#
# </details>
#
# ## See it run
# The paper's listing is on the left and the repaired one on the right; an equals sign marks identical lines.

# %%
print(side_by_side(sgd_beside()))

# %% [markdown]
# The interpreter runs the repaired listing on six points, and then with each of the paper's errors put back.

# %%
w, x, y = data(6)
wanted = descent(w, x, y, 0.05, 20)[-1]


def trial(form="correct"):
    program = sgd_program(w, x, y, 0.05, 20, form)
    run = interpret(program)
    return run.executed.count(program.labels["update"]), (program.variable(run.memory, "w")[:, 0] - wanted).abs().max()


updates, off = trial()
updates_printed, off_counters = trial({"counters": "printed"})
_, off_lines = trial({"lines 3-4": "printed"})
copies = len(unrolled_program(w, x, y, rate, 20).code)

# %% [markdown]
# The machine runs the program with [moving pointers](pointer_blocks.ipynb), on more points than it has instructions.


# %%
def run_machine(program, wanted, slope=1e-7, inverse_temperature=40.0):
    """The machine, its run, the run beside the interpreter's, and the distance of the weights to those wanted."""
    reference = interpret(program)
    machine = FleqMachine(program, standard_blocks(program, slope), inverse_temperature)
    run = machine.run(program, len(reference.counters))
    distance = (program.variable(run.memory, "w")[:, 0] - wanted).abs().max().nan_to_num(torch.inf).item()
    return machine, run, compare(run, reference), distance


w, x, y = data(many, generator(seed + 1))
moving, still = sgd_program(w, x, y, rate, 2), sgd_program(w, x, y, rate, 2, resets=False)
two_epochs = descent(w, x, y, rate, 2)[-1]
_, moving_run, moving_result, moving_off = run_machine(moving, two_epochs)
try:
    still_off = (still.variable(interpret(still).memory, "w")[:, 0] - two_epochs).abs().max()
except ParameterError:  # with more points the pointers leave the machine's memory before the second epoch ends
    still_off = torch.inf
machine_updates = sum(number == moving.labels["update"] for number in moving_run.executed)
print(f"{len(moving.code)} instructions, {many} points, {moving_result.cycles} cycles, distance {moving_off:.1e}")

# %% [markdown]
# Then it runs the program with a copy per point.

# %%
w, x, y = data(points)
iterates = descent(w, x, y, rate, epochs)
program = unrolled_program(w, x, y, rate, epochs)
machine, run, result, distance = run_machine(program, iterates[-1])

# %%
weights = torch.stack([program.variable(memory, "w")[:, 0] for memory in run.memories])
fig, axis = show.axes()
losses = ((weights @ x.mT - y) ** 2).mean(1)
plain = ((iterates @ x.mT - y) ** 2).mean(1)
axis.semilogy(range(1, len(losses) + 1), losses, "-", label="transformer, cycle by cycle")
per_update = len(losses) / (len(plain) - 1)
axis.semilogy([k * per_update for k in range(len(plain))], plain, "o", label="plain descent, update by update")
axis.set(xlabel="cycle", ylabel="mean square error")
axis.legend()
show.figure(
    fig,
    name="descent",
    caption="The mean square error over the points while the machine runs, and that of plain descent at each update.",
    alt="A staircase that falls over the cycles, with a step up now and then; round markers of the plain descent lie "
    "on its steps.",
)

# %% [markdown]
# The machine's staircase passes through the points of plain descent. A step up is an update that helps one point and
# hurts the others.

# %%
state = machine.transformer.run(machine.layout.pack(program), result.cycles, machine.inverse_temperature)
stays = machine.cycle(state)
moved = (machine.layout.memory(stays) - machine.layout.memory(state)).abs().max()
sizes, blocks = summarise(machine.transformer), standard_blocks(program)
layouts = [FleqLayout(d, 32 + 8 * 2**k, 3 + 6 * 2**k, blocks, 40.0) for k in range(10)]  # 2^k points
per_bit = {(b.rows.size - a.rows.size) / (b.bits - a.bits) for a, b in pairwise(layouts) if b.bits > a.bits}
wide = {size: FleqLayout(size, 14 * size, 21, blocks, 40.0).rows.size for size in (4, 8, 16, 32)}

# %% [markdown]
# Finally, we vary the temperature and the product's constant $c$, at the step size 0.1.

# %%
slopes, heats = [1e-2, 1e-4, 1e-6, 1e-7], [5.0, 10.0, 20.0]
step = 0.1  # not `rate`: smaller steps hide what c does to the product
short, after_two = unrolled_program(w, x, y, step, 2), descent(w, x, y, step, 2)[-1]
by_slope = [run_machine(short, after_two, slope=slope) for slope in slopes]
by_heat = [run_machine(short, after_two, inverse_temperature=heat) for heat in heats]
show.table(["c", "distance to plain descent"], [(s, one[3]) for s, one in zip(slopes, by_slope, strict=True)])
show.table(
    ["temperature factor", "counter right", "distance to plain descent"],
    [(heat, one[2].counters_agree, one[3]) for heat, one in zip(heats, by_heat, strict=True)],
)

# %% [markdown]
# ## How we checked
# We compare the counter, all pointers and the weights with an interpreter and with plain descent. At a temperature of
# 5, at $c=10^{-2}$, or if the pointers are not reset, the weights must be wrong. A computer algebra system proves for
# two points and two passes that the program and plain descent leave the same weights, whatever the data.

# %%
claim = Claim("looped-transformers/algorithm-13")
claim.above("machine: points for an instruction", many / len(moving.code), 1)
right = moving_result.counters_agree and moving_result.pointers_agree
claim.true("machine: counter and every pointer right in every cycle", right)
claim.at_most("machine: distance to plain descent, 2 epochs", moving_off, 1e-5)
claim.equal("machine: updates", machine_updates, 2 * many)
claim.control.at_most("pointers not set back: distance to plain descent", still_off, 1e-5)
claim.at_most("distance to plain descent, 6 points, 20 epochs", off, 1e-14)
claim.equal("updates", updates, 6 * 20)
claim.equal("updates with the printed counters", updates_printed, (6 + 1) * (20 + 1))
claim.printed.equal("printed counters: updates", updates_printed, 6 * 20)
claim.printed.at_most("printed counters: distance to plain descent", off_counters, 1e-14)
claim.printed.at_most("lines 3 and 4 as printed: distance to plain descent", off_lines, 1e-14)
claim.equal("without pointers, 6 points: instructions", copies, 6 * 6 + 3)
claim.at_most("the same, with 7 |D| in the paper", copies, 7 * 6)
claim.certified("two points, two passes: all data, rates and starts", certify_descent_program(2, 2))
claim.verdict()

# %%
claim = Claim("looped-transformers/lemma-23")
claim.true("counter right in every cycle", result.counters_agree)
claim.at_most("distance to plain descent", distance, 1e-5)
claim.at_most("memory's change in a cycle after the end", moved, 1e-12)
claim.equal("counter after the end", machine.layout.counter(stays), program.halt)
claim.at_most("layers (13 claimed)", sizes.layers, 13)
claim.equal("heads of the widest layer (1 claimed)", sizes.heads, 1)
claim.equal("different numbers of rows for a bit more, to 512 points", len(per_bit), 1)
claim.at_most("rows, growth when d doubles", max(wide[2 * k] / wide[k] for k in (4, 8, 16)), 2)
cold = run_machine(program, iterates[-1], inverse_temperature=5.0)
claim.control.at_most("temperature factor 5: distance to plain descent", cold[3], 1e-5)
claim.equal("Algorithm 13 with its counters repaired: updates", updates, 6 * 20, of="proof")
claim.at_most("Algorithm 13 in the machine: distance to plain descent", moving_off, 1e-5, of="proof")
claim.printed.equal("Algorithm 13 with the printed counters: updates", updates_printed, 6 * 20, of="proof")
claim.verdict()

# %%
same = {summarise(one[0].transformer).layers * 1000 + summarise(one[0].transformer).heads for one in by_slope + by_heat}
falling = all(before[3] > 2 * after[3] for before, after in pairwise(by_slope[:3]))
claim = Claim("looped-transformers/remark-3")
claim.true("distance falls with c from 1e-2 to 1e-6", falling)
claim.at_most("distance at c = 1e-7 and factor 20", by_heat[-1][3], 1e-5)
claim.equal("sizes of machine among all dials", len(same), 1)
claim.control.at_most("c = 1e-2: distance", by_slope[0][3], 1e-5)
claim.control.at_most("factor 5: distance", by_heat[0][3], 1e-5)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# Without the resets, the run continues with whatever is stored after the points; if it leaves the memory before its
# end, its distance counts as infinite. In exact arithmetic, the product has no error floor; with 53 bits, it has one
# near $10^{-7}$.
#
# </details>
#
# ## Where the paper differs
# Lines 3 and 4 multiply $x^\top$ by a number where $x$ is needed, so only the first weight would ever move. The
# counters start one too low, and the extra update of each pass uses a point past the end of the data.
#
# ## What to remember
# - A transformer with one head in each of 12 layers runs stochastic gradient descent.
# - A program can change its own instructions, and therefore visit more points than it has lines.
#
# ## Exercises
#
# 1. *By hand.* With six points and twenty passes, how many updates does the paper's program make?
#    <details><summary>Solution</summary>
#
#    $(6+1)(20+1)=147$ in place of 120.
#
#    </details>
# 2. *Predict, then run.* Set `epochs = 10`. How do the figure and the distance to plain descent change?
#    <details><summary>Solution</summary>
#
#    The staircase is twice as long. The distance stays near the error of the products, because a step does not
#    enlarge earlier errors.
#
#    </details>
#
# Next: [Other losses](remark_losses.ipynb). The square loss is only the simplest one.
