# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Algorithms 4 and 5 · If-then is also a look-up
#
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Algorithms 4 and 5, Appendix C.*
#
# How does a layer without conditions compute an *if*? We write all cases into a table first, and then look up the case
# that applies.

# %%
from itertools import product

from attention_theory.linear_attention.machines.example_programs import if_then, if_then_program, if_then_prompt
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
#
# A token holds the letter $x=b$ and two cases: if $x$ is $a$, the answer is 1, and if $x$ is $b$, the answer is 2.
# The layer writes one token per case, and then looks up $b$.

# %%
fig, axis = schematic.canvas(height=2.0)
words = ["x = b\na: 1, b: 2", "a: 1", "b: 2\nx = b", "x' = 2"]
tops = schematic.tokens(axis, words, (0.7, 0.7), lit=[3], step=3.3)
for copy in (1, 2):
    schematic.arrow(axis, tops[copy], tops[0], bend=-0.35, colour=schematic.QUIET)
schematic.arrow(axis, (10.3, 1.15), (10.7, 1.15))
show.figure(
    fig,
    name="cases",
    caption="The first token holds the letter and both cases. Two tokens copy one case each, and the last one holds "
    "the answer.",
    alt="Four tokens: x = b with two cases, the case a: 1, the case b: 2 with x = b, and the answer 2. Arrows lead "
    "from the two copies to the first token.",
)

# %% [markdown]
# The two middle tokens are a table, each with a key and a value.
#
# ## The paper states
#
# <!-- claim linear-attention/algorithm-4 -->
# <blockquote>
#
# **Algorithm 4 (An if-then program)** *Appendix C*
#
# **The paper states.** If attribute $x$ is equal to any of $a_1,a_2,\dots,a_k$ then set attribute $x'$ to
# $b_1,b_2,\dots,b_k$ respectively: if $\text{Token}.x == \text{Token}.a_1$ then $\text{NextToken}.x' =
# \text{Token}.b_1$; …; if $\text{Token}.x == \text{Token}.a_k$ then $\text{NextToken}.x' = \text{Token}.b_k$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/algorithm-5 -->
# <blockquote>
#
# **Algorithm 5 (If-then by a table)** *Appendix C*
#
# **The paper states.** $\text{token}[r+1].s_0=\text{token}[r].a_1$, $\text{token}[r+1].s_1=\text{token}[r].b_1$. NEXT
# TOKEN $r=r+1$. … $\text{token}[r+1].s_0=\text{token}[r].a_k$, $\text{token}[r+1].s_1=\text{token}[r].b_k$. NEXT TOKEN
# $r=r+1$. Table $T=\{\text{obj}[i].s_0:\text{obj}[i].s_1\}_{i\in[r,r-k+1]}$.
# $\text{token}[r+1].x'=\text{Lookup}(T,\text{token}[r].x)$.
#
# **What is true.** Over $k$ tokens, the cases are copied from the token that holds them into the rows $s_0$ (key $a_i$)
# and $s_1$ (value $b_i$), one case per token, and $x$ is copied as well. Then $x$ is looked up in this table, and the
# value becomes $x'$. No other if-then uses the rows $s_0$ and $s_1$.
#
# **What changed.** In the paper, each copy reads from the token written just before, which holds neither $x$ nor the
# cases, and no line says which token makes the copy. As stated, the look-up finds nothing.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# Each copy is a look-up by position, and [a look-up is a head](lemma_c_1_programs.ipynb). If the letters of the cases
# differ, only one token of the table has the key $x$. If a second if-then used the same rows, its look-up would find
# both tables and return the sum of their values.
#
# <details><summary>Proof of Algorithm 5, as corrected</summary>
#
# Let the prompt be token 0, with $x$ and the cases, whose letters $a_1, \dots, a_k$ differ. *The table.* Token $i-1$
# asks by its position for token 0, for $i = 1, \dots, k$, and so token $i$ holds $a_i$ in the rows $s_0$ and $b_i$ in
# $s_1$. No other token writes these rows, since they belong to this if-then, and every copy is made by the one token
# whose position it names. In the same way token $k$ holds $x$ in the rows that carry it, and no other does.
#
# *The answer.* The last lookup asks with the letter that is carried. Before token $k$ these rows are empty, the query
# is zero and nothing is found. Token $k$ asks for $x$ among the keys $s_0$. If $x = a_i$, token $i$ alone has this key,
# and token $k+1$ gets $x' = b_i$. If $x$ is none of the $a_i$, no token has the key, and $x'$ stays empty. This is
# Algorithm 4. (Lemma C.1 turns each lookup into a head.) $\square$
#
# </details>
#
# ## See it run
#
# We try all letters $x$, including one for which there is no case, with all outcomes.

# %% tags=["parameters"]
most_cases = 3  # the largest k, from 2 to 5; the work grows with outcomes ** most_cases
outcomes = 3  # letters that a case can lead to, from 2 to 4

# %%
require(most_cases=(most_cases, 2, 5), outcomes=(outcomes, 2, 4))


# %%
def last_token(program, prompt, cases):
    return program.read(program.run_heads([prompt], cases + 1))[-1].get("x'.0")


