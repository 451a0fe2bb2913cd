# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 5.2 · Do a universal machine's histories identify it?
# *Beyond the paper: the third contribution of Section 1, with data that are histories of machines.*
#
# The paper promises that a layer trained on runs of Turing machines executes every other machine, if the runs pass a
# certificate. For the machines that the paper builds, no set of runs passes it. Is the promise therefore empty? It is
# not: if we change the prompts a little, the runs pass.

# %%
import torch

from attention_theory.linear_attention.certified.uniqueness import certify_copies
from attention_theory.linear_attention.machines.block_heads import dense
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.parallel_copies import (
    automaton_head,
    automaton_prompt,
    copies,
    idle_design,
    idle_rows,
    in_copy,
)
from attention_theory.linear_attention.machines.recurrent_layer import RecurrentLayer
from attention_theory.linear_attention.machines.turing import random_inputs, random_tables
from attention_theory.linear_attention.model.autoregression import autoregress
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.mhla import mhla
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# A machine has a single state, in which it always remains. Its layer has tokens with two entries: the key of a state,
# and the state that comes next. The prompt consists of the tokens $(1,1)$ and $(0,1)$, and every step writes $(0,1)$
# again.
#
# The certificate looks at products such as $\langle z_1,z_1\rangle z_{1n}$, where $z_1$ is the row of keys and
# $z_{1n}$ is its entry in the last token. This product is 0 in every run, because the last token has no key. Whatever
# weight a layer gives to this product, all runs are right, so they do not reveal the weight.
#
# Now we put four such layers side by side, in eight rows. One of them runs the machine. The other three are *idle*,
# and their rows may hold anything, for example a last token with a key.

# %%
fig, axis = schematic.canvas(height=2.6)
words = [("1", "1"), ("0", "1"), ("0", "1"), ("0", "1")]
for copy in range(4):
    colour = schematic.BLUE if copy == 1 else schematic.QUIET
    y = 3.6 - 1.0 * copy
    schematic.text(axis, (2.6, y + 0.35), "runs the machine" if copy == 1 else "idle", colour, 9, "right")
    for number in range(5):
        idle = ("?", "?") if number in (0, 2) else ("0", "0") if number == 1 else ("·", "·")
        pair = (("0", "0"), *words)[number] if copy == 1 else idle
        for row, word in enumerate(pair):
            schematic.text(axis, (3.6 + 1.9 * number, y + 0.5 - 0.35 * row), word, colour, 9)
for number, name in enumerate(("extra", "key", "last", "step 1", "step 2")):
    schematic.text(axis, (3.6 + 1.9 * number, 4.75), name, size=9)

# %%
show.figure(
    fig,
    name="copies",
    caption="Four copies of a layer, each with two rows. The columns are tokens: an extra one, the two of the "
    "prompt, and two that the layer writes. The blue copy runs the machine. Question marks are free numbers in idle "
    "copies, and dots are what the idle copies compute from them.",
    alt="A table with four rows of pairs and five columns of tokens. The second row, blue, holds the machine's tokens. "
    "The others have question marks in the extra token and in the last token of the prompt, and dots later.",
)

