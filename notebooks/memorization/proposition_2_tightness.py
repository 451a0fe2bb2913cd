# %% [markdown]
# # One shared context: the bound on the rank is met, the layer can do more
# *Mahdavi, Liao, Thrampoulidis: Proposition 2, Section 4.2, Appendix E; conclusion (3) of Section 5.2.*
#
# ```{claim} memorization/proposition-2
# ```
#
# ```{claim} memorization/remark-tightness
# ```
#
# ```{claim} memorization/remark-conclusion-3
# ```
#
# With one context $E$ for all examples, $Z = \Theta\,(I_H \otimes E)$, where a row of $\Theta$ holds the softmax
# weights of all heads. Each head's weights sum to 1. So the difference of two heads' sums is zero on every row:
# $H - 1$ null vectors that can be written down, and $\mathrm{rank}\,Z \le Hn - (H - 1)$, whatever the weights.

# %%
import torch

from attention_theory.memorization.attention import Heads, capacity, features, predict, random_heads
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import random_labels, sample_examples, with_faulty_context
from attention_theory.memorization.rank_bounds import (
    block_differences,
    features_of_unnormalised_weights,
    rank_and_gap,
    softmax_matrix,
)
from attention_theory.memorization.readout import solve_readout
from attention_theory.memorization.trained_heads import fit_keys_and_queries
from attention_theory.numerics import numerical_rank
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
sizes = [[3, 4], [4, 6], [5, 8]]  # pairs (H, n), each at least 2
seed = 0  # seed of every draw, at least 0

# %%
require(sizes=([number for pair in sizes for number in pair], 2, None), seed=(seed, 0, None))

# %% [markdown]
# ## Four kinds of heads

# %%
found, nulls, shared_ranks, separate_ranks, tanh_ranks, drops = [], [], [], [], [], []
for H, n in sizes:
    d, T, bound = 2 * n, 3 * H * n, capacity(H, n, n)
    examples = sample_examples(T, n, d, seed=seed)
    built = build_heads(examples.take(slice(0, bound)), H, n, seed=seed + 1).heads
    random = random_heads(H, d, d, seed + 2)
    kinds = {
        "random": random,
        "built": built,
        "saturated": Heads(4 * random.keys, 4 * random.queries),
        "d_h = 1": random_heads(H, d, 1, seed + 3),
    }
    for name, layer in kinds.items():
        Z = features(layer, examples)
        null = (softmax_matrix(layer, examples) @ block_differences(H, n)).abs().max().item()
        kept, dropped = rank_and_gap(Z, bound)
        found.append((f"({H}, {n})", name, bound, int(numerical_rank(Z)), kept, dropped))
        nulls.append(null)
        drops.append(dropped)
    shared_ranks.append(int(numerical_rank(features(random, examples))))
    separate_ranks.append(int(numerical_rank(features(random, sample_examples(T, n, d, shared=False, seed=seed)))))
    tanh_ranks.append(int(numerical_rank(features_of_unnormalised_weights(random, examples))))
show.table(["(H, n)", "heads", "bound", "rank of Z", "singular value at the bound", "the next one"], found)

# %%
H, n = sizes[0]
examples = sample_examples(3 * H * n, n, 2 * n, seed=seed)
separate = sample_examples(3 * H * n, n, 2 * n, shared=False, seed=seed)
layer = random_heads(H, 2 * n, 2 * n, seed + 2)
fig, axis = show.axes()
for name, data, marker in (("shared context", examples, "o"), ("separate contexts", separate, "s")):
    singular = torch.linalg.svdvals(features(layer, data))
    axis.semilogy(range(1, len(singular) + 1), singular / singular[0], marker=marker, label=name)
axis.axvline(capacity(H, n, n) + 0.5, linestyle="--", color="0.5")
axis.set(xlabel="number of the singular value of Z", ylabel="share of the largest")
axis.legend()
show.figure(
    fig,
    name="cliff",
    caption=f"H = {H}, n = {n}. With a shared context the singular values fall off a cliff right after H(n - 1) "
    f"+ 1 (dashed). "
    "With a context for each example they run through to Hd.",
    alt="Two curves; one drops by fifteen orders at the dashed line, the other declines gently to the end.",
)

claim = Claim("memorization/proposition-2")
claim.check("null vectors times Theta, largest entry", max(nulls), "<=", 1e-14)
claim.check("singular value after the bound", max(drops), "<=", 1e-14)
claim.check(
    "random heads: ranks less the bounds",
    sum(abs(r - capacity(H, n, n)) for r, (H, n) in zip(shared_ranks, sizes, strict=True)),
    "==",
    0,
)
claim.check("largest rank over its bound, all heads", max(row[3] - row[2] for row in found), "<=", 0)
claim.control(
    "separate contexts: ranks less the bounds",
    max(r - capacity(H, n, n) for r, (H, n) in zip(separate_ranks, sizes, strict=True)),
    "<=",
    0,
)
claim.control(
    "tanh for softmax: ranks less the bounds",
    max(r - capacity(H, n, n) for r, (H, n) in zip(tanh_ranks, sizes, strict=True)),
    "<=",
    0,
)
if sizes == [[3, 4], [4, 6], [5, 8]]:
    for (H, n), rank, earlier in zip(sizes, shared_ranks, (10, 21, 36), strict=True):
        claim.number(f"rank at H = {H}, n = {n}", rank, earlier=earlier, within=0)
