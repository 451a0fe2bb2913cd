# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 5 · Turing machines, and how a prompt holds one
#
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: definitions of Section 5 and Appendix C.1, Eqs. 59-61.*
#
# Can a sequence of tokens contain a computer, and not only its data? The chapter's universal machine reads a program
# and an input from its prompt, and here we write both as tokens. We first define programs and when they accept.

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
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
#
# A Turing machine is a table of rules. For a state and a letter, a rule gives the next state, the letter to write and a
# move. Our machine *even* accepts words with an even number of ones:
#
# | state | over 1 | over the blank, _ |
# | --- | --- | --- |
# | even | become *odd*, write 1, go right | become *accept*, write _, stay |
# | odd | become *even*, write 1, go right | become *reject*, write _, stay |
#
# We run it on the word 11. The prompt has one token per state and one per cell.

# %%
fig, axis = schematic.canvas(width=7.0, height=3.7)
for step, state in enumerate(("even", "odd", "even", "accept")):
    y = 6.2 - 1.15 * step
    head = min(step, 2)
    schematic.text(axis, (2.2, y + 0.45), f"after step {step}", size=9)
    cells = schematic.tokens(axis, ["1", "1", "_"], (3.9, y), lit=[head])
    schematic.text(axis, (9.0, y + 0.45), f"cell {head}, {state}", schematic.BLUE, 9, "left")
schematic.tokens(axis, ["even", "odd", "accept", "reject"], (0.4, 0.7), step=1.8)
schematic.tokens(axis, ["1, even", "1", "_"], (8.4, 0.7), lit=[0], step=1.8)
for x, words in ((4.0, "prompt: the rules of each state"), (11.0, "the cells of the tape")):
    schematic.text(axis, (x, 0.25), words, size=9)

# %%
show.figure(
    fig,
    name="even",
    caption="The run of *even* on the word 11. The blue cell is the one under the head. Bottom: the prompt, with one "
    "token per state and one per cell.",
    alt="Four rows of three cells 1, 1 and blank. The head moves from the first to the third cell, in the states "
    "even, odd, even, accept. Below, the tokens even, odd, accept, reject, and three cells, the first with the state.",
)

# %% [markdown]
# The head moves over both ones while the state alternates. The prompt consists of the rules and the first row.
#
# ## The paper states
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
# <details><summary>Slips (1)</summary>
#
# - $\delta$ has rules for $\Sigma$ only. A machine also reads the other letters of $\Gamma$, such as the blank, so
#   $\delta$ must be a map from $\mathcal Q\times\Gamma$ to $\mathcal Q\times\Gamma\times\{L/R\}$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
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
# <details><summary>Slips (2)</summary>
#
# - The definition names no polynomial, so that, read literally, every pair that halts belongs to the language, and no
#   machine decides it. The context bounds the steps, in Lemma 2.2 by $\hat\Phi$.
# - $A_{TM}$ is a language and $P$ a class of languages, so they have no intersection.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** Fix a polynomial $p$. The *$p$-bounded* universal machine decides, in polynomial time, the
# language of the pairs $(M,x)$ such that $M$ halts on $x$ within $p(|M|,|x|)$ steps and accepts.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/definition-tm-embedding -->
# <blockquote>
#
# **Definition (A machine as a prompt)** *Appendix C.1*
#
# **The paper states.** Let $M$ be a TM over state space $Q$, alphabet $A$, transition function $\delta$. Then
#
# $$\mathrm{Embedding}(M)=\begin{bmatrix}q_0&q_1&\cdots&q_k&\#\\a_0&a_0&\cdots&a_0&\#\\
# \delta(q_0,a_0)&\delta(q_1,a_0)&\cdots&\delta(q_k,a_0)&\#\\a_1&a_1&\cdots&a_1&\#\\
# \delta(q_0,a_1)&\delta(q_1,a_1)&\cdots&\delta(q_k,a_1)&\#\end{bmatrix}\quad(59)$$
#
# Let $p_1,\dots,p_\delta$ be "positional encodings" that assign unique id's for every letter in the word $x$.
#
# $$\mathrm{Embedding}(x)=\begin{bmatrix}p_1&\cdots&p_i&p_{i+1}&\cdots&p_\delta&\#\\
# x_1&\cdots&x_i&x_{i+1}&\cdots&x_\delta&\#\\0&\cdots&q&0&\cdots&0&\#\end{bmatrix}\quad(60)$$
#
# Then we define $\mathrm{Embedding}(M,x)$ to be
# $\begin{bmatrix}\mathrm{Embedding}(M)&0\\0&\mathrm{Embedding}(x)\end{bmatrix}$ (61).
#
# **What is true.** The column of a state $q$ holds $q$ and, for each of the $|\Sigma|$ letters $a$, the letter and its
# rule $\delta(q,a)$. Eqs. 60 and 61 are as stated.
#
# **What changed.** Eq. 59 has room for two letters only, so it cannot hold a machine with three. The dimension in Lemma
# 2.2 counts $|\Sigma|$ blocks.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** In our prompt the columns of $\#$ are left out, because nothing in the construction of Appendix
# C.1 reads them. A cell without the head holds a letter "no state" instead of the 0 of Eq. 60, because a head cannot
# look up zero.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# We write $\Sigma$ for all letters of the machine, including the blank. If it contained only the letters of the word,
# *even* would have no rule for the blank after the word.
#
# "Polynomial time" requires a fixed polynomial. The time of a single run is a number, and each number is below some
# polynomial. Without a fixed polynomial, every halting run therefore counts, and halting is undecidable.
#
# <details><summary>Proof that the polynomially bounded universal machine exists, and needs its bound</summary>
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
# ## See it run

