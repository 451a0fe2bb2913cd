# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 1(a) · With enough heads there are no bad minima
# *Beyond the paper: why gradient descent on a layer of linear attention need not get stuck.*
#
# The paper observes that training works better with more heads, but gives no reason. We prove that with enough heads
# every local minimum is a best fit, on any data. Wherever else all derivatives are 0, the loss curves downwards in some
# direction. From almost every start, gradient descent with small steps does not end there, as long as the weights stay
# bounded {cite}`lee2016gradient`.

# %%
import torch

from attention_theory.linear_attention.learning.levenberg_marquardt import fit_many
from attention_theory.linear_attention.model.features import psi
from attention_theory.linear_attention.model.mhla import Heads, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# If tokens are single numbers, a head is a product $vq$. The labels require $vq=2$, and the loss is $(vq-2)^2$. At
# $v=q=0$ the loss is 4, and flat in all directions. Is this a minimum?
#
# We keep $q=0$ and change $v$. The loss is still 4, since $vq=0$. If $(0,0)$ were a local minimum, all points near it
# with the same loss would also be local minima, and flat. However, at $(v,0)$ the loss changes with $q$: its
# derivative is $2(vq-2)v=-4v$. Therefore $(0,0)$ is not a minimum.

# %%
fig, axis = schematic.canvas(height=2.6)
schematic.arrow(axis, (2.0, 1.6), (12.0, 1.6), colour=schematic.QUIET)
schematic.arrow(axis, (4.0, 0.4), (4.0, 4.6), colour=schematic.QUIET)
schematic.text(axis, (12.3, 1.6), "v")
schematic.text(axis, (4.0, 4.9), "q")
v = torch.linspace(1.3, 6.8, 60)
axis.plot(4.0 + v, 1.6 + 3.6 / v, color=schematic.BLUE, lw=1.8)
schematic.text(axis, (11.2, 2.6), "vq = 2", schematic.BLUE, 9)
axis.plot(4.0, 1.6, "o", color=schematic.VERMILION, markersize=6)
schematic.text(axis, (3.8, 1.2), "flat", schematic.VERMILION, 9, "right")
schematic.arrow(axis, (4.1, 1.6), (6.2, 1.6), "same loss", colour=schematic.VERMILION)
schematic.arrow(axis, (6.3, 1.7), (6.3, 3.0), colour=schematic.BLUE)
schematic.text(axis, (6.5, 2.3), "down", schematic.BLUE, 9, "left")

# %%
show.figure(
    fig,
    name="way-down",
    caption="The way out of a flat point: first along a line of equal loss (orange), then down to a best fit (blue).",
    alt="A plane with axes v and q and one branch of the curve vq = 2. From the origin an orange arrow leads along the "
    "axis v, marked same loss, and from its end a blue arrow leads up to the curve, marked down.",
)

