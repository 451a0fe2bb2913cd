# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 2(b) · Is training stuck, or do the data allow other models?
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Figure 2(b), Section 6.2.*
#
# If training ends far from the truth, there are two possible reasons: the data fit other models equally well, or
# training has not found a best fit. The certificate concerns only best fits, so we have to distinguish the two.
#
# ## The paper states
# A *teacher* with one head looks up values in a table, as in [Figure 2(a)](figure_2a_distance.ipynb). In the
# *mixture*, 95% of the tables are orthogonal and the rest Gaussian. The smallest eigenvalue $\lambda_{\min}$ of the
# second moment $\Lambda_D$ of the features is 0.06 there, and 0 on orthogonal tables alone. Distances are those of
# Eq. 28.
#
# <!-- claim linear-attention/figure-2b -->
# <blockquote>
#
# **Figure 2(b) (Training by gradients and the certificate)** *Section 6.2, Figure 2(b)*
#
# **The paper states.** We train MHLA models via SGD with 1, 2, 4, and 8 heads. For identifiable data with minimum
# eigenvalue 0.06, the learned parameters and ground truth parameters are the same in feature space. However, for
# unidentifiable data with minimum eigenvalue 0, they are far apart in feature space and therefore compute different
# functions. (Three different runs.)
#
# <details><summary>Chosen after a run</summary>
#
# The start and the number of steps, of those that we ran, and the number of one-head runs, after trial runs.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The paper gives neither the number of steps nor the initial values. We reproduce the figure with
# the large start and 2,000 steps. After four times as many steps, most runs with one, two and four heads are next to
# the teacher, so their high bars depend on the length of training. With one head, the teacher is the only minimiser on
# orthogonal tables as well, as we prove. With eight heads, many runs end elsewhere at a loss of 0.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/remark-spurious-solutions -->
# <blockquote>
#
# **Section 6 (Where training converges)** *Section 6, item 2*
#
# **The paper states.** We empirically verify the certificate of identifiability provided by Lemma 4.1 on datasets for
# associative memory with different choices of embeddings, demonstrating convergence to the equivalence class of the
# true parameters when $\lambda_{\min}(\Lambda_D)>0$ and converging to spurious solutions when
# $\lambda_{\min}(\Lambda_D)=0$ (Figure 2).
#
# **What is true.** Where $\lambda_{\min}>0$, every run whose loss goes to 0 ends at the true parameters. Where
# $\lambda_{\min}=0$, many runs with eight heads converge to spurious solutions. With one head, there are no spurious
# solutions.
#
# **What changed.** One head has no spurious solution on orthogonal tables. Its runs end at the teacher, or at no
# minimiser.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Where $\lambda_{\min}>0$, the teacher is the only best fit ([Lemma 4.1](lemma_4_1_certificate.ipynb)). Where it is 0,
# coefficients can move along the kernel of $\Lambda_D$, but only a model with enough heads can follow them. One head
# cannot: on orthogonal tables the teacher is its only minimiser.
#
# Two heads can follow them. We add a head that returns $c\,(q_0q_1q_2-q_0q_2q_1)$ on orthogonal tables with query $q$.
# This is 0 for every $c$, but on other tables the output of the head is not 0.
#
# <details><summary>Proof that on orthogonal tables one head has no minimiser but the teacher</summary>
#
# Let $d \ge 2$, and let the features of the data span as much as those of all orthogonal tables. A minimiser has loss
# 0, so that in every output $a$ its coefficients are the teacher's plus an element of the kernel. By the proof on the
# {doc}`page of Figure 2(a) </notebooks/linear-attention/figure_2a_distance>`, the kernel is zero in the blocks $b$ (a
# key row, a value row, last entry $q_\ell$), $b'$ (the same with $\zeta_\ell$) and $c$ (two value rows, $q_\ell$);
# there the coefficients are those of the teacher.
#
# Let $(u_a, w_a)$ be the key and value parts of row $a$ of $V$. Let $A$, $C$ be the key rows of $Q$ and $B$, $D$ its
# value rows, with $A$, $B$ in the columns of $q$ and $C$, $D$ in those of $\zeta$; $A_\ell$ is column $\ell$ of $A$.
# Output $a = d + m$ of the teacher is 1 in block $b$ at key row $\ell$, value row $m$, and otherwise zero. So for all
# $a$ and $\ell$ ($[\cdot]$ is 1 if what it holds is true, else 0)
#
# $$u_aB_\ell^\top + A_\ell w_a^\top = [a = d+m]\,e_\ell e_m^\top, \qquad u_aD_\ell^\top + C_\ell w_a^\top = 0, \qquad
# w_aB_\ell^\top + B_\ell w_a^\top = 0 .$$
#
# *$B = 0$.* Let $B_\ell \ne 0$ for some $\ell$. By the third equation $w_a = 0$ for all $a$, and by the first
# $u_{d+m}B_k^\top = e_ke_m^\top$ for all $k$: $u_{d+m}$ is a multiple of $e_1$ and of $e_2$, and not zero. That cannot
# be.
#
# *$A$ and $w$.* Now $A_\ell w_{d+m}^\top = e_\ell e_m^\top$ for all $\ell$ and $m$, so that $A = \alpha I$ and $w_{d+m}
# = e_m/\alpha$ with one $\alpha \ne 0$; and $w_a = 0$ for $a \le d$.
#
# *$C = 0$.* Let $C_\ell \ne 0$. By the second equation $u_{d+m}D_\ell^\top = -C_\ell e_m^\top/\alpha$, so that $D_\ell$
# is a multiple of $e_m$ for every $m$, and not zero. That cannot be. So $u_aD_\ell^\top = 0$ for all $a$ and $\ell$.
#
# *$u = 0$ and $D = 0$.* What is left of the output less the teacher's must vanish on all tables; terms with both $u_a$
# and $D$ are zero already. Of degree 0 in $\zeta$ it is $u_a^\top(1 + qq^\top)\alpha q = 2\alpha\langle u_a, q\rangle$,
# so $u_a = 0$. Of degree 1 and 3 it is, for $a = d+m$, $e_m^\top(1 + \zeta\zeta^\top)D\zeta/\alpha$. Its cubic part
# gives $\zeta^\top D\zeta = 0$, and then its linear one $(D\zeta)_m = 0$ for all $m$.
#
# So $Q$ is $\alpha$ on the keys, $V$ is $1/\alpha$ on the values, and the function is the teacher's. $\square$
#
# </details>

