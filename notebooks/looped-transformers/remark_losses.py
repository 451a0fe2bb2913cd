# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Remark 5, Appendix O · Other losses, by sigmoids and by an inner loop
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Appendix O, Remark 5, after Lemma 23.*
#
# With the square loss, one bad label can pull a whole fit away. The paper says that its machine can minimise other
# losses, as long as it can compute their derivatives. We try two ways: sums of sigmoids, which need more heads for
# more accuracy, and an inner loop, which needs more time.

# %%
from dataclasses import replace

import torch

from attention_theory.looped_transformers.certified.approximation import certify_huber
from attention_theory.looped_transformers.fleq.language import interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.looped_transformers.programs.losses import (
    Loss,
    loss_listing,
    loss_program,
    smooth_huber_by_rounds,
    smooth_huber_sigmoids,
)
from attention_theory.looped_transformers.programs.regression import descent
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
d = 3  # width of a point, from 3 to 8
points = 4  # points, from 2 to 8
epochs = 3  # passes over the points, from 2 to 8
terms = 40  # m, sigmoids of Huber's derivative, from 20 to 200
rounds = 14  # of the inner loop, from 12 to 40
seed = 0  # of the data, at least 0

# %%
require(d=(d, 3, 8), points=(points, 2, 8), epochs=(epochs, 2, 8), terms=(terms, 20, 200), rounds=(rounds, 12, 40))
require(seed=(seed, 0, None))
rate = 0.2
source = generator(seed)
x = torch.randn(points, d, generator=source, dtype=torch.float64)
x = x * (2 / x.norm(dim=1, keepdim=True))  # length 2: the rate times |x|^2 is below 1
truth = torch.randn(d, generator=source, dtype=torch.float64)
y = x @ truth + 0.1 * torch.randn(points, generator=source, dtype=torch.float64)
y[0] += 5.0  # an outlier
w = torch.zeros(d, dtype=torch.float64)

# %% [markdown]
# ## The paper states
# <!-- claim looped-transformers/remark-losses -->
# <blockquote>
#
# **Appendix O (Other losses)** *Appendix O*
#
# **The paper states.** We can also implement arbitrary loss functions $f$ with updates of the form
# $w_{t+1}=w_t-\eta\sum_{i=1}^{|\mathcal D|}f'(w^\top x_i-y_i)x_i$, as long as $f'$ can be well approximated using a
# Transformer-based Function Block (see Theorem 3 and Lemma 11).
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Let $f$ be convex with $f''\le L$ and $\eta L\|x_i\|^2\le2$, and let a function block give $f'$
# up to $\epsilon$. Then the machine's $w\leftarrow w-\eta f'(w\cdot x_i-y_i)x_i$ ends, after an update for each of
# $x_1,\dots,x_T$, within $\eta\epsilon\sum_i\|x_i\|$ of the exact descent, plus the errors of the products. The
# logistic loss takes two sigmoids and has $\epsilon=0$; Huber's loss with corner $\delta$ takes $m+1$ and has
# $\epsilon=O(\delta/m)$. The update with the sum over all points runs as well.
#
# If $|f''|\le L$ is all that is known, the term for $x_i$ has the factor $\prod_{j>i}(1+\eta L\|x_j\|^2)$; the two
# losses that we run are convex.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim looped-transformers/remark-5-inner-loop -->
# <blockquote>
#
# **Remark 5 (A derivative by an inner loop)** *Appendix O, Remark 5*
#
# **The paper states.** If we want to account for different activation functions or losses, another way to achieve low
# error would be to run a Newton's algorithm style algorithm in an inner loop to compute the derivatives (similar to
# Alg. 12), which will lead to arbitrarily low error without causing the transformer size to increase (at the cost of
# some extra iterations).
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The remark specifies no functions. One loss stands in for them, $f(r)=\sqrt{1+r^2}-1$, with
# $1/\sqrt{1+r^2}$ by Algorithm 11. With more rounds of the loop, its error falls to that of the products, while layers,
# heads and rows do not grow. A sum of $m$ equal steps for the same derivative takes $m$ heads and has an error near
# $1/m$. Slopes in a geometric sequence, as for Corollary 9, need far fewer.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# *Logistic loss.* For $f(r)=\log(1+e^{-r})$ the derivative is $\phi(r)-1$, a sigmoid and a constant. A constant is a
# sigmoid of slope 0, so two heads compute it exactly.
#
# *Huber's loss.* It is $r^2/2$ up to $|r|=1$ and linear beyond. Its derivative is $r$, cut off at $\pm1$, which we
# approximate by $m$ small steps, each a sigmoid, and a constant.
#
# *A smooth loss.* For $f(r)=\sqrt{1+r^2}-1$ the derivative $r/\sqrt{1+r^2}$ needs an inverse root. Algorithm 11 finds
# one by products alone, if its argument is below 3. The program therefore divides $1+r^2$ by a constant $K^2$ first,
# and by $K$ at the end.
#
# <details><summary>Proof of Appendix O: arbitrary losses, the bound</summary>
#
# *One step.* Let $w$ and $w'$ be two weights and $r$, $r'$ their residuals at a point $x$. As $f$ is convex with
# $f''\le L$, $f'(r)-f'(r')=k(r-r')$ with some $0\le k\le L$. So a step turns the difference $w-w'$ into $(I-\eta
# k\,xx^\top)(w-w')$. The matrix has the eigenvalues 1 and $1-\eta k\|x\|^2$, which lie between $-1$ and 1 where $\eta
# L\|x\|^2\le2$: an error that goes in does not come out larger. To it the step adds $\eta\|x\|$ times the error of
# $f'$, and what the products lose. Over all steps this is $\eta\epsilon\sum_i\|x_i\|$, and the floor.
#
# *Losses that are not convex.* If $|f''|\le L$ is all that is known, then $|k|\le L$, and the second eigenvalue is at
# most $1+\eta L\|x\|^2$ in size. An error that enters in step $i$ is multiplied by $\prod_{j>i}(1+\eta L\|x_j\|^2)$ at
# most, and so is the $i$-th term of the sum.
#
# *The products.* There are three: $w\cdot x$, whose error $f'$ passes on at most $L$ times; $\eta f'$; and that number
# times $x$. An entry $z$ of a product is off by at most $cz^2/2+\rho/c$ (Lemma 14), with $\rho=10^{-14}$ for rounding,
# above the $4\cdot10^{-15}$ that it is found to add.
#
# *Huber's derivative.* It is $\int_{-\delta}^{\delta}1_{r\ge t}\,dt-\delta$. With sigmoids of slope $s$ for the steps
# the integral changes by at most $\frac1s\log2$, at the corners. Its integrand is monotone in $t$, with values in
# $[0,1]$. So $m$ equal steps of height $h=2\delta/m$, at the middle of their intervals, miss it by at most $h/2$. With
# $s=2/h$ that is $\epsilon=h(\frac12+\frac12\log2)<1.7\,\delta/m$, for every $r$. $\square$
#
# </details>
#
# ## See it run
# The listing is for one point; `slope` is the block of sigmoids.

