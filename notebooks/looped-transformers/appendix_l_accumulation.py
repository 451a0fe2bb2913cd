# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix L · Errors over many cycles
# *Giannou, Rajput, Sohn, Lee, Lee, Papailiopoulos: Appendix L.*
#
# A looped machine feeds its errors back to itself. If every step at most keeps them as they are, $T$ steps make at
# most $T$ times the error of one. The page lets the machine multiply a vector by a matrix a hundred times over.

# %%
import math

import torch

from attention_theory.looped_transformers.blocks.approximation import reciprocal_sigmoids
from attention_theory.looped_transformers.blocks.product import ProductBlock
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import variable
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
products = 100  # T, products in a row, at least 20
seed = 0  # of the matrices, at least 0

# %%
require(products=(products, 20, None), seed=(seed, 0, None))
d = 4
ROUNDING = 4e-15  # of a product, times c; Lemma 14 finds it within a factor of two
rotation = torch.linalg.qr(torch.randn(d, d, generator=generator(seed), dtype=torch.float64))[0]

# %% [markdown]
# <!-- claim looped-transformers/appendix-l-accumulation -->
# <blockquote>
#
# **App. L error accumulation over T steps (Errors over T steps)** *Appendix L*
#
# **As printed.** The same is said of steps that approximate functions, "in a similar way".
#
# **Corrected.** If every step multiplies by an exact $A$ with $\|A\|\le1$ and adds an error of at most $\epsilon'$, the
# error after $T$ steps is at most $T\epsilon'$.
#
# It needs a Lipschitz constant of at most 1. $1/x$ and $\sqrt x$ have larger ones, and multiply the error by it.
#
# </blockquote>
# <!-- /claim -->
# The error of one step is what the machine's own product adds to the exact product of the vector that it had. Lemma 14
# says how large it can be, before anything is run: $cz^2/2+e^{-C}(1+\textit{rest})/c$ for an entry $z$, and
# $4\cdot10^{-15}/c$ for rounding. With an orthogonal matrix, $\|A\|=1$, errors are kept and add up at worst linearly.
# With $\|A\|=1.5$ they grow like $1.5^T$. There the vector starts small, so that the product's error is the same in
# every step.
#
# The paper says the same of steps that approximate a function. That needs a function that does not spread its
# arguments. The sigmoids for $1/x$ do: an error that goes in comes out larger by their slope.


# %%
def errors(matrix, count, start):
    """The distance to the exact vector after each product, and the error that each product adds."""
    text = "again: b = mul(a, b)\nt = add(t, one) if t <= 0 goto again\nhalt"
    vector = torch.full((d, 1), start, dtype=torch.float64)
    program = assemble(text, {"a": matrix.mT, "b": vector, "t": 1.0 - count}, d)
    run = FleqMachine(program).run(program, 2 * count + 4)
    found = torch.stack([variable(program, memory, "b")[:, 0] for memory in run.memories[::2]])
    exact, before = [vector[:, 0]], torch.cat([vector.mT, found[:-1]])
    for _ in found:
        exact.append(matrix @ exact[-1])
    distance = (found - torch.stack(exact[1:])).norm(dim=1)
    added = (found - before @ matrix.mT).norm(dim=1)
    return distance, added


kept, kept_added = errors(rotation, products, 0.5)
grown, grown_added = errors(1.5 * rotation, 20, 1e-4)
steps = torch.arange(1, products + 1)
slope, height = ProductBlock().slope, ProductBlock().height
of_an_entry = slope / 2 + 2 * math.exp(-height) / slope + 2 * ROUNDING / slope  # |z| is at most 1
law = d**0.5 * of_an_entry
bound = steps * law
growth = (grown[-1] / grown[9]).item()
function, nudge = reciprocal_sigmoids(0.05, 0.2, 8.0), 1e-6
where = torch.linspace(0.2, 8.0, 100_001, dtype=torch.float64)
spread = ((function(where + nudge) - function(where)).abs() / nudge).max()

fig, axis = show.axes()
axis.loglog(steps, kept, "o-", markersize=3, label=r"$\|A\|=1$")
axis.loglog(steps, bound, "C0--", label="T times the law of one step")
axis.loglog(range(1, 21), grown, "s-", markersize=3, label=r"$\|A\|=1.5$")
axis.set(xlabel="products $T$", ylabel=r"$\|b-b_{\mathrm{exact}}\|$")
axis.legend()
show.figure(
    fig,
    name="accumulation",
    caption="Distance to the exact vector. With norm 1 it stays below T times the error that Lemma 14 allows a step "
    "(dashed); with norm 1.5 it crosses that line.",
    alt="Log-log plot. One curve rises at most linearly and stays below the dashed line. The other crosses the dashed "
    "line and bends upwards.",
)
claim = Claim("looped-transformers/appendix-l-accumulation")
claim.check("products made", len(kept), "==", products)
claim.check("norm 1: error that a product adds over the law, largest", kept_added.max() / law, "<=", 1.0)
claim.check("norm 1.5: the same", grown_added.max() / law, "<=", 1.0)
claim.check("norm 1: distance over T times the law, largest", (kept / bound).max(), "<=", 1.0)
claim.control("norm 1.5: distance over T times the law, at T = 20", grown[-1] / (20 * law), "<=", 1.0)
claim.check("norm 1.5: growth from T = 10 to 20 over 1.5^10", growth / 1.5**10, "==", 1.0, 0.5)
claim.printed("1/x by sigmoids: an error that goes in comes out larger, at most by", spread, "<=", 1.0)
claim.verdict()
