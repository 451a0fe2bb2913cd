# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 4.6 · Fitting the training data is knowing the function
# *Ustaomeroglu, Qu: Definition 4.1, Assumptions 4.2 and 4.5, Theorem 4.6, Section 4.2; proof in Appendix D.1.*
#
# When does a perfect fit on the training data mean that we know the function? For linear attention, we can answer
# before any training, by counting symbols. The rank of a matrix of counts decides whether the layer is correct on data
# that it has never seen.

# %%
import torch

from attention_theory.encodings import random_orthonormal
from attention_theory.hyper_attention.certified.data import certify_generalization
from attention_theory.hyper_attention.interactions.gram import descend, gram_tensors
from attention_theory.hyper_attention.interactions.interactions import counts, outputs_from_counts, sample_sequences
from attention_theory.hyper_attention.interactions.versatility import data_matrix, versatility, visible_part
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.collisions import window_matrix
from attention_theory.randomness import generator, normal
from attention_theory.validation import Each, require
from bookpress import Claim, show

# %% tags=["parameters"]
grid = 36  # N, the number of symbols, from 12 to 80
length = 10  # L*, from 2 to 40
radius = 2  # R, at least 1
samples = [
    4000,
    1000,
    400,
    150,
    60,
]  # training sequences B, at least three sizes of 20 or more, each from 20 to 100000; the last one too few
tests = 1000  # fresh sequences, from 100 to 100000
steps = 6000  # descent steps, from 1000 to 100000
rate = 0.05  # step size, from 0.0001 to 0.2
seed = 0  # of every draw, at least 0

# %%
require(grid=(grid, 12, 80), length=(length, 2, 40), radius=(radius, 1, None), samples=(Each(samples), 20, 100_000))
require(tests=(tests, 100, 100_000), steps=(steps, 1000, 100_000), rate=(rate, 1e-4, 0.2), seed=(seed, 0, None))
require(number_of_sample_sizes=(len(samples), 3, None))

# %% [markdown]
# ## A tiny example
# There are two symbols, $a$ and $b$. A layer gives a token $a$ the number $p$ for every $a$ in the sequence and $q$ for
# every $b$. We train on the single sequence *a a b*, where a token $a$ should receive 5. Then $2p+q=5$, and we cannot
# distinguish $p=2$, $q=1$ from $p=1$, $q=3$. A second sequence, *a b b* with output 4, gives $p+2q=4$, so $p=2$ and
# $q=1$. Now the layer is correct on all sequences.
#
# The rows $(2,1)$ and $(1,2)$ are the counts in the two sequences. Their matrix must have full rank.
#
# ## The paper states
# <!-- claim hyper-attention/theorem-4-6 -->
# <blockquote>
#
# **Theorem 4.6 (Zero training error generalises)** *Section 4.2; proof in Appendix D.1*
#
# **The paper states.** Suppose Assumptions 4.2 and 4.5 hold, then zero training error forces $(C, W^V)$ to agree with
# $(C^\dagger, W^{V\dagger})$ on $(X, Y) \sim \mathcal P$: the solution achieving zero training error also satisfies
# $\mathbb E_{(X, Y) \sim \mathcal P^{L^*}} \|f_{C, W^V}(X) - Y\| = 0$. Hence, it generalizes perfectly to new examples
# from the same distribution.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/definition-4-1 -->
# <blockquote>
#
# **Definition 4.1 (Data matrix of a symbol)** *Section 4*
#
# **The paper states.** Let $\mathcal B_\mu$ be the set of training indices that contain element $\mu \in \mathcal S$.
# Denoting the number of times an element $\mu$ appears in tuple $\mathcal X^{(n)}$ as $s_\mu^{(n)}$, we define the data
# matrix for element $\mu$ as $[S_{\mathcal B_\mu}]_{n\nu} = s_\nu^{(n)}$, for $n$ such that $\mu \in \mathcal X^{(n)}$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/assumption-4-2 -->
# <blockquote>
#
# **Assumption 4.2 (Versatility of the training data)** *Section 4*
#
# **The paper states.** For all $\mu \in \mathcal S$, $S_{\mathcal B_\mu}$ is full column rank. This assumption is mild
# in practice. When elements in $\mathcal X^{(n)}$ are drawn from a diverse distribution (e.g., uniformly or with
# non-degenerate correlations), the counts naturally vary.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Enough uniform sequences of two or more tokens satisfy it.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/assumption-4-5 -->
# <blockquote>
#
# **Assumption 4.5 (Strong realizability)** *Section 4.2*
#
# **The paper states.** The task is strongly realizable, meaning there exist matrices $C^\dagger$ and $W^{V\dagger}$
# such that the model perfectly fits the underlying population distribution at a fixed sequence length $L^*$: $Y = (X
# C^\dagger X^\top) X W^{V\dagger}$ holds almost surely for $(X, Y) \sim \mathcal P^{L^*}$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** It holds for all aggregate pairwise interactions.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A token $\nu$ adds $T_{\mu\nu}=C_{\mu\nu}w_\nu$ to the output at a token $\mu$, so this output is
# $\sum_\nu s_\nu T_{\mu\nu}$. Let $T^*$ be the table of the target function. Zero training error means
# $S_{\mathcal B_\mu}(T_\mu-T^*_\mu)=0$ for every $\mu$. If the data matrix $S_{\mathcal B_\mu}$ has full column rank,
# then $T_\mu=T^*_\mu$. If not, we can add a vector of its null space to $T_\mu$. This changes outputs, but not on the
# training data.
#
# ## See it run
# The symbols are the heights of colliding agents. We fit layers to fewer and fewer sequences, by gradient descent and
# by least squares, which also reaches zero error where descent takes long.