# %% [markdown]
# We may choose the numbers in an extra first token and in the last token of the prompt. They cannot disturb the blue
# copy, since each copy reads and writes only its own rows.
#
# ## What we prove
# Let a layer of width $d$ with $H$ heads execute all machines and words of a class exactly. Its *four copies* are the
# layer of width $4d$ with $4H$ heads, each head acting on the $d$ rows of one copy.
#
# <!-- claim linear-attention/identifying-histories -->
# <blockquote>
#
# **Beyond Lemma 5.2 (Histories that identify a universal machine)**
#
# Let a layer of width $d$ with $H$ heads execute every machine and word of a class exactly. Take four copies of it, of
# width $4d$ with $4H$ heads, and let a prompt occupy one copy. Whatever numbers the idle copies hold, the active one
# executes exactly. The idle numbers can be chosen as 0 and 1 such that histories, with the prompt $Z^0$ as their first
# entry, of $N=4(3d+1)\big(\frac{3d(3d+1)}2+1\big)$ prompts have $\lambda_{\min}(\Lambda_D)>0$. On them, every empirical
# risk minimiser with at least $4H$ heads, and therefore also Algorithm 1, executes every machine and word of the class,
# in any of the copies.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# A feature multiplies the inner product of two rows by one entry of the last token. Its three indices belong to at
# most three of the four copies, so at least one copy is not involved. We let the machine run there, and choose the
# numbers of the other copies freely: differences between a few prompts then isolate the feature.
#
# One-hot prompts without copies never pass, because two rows are orthogonal in every run if no token uses both of
# them
# ([Lemma 5.2](lemma_5_2_certified_executor.ipynb)).
#
# <details><summary>Proof</summary>
#
# *Execution.* Write a token as $z=(z^{(1)},\dots,z^{(4)})$ with a part in each copy. A head of copy $c$ has $V$ and
# $Q$ with entries in the rows and columns of $c$ alone. The output in copy $c$ is therefore
# $\sum_hV_hG^{(cc)}Q_hz_n^{(c)}$, with $G^{(cc)}=\sum_t z_t^{(c)}z_t^{(c)\top}$: that of the single layer on the parts
# in $c$. An extra token that is 0 in $c$ adds nothing to $G^{(cc)}$. By induction over tokens, the parts in $c$ are
# the run of the single layer, whatever the other parts are.
#
# *Prompts.* For every copy $c$ take a machine and a word with prompt $a_1,\dots,a_m$ in copy $c$. Let $x$ be one of
# $0$, $e_j$ and $e_j+e_k$ with idle rows $j\ne k$, put $x$ in front as an extra token, and add $0$ or $e_\ell$ with an
# idle row $\ell$ to the last token $a_m$. With $r=3d$ idle rows, these are $4\,(r+1)\big(\frac{r(r+1)}2+1\big)$
# prompts, and the numbers added are 0 and 1.
#
# *Features.* They are the entries of $G\otimes z_n$, where $x$ enters $G$ through $xx^\top$ alone. For a given last
# token let $\Delta_{jk}$ be the value at $x=e_j+e_k$, less those at $e_j$ and at $e_k$, plus that at $0$; and
# $\Delta_{jj}$ the value at $e_j$ less that at $0$. Everything in $G$ but $xx^\top$ cancels:
#
# $$\Delta_{jk}(G\otimes z_n)=(e_je_k^\top+e_ke_j^\top)\otimes z_n,\qquad \Delta_{jj}(G\otimes z_n)=e_je_j^\top\otimes
# z_n .$$
#
# Here $z_n$ is $a_m$ or $a_m+e_\ell$, and the difference of the two leaves $e_\ell$. So the unit vector of the feature
# $\{j,k\},\ell$ is a combination of the features of eight prompts or fewer. Given any three rows $j$, $k$ and $\ell$,
# there is a copy $c$ to which none of them belongs, and they are idle for this $c$. The features of all these prompts
# span $\mathbb R^\psi$, so that $\lambda_{\min}(\Lambda_D)>0$ for every finite data set $D$ that contains the histories
# of these prompts, with the prompt $Z^0$ as first entry. (The paper counts from $Z^1$ on; then rows that only prompts
# write are never seen as a last token, and one state in four copies leaves rank 116 of 288.) Each combination has at
# most eight terms $\pm1$, so $\lambda_{\min} \ge1/(8\psi N)$ for $N$ samples: for a unit vector $v$ one entry has
# $v_f^2\ge1/\psi$, and $v_f=\sum_i\pm\langle v,\mathcal H(Z_i)\rangle$ over at most eight samples gives $\sum_i\langle
# v,\mathcal H(Z_i)\rangle^2\ge1/(8\psi)$. $\square$
#
# </details>
#
# ## See it run
# You can change these parameters.

