# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Algorithms 6 and 7 · One step of a machine, cell by cell
#
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Algorithms 6 and 7, Appendix C.1.*
#
# A step of a Turing machine changes only the cells around the head. Can we compute each cell of the new tape from
# three cells of the old one? We can, if we do not forget the cells far from the head.

# %%
from attention_theory.linear_attention.certified.small_machines import certify_branches
from attention_theory.linear_attention.machines.tape_program import (
    BRANCH_FAULTS,
    COPY_FAULTS,
    cells_of,
    new_tape,
    run_blocks,
)
from attention_theory.linear_attention.machines.turing import RIGHT, STAY, random_inputs, random_tables, simulate
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
#
# The machine is in state *q*, with its head over a 1. The rule says: write 0, change to state *p*, and go left.

# %%
fig, axis = schematic.canvas(height=2.5)
schematic.tokens(axis, ["1", "0", "1, q", "1", "0"], (2.6, 3.2), lit=[2], step=2.1)
tops = schematic.tokens(axis, ["1", "0, p", "0", "1", "0"], (2.6, 1.4), lit=[1, 2], step=2.1)
for at, words in (((1.4, 3.65), "before"), ((1.4, 1.85), "after")):
    schematic.text(axis, at, words, size=9)
for (x, _), words in zip(tops, ("elsewhere", "left", "head", "right", "elsewhere"), strict=True):
    schematic.text(axis, (x, 0.9), words, size=9)
show.figure(
    fig,
    name="branches",
    caption="Five cells before and after a step. The head's cell before the step and the two cells that changed are "
    "blue.",
    alt="Five cells 1, 0, 1 with state q, 1, 0, and below them 1, 0 with state p, 0, 1, 0. The labels are elsewhere, "
    "left, head, right, elsewhere.",
)