# %% [markdown]
# We can change an unused head at no cost, and it then offers a way down.
#
# ## What we prove
# The loss is the mean squared error on any data, or any other loss that is convex and differentiable in the outputs. A
# minimum is *global* if no layer with any number of heads has a smaller loss.
#
# <!-- claim linear-attention/benign-landscape -->
# <blockquote>
#
# **Beyond Figure 1(a) (When every local minimum is global)**
#
# Let the loss be convex and differentiable in the outputs, such as the mean squared error on any data. If all $Q_h$ are
# kept symmetric, every local minimum over $(V_h,Q_h)$ with $H\ge d(d+1)/2$ is global. If they are free, every local
# minimum with $H\ge d^2-d+1$ is global; at $d=2$ these numbers are both 3. For $d(d+1)/2\le H\le d^2-d$, at a local
# minimum that is not global the $V_h$ are independent, the $Q_h$ are independent, and the vectors $(G_{a;jk\ell})_j$ of
# the gradient $G$ with respect to the head matrix span at most $d-2$ dimensions. For a loss that is also twice
# differentiable, all of this holds with "point where the derivative is 0 and no curvature is negative" in place of
# "local minimum".
#
# <details><summary>Chosen after a run</summary>
#
# The threshold of nine tenths for the searches.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The outputs depend only on the head matrix, or *table*, $\sum_h\mathrm{flat}(V_h)\,\mathrm{flat}(Q_h)^\top$, where
# flat writes a matrix as a vector. If the $Q_h$ are dependent, some change of the $V_h$ does not change this matrix,
# as in the tiny example. If they are independent but many, some change of the $V_h$ still does not change the
# *function*, because two head matrices can give the same function. At a local minimum, all points that we reach in
# this way must be flat, and this forces the gradient with respect to the head matrix to be 0. The loss is convex in
# the head matrix, so the minimum is global.
#
# <details><summary>Proof</summary>
#
# Let $f(W)$ be the loss as a function of the table, convex, and $G=\nabla f(W)$ with entries $G_{a;jk\ell}$. Since $f$
# depends on $W_{a;jk\ell}+W_{a;kj\ell}$ alone, $G$ is symmetric in $j$ and $k$. The derivatives by $Q_h$ and $V_h$ are
# $\sum_{a,j}V_h[a,j]\,G_{a;jk\ell}$ and $\sum_{k,\ell}G_{a;jk\ell}\,Q_h[k,\ell]$. If $G=0$, then the point is a global
# minimum by convexity. Let $(V,Q)$ be a local minimum, or let $f$ be twice differentiable and $(V,Q)$ a point where the
# derivative is 0 and no curvature is negative. (*) Let a change of $V$ preserve the function. Then for every small
# multiple of the change the derivative by $Q$ is 0, and the same holds with $V$ and $Q$ exchanged. For a local minimum
# this is so because points near it with the same loss are local minima as well. In the other case the loss is constant
# along the change, so the change has curvature 0. A quadratic form without negative values is 0 only on its kernel, so
# the second derivative maps the change to 0, and the derivative by $Q$ has the rate of change 0. This derivative is
# linear in $V$ with the same $G$ all along, so it stays 0.
#
# *(1) Dependent $Q_h$ or $V_h$.* Let $\sum_hc_hQ_h=0$ with $c\ne0$. For any matrix $Y$ the change $V_h+c_hY$ does not
# change the table. By (*), for small $Y$, the derivative by $Q_h$ is 0 before and after, so
# $c_h\sum_{a,j}Y[a,j]\,G_{a;jk\ell}=0$ for all $h$, $k$, $\ell$. For an $h$ with $c_h\ne0$ this gives $G=0$. The same
# holds with the parts exchanged.
#
# *(2) Symmetric $Q_h$.* Here $Q_h$ lies in a space of dimension $s=d(d+1)/2$, $f$ is a convex function of the table
# with the columns of this space, and $G$ is its gradient in it. If the $Q_h$ are dependent, (1) applies as it is. If
# they are independent and $H\ge s$, they span the space, and the derivative by $V_h$ gives $G=0$. Every layer is one
# with symmetric $Q_h$ ([How many heads](heads_enough.ipynb)), so this is global.
#
# *(3) All $Q_h$.* Let $H\ge s$ and suppose $G\ne0$. By (1) the $Q_h$ are independent. Consider
#
# $$E=\Big\{(c_1,\dots,c_H)\in(\mathbb R^d)^H:\ \sum_h c_h[j]\,Q_h[k,\ell]+c_h[k]\,Q_h[j,\ell]=0\Big\} .$$
#
# For $c\in E$ and any $u$ the change $V_h+u\,c_h^\top$ does not change the function. By (*) the derivative by $Q_h$
# stays 0, so $\sum_jc_h[j]\,G_{a;jk\ell}=0$ for all $h,a,k,\ell$. Let $M\ne0$ be the span of the vectors
# $(G_{a;jk\ell})_j$. All $c_h$ are orthogonal to $M$. The tensor $\eta_{jk\ell}=\sum_hc_h[j]\,Q_h[k,\ell]$ is
# antisymmetric in $j$ and $k$ with $j$ in $M^\perp$, so it lies in $\Lambda^2(M^\perp)\otimes\mathbb R^d$, and it
# determines $c$ since the $Q_h$ are independent. With $g=\dim M$,
#
# $$\dim E\le \tfrac12(d-g)(d-g-1)\,d .$$
#
# On the other hand $E$ is the kernel of a linear map from $(\mathbb R^d)^H$ to the tensors symmetric in $j,k$, of
# dimension $ds$. For an $a$ with $G_a\ne0$ all values of this map are orthogonal to $G_a$, because the derivative by
# $V_h$ is 0. So $\dim E\ge dH-ds+1$. For $H\ge s$ this is at least 1, which excludes $g\ge d-1$. And $g\ge1$ gives
# $d(H-s)+1\le \frac12d(d-1)(d-2)$, that is, $H-s<\frac12(d-1)(d-2)$, or $H<d^2-d+1$. So for $H\ge d^2-d+1$ there is no
# such $G$. $\square$
#
# </details>
#
# ## See it run
# You can change these parameters.

# %% tags=["parameters"]
starts = 60  # random starts for each number of heads, from 10 to 400
seed = 0  # seed of every draw, at least 0

# %%
require(starts=(starts, 10, 400), seed=(seed, 0, None))
source = generator(seed)

