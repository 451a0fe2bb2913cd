# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 5 · Turing machines, and how a prompt holds one
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: definitions of Section 5 and Appendix C.1, Eqs. 59-61.*
#
# A Turing machine is a table: in state $q$, reading letter $a$, go to state $q'$, write $a'$, move left or right. It
# accepts a word if it reaches the state *accept*. This page runs the reference simulator on machines whose runs can be
# followed by hand, and then looks at the prompt that hands a machine to the attention layer. One move is added to the
# paper's two: `S` stays, so that a machine that has halted can remain as it is.
#
# <!-- claim linear-attention/definition-accept-tm -->
# <blockquote>
#
# **Definition (Machines and the words they accept)** *Section 5*
#
# **The paper states.** Let $\delta:\mathcal Q\times\Sigma\to\mathcal Q\times\Sigma\times\{L/R\}$ be a transition
# function. Typically there is also a tape alphabet $\Gamma$ for which the input alphabet $\Sigma$ is a subset. Let
# $M=\{\delta,\Sigma,\Gamma,\mathcal Q,q_{start},q_{accept},q_{reject}\}$ be a TM. Let $x\in\Sigma^*$ be all strings in
# the alphabet $\Sigma$. Then let $A_{TM}$ be the language $A_{TM}=\{(M,x)\mid M\text{ accepts }x\}$.
#
# </blockquote>
# <!-- /claim -->

# %%
from attention_theory.linear_attention.machines.turing import (
    parse_machine,
    random_inputs,
    random_tables,
    simulate,
    write_tape,
)
from attention_theory.linear_attention.machines.universal import UniversalMachine
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
machines = 50  # random machines embedded and read back for each alphabet, at least 1
states = 3  # states of these machines, at least 1
window = 6  # cells of their tapes, at least 1
seed = 0  # seed of the draws, at least 0

# %%
require(machines=(machines, 1, None), states=(states, 1, None), window=(window, 1, None), seed=(seed, 0, None))

# %% [markdown]
# ## Two machines to follow by hand
# The first accepts words with an even number of ones. The second accepts words of the form $0^n 1^n$: it crosses out
# the first 0 and the last 1 in turn.

# %%
even = """
even _ -> accept _ S
even 1 -> odd 1 R
odd  1 -> even 1 R
odd  _ -> reject _ S
"""
matched = """
start _ -> accept _ S   # nothing left
start 0 -> right _ R    # cross out a 0 and look for the last 1
right 0 -> right 0 R
right 1 -> right 1 R
right _ -> last _ L
last  1 -> back _ L     # cross it out
back  0 -> back 0 L
back  1 -> back 1 L
back  _ -> start _ R
"""

# %% [markdown]
# Their verdicts on ten words, worked out by hand and by the simulator:

# %%
by_hand = {
    even: {"": "accept", "1": "reject", "11": "accept", "111": "reject"},
    matched: {"": "accept", "01": "accept", "0011": "accept", "10": "reject", "001": "reject", "011": "reject"},
}
rows = [
    (name, word or "(empty)", verdict, parse_machine(text).decide(word, 8, 40, start=1))
    for name, text in (("even", even), ("matched", matched))
    for word, verdict in by_hand[text].items()
]
show.table(["machine", "word", "by hand", "simulator"], rows)

# %% [markdown]
# A run by hand: `even` on `11`. The head walks over both ones, the state goes even, odd, even, and the blank accepts.

# %%
machine = parse_machine(even)
run = simulate(machine.table, write_tape(machine, "11", 4), 0, 3)
followed = [[machine.states[s] if s < len(machine.states) else "" for s in step] for step in run.states.tolist()]
expected = [["even", "", "", ""], ["", "odd", "", ""], ["", "", "even", ""], ["", "", "accept", ""]]
changed = parse_machine(even.replace("odd  1 -> even 1 R", "odd  1 -> odd 1 R"))
agreeing = sum(
    one == other for row, due in zip(followed, expected, strict=True) for one, other in zip(row, due, strict=True)
)
show.table(["step", *[f"cell {cell}" for cell in range(4)]], [[t, *row] for t, row in enumerate(followed)])

# %% [markdown]
# The changed machine, one transition of which stays odd, must come to another verdict on 11. The paper defines $\delta$
# on $\mathcal{Q}\times\Sigma$, and lists a $\Gamma$ as well. We read $\Sigma$ as all letters of the machine, the blank
# among them, as in Lemma 2.2, which has no $\Gamma$. If $\Sigma$ were the letters of the input alone, here 1, `even`
# would have no rule for the blank that it reads behind its word.