# for every input: is its letter listed, its outcome, and what Algorithm 4, the heads and the printed form return
found = []
for cases in range(2, most_cases + 1):
    program = if_then_program(1, cases, letters=cases + 1, outcomes=outcomes)
    in_print = if_then_program(1, cases, letters=cases + 1, outcomes=outcomes, form="printed")
    for x, *results in product(range(cases + 1), *[range(outcomes)] * cases):
        prompt = if_then_prompt([x], list(range(cases)), results)
        abstract = if_then(prompt | {"x": x}, cases).get("x'")
        outcome = results[x] if x < cases else None
        ways = abstract, last_token(program, prompt, cases), last_token(in_print, prompt, cases)
        found.append((x < cases, outcome, *ways))
listed = [one for one in found if one[0]]
print(f"{len(found)} inputs: {len(listed)} with a case, {len(found) - len(listed)} without")

# %% [markdown]
# Now a second if-then follows the first, with private or with shared rows.

# %%
pairs_tried, right = 0, {"private": 0, "shared": 0}
for x, second, *results in product(range(2), range(2), *[range(outcomes)] * 2):
    prompt = if_then_prompt([x, second], [0, 1], results)
    expected = [1 if outcome == results[second] else 0 for outcome in range(outcomes)]
    pairs_tried += 1
    for kept in right:
        program = if_then_program(2, 2, 2, outcomes, rows=kept)
        right[kept] += program.run_heads([prompt], 6)[6, program.rows["x'.1"]].tolist() == expected
print(f"of {pairs_tried} inputs: {right['private']} right with private rows, {right['shared']} with shared rows")

# %%
fig, axes = show.axes(2, 1, width=5.2, height=7.4)
prompt = if_then_prompt([0, 1], [0, 1], [1, 0])
for axis, kept in zip(axes, ("private", "shared"), strict=True):
    program = if_then_program(2, 2, 2, outcomes, rows=kept)
    blocks = program.rows.blocks
    picture = axis.imshow(program.run_heads([prompt], 6).T, cmap="Greys", vmin=0, vmax=2, aspect="auto")
    axis.set_yticks([(block[0] + block[-1]) / 2 for block in blocks.values()], list(blocks))
    for block in list(blocks.values())[1:]:
        axis.axhline(block[0] - 0.5, linewidth=0.5)
    axis.set(title=f"{kept} rows", xlabel="token")
    axis.grid(False)
fig.colorbar(picture, ax=axes, ticks=[0, 1, 2], label="entry")
caption = (
    "Two if-thens, three tokens each, after one prompt token. With private rows the two tables are separate. With "
)
caption += "shared rows the second answer, `x'.1` in the last token, is a 2, because it was found twice."
alt = "Two images of the token matrix. In the upper one all entries are 0 or 1 and each block has its own rows. In the "
alt += "lower one the rows s0 and s1 are used by both blocks and the last token holds an entry 2."
show.figure(fig, name="tables", caption=caption, alt=alt)

# %% [markdown]
# With shared rows, no input gives the right answer.
#
# ## How we checked
#
# We require that the program and the heads agree on every input. As controls, we give two cases the same letter, and
# let two if-thens share rows. We also run the paper's Algorithm 5.

# %%
same_letter = list(product(range(2), range(2)))
first_case = sum(if_then(if_then_prompt([], [0, 0], list(one)) | {"x": 0}, 2) == {"x'": one[0]} for one in same_letter)

# %%
claim = Claim("linear-attention/algorithm-4")
abstract_right = sum(abstract == outcome for _, outcome, abstract, _, _ in listed)
claim.equal("inputs with a case that return its outcome", abstract_right, len(listed))
silent = sum(abstract is None for with_case, _, abstract, _, _ in found if not with_case)
claim.equal("inputs without a case that return nothing", silent, len(found) - len(listed))
claim.control.equal("two cases of one letter: inputs that return the first outcome", first_case, len(same_letter))
claim.verdict()

# %%
claim = Claim("linear-attention/algorithm-5")
agree = sum(abstract == by_heads for _, _, abstract, by_heads, _ in found)
claim.equal("inputs on which the heads agree with Algorithm 4", agree, len(found))
claim.equal("two in a row with private rows", right["private"], pairs_tried)
by_print = sum(outcome == printed for _, outcome, _, _, printed in listed)
claim.printed.equal("as printed, nothing carried: inputs that return their outcome", by_print, len(listed))
claim.control.equal("two in a row, rows not kept apart", right["shared"], pairs_tried)
claim.verdict()

# %% [markdown]
# ## What to remember
#
# - A condition is a look-up in a table of cases.
# - Every table needs its own rows, because shared rows add up.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, let $x=c$. What does the last token hold?
#
#    <details><summary>Solution</summary>
#
#    Nothing. No token of the table has the key $c$, so the look-up returns zero, and $x'$ stays empty.
#
#    </details>
#
# 2. *Predict, then run.* Set `most_cases = 4`. How many inputs are there with a case, and how many without?
#
#    <details><summary>Solution</summary>
#
#    There are $k$ letters with a case and $3^k$ choices of outcomes. For $k=2,3,4$ this gives $18+81+324=423$ inputs
#    with a case, and $9+27+81=117$ without. All are exact.
#
#    </details>
#
# Next: [Algorithms 6 and 7](algorithm_7_branches.ipynb). If-thens are enough to write one step of a Turing machine.