# %% [markdown]
# We see four cases. The cell at the head takes the new letter. Its two neighbours keep their letters, and the left
# one receives the state. All other cells stay as they are.
#
# ## The paper states
#
# <!-- claim linear-attention/algorithm-6 -->
# <blockquote>
#
# **Algorithm 6 (The cells a new cell is made from)** *Appendix C.1*
#
# **The paper states.** First copy letter/state from token $-N-1$ positions away: NextToken.s(-1) =
# Copy(Token[-N-1].s0). Second … $-N$ positions away: NextToken.s0 = Copy(Token[-N].s0). Third … $-N+1$ positions away:
# NextToken.s1 = Copy(Token[-N+1].s0). NEXT TOKEN $r=r+1$. Split into three branches to handle left, head, and right
# positions relative to head. See algorithm 7.
#
# **What is true.** For each cell of the new tape, a block of tokens copies the letter and state of the same cell and of
# its two neighbours from the tape one step before, and runs the branches of Algorithm 7. With a window of $N$ cells, it
# copies from the blocks at the offsets $-N-1$, $-N$ and $-N+1$, if they are inside the window.
#
# **What changed.** The offsets must count blocks, not tokens, and the copies must read the letter and state that a
# block *returned*. The paper's $s_0$ is what the block had loaded, so the tape no longer changes after the first step.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/algorithm-7 -->
# <blockquote>
#
# **Algorithm 7 (Left of the head, at the head, right of it, elsewhere)** *Appendix C.1*
#
# **The paper states.** BRANCH 1 (Left of Head): if s2.letter == $a_0$ then s3 = $\delta(q,a_0)$. If s3.move == L then
# return-letter = s0.letter, return-state = $q'$; if s3.move == L then …, return-state = None. BRANCH 2 (at Head):
# return-letter = s3.next-letter, return-state = None. BRANCH 3 (Right of Head): … if s3.move == R then return-letter =
# s0.letter, return-state = s3.next-state.
#
# **What is true.** Let $\delta(q,a)=(q',w',m)$ for the state $q$ and the letter $a$ under the head. The cell left of
# the head keeps its letter and takes $q'$ if $m=L$; the cell at the head takes the letter $w'$ and no state; the cell
# right of the head keeps its letter and takes $q'$ if $m=R$; every other cell keeps its letter and has no state.
#
# **What changed.** The paper has no branch for the other cells. Without this branch they lose their letters, and no
# configuration is right.
#
# <details><summary>Slips (2)</summary>
#
# - Left of the head, both conditions test for $L$. The second must test for $R$.
# - The rule is selected by the letter of $s_2$, which is a column of the table and holds every letter. It must be the
#   letter under the head.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# To compute a cell, we look at the cell itself and its neighbours. If one of the three holds the state, we know the
# rule and the move, and therefore the new letter and state. Otherwise nothing changes. The four cases exclude one
# another.
#
# <details><summary>Proof of Algorithm 7, as corrected</summary>
#
# In a configuration at most one cell $p$ has a state, $q$, with the letter $a$. Let $\delta(q,a) = (q', w', m)$. The
# next configuration has the letter $w'$ in cell $p$, the old letters elsewhere, and the state $q'$ in cell $p-1$ if
# $m = L$, in $p+1$ if $m = R$ (in $p$ if the head stays, a move that this book adds). A cell $c$ sees itself and its
# neighbours. If $c = p-1$, its right neighbour has the state; it keeps its letter and has a state next if and only if
# $m = L$. If $c = p$, it takes $w'$ and has no state next (unless the head stays). If $c = p+1$, its left neighbour has
# the state; it keeps its letter and has a state next if and only if $m = R$. Every other cell has no state in sight,
# keeps its letter and has no state next. The four cases exclude each other, and they are the four branches. $\square$
#
# </details>
#
# <details><summary>Proof of Algorithm 6, as corrected</summary>
#
# Number the blocks from 0, the first $N$ being the cells of the prompt, and let block $tN + c$ stand for cell $c$ after
# $t$ steps. By induction every block of step $t$ returns the cell that it stands for: it does at $t = 0$. Block
# $(t+1)N + c$ looks at the offsets $-N-1$, $-N$, $-N+1$, which are the blocks $tN + c-1$, $tN + c$, $tN + c+1$; inside
# the window these stand for the neighbours and the cell itself after $t$ steps, and what they returned is right. By
# Algorithm 7 the cell made of these three is the one after $t+1$ steps. (At the edges of the window there is no
# neighbour on one side, and a head that walks off it is in no cell.) $\square$
#
# </details>
#
# ## See it run
#
# We compare the branches with a simulator on random configurations. We also put each of the paper's errors back in,
# one at a time.

# %% tags=["parameters"]
configurations = 1000  # random one-step configurations, at least 100
states = 3  # states of the machines, at least 2
letters = 2  # letters, at least 2 (the paper writes two)
window = 6  # cells of the tape, at least 5, so that some cell is not next to the head
steps = 6  # steps of the longer runs, at least 2
seed = 0  # seed of every draw, at least 0

# %%
require(configurations=(configurations, 100, None), states=(states, 2, None), letters=(letters, 2, None))
require(window=(window, 5, None), steps=(steps, 2, None), seed=(seed, 0, None))

# %%
tables = random_tables(configurations, states, letters, seed)
tables[..., 2] %= RIGHT + 1  # the paper's two moves
tapes, places = random_inputs(configurations, letters, window, seed + 1)
printed_parts = {**{fault: (fault,) for fault in BRANCH_FAULTS}, "as printed": BRANCH_FAULTS}
right = dict.fromkeys(("corrected", *printed_parts), 0)
for number in range(configurations):
    run = simulate(tables[number], tapes[number], int(places[number]), 1)
    before, after = (cells_of(run.letters[t], run.states[t], states) for t in (0, 1))
    right["corrected"] += new_tape(tables[number], before) == after
    for name, faults in printed_parts.items():
        right[name] += new_tape(tables[number], before, form="printed", faults=faults) == after
show.table(
    ["Algorithm 7", f"configurations right, of {configurations}"],
    [[name.replace("as printed", "as in the paper"), count] for name, count in right.items()],
)

