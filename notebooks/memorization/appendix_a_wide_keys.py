# %% [markdown]
# # Appendix A · Do wide keys train faster, and does the gap close?
# *Mahdavi, Liao, Thrampoulidis: Appendix A.*
#
# With one shared context of four tokens, keys of width 16 realise no head that keys of width 3 cannot realise already.
# Are wider keys useless? Gradient descent may still find the same function sooner if it has more weights to change.
#
# ## The paper states
# <!-- claim memorization/remark-wide-heads-train-faster -->
# <blockquote>
#
# **Appendix A (Wide keys train faster, and the gap closes)** *Appendix A*
#
# **The paper states.** We find out that having large $d_h$ (beyond $n$) can generally improve optimization speed, and
# lead to better memorization. However, with sufficient large steps, this gap closes, and gains in memorization vanish
# in the $d_h>n$ regime (as observed in Figure 2c).
#
# <details><summary>Chosen after a run</summary>
#
# We set the thresholds and the number of seeds after trials with sixteen other seeds, in which both comparisons were
#   almost clear. We added the condition that the lead must not become a lag after we had seen the long training.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The softmax does not change when we add a number to all logits, so width $n-1$ is enough for every head
# ({claim:ref}`conclusion (3) <memorization/remark-conclusion-3>`). Wider keys describe the same heads by more weights.
# This can change how training proceeds, but not which functions it can reach.
#
# ## See it run
# We train models of key width $n/2$, $n$, $2n$ and $4n$ on the same random labels, for a small, a medium and a large
# number of steps.

# %%
import torch

from attention_theory.memorization.synthetic import Setting, sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer, Score
from attention_theory.validation import Each, require
from bookpress import Claim, estimate, interval_of, show

# %% tags=["parameters"]
heads = 4  # H, at least 1
context = 4  # n, from 2 to 8
width = 16  # d, at least 4
classes = 20  # number of classes, at least 2
examples_count = 60  # T, from 10 to 1000
budgets = [100, 300, 1000]  # steps of the trainings, ascending, 3 values, each at least 50
seeds = 40  # models for each width and training, from 10 to 100
batch = 64  # examples per step, at least 1
rate = 0.005  # Adam's rate at its height, from 1e-6 to 1
seed = 100  # the first seed, at least 0
device = "cpu"  # where to train: one of "cpu", "cuda"

# %%
require(
    heads=(heads, 1, None),
    context=(context, 2, 8),
    width=(width, 4, None),
    classes=(classes, 2, None),
    examples_count=(examples_count, 10, 1000),
    budgets=(Each(budgets), 50, None),
    seeds=(seeds, 10, 100),
    batch=(batch, 1, None),
    rate=(rate, 1e-6, 1.0),
    seed=(seed, 0, None),
    device=(device, {"cpu", "cuda"}),
)