# %%
heads_at = [row.index(next(filter(None, row))) for row in followed[:-1]]
read = {machine.letters[run.letters[step, cell]] for step, cell in enumerate(heads_at)}
claim = Claim("linear-attention/definition-accept-tm")
claim.equal("verdicts as worked out by hand", sum(row[2] == row[3] for row in rows), len(rows))
claim.equal("the run of 'even' on 11: cells with the state worked out", agreeing, 16)
claim.equal("with too few steps the word is undecided", machine.decide("11", 4, 2), "undecided")
claim.equal("letters that 'even' reads on 11 and that are not in Σ = {1, blank}", len(read - {"1", "_"}), 0)
claim.control.equal("one transition changed: the verdict on 11", changed.decide("11", 4, 3), "accept")
claim.verdict()

# %% [markdown]
# ## Polynomial time
#
# <!-- claim linear-attention/definition-bounded-utm -->
# <blockquote>
#
# **Definition (The universal machine with polynomial time)** *Section 5*
#
# **The paper states.** A UTM is a recognizer for the language $A_{TM}$. Let $A_{TM}\cap P$ be the language of input
# pairs $(M,x)$ for TM $M$ and word $x\in\Sigma^*$ such that $M$ decides $x$ in polynomial time. Here, we consider UTM
# to be the polynomial time decider for $A_{TM}\cap P$.
#
# **What is true.** Fix a polynomial $p$. The *$p$-bounded* universal machine decides, in polynomial time, the language
# of the pairs $(M,x)$ such that $M$ halts on $x$ within $p(|M|,|x|)$ steps and accepts.
#
# **What changed.** The paper names no polynomial. The time of $M$ on one word is a number, and every number is below
# some polynomial, so to the letter every pair that halts belongs to the language, and nothing decides that. Lemma 2.2
# has a bound on the steps, $\hat\Phi$.
#
# <details><summary>Slips (1)</summary>
#
# - $A_{TM}$ is a language and $P$ a class of languages, so they have no intersection.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <details><summary>Proof of Definition (Polynomially Bounded Universal Turing Machine), as corrected</summary>
#
# *To the letter.* If $M$ halts on $x$ after $T$ steps, $T$ is at most the polynomial that is $T$ everywhere. So every
# pair that halts is a pair such that $M$ decides $x$ in polynomial time. Nothing decides which pairs halt, nor which of
# them accept, so the decider that the paper names does not exist.
#
# *With a polynomial $p$.* Run $M$ on $x$ for $p(|M|,|x|)$ steps, and accept if $M$ has accepted. A step is found in the
# table and changes one cell, in time $O(|M| + |x| + p)$, so that all steps take a time polynomial in $|M|$ and $|x|$.
# $\square$
#
# </details>
#
# To see why a polynomial must be named, take a machine that counts in binary. Its word is a row of zeros, its lowest
# digit first. It adds 1 until all digits are 1, and accepts. With each further digit it needs more than twice the
# steps. It halts on every word, and its time on any one word is a number, which is below some polynomial. However, no
# single polynomial bounds it on all words. We take $p=(|M|+|x|)^2$, where $|M|$ is the number of rules.

# %%
counter = """
inc  0 -> back 1 L   # add 1
inc  1 -> inc 0 R    # carry
inc  _ -> accept _ S # no digit left
back 0 -> back 0 L
back _ -> inc _ R
"""


def p(text, word):
    """The number of steps that the polynomial allows."""
    return (sum("->" in line for line in text.splitlines()) + len(word)) ** 2


def verdict(text, word, steps):
    """The verdict of a machine on a word within so many steps, from the cell behind a blank."""
    return parse_machine(text).decide(word, len(word) + 3, steps, start=1)


# %%
words = ["0" * digits for digits in range(1, 9)]
bounded = {word: verdict(counter, word, p(counter, word)) for word in words}
unbounded = {word: verdict(counter, word, 2000) for word in words}
show.table(
    ["digits", "p", "within p steps", "within 2000 steps"],
    [[len(word), p(counter, word), bounded[word], unbounded[word]] for word in words],
)

# %%
decided = [verdict(text, word, p(text, word)) == due for text, known in by_hand.items() for word, due in known.items()]
short = sum(bounded[word] == "accept" for word in words[:4])
halting = [word for word in words if unbounded[word] == "accept"]
left_out = sum(bounded[word] == "undecided" for word in halting)
claim = Claim("linear-attention/definition-bounded-utm")
claim.equal("two machines: words decided within p steps", sum(decided), len(decided))
claim.equal("the counter: words of up to 4 digits decided within p steps", short, 4)
claim.equal("the counter: words on which it halts", len(halting), len(words))
claim.printed.equal("pairs that halt and are not decided within p steps", left_out, 0)
claim.verdict()

