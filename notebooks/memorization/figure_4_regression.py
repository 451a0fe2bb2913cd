# %% [markdown]
# # Figure 4 · A context for each example, real labels
# *Mahdavi, Liao, Thrampoulidis: Figure 4, Appendix I.1.*
#
# <!-- claim memorization/figure-4-regression -->
# <blockquote>
#
# **Figure 4 (A context for each example, real labels)** *Appendix I.1*
#
# With a random context for each example and labels from $[0,1]$ the mean squared error still falls linearly in $H$,
# while its dependence on $n$ is weakened.
#
# </blockquote>
# <!-- /claim -->
#
# The other half of {doc}`/notebooks/memorization/figure_4_general_position`: the same models and examples with labels
# from $[0, 1]$ and the mean squared error, where less is better and a constant answer has about $1/12$. The paper's
# caption speaks of both halves at once: linear in $H$, weaker in $n$. **Reduced size**: $d = 16$, 2500 steps.

# %%
import torch

from attention_theory.memorization.sweeps import sweep
from attention_theory.trends import exponent, gain, increments, linear_fit_r2
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
width = 16  # d, at least 2
head_counts = [1, 2, 4, 6]  # H in the first panel, ascending, at least 3 values, each at least 1
heads_context = 8  # n in the first panel, from 2 to width - 1
contexts = [4, 8, 12]  # n in the second panel, ascending, each from 2 to width - 1
contexts_heads = 4  # H in the second panel, at least 1
examples_count = 800  # T, at least 10
seeds = 3  # models for each point, at least 3
steps = 2500  # at least 100
batch = 64  # examples a step, at least 1
rate = 0.02  # Adam's rate at its height, from 1e-6 to 1
device = "cpu"  # where to train: one of "cpu", "cuda"

# %%
require(
    width=(width, 2, None),
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


def squared_errors(points: list[tuple[int, int, int]], relabel: bool = False) -> dict[bool, torch.Tensor]:
    """The mean squared errors at (H, n, T), (points, seeds), with one shared context and with separate ones."""
    recipe = (width, seeds, steps, batch, rate)
    return {s: sweep(points, *recipe, s, "real", relabel=relabel, device=device) for s in (True, False)}


head_points = [(H, heads_context, examples_count) for H in head_counts]
by_heads = squared_errors(head_points)
by_context = squared_errors([(contexts_heads, n, examples_count) for n in contexts])
changing = squared_errors(head_points[1:2], relabel=True)

# %%
names = {True: "one shared context", False: "a context for each example"}
fig, (left, right) = show.axes(1, 2, sharey=True)
for shared, marker in ((True, "o"), (False, "s")):
    for axis, x, values in ((left, head_counts, by_heads[shared]), (right, contexts, by_context[shared])):
        axis.semilogy(x, values.mean(dim=1), marker=marker, label=names[shared])
for axis in (left, right):
    axis.axhline(1 / 12, linestyle="--", color="0.5")
left.set(xlabel="number of heads H", ylabel="mean squared error")
right.set(xlabel="context size n")
left.legend()
show.figure(
    fig,
    name="separate-regression",
    caption=f"T = {examples_count}, reduced size, mean of the seeds; the dashed line is a constant answer. With "
    "separate contexts the error is smaller throughout and falls with H; against n neither curve falls much.",
    alt="Two panels with two curves each on a logarithmic axis; the curves for separate contexts lie lower.",
)

# %% [markdown]
# "Linear in $H$" is read as for the labelled classes, on the points that are not saturated yet: those with an error
# above 5 % of a constant answer's. The exponent in $n$ is negative, and the weaker dependence is the one nearer to 0.
# $T$ and the number of steps were chosen, and the bars below set, after trial runs with other $T$ and fewer steps had
# been seen; the two comparisons with the caption are those of the page on classes.

# %%
exponents = {
    shared: torch.tensor([exponent(contexts, column) for column in values.T], dtype=torch.float64)
    for shared, values in by_context.items()
}
show.table(["contexts", "exponent in n, mean of the seeds"], [(names[s], e.mean()) for s, e in exponents.items()])
errors = {shared: values.mean(dim=1) for shared, values in by_heads.items()}
open_points = errors[False] > 0.05 / 12
least_gain = min(gain(apart, shared) for apart, shared in zip(by_heads[False], by_heads[True], strict=True))
claim = Claim("memorization/figure-4-regression")
fall = increments(by_heads[False]).max()
claim.check("separate contexts, against H: largest step up, in standard errors", fall, "<=", 2)
claim.check("the same: last error over first", errors[False][-1] / errors[False][0], "<=", 0.5)
claim.check("shared less separate contexts, least of all H, in standard errors", least_gain, ">=", 2)
ratio = errors[False][1] / errors[True][1]
claim.check(f"separate over shared contexts at H = {head_counts[1]}", ratio, "<=", 0.5)
no_less = changing[False].mean() / changing[True].mean()
claim.control(f"labels that change every epoch, H = {head_counts[1]}: the same", no_less, "<=", 0.5)
if open_points.sum() >= 3:
    r2 = linear_fit_r2(torch.tensor(head_counts)[open_points], errors[False][open_points])
    claim.printed("separate contexts: R² in H where the error is above 5 % of a constant's", r2, ">=", 0.98)
weaker = gain(exponents[True], exponents[False])
claim.printed("exponent in n, separate less shared, in standard errors", weaker, ">=", 2)
claim.verdict()

# %% [markdown]
# So separate contexts help real labels as they help classes. The two comparisons of the caption do not come out at this
# size: the error falls in ever smaller steps towards 0, on no straight line, and the exponents in $n$ differ by no more
# than the seeds do.