# %%
logistic, huber = Loss.logistic(), Loss.huber(1.0, terms)
sides = torch.where(y > 0, 1.0, -1.0).double()
settings = {
    ("logistic", False): (logistic, x * sides[:, None], torch.zeros_like(y)),
    ("logistic", True): (logistic, x * sides[:, None], torch.zeros_like(y)),
    ("Huber", False): (huber, x, y),
    ("Huber", True): (huber, x, y),
}
r = torch.linspace(-3, 3, 6001, dtype=torch.float64)
cut = r.clamp(-1.0, 1.0)
off = {
    "logistic": (logistic.sigmoids(r) + 1 / (1 + r.exp())).abs().max(),
    "Huber": (huber.sigmoids(r) - cut).abs().max(),
}
print(loss_listing(1))


# %%
def machine_descent(loss, points_x, labels, together=False):
    """The machine's weights, whether its counters are the interpreter's, and its weights cycle by cycle."""
    program = loss_program(w, points_x, labels, rate / (points if together else 1), epochs, together)
    reference = interpret(program, functions=loss.functions)
    machine = FleqMachine(program, loss.blocks(program))
    run = machine.run(program, len(reference.counters))
    path = torch.stack([program.variable(memory, "w")[:, 0] for memory in run.memories])
    return path, run.counters == reference.counters, summarise(machine.transformer)


runs = {name: machine_descent(loss, points_x, labels, name[1]) for name, (loss, points_x, labels) in settings.items()}
size = runs["Huber", False][2]
names = {name: f"{name[0]}, a step by {'all points' if name[1] else 'a point'}" for name in settings}


# %%
def distances(name):
    """Distance to the exact descent and its bound; the same with the sum of sigmoids in the place of f'."""
    loss, points_x, labels = settings[name]
    found = []
    for wanted in (loss, replace(loss, derivative=loss.sigmoids, error=0.0)):
        single = descent(w, points_x, labels, rate, epochs, wanted.derivative)
        ours = single[-1]
        if name[1]:
            ours = descent(w, points_x, labels, rate / points, epochs, wanted.derivative, together=True)[-1]
        bound = wanted.error_bound(points_x, labels, single, rate)
        found += [(runs[name][0][-1] - ours).norm().item(), bound]
    return found


