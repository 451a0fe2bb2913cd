# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Learning to execute
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Lemma 5.1 and Corollary 3, Section 5 and Appendix C.2.*
#
# ```{claim} linear-attention/lemma-5-1
# ```
#
# ```{claim} linear-attention/corollary-3
# ```
#
# If Algorithm 1 learns the next token of a universal machine to a mean squared error $\varepsilon$, how often does the
# learned model make a mistake in $\Phi$ steps? Each output is rounded to letters before it becomes a token. Rounding
# fails only if the squared error of that output is at least $1/4$. By Markov's inequality this has probability at most
# $4\varepsilon_t$ at step $t$ on the true history, and the union over the steps gives $4 \sum_t \varepsilon_t =
# 4\varepsilon\Phi$. So the constant hidden in the paper's $O(\varepsilon\Phi)$ is 4. The proof rounds, but Eq. 22,
# which defines the loop, does not, and without rounding the statement is false: the outputs are never *exactly* the
# tokens.
#
# The universal machine of Lemma 2.2 is too wide for Algorithm 1 to be run on it: $d$ is in the thousands and the
# features number about $d^3/2$. This page runs a small universal machine instead, the executor of automata with one
# input letter. A machine is a function $f$ on $q$ states; a run follows $s, f(s), f(f(s)), \dots$. It needs $d = 3q$
# and one head.

# %%
import torch

from attention_theory.linear_attention.executor import Executor, execute, gaussian_samples
from attention_theory.linear_attention.features import certificate_features, psi
from attention_theory.linear_attention.regression import least_squares
from attention_theory.linear_attention.restricted_certificate import restricted_certificate
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
states = 3  # q, states of a machine, 2 or 3
steps = 6  # Φ, steps of a run, at least 1
orders = 3  # random orders in which machines are added to the training data, at least 1
noises = [0.02, 0.05, 0.1, 0.2, 0.4, 0.8]  # standard deviations of the label noise, each above 0
extra = 50  # Gaussian training inputs beyond the number of features, at least 1
seed = 0  # seed of orders and noise, at least 0

# %%
require(states=(states, 2, 3), steps=(steps, 1, 20), orders=(orders, 1, None), noises=(noises, 1e-6, None))
require(extra=(extra, 1, None), seed=(seed, 0, None))

# %% [markdown]
# ## More and more machines
# All histories of the first $k$ machines are the training data; the learned model then runs *all* machines from all
# starts. The bound must hold for each $k$. It is loose: above 1 it says nothing. Whether the model is right is decided
# by something else, the rank of the features: once the training machines span what all machines span, it is exact.

# %%
task = Executor(states, steps)
machines = task.machines
every_feature, _ = task.samples(task.histories(machines))
counts = sorted({k for k in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, len(machines)) if k <= len(machines)})
learned = []
for order in range(orders):
    shuffled = machines[torch.randperm(len(machines), generator=generator(seed + order))]
    for k in counts:
        features, labels = task.samples(task.histories(shuffled[:k]))
        done = execute(task, least_squares(features, labels), machines)
        spanned = restricted_certificate(features, every_feature)
        learned.append((k, spanned.rank, done.error, done.mismatch, 4 * done.error * steps, spanned.holds, done.right))
show.table(
    ["machines k", "rank", "ε", "mismatch", "4 ε Φ", "spans all machines"],
    [one[:6] for one in learned[: len(counts)]],
    caption=f"The first order. d = {task.width}, features {psi(task.width)}, {len(machines)} machines, "
    f"{states * len(machines)} runs of {steps} steps.",
)

# %% [markdown]
# ## Noise
# With Gaussian inputs instead of machines every feature is seen, and noise on the labels sets the error. Here the loop
# is also run without rounding; its tokens are rounded only in the end, to be compared.

# %%
noisy = []
for noise in noises:
    inputs, labels = gaussian_samples(task.teacher, psi(task.width) + extra, states + 1, noise, seed)
    model = least_squares(certificate_features(inputs), labels)
    done, bare = execute(task, model, machines), execute(task, model, machines, rounded=False)
    truth = task.histories(machines)
    exact = (task.roll_out(model, machines, rounded=False) == truth).all(dim=(1, 2)).double().mean().item()
    noisy.append((noise, done.error, 4 * done.error * steps, done.mismatch, bare.mismatch, 1 - exact, done.right))
