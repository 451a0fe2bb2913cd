# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 9 · A transformer that trains a neural network
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 9 (= 24), Algorithms 5 (= 14), 15, 16, Appendix O.*
#
# Back-propagation is a program of products, sums and sigmoids, and a looped transformer executes programs. The largest
# program of the paper trains a network with one hidden layer. Does a transformer that runs it learn the same weights as
# ordinary training?

# %%
from itertools import pairwise

import torch

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.sigmoid import SigmoidSumBlock, sharp_steps
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.layout import FleqLayout
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare, standard_blocks
from attention_theory.looped_transformers.machine.listing import side_by_side
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.backpropagation import SigmoidNetwork
from attention_theory.looped_transformers.programs.backpropagation_program import (
    PLACES,
    listing_beside,
    listing_program,
    machine_listing,
    machine_program,
    read_network,
)
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# A network has one input $x=1$ and one hidden unit with weight 0, so that $z=0$ and $a=\phi(0)=\frac12$ for the
# sigmoid $\phi$. With $w_2=2$ the output is $o=1$. The label is $y=0$, so the error of the output is
# $\delta_2=o-y=1$. Carried back to the hidden unit, it is
# $\delta_1=\delta_2\,w_2\,\phi'(0)=1\cdot2\cdot\frac14=\frac12$. The gradients are $\delta_2a=\frac12$ for $w_2$ and
# $\delta_1x=\frac12$ for the weight of $x$.

# %%
fig, axis = schematic.canvas(7.0, 1.6)
tops = schematic.tokens(axis, ["x = 1", "z = 0", "a = ½", "o = 1", "y = 0"], (0.4, 0.5), step=2.7)
for k in range(3):
    right = 0.4 + 2.7 * (k + 1)
    schematic.arrow(axis, (right - 0.3, 0.95), (right, 0.95), colour=schematic.QUIET)
schematic.arrow(axis, tops[4], tops[3], "δ₂ = 1", -0.3, schematic.VERMILION)
schematic.arrow(axis, tops[3], tops[1], "δ₁ = 1 · 2 · ¼ = ½", -0.3, schematic.VERMILION)
show.figure(
    fig,
    name="tiny",
    caption="Forward through the network from left to right, and back with the error.",
    alt="Boxes x = 1, z = 0, a = one half, o = 1 and y = 0. Arrows lead from left to right through the first four. Two "
    "arrows lead back, from y to o with delta 2 = 1 and from o to z with delta 1 = one half.",
)

