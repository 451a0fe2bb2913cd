# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma C.1 · A look-up is a head
#
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Lemma C.1 and Algorithm 3, Appendix C.*
#
# What is the simplest useful thing that an attention head can do? It can look something up: a token holds a query,
# and the head returns the value stored under the key that equals it. If we append every output as a new token, lists
# of look-ups form a small programming language, in which the paper writes its universal machine. Can we turn all
# programs in this language into heads?

# %%
from itertools import product

import torch

from attention_theory.linear_attention.certified.small_machines import certify_lookups, certify_walks
from attention_theory.linear_attention.learning.regression import least_squares
from attention_theory.linear_attention.machines.block_heads import BlockLayer, dense
from attention_theory.linear_attention.machines.example_programs import random_table, random_walk_prompt, walk_program
from attention_theory.linear_attention.machines.programs import Lookup, LookupProgram
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
#
# Three tokens hold a key and a value: `a` 2, `b` 5, and `c` 3. The last token looks for `b`. We write letters as
# orthogonal unit vectors, so the inner products of this query with the keys are 0, 1 and 0. The head adds up the values
# with these weights: $0\cdot2+1\cdot5+0\cdot3=5$.

# %%
fig, axis = schematic.canvas(height=1.9)
tops = schematic.tokens(axis, ["a: 2", "b: 5", "c: 3", "b ?"], (0.7, 0.7), step=2.4)
for number, weight in enumerate((0, 1, 0)):
    colour = schematic.BLUE if weight else schematic.QUIET
    schematic.arrow(axis, tops[3], tops[number], bend=-0.35, colour=colour)
    schematic.text(axis, (tops[number][0] - 0.45, tops[number][1] + 0.3), str(weight), colour, 9)
schematic.tokens(axis, ["5"], (11.3, 0.7), lit=[0], step=2.4)
schematic.arrow(axis, (10.1, 1.15), (11.2, 1.15))
show.figure(
    fig,
    name="look-up",
    caption="The last token looks for the key *b*. The numbers at the arrows are inner products, and the blue token "
    "is the output.",
    alt="Four tokens and an output. Arrows from the last token lead to a, b and c with the weights 0, 1 and 0. The "
    "output is 5.",
)

