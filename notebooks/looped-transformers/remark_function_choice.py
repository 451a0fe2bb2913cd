# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 11 inside FLEQ · A program chooses the function
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Lemma 11, Appendix J.1, with Theorem 2.*
#
# By [Lemma 11](lemma_11_sigmoids.ipynb), one set of weights can hold several functions, and a vector in the input
# selects one of them. The paper writes the lemma "in a format that is consistent with the FLEQ design", the machine
# whose instructions call functions. There the selector is an operand in memory. Can a program compute it, and so choose
# its function from the data?

# %%
import torch

from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.blocks.choice import ChoiceBlock
from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FUNCTIONS, interpret
from attention_theory.looped_transformers.fleq.machine import FleqMachine, compare
from attention_theory.looped_transformers.machine.summary import summarise
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
d = 4  # size of an operand, from 3 to 8
functions = 3  # N, functions that the block holds, from 2 to min(d, 4)
terms = 6  # m, sigmoids of each, from 2 to 20
inputs = 12  # vectors x for which a program is run, from 2 to 40
seed = 0  # of functions and inputs, at least 0

# %%
require(
    d=(d, 3, 8), functions=(functions, 2, min(d, 4)), terms=(terms, 2, 20), inputs=(inputs, 2, 40), seed=(seed, 0, None)
)
source = generator(seed)


def draw(*shape):
    return torch.randn(*shape, generator=source, dtype=torch.float64)


block = ChoiceBlock("choose", draw(functions, terms, d), draw(functions, terms), draw(functions, terms))
x = draw(inputs, d)

# %% [markdown]
# ## The statement
# This is our addition to the paper.
#
# <!-- claim looped-transformers/remark-function-choice -->
# <blockquote>
#
# **Lemma 11 inside FLEQ (A program chooses the function)** *Appendix J.1; Theorem 2*
#
# As a block of the FLEQ machine, $N\le d$ functions in three layers and $m$ heads execute the instruction
# $\mathrm{mem}[t]=f(\mathrm{mem}[x],\mathrm{mem}[e])$. If cell $e$ holds $e_j$, it computes $\sum_{i\le
# m}c_{ji}\,\phi(a_{ji}\cdot x+b_{ji})$. A program can compute $e$, and so choose the function from its data.
#
# A selector that is not one of the $e_j$, but whose entries add up to 1, gives the function of the mixed parameters,
# not the mixture of the functions.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The selector $e_j$ has a 1 in position $j$ and zeros elsewhere. Layer 1 moves it to separate rows, so that its
# column is the only one with a key. In layer 2, head $i$ reads $a_{ji}$ and the bias from it as a key and $c_{ji}$ as
# a value, and the column of $x$ is the query. Layer 3 copies the sum to the place of the result.
#
# Key and value are linear in the selector. A selector half $e_1$ and half $e_2$ therefore gives neither function, nor
# their mean, but a third function with the mean parameters.
#
# ## See it run
# First we run the block alone.


# %%
def operands(selector):
    """x in the first column of one operand, the selector in that of the other; a batch over the inputs."""
    left, right = torch.zeros(2, inputs, d, d, dtype=torch.float64)
    left[:, :, 0], right[:, : len(selector), 0] = x, selector
    return left, right


def by_hand(j):
    """Function j at all inputs, from its definition."""
    return (x @ block.a[j].mT + block.b[j]).sigmoid() @ block.c[j]


def result(selector, **options):
    return run_block(block, *operands(selector), **options).result[:, 0, 0]


# %%
unit = torch.eye(functions, dtype=torch.float64)
alone = {f"function {j + 1}": (result(unit[j], spare=20) - by_hand(j)).abs().max().item() for j in range(functions)}
uncounted = (result(unit[0], columns=3 * d) - by_hand(0)).abs().max()
halves = result((unit[0] + unit[1]) / 2)
from_mean = (halves - (by_hand(0) + by_hand(1)) / 2).abs().max()
mean_a, mean_b, mean_c = (one[:2].mean(0) for one in (block.a, block.b, block.c))
from_mixed = (halves - (x @ mean_a.mT + mean_b).sigmoid() @ mean_c).abs().max()

# %% [markdown]
# Then we write two programs. The first computes all functions in turn and adds them up; after each, it multiplies the
# selector by a matrix that takes $e_j$ to $e_{j+1}$. The second takes $e_1$ if the first entry of $x$ is positive and
# $e_2$ otherwise.

# %%
ALL = """
again: t = choose(x, e)
       s = add(s, t)
       e = mul(turn, e)          # the next function
       k = add(k, one)
       if k <= 0 goto again
       halt
"""
BY_SIGN = """
       e = add(first, zero)
       if sign <= 0 goto other
       if zero <= 0 goto go
other: e = add(second, zero)
go:    t = choose(x, e)
       halt
"""