# %% [markdown]
# We see that every step is a product or a sum, except the sigmoid. All of these are function blocks of the FLEQ
# machine ([Theorem 2](theorem_2_fleq.ipynb)).
#
# ## The paper states
# <!-- claim looped-transformers/algorithm-5 -->
# <blockquote>
#
# **Algorithm 5 (Back-propagation)** *Appendix D; Appendix O; also Algorithm 14*
#
# **The paper states.** Input: $W_1\in\mathbb R^{m\times d}$, $b_1\in\mathbb R^m$, $W_2\in\mathbb R^{m\times1}$,
# $b_2\in\mathbb R$. Compute $z=W_1x+b_1$, $a=\sigma(z)$, $o=W_2a+b_2$, $\delta_2=o-y$, $\delta_1=\sigma'(z)\odot
# W_2(o-y)$, $\partial J/\partial W_2=\delta_2a^\top$, $\partial J/\partial b_2=\delta_2$, $\partial J/\partial
# W_1=\delta_1x^\top$, $\partial J/\partial b_1=\delta_1$; then update $W_1,W_2,\delta_1,\delta_2$.
#
# <details><summary>Slips (2)</summary>
#
# - $W_2$ must be a row, $1\times m$ and not $m\times1$, as $o=W_2a+b_2$ and $\delta_2a^\top$ show. Then $\delta_1$
#   lacks a transpose: $\sigma'(z)\odot W_2^\top(o-y)$.
# - The update is of $W_1,W_2,b_1,b_2$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/algorithm-15 -->
# <blockquote>
#
# **Algorithm 15 (Back-propagation as a program)** *Appendix O*
#
# **The paper states.** Program to simulate Backpropagation for two layer Neural Networks. 35 lines make one step, with
# a loop over the hidden units (lines 10 to 21) in which instructions 14 and 17 are incremented to point to the next
# element of $z$ and of $\delta_1$.
#
# **What is true.** The repaired listing performs one step of back-propagation, exactly in the interpreter, and in the
# machine up to the error of its products. The flag $m-k$ is computed in each pass of the loop, with $k$ set to 0 in
# each call, and line 13 jumps to 22.
#
# **What changed.** The paper computes the loop's flag $k-m$ once, before the loop, so the body never runs and the loop
# never ends. Line 13 jumps to 20, within the loop, and $k$ is set once, not in each call.
#
# <details><summary>Slips (5)</summary>
#
# - $W_2$ is declared as $m\times1$. With the row that $o=W_2a$ needs, lines 5, 6 and 9 are right. With a column they
#   become $f_{\mathrm{mul}}(W_2,a)$ and $f_{\mathrm{mul}}(W_2^\top,\delta_2)$, as here.
# - Lines 22 and 23 reset other instructions than 14 and 17.
# - Line 24 should be $f_{\mathrm{mul}}(a^\top,\delta_2)$, not $\delta_2^\top a$. Lines 26 and 27 should be
#   $f_{\mathrm{mul}}(\delta_1^\top,x^\top)$ and $f_{\mathrm{mul}}(\delta_1^\top,1)$. The paper has columns in place of
#   rows, and the $\delta_1$ from before the loop.
# - Lines 28 to 35 compute $G^\top\eta$. They need $f_{\mathrm{mul}}(\eta I,G)$.
# - $f_{\mathrm{sigmoids}}$ has its argument first in line 4 and second in line 14.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/algorithm-16 -->
# <blockquote>
#
# **Algorithm 16 (SGD with back-propagation)** *Appendix O*
#
# **The paper states.** Program to simulate SGD. $\mathrm{mem}[j]=-n_d$, $\mathrm{mem}[k]=-T$. Line 1: Backpropagation.
# 2: $j=f_{\mathrm{add}}(j,q)$. 3, 4: show to next data point, label. 5: if $j\le0$ goto 1. 6: $j=-n_d$. 7, 8: reset
# pointers. 9: $\mathrm{instr}_3=f_\text{reset\_pointer}(\mathrm{instr}_3,x_0)$. 10: increment epoch counter $k$.
#
# **What is true.** Two counters and two pointers lead Algorithm 15 through $n_d$ points, $T$ times, which makes $Tn_d$
# updates. The counters start at $-n_d+1$ and $-T+1$, and there is no line 9.
#
# **What changed.** From $-n_d$ and $-T$, the counters make $(n_d+1)(T+1)$ updates. Line 9 resets instruction 3, which
# holds no pointer to the data.
#
# <details><summary>Slips (1)</summary>
#
# - Cell $k$ counts hidden units and epochs, and cell $z$ holds the choice of the loss, the constant $n$ and the hidden
#   vector. Each needs a separate cell.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/lemma-9 -->
# <blockquote>
#
# **Lemma 9 (SGD for a two-layer network)** *Appendix D; also Lemma 24*
#
# **The paper states.** There exists a transformer with 13 layers, 1 head and dimensionality $O(\log|\mathcal D|+d)$
# that implements $T$ iterations of SGD on a two-layer sigmoid-activated neural network, over $n_d$ data points. Each
# step is not exact; the error can be driven arbitrarily close to 0 by increasing the temperature and another free
# parameter which does not affect the size of the network.
#
# <details><summary>Slips (2)</summary>
#
# - The proof is the program of Algorithms 15 and 16, which need a repair. The page has a corrected program.
# - The number of points is $n_d$ in one place and $|\mathcal D|$ in another.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Twelve layers are enough. The other parameter is the constant $c$ of the product. The paper
# leaves the number $m$ of hidden units free. $W_1$ takes cells of height $\max(m,d)$, so the stated number of rows
# requires $m=O(d)$. We run $m<d$, $m=d$ and $m>d$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The machine executes one instruction per pass. A program that computes the gradient therefore trains the network, up
# to the error of the products. The paper's listing does not run, because its loop over the hidden units never executes
# its body and never ends. We repair it line by line. A second program does without that loop: it keeps the hidden
# vectors as rows, so that one instruction computes all their sigmoids.
#
# <details><summary>Proof of Algorithm 15, as corrected</summary>
#
# The memory holds $W_1$; $b_1$ and $w_2$ in the first column of a matrix that is zero elsewhere; $b_2$ in a first
# entry; and $\eta I$. The pointers stand at $x=x_i$ and $y=y_i$ and at the first cells of `zt` and `dt`. A number is a
# matrix with only its first entry. Where $d$ columns are read from the cell of $x$, those behind it come along: the
# product with it and the transpose have strange columns or rows behind the first, which are marked by dots.
#
# *Forward.* Lines 1 to 3: $\mathit{temp}=W_1^\top$ and $z=W_1[x\cdots]+b_1$, whose first column is that of the network.
# The sigmoids take only the first column: $a=\phi(z)$. Lines 5 to 8: $\mathit{temp}=w_2^\top$, $o=w_2^\top a+b_2$, and
# $\delta_2=o-y$. Line 9 makes $(w_2^\top)^\top\delta_2=w_2\delta_2$, a column.
#
# *The loop.* $k$ is set to 0. The transposes put $z_1,\dots,z_d$ into the first entries of the cells of `zt`, and the
# entries of $w_2\delta_2$ into those of `dt`, alone. At the head of the loop, line 13, in pass $k$, the pointers of
# lines 14 and 17 stand at cell $k$ (counted from 0); the cells of `dt` before it hold $\phi'(z)_iw_{2,i}\delta_2$, the
# others still $w_{2,i}\delta_2$. If $k\lt d$, the flag $m-k=d-k$ is positive. Line 14 reads one cell and writes one:
# the sigmoid of its first entry, as the other columns of the row are not written. Lines 15 and 16 make
# $s(1-s)=\phi'(z)_k$ of it, line 17 multiplies the cell of `dt`; both pointers move on, $k$ becomes $k+1$, and line 21
# leads to line 13. That is the invariant for $k+1$. For $k=d$ the flag is 0 and the jump leads out: there were $d$
# passes, and the first row of `dt` is $\delta_1^\top$ with $\delta_1=\phi'(z)\odot w_2\delta_2$. Lines 22 and 23 set
# both pointers back.
#
# *Gradients and updates.* $(a^\top)^\top\delta_2=a\delta_2$; $\delta_2\cdot1$; with `xt`, whose first row is $x^\top$,
# $\mathit{dt}^\top\mathit{xt}=\delta_1x^\top$, since only the first column of $\mathit{dt}^\top$ is not zero; and
# $\mathit{dt}^\top$ times 1 is the column $\delta_1$. These are the gradients of Algorithm 5, and $(\eta I)^\top G=\eta
# G$ is taken from each parameter. They have the zeros that the parameters have, so the next call begins as this one
# did.
#
# *As printed.* Lines 5 and 6 make $(w_2^\top)^\top a$, a product of two columns, which has $w_{2,1}a_1$ for its first
# entry. Line 9 makes $w_2^\top\delta_2$ of a number in the first entry: no error gets back to any hidden unit but the
# first. The flag $k-m=1-m\le0$ is never computed anew: line 13 always jumps to 20, and line 21 back, for ever; that it
# jumps into the loop, and that $k$ is not set back, would each be wrong by itself. Without the resets of lines 14 and
# 17 the next call goes on behind the hidden units, and with the first instruction at `zt` it does not read $W_1$. Line
# 24 makes $\delta_2a_1$, one number. Lines 26 and 27 make $\delta_1^\top x$ and the first entry of $\delta_1$, with
# $\delta_1$ from before the loop. Lines 28 to 35 make $G^\top\eta$: the wrong side, and with the number $\eta$ only its
# first column. The sigmoids have one operand, and cannot have it first in line 4 and second in line 14. $\square$
#
# </details>
#
# <details><summary>Proof of Algorithm 16, as corrected</summary>
#
# Write $n=n_d$. At line 1, before call $i$ of epoch $e$ (both counted from 1), the counters are $-n+i$ and $-T+e$, the
# pointers stand at $x_i$ and $y_i$, and the network is that after $(e-1)n+i-1$ updates. It holds at the start. The call
# makes one update (Algorithm 15), the pointers move on by a cell, the inner counter becomes $-n+i+1$. For $i\lt n$ this
# is at most 0: the next call is call $i+1$. For $i=n$ it is 1, the counter gets $-n+1$ again, the pointers are set
# back, and the outer counter becomes $-T+e+1$, which is at most 0 for $e\lt T$ only. So there are $Tn$ updates, in
# order, and then the program halts.
#
# *As printed.* Counters from $-n$ and $-T$ are above 0 only after $n+1$ calls and $T+1$ epochs: $(n+1)(T+1)$ updates,
# one of each epoch with what lies behind the data. Line 9 puts the address of the first point into instruction 3, which
# in Algorithm 13 reads a point, but adds $b_1$ to $z$ in this program. Algorithm 15 counts hidden units in $k$, which
# would destroy the count of the epochs there, and writes the hidden vector into $z$, over the constants: each needs a
# cell of its own. $\square$
#
# </details>
#
# <details><summary>Proof of Lemma 9, with a corrected program</summary>
#
# *Program.* The repaired Algorithms 15 and 16 will do. So will the program of rows. It holds $W_1^\top$, the rows $b_1$
# and $w_2$, the column $x$, and zeros beside them; numbers are first entries. Its lines make, in order, $x^\top
# W_1^\top+b_1=z$, $a=\phi(z)$ with zeros below, both rows; $o=w_2a^\top+b_2$ from the two transposes; $\eta\delta_2$
# with $\delta_2=o-y$; the row $\eta\delta_2w_2$; and $1-a$. For each hidden unit the cell of that row, which holds one
# number, is multiplied by $a_i(1-a_i)=\phi'(z)_i$: the row is now $\eta\delta_1$. Then $W_1^\top$ is lessened by
# $(x^\top)^\top\eta\delta_1=x\,\eta\delta_1$, the transpose of $\eta$ times the gradient; $b_1$ by $\eta\delta_1$,
# $w_2$ by $\eta\delta_2a$ and $b_2$ by $\eta\delta_2$. All that the gradients need was computed before the first
# parameter changed. This is one update of Algorithm 5. There is a copy for each point, and the counter of epochs runs
# from $-T+1$ and leads back while it is at most 0: $T$ epochs.
#
# *Machine.* The machine of Theorem 2 executes one instruction per pass, and moves of pointers are among them. It has 9
# layers and those of its deepest block, with 3; its blocks share one head. Memory and program have $O(|\mathcal D|+d)$
# columns with pointers, and $O(d\,|\mathcal D|)$ with copies, so that the $O(Md+\log n)$ rows with a fixed number $M$
# of blocks are $O(\log|\mathcal D|+d)$. None of these numbers depends on the temperature or on $c$.
#
# *Error.* An instruction makes of memory a continuous function of it, since sums, transposes, products and sigmoids are
# continuous. The machine, with its gates above the data, makes it with an error that, on any bounded set of memories,
# vanishes as the temperature and the constant $C$ of the product block grow and $c$ falls so that $e^{-C}/c$ goes to 0
# (Theorem 2, Lemma 14). The flags are whole numbers that are never in a product, so that from some temperature on all
# jumps and all pointers are the program's; and the number $K$ of cycles is fixed by $T$, $n_d$ and $d$. Suppose that
# the memory after $k$ cycles tends to the program's. Then the next function, being continuous, tends to its value
# there, and the error of the cycle vanishes: the memory after $k+1$ cycles tends to the program's. At $k=0$ the two are
# equal. So after $K$ cycles the error is as small as one likes, with the same layers, heads and rows. $\square$
#
# </details>
#
# ## See it run
# The listing shows Algorithm 16 with Algorithm 15 inside: the paper's version on the left, ours on the right, with an
# equals sign where they agree. Recall that `mul(a, b)` is $A^\top B$. Most of the errors omit this transpose or apply
# it twice.

