# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Abstract and Section 5 · Finite automata of several letters
#
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: the abstract, Section 5 and Section 6.3.*
#
# The next state of an automaton depends on its state *and* on a letter, but a head cannot look up two keys at once.
# How can such a layer run every automaton? It writes two tokens per letter.

# %%
import torch

from attention_theory.linear_attention.certified.small_machines import certify_automata
from attention_theory.linear_attention.learning.learned_machine import learn_runs
from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor
from attention_theory.linear_attention.machines.block_heads import BlockLayer
from attention_theory.linear_attention.machines.universal import UniversalMachine
from attention_theory.linear_attention.model.features import psi
from attention_theory.randomness import generator
from attention_theory.validation import Each, require
from bookpress import Claim, estimate, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
#
# In state 0, our automaton goes to state 1 over `a`, and stays in state 0 over `b`. The first letter is `a`. One new
# token looks up both possible next states and the letter. A second one reads the first, and selects the next state.

# %%
fig, axis = schematic.canvas(height=2.9)
words = ["0: a → 1, b → 0", "letter 1: a", "state 0, at letter 1"]
prompt = schematic.tokens(axis, words, (0.9, 4.1), step=4.2)
words = ["a → 1, b → 0; read a", "state 1, at letter 2"]
new = schematic.tokens(axis, words, (2.6, 1.1), lit=[0, 1], step=4.9)
for top in prompt[:2]:
    schematic.arrow(axis, new[0], (top[0], top[1] - 1.05))
schematic.arrow(axis, new[1], (new[0][0] + 1.6, new[0][1]), bend=-0.3)
show.figure(
    fig,
    name="two-tokens",
    caption="Top: three tokens of the prompt. Bottom: the two new tokens for one letter, and what they read.",
    alt="Above, the rules of state 0, the first letter a, and the state 0. Below, a token with both rules and the "
    "letter, and a token with the state 1 at letter 2.",
)

# %% [markdown]
# The first look-up is by the state, the second by the letter.
#
# ## The paper states
#
# $N$, $V$ and $L$ are the number of states, the number of letters and the length of the word.
#
# <!-- claim linear-attention/remark-dfa-in-attention -->
# <blockquote>
#
# **Finite automata in linear attention (Automata of several letters, executed and learned)** *Abstract; Section 5;
# Section 6.3*
#
# **The paper states.** Finally, we provide examples of computations expressible via linear attention and therefore
# polynomial-time learnable, including associative memories, finite automata, and a class of Universal Turing Machine
# (UTMs) with polynomially bounded computation histories. (Here: finite automata.)
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** One set of $v+3$ heads in dimension $d=2(q+L)(1+v)+1$ runs every deterministic automaton with
# $q$ states and $v$ letters on every word of $L$ letters, with two tokens per letter. Algorithm 1 learns from runs to
# execute automata that it has not seen.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/remark-embedding-size -->
# <blockquote>
#
# **Section 6.3 (How the width grows)** *Section 6.3*
#
# **The paper states.** The construction in Lemma 5.1 shows that a linear attention layer can output the polynomially
# bounded computation history of any TM (and therefore any DFA). Our construction requires embedding size linear with
# maximum length of computation history, number of states and alphabet size. Therefore, we predict the data requirements
# are polynomial in each of $N$, $V$ and $L$.
#
# **What is true.** The construction requires an embedding size linear in the length of the history and in the number of
# states, and quadratic in the size of the alphabet. For finite automata a width of $2(q+L)(1+v)+1$ suffices, which is
# linear in each of states $q$, letters $v$ and length $L$.
#
# **What changed.** Lemma 2.2 has width $O(\hat n\hat\Phi\hat\Sigma\max(\hat\Sigma,\hat{\mathcal Q}))$, because a prompt
# holds, for each letter, a rule that contains a letter. The prediction of a polynomial is not affected.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# One head looks up the rules of the state, and another the letter. Then one head per letter selects the next state.
# It finds only the last token, because each position in the word has separate rows. One more head moves on to the
# next letter.
#
# <details><summary>Proof of Finite automata in linear attention: the number of heads</summary>
#
# The prompt has a token for each state $s$, which holds $e_s$ in the rows *of* and $e_{\delta(s,a)}$ in the rows *next*
# $a$ for each letter $a$; a token for each place $i$ of the word, which holds $e_i$ in *place* and the letter in the
# rows *written* $i$; and a last token with the start in *state* and 0 in *turn*. The invariant: the last token holds
# $s^i$ in *state*, $i$ in *turn*, and nothing else.
#
# *The found token.* The first head asks with *state* for *of* and moves *next* to *found*: one token answers, and
# $e_{\delta(s^i, a)}$ comes to stand in *found* $a$, for all $a$. The second asks with *turn* for *place* and moves
# *written* $i$ to *read* $i$. All other heads ask with *read*, which the last token does not hold. So the found token
# holds these two things alone.
#
# *The state token.* Its predecessor is the found token, which holds neither *state* nor *turn*, so the first two heads
# are silent. The other heads ask with *read* for *read*. The rows *read* $i$ belong to the place $i$, and no token
# before holds them, so the found token alone answers, with weight 1 if its letter is the one asked for. The third head
# moves *read* $i$ to *turn* $i + 1$. The head of the letter $a$ is asked by this letter alone, and moves *found* $a$ to
# *state*: what arrives is $e_{\delta(s^i, w_i)}$. That is the invariant for $i + 1$. $\square$
#
# The width is $2(q + L)(1 + v) + 1$ for words of $L$ letters.
#
# </details>
#
# <details><summary>Proof of Section 6.3, remark: the size of the embedding, as corrected</summary>
#
# *Turing machines.* In Appendix C.1 each of the $m\hat\Phi$ blocks of tokens has rows for a cell and its two
# neighbours. For each of the three it has rows for the rules of the state there, one for every letter. A rule holds a
# state, a letter and a move, which takes $\hat{\mathcal Q} + \hat\Sigma + 3$ rows. So these are
# $3m\hat\Phi\hat\Sigma(\hat{\mathcal Q} + \hat\Sigma + 3)$ rows: linear in $\hat\Phi$, for a window of $m$ cells, and
# in $\hat{\mathcal Q}$, and quadratic in $\hat\Sigma$. All other rows are at most linear in each of them.
#
# *Automata.* The width $2(q + L)(1 + v) + 1$ was counted above, and is linear in each of its three arguments. $\square$
#
# </details>
#
# ## See it run
#
# We run all automata with two states and two letters, and random larger ones.

