# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Algorithms 4 and 5 · If-then is a lookup too
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Algorithms 4 and 5, Appendix C.*
#
# A token holds a letter $x$ and $k$ cases $(a_i, b_i)$. If $x = a_i$, the next token shall hold $x' = b_i$. A layer has
# no conditions, but it has lookups. So the cases are set out as a table, one case a token: the key $a_i$ in the rows
# $s_0$, the value $b_i$ in the rows $s_1$. After $k$ tokens $x$ is looked up in this table.
#
# <!-- claim linear-attention/algorithm-4 -->
# <blockquote>
#
# **Algorithm 4 (An if-then program)** *Appendix C*
#
# If the attribute $x$ of the last token equals its attribute $a_i$, the next token's attribute $x'$ is its attribute
# $b_i$, for $i = 1, \dots, k$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/algorithm-5 -->
# <blockquote>
#
# **Algorithm 5 (If-then by a table)** *Appendix C*
#
# **As printed.** The copies do not say which token makes them, and $x$, $a_i$, $b_i$ are read from tokens to which they
# were never copied.
#
# **Corrected.** Over $k$ tokens the cases are copied into the rows $s_0$ (key $a_i$) and $s_1$ (value $b_i$), one case
# a token, while $x$ is carried along; then $x$ is looked up in this table and the value found becomes $x'$. The rows
# $s_0$ and $s_1$ belong to this one if-then.
#
# Copies ask by position and read $a_i$, $b_i$ where they stand, and $x$ is copied to the token that asks.
#
# </blockquote>
# <!-- /claim -->
#
# Two things are left out in the paper and needed to run it. The copies must know which token they are at; here they ask
# by position. And every copy as printed reads from the token just written, which holds neither $x$ nor the other cases:
# $a_i$ and $b_i$ must be read where they stand, and $x$ must be carried along to the last of the $k$ tokens. The rows
# $s_0$, $s_1$ belong to this if-then alone, as Appendix C asks of all blocks. A later one that used the same rows would
# find both tables and return their sum.
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

# %%
from itertools import product

from attention_theory.linear_attention.machines.example_programs import if_then, if_then_program, if_then_prompt
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
most_cases = 3  # the largest k, from 2 to 5; the work grows with outcomes ** most_cases
outcomes = 3  # letters that a case can lead to, from 2 to 4

# %%
require(most_cases=(most_cases, 2, 5), outcomes=(outcomes, 2, 4))

# %% [markdown]
# ## Every input
# For each $k$ all letters $x$ are tried, one of them in no case, with all outcomes $(b_1, \dots, b_k)$.


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
# Algorithm 4 asks for cases of different letters. Where two cases have the same letter, the letter alone no longer
# decides.

# %%
same_letter = list(product(range(2), range(2)))
first_case = sum(if_then(if_then_prompt([], [0, 0], list(one)) | {"x": 0}, 2) == {"x'": one[0]} for one in same_letter)

claim = Claim("linear-attention/algorithm-4")
abstract_right = sum(abstract == outcome for _, outcome, abstract, _, _ in listed)
claim.equal("inputs with a case that return its outcome", abstract_right, len(listed))
silent = sum(abstract is None for with_case, _, abstract, _, _ in found if not with_case)
claim.equal("inputs without a case that return nothing", silent, len(found) - len(listed))
claim.control.equal("two cases of one letter: inputs that return the first outcome", first_case, len(same_letter))
claim.verdict()

# %% [markdown]
# ## Two in a row
# Now a second if-then follows the first, over the same cases. With rows of its own it is exact. With shared rows its
# table lies on top of the first one, and the letter $x$ finds two entries.

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

# %% [markdown]
# The token matrix of one such run, with rows of its own for each if-then and with shared ones:

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
caption = "Two if-thens, three tokens each, after one prompt token. With private rows the two tables stand apart. With "
caption += "shared rows the second answer, `x'.1` in the last token, is a 2: it was found twice."
alt = "Two images of the token matrix. In the upper one all entries are 0 or 1 and each block has its own rows. In the "
alt += "lower one the rows s0 and s1 are used by both blocks and the last token holds an entry 2."
show.figure(fig, name="tables", caption=caption, alt=alt)

# %% [markdown]
# As printed, what a copy reads is not there, and no input with a case comes to its outcome.

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
# ## What was learned
# A condition is a lookup in a table that is laid out first, one case a token. It works if every copy reads where the
# thing stands and if each table has rows of its own. As printed, the copies read tokens that do not hold what is asked.
#
# ## To try
# - Set `most_cases = 4`: some five hundred inputs, all exact.
# - Set `outcomes = 2`: the second answers with shared rows are 2 still where they should be 1.