# %%
key_widths = [max(1, context // 2), context, 2 * context, 4 * context]


def train(steps: int, relabel: bool = False) -> Score:
    """All widths and seeds, on the labels of the last epoch; rows are widths."""
    own = [Setting(heads, context, examples_count, h, seed + s) for h in key_widths for s in range(seeds)]
    data = sample_data_sets(own, width, classes=classes).to(device)
    trainer = PanelTrainer(own, data, steps, batch, rate, relabel)
    trainer.run()
    score = trainer.score(trainer.latest_labels())
    return Score(*(part.cpu().double().view(-1, seeds) for part in (score.accuracy, score.loss)))


trained = {steps: train(steps) for steps in budgets}
changing = train(budgets[1], relabel=True)

# %%
fig, axis = show.axes()
for place, (h, marker) in enumerate(zip(key_widths, show.MARKERS, strict=False)):
    means = [trained[steps].accuracy[place].mean().item() for steps in budgets]
    ends = [interval_of(trained[steps].accuracy[place].tolist()) for steps in budgets]
    reach = [high - mean for mean, (_, high) in zip(means, ends, strict=True)]
    axis.errorbar(budgets, means, reach, marker=marker, capsize=2, label=f"key width {h}")
axis.set(xlabel="training steps", ylabel="memorised fraction", xscale="log", ylim=(0, 1.02))
axis.legend()
show.figure(
    fig,
    name="widths",
    caption=f"Memorised fraction after training runs of different length, H = {heads}, n = {context}, d = {width}, T "
    f"= {examples_count}: means over {seeds} seeds with 99 % intervals.",
    alt="Four rising curves against the steps on a logarithmic axis. They are apart in the middle, where the widest "
    "keys are highest. They come together at the right end, where the widest keys are no longer on top.",
)


# %% [markdown]
# After 300 steps, wide keys lead. At the end the lead is gone, and the widest keys are slightly behind.


# %%
def lead(accuracy: torch.Tensor) -> torch.Tensor:
    """By how much the widths beyond n are ahead of width n, for every seed."""
    return accuracy[2:].mean(dim=0) - accuracy[1]


leads = {steps: lead(score.accuracy) for steps, score in trained.items()}
early, late = leads[budgets[1]], leads[budgets[-1]]
half = early / 2
show.table(
    ["steps", "width n", "lead of the widths beyond n", "99 % interval", "loss, width n", "loss, widths beyond"],
    [
        (
            *(steps, score.accuracy[1].mean(), leads[steps].mean()),
            " to ".join(f"{end:.3f}" for end in interval_of(leads[steps].tolist())),
            *(score.loss[1].mean(), score.loss[2:].mean()),
        )
        for steps, score in trained.items()
    ],
)

# %% [markdown]
# ## How we checked
# We define the lead as the average memorised fraction of the two widths beyond $n$, minus that of width $n$. As a
# control, we train on labels that change every epoch. Then there is nothing to memorise, and we must see no lead.

# %%
claim = Claim("memorization/remark-wide-heads-train-faster")
claim.above("middling training: memorised by widths beyond n, less by n", estimate(early), 0.0)
claim.below("long training, gains vanish: the same less half the earlier lead", estimate(late - half), 0.0)
claim.above("long training, the gap closes: the same and half the earlier lead", estimate(late + half), 0.0)
no_lead = lead(changing.accuracy) - half.mean()
claim.control.above("labels that change every epoch: lead less half the true one", estimate(no_lead), 0.0)
claim.number("long training: lead of the widths beyond n", late.mean())
claim.number("long training: memorised at width n", trained[budgets[-1]].accuracy[1].mean())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The paper says "can generally" and "with sufficient large steps", without numbers. Each training runs through its
# whole learning-rate schedule. Models with the same seed have the same data, so we compute gaps seed by seed. The paper
# says two things about long training: the gains vanish, and the gap closes. If wide models fall behind, the first is
# true and the second is not.
#
# </details>
#
# ## Where the paper differs
# We cannot decide whether the gap closes, because at the end the wide keys are behind by about half of their earlier
# lead. For $n=8$ and 300 labels ([Figure 2](figure_2_memorised_fraction.ipynb)), they end clearly behind.
#
# ## What to remember
#
# - Keys wider than $n$ memorise more after a medium number of steps.
# - They do not store more in the end.
#
# ## Exercises
#
# 1. *By hand.* A head compares keys and queries of width 1. For a context of two tokens, why does a larger width
#    realise no further weights?
#    <details><summary>Solution</summary>
#
#    Two softmax weights depend only on the difference of the two logits. This difference is one linear function of the
#    query, which a key of width 1 can realise. Here $n-1=1$.
#
#    </details>
# 2. *Predict, then run.* Set `rate = 0.02`. When do you expect the lead, and when is it gone?
#    <details><summary>Solution</summary>
#
#    Everything happens sooner: the lead is there after 100 steps and gone after 300.
#
#    </details>
#
# Next: [Section 5.2, conclusions](section_5_conclusions.ipynb). There we count what each key width can represent.