table = {name: distances(name) for name in settings}
squares = descent(w, x, y, rate, epochs, Loss.square().derivative)
show.table(
    ["loss", "step by", "to exact f'", "bound", "to the sigmoids", "bound for products"],
    [(loss, "all points" if together else "a point", *row) for (loss, together), row in table.items()],
)

# %%
fig, axes = show.axes(1, 2, width=8.0)
for loss in (logistic, huber):
    axes[0].plot(r, loss.sigmoids(r), label=loss.name)
axes[0].plot(r, huber.derivative(r), "k--", linewidth=0.8, label="Huber, exact")
axes[0].set(xlabel="$r$", ylabel="$f'(r)$")
axes[0].legend(fontsize=8)
path = runs["Huber", False][0]
axes[1].plot(range(1, len(path) + 1), (path - truth).norm(dim=1), label="Huber, machine")
every = len(path) / (len(squares) - 1)
axes[1].plot([k * every for k in range(len(squares))], (squares - truth).norm(dim=1), "s-", label="square loss")
axes[1].set(xlabel="cycle", ylabel="distance to the true weights")
axes[1].legend(fontsize=8)
show.figure(
    fig,
    name="losses",
    caption="Left: the derivatives as sums of sigmoids. Right: Huber's loss in the machine and the square loss in "
    "plain arithmetic, on data with one bad label.",
    alt="Left: a curve that rises from minus one to zero, and one that rises from minus one to one with nearly "
    "sharp corners. Right: a staircase that falls, and squares that jump up and down above it.",
)

# %% [markdown]
# On the left we see the two derivatives as sums of sigmoids. On the right, the bad label misleads the square loss,
# while Huber's loss approaches the true weights.
#
# ### The inner loop
# We take two points and two passes, with more and more rounds.

# %%
smooth = Loss.smooth_huber()
path = descent(w, x[:2], y[:2], rate, 2, smooth.derivative)
wanted = path[-1]
largest = 1.0 + 1.1 * (path @ x[:2].mT - y[:2]).abs().max().item()  # no residual is larger on the way
print(loss_listing(1, inner=True))


def by_loop(count):
    """The machine's weights with so many rounds, the interpreter's, whether counters agree, and the size."""
    program = loss_program(w, x[:2], y[:2], rate, 2, inner=count, largest=largest)
    reference = interpret(program)
    machine = FleqMachine(program)
    run = machine.run(program, len(reference.counters))
    weights = [program.variable(one.memory, "w")[:, 0] for one in (run, reference)]
    sizes = summarise(machine.transformer)
    return *weights, run.counters == reference.counters, (sizes.layers, sizes.heads, sizes.width), len(run.counters)


# %%
loops = {count: by_loop(count) for count in (3, rounds)}
loop_off = {count: (one[0] - wanted).norm().item() for count, one in loops.items()}
plain = [
    (descent(w, x[:2], y[:2], rate, 2, smooth_huber_by_rounds(k, largest))[-1] - wanted).norm()
    for k in range(1, rounds + 1)
]
heads = [5, 10, 20, 40, 80, 160]
sums = [smooth_huber_sigmoids(count) for count in heads]
sum_off = [(descent(w, x[:2], y[:2], rate, 2, one)[-1] - wanted).norm().item() for one in sums]
wide = torch.linspace(-largest, largest, 20_001, dtype=torch.float64)
sum_error = [(one(wide) - smooth.derivative(wide)).abs().max().item() for one in sums]

# %%
fig, axes = show.axes(1, 2, width=8.0)
axes[0].semilogy(range(1, rounds + 1), [max(float(one), 1e-17) for one in plain], "-", label="with exact products")
axes[0].semilogy(list(loop_off), list(loop_off.values()), "o", label="in the machine")
axes[0].set(xlabel="rounds of the inner loop", ylabel="error of the weights")
axes[0].legend()
axes[1].loglog(heads, sum_error, "o-", label="error of $f'$")
axes[1].loglog(heads, [1 / count for count in heads], "k--", label="$1/m$")
axes[1].set(xlabel="sigmoids $m$, one head each", ylabel="largest error")
axes[1].legend()
show.figure(
    fig,
    name="inner-loop",
    caption="Left: the error of the weights against the rounds of the inner loop; the machine stops at the error of "
    "its products. Right: the error of a sum of sigmoids for the same derivative against their number.",
    alt="Left: a curve that is flat and then drops steeply to a floor, with a dot near its beginning and one above "
    "its end, below one hundred-thousandth. Right: points that fall along a dashed line of slope minus one.",
)

