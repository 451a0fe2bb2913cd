# %% [markdown]
# # Remark 2 · With a skip connection
# *Mahdavi, Liao, Thrampoulidis: Section 4.4; Remark 2; Appendix C.*
#
# In a transformer the output of a layer is added to its input: this is a *skip connection*, and Theorem 1 is about a
# layer without it. Does it spoil what was built? The query is added to the layer's output before decoding. The decoder
# of the construction passes on the first $d_\mathrm{out}$ coordinates, as many as a label has, so each output is off by
# the first coordinates of its query. These are known before anything is trained. Subtracting them from the labels
# beforehand puts it right, and Theorem 1 holds as before.

# %%
import torch

from attention_theory.memorization.attention import Readout, capacity, predict, random_heads, random_readout
from attention_theory.memorization.certified.layers import certify_skip_labels, certify_skip_layer
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.readout import solve_readout
from attention_theory.randomness import normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
heads = 3  # H, at least 1
context = 4  # n, from 2 to width - 1
width = 8  # d, at least 3
outputs = 2  # d_out, from 1 to width
seed = 0  # seed of every draw, at least 0

# %%
require(heads=(heads, 1, None), width=(width, 3, None), context=(context, 2, width - 1))
require(outputs=(outputs, 1, width), seed=(seed, 0, None))

# %% [markdown]
# ## The layer
# Section 4.4 adds $f_{\mathcal W}(E, e)$, the layer's output, to the token. A layer that hands tokens on to the next
# one has $d_\mathrm{out} = d$, and there the sum is what it says: with $W_D = I$, as in Proposition 4, $f_{\mathcal W}$
# is $o = W_O^\top[p_1; \dots; p_H]$ of Eq. 5. With $d_\mathrm{out} < d$, where only the read-out is of interest, it is
# $o$ that the query is added to, before $W_D$ (Appendix C); the decoded numbers could not be added to a token.
#
# <!-- claim memorization/skip-layer -->
# <blockquote>
#
# **Section 4.4 (Attention with a skip connection)** *Section 4.4; Appendix C*
#
# $e'=e+f_{\mathcal W}(E,e)$ and $e_i'=e_i+f_{\mathcal W}(E,e_i)$. (For tokens that are handed on, $d_\mathrm{out}=d$;
# where $d_\mathrm{out}<d$ the query is added to $o=W_O^\top[p_1;\dots;p_H]$, before decoding.)
#
# </blockquote>
# <!-- /claim -->

# %%
examples = sample_examples(capacity(heads, context, width), context, width, seed=seed)
some_heads = random_heads(heads, width, width, seed + 2)


def with_and_without(readout: Readout) -> tuple[torch.Tensor, torch.Tensor]:
    return predict(some_heads, readout, examples), predict(some_heads, readout, examples, skip=True)


handing_on = random_readout(heads, width, width, width, seed + 3)
handing_on = Readout(handing_on.values, handing_on.output, torch.eye(width, dtype=torch.float64))
f, next_tokens = with_and_without(handing_on)
decoding = random_readout(heads, width, outputs, outputs, seed + 4)
plain, skipped = with_and_without(decoding)
decoded_query = examples.queries @ decoding.decode

# %% [markdown]
# Both forms of the layer, and the control that counts the query twice. For all read-outs it is enough to try matrices
# with a single entry 1, or none.

# %%
claim = Claim("memorization/skip-layer")
claim.close("d_out = d, W_D = I: new tokens less e + f", next_tokens - examples.queries, f, atol=1e-13)
claim.equal("d_out = d: numbers of f", f.shape[1], width)
claim.close("any d_out: skip less plain less decoded query", skipped - plain, decoded_query, atol=1e-13)
claim.control.close("the query counted twice", skipped - plain, 2 * decoded_query, atol=1e-13)
claim.certified("all read-outs", certify_skip_layer())
claim.number("decoded f of these parameters: numbers, to be added to the d of a token", plain.shape[1])
claim.verdict()

