# %% [markdown]
# # Claims 1 and 2 · What one head can be made to do
# *Mahdavi, Liao, Thrampoulidis: Claims 1 and 2, Appendix B; Lemmas 3 and 4, Appendix D.*
#
# <!-- claim memorization/claim-1 -->
# <blockquote>
#
# **Claim 1 (Fit r examples in one head)** *Appendix B*
#
# **As printed.** The targets may be any convex combinations.
#
# **Corrected.** For $r=\min(n,d_h)$ examples with independent queries and contexts of rank $n$, and targets
# $\theta_*^{(t)}$ inside the simplex, some $W_K,W_Q\in\mathbb R^{d\times d_h}$ give $\theta^{(t)}=\theta_*^{(t)}$ on
# all of them.
#
# All entries of the targets must be positive: a softmax weight is never 0. These targets are dense, so the proof
# stands.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/claim-2 -->
# <blockquote>
#
# **Claim 2 (Fit r - 1 examples, leave the rest alone)** *Appendix B*
#
# **As printed.** The targets may be any convex combinations.
#
# **Corrected.** Let $R$ hold $r-1$ of the examples. There are $\theta_+^{(t)}$, $t\notin R$, such that for all targets
# inside the simplex and all $\delta>0$ some head has $\theta^{(t)}=\theta_*^{(t)}$ on $R$ and
# $\|\theta^{(t)}-\theta_+^{(t)}\|_1\le\delta$ elsewhere.
#
# Positive entries, as in Claim 1.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/lemma-3 -->
# <blockquote>
#
# **Lemma 3 (A rank-one matrix, silent on some examples and decided on the others)** *Appendix D*
#
# Let all $E^{(t)}$ have rank $n<d$ and the queries Kruskal rank at least $n$. For $m\le n-1$ there is a rank-one $W$
# with $E^{(t)}We^{(t)}=0$ for $t\le m$ and pairwise distinct entries of $E^{(t)}We^{(t)}$ for $m<t\le T$.
#
# **In the paper's proof.** The proof asks that $u$ does not vanish on the queries $m+1\le t\le d$.
#
# **Corrected.** $m+1\le t\le T$: a direction that fulfils the printed condition may vanish on a later example.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/lemma-4 -->
# <blockquote>
#
# **Lemma 4 (Saturation)** *Appendix D*
#
# If the entries of $EW^+e$ are pairwise distinct, then $\mathrm{softmax}(E(W^*+cW^+)e)$ tends to the one-hot vector of
# the largest of them as $c\to\infty$, for every $W^*$. (That the largest is unique is enough.)
#
# </blockquote>
# <!-- /claim -->
#
# A head acts through one matrix $W = W_K W_Q^\top$. On an example it gives the weights $\mathrm{softmax}(E W e)$.
# If the queries of a few examples are independent, $We$ can be chosen for each of them freely, and with it their
# weights. That is Claim 1. Claim 2 adds a rank-one matrix that those examples do not feel and that all others
# feel as much as one likes.

# %%
import torch

from attention_theory.memorization.attention import Examples
from attention_theory.memorization.examples import draw, sample_examples
from attention_theory.memorization.single_head import (
    Columns,
    column_logits,
    fit_targets,
    one_hot_of_largest,
    saturating_scale,
    silent_direction,
)
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
context = 5  # n, at least 3
width = 10  # d, at least context + 2
examples_count = 12  # T, at least context + 1
seed = 0  # seed of every draw, at least 0

# %%
require(
    context=(context, 3, None),
    width=(width, context + 2, None),
    examples_count=(examples_count, context + 1, None),
    seed=(seed, 0, None),
)
examples = sample_examples(examples_count, context, width, shared=False, seed=seed)


def random_targets(count: int) -> torch.Tensor:
    """Points inside the simplex, uniformly."""
    weights = -draw("uniform", count, context, seed=seed + 1).log()
    return weights / weights.sum(dim=1, keepdim=True)


