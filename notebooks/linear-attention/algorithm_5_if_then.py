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
# A token holds a letter $x$ and $k$ cases $(a_i, b_i)$. If $x = a_i$, the next token shall hold $x' = b_i$. A layer has
# no conditions, but it has lookups. So the cases are set out as a table, one case a token: the key $a_i$ in the rows
# $s_0$, the value $b_i$ in the rows $s_1$. After $k$ tokens the letter $x$ asks this table.
#
# Two things are left out in print and needed to run it. The copies must know which token they are at; here they ask by
# position. And every copy in print reads from the token just written, which holds neither $x$ nor the other cases:
# $a_i$ and $b_i$ must be read where they stand, and $x$ must be carried along to the last of the $k$ tokens. The rows
# $s_0$, $s_1$ belong to this if-then alone, as Appendix C asks of all blocks. A later one that used the same rows would
# find both tables and return their sum.

# %%
from itertools import product

from attention_theory.linear_attention.machines.if_then import if_then, if_then_program, if_then_prompt
from attention_theory.linear_attention.machines.programs import read_tokens, run_heads
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
tried = listed = abstract_right = unlisted = silent = compiled_right = listed_right_in_print = 0
for cases in range(2, most_cases + 1):
    program = if_then_program(1, cases, letters=cases + 1, outcomes=outcomes)
    in_print = if_then_program(1, cases, letters=cases + 1, outcomes=outcomes, form="printed")
    for x, *results in product(range(cases + 1), *[range(outcomes)] * cases):
        prompt = if_then_prompt([x], list(range(cases)), results)
        abstract = if_then(prompt | {"x": x}, cases)
        tried += 1
        if x < cases:
            listed += 1
            abstract_right += abstract == {"x'": results[x]}
        else:
            unlisted += 1
            silent += abstract == {}
        listed_right_in_print += (
            read_tokens(*run_heads(in_print, [prompt], cases + 1))[-1].get("x'.0") == results[x % cases]
        )
        last = read_tokens(*run_heads(program, [prompt], cases + 1))[-1]
        compiled_right += last.get("x'.0") == abstract.get("x'")
# Two cases with the same letter: the letter alone no longer decides.
twice = [
    (results, if_then(if_then_prompt([], [0, 0], results) | {"x": 0}, 2)) for results in product(range(2), range(2))
]
first_case = sum(found == {"x'": results[0]} for results, found in twice)
print(f"{tried} inputs: {listed} with a case, {unlisted} without")

# %% [markdown]
# ## Two in a row
# Now a second if-then follows the first, over the same cases. With rows of its own it is exact. With shared rows its
# table lies on top of the first one, and the letter $x$ finds two entries.

# %%
pairs_tried = right_private = right_shared = 0
for x, second, *results in product(range(2), range(2), *[range(outcomes)] * 2):
    prompt = if_then_prompt([x, second], [0, 1], results)
    for rows_used in ("private", "shared"):
        history, rows = run_heads(if_then_program(2, 2, 2, outcomes, rows=rows_used), [prompt], 6)
        expected = [1 if outcome == results[second] else 0 for outcome in range(outcomes)]
        exact = history[6, rows["x'.1"]].tolist() == expected
        if rows_used == "private":
            right_private += exact
        else:
            right_shared += exact
    pairs_tried += 1
print(f"of {pairs_tried} inputs: {right_private} right with private rows, {right_shared} with shared rows")

# %%
fig, axes = show.axes(1, 2, width=8, height=3.8)
prompt = if_then_prompt([0, 1], [0, 1], [1, 0])
for axis, rows_used in zip(axes, ("private", "shared"), strict=True):
    history, rows = run_heads(if_then_program(2, 2, 2, outcomes, rows=rows_used), [prompt], 6)
    picture = axis.imshow(history.T, cmap="Greys", vmin=0, vmax=2, aspect="auto")
    axis.set_yticks([(block[0] + block[-1]) / 2 for block in rows.blocks.values()], list(rows.blocks))
    for block in list(rows.blocks.values())[1:]:
        axis.axhline(block[0] - 0.5, linewidth=0.5)
    axis.set_title(f"{rows_used} rows")
    axis.set_xlabel("token")
    axis.grid(False)
fig.colorbar(picture, ax=axes, ticks=[0, 1, 2], label="entry")
show.figure(
    fig,
    name="tables",
    caption="Two if-thens, three tokens each, after one prompt token. The scale at the right tells 1 from 2. With "
    "private rows the two tables stand apart. With shared rows the second answer, `x'.1` in the last token, is a "
    "2: it was found twice.",
    alt="Two images of the token matrix. On the left all entries are 0 or 1 and each block has its own rows. On the "
    "right the rows s0 and s1 are used by both blocks and the last token holds an entry 2.",
)

# %%
claim = Claim("linear-attention/algorithm-4")
claim.check("inputs with a case that return its outcome", abstract_right, "==", listed)
claim.check("inputs without a case that return nothing", silent, "==", unlisted)
claim.control("two cases of the same letter: inputs that return the outcome of the first", first_case, "==", len(twice))
claim.verdict()

# %%
claim = Claim("linear-attention/algorithm-5")
claim.check("inputs on which the heads agree with Algorithm 4", compiled_right, "==", tried)
claim.check("two in a row with private rows", right_private, "==", pairs_tried)
claim.printed(
    "as printed, nothing carried: inputs with a case that return its outcome", listed_right_in_print, "==", listed
)
claim.control("two in a row, rows not kept apart", right_shared, "==", pairs_tried)
claim.verdict()