# %% tags=["parameters"]
states = 3  # q, states of an automaton, from 2 to 4
letters = 2  # v, letters of the alphabet, from 2 to 4
word = 4  # L, letters of a word, from 1 to 6
counts = [10, 30, 100, 200]  # automata learned from, each from 2 to 300
held_out = 200  # automata that are not among them, from 20 to 1000
seed = 0  # seed of every draw, at least 0

# %%
require(states=(states, 2, 4), letters=(letters, 2, 4), word=(word, 1, 6), counts=(Each(counts), 2, 300))
require(held_out=(held_out, 20, 1000), seed=(seed, 0, None))
source = generator(seed)


# %%
def drawn(task, runs):
    """Random automata, words and starts."""
    tables = torch.randint(task.states, (runs, task.states, task.letters), generator=source)
    words = torch.randint(task.letters, (runs, task.word), generator=source)
    return tables, words, torch.randint(task.states, (runs,), generator=source)


def by_hand(tables, words, starts):
    """The states that each automaton visits, one letter after the other."""
    visited = [starts]
    for letter in words.mT:
        visited.append(tables[torch.arange(len(tables)), visited[-1], letter])
    return torch.stack(visited, dim=1)


# %%
number = torch.arange(2**8)
digits = (number[:, None] >> torch.arange(8)) & 1
every = digits[:, :4].unflatten(1, (2, 2)), digits[:, 4:7], digits[:, 7]
small = AutomatonExecutor(2, 2, 3)
cases = [("all", small, every)]
for size in [(states, letters, word), (5, 3, 8), (2, 6, 5), (12, 4, 20)]:
    cases.append(("random", AutomatonExecutor(*size), drawn(AutomatonExecutor(*size), 1000)))
rows = []
for kind, task, given in cases:
    told = task.states_of(task.run(task.prompts(*given)))
    right = (told == by_hand(*given)).all(dim=1)
    rows.append((kind, task.states, task.letters, task.word, task.width, len(task.heads), len(right), int(right.sum())))
show.table(["automata", "q", "v", "L", "d", "heads", "runs", "exact"], rows)

# %%
prompts = small.prompts(*every)
without = []
for left_out in range(len(small.heads)):
    heads = [head for place, head in enumerate(small.heads) if place != left_out]
    told = small.states_of(BlockLayer(heads, small.width).run(prompts, 2 * small.word))
    without.append((told == by_hand(*every)).all(dim=1).double().mean().item())
print("fraction of runs exact without one head:", ", ".join(f"{one:.3g}" for one in without))

# %% [markdown]
# Every run is exact. If any one head is missing, at most one run in eight is exact. Next, Algorithm 1 learns from the
# runs of some automata, and we test it on others.

# %%
task = AutomatonExecutor(states, letters, word)
fresh = drawn(task, held_out)
different, place = torch.unique(fresh[0], dim=0, return_inverse=True)
quarter = states ** (states * letters) // 4
set_aside = torch.randperm(len(different), generator=source)[place] < quarter
fresh = tuple(part[set_aside] for part in fresh)
many = drawn(task, 100 + 4 * max(counts))
others = (many[0][:, None] != fresh[0]).flatten(2).any(dim=2).all(dim=1)
training = tuple(part[others][: max(counts)] for part in many)

