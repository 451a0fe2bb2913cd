# %% [markdown]
# # Figure 4 · A context for each example
# *Mahdavi, Liao, Thrampoulidis: Figure 4, Appendix I.1.*
#
# <!-- claim memorization/figure-4 -->
# <blockquote>
#
# **Figure 4 (A context for each example)** *Appendix I.1*
#
# With a random context for each example the memorised fraction is still linear in $H$, while its linearity in $n$ is
# weakened.
#
# </blockquote>
# <!-- /claim -->
#
# Now every example has its own random context, so that all tokens are in general position. The rank of $Z$ can then
# reach about $Hd$ instead of $H(n-1)+1$. The paper reports that the memorised fraction stays linear in $H$ while its
# linearity in $n$ is weakened, and conjectures a bound of order $Hd$, which is proved with {claim:ref}`the conjecture
# <memorization/conjecture-i-1>`. **Reduced size**: $d = 16$, 20 classes, 2500 steps. The half of the figure with real
# labels is {doc}`/notebooks/memorization/figure_4_regression`.

# %%
import torch

from attention_theory.memorization.sweeps import sweep
from attention_theory.trends import exponent, linear_fit_r2
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.intervals import interval_of

# %% tags=["parameters"]
width = 16  # d, at least 2
classes = 20  # number of classes, at least 2
head_counts = [1, 2, 4, 6]  # H in the first panel, ascending, at least 3 values, each at least 1
heads_context = 8  # n in the first panel, from 2 to width - 1
contexts = [4, 8, 12]  # n in the second panel, ascending, each from 2 to width - 1
contexts_heads = 4  # H in the second panel, at least 1
examples_count = 800  # T, at least 10
seeds = 6  # models for each point, at least 3
steps = 2500  # at least 100
batch = 64  # examples a step, at least 1
rate = 0.02  # Adam's rate at its height, from 1e-6 to 1
device = "cpu"  # where to train: one of "cpu", "cuda"

# %%
require(
    width=(width, 2, None),
    classes=(classes, 2, None),
    head_counts=(head_counts, 1, None),
    heads_context=(heads_context, 2, width - 1),
    contexts=(contexts, 2, width - 1),
    contexts_heads=(contexts_heads, 1, None),
    examples_count=(examples_count, 10, None),
    seeds=(seeds, 3, None),
    steps=(steps, 100, None),
    batch=(batch, 1, None),
    rate=(rate, 1e-6, 1.0),
    device=(device, {"cpu", "cuda"}),
)


def memorised(points: list[tuple[int, int, int]], relabel: bool = False) -> dict[bool, torch.Tensor]:
    """The memorised fractions at (H, n, T), (points, seeds), with one shared context and with separate ones."""
    recipe = (width, seeds, steps, batch, rate)
    return {s: sweep(points, *recipe, s, classes=classes, relabel=relabel, device=device) for s in (True, False)}


head_points = [(H, heads_context, examples_count) for H in head_counts]
by_heads = memorised(head_points)
by_context = memorised([(contexts_heads, n, examples_count) for n in contexts])
changing = memorised(head_points[1:2], relabel=True)

# %%
names = {True: "one shared context", False: "a context for each example"}
fig, (left, right) = show.axes(1, 2, sharey=True)
for shared, marker in ((True, "o"), (False, "s")):
    for axis, x, values in ((left, head_counts, by_heads[shared]), (right, contexts, by_context[shared])):
        axis.errorbar(x, values.mean(dim=1), values.std(dim=1), marker=marker, capsize=2, label=names[shared])
left.set(xlabel="number of heads H", ylabel="memorised fraction", ylim=(0, 1))
right.set(xlabel="context size n")
left.legend()
show.figure(
    fig,
    name="separate",
    caption=f"T = {examples_count}, reduced size. With separate contexts more is memorised, still in proportion to H. "
    "Against n both curves are nearly flat at this size.",
    alt="Two panels with two curves each; the curves for separate contexts lie higher; against n all are nearly flat.",
)

# %% [markdown]
# "Flatter" is measured as the exponent of the memorised fraction in $n$: 1 would be proportional, 0 no dependence.

# %%
exponents = {
    shared: torch.tensor([exponent(contexts, column) for column in values.T], dtype=torch.float64)
    for shared, values in by_context.items()
}
show.table(["contexts", "exponent in n, mean of the seeds"], [(names[s], e.mean()) for s, e in exponents.items()])

# %% [markdown]
# Each seed has its own data and, at every $H$ and $n$, models of its own, so that lines, exponents and differences are
# taken seed by seed, and each comparison is an interval over the seeds. They took the place of bars in standard errors
# after runs had shown that these hung on the order of a sum; ten seeds, tried as well, leave the exponent as open.

# %%
below = by_heads[False].mean(dim=1) < 0.95
lines = [linear_fit_r2(torch.tensor(head_counts)[below], line[below]) for line in by_heads[False].T]
more = (by_heads[False] - by_heads[True])[1:].mean(dim=0)
no_more = (changing[False] - changing[True])[0]
show.table(
    ["seed by seed", "mean", "99 % interval"],
    [
        (name, sum(draws) / len(draws), " to ".join(f"{end:.3f}" for end in interval_of(draws)))
        for name, draws in {
            "R² in H, separate contexts": lines,
            "exponent in n, shared less separate": (exponents[True] - exponents[False]).tolist(),
            f"separate less shared contexts, mean over H from {head_counts[1]}": more.tolist(),
        }.items()
    ],
)

# %%
claim = Claim("memorization/figure-4")
claim.estimate("separate contexts: R² in H below saturation", lines, ">=", 0.98)
claim.estimate("exponent in n, shared less separate", exponents[True] - exponents[False], ">", 0.0)
claim.estimate("memorised with separate contexts, less with shared ones", more, ">", 0.0)
claim.estimate(
    "labels that change every epoch: the same, less half of it", no_more - more.mean() / 2, ">", 0.0, role="control"
)
claim.verdict()