def weights_of(columns: Columns, on: Examples) -> torch.Tensor:
    return column_logits(on, columns).softmax(dim=-1)


# %% [markdown]
# ## Claim 1: chosen weights on n examples
# The print says *any* convex combination. A softmax weight is never 0, so corners and faces of the simplex are
# approached and not reached: near a corner $W$ grows with the logarithm of the smallest weight, and at the corner there
# is none; if there were one, $W$ would settle. All points inside are reached, and as these are dense, the proof loses
# nothing.
#
# What is needed of $d_h$ and of the queries is seen with *one shared context* $E$. There $W$ has to satisfy
# $J E W [e_1 \dots e_r] = J [\log\theta_1 \dots \log\theta_r]$, where $J$ takes off the mean, since softmax ignores a
# number added to all logits. For $r < n$ the right side has rank $r$, which no $W$ of rank $r-1$ gives, nor dependent
# queries. For $r = n$ it has rank $n-1$ only, and $d_h=n-1$ is enough.

# %%
first = examples.take(slice(0, context))
targets = random_targets(context)
columns = fit_targets(first, targets)
error = (weights_of(columns, first) - targets).abs().max().item()


def near_corners(count: int, floor: float) -> torch.Tensor:
    """Corners of the simplex, pulled inside until the smallest weight is ``floor``."""
    return torch.eye(context, dtype=torch.float64)[:count] * (1 - context * floor) + floor


def growth_at_the_corners(on: Examples, count: int) -> float:
    """The largest entry of W for a smallest weight of 1e-16 over that for 1e-8."""
    sizes = [fit_targets(on, near_corners(count, floor)).matrix.abs().max().item() for floor in (1e-8, 1e-16)]
    return sizes[1] / sizes[0]


def of_rank(rank: int, wanted: torch.Tensor, on: Examples) -> Columns:
    """Columns for centred logits on one shared context, of the W that has them, cut to a rank."""
    U, s, V = torch.linalg.svd(torch.linalg.pinv(on.contexts) @ wanted.T @ torch.linalg.pinv(on.queries).T)
    return Columns(U[:, :rank] * s[:rank], V[:rank].T)


def target_error(columns: Columns, on: Examples, aims: torch.Tensor) -> float:
    return (weights_of(columns, on) - aims).abs().max().item()


shared = sample_examples(examples_count, context, width, seed=seed).take(slice(0, context))
few = context - 1
centred = targets.log() - targets.log().mean(dim=1, keepdim=True)
some, aims = shared.take(slice(0, few)), targets[:few]
missing_rank = torch.linalg.svdvals(centred[:few])[few - 1].item()
missing_query = (centred[few - 1] - centred[: few - 1].sum(dim=0)).abs().max().item()
error_narrow = target_error(of_rank(few, centred, shared), shared, targets)
error_cut = target_error(of_rank(few - 1, centred[:few], some), some, aims)
queries = some.queries.clone()
queries[-1] = queries[:-1].sum(dim=0)
dependent = Examples(some.contexts, queries)
error_dependent = target_error(fit_targets(dependent, aims), dependent, aims)

floors = [1e-2, 1e-4, 1e-8, 1e-16]
sizes_of_W = [fit_targets(first, near_corners(context, floor)).matrix.abs().max().item() for floor in floors]
growths = torch.tensor(sizes_of_W).diff() / -torch.tensor(floors).log().diff()
show.table(["smallest weight asked for", "largest entry of W"], list(zip(floors, sizes_of_W, strict=True)))

claim = Claim("memorization/claim-1")
claim.check("weights less targets, d_h = n", error, "<=", 1e-13)
claim.check("shared context, n examples, d_h = n - 1: weights less targets", error_narrow, "<=", 1e-12)
claim.check("shared context, n - 1 examples: singular value of the logits beyond d_h = n - 2", missing_rank, ">", 1e-3)
claim.check("the same: logits of the last one less the sum of the others'", missing_query, ">", 1e-3)
claim.control("shared context, n - 1 examples, d_h = n - 2: weights less targets", error_cut, "<=", 1e-12)
claim.control("the same with one query the sum of the others: weights less targets", error_dependent, "<=", 1e-12)
claim.check("near the corners: growth of W with -log of the smallest weight", growths.min(), ">", 0)
claim.printed(
    "corners met by some W: entries of W for 1e-16 over 1e-8", growth_at_the_corners(first, context), "<=", 1.1
)
claim.verdict()