# %% tags=["parameters"]
states = 2  # states of the automata, from 1 to 2
machines = 40  # random Turing machines run in four copies, from 4 to 200
steps = 1  # steps of a Turing machine, from 1 to 2
seed = 0  # seed of every draw, at least 0

# %%
require(states=(states, 1, 2), machines=(machines, 4, 200), steps=(steps, 1, 2), seed=(seed, 0, None))
source = generator(seed)

# %% [markdown]
# ### All features of small automata
# An automaton with one letter is a table that gives the next state for each state. A single head runs all such
# automata. In each of four copies we run one automaton with all the idle numbers of the proof, and form the
# differences. Each difference must be a unit vector, and every feature must occur. All numbers are integers, so
# nothing is rounded.

# %%
width = 2 * states
total, idle = 4 * width, 3 * width
extra, last = idle_design(idle)
prompt = automaton_prompt(torch.arange(states).flip(0), 0)
first, second = torch.triu_indices(idle, idle, offset=1)


def differences(features):
    """The combinations of the proof, from features by extra token and last token."""
    one = features[1 : idle + 1] - features[:1]
    two = features[idle + 1 :] - features[1:][first] - features[1:][second] + features[:1]
    by_pair = torch.cat([one, two])
    return (by_pair[:, 1:] - by_pair[:, :1]).flatten(0, 1)


# %%
reached, unlike = torch.zeros(psi(total), dtype=torch.bool), 0
for active in range(4):
    features = certificate_features(in_copy(prompt, active, extra, last))
    rows = differences(features.unflatten(0, (-1, idle + 1)))
    unlike += int(((rows != 0).sum(dim=1) != 1).sum() + (rows.sum(dim=1) != 1).sum())
    reached |= (rows != 0).any(dim=0)
print(
    f"width {total}: {int(reached.sum())} of {psi(total)} features isolated, {unlike} differences are no unit vectors"
)

# %% [markdown]
# ### How many copies
# With fewer copies, some triples of rows leave no copy for the machine. We compute the rank of the features; for four
# copies, we count the features that are isolated.

# %%
ranks = {}
for count in (1, 2, 3):
    numbers = idle_design(width * (count - 1)) if count > 1 else None
    tokens = [in_copy(prompt, active, *numbers) for active in range(count)] if numbers else [prompt[None]]
    ranks[count] = int(torch.linalg.matrix_rank(certificate_features(torch.cat(tokens))))
ranks[4] = int(reached.sum())
show.table(
    ["copies", "width", "features", "rank"],
    [[count, count * width, psi(count * width), rank] for count, rank in ranks.items()],
)

# %%
fig, axis = show.axes(width=4.2, height=3.0)
axis.bar(list(ranks), [ranks[count] / psi(count * width) for count in ranks])
axis.set(xlabel="copies", ylabel="rank over features", xticks=list(ranks))
show.figure(
    fig,
    name="ranks",
    caption="The dimension of the span of the prompts' features, divided by the number of features.",
    alt="Four bars that grow with the number of copies; the fourth reaches 1.",
)

# %% [markdown]
# With three copies the rank comes close to the number of features, and with four it reaches this number.
#
# ### A universal Turing machine in four copies
# Next we take the universal machine of [Lemma 2.2](lemma_2_2_universal_machine.ipynb), and put each of several random
# machines into one of four copies, with random idle numbers of the proof. Token by token, the rows of the active copy
# must be the same as when the machine runs alone.

# %%
universal = CompactMachine(2, 2, 1, steps)
d = universal.width
tables = random_tables(machines, 2, 2, source)
prompts = universal.embed(tables, *random_inputs(machines, 2, 1, source)).long()
tokens = universal.tokens_until(steps, 1)
alone = universal.layer.run(prompts, tokens)
four = RecurrentLayer(copies(universal.heads, d), 4 * d)
wrong, largest, active_largest, damaged = 0, 0, 0, 0