# %% [markdown]
# The corrected branches are always right. Without the fourth branch, no configuration is right. The heads of our
# machines can also stay in place, so we try this move.

# %%
staying = tables.clone()
staying[..., 2] = STAY
stays = 0
for number in range(configurations):
    run = simulate(staying[number], tapes[number], int(places[number]), 1)
    before, after = (cells_of(run.letters[t], run.states[t], states) for t in (0, 1))
    stays += new_tape(staying[number], before) == after
print(f"{stays} of {configurations} configurations right")

# %% [markdown]
# Next, we run many steps, with the corrected copies and with those of Algorithm 6.

# %%
ways = {"corrected": {}, **{fault: {"form": "printed", "faults": (fault,)} for fault in COPY_FAULTS}}
machines = min(200, configurations)
exact = {way: [0] * (steps + 1) for way in ways}
for number in range(machines):
    run = simulate(tables[number], tapes[number], int(places[number]), steps)
    truth = [cells_of(run.letters[t], run.states[t], states) for t in range(steps + 1)]
    for way, options in ways.items():
        written = run_blocks(tables[number], truth[0], steps, **options)
        for t in range(steps + 1):
            exact[way][t] += written[t] == truth[t]

# %%
fig, axis = show.axes(1, 1, width=5.2, height=3.7)
for (way, counts), marker in zip(exact.items(), show.MARKERS, strict=False):
    axis.plot(range(steps + 1), [count / machines for count in counts], marker=marker, label=way)
axis.set_xlabel("step of the machine")
axis.set_ylabel("fraction of tapes that are right")
axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2))
show.figure(
    fig,
    name="steps",
    caption="The fraction of tapes that are right after each step. With the corrected offsets and copies, all are "
    "right. Copies of `s0` are right for the first step only. Offsets that count tokens fail at once.",
    alt="Three curves against the step. One stays at 1. One is 1 at steps 0 and 1 and then drops to a small fraction. "
    "One drops to 0 at step 1.",
)

# %% [markdown]
# Copies of `s0` only repeat the first step.
#
# ## How we checked
#
# We require that the corrected form is right everywhere, and for two states and two letters we try every case. The
# paper's version, and each of its errors alone, must fail.

# %%
claim = Claim("linear-attention/algorithm-7")
claim.equal("corrected branches, heads that stay, configurations right", stays, configurations)
claim.equal("corrected branches, configurations right", right["corrected"], configurations)
claim.printed.equal("branches as printed, configurations right", right["as printed"], configurations)
*slips, missing = BRANCH_FAULTS
for fault in slips:
    claim.misprint.equal(f"only this slip: {fault}, configurations right", right[fault], configurations)
claim.printed.equal(f"only this: {missing}, configurations right", right[missing], configurations)
claim.certified("two states, two letters: every table, tape, state and place", certify_branches(2, 2))
claim.verdict()

# %%
claim = Claim("linear-attention/algorithm-6")
claim.equal("tapes right at every step, corrected", min(exact["corrected"]), machines)
claim.equal("copies of s0 are still right after one step", exact["copies read s0"][1], machines)
claim.printed.equal("copies of s0, tapes right after two steps", exact["copies read s0"][2], machines)
claim.printed.equal("offsets in tokens, tapes right after one step", exact["offsets count tokens"][1], machines)
claim.verdict()

# %% [markdown]
# ## What to remember
#
# - A step of a machine is local: four branches compute a new cell from three old ones.
# - The branch that the paper omits applies to most cells.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, let the head go right. Write down the new tape.
#
#    <details><summary>Solution</summary>
#
#    1, 0, 0, then 1 with the state *p*, then 0.
#
#    </details>
#
# 2. *Predict, then run.* Set `letters = 4`. On what fraction of the configurations is the slip in the letter harmless?
#
#    <details><summary>Solution</summary>
#
#    It is harmless on 29 % of them, compared with 56 % for two letters. The more letters there are, the less often
#    the wrong letter selects the right rule.
#
#    </details>
#
# Next: [Appendix C.1](appendix_c_1_construction.ipynb). Written as heads, these branches are a universal machine.
