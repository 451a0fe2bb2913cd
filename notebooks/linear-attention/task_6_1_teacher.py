# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 6.1 · A random teacher, and the settings that were searched
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Section 6.1 and Appendix D.1.*
#
# Before we can repeat an experiment, we need its data. In this experiment, the factors of a formula do not fit
# together, and a scale can be read in two ways. How much does this matter?
#
# ## A tiny example
# Suppose that the parameters of the teacher are drawn from a distribution of scale $1/\sqrt d$, at $d=4$. If this is
# the standard deviation, it is 0.5. If it is the variance, the standard deviation is 0.71. A label multiplies such
# numbers, over many tokens, so small differences grow.
#
# ## The paper states
# A *teacher* with one head labels random sequences at every position: at position $t$ it sees the first $t$ tokens.
#
# <!-- claim linear-attention/task-6-1 -->
# <blockquote>
#
# **Section 6.1 (A random teacher)** *Section 6.1*
#
# **The paper states.** We initialize a single-layer linear attention network with parameters $V\in\mathbb R^{1\times
# d}$ and $Q\in\mathbb R^{d\times d}$, sampled from a Gaussian distribution $\mathcal N(0,\frac I{\sqrt d})$. Input
# sequences $Z^i\in\mathbb R^{T\times d}$ are sampled from $\mathcal N(0,\frac I{\sqrt T})$. We generate outputs by
# running the ground-truth network auto-regressively: $y_t^i=VZ_{1:t}^i(Z^i[:,:,t]\,Q\,Z^i[:,:,t])$.
#
# **What is true.** $y_t^i=V(Z_{1:t}^i)^\top Z_{1:t}^i\,Q\,z_t^i$, where the rows of $Z_{1:t}^i$ are the first $t$
# tokens. We take $1/\sqrt d$ and $1/\sqrt T$ as standard deviations.
#
# **What changed.** The paper's formula multiplies a row of length $d$ with a matrix of $t$ rows. It also does not say
# whether $1/\sqrt d$ is a standard deviation or a variance, which changes the size of the labels by orders of
# magnitude.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The two readings differ by the factor $dT^{3/2}$ in the variance of the labels. For one teacher
# at $d=2$ their root mean square is about 0.1 or about 4.5.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim linear-attention/table-d-1 -->
# <blockquote>
#
# **Appendix D.1 (What was searched for Figure 1)** *Appendix D.1*
#
# **The paper states.** Search space: $d$ input dimension $[2,4,8,16]$; $m$ number of heads $[1,2,4,8,16]$; $n$ number
# of layers $[1,2,4]$; learning rate $[0.01,0.001]$; batch size $[32,64]$; optimizer AdamW.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The Gram matrix of a prefix is that of the previous prefix plus the outer product of the new token with itself, so
# one pass gives all labels. Each term of a label contains one entry of $V$, one of $Q$ and three of the tokens.
# Reading the scales as variances multiplies the variance of the labels by $\sqrt d\cdot\sqrt d\cdot\sqrt
# T^{\,3}=dT^{3/2}$.
#
# ## See it run
# You can change these parameters. We compare the labels with a reference that adds up single products for every
# prefix.

# %%
import torch

from attention_theory.linear_attention.certified.identities import certify_prefixes
from attention_theory.linear_attention.experiments.search_spaces import FIGURE_1, FIGURE_1_RUNS, outside
from attention_theory.linear_attention.experiments.teacher_task import Tasks, printed_labels
from attention_theory.linear_attention.model.literal import mhla_by_sums
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
width = 2  # d, at least 2
tokens = 100  # T, tokens of a sequence, at least 3
sequences = 512  # N, at least 10
teachers = 200  # teachers drawn to see how the labels vary, at least 10
seed = 0  # seed of the first teacher and its data, at least 0

# %%
require(width=(width, 2, None), tokens=(tokens, 3, None), sequences=(sequences, 10, None))
require(teachers=(teachers, 10, None), seed=(seed, 0, None))

# %%
task = Tasks.draw(width, sequences, tokens, [seed])
teacher, inputs = Heads(task.teachers.values[0], task.teachers.queries[0]), task.tokens[0, 0]
direct = torch.stack([mhla_by_sums(teacher, inputs[: t + 1])[0] for t in range(tokens)])
gap = ((task.labels[0, 0] - direct).abs().max() / direct.abs().max()).item()
try:
    printed_shape = str(list(printed_labels(teacher, inputs).shape))
except RuntimeError:
    printed_shape = "none, the factors do not fit"
print(f"largest relative difference {gap:.2g}; shape of the labels by the paper's formula: {printed_shape}")

# %%
scales = ("deviation", "variance")


def power(scale, number, count):
    """The mean square of the labels of one teacher on some sequences."""
    return Tasks.draw(width, count, tokens, [seed + number], scale).labels.square().mean()


spread = {scale: torch.stack([power(scale, number, 32) for number in range(teachers)]) for scale in scales}
first = {scale: power(scale, 0, sequences).item() for scale in scales}