claim.verdict()

# %% [markdown]
# ## What is tight, and what is not
# The text below the proposition concludes that the theorem is tight. The *rank* is. The number of labels that the
# layer can memorise is not, as long as $n > 1$: the bound counts what *fixed* heads can do for *all* labels.
# Labels that are known when the heads are trained need only lie in the $H(n-1)+1$ dimensions that those heads
# span, and the heads can turn that space towards them. So a trained layer meets more labels than the bound, and
# this contradicts nothing. Only for $n = 1$, where every head returns the one token, is the capacity exactly 1.

# %%
H, n, d = 3, 4, 8
bound = capacity(H, n, n)
tries = [bound + 1, bound + 4, 2 * bound, 3 * bound, 5 * bound]
fixed_residual, trained_residual = [], []
for T in tries:
    data = sample_examples(T, n, d, law="uniform", seed=seed)
    wanted = random_labels(T, 1, seed + 1)
    fixed = random_heads(H, d, d, seed)
    fixed_out = predict(fixed, solve_readout(features(fixed, data), wanted, H, 1), data)
    fixed_residual.append((fixed_out - wanted).abs().max().item())
    trained_residual.append(fit_keys_and_queries(data, wanted, H, d, seed, steps=400)[1])

fig, axis = show.axes()
axis.semilogy(tries, fixed_residual, marker="o", label="random heads, read-out solved")
axis.semilogy(tries, trained_residual, marker="s", label="heads trained for the labels")
axis.axvline(bound, linestyle="--", color="0.5")
axis.set(xlabel="examples T", ylabel="largest residual")
axis.legend()
show.figure(
    fig,
    name="trained",
    caption="H = 3, n = 4, one shared context. To the right of the bound (dashed) fixed heads fail. Heads "
    "trained for the labels "
    "meet three times as many to rounding.",
    alt="Residuals on a logarithmic axis: random heads stay near one, trained heads near 1e-13 up to three "
    "times the bound.",
)

single = sample_examples(6, 1, 4, seed=seed)
single_Z = features(random_heads(3, 4, 4, seed), single)
two = single.take(slice(0, 2))
two_labels = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
two_out = predict(
    random_heads(3, 4, 4, seed), solve_readout(features(random_heads(3, 4, 4, seed), two), two_labels, 3, 1), two
)

claim = Claim("memorization/remark-tightness")
claim.check("n = 1: rows of Z less the first", (single_Z - single_Z[0]).abs().max(), "<=", 1e-15)
claim.check(
    "n = 1: residual of two labels less half their difference",
    abs((two_out - two_labels).abs().max().item() - 0.5),
    "<=",
    1e-12,
)
claim.check("trained heads, twice the bound: residual", trained_residual[2], "<=", 1e-9)
claim.control("fixed heads, one above the bound: residual", fixed_residual[0], "<=", 1e-9)
claim.printed(
    "most examples met by trained heads, over the bound",
    max(T for T, r in zip(tries, trained_residual, strict=True) if r <= 1e-9) / bound,
    "<=",
    1,
)
claim.verdict()

# %% [markdown]
# ## Does a key width beyond n help? Does one below n hurt?
# Section 5.2 concludes from the theorem that larger $d_h$ helps only up to $n$. The theorem gives a *lower*
# bound, so it cannot show that anything does not help; and with $d_h = 1$, where its bound is a single example,
# the rank is already the full $H(n-1)+1$. What suffers is conditioning. The effect in Figure 2(c) is one of
# optimisation.

# %%
H, n, d = 4, 6, 12
examples = sample_examples(3 * H * n, n, d, seed=seed)
bound = capacity(H, n, n)
key_widths = [1, 2, 3, 4, 6, 9, 12]
ranks, conditioning = [], []
for d_h in key_widths:
    Z = features(random_heads(H, d, d_h, seed + 3), examples)
    ranks.append(int(numerical_rank(Z)))
    conditioning.append(rank_and_gap(Z, bound)[0])
show.table(
    ["d_h", "Theorem 1 promises", "rank of Z", "singular value at H(n-1)+1"],
    [(d_h, capacity(H, n, d_h), rank, share) for d_h, rank, share in zip(key_widths, ranks, conditioning, strict=True)],
)
duplicate_rank = int(
    numerical_rank(features(random_heads(H, d, 1, seed + 3), with_faulty_context(examples, "duplicate")))
)

claim = Claim("memorization/remark-conclusion-3")
claim.check("d_h = 1: rank of Z", ranks[0], "==", bound)
claim.check("d_h = 12 over d_h = 1: singular value at the bound", conditioning[-1] / conditioning[0], ">=", 10)
claim.counterexample("rank at d_h = n more than at d_h = 1", ranks[key_widths.index(6)] - ranks[0], ">", 0)
claim.control("d_h = 1 with a duplicate token: rank", duplicate_rank, "==", bound)
claim.number("singular value at d_h = 1", conditioning[0], earlier=3e-5)
claim.number("singular value at d_h = 12", conditioning[-1], earlier=2e-2)
claim.verdict()