show.table(
    ["noise σ", "ε", "4 ε Φ", "mismatch", "mismatch, rounded at the end only", "mismatch, never rounded"],
    [one[:6] for one in noisy],
)

# %%
middle = noises[len(noises) // 2]
inputs, labels = gaussian_samples(task.teacher, psi(task.width) + extra, states + 1, middle, seed)
model = least_squares(certificate_features(inputs), labels)
truth = task.histories(machines)
gaps = {
    name: (task.roll_out(model, machines, rounded=rounded) - truth).square().sum(dim=-1).mean(dim=0)[states + 1 :]
    for name, rounded in (("rounded in the loop", True), ("not rounded", False))
}
fig, (left, right) = show.axes(1, 2, width=9, height=3.4)
for group, marker in (([one[1:] for one in learned], "o"), ([(0, *one[1:4:2], 0, True) for one in noisy], "s")):
    errors = [max(one[1], 1e-5) for one in group]
    left.plot(errors, [one[2] for one in group], marker, label="machines" if marker == "o" else "noise")
line = torch.logspace(-5, 0.3, 200, dtype=torch.float64)
left.plot(line, (4 * steps * line).clamp(max=1), "--", label="4 ε Φ")
left.set_xscale("log")
left.set_xlabel("ε")
left.set_ylabel("mismatch")
left.legend()
for name, gap in gaps.items():
    right.plot(range(1, steps + 1), gap.clamp(min=1e-6), marker="o", label=name)
right.set_yscale("log")
right.set_xlabel("step")
right.set_ylabel("mean squared error of the token")
right.legend()
show.figure(
    fig,
    name="mismatch",
    caption="Left: the share of runs that go wrong, against the error of the next token (smaller ones drawn at the "
    f"left edge); every point lies below the dashed bound. Right: at noise {middle}, the error of the tokens as the "
    "loop goes on. Rounded, every token is exact (drawn at the bottom); not rounded, the error grows step by step.",
    alt="Left, points of mismatch against epsilon on a log axis below a curve that rises to 1. Right, two curves "
    "against the step: one flat at the bottom, one rising.",
)

# %%
spans = [one for one in learned if one[5]]
bounded = sum(one[3] <= one[4] for one in learned) + sum(one[3] <= one[2] for one in noisy)
small = noisy[0]
claim = Claim("linear-attention/lemma-5-1")
claim.check("models with mismatch at most 4 ε Φ", bounded, "==", len(learned) + len(noisy))
claim.check("mismatch where the training machines span all, largest", max(one[3] for one in spans), "==", 0.0)
claim.check("the bound says something (below 1) at the least noise", small[2], "<", 1.0)
claim.printed(f"no rounding, as in Eq. 22: mismatch at noise {small[0]} against 4 ε Φ", small[5], "<=", small[2])
claim.control("mismatch after training on 3 machines, first order", learned[counts.index(3)][3], "==", 0.0)
claim.control("not rounded: last error no larger than the first", gaps["not rounded"][-1], "<=", gaps["not rounded"][0])
claim.number("fewest machines that span all, over the orders", min(one[0] for one in spans), earlier=8)
claim.number("rank at which the training machines span all", spans[0][1], earlier=30, within=0.0)
claim.verdict()

# %% [markdown]
# ## At every single step
# Corollary 3 reads off the configuration at step $t$. In print the probability that it is right is at least
# $1 - \varepsilon$ after *more* samples; with the same $\varepsilon$ it is $1 - 4\varepsilon\Phi$.

# %%
margins, printed_margins = [], []
for one in learned:
    margins.append((one[6] - (1 - 4 * one[2] * steps)).min().item())
    printed_margins.append((one[6] - (1 - one[2])).min().item())
margins += [(one[6] - (1 - 4 * one[1] * steps)).min().item() for one in noisy]
few = [one[3] for one in learned if one[0] <= 3]
claim = Claim("linear-attention/corollary-3")
claim.check("least of: share right at step t, minus (1 - 4 ε Φ)", min(margins), ">=", 0.0)
claim.check(
    "share right at the last step where the machines span all", min(one[6][-1].item() for one in spans), "==", 1.0
)
claim.printed("least of: share right at step t, minus (1 - ε), same ε", min(printed_margins), ">=", 0.0)
claim.control("trained on 3 machines or fewer: least mismatch", min(few), "<=", 0.5)
claim.verdict()
