# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 2(b) · Trained heads and the certificate
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Figure 2(b), Section 6.2.*
#
# <!-- claim linear-attention/figure-2b -->
# <blockquote>
#
# **Figure 2(b) (Training by gradients and the certificate)** *Section 6.2, Figure 2(b)*
#
# **As printed.** The distances are read as distances of minimisers; no losses are given.
#
# **As run here.** Models with 1, 2, 4 and 8 heads are trained on the 95% mixture ($\lambda_{\min} = 0.06$) and on
# orthogonal memories ($\lambda_{\min} = 0$), three runs each. Reported: on the first the distance to the teacher is
# next to zero, on the second the models end far from it.
#
# The distance means something beside the loss alone. On orthogonal memories most runs with 2 or 4 heads that reach zero
# loss from a small start are near the teacher; what is far has not arrived, is stuck in a local minimum, or has many
# heads. Minimisers as far as one likes need two heads: the teacher's, and one that orthogonal memories do not show.
#
# </blockquote>
# <!-- /claim -->
#
# The certificate speaks of minimisers. Training need not end at one, so a distance without its loss says little. Here
# every run shows both. The full-batch loss depends on the data through $\Lambda_D$ alone, so the $2^{14}$ memories of
# the paper cost no more than a few. Beside the paper's 1, 2, 4 and 8 heads there are $(2d)^2 = 64$: as many as reach
# every function of the class. The paper gives neither the number of steps nor the rate; they were set here after
# trial runs. It does not give the start either: here all entries have deviation $1/\sqrt{2d}$. A single head comes to
# the teacher or to a local minimum, so it has four times as many runs as the others.

# %%
from statistics import mean, median

import torch

from attention_theory.linear_attention.experiments.associative_memory import (
    hidden_head,
    memory_teacher,
    mix_memories,
    sample_memories,
)
from attention_theory.linear_attention.experiments.gram_training import train_heads
from attention_theory.linear_attention.learning.certificate import certificate_of
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.linear_attention.model.parameters import coefficients, distance, heads_from_matrix, lift
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
samples = 16384  # memories in each data set, at least 2048; the paper has 2**14
runs = 4  # runs for each number of heads, at least 3, and four times as many for one head; the paper has 3
steps = 3000  # full-batch steps on orthogonal memories, half on the mixture, at least 1000; not given in the paper
rate = 0.02  # learning rate of Adam at the start of its cosine, from 0.001 to 0.1
seed = 0  # seed of every draw, at least 0
device = "cpu"  # one of "cpu", "cuda"

# %%
require(samples=(samples, 2048, None), runs=(runs, 3, None), steps=(steps, 1000, None))
require(rate=(rate, 0.001, 0.1), seed=(seed, 0, None), device=(device, {"cpu", "cuda"}))
d = 4  # the length of a key, as in the paper; a token has 2d = 8 features
head_counts = [1, 2, 4, 8, 64]
source = generator(seed)
teacher = memory_teacher(d)
target = coefficients(teacher)

# %%
gaussian, orthogonal = (sample_memories(samples, d, law, source) for law in ("gaussian", "orthogonal"))
tokens = {"95% mixture": mix_memories(gaussian, orthogonal, 0.95, source), "orthogonal": orthogonal}
data = {name: statistics(z, mhla(teacher, z)) for name, z in tokens.items()}
certificates = {name: certificate_of(data[name].second_moment) for name in data}


