# %% [markdown]
# # The same with real labels
# *Mahdavi, Liao, Thrampoulidis: Figure 5, Appendix A.*
#
# ```{claim} memorization/figure-5
# ```
#
# As {doc}`/notebooks/memorization/figure_2_memorised_fraction`, with labels from $[0, 1]$ and the mean squared
# error in place of accuracy. A constant answer has the error of the label's variance, about $1/12$. **Reduced
# size**, as there.

# %%
import torch
from matplotlib.axes import Axes

from attention_theory.memorization.synthetic import Setting, sample_data_sets, unseen_labels
from attention_theory.memorization.trainer import PanelTrainer
from attention_theory.trends import increments
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
width = 16  # d, at least 2
head_counts = [1, 2, 3, 4]  # H in the first panel, ascending
heads_context = 8  # n in the first panel, at least 1
contexts = [1, 2, 4, 8]  # n in the second panel, ascending from 1
contexts_heads = 4  # H in the second panel, at least 1
examples_counts = [200, 300]  # T, one curve each
seeds = 3  # models for each point, at least 3
steps = 3000  # at least 100
batch = 64  # examples a step, at least 1
rate = 0.02  # Adam's rate at its height, above 0
device = "cpu"  # where to train: cpu or cuda

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


def train(settings: list[Setting]) -> PanelTrainer:
    """All models of a panel, trained together."""
    data = sample_data_sets(settings, width, labels="real").to(device)
    trainer = PanelTrainer(settings, data, steps, batch, rate)
    trainer.run()
    return trainer


def errors_of(trainer: PanelTrainer, labels: torch.Tensor | None = None) -> torch.Tensor:
    """The mean squared error of every model, (data set sizes, points, seeds), on its own labels or on others."""
    return trainer.score(labels).loss.cpu().double().view(len(examples_counts), -1, seeds)


def draw_panel(axis: Axes, x: list[int], errors: torch.Tensor, label: str) -> None:
    for size, values, marker in zip(examples_counts, errors, show.MARKERS, strict=False):
        axis.semilogy(x, values.mean(dim=1), marker=marker, label=f"T = {size}")
    axis.axhline(1 / 12, linestyle="--", color="0.5")
    axis.set(xlabel=label, ylabel="mean squared error")
    axis.legend()


# %%
heads_panel = train(
    [Setting(H, heads_context, T, width, s) for T in examples_counts for H in head_counts for s in range(seeds)]
)
context_panel = train(
    [Setting(contexts_heads, n, T, width, s) for T in examples_counts for n in contexts for s in range(seeds)]
)
by_heads, by_context = errors_of(heads_panel), errors_of(context_panel)
fig, (left, right) = show.axes(1, 2, sharey=True)
draw_panel(left, head_counts, by_heads, "number of heads H")
draw_panel(right, contexts, by_context, "context size n")
show.figure(
    fig,
    name="regression",
    caption="Mean squared error against heads and against the length of the context, mean of the seeds. The "
    "dashed line is a constant answer; one token does no better.",
    alt="Two panels of falling curves on a logarithmic axis; the right one starts at the dashed line at n = 1.",
)

# %%
one_token = by_context[:, contexts.index(1)] if 1 in contexts else torch.tensor([1 / 12])
claim = Claim("memorization/figure-5")
claim.check("against H: largest step up, in standard errors", max(increments(v).max() for v in by_heads), "<=", 2)
claim.check("against n: largest step up, in standard errors", max(increments(v).max() for v in by_context), "<=", 2)
for against, panel in (("H", heads_panel), ("n", context_panel)):
    fell, unseen = (
        (errors[:, -1].mean(dim=-1) / errors[:, 0].mean(dim=-1)).max()
        for errors in (errors_of(panel), errors_of(panel, unseen_labels(panel.data)))
    )
    claim.check(f"against {against}: last error over first", fell, "<=", 0.5)
    claim.control(f"against {against}: the same on labels that were not trained", unseen, "<=", 0.5)
claim.check("n = 1: mean error over 1/12", one_token.mean() * 12, "==", 1, tolerance=0.2)
claim.verdict()
