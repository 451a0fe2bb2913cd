# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix F.1 · Hunters and prey: an HFA layer that is the value function
# *Ustaomeroglu, Qu: Appendix F.1, "Non-identical agents revisited", Eqs. 35 and 36.*
#
# Hunters and prey move over a grid, some to the right and some upwards, one cell per step. A hunter gains 1 for every
# prey that it ever meets, and the prey loses 1. Can one layer of attention compute each of these gains from the
# starting positions, without playing the game?

# %%
import torch

from attention_theory.hyper_attention.certified.worlds import certify_hunters
from attention_theory.hyper_attention.layers.hyper_feature_attention import linear_hyper_feature_attention
from attention_theory.hyper_attention.worlds.coupled_features import (
    block_parameters,
    coupled_interaction,
    embed_features,
    layer_of,
)
from attention_theory.hyper_attention.worlds.predator_prey import (
    DIAGONAL,
    HUNTER,
    POLICY,
    RIGHT,
    SPECIES,
    X,
    Y,
    diagonal_residual,
    feature_sizes,
    meetings,
    sample_worlds,
    simulated_values,
    turn_over,
    value_heads,
)
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 12  # cells along each axis N, from 4 to 40
entities = 12  # entities in a world L, from 6 to 100
worlds = 200  # random worlds, from 50 to 10000
paper_size = 360  # N of the paper's count, from 10 to 10000
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 4, 40), entities=(entities, 6, 100), worlds=(worlds, 50, 10_000))
require(paper_size=(paper_size, 10, 10_000), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# Let $x$ point to the right and $y$ down, as in the picture below. A hunter starts in the cell $(1,1)$ and moves right;
# a prey starts in $(3,3)$ and moves up. After two steps both are in $(3,1)$: the hunter gains 1 and the prey loses 1.
# We can see this from the start: the prey is two cells to the right of the hunter and two below it.
#
# We play random worlds step by step, without any formula, and show one of them.

# %%
world = sample_worlds(worlds, entities, size, seed)
grids = ("torus", "cylinder", "walls")
values = {edges: simulated_values(world, size, edges) for edges in (*grids, "by pair")}

# %%
shown = world[0]
fig, axis = show.axes(width=5.0, height=4.6)
for row, entity in enumerate(shown):
    hunter, right = entity[SPECIES] == HUNTER, entity[POLICY] == RIGHT
    colour = show.COLOURS[1] if hunter else show.COLOURS[0]
    x, y = entity[X].item(), entity[Y].item()
    end = (size - 0.5, y) if right else (x, -0.5)
    axis.annotate("", xy=end, xytext=(x, y), arrowprops={"arrowstyle": "->", "color": colour, "alpha": 0.35})
    axis.plot(x, y, "o" if hunter else "s", color=colour, markersize=8)
    gain = values["torus"][0, row]
    axis.annotate(f"{gain:+.0f}" if gain else "0", (x, y), xytext=(5, 5), textcoords="offset points")
axis.set(xlim=(-0.7, size - 0.3), ylim=(size - 0.3, -0.7), xlabel="$n^x$", ylabel="$n^y$", aspect="equal")
show.figure(
    fig,
    name="world",
    caption="One world on the torus. Hunters are circles and prey are squares. Arrows show their paths up to the "
    "edge, and numbers show their values.",
    alt="A grid with twelve markers, circles for hunters and squares for prey, with faint arrows to the right or "
    "upwards and small whole numbers next to them.",
)

# %% [markdown]
# The hunter at $(3,11)$ gains 2. One prey starts in its cell, and the prey from $(5,1)$ arrives over the right edge and
# meets it at $(3,1)$ after ten steps.
#
# ## The paper states
# <!-- claim hyper-attention/predator-prey-construction -->
# <blockquote>
#
# **Appendix F.1 (The value function of hunters and prey as one layer)** *Appendix F.1*
#
# **The paper states.** Agents on an $[N] \times [N]$ grid always move right (R) or up (U). A hunter gains 1 for each
# prey that it collides with, and that prey loses 1. The values are three heads: opposite species times different
# policies and $n^x_i - n^x_j \approx n^y_i - n^y_j$; times (R, R) and $n^y_i \approx n^y_j$; times (U, U) and $n^x_i
# \approx n^x_j$; with weights $\mathbb I\{\ell_j = P\} - \mathbb I\{\ell_j = H\}$.
#
# **What is true.** On a grid that wraps around in both directions, with $y$ pointing down, the sum of the three heads
# is the value if differences are taken modulo $N$ and the last two heads also require the other coordinate to agree.
#
# **What changed.** On a grid that wraps around, two agents with the same policy meet only if they start in the same
# cell. Those that start in the same row or column meet only where a wall stops them. No single grid suits all three
# heads.
#
# <details><summary>Slips (2)</summary>
#
# - The paper does not say what happens at the edge of the grid, nor that $y$ points down. With $y$ pointing up, the
#   condition is on sums of coordinates.
# - Each of the three factors of a head contains the weight. One is enough; the product is correct because three is odd.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The paper's three heads are exact if pairs with the same policy move between walls and all other
# pairs move on a torus.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/remark-predator-prey-counts -->
# <blockquote>
#
# **Appendix F.1 (Parameters for hunters and prey at N = 360)** *Appendix F.1*
#
# **The paper states.** HyperFeatureAttention needs $\mathcal O(|\mathcal S_{\mathrm{spcs}}|^2 + |\mathcal S_q|^2 +
# |\mathcal S_r|^2)$ parameters. For $N = 360$, approximately $10^6$ parameters are sufficient for it, while
# self-attention requires approximately $10^7$.
#
# **What is true.** At $N = 360$, the paper's three heads have 388,824 table entries if the diagonal has a one-hot
# vector. The corrected heads for the torus have 648,024. Self-attention on product symbols needs $(4N^2)^2 = 2.7 \cdot
# 10^{11}$ entries.
#
# **What changed.** With the paper's features, where positions are $N^2$ symbols, the count for HyperFeatureAttention is
# $5.0 \cdot 10^{10}$. Its number for self-attention is too small by a factor of 27,000; with $2N$ in place of $N^2$,
# the count would be $8.3 \cdot 10^6$.
#
# <details><summary>Slips (1)</summary>
#
# - The order of magnitude for self-attention contains $|\mathcal S|^2$ in place of $|\mathcal S_r|^2$.
#
# </details>
#
# <details><summary>Chosen after a run</summary>
#
# The heads' counts must round to $10^6$ as powers of ten; a factor of two was the threshold when four heads were
#   counted.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A gain is a sum of products over the other entities: the species must differ, *and* the policies must be a given pair,
# *and* the coordinates must satisfy a condition. A head of HyperFeatureAttention (HFA) multiplies tables that each read
# one feature of $i$ and one of $j$. The paper uses one head per pair of policies.
#
# Suppose that $i$ moves right and $j$ moves up. They meet at time $t$ if $t=n^x_j-n^x_i$ and $t=n^y_j-n^y_i$, so these
# differences must agree. On a torus $t$ counts modulo $N$, so the meeting is always still to come. The condition stays
# the same if $i$ and $j$ exchange roles, so one head is enough for both cases.
#
# Two entities with the same policy keep their distance on a torus. They meet only if they start in the same cell, which
# takes one more factor in the last two heads. With walls, the one in front stops and the other catches up; in this case
# the paper's last two heads are correct.
#
# <details><summary>Proof of Appendix F.1, non-identical agents revisited, eqs (35)-(36), as corrected</summary>
#
# *Who meets.* For $i$ moving right and $j$ up the equations above are solved by one $t$ modulo $N$ if and only if the
# condition is met, and then at some $t \ge 0$. For $i$ up and $j$ right the roles are exchanged, and the condition is
# the same. Two of one policy keep their distance on the torus, and meet if and only if they start in one cell. In the
# box two that both move right keep their distance until the one in front stands at the wall, where the other reaches it
# if and only if they are in one row; the same with columns for two that move up.
#
# *What it is worth.* If the species differ, entity $j$ changes the value of $i$ by $+1$ if $j$ is prey and by $-1$ if
# it is a hunter: a weight that depends on $j$ alone, and the term $j = i$ is 0. (The product of three such weights in
# the paper is the weight itself, because three is odd.) Pairs of different policies, two that move right and two that
# move up exclude each other, so the value is the sum of three heads. Each is a product of tables over one feature of
# $i$ and one of $j$: the species, the policies, and the diagonal $n^x - n^y$ modulo $N$, or the row and the column.
# With one-hots of these features side by side this is a layer of Definition 5.1.
#
# *No single grid has the printed heads.* On the torus a hunter and a prey that move right in one row, from different
# cells, never meet, and the second head says that they do. In the box and on the cylinder a hunter that starts in $(1,
# 1)$ and moves right never comes to column 0, where a prey starts in $(0, 0)$ and moves up. The first head says that
# they meet. All of this holds with $y$ in either direction. $\square$
#
# </details>
#
# <details><summary>Proof of Appendix F.1, text: about 10⁶ against 10⁷ parameters, as corrected</summary>
#
# Each of the three heads has the tables of species and policies, $2 \times 2$ each: $24$ entries in all. The diagonal
# modulo $N$, a row and a column have a table of $N^2$ entries each. The printed heads have three of these, $24 + 3N^2$,
# and on the torus there are five, $24 + 5N^2$. At $N = 360$ these are 388,824 and 648,024. With $|\mathcal S_r| = N^2$
# a table of positions has $N^4$ entries. Self-attention reads one symbol for every combination of species, policy and
# cell, of which there are $4N^2$, and its table has $16 N^4 = 2.7 \cdot 10^{11}$ entries. $\square$
#
# </details>
#
# ## See it run
# We build the paper's three heads, and the same heads with one more factor in the last two. The layer reads one-hots of
# species, policy, $x$, $y$ and the diagonal $n^x-n^y$. We play on a torus, on a cylinder with a wall at the right, and
# in a box, with $y$ pointing down and up.

# %%
tokens = embed_features(world, feature_sizes(size))
outputs, tables = {}, {}
for form in ("printed", "correct"):
    heads = value_heads(size, form)
    layers = [linear_hyper_feature_attention(tokens, *layer_of(head, feature_sizes(size))) for head in heads]
    outputs[form], tables[form] = sum(layers)[..., 0], coupled_interaction(world, heads)
upwards = turn_over(world, size)  # the same world, played with y pointing up
in_one_grid = {edges: (values[edges] != tables["printed"]).sum().item() for edges in grids}
in_one_grid |= {
    f"{edges}, y up": (simulated_values(upwards, size, edges) != tables["printed"]).sum().item() for edges in grids
}
show.table(["grid", "entities with wrong values from the paper's three heads"], list(in_one_grid.items()))

# %% [markdown]
# The paper's three heads are not correct on any single grid. Next, we look at the first head alone, for pairs of
# different policies.

# %%
differ = world[:, :, None, POLICY] != world[:, None, :, POLICY]
named = differ & (world[:, :, None, DIAGONAL] == world[:, None, :, DIAGONAL])
played = {edges: meetings(world, size, edges) & differ for edges in grids}
played |= {"torus, y up": meetings(upwards, size, "torus") & differ}
wrong = {grid: int((named != met).sum()) for grid, met in played.items()}
show.table(
    ["grid", "pairs that meet", "pairs that satisfy the condition", "wrong pairs"],
    [[grid, int(met.sum()), int(named.sum()), wrong[grid]] for grid, met in played.items()],
    caption="Pairs of different policies.",
)

# %% [markdown]
# On the torus with $y$ pointing down, the condition is correct for every pair.
#
# ### How many parameters
# We count the entries of the tables.

# %%
N = paper_size
entries = {form: block_parameters(value_heads(N, form)) for form in ("printed", "correct")}
positions_as_printed = 3 * (8 + N**4)
self_attention = (2 * 2 * N**2) ** 2
mistaken = (2 * 2 * 2 * N) ** 2
show.table(
    ["count", "parameters"],
    [
        ["HFA, the paper's heads with a one-hot for the diagonal", entries["printed"]],
        ["HFA, heads for the torus", entries["correct"]],
        ["HFA, the paper's features (N² positions)", positions_as_printed],
        ["self-attention, one symbol for every combination", self_attention],
        ["self-attention, 2N in the place of N²", mistaken],
    ],
)

# %% [markdown]
# The heads have about half a million entries. The number $10^7$ results if we take $2N$ positions instead of $N^2$.
#
# ## How we checked
# With the extra factor, the layer must give the values of the game on the torus. The paper's heads must do so if only
# pairs with the same policy meet walls. As controls, we turn $y$ upwards, omit a head, and build the diagonal from
# one-hot vectors of $x$ and $y$. On small grids we play every pair of entities.

# %%
claim = Claim("hyper-attention/predator-prey-construction")
claim.close("torus, one factor more in two heads, against the play", outputs["correct"], values["torus"], atol=1e-12)
claim.close("walls for one policy, else torus: the printed heads", outputs["printed"], values["by pair"], atol=1e-12)
claim.equal("torus, one head for both directions, wrong pairs", wrong["torus"], 0)
best = min(in_one_grid.values())
claim.printed.equal(f"three printed heads, best single grid: wrong values, of {named[..., 0].numel()}", best, 0)
one_less = coupled_interaction(world, value_heads(size)[1:])
claim.control.equal("without the first head, largest error", (one_less - values["torus"]).abs().max(), 0)
claim.control.at_most("diagonal as a bilinear form in one-hots of x and y, missed", diagonal_residual(size), 1e-12)
claim.control.equal("torus with y up, wrong pairs", wrong["torus, y up"], 0)
same = world[:, :, None] == world[:, None, :]
both_right = world[:, :, None, POLICY] == RIGHT
alike_named = ~differ & torch.where(both_right, same[..., Y], same[..., X])
alike_met = meetings(world, size, "torus") & ~differ
claim.printed.equal("torus, pairs of one policy named in error", int((alike_named & ~alike_met).sum()), 0, of="proof")
claim.equal(
    "torus, tables of the corrected heads, error", (tables["correct"] - values["torus"]).abs().max(), 0, of="proof"
)
claim.certified("grids of two to five cells: all worlds", certify_hunters())
claim.verdict()

# %% [markdown]
# We compare the counts with their formulas. As a control, we omit a head.

# %%
claim = Claim("hyper-attention/remark-predator-prey-counts")
claim.equal("HFA, printed heads with a diagonal, against the formula", entries["printed"], 24 + 3 * N**2)
formula = 24 + 5 * N**2
claim.equal("HFA, heads for the torus, against the formula", entries["correct"], formula)
nearest = 10**0.5 - 1  # what rounds to this power of ten
printed_heads, correct_heads = (block_parameters(value_heads(360, form)) for form in ("printed", "correct"))
claim.number("HFA, printed heads with a diagonal, N = 360", printed_heads, printed=1e6, within=nearest)
claim.number("HFA, heads for the torus, N = 360", correct_heads, printed=1e6, within=nearest)
claim.printed.at_most("HFA with the printed features, N = 360, at most twice 10^6", 3 * (8 + 360**4), 2e6)
claim.printed.at_most("self-attention, N = 360, at most twice 10^7", (2 * 2 * 360**2) ** 2, 2e7)
claim.number("self-attention with 2N in the place of N²", mistaken, printed=1e7)
one_head_less = block_parameters(value_heads(N, "correct")[1:])
claim.control.equal("HFA, heads for the torus but the first, against the formula", one_head_less, formula)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# The paper does not say what happens at the edge of the grid. Its other worlds wrap around: Section 7.1 has a cylinder,
# and Appendix B.1.3 has a torus. We judge the construction on the grid that suits it best. The paper does not explain
# the sign $\approx$; we read it as equality. On a grid that does not wrap around, $t$ must not be negative, so two
# heads are needed. The diagonal needs a one-hot, because a condition on both coordinates is not bilinear in one-hots of
# $x$ and $y$. The paper's count uses a table over all pairs of cells instead.
#
# </details>
#
# ## What to remember
# - The gains are a sum of products of small tables, which is what HyperFeatureAttention computes.
# - Whether two entities meet depends on what happens at the edge of the grid.
# - HFA needs about half a million numbers, whereas self-attention needs hundreds of billions.
#
# ## Exercises
#
# 1. *By hand.* On a torus with $N=12$, a hunter in $(10,5)$ moves right and a prey in $(1,8)$ moves up. Do they meet?
#    <details><summary>Solution</summary>
#
#    Yes. Modulo 12, $1-10$ is 3, and $8-5$ is also 3. After three steps both are in $(1,5)$.
#
#    </details>
# 2. *Predict, then run.* Set `size = 20`. Are there more or fewer meetings, and is the layer still exact?
#    <details><summary>Solution</summary>
#
#    There are fewer, because the grid has more cells. The layer with the extra factor stays exact.
#
#    </details>
#
# Back to [Definition 5.1](definition_5_1_hyper_feature_attention.ipynb), which defines the layer used on this page.