# %% tags=["parameters"]
machines = 50  # random machines embedded and read back for each alphabet, at least 1
states = 3  # states of these machines, at least 1
window = 6  # cells of their tapes, at least 1
seed = 0  # seed of the draws, at least 0

# %%
require(machines=(machines, 1, None), states=(states, 1, None), window=(window, 1, None), seed=(seed, 0, None))

# %% [markdown]
# Our second machine accepts words of the form $0^n1^n$. It crosses out the first 0 and the last 1, again and again.

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
# The simulator agrees with the verdicts that we reached by hand. Next, a binary counter adds 1 until all digits are 1.
# Each additional digit more than doubles the number of steps, so no polynomial bounds it. We allow $p=(|M|+|x|)^2$
# steps, where $|M|$ is the number of rules.

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

# %% [markdown]
# The counter always halts, but with five or more digits it needs more than $p$ steps. We also write random machines
# into prompts and read them back.

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
    ["letters", f"table and tape read back, of {machines}", "tables that Eq. 59 can hold"],
    [[letters, right[letters], held[letters]] for letters in right],
)

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
    caption="The prompt of a machine with 3 letters. To the left of the dashed line, there is a column for each "
    "state with its three rules; to the right, a column for each cell of the tape. Filled cells are ones. The last "
    "row of `state` is for cells without the head.",
    alt="A token matrix of filled and empty cells. The first columns hold the rows table of and table 0 to 2 with "
    "state, letter and move; the other columns hold the rows letter and state. The position rows form a diagonal.",
)

# %% [markdown]
# We see the two blocks of Eq. 61. With three letters, a state needs three rules, while Eq. 59 has room for two.
#
# ## How we checked
#
# We compare the simulator with runs by hand, and the machines that we read from prompts with those that we wrote. As
# controls, we change one rule of *even*, and we use Eq. 59 for three letters. Both should fail.

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

# %%
decided = [verdict(text, word, p(text, word)) == due for text, known in by_hand.items() for word, due in known.items()]
short = sum(bounded[word] == "accept" for word in words[:4])
halting = [word for word in words if unbounded[word] == "accept"]
left_out = sum(bounded[word] == "undecided" for word in halting)
claim = Claim("linear-attention/definition-bounded-utm")
claim.equal("two machines: words decided within p steps", sum(decided), len(decided))
claim.equal("the counter: words of up to 4 digits decided within p steps", short, 4)
claim.equal("the counter: words on which it halts", len(halting), len(words))
claim.control.equal("pairs that halt and are not decided within p steps", left_out, 0)
claim.verdict()

# %%
claim = Claim("linear-attention/definition-tm-embedding")
claim.equal("machines with 2 letters read back", right[2], machines)
claim.equal("machines with 3 letters read back", right[3], machines)
claim.equal("with 2 letters the printed columns hold the table", held[2], machines)
claim.misprint.equal("with 3 letters the printed columns hold the table", held[3], machines)
claim.verdict()

# %% [markdown]
# ## What to remember
#
# - A Turing machine is a finite table, so a prompt can contain it, with one token per state.
# - The tape is one token per cell, and the cell with the head also holds the state.
# - "Polynomial time" is well defined only once a polynomial is fixed.
#
# ## Exercises
#
# 1. *By hand.* Run *even* on the word 1. In which state does it halt, and after how many steps?
#
#    <details><summary>Solution</summary>
#
#    Over the 1, it changes to *odd* and moves right. Over the blank, it changes to *reject*. It halts after two
#    steps, and rejects.
#
#    </details>
#
# 2. *Predict, then run.* Set `window = 1`. Can the machines still be read back from the prompt, and where can a head
#    go?
#
#    <details><summary>Solution</summary>
#
#    The prompt has one token for the only cell, and all machines are read back as before. A head on this tape can
#    only stay. If it moves, it is lost.
#
#    </details>
#
# Next: [Lemma 2.2](lemma_2_2_universal_machine.ipynb), because a prompt that holds a machine needs a layer that runs
# it.