# %% [markdown]
# ## Theorem 1 with the skip
# <!-- claim memorization/remark-2 -->
# <blockquote>
#
# **Remark 2 (Theorem 1 with a skip connection)** *Section 4.4; Appendix C*
#
# Theorem 1 holds for the layer with a skip connection: build for the labels $y^{(t)}-I_{d_\mathrm{out}\times
# d}\,e^{(t)}$, the labels less the first $d_\mathrm{out}$ entries of the query.
#
# **In the paper's proof.** $\hat y=W_D^\top(e+o)$, after $o$ was redefined to contain $e$.
#
# **Corrected.** $\hat y=W_D^\top o$ with the new $o$; the query counts once.
#
# </blockquote>
# <!-- /claim -->
#
# The construction is run for three kinds of labels, and read with the skip connection. Appendix C decodes $e + o$ in a
# line that comes after $o$ was redefined to contain $e$. The next equality counts the query once, so the old $o$ is
# meant. Taken at its word, the line counts it twice.


# %%
def errors_with_skip(numbers: int) -> dict[str, torch.Tensor]:
    """The errors on labels of so many numbers, for three ways to prepare them."""
    labels, first = normal(examples.count, numbers, seed=seed + 1), examples.queries[:, :numbers]
    prepared = {
        "as they are": labels,
        "less the query's first coordinates": labels - first,
        "plus them": labels + first,
    }
    built = build_heads(examples, heads, width, seed=seed + 5)
    return {
        name: predict(built.heads, solve_readout(built.Z, wanted, heads, numbers), examples, skip=True) - labels
        for name, wanted in prepared.items()
    }


errors = {numbers: errors_with_skip(numbers) for numbers in (outputs, width)}
show.table(
    ["d_out", "labels built for", "largest residual with the skip"],
    [(numbers, name, error.abs().max()) for numbers, rows in errors.items() for name, error in rows.items()],
)

# %% [markdown]
# Without the shift every output is off by its query, whatever the label; with it, by rounding. Each point below is one
# output; the diagonal is "off by exactly the query's coordinate".

# %%
fig, axis = show.axes(width=5.2, height=3.2)
entries = examples.queries[:, :outputs].flatten()
for (name, error), marker in zip(errors[outputs].items(), show.MARKERS, strict=False):
    axis.plot(entries, error.flatten(), marker, alpha=0.6, label=f"labels {name}")
axis.axline((0, 0), slope=1, color="0.5", linestyle="--")
axis.set(xlabel="first coordinates of the query", ylabel="output less label")
axis.legend(fontsize=8)
show.figure(
    fig,
    name="shift",
    caption="What the skip connection adds. Built for the labels as they are, the outputs are off by the query's "
    "coordinates (dashed diagonal); built for the shifted labels, they are right; built with the wrong sign, they are "
    "off by twice as much (triangles).",
    alt="Errors against coordinates of the query: points on the diagonal for unshifted labels, on a steeper line for "
    "the wrong sign, and on zero for the right shift.",
)

# %% [markdown]
# The remark is judged for these parameters and for $d_\mathrm{out} = d$. At one size z3 proves the shift for all
# features, queries and labels.

# %%
shifted = {f"d_out = {k}": rows["less the query's first coordinates"].abs().max() for k, rows in errors.items()}
claim = Claim("memorization/remark-2")
claim.at_most("shifted labels: residual", shifted, 1e-10)
first = {k: examples.queries[:, :k] for k in errors}
once, twice = (
    {f"d_out = {k}": (rows["as they are"] - times * first[k]).abs().max() for k, rows in errors.items()}
    for times in (1, 2)
)
claim.at_most("no shift: residual less e counted once", once, 1e-12, of="proof")
claim.misprint.at_most("no shift: residual less e counted twice", twice, 1e-12, of="proof")
for name in ("as they are", "plus them"):
    wrong = {f"d_out = {k}": rows[name].abs().max() for k, rows in errors.items()}
    claim.control.at_most(f"built for the labels {name}: residual", wrong, 1e-10)
claim.certified("all features, queries and labels", certify_skip_labels(heads=3, width=4, outputs=2))
claim.verdict()

# %% [markdown]
# ## What was learned
# A skip connection costs the theorem nothing: what it adds is known beforehand and is taken off the labels. The layer
# of Section 4.4 is meant for $d_\mathrm{out} = d$, and is right there as printed. One line of Appendix C counts the
# query twice, and the line after it once.
#
# ## To try
# - Set `outputs = 8`, which is $d$: the table has one half only, that for $d_\mathrm{out}=d$.
# - Set `heads = 1`: with $n$ examples the shift works as well, and the points on the diagonal become few.
