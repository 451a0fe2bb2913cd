# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Beyond Theorem 4.4 · Zero loss from almost every start
# *Our addition to Theorem 4.4 of Ustaomeroglu and Qu (Section 4.1).*
#
# Theorem 4.4 starts training carefully: all scores are zero, and all values are positive. In practice, training starts
# from random weights. Can gradient flow then get stuck above zero loss? It can, but we prove that such starts have
# measure zero. With several outputs, however, there are real traps.

# %%
import torch
from torch.func import grad, hessian, vmap

from attention_theory.hyper_attention.certified.saddles import (
    STUCK,
    TARGET,
    TWO_SEQUENCES,
    certify_negative_curvature,
    certify_stuck,
    loss_of_outputs,
)
from attention_theory.hyper_attention.interactions.flow import conserved, gradient_flow, loss_bound
from attention_theory.hyper_attention.interactions.gram import descend, gram_gradients, gram_loss, gram_tensors
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.hyper_attention.interactions.versatility import versatility
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 3  # symbols |S|, from 2 to 4
samples = 40  # sequences B of four tokens, from 30 to 200
starts = 40  # random starts, from 20 to 400
steps = 6000  # steps of descent from each start, from 3000 to 30000
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 2, 4), samples=(samples, 30, 200), starts=(starts, 20, 400), steps=(steps, 3000, 30_000))
require(seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Take a single symbol and one token. The layer multiplies a score $C$ by a value $w$, the target is 1, and the loss is
# $(Cw-1)^2$. From $(C,w)=(1,-1)$ the gradient is $2(Cw-1)(w,C)=(4,-4)$, so both numbers shrink at the same speed and
# remain opposite: the flow runs into $(0,0)$, where the loss is 1 and the gradient is 0. From $(0.9,-1)$, it crosses
# the axis $C=0$ and ends on the curve $Cw=1$.

# %%
axis_points = torch.linspace(-2, 2, 41, dtype=torch.float64)
w_grid, c_grid = torch.meshgrid(axis_points, axis_points, indexing="ij")
pull = -2 * (c_grid * w_grid - 1)
branch = torch.linspace(0.5, 2, 50)

# %%
fig, axis = show.axes(width=6.0, height=3.8)
axis.streamplot(
    axis_points.numpy(), axis_points.numpy(), (pull * w_grid).numpy(), (pull * c_grid).numpy(), density=0.8,
    color="#8a8f98", linewidth=0.7, arrowsize=0.8,
)  # fmt: skip
for sign in (1, -1):
    axis.plot(sign * branch, sign / branch, color=show.COLOURS[0], label="loss 0" if sign > 0 else None)
axis.plot([-2, 2], [2, -2], "--", color=show.COLOURS[1], label="starts that get stuck")
axis.plot(0, 0, "o", color=show.COLOURS[1])
axis.set(xlabel="score C", ylabel="value w", xlim=(-2, 2), ylim=(-2, 2))
axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
show.figure(
    fig,
    name="plane",
    caption="The flow for a single symbol. Only the dashed line leads to the saddle point at the origin.",
    alt="A plane with arrows that lead to the two branches of a hyperbola, upper right and lower left. A dashed "
    "diagonal from the upper left to the lower right leads to a dot at the origin.",
)

# %% [markdown]
# Off the dashed line, which has zero area, the flow ends on the blue curve.
#
# ## The statement
# As on {doc}`the page of Theorem 4.4 </notebooks/hyper-attention/theorem_4_4_gradient_flow>`, $C$ and $w$ are in
# one-hot coordinates, $s^{(n)}$ are the symbol counts of sequence $n$, $G_\mu=\sum_ns^{(n)}_\mu s^{(n)}s^{(n)\top}$
# summarises the data, $\zeta$ is the smallest singular value of the data matrices, and $E=C\,\mathrm{diag}(w)-T^*$ is
# the error. If no layer fits the targets, $T^*$ is their least-squares fit. We write
# $L=\frac1B\sum_\mu E_\mu^\top G_\mu E_\mu$, the loss minus its least-squares value.
#
# <!-- claim hyper-attention/almost-every-start -->
# <blockquote>
#
# **Beyond Theorem 4.4 (Gradient flow reaches zero loss from almost every start)**
#
# Let the data be versatile (Assumption 4.2) and $d_2=1$, and let $L$ be the loss minus its least-squares value, which
# is 0 for realisable targets. For any targets and any invertible embedding, the second derivative of the loss has a
# negative eigenvalue at every critical point with $L>0$. If the codes are orthonormal, the flow converges to $L=0$ from
# almost every $C(0)$, $w(0)$, and the final decay is exponential. If, moreover, $w_\nu(0)^2-\|C_{:,\nu}(0)\|^2\ge c>0$
# for all $\nu$, then $L(t)\le L(0)\,e^{-4c\zeta^2t/B}$.
#
# </blockquote>
# <!-- /claim -->
#
# If the codes of the symbols are not orthonormal, we know less. Let $T_{\mu\nu}=C_{\mu\nu}w_\nu$.
#
# <!-- claim hyper-attention/skew-codes -->
# <blockquote>
#
# **Beyond Theorem 4.4 (Below a threshold of the loss, codes need not be orthogonal)**
#
# Let the data be versatile, $d_2=1$ and $T^*$ without a zero column. For any invertible embedding, let
# $\ell=\min_\nu\frac1B\sum_\mu(T^*_{\mu\nu})^2/(G_\mu^{-1})_{\nu\nu}$. If $L(t_0)<\ell$, the flow is bounded and $L$
# goes to 0 exponentially. From almost every start, either $L$ goes to 0, or the flow is unbounded and $L\ge\ell$ at all
# times.
#
# </blockquote>
# <!-- /claim -->
#
# With more than one output, $w_\nu$ becomes a row $W_\nu$ of several numbers.
#
# <!-- claim hyper-attention/several-outputs -->
# <blockquote>
#
# **Beyond Theorem 4.4 (With two outputs the flow can be trapped)**
#
# With several outputs, a critical point has a direction of negative curvature if $C_{:,\nu}=0$ or $W_\nu=0$ for some
# $\nu$ such that $(G_\mu E_\mu)_\nu\ne0$ for some $\mu$. Not every critical point with $L>0$ has such a direction. On
# the sequences 122 and 112, with the target $C^*=\begin{pmatrix}17&5\\5&17\end{pmatrix}$,
# $W^*=\begin{pmatrix}17&-11\\17&11\end{pmatrix}$, the layer $C=\begin{pmatrix}38&95\\95&38\end{pmatrix}$,
# $W=\begin{pmatrix}3&1\\3&-1\end{pmatrix}$ is a local minimum with $L=281250$. The flow from an open set of starts ends
# at rescaled copies of this layer, which have the same loss.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Suppose that the flow rests at a point with $L>0$. Then $G_\mu E_\mu\ne0$ for some $\mu$, say in entry $\nu$. The
# gradient in $C_{\mu\nu}$ is proportional to this entry times $w_\nu$, so $w_\nu=0$. Now move $w_\nu$ a little, and
# $C_{\mu\nu}$ a lot. The product of the two moves changes the loss, with a sign that we can choose: the point is a
# saddle. Only a set of starts of measure zero flows into saddles.
#
# Nor can the flow diverge. For every symbol, it conserves $w_\nu^2-\|C_{:,\nu}\|^2$, and a bounded loss bounds the
# product of $w_\nu$ and $C_{:,\nu}$.
#
# With several outputs, the first step fails: the gradient is then an inner product with $W_\nu$, which can be zero
# although $W_\nu$ is not.
#
# <details><summary>Proof of the statement on almost every start</summary>
#
# *Strict saddles.* Let $r_\mu=G_\mu E_\mu$. The gradients are $\partial L/\partial C_{\mu\nu}=\frac2Br_{\mu\nu}w_\nu$
# and $\partial L/\partial w_\nu=\frac2B\sum_\mu r_{\mu\nu}C_{\mu\nu}$. Let both be 0 and $L>0$. Then some
# $E_\mu\ne0$, and since $G_\mu\succeq\zeta^2I$ is positive definite, $r_{\mu\nu}\ne0$ for some $\nu$. Hence
# $w_\nu=0$. Replace $C_{\mu\nu}$ by $C_{\mu\nu}+at$ and $w_\nu$ by $ct$. This adds
# $ctC_{\alpha\nu}+act^2\delta_{\alpha\mu}$ to $E_{\alpha\nu}$, and the coefficient of $t^2$ in $L$ is
#
# $$\frac{c^2}B\sum_\alpha C_{\alpha\nu}^2(G_\alpha)_{\nu\nu}+\frac{2ac}Br_{\mu\nu},$$
#
# which is negative for $c=1$ and $a$ of the sign of $-r_{\mu\nu}$ and large. So the second derivative has a negative
# eigenvalue. An invertible embedding is a linear change of coordinates, which keeps critical points and the sign of
# this coefficient.
#
# *Bounded.* Let the codes be orthonormal. Along the flow $L$ does not rise, so that
# $|w_\nu|\,\|C_{:,\nu}\|\le\|T^*_{:,\nu}\|+\|E_{:,\nu}\|\le R$ for a constant $R$. By Lemma C.2 (whose proof needs no
# condition on the start) $c_\nu=w_\nu^2-\|C_{:,\nu}\|^2$ is constant. From $w_\nu^2(w_\nu^2-c_\nu)\le R^2$ both are
# bounded. The flow therefore exists for all times. Since $L$ is a polynomial, a bounded flow converges to a critical
# point (Łojasiewicz).
#
# *Measure zero.* Let $\varphi$ be the flow for one unit of time. It is injective, smooth, and its derivative is
# invertible everywhere. At a saddle $p$ as above, the derivative of $\varphi$ is $e^{-H}$ with $H$ the second
# derivative of $L$, and it has an eigenvalue above 1. By the centre-stable manifold theorem $p$ has a neighbourhood
# $U_p$ and there is a smooth $W_p$ of lower dimension such that a point is in $W_p$ if $\varphi^n$ keeps it in $U_p$
# for all $n\ge0$. Countably many of the $U_p$ cover all saddles (Lindelöf). If the flow from a start converges to a
# saddle, then $\varphi^n$ of the start is in one of these countably many $W_p$ for some $n$. The preimage of $W_p$
# under $\varphi^n$ has measure 0, and so has the union of all of them. From every other start the flow converges to a
# point with $L=0$.
#
# *In the end exponentially.* Leave out the starts with some $c_\nu=0$, which have measure 0. At the limit $C,w$ the set
# $N$ of all $\nu$ with $w_\nu=0$ has $T^*_{:,\nu}=0$, and $\|C_{:,\nu}\|^2=-c_\nu>0$. Near the limit, $w_\nu$ for
# $\nu\notin N$ and $C_{:,\nu}$ for $\nu\in N$ stay away from 0: $w_\nu^2\ge m$ and $\|C_{:,\nu}\|^2\ge m$ for some
# $m>0$. For $\nu\in N$, $E_{:,\nu}=w_\nu C_{:,\nu}$. By Cauchy's inequality
#
# $$L=\frac1B\sum_\nu E_{:,\nu}\cdot r_{:,\nu}\le\frac{\|E\|}B\Bigl(\sum_{\nu\notin N}\|r_{:,\nu}\|^2+\sum_{\nu\in
# N}\frac{(C_{:,\nu}\cdot r_{:,\nu})^2}{\|C_{:,\nu}\|^2}\Bigr)^{1/2}\le\frac{\|E\|}B\cdot\frac{B\,\|\nabla
# L\|}{2\sqrt m},$$
#
# and $\|E\|^2\le BL/\zeta^2$. Hence $\|\nabla L\|^2\ge\frac{4\zeta^2m}BL$, and $\dot L=-\|\nabla L\|^2$ gives the
# decay. If $c_\nu\ge c>0$ for all $\nu$, then $N$ is empty and $w_\nu^2\ge c$ at all times, so that $m=c$ from the
# start. $\square$
#
# </details>
#
# <details><summary>Proof for codes that are not orthogonal</summary>
#
# Let $K$ be the inner products of the codes, with eigenvalues from $\lambda>0$ to $\Lambda$, and let $\tilde C,\tilde
# w$ be the parameters of the layer in the embedding, in which the flow follows the gradient $\tilde\nabla L$. Put
# $N=\|\tilde C\|^2+\|\tilde w\|^2$ and $L_0=\frac1B\sum_\mu T_\mu^{*\top}G_\mu T^*_\mu$. The flow exists for all times,
# because its path up to time $t$ is no longer than $\sqrt{tL(0)}$. If all parameters are multiplied by $q$, the tensor
# $C\,\mathrm{diag}(w)$ is multiplied by $q^2$, and the derivative of $L$ by $q$ at $q=1$ is
# $\frac4B\sum_\mu r_\mu\cdot(E_\mu+T^*_\mu)$. So
#
# $$\dot N=-8L-\frac8B\sum_\mu E_\mu^\top G_\mu T^*_\mu\le8\sqrt{L_0L}.$$
#
# *The threshold.* The least $L$ of a tensor with $T_{:,\nu}=0$ is $\frac1B\sum_\mu
# (T^*_{\mu\nu})^2/(G_\mu^{-1})_{\nu\nu}$, by minimising over the other entries of each row. So $\ell$ is the least
# $L$ of a tensor with a zero column. Let $L(t_0)<\ell$. The tensors with a loss of at most $L(t_0)$ form a compact
# set without such tensors, so $|w_\nu|\,\|C_{:,\nu}\|\ge\delta$ for all $\nu$, all $t\ge t_0$ and some $\delta>0$. As
# $\|C_{:,\nu}\|\le\Lambda\|\tilde C\|$, we have $w_\nu^2\ge\delta^2/(\Lambda^2N)$. Moreover $\|\tilde\nabla
# L\|^2\ge\lambda^2\|\partial L/\partial C\|^2\ge\frac{4\lambda^2\zeta^2}B\min_\nu w_\nu^2\,L$. With
# $\kappa=4\lambda^2\zeta^2\delta^2/(B\Lambda^2)$ this gives $\dot L\le-\kappa L/N$, that is, $\frac{d}{dt}\sqrt
# L\le-\frac\kappa{2N}\sqrt L$. Together with the bound on $\dot N$,
#
# $$\frac{d}{dt}\log N\le\frac{8\sqrt{L_0L}}N\le-\frac{16\sqrt{L_0}}\kappa\,\frac{d}{dt}\sqrt L.$$
#
# Integrating, $\log N(t)\le\log N(t_0)+\frac{16}\kappa\sqrt{L_0L(t_0)}$ for all $t\ge t_0$. So $N$ is bounded, and
# $\dot L\le-\kappa L/N$ gives exponential decay.
#
# *Almost every start.* A bounded flow converges to a critical point and, for almost every start, to one with $L=0$, as
# above. An unbounded flow never has $L<\ell$. $\square$
#
# </details>
#
# <details><summary>Proof for several outputs</summary>
#
# Let $R_\nu$ be the matrix with rows $(G_\mu E_\mu)_\nu$, one for each $\mu$. At a critical point $R_\nu W_\nu=0$ and
# $R_\nu^\top C_{:,\nu}=0$. The move of $C_{:,\nu}$ by $ta$ and of $W_\nu$ by $tb$ has in $L$ the coefficient
# $\frac2Ba^\top R_\nu b+q(a,b)$ of $t^2$, where $q$ is the loss, as a quadratic form, of $aW_\nu^\top+C_{:,\nu}b^\top$.
# Let $R_\nu\ne0$ and $a^\top R_\nu b\ne0$. If $W_\nu=0$, $q$ does not depend on $a$, and a large multiple of $a$ of the
# right sign makes the coefficient negative. If $C_{:,\nu}=0$, take a large $b$.
#
# For the example, the gradient is 0. Multiplying $C_{:,\nu}$ by a number and dividing $W_\nu$ by it changes nothing, so
# near the layer we can fix the first entry of each $W_\nu$. In the other six entries the second derivative is positive
# definite (both by exact arithmetic, see below), and the layer is a local minimum. Near it all critical points are
# rescaled copies of it, and $\|\nabla L\|^2\ge\kappa(L-L_{\text{stuck}})$ for some $\kappa>0$. A flow that starts
# near enough has a path of length at most $\frac2{\sqrt\kappa}(L(0)-L_{\text{stuck}})^{1/2}$, stays near, and ends at
# the loss of the layer. $\square$
#
# </details>
#
# ## See it run
# ### Random starts
# We start with random $C$ and $w$, and use small steps of descent instead of the flow. One start has
# $w_\nu^2-\|C_{:,\nu}\|^2>0$ for all symbols, so we know a bound on its rate.

# %%
draw = generator(seed)
symbols = sample_sequences(samples, 4, size, draw)
target = normal(size, size, seed=draw)
gram = gram_tensors(symbols, size)
eigenvalues = torch.linalg.eigvalsh(gram)
rate = 1 / (16 * eigenvalues.max().item())
score, value = normal(starts, size, size, seed=draw), normal(starts, size, seed=draw)
run = descend(gram, target.expand(starts, -1, -1), value, [(rate, rate)] * starts, steps, score, steps // 60)
last = run.losses[-1]
by_score, by_value, losses = gram_gradients(gram, target, score, value)
squared = by_score.square().sum(dim=(1, 2)) + by_value.square().sum(dim=1)
over_rate = squared / (4 * eigenvalues.min() * value.square().amin(dim=1) * losses)  # eigenvalues include 1/B

# %%
signs = torch.tensor([1.0, -1.0] * size, dtype=torch.float64)[:size]
safe_score, safe_value = 0.3 * normal(size, size, seed=draw), 2 * signs
kept = conserved(safe_score, safe_value).min().item()
safe = gradient_flow(gram, target, safe_value, 2.0, 100, score=safe_score, tolerance=1e-9)
zeta = versatility(symbols, size).least.min().item()
bound = loss_bound(safe.losses[0].item(), kept**0.5, zeta, samples, safe.times)
over_bound = (safe.losses / bound)[safe.losses > 1e-9].max()

# %%
fig, axis = show.axes(height=3.0)
for curve in run.losses.T:
    axis.semilogy(run.steps, curve.clamp(min=1e-20), color=show.COLOURS[0], linewidth=0.6, alpha=0.6)
axis.set(xlabel="steps of descent", ylabel="loss", ylim=(1e-20, None))
show.figure(
    fig,
    name="starts",
    caption=f"The loss from {starts} random starts.",
    alt="Many curves on a logarithmic scale. Most fall in nearly straight lines, some stay level for a while before "
    "they fall.",
)

# %% [markdown]
# Some runs pass near a saddle, where they are slow, and then fall like the others.
#
# ### All saddle points of one kind
# For each set of symbols whose columns of $C$ and $w$ are 0, the best choice of the other columns is a critical
# point. We compute its second derivative.

# %%
saddles = {}
for number in range(1, 2**size):
    zero = torch.tensor([bool(number >> symbol & 1) for symbol in range(size)])
    rest = torch.nonzero(~zero).flatten()
    best = torch.zeros(size, size, dtype=torch.float64)
    for row in range(size):
        normal_matrix = gram[row][rest][:, rest]
        best[row, rest] = torch.linalg.solve(normal_matrix, gram[row][rest] @ target[row])
    flat = torch.cat([best.flatten(), (~zero).double()])

    def loss(point):
        return gram_loss(gram, point[: size**2].reshape(size, size) * point[size**2 :], target)

    lowest = torch.linalg.eigvalsh(hessian(loss)(flat))[0].item()
    saddles["".join(str(int(z)) for z in zero)] = grad(loss)(flat).abs().max().item(), lowest
show.table(["columns that are 0", "largest gradient", "smallest curvature"], [[k, *v] for k, v in saddles.items()])

# %% [markdown]
# The smallest curvature is always negative, so the loss can decrease from all of them. For a single symbol, we compare
# the dashed line with starts on either side of it.

# %%
one = torch.ones(1, 1, 1, dtype=torch.float64)
ends = {
    w: gradient_flow(one, one[0], torch.tensor([w]).double(), 8.0, 2, 1e-10, score=one[0]).losses[-1].item()
    for w in (-1.0, -0.9, -1.1)
}
show.table(["$w(0)$, with $C(0)=1$", "loss at $t=8$"], ends.items())

# %% [markdown]
# ### Codes at an angle
# As on the page of Theorem 4.4, we take two symbols whose codes have the inner product $-0.6$, and
# $T^*=\begin{pmatrix}1&1\\1&1\end{pmatrix}$. The threshold $\ell$ is 2.4.

# %%
pairs = gram_tensors(torch.cartesian_prod(torch.arange(2), torch.arange(2)), 2)
ones = torch.ones(2, 2, dtype=torch.float64)
inverse = torch.linalg.inv(pairs)
threshold = (ones.square() / inverse.diagonal(dim1=1, dim2=2)).sum(dim=0).min().item()
inner = torch.tensor([[1.0, -0.6], [-0.6, 1.0]], dtype=torch.float64)
skew = {
    w: gradient_flow(pairs, ones, torch.tensor([w, 1.0]).double(), 20.0, 50, 1e-9, norm=inner) for w in (0.05, 0.2, 0.4)
}
back = torch.linalg.inv(inner)
path = skew[0.2]
whole = torch.einsum("ta,ab,tb->t", path.value, back, path.value)
whole = whole - torch.einsum("tab,bc,tdc,ad->t", path.score, back, path.score, back)
by_symbol = conserved(path.score, path.value)
drifts = {"sum": (whole - whole[0]).abs().max().item(), "symbols": (by_symbol - by_symbol[0]).abs().max().item()}
skew_ends = {f"w₁ = {w}": flow.losses[-1].abs().item() for w, flow in skew.items()}
show.table(["start", "loss at the end"], skew_ends.items())

# %% [markdown]
# With codes at an angle, only a single sum over all symbols is conserved. This is $\|\tilde w\|^2-\|\tilde C\|^2$, in
# the coordinates of the embedding. We check both inequalities of the proof at random points.

# %%
some_score, some_value = normal(200, size, size, seed=draw), normal(200, size, seed=draw)
codes = torch.eye(size, dtype=torch.float64) + 0.4 * normal(size, size, seed=draw)
by_score, by_value, losses = gram_gradients(gram, target, some_score, some_value)
growth = -2 * ((by_score * some_score).sum(dim=(1, 2)) + (by_value * some_value).sum(dim=1))
nothing = gram_loss(gram, torch.zeros_like(target), target)
over_growth = ((growth + 8 * losses) / (8 * (losses * nothing).sqrt())).max()
steepness = (codes.mT @ by_score @ codes).square().sum(dim=(1, 2)) + (by_value @ codes).square().sum(dim=1)
smallest = torch.linalg.svdvals(codes)[-1] ** 4 * 4 * eigenvalues.min() * some_value.square().amin(dim=1)
over_steepness = (steepness / (smallest * losses)).min()

# %% [markdown]
# ### Two outputs
# The target has values in $\mathbb R^2$; the layer in the statement reverses the sign of their difference. We divide
# the target by 289, and start near this layer, and from $C(0)=0$ and random $W(0)$.

# %%
scaled = TARGET[0] / 17, TARGET[1] / 17
trap = STUCK[0] / 95, STUCK[1] * 95 / 289
layer_score = torch.cat([trap[0] + 0.002 * normal(10, 2, 2, seed=draw), torch.zeros(10, 2, 2, dtype=torch.float64)])
layer_value = torch.cat([trap[1] + 0.002 * normal(10, 2, 2, seed=draw), normal(10, 2, 2, seed=draw)])


def two_outputs(score, value):
    return loss_of_outputs(score, value, scaled, TWO_SEQUENCES)


# %%
downhill = vmap(grad(two_outputs, argnums=(0, 1)))
for _ in range(1500):
    by_score, by_value = downhill(layer_score, layer_value)
    layer_score, layer_value = layer_score - 0.01 * by_score, layer_value - 0.01 * by_value
two_ends = vmap(two_outputs)(layer_score, layer_value)
level = two_outputs(*trap).item()
rows = [
    ["near the layer", two_ends[:10].min(), two_ends[:10].max()],
    ["C(0) = 0", two_ends[10:].min(), two_ends[10:].max()],
]
show.table(["start", "smallest loss at the end", "largest loss at the end"], rows)

# %% [markdown]
# The starts near the layer stay there, and those with $C(0)=0$ reach zero.
#
# ## How we checked
# Descent must reach a small loss from most random starts, where the gradient must be as large as the proof says. Two
# certificates settle the second derivatives in exact arithmetic. The controls are a start on the dashed line, the
# quantity that only orthogonal codes conserve, and starts with $C(0)=0$.

# %%
claim = Claim("hyper-attention/almost-every-start")
claim.at_least("random starts: fraction with loss below 1e-6 at the end", (last <= 1e-6).double().mean(), 0.8)
claim.number("random starts: largest loss at the end", last.max())
claim.at_least("gradient squared at the starts over the rate of the proof times the loss", over_rate.min(), 1 - 1e-9)
claim.at_most("w² - |C|² > 0, signs mixed: loss over its bound", over_bound, 1 + 1e-6)
claim.at_most("saddles: largest gradient", {name: gradient for name, (gradient, _) in saddles.items()}, 1e-10)
claim.below("saddles: least curvature", {name: lowest for name, (_, lowest) in saddles.items()}, 0)
claim.at_most("one symbol, off the dashed line: loss at the end", max(ends[-0.9], ends[-1.1]), 1e-6)
claim.control.at_most("one symbol, on the dashed line: loss at the end", ends[-1.0], 1e-6)
claim.certified("second derivative along the direction of the proof", certify_negative_curvature())
claim.verdict()

# %%
claim = Claim("hyper-attention/skew-codes")
claim.equal("two symbols: the threshold", threshold, 2.4, tolerance=1e-12)
claim.at_most("codes at an angle: loss at the end", skew_ends, 1e-6)
claim.at_most("codes at an angle: change of the conserved sum", drifts["sum"], 1e-6)
claim.at_most("growth of the parameters over its bound, random points", over_growth, 1 + 1e-9)
claim.at_least("gradient squared over its bound, random points", over_steepness, 1 - 1e-9)
claim.control.at_most("codes at an angle: change of w² - |C|² for each symbol", drifts["symbols"], 1e-6)
claim.verdict()

# %%
claim = Claim("hyper-attention/several-outputs")
claim.certified("a local minimum with a loss above 0", certify_stuck())
claim.at_least(
    "starts near the layer: least loss at the end over that of the layer", two_ends[:10].min() / level, 0.999
)
claim.control.at_least(
    "starts with C = 0: least loss at the end over that of the layer", two_ends[10:].min() / level, 0.999
)
claim.verdict()

# %% [markdown]
# ## Where we stop
# For codes that are not orthogonal, we do not know whether the flow is bounded while its loss is above $\ell$; in our
# runs it was. For several outputs, we do not know what happens from $C(0)=0$. For HyperAttention, the first statement
# holds word for word, with pairs of symbols in place of $\nu$, under the assumptions of Theorem G.7.
#
# ## What to remember
# - With one output, all critical points above zero loss are saddles, which the flow avoids from almost every start.
# - This needs neither positive values nor $C(0)=0$ and, for the saddles, not even orthogonal codes.
# - With two outputs, the loss can have a local minimum above zero.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, start from $(C,w)=(2,1)$. What is $w^2-C^2$ at the end, and where does the flow
#    end?
#    <details><summary>Solution</summary>
#
#    The difference is conserved, so $w^2-C^2=1-4=-3$, and at the end $Cw=1$. With $x=w^2$ we get $x-1/x=-3$, so
#    $x=(\sqrt{13}-3)/2\approx0.303$, $w\approx0.550$ and $C\approx1.817$.
#
#    </details>
# 2. *Predict, then run.* Set `size = 2`. How many rows does the table of saddles have, and what are the signs in its
#    last column?
#    <details><summary>Solution</summary>
#
#    There are $2^2-1=3$ sets of symbols, and all three curvatures are negative.
#
#    </details>
#
# Next: [Theorem 4.6](theorem_4_6_generalization.ipynb), because a layer with zero training loss must still be correct
# on new sequences.