# %% [markdown]
# If two tokens held the key `b`, the head would return the sum of their values. If no token held it, the head would
# return zero.
#
# ## The paper states
#
# <!-- claim linear-attention/algorithm-3 -->
# <blockquote>
#
# **Algorithm 3 (Autoregressive programs of lookups)** *Appendix C*
#
# **The paper states.** Let obj[r] be the rightmost token. Let obj[r+1] be a new token initialized with positional
# embedding obj[r+1].pos = r+1. For each {AttrSource, AttrDest}: LookupDict = {{obj.AttrKey: obj.AttrValue} for obj in
# OBJ}. Let query = $B_Q$(obj[r].AttrSource). If query in LookupDict.Keys then obj[r+1].AttrDest =
# $B_V$(LookupDict(query)). Append next token.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** With heads, numbering the new token is also a look-up: the last token finds itself by its
# position, and $B_V$ increases the position by one.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/lemma-c-1 -->
# <blockquote>
#
# **Lemma C.1 (A look-up is a head)** *Appendix C*
#
# **The paper states.** For any program $\mathcal P$ written in the form of algorithm 6, there exists corresponding MHLA
# parameters $\Theta\in\Omega_H$ such that $\mathrm{MHLA}_\Theta(Z)=\mathcal P(Z)$.
#
# **What is true.** Let every letter of an attribute be a unit vector, and let each attribute have separate rows. For
# every program of look-ups, no two of which find a value for the same destination, there are heads, one for each
# look-up and one for the position, whose output at the last token is the token that the program writes next. $Q$ holds
# the matrix of $B_Q$ in the key rows and source columns, and $V$ holds that of $B_V$ in the destination rows and value
# columns.
#
# **What changed.** Two lines of a program may write to one attribute, and then the later assignment counts. Heads add
# instead. We give a program with two such lines, in the form of Algorithm 6, that no heads can run.
#
# <details><summary>Slips (2)</summary>
#
# - The lemma names Algorithm 6, which is one program. Algorithm 3 defines the programs.
# - The proof puts a block in the source rows and key columns of $V$ and $B_V$ in the value rows and destination columns
#   of $Q$. These places become right if $V$ and $Q$ are exchanged and rows are read as columns.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The look-up of a key that several tokens hold returns the sum of their values, as line 9 of
# Algorithm 3 says, and that of an absent key returns zero.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# A head computes $VZ(Z^\top Qz_n)$. Through a block $B_Q$ in the key rows and source columns, the matrix $Q$ turns
# the query in the last token $z_n$ into a key. The inner products are then 1 at the tokens with this key. Through a
# block $B_V$ in the destination rows and value columns, the matrix $V$ returns their values.
#
# The outputs of several heads add up. If two look-ups find a value for the same destination, the program keeps the
# later value, while the layer returns the sum. No other heads can help, because with a fixed last token the output is
# a sum over the tokens.
#
# <details><summary>Proof of Lemma C.1, repaired</summary>
#
# Every attribute has rows of its own, in which a letter is a unit vector and no letter is zero. Take one lookup, with
# functions $f_Q$ from source letters to keys and $f_V$ from values to destination letters. Let $B_Q$ be the matrix with
# $B_Qe_s = e_{f_Q(s)}$ in the key rows and source columns of $Q$, and $B_V$ that with $B_Ve_v = e_{f_V(v)}$ in the
# destination rows and value columns of $V$; all else is zero. If the last token has the source letter $s$, then $Qz_n$
# is $e_{f_Q(s)}$ in the key rows and zero in all others, so that $z_i^\top Qz_n$ is 1 if token $i$ has the key
# $f_Q(s)$, else 0. Hence
#
# $$VZ(Z^\top Qz_n) = \sum_{i:\ \text{key of } i\ =\ f_Q(s)} Vz_i ,$$
#
# and $Vz_i$ is the letter $f_V(\text{value of } i)$ in the destination rows, or zero if $i$ has no value. So the head
# writes what the lookup returns: one letter if one token has the key, the sum if several have it, zero if none has, or
# if the last token has no source letter. Heads for the several lookups of a program are added. By assumption at most
# one of them finds a value for a destination, so the rows of this destination hold its letter, or zero if none does.
#
# *The assumption is needed.* With a fixed last token the output $\sum_h V_h \big(\sum_i z_iz_i^\top\big) Q_h z_n$ is a
# sum over the tokens $i$. Let two places before it hold $t_1$ or nothing, and $t_2$ or nothing. For every $\Theta$
#
# $$y(t_1, t_2) + y(\cdot, \cdot) = y(t_1, \cdot) + y(\cdot, t_2) .$$
#
# Let the program have two lookups with one destination, of which the first finds $v_1$ in $t_1$, the second $v_2$ in
# $t_2$. By Algorithm 3 the later assignment stands, and in these rows the four outputs are $e_{v_2}$, $0$, $e_{v_1}$
# and $e_{v_2}$. So $e_{v_1} = 0$, which no letter is; in the other order of the two lookups, $e_{v_2} = 0$.
#
# Line 5 of Algorithm 3 numbers the new token. This is a lookup with the position as source, key and value, $f_Q$ the
# identity and $f_V(r) = r+1$: positions differ, so that the last token finds itself alone, and the new token has the
# position $r+1$. With this head the output is the program's next token; by induction over the steps it is so at every
# step, as long as every source
# holds a letter or nothing. Entries stay in $\{0, 1\}$ and nothing is rounded. $\square$
#
# </details>
#
# ## See it run
#
# Each random table has one token per key, and a last token with a query. We also draw the functions $B_Q$ and $B_V$
# at random. We run the program directly on tokens with attributes, and with the head.

# %% tags=["parameters"]
source_letters = 3  # letters of the attribute that asks, at least 1
key_letters = 4  # letters of the attribute that is asked for, at least 2
value_letters = 5  # letters of the attribute that is read, at least 1
destination_letters = 2  # letters of the attribute that is written, at least 1
tables = 100  # random tables, at least 1
nodes = 4  # nodes of the walk in the second part, at least 1
walks = 50  # random walks, at least 1
steps = 12  # tokens written by each walk, at least 3
seed = 0  # seed of every draw, at least 0

# %%
require(source_letters=(source_letters, 1, None), key_letters=(key_letters, 2, None))
require(value_letters=(value_letters, 1, None), destination_letters=(destination_letters, 1, None))
require(tables=(tables, 1, None), nodes=(nodes, 1, None), walks=(walks, 1, None), steps=(steps, 3, None))
require(seed=(seed, 0, None))

# %%
sizes = (source_letters, key_letters, value_letters, destination_letters)
right = {"correct": 0, "printed": 0}
others = 0
for table in range(tables):
    program, prompt = random_table(sizes, seed + table)
    expected = program.run(prompt, 1)
    for form in right:
        right[form] += program.read(program.run_heads(prompt, 1, form)) == expected
    other, _ = random_table(sizes, seed + table + 1)
    others += other.read(other.run_heads(prompt, 1)) == expected
show.table(["placement", f"tables executed, of {tables}"], right.items())