# %% tags=["parameters"]
d = 4  # inputs, and hidden units, of the network, from 3 to 8
points = 2  # data points of the longer run in the machine, at least 2
epochs = 3  # epochs of that run, at least 1
rate = 0.2  # step size, from 0.001 to 0.5
seed = 1  # of network and data, at least 0

# %%
require(d=(d, 3, 8), points=(points, 2, None), epochs=(epochs, 1, None), rate=(rate, 0.001, 0.5), seed=(seed, 0, None))
network, source = SigmoidNetwork.random(d, d, seed), generator(seed + 1)
x = torch.randn(max(8, points), d, generator=source, dtype=torch.float64)
y = torch.randn(max(8, points), generator=source, dtype=torch.float64)


# %%
def finite_differences(step=1e-6):
    """The gradient by central differences, parameter by parameter."""
    slopes = []
    for name, value in vars(network).items():
        slope = torch.zeros_like(value)
        for place in range(value.numel()):
            losses = []
            for sign in (1, -1):
                moved = value.clone()
                moved.view(-1)[place] += sign * step
                losses.append(SigmoidNetwork(**(vars(network) | {name: moved})).loss(x[0], y[0].item()))
            slope.view(-1)[place] = (losses[0] - losses[1]) / (2 * step)
        slopes.append(slope)
    return SigmoidNetwork(*slopes)


