# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Algorithms 6 and 7 · One step of a machine, cell by cell
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Algorithms 6 and 7, Appendix C.1.*
#
# To run a Turing machine, the layer writes the whole tape anew at every step. A cell of the new tape depends on three
# cells of the old one: itself and its two neighbours. Algorithm 6 copies these three to the end of the sequence.
# Algorithm 7 then decides, by where the head is:
#
# * left of the head: keep the letter, and take the new state if the head moves left;
# * at the head: write the new letter, and lose the state;
# * right of the head: keep the letter, and take the new state if the head moves right;
# * anywhere else: keep the letter. This case is missing in the paper, and so such cells come out empty.
#
# Two more things in Algorithm 7 cannot be as printed, and are slips: left of the head both conditions say $L$, and the
# rule is picked by the letter of `s2`, which is a column of the table and holds *every* letter. The letter meant is the
# one under the head.
#
# <!-- claim linear-attention/algorithm-7 -->
# <blockquote>
#
# **Algorithm 7 (Left of the head, at the head, right of it, elsewhere)** *Appendix C.1*
#
# **As printed.** Both conditions left of the head ask for $L$ (a slip); the rule is picked by the letter of $s_2$, a
# column that holds every letter (another); there is no branch for the other cells.
#
# **Corrected.** Let $\delta(q, a) = (q', w', m)$ for the state $q$ and the letter $a$ under the head. The cell left of
# the head keeps its letter and takes $q'$ if $m = L$; the cell at the head takes the letter $w'$ and no state; the cell
# right of the head keeps its letter and takes $q'$ if $m = R$; every other cell keeps its letter and has no state.
#
# The second condition asks for $R$; the rule is picked by the letter under the head; a fourth branch keeps the letter.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/algorithm-6 -->
# <blockquote>
#
# **Algorithm 6 (The cells a new cell is made from)** *Appendix C.1*
#
# **As printed.** The offsets count tokens, although a block has several; and the copies read $s_0$, which a block has
# loaded, not returned.
#
# **Corrected.** For each cell of the new tape a block of tokens copies letter and state of the same cell and of its two
# neighbours from the tape one step before, and runs the branches of Algorithm 7. With a window of $N$ cells these are
# the blocks at the offsets $-N-1$, $-N$ and $-N+1$, as far as they are inside the window, and what is copied is what
# they returned.
#
# The offsets count blocks; the copies read the letter and state that a block returned.
#
# </blockquote>
# <!-- /claim -->
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
# Number the blocks from 0 on, the first $N$ being the cells of the prompt, and let block $tN + c$ stand for cell $c$
# after $t$ steps. By induction every block of step $t$ returns the cell that it stands for: it does at $t = 0$. Block
# $(t+1)N + c$ looks at the offsets $-N-1$, $-N$, $-N+1$, which are the blocks $tN + c-1$, $tN + c$, $tN + c+1$; inside
# the window these stand for the neighbours and the cell itself after $t$ steps, and what they returned is right. By
# Algorithm 7 the cell made of these three is the one after $t+1$ steps. (At the edges of the window there is no
# neighbour on one side, and a head that walks off it is in no cell.) $\square$
#
# </details>

# %%
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

# %% [markdown]
# ## Algorithm 7 on random configurations
# Machines move left or right, as in the paper. A configuration counts as right if every letter and every state of the
# new tape is what the simulator says. Each error is also brought back alone, to see what it does by itself.

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
show.table(["Algorithm 7", f"configurations right, of {configurations}"], right.items())

# %% [markdown]
# The same with the move that this book adds, a head that stays: every rule of the machines is made to stay.

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
# Each of the three faults does harm alone.

# %%
claim = Claim("linear-attention/algorithm-7")
claim.equal("corrected branches, heads that stay, configurations right", stays, configurations)
claim.equal("corrected branches, configurations right", right["corrected"], configurations)
claim.printed.equal("branches as printed, configurations right", right["as printed"], configurations)
*slips, missing = BRANCH_FAULTS
for fault in slips:
    claim.misprint.equal(f"only this slip: {fault}, configurations right", right[fault], configurations)
claim.printed.equal(f"only this: {missing}, configurations right", right[missing], configurations)
claim.verdict()

# %% [markdown]
# ## Algorithm 6 over many steps
# Each cell takes a block of tokens, not one token. So the offsets $-N-1$, $-N$, $-N+1$ of Algorithm 6 must count
# blocks. And the copies must read what a block *returned*. As printed they read `s0`, which is what a block had itself
# loaded: one step later this is still the letter of the prompt.

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

# %% [markdown]
# The picture has the share of machines whose whole tape is right, after each step.

# %%
fig, axis = show.axes(1, 1, width=5.2, height=3.7)
for (way, counts), marker in zip(exact.items(), show.MARKERS, strict=False):
    axis.plot(range(steps + 1), [count / machines for count in counts], marker=marker, label=way)
axis.set_xlabel("step of the machine")
axis.set_ylabel("share of tapes that are right")
axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2))
show.figure(
    fig,
    name="steps",
    caption="Tapes that are right after each step: with the corrected offsets and copies, all of them. Copies that "
    "read `s0` survive the first step only and repeat it from then on; the share that remains is machines whose tape "
    "is again as it was after one step. Offsets that count tokens fail at once.",
    alt="Three curves against the step. One stays at 1. One is 1 at steps 0 and 1 and then drops to a small share. "
    "One drops to 0 at step 1.",
)

# %% [markdown]
# One step is too few to see the first fault; two are enough.

# %%
claim = Claim("linear-attention/algorithm-6")
claim.equal("tapes right at every step, corrected", min(exact["corrected"]), machines)
claim.equal("copies of s0 are still right after one step", exact["copies read s0"][1], machines)
claim.printed.equal("copies of s0, tapes right after two steps", exact["copies read s0"][2], machines)
claim.printed.equal("offsets in tokens, tapes right after one step", exact["offsets count tokens"][1], machines)
claim.verdict()

# %% [markdown]
# ## What was learned
# A step of a machine is local: a new cell is made from three old ones by four branches. Algorithm 7 prints three of
# them, with two slips, and Algorithm 6 copies what a block had loaded in place of what it returned. With the mends,
# every configuration that was tried is right.
#
# ## To try
# - Set `steps = 20`: the copies of `s0` go on repeating the first step.
# - Set `letters = 4`: the corrected form is right everywhere still, and the slip in the letter does more harm.