# %%
runs, truth = task.run(task.prompts(*training)), task.run(task.prompts(*fresh))
models = {count: learn_runs(runs[:count], task.prompt_tokens) for count in counts}
tested = len(fresh[0].unique(dim=0))
executed = {count: model.execute(truth, task.prompt_tokens, task.read) for count, model in models.items()}
show.table(
    ["automata", "ε", "4 ε Φ", "fraction of runs wrong", "fraction of outputs determined", "rank of the data", "ψ"],
    [
        [k, one.error, one.bound, one.mismatch, one.determined.double().mean(), models[k].rank, psi(task.width)]
        for k, one in executed.items()
    ],
    caption=f"d = {task.width}; {len(fresh[0])} runs of {tested} automata that are not in the data. ε: mean squared "
    "error on the next token; Φ: tokens of a run; 4 ε Φ: the bound of Lemma 5.1. An output is "
    "determined if all minimisers agree on it.",
)

# %% [markdown]
# With 200 automata, the data determine all outputs of the new runs, and no run goes wrong.
#
# Now we double the states, the letters and the length, one at a time. A width that is linear in these sizes at most
# doubles.

# %%
of_machines = {"states": 16, "letters": 16, "window": 4, "steps": 4}
of_automata = {"states": 8, "letters": 8, "word": 8}


def growth(build, sizes):
    """By how much the width grows where each argument doubles."""
    return {name: build(**sizes | {name: 2 * size}).width / build(**sizes).width for name, size in sizes.items()}


grown = {"Turing machines": growth(UniversalMachine, of_machines), "automata": growth(AutomatonExecutor, of_automata)}
show.table(
    ["construction", "argument", "width grows by"],
    [[name, argument, by] for name, of in grown.items() for argument, by in of.items()],
)
by_letters = grown["Turing machines"].pop("letters")

# %% [markdown]
# The width for Turing machines grows 2.7-fold with the number of letters, because each letter has a rule that
# contains a letter.
#
# ## How we checked
#
# We compare every run with a loop over the word. In two controls, we leave out a head, or learn from only ten automata.

# %%
most, least = counts[-1], counts[0]
states_right = (task.states_of(executed[most].tokens) == by_hand(*fresh)).all(dim=1)

claim = Claim("linear-attention/remark-dfa-in-attention")
for kind, q, v, length, width, heads, tried, exact in rows:
    claim.equal(f"{kind}, q = {q}, v = {v}, L = {length}: runs not exact", tried - exact, 0)
    claim.equal(f"q = {q}, v = {v}: heads", heads, v + 3)
    claim.equal(f"q = {q}, v = {v}, L = {length}: width", width, 2 * (q + length) * (1 + v) + 1)
claim.control.equal("one head left out: largest share of runs exact", max(without), 1)
claim.at_least(f"learned from {most} automata: new ones run rightly", estimate(states_right.tolist()), 0.95)
claim.number(f"learned from {most} automata: new ones run wrongly, of {len(states_right)}", (~states_right).sum())
claim.control.at_least(f"learned from {least}: runs right", estimate(executed[least].exact.tolist()), 0.95)
claim.equal(
    "outputs that the data determine and that are missed",
    max(int((one.missed & one.determined).sum()) for one in executed.values()),
    0,
)
claim.certified("q = 2, v = 3, L = 2: every automaton, word and start", certify_automata(2, 3, 2))
claim.verdict()

# %%
claim = Claim("linear-attention/remark-embedding-size")
for name, of in grown.items():
    claim.at_most(f"{name}: growth of the width where an argument doubles", of, 2)
claim.printed.at_most("Turing machines: growth where the letters double", by_letters, 2)
claim.verdict()

# %% [markdown]
# ## What to remember
#
# - Linear attention runs every finite automaton with $v+3$ heads and two tokens per letter.
# - A layer learned from 200 automata also runs new ones.
#
# ## Exercises
#
# 1. *By hand.* How wide are the tokens for three states, two letters and words of four letters?
#
#    <details><summary>Solution</summary>
#
#    $d=2(q+L)(1+v)+1=2\cdot7\cdot3+1=43$.
#
#    </details>
#
# 2. *Predict, then run.* Set `counts = [2, 5]`. What fraction of the outputs do the data determine?
#
#    <details><summary>Solution</summary>
#
#    They determine none of them. All minimisers agree on an output only if its features are in the span of the data,
#    which has dimension 40 of 40,678. All runs are wrong.
#
#    </details>
#
# Next: [Figure 3](figure_3_dfa_execution.ipynb). The paper trains a deep transformer on the same task.