# %% [markdown]
# ## Lemma 3: silent on some, decided on the others
# $W = v u^\top$ with $u$ orthogonal to the queries of the silent examples, and otherwise random. The proof asks
# for $u^\top e^{(t)} \ne 0$ for all $m < t \le d$; there are $T$ examples, and it must be $t \le T$. A direction
# that fulfils the printed condition can still be blind to a later example.

# %%
n3, d3, T3, m3 = 6, 12, 40, 5
many = sample_examples(T3, n3, d3, shared=False, seed=seed)
silent = torch.arange(T3) < m3


def closest_pair(logits: torch.Tensor) -> torch.Tensor:
    """The smallest difference of two entries in each row."""
    return logits.sort(dim=-1).values.diff(dim=-1).min(dim=-1).values


loud, gaps, ratios = [], [], []
for trial in range(100):
    found = silent_direction(many, silent, ~silent, seed + trial, draws=1)
    logits = column_logits(many, found.columns)
    singular = torch.linalg.svdvals(found.columns.matrix)
    loud.append(logits[silent].abs().max().item())
    gaps.append(closest_pair(logits[~silent]).min().item())
    ratios.append((singular[1] / singular[0]).item())

late = d3 + 5  # an example that the printed condition forgets
blind_to_late = silent_direction(many, silent | (torch.arange(T3) == late), ~silent, seed, draws=1)
blind_gaps = closest_pair(column_logits(many, blind_to_late.columns))

spanned = many.queries.clone()
spanned[n3] = spanned[:n3].sum(dim=0)
too_many = torch.arange(T3) < n3
blind_logits = column_logits(
    Examples(many.contexts, spanned),
    silent_direction(Examples(many.contexts, spanned), too_many, ~too_many, seed, 1).columns,
)

claim = Claim("memorization/lemma-3")
claim.check("100 draws, largest logit on the silent examples", max(loud), "<=", 1e-13)
claim.check("100 draws, smallest difference of two logits elsewhere", min(gaps), ">", 1e-9)
claim.check("100 draws, second over first singular value", max(ratios), "<=", 1e-15)
claim.check("printed condition t <= d: smallest product on those", blind_gaps[m3:d3].min(), ">", 1e-9)
claim.misprint("condition for t <= d: smallest difference", blind_gaps[m3:].min(), ">", 1e-9, of="proof")
claim.check("condition for t <= T: smallest difference", min(gaps), ">", 1e-9, of="proof")
claim.control("m = n and a later query in their span", closest_pair(blind_logits[n3 : n3 + 1]).min(), ">", 1e-9)
claim.verdict()

# %% [markdown]
# ## Lemma 4: saturation
# Adding $c\,W^+$ with large $c$ makes the weights one-hot at the largest entry of $E W^+ e$, whatever else is in
# $W$. The distance from one-hot falls like $e^{-c\,\gamma}$, where $\gamma$ is the lead of the largest entry. The
# paper proves that some $c$ will do; the package gives one in closed form. The largest entry must be unique; the
# others may coincide.

# %%
one = sample_examples(1, 6, 12, seed=seed)
fixed = draw("gaussian", 2, 6, seed=seed + 2)  # the logits of two different W*
decisive = draw("gaussian", 1, 6, seed=seed + 3)
lead = decisive.topk(2).values.diff().abs().item()
limit = one_hot_of_largest(decisive)
sizes = torch.arange(4, 29, 4, dtype=torch.float64) / lead
distances = torch.stack([(fixed + c * decisive).softmax(dim=-1).sub(limit).abs().sum(dim=-1) for c in sizes])
slopes = -distances[-2:].log().diff(dim=0)[0] / (sizes[-1] - sizes[-2])
enough = saturating_scale(fixed, decisive.expand(2, -1), 1e-6)
reached = (fixed + enough * decisive).softmax(dim=-1).sub(limit).abs().sum(dim=-1).max()