# %% [markdown]
# ## See it run
# You can change these parameters.

# %%
from math import inf

import torch

from attention_theory.linear_attention.experiments.associative_memory import (
    hidden_head,
    memory_teacher,
    mix_memories,
    sample_memories,
)
from attention_theory.linear_attention.experiments.gram_training import start_heads, train_heads
from attention_theory.linear_attention.learning.certificate import certificate_of
from attention_theory.linear_attention.learning.levenberg_marquardt import fit_many
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.linear_attention.model.parameters import coefficients, distance
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, estimate, show

# %% tags=["parameters"]
samples = 16384  # tables in each data set, at least 2048; the paper has 2**14
runs = 16  # runs for each number of heads and each start, at least 8; the paper has 3
steps = 2000  # full-batch steps of Adam, at least 500; not given in the paper
longer = 8000  # steps of the longer runs, on orthogonal tables, at least 500
rate = 0.05  # learning rate at the start of its cosine, from 0.001 to 0.1
seed = 0  # seed of every draw, at least 0
device = "cpu"  # one of "cpu", "cuda"

# %%
require(samples=(samples, 2048, None), runs=(runs, 8, None), steps=(steps, 500, None))
require(longer=(longer, 500, None), rate=(rate, 0.001, 0.1))
require(seed=(seed, 0, None), device=(device, {"cpu", "cuda"}))
d = 4  # the length of a key, as in the paper; a token has 2d = 8 features
source = generator(seed)
teacher = memory_teacher(d)
target = coefficients(teacher)

# %% [markdown]
# We train with Adam on all tables at once, from two kinds of start that the paper's $\mathcal N(0,I/\sqrt d)$ can
# mean. On orthogonal tables, we also train four times as long.