# %%
slope = network.gradient(x[0], y[0].item())
stepped = network.step(x[0], y[0].item(), rate)
printed_update = SigmoidNetwork(stepped.w1, network.b1, stepped.w2, network.b2)
column = network.w2[:, None]
conforms = column.shape[1] == column.shape[0]
ratio = stepped.loss(x[0], y[0].item()) / network.loss(x[0], y[0].item())

# %%
print(side_by_side(listing_beside()))

# %% [markdown]
# The interpreter runs the repaired listing, and then versions each with one of the paper's errors put back.

# %%
two, labels = x[:2], y[:2]
wanted = network.train(two, labels, rate, 2)[-1]


def trial(form="correct"):
    program = listing_program(network, two, labels, rate, 2, form)
    run = interpret(program, 1_500)
    counts = {label: run.executed.count(program.labels[label]) for label in ("line35", "body")}
    return run.halted, counts, read_network(program, run.memory).distance(wanted)


repaired = trial()
results = {place: trial({place: "printed"}) for place in PLACES}
show.table(
    ["the paper's version of", "ends", "updates", "loop bodies", "distance to plain training"],
    [
        (name, one[0], one[1]["line35"], one[1]["body"], one[2])
        for name, one in {"nothing": repaired, **results}.items()
    ],
)