# %%
for number in range(machines):
    active, unit = number % 4, torch.eye(3 * d, dtype=torch.int64)
    x = unit[torch.randint(3 * d, (2,), generator=source)].sum(dim=0).clamp(max=1)
    end = unit[torch.randint(3 * d, (1,), generator=source)].squeeze(0)
    together = four.run(in_copy(prompts[number], active, x, end)[None], tokens)[0, 1:]
    others = idle_rows(d, active)
    own = together[:, active * d : (active + 1) * d]
    wrong += not torch.equal(own, alone[number])
    largest, active_largest = max(largest, together[:, others].abs().max()), max(active_largest, own.abs().max())
    disturbed = prompts[number].clone()
    disturbed[-1] += x[:d] + end[:d] + unit[0, :d]
    damaged += not torch.equal(universal.layer.run(disturbed[None], tokens)[0, -1], alone[number, -1])
print(f"{machines} machines, {tokens} tokens each: {wrong} runs differ; largest idle number {largest}")

# %% [markdown]
# ## How we checked
# We require that all differences are unit vectors, that every feature occurs, and that no run in an active copy
# changes. As controls we use three copies, and we put the idle numbers into the rows of the machine itself.

# %%
heads = dense(copies(automaton_head(states), width), total)
history = autoregress(lambda z: mhla(heads, z), in_copy(prompt, 2, extra[-1:], last[-1:]), 4)[0]
single = autoregress(lambda z: mhla(dense(automaton_head(states), width), z), prompt[None], 4)[0]
same = torch.equal(history[1:, 2 * width : 3 * width], single)

# %%
claim = Claim("linear-attention/identifying-histories")
claim.equal("four copies: differences that are no unit vectors", unlike, 0)
claim.equal("four copies: features isolated", reached.sum(), psi(total))
claim.true("automaton in a copy: the same run as alone", same)
claim.equal(f"universal machine: runs of {machines} that differ in the active copy", wrong, 0)
claim.at_most("universal machine: entries of the active copy", active_largest, 1)
claim.number("universal machine: largest number in an idle copy", largest)
claim.control.equal("three copies: rank", ranks[3], psi(3 * width))
claim.control.equal("numbers in the machine's own rows: runs that end otherwise", damaged, 0)
claim.certified("one state, four copies: the histories leave one layer", certify_copies())
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# Idle copies go on computing from their last token, and their numbers can grow, but no other copy reads them. We
# isolate features from the prompts alone, which are the first entries of the histories, so runs may be cut after the
# first token. The rank with fewer than four copies is that of these prompts, from singular values of whole numbers.
# For one copy, longer histories and other automata raise it, but never to the number of features.
#
# </details>
#
# ## Where we stop
# The prompts need numbers that no machine uses. We do not know how few suffice: three copies with other numbers may
# be enough, or a single copy with other codes of states and letters. The embedding must also use all copies and
# numbers, so a class needs at least as many pairs of machine and word as there are prompts, or several prompts for
# one pair.
#
# ## What to remember
# - In a single copy, one-hot histories never identify the universal machine.
# - In four copies, with idle numbers 0 and 1, a polynomial number of histories identifies it.
# - The paper's promise can therefore be kept: a layer trained on such runs executes all machines of its class.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example with four copies, which copy may run the machine if we want to isolate the feature
#    of the rows $j=1$, $k=3$ and $\ell=8$?
#    <details><summary>Solution</summary>
#
#    Rows 1 and 2 belong to the first copy, 3 and 4 to the second, 5 and 6 to the third, 7 and 8 to the fourth. The
#    three rows use the first, second and fourth copy, so the machine runs in the third.
#
#    </details>
# 2. *Predict, then run.* Set `states = 1`. How many features does the layer of four copies have, and does every
#    feature occur?
#    <details><summary>Solution</summary>
#
#    The width is $4\cdot2=8$ and $\psi=8^2\cdot9/2=288$. Every feature occurs: the proof needs only one prompt in
#    each copy.
#
#    </details>
#
# Next: [Figure 3](figure_3_dfa_execution.ipynb), because the paper also trains a deep network to run machines.