# %% [markdown]
# ### A flat point that is not a minimum
# We build a point with $d=2$ and three heads at which all derivatives are 0 and the loss is 1. All entries $V_h[1,1]$
# and $Q_h[1,1]$ are 0, and the labels differ from the outputs by $\langle z_1,z_1\rangle z_{1n}$ in output 1. We
# measure the loss in the coefficients, as if the features of the data were orthonormal. Then we take the step of the
# proof, a change of $V$ that keeps the function. We also build such a point with $d=3$ and seven heads, and compute the
# smallest curvature at both.


# %%
def flat_point(width, heads, stream):
    """A point where all derivatives are 0, and the coefficients of the labels."""
    flat = random_heads(heads, width, stream)
    flat.values[:, 0, 0] = flat.queries[:, 0, 0] = 0
    wanted = coefficients(flat)
    wanted[0, width * (width * (width - 1) // 2)] += 1  # the feature of {1, 1} and 1
    return flat, wanted


d = 2
flat, wanted = flat_point(d, 3, source)


def loss_of(values, queries, labels=wanted):
    return (coefficients(Heads(values, queries)) - labels).square().sum()


# %%
def slopes(values, queries):
    """The loss, and the norms of its derivatives by V and by Q."""
    leaves = values.clone().requires_grad_(), queries.clone().requires_grad_()
    value = loss_of(*leaves)
    return value.item(), *(one.norm().item() for one in torch.autograd.grad(value, leaves))


# %%
units = torch.eye(3 * d, dtype=torch.float64).view(-1, 3, 1, d)
moved = coefficients(Heads(units, flat.queries.expand(len(units), -1, -1, -1))).flatten(1)
c = torch.linalg.svd(moved.mT).Vh[-1].view(3, 1, d)
u = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
shifted = flat.values + u * c
before, after = slopes(flat.values, flat.queries), slopes(shifted, flat.queries)


# %%
def downward(flat, labels):
    """The derivative and the smallest curvature at a flat point."""
    point = torch.stack([flat.values, flat.queries])
    slope = torch.autograd.functional.jacobian(lambda both: loss_of(*both, labels), point).norm().item()
    second = torch.autograd.functional.hessian(lambda both: loss_of(*both, labels), point)
    return slope, torch.linalg.eigvalsh(second.reshape(point.numel(), -1))[0].item()


falls = {f"d = {w}, {h} heads": downward(*flat_point(w, h, generator(seed + w))) for w, h in ((2, 3), (3, 7))}
print(", ".join(f"{name}: least curvature {fall:.2f}" for name, (_, fall) in falls.items()))
show.table(
    ["", "loss", "derivative by V", "derivative by Q"], [["at the flat point", *before], ["after the step", *after]]
)

# %% [markdown]
# The loss is the same, and the derivative with respect to $Q$ is no longer 0. The flat point was not a minimum, and its
# smallest curvature is negative.
#
# ### Searches from random starts
# We search from random starts with each number of heads and count the searches that end at an error of 0 up to
# rounding. At $d=2$ we take a function that two heads can represent but rarely find, and at $d=3$ a random one.

# %%
hard = torch.tensor([[1, 0, -2, 2, 0, 1], [0, -2, -1, 2, -1, -1]], dtype=torch.float64)
wide = torch.randn(3, psi(3), generator=source, dtype=torch.float64)
tried = [(hard, 2), (hard, 3), (hard, 4), (wide, 4), (wide, 6), (wide, 7)]
ended, fits = {}, {}
for target, heads in tried:
    width = len(target)
    begin = random_heads(heads, width, source, models=(starts if width == 2 else starts // 6,))
    fits[width, heads] = fit_many(torch.eye(psi(width), dtype=torch.float64), target.mT, begin, steps=120)
    ended[width, heads] = (fits[width, heads].losses < 1e-16).double().mean().item()
show.table(
    ["d", "heads", "$d(d+1)/2$", "$d^2-d+1$", "searches that end at 0"],
    [[w, h, w * (w + 1) // 2, w * w - w + 1, fraction] for (w, h), fraction in ended.items()],
)

# %%
fig, axis = show.axes(width=4.6, height=3.0)
for width in (2, 3):
    numbers = [heads for w, heads in ended if w == width]
    axis.plot(numbers, [ended[width, heads] for heads in numbers], "o-", label=f"d = {width}")
axis.set(xlabel="heads", ylabel="fraction that ends at 0", ylim=(0, 1.05), xticks=range(2, 8))
axis.legend(loc="lower right")
show.figure(
    fig,
    name="searches",
    caption="The fraction of searches that end at a global minimum, for one function of each width $d$.",
    alt="Two curves over the number of heads. At width 2 the fraction is 1 with three or more heads.",
)

# %% [markdown]
# At $d=2$ all searches with three or more heads succeed, as the theorem says. With two heads, most get stuck. Are
# they really at local minima? We take the stuck point with the smallest heads and compute its second derivatives.
# Four directions change nothing, since we can mix the two heads by any invertible $2\times2$ matrix without changing
# the head matrix.

# %%
two = fits[2, 2]
lengths = two.heads.values.flatten(1).norm(dim=1) + two.heads.queries.flatten(1).norm(dim=1)
chosen = torch.where(two.losses > 1e-6, lengths, torch.inf).argmin()
point = torch.cat([part[chosen].flatten() for part in (two.heads.values, two.heads.queries)])


def hard_loss(entries):
    values, queries = entries.view(2, 2, 2, 2)
    return (coefficients(Heads(values, queries)) - hard).square().sum()


slope = torch.autograd.functional.jacobian(hard_loss, point).norm().item()
curvatures = torch.linalg.eigvalsh(torch.autograd.functional.hessian(hard_loss, point))
upward = int((curvatures > 1e-3).sum())
print(f"loss {hard_loss(point):.3g}, derivative {slope:.1g}, {upward} curvatures above 0, from {curvatures[4]:.2g}")

# %% [markdown]
# Twelve curvatures are positive and four are 0, so this is a bad minimum. At $d=2$, three heads are therefore not
# only enough, but necessary.
#
# ## How we checked
# At a flat point, all derivatives must be 0 and a curvature negative. The step of the proof must keep the loss, and
# afterwards the derivative with respect to $Q$ must not be 0. With as many heads as the theorem requires, at least 90 %
# of the searches must end at 0. As a control, with two heads at $d=2$ fewer must.

# %%
claim = Claim("linear-attention/benign-landscape")
claim.at_most("flat point: derivatives", max(before[1:]), 1e-12)
claim.at_most("step of the proof: change of the loss", abs(after[0] - before[0]), 1e-12)
claim.at_least("after the step: derivative by Q", after[2], 1e-3)
for name, (slope_there, fall) in falls.items():
    claim.at_most(f"{name}, flat point: derivative", slope_there, 1e-12)
    claim.at_most(f"{name}, flat point: least curvature", fall, -1e-3)
enough = {f"d = {w}, {h} heads": part for (w, h), part in ended.items() if h >= w * w - w + 1}
claim.at_least("searches that end at 0, fraction", enough, 0.9)
claim.control.at_least("two heads at d = 2: fraction that ends at 0", ended[2, 2], 0.9)
stuck = "two heads at d = 2, a stuck point"
claim.at_most(f"{stuck}: derivative", slope, 1e-6)
claim.at_least(f"{stuck}: least curvature", curvatures[0].item(), -1e-6)
claim.control.at_most(f"{stuck}: curvature that leads down", curvatures[0].item(), -1e-3)
claim.equal(f"{stuck}: curvatures above 0", upward, 12)
claim.at_least(f"{stuck}: loss", hard_loss(point).item(), 1e-3)
claim.number("d = 3, six heads: fraction that ends at 0", ended[3, 6])
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# A search that stops early, or in which the heads grow without bound, ends above 0 without a local minimum. We
# therefore allow a tenth of the searches to fail.
#
# </details>
#
# ## Where we stop
# Between $d(d+1)/2$ and $d^2-d$ heads, with all $Q_h$ free, we do not know whether a bad minimum exists. The smallest
# case is $d=3$ with six heads. Our searches found no bad minimum. The theorem says nothing about how long training
# takes.
#
# ## What to remember
# - With $d^2-d+1$ heads or more, every local minimum is a best fit, on any data. At every other flat point the loss
#   curves downwards in some direction.
# - With symmetric $Q_h$, $d(d+1)/2$ heads are enough for this.
# - The reason is a spare direction: we can change the heads along it at no cost, and then the loss can go down.
#
# ## Exercises
#
# 1. *By hand.* Let $d=1$. How many heads make every local minimum global?
#    <details><summary>Solution</summary>
#
#    One head is enough, since $d^2-d+1=1$. Up to constants, the loss is $(\sum_hv_hq_h-w)^2$. Where it is not
#    minimal, its derivative with respect to $q_h$ is a multiple of $v_h$, and that with respect to $v_h$ is a
#    multiple of $q_h$. All of them are 0 only at $v=q=0$, and there the loss falls along $v_1=q_1$ or $v_1=-q_1$.
#
#    </details>
# 2. *Predict, then run.* Set `starts = 400`. Will the fraction for two heads at $d=2$ come closer to 1?
#    <details><summary>Solution</summary>
#
#    No. For this function, most starts lead to bad minima. With more starts, we only measure the fraction more
#    precisely.
#
#    </details>
#
# Next: [Figure 1, layers](figure_1_depth.ipynb). The paper compares more heads with more layers.