# %% [markdown]
# Each of these errors alone spoils the result. The machine runs the repaired listing for two points and two epochs.

# %%
moving = listing_program(network, two, labels, rate, 2)
exact, computer = interpret(moving), FleqMachine(moving)
moved = computer.run(moving, len(exact.counters))
beside, learned = compare(moved, exact), read_network(moving, moved.memory)
line_35 = moved.executed.index(moving.labels["line35"])
first_step = read_network(moving, moved.memories[line_35]).distance(network.step(two[0], labels[0].item(), rate))
machine_updates = moved.executed.count(moving.labels["line35"])
unreset = {}
for name, label in (("hidden units", "line17"), ("data", "line2")):
    program = listing_program(network, two, labels, rate, 2, left_out=(label,))
    unreset[name] = read_network(program, interpret(program).memory).distance(wanted)
print(f"{beside.cycles} cycles, largest deviation in memory {beside.deviation:.1e}")

# %% [markdown]
# Next is the program with rows, for one point.

# %%
print(machine_listing(d, 1))


# %%
def in_machine(count, passes, slope=1e-7, **options):
    program = machine_program(network, x[:count], y[:count], rate, passes)
    machine, reference = FleqMachine(program, standard_blocks(program, slope), **options), interpret(program)
    run = machine.run(program, 2 * len(reference.counters))
    return program, machine, run, compare(run, reference)


