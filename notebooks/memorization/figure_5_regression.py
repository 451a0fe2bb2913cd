# %% [markdown]
# # Figure 5 · The same with real labels
# *Mahdavi, Liao, Thrampoulidis: Figure 5, Appendix A.*
#
# <!-- claim memorization/figure-5 -->
# <blockquote>
#
# **Figure 5 (Regression with real labels)** *Appendix A*
#
# With labels from $[0,1]$ the mean squared error falls with $H$ and with $n$, as the memorised fraction rises in
# Figure 2.
#
# </blockquote>
# <!-- /claim -->
#
# As {doc}`/notebooks/memorization/figure_2_memorised_fraction`, with labels from $[0, 1]$ and the mean squared
# error in place of accuracy. A constant answer has the error of the label's variance, about $1/12$. The control is
# trained at the ends of both sweeps on labels that change every epoch. **Reduced size**, as there.

# %%
import torch
from matplotlib.axes import Axes

from attention_theory.memorization.sweeps import sweep
from attention_theory.trends import increments
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
width = 16  # d, at least 2
head_counts = [1, 2, 3, 4]  # H in the first panel, ascending, each at least 1
heads_context = 8  # n in the first panel, at least 1
contexts = [1, 2, 4, 8]  # n in the second panel, ascending from 1, each at least 1
contexts_heads = 4  # H in the second panel, at least 1
examples_counts = [200, 300]  # T, one curve each, each at least 10
seeds = 3  # models for each point, at least 3
steps = 3000  # at least 100
batch = 64  # examples a step, at least 1
rate = 0.02  # Adam's rate at its height, from 1e-6 to 1
device = "cpu"  # where to train: one of "cpu", "cuda"

# %%
require(
    width=(width, 2, None),
    head_counts=(head_counts, 1, None),
    heads_context=(heads_context, 1, None),
    contexts=(contexts, 1, None),
    contexts_heads=(contexts_heads, 1, None),
    examples_counts=(examples_counts, 10, None),
    seeds=(seeds, 3, None),
    steps=(steps, 100, None),
    batch=(batch, 1, None),
    rate=(rate, 1e-6, 1.0),
    device=(device, {"cpu", "cuda"}),
)


def squared_errors(points: list[tuple[int, int, int]], relabel: bool = False) -> torch.Tensor:
    """The mean squared errors at (H, n, T), (points, seeds)."""
    return sweep(points, width, seeds, steps, batch, rate, labels="real", relabel=relabel, device=device)


def draw_panel(axis: Axes, x: list[int], errors: torch.Tensor, label: str) -> None:
    for size, values, marker in zip(examples_counts, errors, show.MARKERS, strict=False):
        axis.semilogy(x, values.mean(dim=1), marker=marker, label=f"T = {size}")
    axis.axhline(1 / 12, linestyle="--", color="0.5")
    axis.set(xlabel=label, ylabel="mean squared error")
    axis.legend()


# %%
sweeps = {
    "H": [(H, heads_context, T) for T in examples_counts for H in head_counts],
    "n": [(contexts_heads, n, T) for T in examples_counts for n in contexts],
}
by_heads, by_context = (squared_errors(points).view(len(examples_counts), -1, seeds) for points in sweeps.values())
ends = [sweeps["H"][0], sweeps["H"][len(head_counts) - 1], sweeps["n"][0], sweeps["n"][len(contexts) - 1]]
changing = squared_errors(ends, relabel=True).mean(dim=1)
fig, (left, right) = show.axes(1, 2, sharey=True)
draw_panel(left, head_counts, by_heads, "number of heads H")
draw_panel(right, contexts, by_context, "context size n")
show.figure(
    fig,
    name="regression",
    caption="Mean squared error against heads and against the length of the context, mean of the seeds. The dashed "
    "line is a constant answer; one token does no better.",
    alt="Two panels of falling curves on a logarithmic axis; the right one starts at the dashed line at n = 1.",
)

# %%
one_token = by_context[:, contexts.index(1)] if 1 in contexts else torch.tensor([1 / 12])
claim = Claim("memorization/figure-5")
claim.check("against H: largest step up, in standard errors", max(increments(v).max() for v in by_heads), "<=", 2)
claim.check("against n: largest step up, in standard errors", max(increments(v).max() for v in by_context), "<=", 2)
for against, errors, (first, last) in (("H", by_heads, changing[:2]), ("n", by_context, changing[2:])):
    fell = (errors[:, -1].mean(dim=-1) / errors[:, 0].mean(dim=-1)).max()
    claim.check(f"against {against}: last error over first", fell, "<=", 0.5)
    claim.control(f"against {against}, labels that change every epoch: the same", last / first, "<=", 0.5)
claim.check("n = 1: mean error over 1/12", one_token.mean() * 12, "==", 1, tolerance=0.2)
claim.verdict()