# %%
draw = generator(seed)
target = -window_matrix(grid, radius)
fresh = sample_sequences(tests, length, grid, draw)
training = {size: sample_sequences(size, length, grid, draw) for size in samples}


def error_on(symbols, tensor):
    """The mean squared error of a token."""
    return outputs_from_counts(symbols, (tensor - target)[..., None]).square().mean().item()


# %%
ranks, train, test, learned, fitted, fitted_train, fitted_test = {}, {}, {}, {}, {}, {}, {}
for size, symbols in training.items():
    ranks[size] = int(versatility(symbols, grid).ranks.min())
    start = torch.ones(1, grid, dtype=torch.float64)
    run = descend(gram_tensors(symbols, grid), target[None], start, [(rate, rate)], steps, record_every=steps)
    learned[size] = run.tensor[0]
    train[size], test[size] = error_on(symbols, learned[size]), error_on(fresh, learned[size])
    fitted[size] = visible_part(symbols, target)
    fitted_train[size], fitted_test[size] = error_on(symbols, fitted[size]), error_on(fresh, fitted[size])
require(least_rank_at_the_last_of_samples=(ranks[samples[-1]], 1, grid - 1))
show.table(
    ["B", "least rank of a data matrix", "descent: training", "test", "least squares: training", "test"],
    [[n, ranks[n], train[n], test[n], fitted_train[n], fitted_test[n]] for n in samples],
    caption=f"Mean squared error per token; full rank is {grid}.",
)

# %%
shown = [samples[0], *samples[-2:]]
fig, axes = show.axes(1, 4, width=9.5, height=2.9)
titles = ["target T*", *[f"B = {size}: rank {ranks[size]}" for size in shown]]
for axis, picture, title in zip(axes, [target, *[fitted[size] for size in shown]], titles, strict=True):
    image = axis.imshow(picture, cmap="cividis", vmin=-1.1, vmax=0.4)
    axis.set_title(title, fontsize=9)
    axis.set_xlabel("ν")
    axis.grid(False)
axes[0].set_ylabel("μ")
fig.colorbar(image, ax=axes, label="T", shrink=0.8)
show.figure(
    fig,
    name="learned",
    caption="$T$ of the layers fitted by least squares, with zero training error. With full rank, $T$ equals the "
    "target. With fewer sequences, only the combinations of entries that the data contain are correct.",
    alt="Four square heat maps. The first two show the same clean dark band along the diagonal; in the third the band "
    "is blurred, in the fourth it is broken and noisy.",
    photo=True,
)

# %% [markdown]
# With full rank, we see the target. With fewer sequences, we do not, although the fit is perfect.
#
# We also add a null vector to the target, and evaluate the proof's first equation, Eq. 30, on two random layers.

# %%
few = training[samples[-1]]
scarce = int(versatility(few, grid).ranks.argmin())
null_vector = torch.linalg.svd(data_matrix(few, scarce, grid)).Vh[-1]
shifted = target.clone()
shifted[scarce] += null_vector
enough = [size for size in samples if ranks[size] == grid]
too_few = [size for size in samples if ranks[size] < grid]
fitted_by_descent = [size for size in enough if train[size] <= 1e-12]

# %%
embedding = random_orthonormal(grid, grid, generator(seed))
layers = [(normal(grid, grid, seed=seed + 1 + one), normal(grid, 1, seed=seed + 3 + one)) for one in range(2)]
ours, theirs = (linear_attention(embedding[few], score, value).squeeze(-1) for score, value in layers)


def eq_30_error(basis):
    """The largest entry of ``S a`` less the outputs' difference, ``a`` being read off in this basis."""
    tensors = [basis @ score @ basis.mT * (basis @ value).mT for score, value in layers]
    errors = []
    for symbol in few.unique():
        places = few == symbol
        holding = places.any(dim=1)
        apart = (ours - theirs)[holding, places[holding].int().argmax(dim=1)]
        errors.append((data_matrix(few, int(symbol), grid) @ (tensors[0] - tensors[1])[symbol] - apart).abs().max())
    return max(errors).item()


in_the_basis, without_it = eq_30_error(embedding), eq_30_error(torch.eye(grid, dtype=torch.float64))
not_zero = (fitted[samples[-1]] - target).abs().max()
zero = {f"B = {size}": (fitted[size] - target).abs().max() for size in enough}

