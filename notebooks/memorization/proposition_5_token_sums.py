# %% [markdown]
# # Proposition 5 · Tokens with a constant sum cost a dimension per head
# *Mahdavi, Liao, Thrampoulidis: Proposition 5, Appendix I.*
#
# The paper's strongest assumption is *general position* of all tokens. Does it guarantee that the features of a layer
# have full rank? The paper answers no, with tokens whose entries have a fixed sum.
#
# **In numbers.** The entries of the token $(1,2,0)$ sum to 3, and so do those of $(0,1,2)$ and of every average of the
# two. Two heads give six numbers, $z_1,\dots,z_6$, with $z_1+z_2+z_3=3=z_4+z_5+z_6$. The difference of the two sums is
# 0 for all weights, so the six numbers span at most five dimensions.
#
# ## The paper states
# The averages of the $H$ heads on example $t$ are row $t$ of the matrix $Z$, which has $Hd$ columns. Its rank is the
# number of labels that we can choose freely.
#
# <!-- claim memorization/proposition-5 -->
# <blockquote>
#
# **Proposition 5 (Tokens with a constant sum)** *Appendix I*
#
# **The paper states.** Assume a multi-head attention layer with $H$ heads, embedding dimensions $d=d_h=d$, and $d_v=1$,
# and context size $n<d$. If all context vectors satisfy $\mathbf 1^\top e_i^{(t)}=C$ for all $t\in[T]$, $i\in[n]$ and
# some universal scalar $C\in\mathbb R$, then for any set of weights we have $\mathrm{rank}(Z)\le H(d-1)+1$.
#
# <details><summary>Slips (1)</summary>
#
# - "$d=d_h=d$" means $d_h=d$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The queries are arbitrary. If $C\ne0$, the tokens can be in general position. If $C=0$, they are
# in a hyperplane through the origin, and the rank is at most $H(d-1)$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/remark-full-rank -->
# <blockquote>
#
# **Text after Proposition 5 (Is a full rank out of reach?)** *Appendix I*
#
# **The paper states.** One might wonder whether under stronger assumptions, a full-rank $Z$ with rank $Hd$ is
# achievable or not. We prove that even the "General Position" on all tokens assumption is not enough. Hence even with
# the strongest assumptions, obtaining a full-rank matrix $Z$ is out of reach.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** We read "out of reach" as "not guaranteed", which is the meaning of "not enough", and take
# $H\ge2$. Full rank is possible: for $n\ge2$ and almost all tokens, which are in general position, $Z$ has rank
# $\min(T,Hd)$ (Bridge 3.3).
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# In every row of $Z$, the entries of each head sum to $C$. The difference of two such sums is 0, and $H$ heads give
# $H-1$ relations. If $C=0$, the sum of each head is itself 0, which gives one more relation.
#
# <details><summary>Proof of Text after Proposition 5</summary>
#
# *Not guaranteed.* Tokens that sum to $C \ne 0$ can be in general position, and by Proposition 5 the rank of $Z$ is
# then at most $H(d-1)+1$, less than $Hd$ for $H \ge 2$.
#
# *Not excluded, for $n \ge 2$.* By {claim:ref}`Bridge 3.3 <bridges/bridge-3-3>`, $Z$ has rank $\min(T, Hd)$ for almost
# all tokens, queries and weights. Dependent sets of $d$ tokens are of measure zero. So for almost all tokens, these are
# in general position and $Z$ has rank $Hd$, where $T \ge Hd$. (At $n = 1$ all heads give the same token, and the rank
# is at most $d$.) $\square$
#
# </details>
#
# ## See it run

# %%
import torch

from attention_theory.memorization.attention import features, random_heads
from attention_theory.memorization.certified.ranks import certify_token_sums
from attention_theory.memorization.exact_rank import exact_ranks
from attention_theory.memorization.examples import integer_vectors, sample_examples, with_token_sum
from attention_theory.memorization.kruskal import is_in_general_position
from attention_theory.memorization.rank_bounds import block_differences, rank_and_gap
from attention_theory.numerics import numerical_rank
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
total = 3.0  # C, at least 0.1
seed = 0  # seed of every draw, at least 0

# %%
require(total=(total, 0.1, None), seed=(seed, 0, None))

# %%
sizes = [(3, 4, 8), (4, 6, 12), (5, 8, 16)]
rows, nulls, after, sums, differences, chain = [], [], [], [], [], []
for H, n, d in sizes:
    examples = sample_examples(H * d + 5, n, d, shared=False, seed=seed)
    layer = random_heads(H, d, d, seed + 1)
    constant = features(layer, with_token_sum(examples, total))
    nulls.append((constant @ block_differences(H, d)).abs().max().item())
    after.append(rank_and_gap(constant, H * (d - 1) + 1)[1])
    first, *others = constant.split(d, dim=1)
    sums.append((torch.stack([first, *others]).sum(dim=-1) - total).abs().max().item())
    block_ranks = [int(numerical_rank(block)) for block in (first, *(block - first for block in others))]
    differences.append(max(block_ranks[1:]) - (d - 1))
    chain.append(int(numerical_rank(constant)) - sum(block_ranks))
    ranks = [int(numerical_rank(features(layer, data))) for data in (with_token_sum(examples, 0.0), examples)]
    rows.append((f"({H}, {n}, {d})", H * (d - 1) + 1, int(numerical_rank(constant)), *ranks))