tied = decisive.clone()
tied[0, decisive.topk(2).indices[0, 1]] = decisive.max()
tied_limits = (fixed + 1e4 * tied).softmax(dim=-1)

claim = Claim("memorization/lemma-4")
claim.check("slope of -log distance over the lead, less 1", (slopes / lead - 1).abs().max(), "<=", 1e-2)
claim.check(
    "limits of two different W*, distance", (fixed + 1e4 * decisive).softmax(-1).diff(dim=0).abs().max(), "<=", 1e-15
)
claim.check("distance at the c in closed form", reached, "<=", 1e-6)
claim.control("tie for the largest: distance of the limits", tied_limits.diff(dim=0).abs().max(), "<=", 1e-15)
claim.verdict()

# %% [markdown]
# ## Claim 2: chosen weights on n - 1 examples, one-hot on the rest
# The two matrices are added. On the fresh examples the second is silent, so their weights stay as chosen; in
# rounded arithmetic its silence is as good as $c$ times the machine epsilon.

# %%
is_fresh = torch.arange(examples_count) >= examples_count - (context - 1)
fresh = examples.take(is_fresh)
targets = random_targets(context - 1)
chosen = fit_targets(fresh, targets)
silent_part = silent_direction(examples, is_fresh, ~is_fresh, seed).columns
one_hot = one_hot_of_largest(column_logits(examples, silent_part))[~is_fresh]
scales = [0.0, 1.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e6, 1e8]
on_fresh, on_rest = [], []
for c in scales:
    weights = weights_of(chosen.beside(silent_part, c), examples)
    on_fresh.append((weights[is_fresh] - targets).abs().max().item())
    on_rest.append((weights[~is_fresh] - one_hot).abs().sum(dim=-1).max().item())

loud_part = Columns(silent_part.keys, draw("gaussian", width, 1, seed=seed + 4) / width**0.5)
loud_error = (weights_of(chosen.beside(loud_part, 100.0), fresh) - targets).abs().max().item()

fig, axis = show.axes()
axis.loglog(
    scales[1:], [max(value, 1e-18) for value in on_fresh[1:]], marker="o", label="fresh examples: weights less targets"
)
axis.loglog(
    scales[1:], [max(value, 1e-18) for value in on_rest[1:]], marker="s", label="the rest: distance from one-hot"
)
axis.set(xlabel="size c of the saturating part", ylabel="error")
axis.legend()
show.figure(
    fig,
    name="claim-2",
    caption="As c grows, the rest becomes one-hot exponentially fast. The fresh examples keep their weights; their "
    "error grows only as rounding does, in proportion to c. Errors below 1e-18 are drawn there.",
    alt="On logarithmic axes one curve plunges to nothing near c = 100, the other rises slowly from 1e-16.",
)

growth = max(error / max(c, 1.0) for error, c in zip(on_fresh, scales, strict=True))
claim = Claim("memorization/claim-2")
claim.check("c up to 1000: weights less targets", max(on_fresh[: scales.index(1e3) + 1]), "<=", 1e-12)
claim.check("c = 1000: distance of the rest from one-hot", on_rest[scales.index(1e3)], "<=", 1e-12)
claim.check("error on the fresh examples over max(c, 1)", growth, "<=", 1e-14)
claim.control("second part not silent, c = 100", loud_error, "<=", 1e-12)
claim.control("c = 1: distance of the rest from one-hot", on_rest[1], "<=", 1e-12)
at_corners = growth_at_the_corners(fresh, context - 1)
claim.printed("corners met by some W: entries of W for 1e-16 over 1e-8", at_corners, "<=", 1.1)
claim.number("second part not silent, c = 100", loud_error)
claim.verdict()