# %% [markdown]
# ## How we checked
# With full rank, the test error must be zero. As controls, we take too few sequences, the added null vector, and data
# in which no token repeats. For two symbols and three tokens, exact ranks prove the theorem for every data set.

# %%
claim = Claim("hyper-attention/theorem-4-6")
claim.at_least("full rank: sizes at which descent reached zero training error", len(fitted_by_descent), 1)
for size in fitted_by_descent:
    claim.at_most(f"B = {size}, full rank, descent: test error", test[size], 1e-12)
for size in enough:
    claim.at_most(f"B = {size}, full rank, least squares: test error", fitted_test[size], 1e-12)
for size in too_few:
    claim.at_most(f"B = {size}, rank {ranks[size]}, least squares: training error", fitted_train[size], 1e-12)
    claim.control.at_most(f"B = {size}, rank {ranks[size]}, least squares: test error", fitted_test[size], 1e-3)
    if train[size] <= 1e-12:  # else descent has not met the theorem's hypothesis
        claim.control.at_most(f"B = {size}, rank {ranks[size]}, descent: test error", test[size], 1e-3)
claim.at_most("target plus a null vector: training error", error_on(few, shifted), 1e-24)
claim.control.at_most("target plus a null vector: test error", error_on(fresh, shifted), 1e-6)
claim.at_most("Eq. 30: outputs' difference less data matrices times a, random layers", in_the_basis, 1e-9, of="proof")
claim.control.at_most("the same, weights read off without the embedding", without_it, 1e-9)
claim.control.at_most(f"B = {samples[-1]}: what was learned wrongly, largest entry", not_zero, 1e-3)
claim.at_most("full rank: what was learned wrongly, largest entry", zero, 1e-9, of="proof")
claim.certified("two symbols, three tokens: every data set", certify_generalization([3]))
claim.verdict()

# %%
symbols = training[samples[-1]]
rows = data_matrix(symbols, scarce, grid)
holding = torch.stack([sequence for sequence in symbols if scarce in sequence.tolist()])
everything = counts(symbols, grid)

# %%
claim = Claim("hyper-attention/definition-4-1")
claim.equal("rows against the sequences that hold the symbol, mismatches", (rows != counts(holding, grid)).sum(), 0)
claim.equal("rows that do not add up to L", (rows.sum(dim=1) != length).sum(), 0)
claim.at_least("least count of the symbol in its rows", rows[:, scarce].min(), 1)
claim.control.at_least("least count of the symbol in all sequences", everything[:, scarce].min(), 1)
claim.verdict()

# %%
unique = sample_sequences(samples[0], length, grid, draw, unique=True)
full = versatility(training[samples[0]], grid)
claim = Claim("hyper-attention/assumption-4-2")
claim.equal(f"B = {samples[0]}: least rank", ranks[samples[0]], grid)
claim.above(f"B = {samples[0]}: least singular value", full.least.min(), 0)
claim.control.equal(f"B = {samples[-1]}: least rank", ranks[samples[-1]], grid)
claim.control.equal("no token twice: least rank", int(versatility(unique, grid).ranks.min()), grid)
claim.verdict()

# %%
scale = outputs_from_counts(fresh, target[..., None]).square().mean().item()
claim = Claim("hyper-attention/assumption-4-5")
ones = torch.ones(grid, dtype=torch.float64)
by_layer = outputs_from_counts(fresh, (target * ones)[..., None]).squeeze(-1)
by_sum = -torch.stack([(window_matrix(grid, radius)[one][:, one]).sum(dim=1) for one in fresh])
claim.at_most("fresh sequences, relative error of C*, w*", (by_layer - by_sum).square().mean() / scale, 1e-12)
claim.at_most("shifted layer, relative error on its training set", error_on(few, shifted) / scale, 1e-12)
claim.control.at_most("shifted layer, relative error on fresh sequences", error_on(fresh, shifted) / scale, 1e-12)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The theorem assumes zero training error. We therefore judge gradient descent only where its training error is below
# $10^{-12}$, and least squares everywhere.
#
# </details>
#
# ## What to remember
# - Training data determine a linear layer if, for every symbol, the counts in the sequences that contain it have full
#   rank.
# - We can check this rank before training.
# - Below full rank, the fit is perfect on the training data and wrong elsewhere.
#
# ## Exercises
#
# 1. *By hand.* Would *a a b* and *a a a a b b* determine $p$ and $q$?
#    <details><summary>Solution</summary>
#
#    No. Their counts $(2,1)$ and $(4,2)$ are parallel, so the rank is 1.
#
#    </details>
# 2. *Predict, then run.* Set `samples = [4000, 1000, 200, 30]`. What are the rank, the training error and the test
#    error for the last set?
#    <details><summary>Solution</summary>
#
#    The lowest rank is 4 of 36. Least squares has a training error of $10^{-29}$, which is rounding, and a test error
#    of 2.0.
#
#    </details>
#
# Next: [Theorem 4.8](theorem_4_8_lengths.ipynb). We also want the layer to be correct at other lengths.