show.table(["(H, n, d)", "H(d-1)+1", f"rank of Z, sum {total:g}", "sum 0", "free tokens"], rows)

# %%
H, n, d = sizes[0]
drawn = sample_examples(H * d + 5, n, d, shared=False, seed=seed)
fig, axis = show.axes()
for name, data, marker in (
    (f"sum {total:g}", with_token_sum(drawn, total), "o"),
    ("sum 0", with_token_sum(drawn, 0.0), "s"),
    ("free tokens", drawn, "^"),
):
    singular = torch.linalg.svdvals(features(random_heads(H, d, d, seed + 1), data)).clamp(min=1e-18)
    axis.semilogy(range(1, len(singular) + 1), singular / singular[0], marker=marker, label=name)
axis.axvline(H * (d - 1) + 1.5, linestyle="--", color="0.5")
axis.set(xlabel="index of the singular value of Z", ylabel="relative to the largest")
axis.legend()
show.figure(
    fig,
    name="token-sums",
    caption=f"Singular values of Z for three kinds of tokens, H = {H}, d = {d}. Dashed: H(d - 1) + 1.",
    alt="Three curves on a logarithmic axis. Two drop by many orders of magnitude near the dashed line; the third "
    "continues to the end.",
)

# %% [markdown]
# If all tokens have the same sum, the singular values drop to rounding level at the dashed line, and one earlier if the
# sum is 0. For unrestricted random tokens, which are in general position as well, $Z$ has full rank.
#
# ## How we checked
# To confirm general position, we test all subsets of $d$ among twelve integer tokens. As a control, we use tokens of
# sum 0, of which no $d$ are independent.

# %%


def whole_tokens(sum_of_each: int) -> torch.Tensor:
    """Twelve tokens of four whole numbers with a given sum."""
    free = integer_vectors(12, 3, seed, largest=25)
    return torch.cat([free, sum_of_each - free.sum(dim=1, keepdim=True)], dim=1)


# %%
claim = Claim("memorization/proposition-5")
claim.at_most("null vectors times Z, largest entry", max(nulls), 1e-12)
claim.equal("ranks less the bounds", sum(abs(row[2] - row[1]) for row in rows), 0)
claim.at_most("singular value after the bound", max(after), 1e-12)
claim.true("12 whole tokens, d = 4, sum 3: general position", is_in_general_position(whole_tokens(3)))
claim.at_most("rows of a head's block: sum less C", max(sums) / total, 1e-12, of="proof")
claim.at_most("difference of two blocks: largest rank less d - 1", max(differences), 0, of="proof")
claim.at_most("rank of Z less the sum over the blocks", max(chain), 0, of="proof")
claim.control.true("12 whole tokens, d = 4, sum 0: general position", is_in_general_position(whole_tokens(0)))
claim.control.at_most("free tokens: largest rank less the bound", max(row[4] - row[1] for row in rows), 0)
claim.certified("H = 3, n = 3, d = 4: the bounds for all tokens and weights", certify_token_sums(3, 3, 4))
for row in rows:
    claim.number(f"rank at {row[0]}", row[2])
    claim.number(f"rank at {row[0]}, sum 0", row[3])
claim.verdict()

# %%
full = [H * d for H, _, d in sizes]
below = {place: [full_rank - row[place] for row, full_rank in zip(rows, full, strict=True)] for place in (2, 4)}
claim = Claim("memorization/remark-full-rank")
claim.true("12 whole tokens, d = 4, sum 3: general position", is_in_general_position(whole_tokens(3)))
claim.at_least("tokens of one sum: dimensions that Z lacks, least", min(below[2]), 1)
free_tokens = integer_vectors(12, 4, seed, largest=25)
claim.true("12 free whole tokens, d = 4: general position", is_in_general_position(free_tokens))
in_full = exact_ranks(*sizes[0], sizes[0][2], shared=False, seed=seed)[-1]
claim.equal("free whole tokens, first size: exact rank of Z less Hd", in_full - full[0], 0)
claim.control.at_least("free tokens: dimensions that Z lacks, least", min(below[4]), 1)
claim.control.true("12 whole tokens, d = 4, sum 0: general position", is_in_general_position(whole_tokens(0)))
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The paper's proof cuts $Z$ into blocks $Z_h$, one for each head. The rows of $Z_h-Z_1$ sum to 0, so its rank is at
# most $d-1$, and the rank of $Z$ is at most the sum of the rank of $Z_1$ and those of the differences. We measure each
# step. At one size, sympy proves for all tokens and weights that the null vectors are correct.
#
# </details>
#
# ## What to remember
#
# - If all tokens have the same sum, every head except the first loses one dimension.
# - General position does not guarantee full rank, but it does not exclude it.
#
# ## Exercises
#
# 1. *By hand.* Four heads read tokens of width 8 and sum 3. What is the largest possible rank of $Z$? What is it for
#    sum 0?
#    <details><summary>Solution</summary>
#
#    It is $4\cdot7+1=29$ for sum 3, and $4\cdot7=28$ for sum 0.
#
#    </details>
# 2. *Predict, then run.* Set `total = 0.1`. Do the ranks change?
#    <details><summary>Solution</summary>
#
#    No. It only matters whether the sum is 0.
#
#    </details>
#
# Next: [Appendix I.1](conjecture_i_1_general_position.ipynb). There we prove what general position does guarantee.