def distance_after(result, count, passes):
    """Of the network in the machine's memory to plain training."""
    plain = network.train(x[:count], y[:count], rate, passes)[-1]
    return read_network(result[0], result[2].memory).distance(plain)


single, several, updates = in_machine(1, 5), in_machine(points, epochs), points * epochs
first_end = len(interpret(machine_program(network, x[:1], y[:1], rate, 1)).counters)
after_one = read_network(single[0], single[2].memories[first_end - 1])

# %%
program, _, run, result = several
losses = [read_network(program, memory).mean_loss(x[:points], y[:points]) for memory in run.memories]
plain = [one.mean_loss(x[:points], y[:points]) for one in network.train(x[:points], y[:points], rate, epochs)]
fig, axis = show.axes()
axis.plot(range(1, len(losses) + 1), losses, label="transformer, cycle by cycle")
spots = [k * len(losses) / (len(plain) - 1) for k in range(len(plain))]
axis.plot(spots, plain, "o", label="plain training, update by update")
axis.set(xlabel="cycle", ylabel="mean loss")
axis.legend()
show.figure(
    fig,
    name="training",
    caption="Mean loss over the points while the transformer runs its program. Markers show plain training.",
    alt="A staircase curve over the cycles with round markers of plain training on its steps; both fall over the "
    "epochs.",
)

# %% [markdown]
# We see the loss of the network in memory fall in steps. Each step ends at the loss of plain training.
#
# We also train networks with fewer and more hidden units than inputs, vary the constant $c$ of the products, and
# count the rows of the machine for more data.


# %%
def with_shape(hidden, inputs):
    """One step of a network of another shape in the machine: whether the counter is right, and the distance."""
    other, point = SigmoidNetwork.random(hidden, inputs, seed), x[:1, :inputs]
    program = machine_program(other, point, y[:1], rate, 1)
    run, reference = FleqMachine(program).run(program, 60), interpret(program)
    learned = read_network(program, run.memory, hidden, inputs)
    return compare(run, reference).counters_agree, learned.distance(other.step(point[0], y[0].item(), rate))


shapes = {f"m = {m}, d = {inputs}": with_shape(m, inputs) for m, inputs in ((d - 1, d), (d, d - 1))}
counters = {"one point": single[3].counters_agree, "several points": result.counters_agree}
counters |= {name: right for name, (right, _) in shapes.items()}
apart = {name: distance for name, (_, distance) in shapes.items()}

# %%
dials = {slope: in_machine(1, 1, slope) for slope in (1e-2, 1e-4, 1e-6)}
off = {slope: distance_after(one, 1, 1) for slope, one in dials.items()}
cold = in_machine(1, 1, inverse_temperature=5.0)
cold_distance = torch.tensor(distance_after(cold, 1, 1)).nan_to_num(torch.inf)
blocks, sizes = standard_blocks(single[0]), summarise(single[1].transformer)
layouts = [FleqLayout(d, 84 + 8 * 2**k, 3 + 26 * 2**k, blocks, 40.0) for k in range(10)]  # 2^k points
per_bit = {(b.rows.size - a.rows.size) / (b.bits - a.bits) for a, b in pairwise(layouts) if b.bits > a.bits}
wide = {size: FleqLayout(size, 100 * size, 60 * size, blocks, 40.0).rows.size for size in (4, 8, 16, 32)}
show.table(["c", "distance to plain training after a step"], list(off.items()))

# %% [markdown]
# ## How we checked
# The gradient must agree with finite differences. In the machine, the counter must be right in every cycle, and the
# weights must agree with those of plain training up to the error of the products. The controls are a large $c$, a low
# temperature, and pointers that are not reset.

# %%
claim = Claim("looped-transformers/algorithm-5")
claim.at_most("gradient against central differences, difference", slope.distance(finite_differences()), 1e-6)
claim.below("loss after the step over loss before", ratio, 1.0)
claim.misprint.true("W2 a, both columns: shapes fit", conforms)
claim.misprint.at_most("biases left as they are: distance to the step", printed_update.distance(stepped), 1e-12)
claim.verdict()

