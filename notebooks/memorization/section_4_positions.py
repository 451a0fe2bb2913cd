# %% [markdown]
# # Section 4.4 · Are sinusoidal positions of full rank?
# *Mahdavi, Liao, Thrampoulidis: Section 4.4.*
#
# <!-- claim memorization/remark-positional-full-rank -->
# <blockquote>
#
# **Section 4.4 (Are sinusoidal positions of full rank?)** *Section 4.4*
#
# **As printed.** The positional encoding matrix is inherently full rank, and this carries over to the context matrix.
#
# **Corrected.** The first $n\le d$ sinusoidal encodings are linearly independent in exact arithmetic. Together with
# generic tokens the contexts have rank $n$.
#
# The first part is true in exact arithmetic (in float64 the rank of 512 encodings of width 1024 is about 171). It does
# not carry over by itself: full rank of the positions does not give full rank of tokens plus positions. It does for
# generic tokens.
#
# </blockquote>
# <!-- /claim -->
#
# The text calls the matrix of sinusoidal encodings inherently of full rank, and takes Assumption 2 from there. In
# exact arithmetic it is: the rows are powers of $d$ distinct numbers $e^{\pm i\omega_k}$ on the unit circle. In
# double precision it is far from it, because most frequencies are so low that their waves hardly move over a few
# hundred positions. And full rank of the positions says nothing about tokens *plus* positions by itself, which is
# where the text takes it: tokens equal to minus the positions give zero.

# %%
import torch

from attention_theory.encodings import sinusoidal
from attention_theory.memorization.examples import draw
from attention_theory.memorization.positions import smallest_singular_ratio
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
most = 33  # positions examined with many digits, width 64, from 12 to 48
seed = 0  # seed of every draw, at least 0

# %%
require(most=(most, 12, 48), seed=(seed, 0, None))
counts = sorted({4, 8, 12, 16, 20, 24, 28, most})
exact = [smallest_singular_ratio(count, 64) for count in counts]
rounded = [torch.linalg.svdvals(sinusoidal(count, 64)) for count in counts]

fig, axis = show.axes()
axis.semilogy(counts, exact, marker="o", label="120 digits")
axis.semilogy(counts, [(s[-1] / s[0]).item() for s in rounded], marker="s", label="float64")
axis.set(xlabel="positions n, width 64", ylabel="smallest over largest singular value")
axis.legend()
show.figure(
    fig,
    name="positions",
    caption="Exactly the ratio keeps falling and is never zero. In double precision it stops at rounding near 20 "
    "positions.",
    alt="Two falling curves on a logarithmic axis; the float64 one levels off at 1e-17, the other goes on to 1e-42.",
)

# %%
sizes = [(32, 64), (197, 768), (512, 1024)]
ranks = [int(torch.linalg.matrix_rank(sinusoidal(n, d))) for n, d in sizes]
noisy = [int(torch.linalg.matrix_rank(sinusoidal(n, d) + 0.02 * draw("gaussian", n, d, seed=seed))) for n, d in sizes]
show.table(
    ["n", "d", "float64 rank of the positions", "with N(0, 0.02²) tokens added"],
    [(n, d, rank, sum_rank) for (n, d), rank, sum_rank in zip(sizes, ranks, noisy, strict=True)],
)
cancelled = int(torch.linalg.matrix_rank(sinusoidal(32, 64) - sinusoidal(32, 64)))

claim = Claim("memorization/remark-positional-full-rank")
claim.check("120 digits, smallest ratio, far above the precision", min(exact), ">", 1e-55)
claim.check("tokens added: ranks missing", sum(n - rank for (n, _), rank in zip(sizes, noisy, strict=True)), "==", 0)
claim.printed("it carries over to any tokens: rank with tokens equal to minus the positions", cancelled, "==", 32)
claim.control("float64 in place of 120 digits: rank of 32 positions of width 64", ranks[0], "==", 32)
if most == 33:
    claim.number("smallest ratio at n = 33", exact[-1])
for (n, _), rank in zip(sizes, ranks, strict=True):
    claim.number(f"float64 rank, n = {n}", rank)
claim.verdict()