# %%
def program(text, vector):
    """The program for one vector."""
    identity = torch.eye(d, dtype=torch.float64)
    turn = torch.zeros(d, d, dtype=torch.float64)
    turn[:functions, :functions] = torch.roll(unit, 1, 1)  # e = turn^T e
    variables = {"x": vector[:, None], "e": identity[:, :1], "first": identity[:, :1], "second": identity[:, 1:2]}
    variables |= {"turn": turn, "sign": float(vector[0].sign()), "t": 0.0, "s": 0.0, "k": 1.0 - functions}
    return assemble(text, variables, d, functions=[*FUNCTIONS, "choose"])


# %%
def run_all(text):
    """Results of the programs for all inputs: the variables, the worst deviation, wrong counters, the machine."""
    programs = [program(text, vector) for vector in x]
    machine = FleqMachine(programs[0], [ProductBlock(), SumBlock("add", heads=1), block])
    exact = [interpret(one, functions=FUNCTIONS | {"choose": block.reference}) for one in programs]
    runs = machine.run_many(programs, 100)
    compared = [compare(ours, theirs) for ours, theirs in zip(runs, exact, strict=True)]
    wrong = sum(not one.counters_agree for one in compared)
    found = {name: torch.stack([programs[0].variable(run.memory, name)[0, 0] for run in runs]) for name in "ts"}
    return found, max(one.deviation for one in compared), wrong, summarise(machine.transformer)


added, added_off, added_wrong, size = run_all(ALL)
chosen, chosen_off, chosen_wrong, _ = run_all(BY_SIGN)

# %%
sum_of_all = sum(by_hand(j) for j in range(functions))
by_sign = torch.where(x[:, 0] > 0, by_hand(0), by_hand(1))

# %%
fig, axis = show.axes()
order = x[:, 0].argsort()
axis.plot(x[order, 0], by_hand(0)[order], "C0_", markersize=12, label="function 1")
axis.plot(x[order, 0], by_hand(1)[order], "C1_", markersize=12, label="function 2")
axis.plot(x[order, 0], chosen["t"][order], "ko", markersize=4, label="machine")
axis.axvline(0.0, color="grey", linestyle="--")
axis.set(xlabel="first entry of $x$", ylabel="result")
axis.legend()
show.figure(
    fig,
    name="choice",
    caption="What the machine returns for each input, and both functions: function 1 right of the dashed line, "
    "function 2 left of it.",
    alt="Pairs of dashes, one pair above each input. To the left of a dashed line a dot is on each dash of one kind, "
    "and to the right on each dash of the other kind.",
)

# %% [markdown]
# Each dot is on a dash: the machine returns function 1 right of the dashed line and function 2 left of it.
#
# ## How we checked
# We compare both programs with an interpreter and with the definition. With columns that are not counted, or a selector
# between two functions, the block alone must fail.

# %%
claim = Claim("looped-transformers/remark-function-choice")
claim.at_most("the block alone, 20 more columns: largest error", alone, 1e-12)
claim.equal("programs with a wrong counter in any cycle", added_wrong + chosen_wrong, 0)
claim.at_most("all functions in turn: memory less the interpreter's", added_off, 1e-5)
claim.close("their sum: distance to the definition", added["s"], sum_of_all, atol=1e-5)
claim.at_most("function by a sign: memory less the interpreter's", chosen_off, 1e-5)
claim.close("the same: distance to the definition", chosen["t"], by_sign, atol=1e-5)
claim.equal("layers of the machine: 9 and the block's 3", size.layers, 12)
claim.equal("heads of the widest layer: the terms of one function", size.heads, terms)
claim.control.at_most("columns not counted: largest error", uncounted, 1e-12)
claim.at_most("selector (1/2, 1/2): distance to the function of mean parameters", from_mixed, 1e-12)
claim.control.at_most("selector (1/2, 1/2): distance to the mean of two functions", from_mean, 1e-2)
other = torch.where(x[:, 0] > 0, by_hand(1), by_hand(0))
claim.control.close("the other function: distance", chosen["t"], other, atol=1e-5)
claim.number("rows of the machine", size.width)
claim.verdict()

# %% [markdown]
# ## What to remember
# - A selector is data like any other, so a program can step through functions or choose one by a sign.
# - Only unit vectors choose one of the functions. A mixture gives a third function, not their mean.
#
# ## Exercises
#
# 1. *By hand.* Two functions are $\phi(x)$ and $\phi(3x)$. What does the selector $(\frac12,\frac12)$ compute at $x=1$?
#    <details><summary>Solution</summary>
#
#    The mean parameters are $a=2$ and $c=1$, so the result is $\phi(2)\approx0.88$. The mean of $\phi(1)\approx0.73$
#    and $\phi(3)\approx0.95$ is 0.84.
#
#    </details>
# 2. *Predict, then run.* Set `terms = 12`. Does the number of layers or heads change?
#    <details><summary>Solution</summary>
#
#    The widest layer has 12 heads instead of 6, one per term. The number of layers stays 12.
#
#    </details>
#
# Next: [Lemma 23](lemma_23_sgd.ipynb). Gradient descent needs the derivative of a loss.