# %%
program, _ = random_table(sizes, seed)
blocks = program.rows.blocks
placed = {form: dense(program.heads(form), program.rows.size) for form in right}
exchanged = torch.equal(placed["printed"].values.mT, placed["correct"].queries)
exchanged &= torch.equal(placed["printed"].queries.mT, placed["correct"].values)

# %%
fig, axes = show.axes(2, 2, width=5.2, height=5.6)
for axis, (form, name) in zip(axes.flat, [(f, m) for f in ("correct", "printed") for m in ("Q", "V")], strict=True):
    axis.imshow((placed[form].queries if name == "Q" else placed[form].values)[0], cmap="Greys", vmin=0, vmax=1)
    axis.set_title(f"{name}, {'the paper' if form == 'printed' else form}")
    middles = [(block[0] + block[-1]) / 2 for block in blocks.values()]
    axis.set_xticks(middles, list(blocks), rotation=60)
    axis.set_yticks(middles, list(blocks) if axis in axes[:, 0] else [""] * len(blocks))
    axis.grid(False)
    for block in list(blocks.values())[1:]:
        axis.axhline(block[0] - 0.5, linewidth=0.5)
        axis.axvline(block[0] - 0.5, linewidth=0.5)
caption = "One look-up as the two matrices of a head; filled: ones. In the correct form the columns of $Q$ are the "
caption += "source rows and those of $V$ the value rows. In the paper's proof, names, rows and columns are exchanged."
alt = "Four square images of the matrices Q and V, rows and columns named source, key, value, destination. Correct: "
alt += "ones at key by source and destination by value. In the paper: at value by destination and source by key."
show.figure(fig, name="placement", caption=caption, alt=alt)

# %% [markdown]
# The placement in the paper's proof is the transpose of ours with $V$ and $Q$ exchanged, so it reads the rows that it
# should write.
#
# ### Two look-ups with one destination
#
# We take the program of two lines
#
# ```
# NextToken.value = Lookup(T, Token.one)
# NextToken.value = Lookup(T, Token.two)
# ```
#
# and four prompts, in which each of the two keys is present or absent. We compare the output of the program with the
# closest output of any number of heads, which is a problem of [least squares](theorem_2_1_regression.ipynb).

# %%
lookup = LookupProgram({"source": 2, "key": 2, "value": 2}, [Lookup("source", "key", "value", "value")])
twice = lookup.run_heads([{"key": 1, "value": 0}, {"key": 1, "value": 0}, {"source": 1}], 1)
absent = lookup.run_heads([{"key": 1, "value": 0}, {"key": 1, "value": 0}, {"source": 0}], 1)
found_twice = twice[-1, lookup.rows["value"]].tolist()
found_absent = absent[-1, lookup.rows["value"]].tolist()
print(f"two tokens hold the key: {found_twice}    no token holds it: {found_absent}")

# %%
sharing = LookupProgram(
    {"place": 3, "one": 2, "two": 2, "key": 2, "value": 2},
    [Lookup("one", "key", "value", "value"), Lookup("two", "key", "value", "value")],
)
prompts, written = [], []
for one, two in product((False, True), repeat=2):
    first, second = ({"key": key, "value": key} if there else {} for key, there in enumerate((one, two)))
    prompt = [{"place": 0} | first, {"place": 1} | second, {"place": 2, "one": 0, "two": 1}]
    prompts.append(sharing.embed(prompt, torch.float64))
    written.append(sharing.embed([sharing.next_token(prompt, "printed")], torch.float64)[0])
features, due = certificate_features(torch.stack(prompts)), torch.stack(written)
closest = features @ least_squares(features, due).mT
least_loss = (closest - due).square().sum(dim=1).mean().item()
by_one = due[[0, 0, 2, 2]]  # what the first lookup writes by itself
least_loss_of_one = (features @ least_squares(features, by_one).mT - by_one).square().sum(dim=1).mean().item()

# %%
shown = [part[:, sharing.rows["value"]].round(decimals=3) + 0.0 for part in (due, closest)]  # no -0
show.table(
    ["first key held", "second key held", "the program writes", "closest heads"],
    [
        [one, two, *(f"({part[0]:.4g}, {part[1]:.4g})" for part in parts)]
        for (one, two), *parts in zip(product((False, True), repeat=2), *shown, strict=True)
    ],
    caption="The value that is written. For all heads, the values in the first and last lines have the same sum as "
    "the other two.",
)

# %% [markdown]
# Even the closest heads are off by a quarter on every prompt.
#
# ### A whole program
#
# The prompt holds a graph: each token has a node, the node that it points to, and a label. Every new token holds the
# node that a walk has reached, the label of the previous node, and the label before that one. The program also
# numbers its tokens, in line 5 of Algorithm 3. The paper's proof has no head for this, so we add one.