# %%
fig, axis = show.axes(1, 1, width=5.2, height=3.4)
names = {"deviation": "standard deviation", "variance": "variance"}
for scale, values in spread.items():
    axis.hist(values.log10(), bins=30, alpha=0.7, label=f"1/√d as {names[scale]}")
    axis.axvline(torch.tensor(first[scale]).log10(), linestyle="--", color="grey")
axis.set(xlabel="mean square of the labels, power of ten", ylabel="teachers")
axis.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.2))
show.figure(
    fig,
    name="scales",
    caption="Mean square of the labels over many teachers, in the two readings of the paper's Gaussian. The dashed "
    "lines mark the first teacher.",
    alt="Two histograms on a logarithmic axis of the same shape, more than three powers of ten apart.",
)

# %% [markdown]
# Teachers differ by orders of magnitude. In the other reading, the histogram has the same shape but is more than
# three powers of ten away. We take the standard deviation.

# %%
beyond = {
    run: [f"{name} {value}" for name, values in used.items() for value in values if outside(FIGURE_1, {name: value})]
    for run, used in FIGURE_1_RUNS.items()
}
show.table(
    ["hyperparameter", "in the paper", *FIGURE_1_RUNS],
    [
        [name, *[", ".join(map(str, values)) for values in (printed, *[used[name] for used in FIGURE_1_RUNS.values()])]]
        for name, printed in FIGURE_1.items()
    ]
    + [["outside the table", "", *[", ".join(values) or "nothing" for values in beyond.values()]]],
)

# %% [markdown]
# The table shows which settings of Appendix D.1 our notebooks run, on a laptop and at full size. We also run settings
# outside it: Adam, which the text above the paper's table names; $d^2$ heads above 16; and numbers of heads that make
# one layer as large as its rivals.
#
# ## How we checked
# ### The task
# We require that the labels of every prefix are right, and that the paper's formula has no value. As a control we
# take the other reading, whose labels should be much larger.

# %%
claim = Claim("linear-attention/task-6-1")
claim.at_most("running sums against every prefix, relative", gap, 1e-12)
apart = first["variance"] / first["deviation"] / (width * tokens**1.5)
claim.close("ratio of the readings over d T^(3/2), relative error", apart, 1, atol=1e-9)
claim.number("mean square of the labels, standard deviation", first["deviation"])
claim.number("mean square of the labels, variance", first["variance"])
claim.control.at_most("the other reading has labels of the same size", first["variance"], 10 * first["deviation"])
claim.misprint.equal("shape of the labels by the printed formula", printed_shape, str([tokens, 1]))
claim.certified("d = 2, T = 4: running sums on every prefix, for all V, Q and inputs", certify_prefixes(2, 4))
claim.verdict()

# %% [markdown]
# ### The search
# We count the values of the table that no laptop run uses. We leave larger widths and batches to full-size runs.

# %%
here = {run: used for run, used in FIGURE_1_RUNS.items() if run.endswith("laptop")}
left_out = {
    name: len(set(values) - {one for used in here.values() for one in used[name]}) for name, values in FIGURE_1.items()
}
of_layers = len(set(FIGURE_1["optimizer"]) - set(here["figure_1_depth, laptop"]["optimizer"]))
claim = Claim("linear-attention/table-d-1")
taken = {name: left_out[name] for name in ("heads", "layers", "rate", "optimizer")}
claim.equal("printed values that no run of the book takes", taken, 0)
for name in ("width", "batch"):
    claim.printed.equal(f"{name}: printed values that no run of the book takes", left_out[name], 0)
claim.printed.equal("optimizer: printed values that the runs with layers leave out", of_layers, 0)
claim.control.equal("of a rate of 0.005 and 3 layers, outside", len(outside(FIGURE_1, {"rate": 0.005, "layers": 3})), 0)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# - The optimiser has three names in the paper: SGD in Section 6.1, Adam above the table and AdamW in it. The last two
#   differ by a weight decay, whose value the paper does not give. We train with Adam, and students with heads also
#   with AdamW, whose usual decay keeps every student away from the teacher ([Figure 1(a)](figure_1a_heads.ipynb)). We
#   do not train students with layers or the transformer with AdamW.
# - The paper does not give the number of sequences, the number of epochs or the initial values of the students. About
#   seeds it says only "three runs".
# - We judge what this book runs on a laptop, so the table is reproduced in part. Section 6.1 uses $d^2$ heads for
#   $d=2$ and 4, and this book adds $d^2$ heads for 8 and 16.
#
# </details>
#
# ## What to remember
# - The task is clear once the factors of its formula fit together.
# - The two readings, standard deviation and variance, change the variance of the labels by the factor $dT^{3/2}$.
# - Our runs cover all heads, layers and rates of the table, at the smaller widths.
#
# ## Exercises
#
# 1. *By hand.* How large is the factor at $d=2$ and $T=100$?
#    <details><summary>Solution</summary>
#
#    The factor is $2\cdot100^{3/2}=2000$, which turns a mean square of 0.010 into 20.
#
#    </details>
# 2. *Predict, then run.* Set `width = 8`. Are the histograms wider or narrower?
#    <details><summary>Solution</summary>
#
#    They are narrower: a label is a sum over more entries of the teacher, so teachers differ less.
#
#    </details>
#
# Back: [Figure 1(a)](figure_1a_heads.ipynb).