# %% [markdown]
# ## The prompt
# Eq. 59 gives a machine one column a state. The column holds the state and then, for each letter, the letter and the
# rule for it. In the paper there are two letters, $a_0$ and $a_1$. An alphabet of $|\Sigma|$ letters needs $|\Sigma|$
# such blocks, and the dimension that Lemma 2.2 gives counts as many. Here $\Sigma$ stands for all letters, the blank
# among them. The tape is a column a cell: position, letter, and the state in the column of the head. Two things differ
# here from Eqs. 59 and 60. The columns of $\#$ are left out, since nothing reads them. And a cell without the head
# holds a letter of its own for "no state", where Eq. 60 has 0: zero cannot be looked up.
#
# <!-- claim linear-attention/definition-tm-embedding -->
# <blockquote>
#
# **Definition (A machine as a prompt)** *Appendix C.1*
#
# **As printed.** The column of a state has blocks for two letters, $a_0$ and $a_1$, for an alphabet of any size.
#
# **Corrected.** A machine is embedded as one column a state: the state, then for each of the $|\Sigma|$ letters the
# letter and its rule. A word is embedded as one column a cell: position, letter, and the state where the head is. The
# two stand in rows and columns of their own. Here the columns of $\#$, which nothing in the construction of Appendix
# C.1 reads, are left out, and a cell without the head holds a letter "no state" in place of the $0$ of Eq. 60, since
# zero cannot be looked up.
#
# It has $|\Sigma|$ blocks, as the dimension in Lemma 2.2 counts them.
#
# </blockquote>
# <!-- /claim -->
#
# Embedded machines are read back from the token matrix and compared with what went in.

# %%
right = {2: 0, 3: 0}
held = {2: 0, 3: 0}
for letters in right:
    universal = UniversalMachine(states, letters, window, 1)
    tables = random_tables(machines, states, letters, seed)
    tapes, places = random_inputs(machines, letters, window, seed + 1)
    prompt = universal.embed(tables, tapes, places)
    start = universal.read(prompt, 0)
    same = (universal.read_tables(prompt) == tables).flatten(1).all(dim=1) & (start.letters == tapes).all(dim=1)
    right[letters] = int((same & (start.states.argmin(dim=1) == places)).sum())
    # Eq. 59 has a column for each state, with room for the rules of two letters.
    held[letters] = sum(sum(len(column[:2]) for column in table) == states * letters for table in tables)
show.table(
    ["letters", f"table and tape read back, of {machines}", "tables that the printed columns hold"],
    [[letters, right[letters], held[letters]] for letters in right],
)

# %% [markdown]
# One of these prompts. The rows that later tokens work in are empty here, and left out:

# %%
used = [(name, block) for name, block in universal.rows.blocks.items() if not name.startswith("block")]
fig, axis = show.axes(1, 1, width=5.2, height=5.0)
axis.imshow(prompt[0].T[: used[-1][1][-1] + 1], cmap="Greys", vmin=0, vmax=1, aspect="auto")
axis.axvline(states - 0.5, linestyle="--")
axis.set_yticks([(block[0] + block[-1]) / 2 for _, block in used], [name for name, _ in used])
for _, block in used[1:]:
    axis.axhline(block[0] - 0.5, linewidth=0.5)
axis.set_xlabel("token")
axis.grid(False)
show.figure(
    fig,
    name="prompt",
    caption="The prompt of a machine with 3 letters: left of the dashed line a column for each state with the three "
    "rules, right of it a column for each cell of the tape. Ones are filled. `state` has a last row for cells without "
    "the head.",
    alt="A token matrix of filled and empty cells. The first columns hold the rows table of and table 0 to 2 with "
    "state, letter and move; the other columns hold the rows letter and state. The position rows form a diagonal.",
)

# %% [markdown]
# With two letters the printed columns are the right ones; with three they cannot hold the table.

# %%
claim = Claim("linear-attention/definition-tm-embedding")
claim.equal("machines with 2 letters read back", right[2], machines)
claim.equal("machines with 3 letters read back", right[3], machines)
claim.equal("with 2 letters the printed columns hold the table", held[2], machines)
claim.misprint.equal("with 3 letters the printed columns hold the table", held[3], machines)
claim.verdict()

# %% [markdown]
# ## What was learned
# A prompt can hold a Turing machine as its table, a column a state, and its tape, a column a cell, and both can be read
# back. The paper draws the columns for two letters; an alphabet of $|\Sigma|$ letters needs $|\Sigma|$ blocks, as its
# own count of dimensions has it.
#
# ## To try
# - Set `states = 8`: the prompt has more columns for the machine, and everything is read back as before.
# - Set `window = 1`: a tape of one cell, on which a head can only stay or be lost. The prompt has a single column for
#   it, and all machines are read back as before.