# %%
claim = Claim("looped-transformers/algorithm-15")
claim.true("machine: counter and every pointer right", beside.counters_agree and beside.pointers_agree)
claim.at_most("machine: distance to plain training after a step", first_step, 1e-6)
claim.control.at_most("pointers to the hidden units not set back: distance", unreset["hidden units"], 1e-6)
claim.at_most("repaired listing: distance to plain training", repaired[2], 1e-12)
claim.equal("repaired listing: loop bodies", repaired[1]["body"], 2 * 2 * d)
for place in PLACES[:7]:
    if place == "lines 10-21":
        claim.printed.true("lines 10-21: ends within 1500 instructions", results[place][0])
        claim.printed.above("lines 10-21: loop bodies executed", results[place][1]["body"], 0)
    else:
        shape = ", W2 of m x 1" if place in ("lines 5-6", "line 9") else ""
        claim.printed.at_most(f"{place}{shape}: distance to plain training", results[place][2], 1e-12)
claim.verdict()

# %%
claim = Claim("looped-transformers/algorithm-16")
claim.equal("updates, 2 points and 2 epochs", repaired[1]["line35"], 4)
claim.at_most("distance to plain training", repaired[2], 1e-12)
claim.equal("machine: updates", machine_updates, 4)
claim.at_most("machine: distance to plain training over the updates", learned.distance(wanted) / 4, 1e-6)
claim.control.at_most("pointers to the points not set back: distance", unreset["data"], 1e-6)
claim.equal("updates with the printed counters", results["counters"][1]["line35"], 9)
claim.printed.equal("printed counters: updates", results["counters"][1]["line35"], 4)
claim.printed.at_most("printed line 9 resets an operand: distance", results["line 9 of 16"][2], 1e-12)
claim.verdict()

# %%
claim = Claim("looped-transformers/lemma-9")
claim.true("counter right in every cycle", counters)
claim.at_most("after one step: distance", after_one.distance(network.train(x[:1], y[:1], rate, 1)[-1]), 1e-6)
claim.at_most("after five steps: distance to plain training", distance_after(single, 1, 5), 1e-6)
claim.at_most("several points: distance over the updates", distance_after(several, points, epochs) / updates, 1e-6)
claim.at_most("other shapes, after one step: distance", apart, 1e-6)
claim.close("several points: loss at the end less that of plain training", losses[-1], plain[-1], atol=1e-5)
claim.at_most("layers (13 claimed)", sizes.layers, 13)
claim.equal("heads of the widest layer (1 claimed)", sizes.heads, 1)
claim.at_most("c falls from 1e-4 to 1e-6: distance falls to", off[1e-6] / off[1e-4], 0.1)
claim.equal("different numbers of rows for a bit more, to 512 points", len(per_bit), 1)
claim.at_most("rows, growth when d doubles", max(wide[2 * k] / wide[k] for k in (4, 8, 16)), 2)
claim.control.at_most("c = 1e-2: distance after a step", off[1e-2], 1e-6)
claim.control.at_most("temperature factor 5: distance after a step", cold_distance, 1e-6)
claim.at_most("the repaired listing: distance to plain training", repaired[2], 1e-12, of="proof")
claim.at_most("the repaired listing in the machine: distance", learned.distance(wanted), 4e-6, of="proof")
claim.printed.above("the listing as printed: loop bodies executed", results["lines 10-21"][1]["body"], 0, of="proof")
claim.number("loss at the end over loss at the start", losses[-1] / plain[0])
claim.number("rows", sizes.width)
claim.verdict()

# %% [markdown]
# ## Also on this page
# ### The length of the program
# <!-- claim looped-transformers/remark-4 -->
# <blockquote>
#
# **Remark 4 (Length of the program)** *Appendix O, Remark 4*
#
# **The paper states.** We call the algorithm for backpropagation at each iteration with a different data point. This
# translates to different instructions which will be in total $O(|\mathcal D|)$. As in Alg. 13 the utilization of a
# pointer that changes the instructions themselves, would result in a program of constant length.
#
# </blockquote>
# <!-- /claim -->