# %%
walk = walk_program(nodes, 3, nodes + 1 + steps)
rows = walk.rows
exact = exact_bare = positions_right = numbered = 0
for number in range(walks):
    prompt = random_walk_prompt(nodes, 3, seed + number)
    expected, found = walk.run(prompt, steps), walk.read(walk.run_heads(prompt, steps))
    exact += found == expected
    positions_right += [token.get("position") for token in found] == [token["position"] for token in expected]
    bare = BlockLayer(walk.heads()[:-1], rows.size).run(walk.embed(prompt)[None], steps)[0]
    exact_bare += walk.read(bare) == expected
    numbered += bool(bare[len(prompt) :, rows["position"]].any())
print(f"{exact} of {walks} walks are exact; without the position head {numbered} of {walks} have any position at all")

# %%
prompt = random_walk_prompt(nodes, 3, seed)
history = walk.run_heads(prompt, steps)
fig, axis = show.axes(1, 1, width=5.2, height=4.2)
axis.imshow(history.T, cmap="Greys", vmin=0, vmax=1, aspect="auto")
axis.axvline(len(prompt) - 0.5, linestyle="--")
axis.set_yticks([(block[0] + block[-1]) / 2 for block in rows.blocks.values()], list(rows.blocks))
for block in list(rows.blocks.values())[1:]:
    axis.axhline(block[0] - 0.5, linewidth=0.5)
axis.set_xlabel("token")
axis.grid(False)
show.figure(
    fig,
    name="walk",
    caption="A program as the layer writes it: the tokens run from left to right, and ones are filled. Left of the "
    "dashed line is the prompt with the graph; right of it every column is computed by the heads from the columns "
    "before it.",
    alt="An image of the token matrix. Named row blocks from position to before; each generated column "
    "has one filled cell in the blocks position, here, mark and before.",
)

# %% [markdown]
# In a new column, every block contains a single 1, so nothing needs to be rounded.
#
# ## How we checked
#
# We compare heads and programs on random tables and walks, on all functions of two letters, and on all small graphs. As
# controls, we use the functions of a different table, and leave out the head for the position.

# %%
claim = Claim("linear-attention/lemma-c-1")
claim.equal("random tables executed exactly", right["correct"], tables)
claim.equal("heads for one lookup", len(program.heads()), 1)
claim.equal("a key held twice returns the sum", str(found_twice), "[2, 0]")
claim.equal("an absent key returns zero", str(found_absent), "[0, 0]")
claim.printed.at_most("two lookups with one destination: least loss of any heads", least_loss, 1e-12)
claim.at_most("one of these lookups by itself: least loss of any heads", least_loss_of_one, 1e-12)
claim.control.equal("tables executed with the functions of the next table", others, tables)
claim.misprint.equal("tables executed with the printed placement", right["printed"], tables, of="proof")
claim.true("printed matrices, exchanged and transposed, are the right ones", exchanged, of="proof")
claim.equal("walks that have positions, with one head more", positions_right, walks, of="proof")
claim.printed.equal("walks that have positions by the heads of the lookups alone", numbered, walks, of="proof")
claim.certified("two letters: all functions and tokens", certify_lookups())
claim.verdict()

# %%
claim = Claim("linear-attention/algorithm-3")
claim.equal("walks executed token by token", exact, walks)
claim.equal("heads: three lookups and the position", len(walk.heads()), 4)
claim.equal("largest entry of any token", history.abs().max(), 1)
claim.control.equal("walks executed without the head for line 5", exact_bare, walks)
claim.certified("every graph of three nodes and two labels, 10 steps", certify_walks(3, 2, 10))
claim.verdict()

# %% [markdown]
# ## What to remember
#
# - One head is one exact table look-up, if letters are orthogonal and no key occurs twice.
# - A list of look-ups is a program, and one more head numbers the tokens.
# - Heads add, so two look-ups must not write to the same place.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, let the third token hold `b` 3 instead of `c` 3. What does the head return?
#
#    <details><summary>Solution</summary>
#
#    The weights are 0, 1 and 1, so it returns $5+3=8$. If values are letters, this is the sum of two unit vectors,
#    which is not a letter.
#
#    </details>
#
# 2. *Predict, then run.* Set `key_letters = 2`, so that several source letters lead to the same key. Are the tables
#    still executed exactly?
#
#    <details><summary>Solution</summary>
#
#    Yes, all 100. Different queries may lead to the same key. Only a key in two tokens would be a problem.
#
#    </details>
#
# Next: [Algorithm 5](algorithm_5_if_then.ipynb), because a program also needs an *if*, and a look-up can serve as one.