# %%
gaussian, orthogonal = (sample_memories(samples, d, law, source) for law in ("gaussian", "orthogonal"))
tables = {"95% mixture": mix_memories(gaussian, orthogonal, 0.95, source), "orthogonal": orthogonal}
data = {name: statistics(tokens, mhla(teacher, tokens)) for name, tokens in tables.items()}
certificates = {name: certificate_of(one.second_moment) for name, one in data.items()}
head_counts = [1, 2, 4, 8]
of_run = [heads for heads in head_counts for _ in range(runs)]


def train(name, counts, how_long, start):
    """Of every run its heads, its loss as a share of the labels' power, and its distance to the teacher."""
    trained = train_heads(data[name].to(device), start.to(device), how_long, rate, least_loss=0.0, dtype=torch.float32)
    gap = coefficients(trained.heads.to("cpu")) - target
    losses = (gap @ data[name].second_moment * gap).sum(dim=(1, 2)) / data[name].power
    return list(zip(counts, losses.tolist(), torch.linalg.matrix_norm(gap).tolist(), strict=True))


# %%
starts = {"small start": (2 * d) ** -0.5, "large start": (2 * d) ** -0.25}
ends, few = {}, runs // 3 + 1
for kind, spread in starts.items():
    start = start_heads(of_run, 2 * d, spread, source)
    ends |= {(name, kind, steps): train(name, of_run, steps, start) for name in data}
    ends["orthogonal", kind, longer] = []
    for some in ([1] * few + [2] * few, [4] * few + [8] * (runs - 2)):
        start = start_heads(some, 2 * d, spread, source)
        ends["orthogonal", kind, longer] += train("orthogonal", some, longer, start)