# %% [markdown]
# Rounds buy accuracy quickly, down to the error of the products. Equal steps buy it slowly: the error is near $1/m$
# with $m$ heads.
#
# ## How we checked
# The weights must stay within the proved distance of exact descent. The square loss, a single sigmoid, and three
# rounds of the loop must fail. Ball arithmetic proves the error of 16 sigmoids for Huber's derivative at every real
# $r$.

# %%
rough = machine_descent(Loss.huber(1.0, 1), x, y)[0][-1]
with_sum = descent(w, x, y, rate, epochs, huber.sigmoids)[-1]
wrong = [(one - with_sum).norm() / table["Huber", False][3] for one in (squares[-1], rough)]
claim = Claim("looped-transformers/remark-losses")
claim.equal("counter right in every cycle, of four runs", sum(run[1] for run in runs.values()), 4)
claim.at_most("distance to the exact descent over its bound", {names[k]: v[0] / v[1] for k, v in table.items()}, 1)
claim.at_most("with the sum for f', over its bound", {names[k]: v[2] / v[3] for k, v in table.items()}, 1)
claim.at_most("logistic loss: largest error of its two sigmoids", off["logistic"], 1e-15)
claim.at_most("Huber's loss: largest error of its sigmoids over the bound", off["Huber"] / huber.error, 1)
claim.at_most("layers (13 claimed)", size.layers, 13)
claim.equal("heads of the widest layer: the sigmoids", size.heads, huber.sigmoids.terms)
claim.control.at_most("the square loss: distance over the bound for products", wrong[0], 1)
claim.control.at_most("one sigmoid for Huber's: the same", wrong[1], 1)
claim.number("Huber's loss, m times the largest error of its sigmoids", off["Huber"] * terms)
claim.certified("Huber's derivative by 16 sigmoids, every real r", certify_huber())
claim.verdict()

# %%
whole = loops[rounds]
claim = Claim("looped-transformers/remark-5-inner-loop")
claim.true("counter right in every cycle", whole[2])
claim.at_most("error of the weights, all rounds", loop_off[rounds], 1e-5)
claim.at_most("the interpreter's error, all rounds", (whole[1] - wanted).norm(), 1e-9)
claim.control.at_most("three rounds: error of the weights", loop_off[3], 1e-5)
claim.equal("sizes of machine: layers, heads, rows", len({one[3] for one in loops.values()}), 1)
claim.equal("heads of the widest layer", whole[3][1], 1)
claim.at_most("layers (13 claimed)", whole[3][0], 13)
claim.at_most(
    "sums of m sigmoids: m times the largest error, largest",
    max(m * e for m, e in zip(heads, sum_error, strict=True)),
    2,
)
claim.number("cycles with all rounds", whole[4])
claim.stand_in("one derivative, by Algorithm 11, for those of other activations and losses")
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# We compare each run with two bounds. The first is for the exact $f'$. The second is for the products alone, with the
# sum of sigmoids in place of $f'$. A step with the sum over all points has $1/n_d$ in its rate, so it is an average
# of single steps and the same bounds hold. Equal steps are the plainest sum of sigmoids; slopes in a geometric
# sequence, as for Corollary 9, need far fewer heads.
#
# </details>
#
# ## What to remember
# - A loss enters the machine through its derivative, as a sum of sigmoids or by an inner loop.
# - If the learning rate is small enough, the errors of $f'$ merely add up over the steps.
# - Rounds of a loop can replace heads: the machine stays the same.
#
# ## Exercises
#
# 1. *By hand.* The derivative of Huber's loss rises from $-1$ to 1. With $m=40$ equal steps, how high is a step, and
#    how far at most is a staircase of hard steps from the derivative?
#    <details><summary>Solution</summary>
#
#    A step is $2/40=0.05$ high. With steps at the middle of their intervals, the distance is at most half of this,
#    0.025.
#
#    </details>
# 2. *Predict, then run.* Set `terms = 160` in place of 40. How do the bound for Huber's loss and the number of heads
#    change?
#    <details><summary>Solution</summary>
#
#    The error of the sum is $O(1/m)$, so this part of the bound is four times lower. The widest layer has 161 heads,
#    one of them for the constant.
#
#    </details>
#
# Next: [Lemma 9](lemma_9_backpropagation.ipynb). A network with a hidden layer needs more than one derivative.
