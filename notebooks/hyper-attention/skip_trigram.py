# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix G.2.1 · The skip-trigram bug
# *Ustaomeroglu, Qu: Appendix G.2.1.*
#
# After "keep ... in" we expect the word "mind", and after "keep ... at" the word "bay". One head of attention cannot
# learn both from the word "keep" alone. The paper therefore looks at three words together.

# %%
import torch
from torch import Tensor

from attention_theory.hyper_attention.certified.tuples import certify_skip_trigram
from attention_theory.hyper_attention.interactions.interactions import aggregate_interactions
from attention_theory.hyper_attention.layers.linear_hyper_attention import aggregate_tuples
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
contexts = 3  # context words in the larger task c, from 3 to 8
queries = 3  # query words in the larger task q, from 3 to 8
draws = 200  # random heads tried, from 1 to 10000
seed = 0  # of every draw, at least 0

# %%
require(contexts=(contexts, 3, 8), queries=(queries, 3, 8), draws=(draws, 1, 10_000), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# The last word, the query, decides how strongly the head listens to "keep". The word "keep" then votes for the next
# word, always with the same two numbers: one for "mind" and one for "bay". We want the votes (1, 0) after "in" and
# (0, 1) after "at".
#
# If "keep" votes (1, 0) and only "in" listens, the vote after "at" is missing: the squared error is 1. If "keep" votes
# (½, ½) and both listen, all four votes are off by ½, and the squared error is 4 · ¼ = 1.

# %%
tables = {
    "wanted": [[1, 0], [0, 1]],
    "only “in” listens": [[1, 0], [0, 0]],
    "both listen": [[0.5, 0.5], [0.5, 0.5]],
}
fig, axis = schematic.canvas(7.0, 1.9)
for column, (name, values) in enumerate(tables.items()):
    x = 1.8 + 4.2 * column
    schematic.matrix(axis, values, (x, 0.9), cell=0.9, words=name)
    for row, query in enumerate(("in", "at")):
        schematic.text(axis, (x - 0.4, 2.25 - 0.9 * row), query, size=9)
    for word, answer in enumerate(("mind", "bay")):
        schematic.text(axis, (x + 0.45 + 0.9 * word, 2.95), answer, size=9)
show.figure(
    fig,
    name="votes",
    caption="The votes of “keep” for the next word: full cells are 1, empty cells are 0, and the others are ½.",
    alt="Three tables with the rows in and at and the columns mind and bay. The wanted one is the identity. In the "
    "second only in and mind is filled. In the third all four cells are half filled.",
)

# %% [markdown]
# In the table of a head, the two rows are always multiples of one vector.
#
# ## The paper states
# Here $f$ says how strongly one word listens to another, and $w$ is a word's vector of votes.
#
# <!-- claim hyper-attention/skip-trigram -->
# <blockquote>
#
# **Skip-trigram example (Keep in mind, keep at bay)** *Appendix G.2.1*
#
# **The paper states.** Increasing the probability of "... keep ... in mind" can be done in two ways: increasing
# $f(\text{in}, \text{keep})$, which also boosts "... keep ... in bay", or modifying $w_\text{keep}$, which reduces "...
# keep ... at bay". One can introduce a ternary interaction term $f(\text{in}, \text{keep}, \text{deadline})$, allowing
# the model to favor "mind" without simultaneously boosting "bay".
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The contribution of one context word has rank 1 over the queries, so with it alone one head has
# a squared error of at least 1. The queries' own vectors also count: a head on $c$ contexts and $q$ queries has rank at
# most $c + q$, with a softmax and without, so it is certain to fail only if $c q > c + q$. A third word does not help
# where the same two words require two answers. A vector for the pair of context word and query needs no third word.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# **One head.** The word "keep" contributes $f(\text{query}, \text{keep})\, w_{\text{keep}}$, a table of rank 1. By the
# theorem of Eckart and Young, the best such table has a squared error of 1.
#
# **Three words.** HyperAttention of order 3 has a vector of votes for each *pair* of words. The paper uses a third
# word, as in "keep the deadline in mind", with the vector $w_{\text{keep}, \text{deadline}}$. With the pair (keep, in)
# itself, no third word is needed.
#
# **How strong is the argument?** The words "in" and "at" are also tokens, and they attend to themselves. With $c$
# context words and $q$ queries, a head has $c+q$ vectors, so its table can have rank $c+q$. It is certain to fail only
# if there are more phrases, $cq>c+q$. For $3\times3$ phrases with nine answers, its squared error is at least $9-6=3$.
#
# ## See it run
# A head outputs attention weights times the vectors of the words. We draw scores at random, and compute the best
# vectors by least squares.


# %%
def task(contexts: int, queries: int) -> tuple[Tensor, Tensor]:
    """Every sequence (context, query), and the identity: one answer each. Query words come after the context words."""
    symbols = torch.cartesian_prod(torch.arange(contexts), contexts + torch.arange(queries))
    return symbols, torch.eye(len(symbols), dtype=torch.float64)


def linear_design(effect: Tensor, symbols: Tensor) -> Tensor:
    """What a linear head puts on every word: row n is ``f`` of the query at each word of sequence n."""
    return aggregate_interactions(symbols, effect, torch.eye(len(effect), dtype=torch.float64))[:, -1]


def softmax_design(effect: Tensor, symbols: Tensor) -> Tensor:
    """The same with the paper's softmax: ``exp(f)`` over its sum."""
    weights = linear_design(effect.exp(), symbols)
    return weights / weights.sum(dim=1, keepdim=True)


# %%
def least_error(design: Tensor, answers: Tensor) -> float:
    """The squared error of the best vectors for a design."""
    return (design @ torch.linalg.pinv(design) @ answers - answers).square().sum().item()


draw = generator(seed)

# %%
KEEP, IN, AT = 0, 1, 2
phrases, mind_and_bay = task(1, 2)
scores = torch.zeros(draws, 3, 3, dtype=torch.float64)
scores[:, [IN, AT], KEEP] = normal(draws, 2, seed=draw)
one_head_errors = [least_error(linear_design(one, phrases), mind_and_bay) for one in scores]
both_alike = torch.zeros(3, 3, dtype=torch.float64)
both_alike[[IN, AT], KEEP] = 1
same_answer_error = least_error(linear_design(both_alike, phrases), mind_and_bay[[0, 0]])

# %%
two_heads = torch.zeros_like(mind_and_bay)
for query, answer in zip((IN, AT), mind_and_bay, strict=True):
    effect, vectors = torch.zeros(3, 3, dtype=torch.float64), torch.zeros(3, 2, dtype=torch.float64)
    effect[query, KEEP], vectors[KEEP] = 1, answer
    two_heads += aggregate_interactions(phrases, effect, vectors)[:, -1]
two_heads_error = (two_heads - mind_and_bay).square().sum()

# %% [markdown]
# Next, we use all pairs of a context word and a query, each with a different answer. We choose the weights of order 3
# by hand.


# %%
def ternary(symbols: Tensor, answers: Tensor, size: int) -> Tensor:
    """Order 3: f picks the pair (context, query), and w of the pair is the answer."""
    effect = torch.zeros(size, size, size, dtype=torch.float64)
    weights = torch.zeros(size, size, answers.shape[1], dtype=torch.float64)
    for (context, query), answer in zip(symbols.tolist(), answers, strict=True):
        effect[query, context, query] = 1.0
        weights[context, query] = answer
    return aggregate_tuples(symbols, effect, weights, "le")[:, -1]


# %%
designs = {"linear": linear_design, "softmax": softmax_design}
small, small_answers = task(2, 2)
repaired = {
    kind: least_error(design(normal(4, 4, seed=draw), small), small_answers) for kind, design in designs.items()
}

large, large_answers = task(contexts, queries)
size = contexts + queries
random_errors = {
    kind: min(least_error(design(normal(size, size, seed=draw), large), large_answers) for _ in range(draws))
    for kind, design in designs.items()
}
two_random_heads = torch.cat([linear_design(normal(size, size, seed=draw), large) for _ in range(2)], dim=1)
two_heads_large = least_error(two_random_heads, large_answers)
least_possible = contexts * queries - size
ternary_error = {
    n: (ternary(s, a, k) - a).abs().max()
    for n, (s, a, k) in {"2 x 2": (small, small_answers, 4), "larger": (large, large_answers, size)}.items()
}

# %% [markdown]
# Finally, we add a third word: first "deadline" or "dogs", then the same word for both answers.

# %%
DEADLINE, DOGS, IN_3, AT_3 = 1, 2, 3, 4
told_apart = torch.tensor([[KEEP, DEADLINE, IN_3], [KEEP, DOGS, AT_3]])
alike = torch.tensor([[KEEP, DOGS, IN_3], [KEEP, DOGS, AT_3]])
effect = torch.zeros(5, 5, 5, dtype=torch.float64)
effect[IN_3:, KEEP, DEADLINE : DOGS + 1] = 1.0
each_object = torch.zeros(5, 5, 2, dtype=torch.float64)
each_object[KEEP, DEADLINE : DOGS + 1] = torch.eye(2, dtype=torch.float64)
third_word = {
    name: least_error(aggregate_tuples(some, effect, each_object, "lt")[:, -1], mind_and_bay)
    for name, some in {"told apart": told_apart, "alike": alike}.items()
}

# %%
rest = f"{contexts} contexts, {queries} queries"
show.table(
    ["task", "layer", "squared error"],
    [
        ["contribution of one context word, 2 queries", "one head, best of random scores", min(one_head_errors)],
        ["contribution of one context word, 2 queries", "two heads, built", two_heads_error],
        *[["2 contexts, 2 queries", f"one {kind} head with its self term", one] for kind, one in repaired.items()],
        *[[rest, f"one {kind} head, best of random scores", one] for kind, one in random_errors.items()],
        [rest, "one head, bound by rank", least_possible],
        [rest, "two linear heads, random scores", two_heads_large],
        [rest, "HyperAttention, order 3", ternary_error["larger"] ** 2],
        ["two objects, two answers", "order 3, vector of (keep, object)", third_word["told apart"]],
        ["one object, two answers", "order 3, vector of (keep, object)", third_word["alike"]],
    ],
)

# %%
design = linear_design(normal(size, size, seed=draw), large)
one_head = design @ torch.linalg.pinv(design) @ large_answers
fig, panels = show.axes(columns=2, width=7.0, height=3.4)
for panel, (title, scores) in zip(
    panels, {"one head, best vectors": one_head, "order 3": ternary(large, large_answers, size)}.items(), strict=True
):
    panel.imshow(scores, vmin=-0.3, vmax=1)
    panel.set(title=title, xlabel="answer", ylabel="context and query")
    panel.grid(False)
show.figure(
    fig,
    name="answers",
    caption="Scores of the answers for every pair of context and query. One head spreads each answer over the "
    "phrases that share its context or its query; order 3 gives the identity.",
    alt="Two square images. The left one has a weak diagonal and a pattern of stripes around it. The right one has "
    "only a bright diagonal.",
    photo=True,
)

# %% [markdown]
# One head spreads each answer over several phrases, whereas order 3 gives each phrase its answer.
#
# ### Try the nine phrases
# Choose a phrase. {doc}`/instruments/three_words` explains what this shows.
#
# <div class="instrument" data-instrument="three_words" data-start="Load the phrases">
#
# The instrument is on the site of the book.
#
# </div>
#
# ## How we checked
# We compare linear and softmax heads with the bound from the rank, and order 3 with the answers. The controls are equal
# answers, two heads, and two answers for one pair of words. For a single context word, a sum of squares proves the
# bound for all scores and vectors.

# %%
claim = Claim("hyper-attention/skip-trigram")
spread = max(one_head_errors) - min(one_head_errors)
claim.equal("share of one context word, one head, squared error", min(one_head_errors), 1.0, tolerance=1e-9)
claim.at_most("the same over all scores tried, spread", spread, 1e-9)
claim.equal("two heads, squared error", two_heads_error, 0)
for kind, error in repaired.items():
    claim.at_most(f"2 x 2, one {kind} head with its self term, squared error", error, 1e-20)
for kind, error in random_errors.items():
    claim.at_least(f"larger task, one {kind} head: least error of random scores", error, least_possible - 1e-9)
claim.at_most("2 x 2 and the larger task, order 3, error", ternary_error, 1e-12)
by_object = third_word["told apart"]
claim.at_most("three words, order 3 with w of (keep, object), squared error", by_object, 1e-24, of="proof")
claim.control.at_most("the same with one object for both answers, squared error", third_word["alike"], 1e-24)
claim.control.at_least("larger task, two heads: error", two_heads_large, least_possible - 1e-9)
claim.control.equal("one head misses 1 when both queries want one answer", same_answer_error, 1.0, tolerance=1e-12)
claim.certified("one context word: all scores and vectors", certify_skip_trigram())
claim.verdict()

# %% [markdown]
# ## What to remember
# - What one word contributes through one head has rank 1, so it cannot give both phrases their exact votes.
# - The queries have vectors too. One head is certain to fail only if there are more phrases than words.
# - Order 3 has a vector for each pair of words, and is exact if the pair determines the answer.
#
# ## Exercises
#
# 1. *By hand.* Which squared error can one head not get below, with 4 contexts, 4 queries and 16 answers?
#    <details><summary>Solution</summary>
#
#    The wanted table is the identity of size 16, and a head has rank at most $4+4=8$. Its squared error is at least
#    $16-8=8$.
#
#    </details>
# 2. *Predict, then run.* Set `contexts = 5` and `queries = 5`. What are the errors of one head and of order 3?
#    <details><summary>Solution</summary>
#
#    One head errs by at least $25-10=15$, which the best of our random heads reaches. Order 3 has no error.
#
#    </details>
#
# Next: [Definition 6.1](definition_6_1_hyper_attention.ipynb). Which pairs of words does the layer sum over?