# %%
key, many = ("orthogonal", "large start", steps), [1] * (15 * runs // 2)
start = start_heads(many, 2 * d, starts["large start"], generator(seed + 2))
ends[key] = [run for run in ends[key] if run[0] > 1] + train("orthogonal", many, steps, start)

# %% [markdown]
# The teacher's coefficients have norm 4. We call a run *next to the teacher* if its distance is at most 0.1, and
# *arrived* if its loss is below $10^{-5}$ of the power of the labels. A run that has arrived but is not next to the
# teacher has arrived *elsewhere*.


# %%
def of(found, heads):
    """Distances of the runs with so many heads."""
    return torch.tensor([away for count, _, away in found if count == heads])


def arrived(found, heads):
    """Whether each run with so many heads has arrived at a minimiser."""
    return torch.tensor([loss <= 1e-5 for count, loss, _ in found if count == heads])


def row(key, heads):
    """A row of the table."""
    away, there = of(ends[key], heads), arrived(ends[key], heads)
    return [*key, heads, len(away), (away <= 0.1).sum(), there.sum(), (there & (away > 0.1)).sum(), away.mean()]


columns = ["data", "start", "steps", "heads", "runs", "next to the teacher", "arrived", "elsewhere", "mean distance"]
show.table(columns, [row(key, heads) for key in sorted(ends) for heads in head_counts])

# %%
fig, axes = show.axes(1, 2, width=7.2, height=3.4)
marks = [("95% mixture", steps), ("orthogonal", steps), ("orthogonal", longer)]
for axis, kind in zip(axes, starts, strict=True):
    for shift, (name, how_long) in zip((-0.25, 0, 0.25), marks, strict=True):
        number = marks.index((name, how_long))
        colour, marker = show.COLOURS[number], show.MARKERS[number]
        for place, heads in enumerate(head_counts):
            away = of(ends[name, kind, how_long], heads)
            label = None if place else f"{name}, {how_long} steps"
            axis.plot([place + shift] * len(away), away, marker, color=colour, alpha=0.4, label=label)
            axis.plot([place + shift - 0.1, place + shift + 0.1], [away.mean()] * 2, "-", color=colour, linewidth=3)
    axis.set(xlabel="heads", title=kind, xticks=range(len(head_counts)), xticklabels=head_counts, ylim=(-0.2, 7))

# %%
axes[0].set_ylabel("distance d(Θ, Θ̂)")
axes[0].legend(fontsize=8)
show.figure(
    fig,
    name="heads",
    caption="Distance to the teacher after training, for every run. The short lines are means. Left: the small "
    "start; right: the large start.",
    alt="Two panels, marks over the number of heads. Those of the mixture lie at zero, except for some of one head. "
    "Those of orthogonal tables are spread; after the longer training those of two and four heads lie lower.",
)

# %% [markdown]
# On the mixture, most runs end next to the teacher. On orthogonal tables, the large start gives the paper's high bars
# after the shorter training. After the longer training, most runs with one, two and four heads are next to the teacher.
# Runs with eight heads arrive last, and many of them elsewhere.
#
# ### Best fits with one and two heads
# We build the two heads by hand. Then we fit one and two heads to rounding accuracy, from random starts on tables
# with three keys.

# %%
hidden = hidden_head(d, scale=10)
two = Heads(torch.cat([teacher.values, hidden.values]), torch.cat([teacher.queries, hidden.queries]))
unlike = {
    name: (mhla(two, tokens[:2000]) - mhla(teacher, tokens[:2000])).norm(dim=1).mean().item()
    for name, tokens in [("orthogonal", orthogonal), ("gaussian", gaussian)]
}
print(f"teacher and hidden head: distance {distance(two, teacher):.3g}; mean difference of the outputs")
print(", ".join(f"on {name} tables {gap:.3g}" for name, gap in unlike.items()))


# %%
def minimisers(heads):
    """Distances to the teacher of the fits of zero loss, out of twelve."""
    few = sample_memories(300, 3, "orthogonal", source)
    labels, begin = mhla(memory_teacher(3), few), random_heads(heads, 6, source, scale=0.6, models=(12,))
    fits = fit_many(certificate_features(few), labels, begin, steps=50)
    return distance(fits.heads, memory_teacher(3))[fits.losses < 1e-18].tolist()


exact = {heads: minimisers(heads) for heads in (1, 2)}
farthest = {heads: max(away, default=inf) for heads, away in exact.items()}
show.table(
    ["heads", "fits of zero loss, of 12", "largest distance"],
    [[heads, len(away), farthest[heads]] for heads, away in exact.items()],
)

# %% [markdown]
# With one head, every best fit is the teacher. With two heads, the best fits differ.
#
# ## How we checked
# ### The figure
# With the large start and the shorter training, we require for each number of heads that more than half of the runs are
# on the side of the threshold 0.1 where the paper's bar is. The other fractions depend on choices that the paper does
# not state, so we show them. As a control we require high bars on the mixture, where they should not appear.


# %%
def smallest_of_a_draw():
    """λ_min of another mixture of the same law."""
    first, second = (sample_memories(samples, d, law, source) for law in ("gaussian", "orthogonal"))
    mixture = mix_memories(first, second, 0.95, source)
    return certificate_of(statistics(mixture, mhla(teacher, mixture)).second_moment).smallest


# %%
deviation = torch.tensor([smallest_of_a_draw() for _ in range(8)]).std().item()
protocol, others = {}, {}
for (name, kind, how_long), found in ends.items():
    side, where = (True, "away from") if name == "orthogonal" else (False, "next to")
    kept = protocol if (kind, how_long) == ("large start", steps) else others
    for heads in head_counts:
        label = f"{name}, {kind}, {how_long} steps, {heads} head(s): share {where} the teacher"
        kept[label] = ((of(found, heads) > 0.1) == side).tolist()
on_mixture = {kind: ends["95% mixture", kind, steps] for kind in starts}
mixed_away = [far > 0.1 for _, _, far in on_mixture["large start"]]
later_away = [far > 0.1 for kind in starts for heads, _, far in ends["orthogonal", kind, longer] if heads < 8]

# %%
claim = Claim("linear-attention/figure-2b")
claim.number("95% mixture: λ_min", certificates["95% mixture"].smallest, printed=0.06, within=3 * deviation / 0.06)
claim.equal("orthogonal: λ_min", certificates["orthogonal"].smallest, 0)
for label, draws in protocol.items():
    claim.above(label, estimate(draws), 0.5)
for label, draws in others.items():
    claim.number(label, sum(draws) / len(draws))
claim.control.above("mixture, large start, any heads: share away from the teacher", estimate(mixed_away), 0.5)
claim.below(f"orthogonal, {longer} steps, 1, 2 and 4 heads: share away", estimate(later_away), 0.5)
claim.at_most("exact fits of one head on orthogonal tables: largest distance", farthest[1], 0.1)
claim.above("exact fits of two heads: largest distance", farthest[2], 0.1)
claim.at_most("teacher and hidden head: outputs on orthogonal tables, difference", unlike["orthogonal"], 1e-12)
claim.at_least("teacher and hidden head: outputs on Gaussian tables, difference", unlike["gaussian"], 1)
claim.verdict()

# %% [markdown]
# ### Spurious solutions
# We require that no run on the mixture arrives elsewhere, and that enough runs with eight heads do on orthogonal
# tables. Enough means a fraction of $1-2^{-1/3}=0.21$, for which at least one of three runs does so with probability
# $\frac12$.


# %%
def elsewhere(found, heads):
    """Whether each run with so many heads has arrived at a minimiser away from the teacher."""
    return (arrived(found, heads) & (of(found, heads) > 0.1)).tolist()


enough = 1 - 2 ** (-1 / 3)
astray = sum(sum(elsewhere(found, heads)) for found in on_mixture.values() for heads in head_counts)
of_eight = [one for kind in starts for one in elsewhere(ends["orthogonal", kind, longer], 8)]
claim = Claim("linear-attention/remark-spurious-solutions")
claim.equal("mixture: runs that have arrived elsewhere", astray, 0)
claim.above("orthogonal, 8 heads: share of runs that arrive elsewhere", estimate(of_eight), enough)
of_mixture = [one for found in on_mixture.values() for one in elsewhere(found, 8)]
claim.control.above("mixture, 8 heads: share of runs that arrive elsewhere", estimate(of_mixture), enough)
claim.printed.above("one head: largest distance of an exact fit on orthogonal tables", farthest[1], 0.1)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# - The paper says SGD here and Adam in Appendix D.1; we use Adam, with all tables in every step. The loss depends on
#   the data through $\Lambda_D$ alone, so a step costs the same for any number of tables. We train all runs in
#   float32, from the same initial values on both data sets. For the longer training on orthogonal tables, we use new
#   runs from the same two kinds of start. With one head and the large start, 28 of 40 trial runs ended away from the
#   teacher there, so we judge 120 new ones.
# - The paper writes $\mathcal N(0,I/\sqrt d)$ for its teacher in Section 6.1 and does not mention the initial values.
#   For tokens with 8 entries, a small start has the standard deviation $1/\sqrt8=0.35$, as on the page of [the random
#   teacher](task_6_1_teacher.ipynb), and a large start has variance $1/\sqrt8$, a standard deviation of 0.59.
# - A bar in the paper is the mean of three runs whose initial values and length we do not know. The eigenvalue 0.06
#   is that of one draw; ours must agree within three standard deviations of a draw.
#
# </details>
#
# ## What to remember
# - Where the certificate holds, every run whose loss goes to 0 ends at the teacher.
# - Where it fails, many runs with eight heads end at other functions with loss 0.
# - With one head, a high bar means that training is stuck or unfinished, because the teacher is the only best fit.
#
# ## Exercises
#
# 1. *By hand.* On orthogonal tables the products of the key rows are $\langle z_j,z_k\rangle=\delta_{jk}+q_jq_k$.
#    Compute the output $\sum_{k,\ell}\langle z_0,z_k\rangle Q_{k\ell}\,q_\ell$ of a head that has only the entries
#    $Q_{12}=c$ and $Q_{21}=-c$.
#    <details><summary>Solution</summary>
#
#    We get $c\,\langle z_0,z_1\rangle q_2-c\,\langle z_0,z_2\rangle q_1=c\,(q_0q_1q_2-q_0q_2q_1)=0$.
#
#    </details>
# 2. *Predict, then run.* Set `rate = 0.01`. Are more or fewer runs on orthogonal tables next to the teacher after 2,000
#    steps?
#    <details><summary>Solution</summary>
#
#    Fewer: for every number of heads, nearly all runs are far from it, because training is slower. The set of best
#    fits is the same.
#
#    </details>
#
# Back: [Figure 2(a)](figure_2a_distance.ipynb). Next: [what the data determine in
# general](lemma_b_1_general_certificate.ipynb), because the certificate is not only about attention.