lengths = {"95% mixture": steps // 2, "orthogonal": steps}


def train(name, heads):
    """Losses and distances of the runs, sorted by loss."""
    start = random_heads(heads, 2 * d, source, scale=(2 * d) ** -0.5, models=(4 * runs if heads == 1 else runs,))
    trained = train_heads(data[name].to(device), start.to(device), lengths[name], rate, least_loss=0.0)
    losses = trained.losses.clamp(min=0)  # rounding can take a loss of zero below zero
    return sorted(zip(losses.tolist(), distance(trained.heads.to("cpu"), teacher).tolist(), strict=True))


ends = {(name, heads): train(name, heads) for name in data for heads in head_counts}


# %%
STATES = ["minimiser", "on the way", "local minimum"]


def state(loss):
    """What a run has come to; a run that reached zero is a minimiser, since the teacher has loss zero."""
    if loss < 1e-4:
        return "minimiser"
    return "local minimum" if loss > 0.5 else "on the way"


def count(results, wanted):
    return sum(state(loss) == wanted for loss, _ in results)


def mean_distance(results):
    return mean(away for _, away in results)


show.table(
    [
        "data",
        "heads",
        "minimisers",
        "on the way",
        "stuck",
        "least loss",
        "its distance",
        "largest loss",
        "its distance",
        "mean distance",
    ],
    [
        [name, heads, *(count(results, one) for one in STATES), *results[0], *results[-1], mean_distance(results)]
        for (name, heads), results in ends.items()
    ],
    caption="Minimisers: loss below 1e-4. Stuck in a local minimum: loss above 0.5. The mean is over all runs.",
)

# %%
fig, axes = show.axes(1, 2, width=8.5, height=3.6, sharey=True)
for axis, name in zip(axes, data, strict=True):
    for heads, marker in zip(head_counts, show.MARKERS, strict=False):
        losses, away = zip(*ends[name, heads], strict=True)
        label = f"{heads} head{'s' if heads > 1 else ''}"
        axis.plot([max(loss, 1e-16) for loss in losses], away, marker, label=label, alpha=0.8)
    axis.axvspan(0.5, 30, color="grey", alpha=0.15)
    axis.set(
        xscale="log", yscale="log", xlabel="training loss", title=f"{name}, λ_min = {certificates[name].smallest:.2g}"
    )
    axis.set(xlim=(3e-17, 30))
losses = torch.logspace(-16, 1, 50)
axes[0].plot(losses, (losses / certificates["95% mixture"].smallest).sqrt(), "--", color="grey")
axes[0].set(ylabel="distance d(Θ, Θ̂)")
axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
show.figure(
    fig,
    name="loss-and-distance",
    caption="Each mark is a run. Where the certificate holds (left) no run can lie above the dashed line "
    "$\\sqrt{\\text{loss}/\\lambda_{\\min}}$. On orthogonal memories (right) 64 heads end far from the teacher at zero "
    "loss; with few heads most runs come nearer as their loss falls. Shaded: stuck in a local minimum.",
    alt="Two scatter plots of distance against training loss. Left: all marks below a dashed line that falls with the "
    "loss. Right: the marks of 1 to 4 heads fall with the loss, too; those of 64 heads stay above 10 at losses below "
    "1e-5.",
)

# %% [markdown]
# To be judged large, a mean distance must be a quarter of the norm of the teacher's coefficients. This bar was set
# after a first run: against 0.1, the bar below which it counts as next to zero, one mean came out at 0.096, which tells
# nothing.
#
# The bars of the printed figure are the mean heights of such marks, without their losses. With one head the mean is
# ruled by the runs that are stuck, on either data set. On orthogonal memories some marks are high because a run has not
# arrived; and with 8 heads some go away from the teacher. From the small start taken here, most runs with 2 and 4 heads
# that come to zero loss end near the teacher, where the figure has them far. That is what training does from this
# start, and no theorem: far minimisers are there, with two heads already.
#
# At full size, on record with three runs and four times the steps, all runs with 2, 4 and 8 heads come to zero loss on
# orthogonal memories. Two of the three of each end at the teacher; the third has moved 0.4 to 0.7 along the kernel.
#
# ## Far minimisers, built by hand
# Beside the teacher's head, take a second one with $V = e_0 e_0^\top$ and $Q = c\,(e_1 e_2^\top - e_2 e_1^\top)$ in the
# rows of the keys. Orthogonal keys and their query $q$ have the Gram matrix $I + q q^\top$, so this head adds
# $c\,(q_0 q_1 q_2 - q_0 q_2 q_1) = 0$ to every output, and $c$ is free: the pair is a minimiser as far away as one
# likes. With more heads, any matrix on the kernel of $\Lambda_D$ can be added to $p$.

# %%
kernel = certificates["orthogonal"].null_space
change = torch.randn(2 * d, len(kernel), generator=source, dtype=torch.float64) @ kernel
built = heads_from_matrix(lift(target + change, 2 * d))
built_loss = (mhla(built, orthogonal[:2000]) - mhla(teacher, orthogonal[:2000])).square().sum(dim=1).mean()
hidden = hidden_head(d, scale=10)
two = Heads(torch.cat([teacher.values, hidden.values]), torch.cat([teacher.queries, hidden.queries]))


def differs(model, tokens):
    """The mean difference from the teacher's outputs."""
    return (mhla(model, tokens[:2000]) - mhla(teacher, tokens[:2000])).norm(dim=1).mean()


# %%
mixture, singular = "95% mixture", "orthogonal"
smallest = certificates[mixture].smallest
few = head_counts[:-1]


def minimisers(name, counts):
    return [away for heads in counts for loss, away in ends[name, heads] if state(loss) == "minimiser"]


claim = Claim("linear-attention/figure-2b")
claim.number("95% mixture: λ_min", smallest, printed=0.06, within=0.1)
claim.check("orthogonal: λ_min", certificates[singular].smallest, "==", 0)
reached = [(loss, away) for heads in head_counts for loss, away in ends[mixture, heads] if loss > 1e-20]
largest = max(away**2 * smallest / loss for loss, away in reached)
claim.check("mixture, every run: distance² · λ_min / loss", largest, "<=", 1 + 1e-6)
claim.check("mixture, minimisers: number", len(minimisers(mixture, few)), ">=", 6)
claim.check("mixture, minimisers: largest distance", max(minimisers(mixture, few)), "<=", 0.05)
eight = [mean_distance(ends[name, 8]) for name in (singular, mixture)]
claim.check("8 heads: mean distance, orthogonal over mixture", eight[0] / eight[1], ">=", 5)
claim.check("orthogonal, 64 heads: largest loss", max(loss for loss, _ in ends[singular, 64]), "<=", 1e-3)
claim.check("orthogonal, 64 heads: smallest distance", min(away for _, away in ends[singular, 64]), ">=", 10)
claim.control("mixture, 64 heads: smallest distance", min(away for _, away in ends[mixture, 64]), ">=", 10)
claim.number("orthogonal, 64 heads: median distance", median(away for _, away in ends[singular, 64]))
stuck = [loss for loss, _ in ends[singular, 1] if state(loss) == "local minimum"]
claim.check("orthogonal, 1 head: runs stuck in a local minimum", len(stuck), ">=", 1)
claim.number("their loss", stuck[0] if stuck else 0.0)
claim.check("built by hand: loss on the data", built_loss, "<=", 1e-12)
claim.check("built by hand: distance", distance(built, teacher), ">=", 10)
claim.number("built by hand: distance", distance(built, teacher))
claim.number("built by hand: heads", built.count)
claim.number("built by hand: mean output difference on Gaussian memories", differs(built, gaussian))
claim.check("two heads: mean output difference on orthogonal memories", differs(two, orthogonal), "<=", 1e-12)
claim.check("two heads: distance", distance(two, teacher), ">=", 10)
claim.check("two heads: mean output difference on Gaussian memories", differs(two, gaussian), ">=", 1)
# The figure read to the letter: mean distances are next to zero on the mixture and large on orthogonal data, for each
# of 1, 2, 4 and 8 heads. Large is a quarter of the norm of the teacher's coefficients.
means = {name: [mean_distance(ends[name, heads]) for heads in few] for name in data}
claim.printed("mixture, 1 to 8 heads: largest of the mean distances", max(means[mixture]), "<=", 0.1)
claim.printed("orthogonal, 1 to 8 heads: smallest of the mean distances", min(means[singular]), ">=", target.norm() / 4)
claim.verdict()