# %%
counts = list(range(1, 9))
unrolled = [len(machine_program(network, x[:count], y[:count], rate).code) for count in counts]
pointers = [len(listing_program(network, x[:count], y[:count], rate).code) for count in counts]
show.table(
    ["points", "with copies", "with pointers"],
    list(zip(counts, unrolled, pointers, strict=True)),
    caption="Instructions.",
)
fewer = machine_program(network, x[:1], y[:1], rate)
left_out = read_network(fewer, interpret(fewer).memory).distance(network.train(x[:2], y[:2], rate, 1)[-1])
claim = Claim("looped-transformers/remark-4")
growth = {longer - shorter for shorter, longer in pairwise(unrolled)}
claim.equal("different growths per point, with copies", len(growth), 1)
claim.equal("different lengths, with pointers", len(set(pointers)), 1)
claim.equal("instructions a point", growth.pop(), 18 + 2 * d)
claim.control.at_most("a program for one point fewer: distance", left_out, 1e-6)
claim.verdict()

# %% [markdown]
# ### Other activations
# <!-- claim looped-transformers/remark-5 -->
# <blockquote>
#
# **Remark 5 (Other activations)** *Appendix O, Remark 5*
#
# **The paper states.** If we want to account for different activation functions or losses, we can use Lemma 11 to
# express the gradients as sums of sigmoids. The number of heads (or dimension) would need to be in that case
# $\mathrm{poly}(Tn_d)$ to ensure control over the error induced by the approximation.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The paper gives no constants for the polynomial, and we do not train with it. A single
# activation stands in for it: its error falls as the number of heads grows.
#
# </blockquote>
# <!-- /claim -->
#
# We run one other activation, $\max(0,x)$, as a sum of sigmoids.


# %%
def rectifier_error(heads):
    """The largest error on [-2, 2] of a staircase of equal sigmoids, run as a block."""
    step = 2.0 / heads
    knots = (torch.arange(heads, dtype=torch.float64) + 0.5) * step
    block = SigmoidSumBlock("rectifier", sharp_steps(knots, torch.full_like(knots, step), 6.0))
    operand = torch.zeros(80, 4, 4, dtype=torch.float64)
    operand[:, 0, 0] = torch.linspace(-2, 2, 80, dtype=torch.float64)
    values = run_block(block, operand, operand).result[:, 0, 0]
    return (values - operand[:, 0, 0].clamp(min=0)).abs().max().item()


heads = [10, 30, 100]
errors = [rectifier_error(count) for count in heads]
show.table(["heads", "largest error"], list(zip(heads, errors, strict=True)), caption="The rectifier on [-2, 2].")
claim = Claim("looped-transformers/remark-5")
claim.at_most("100 heads: largest error", errors[-1], 0.02)
claim.true("error falls with the heads", errors[0] > errors[1] > errors[2])
claim.control.at_most("10 heads: largest error", errors[0], 0.02)
claim.stand_in("one activation by itself for training with polynomially many heads")
claim.verdict()

# %% [markdown]
# The error falls as the number of heads grows.
#
# ## What to remember
# - A transformer with one head in each of 12 layers trains a two-layer network.
# - Its weights agree with those of plain training up to the error of the products.
# - With pointers, the program has the same length for a thousand points as for one.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, take one step of size 0.2. What are the new $w_2$ and the new weight of $x$?
#    <details><summary>Solution</summary>
#
#    Both gradients are $\frac12$, so $w_2=2-0.1=1.9$, and the weight of $x$ is $-0.1$.
#
#    </details>
# 2. *Predict, then run.* By how many instructions does the program with copies grow per point, for `d = 4` and for `d =
#    5`?
#    <details><summary>Solution</summary>
#
#    By $18+2d$: 26 and 28. Each hidden unit has two instructions.
#
#    </details>
#
# Next: [One frozen transformer](abstract_one_frozen_computer.ipynb). The same weights can run this program and all
# others.
