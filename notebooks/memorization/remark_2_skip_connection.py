# %% [markdown]
# # Remark 2 · A skip connection changes nothing
# *Mahdavi, Liao, Thrampoulidis: Section 4.4; Remark 2; Appendix C.*
#
# In a transformer, the output of a layer is added to its input. Theorem 1 is about a layer without this *skip
# connection*. Do the weights that we built still give the right answers?
#
# **In numbers.** We want the label 5, and the first entry of the query is 2. With the skip connection, the layer adds
# this 2 to its output. We therefore build the weights for the label $5-2=3$, and the output is 5.
#
# ## The paper states
# <!-- claim memorization/skip-layer -->
# <blockquote>
#
# **Section 4.4 (Attention with a skip connection)** *Section 4.4; Appendix C*
#
# **The paper states.** Given a set of attention weights $\mathcal W$, the Self-Attention layer with skip connection
# transforms the tokens according to the following equation: $e':=e+f_{\mathcal W}(E,e)$, $e'_i:=e_i+f_{\mathcal
# W}(E,e_i)$ for all $i\in[n]$, $E':=[e_1'^\top;e_2'^\top;\dots;e_n'^\top]$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** For tokens that are passed to the next layer, $d_\mathrm{out}=d$ and $W_D=I$, so the layer's
# output $f_{\mathcal W}$ is $o$ of Eq. 5. If $d_\mathrm{out}<d$, the query is added to $o=W_O^\top[p_1;\dots;p_H]$
# before decoding (Appendix C).
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/remark-2 -->
# <blockquote>
#
# **Remark 2 (Theorem 1 with a skip connection)** *Section 4.4; Appendix C*
#
# **The paper states.** Theorem 1 also holds true for Attention layers with skip connection (see Appendix C).
#
# <details><summary>Slips (1)</summary>
#
# - Appendix C has $\hat y=W_D^\top(e+o)$ after $o$ was redefined to contain $e$. It should be $\hat y=W_D^\top o$ with
#   the new $o$; the query is added once, as in the next equality.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The decoder of Theorem 1 passes on the first $d_\mathrm{out}$ entries of a vector of $d$ numbers. With a skip
# connection, each output is therefore too large by the first $d_\mathrm{out}$ entries of its query. We know these
# entries in advance and subtract them from the labels.
#
# ## See it run
# We build weights for the labels as they are, minus the query's entries, and plus these entries, and compute the
# outputs with the skip connection.

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

# %%
fig, axis = show.axes(width=5.2, height=3.2)
entries = examples.queries[:, :outputs].flatten()
for (name, error), marker in zip(errors[outputs].items(), show.MARKERS, strict=False):
    axis.plot(entries, error.flatten(), marker, alpha=0.6, label=f"labels {name}")
axis.axline((0, 0), slope=1, color="0.5", linestyle="--")
axis.set(xlabel="first coordinates of the query", ylabel="output minus label")
axis.legend(fontsize=8)
show.figure(
    fig,
    name="shift",
    caption="Errors of the outputs against the query's first coordinates, for weights built for three kinds of labels.",
    alt="Errors against coordinates of the query. The points are on the diagonal for unshifted labels, on a steeper "
    "line for the wrong sign, and at zero for the right shift.",
)

# %% [markdown]
# If we build the weights for the labels as they are, each error equals the query's coordinate. With the wrong sign, the
# error is twice as large. With the right shift, all outputs are correct.
#
# ## How we checked
# We repeat this for $d_\mathrm{out}=d$. At one size, the solver z3 proves that the shift is right for all features,
# queries and labels. The controls add the query twice, or shift with the wrong sign.

# %%
claim = Claim("memorization/skip-layer")
claim.close("d_out = d, W_D = I: new tokens less e + f", next_tokens - examples.queries, f, atol=1e-13)
claim.equal("d_out = d: numbers of f", f.shape[1], width)
claim.close("any d_out: skip less plain less decoded query", skipped - plain, decoded_query, atol=1e-13)
claim.control.close("the query counted twice", skipped - plain, 2 * decoded_query, atol=1e-13)
claim.certified("all read-outs", certify_skip_layer())
claim.number("decoded f of these parameters: numbers, to be added to the d of a token", plain.shape[1])
claim.verdict()

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
# <details><summary>Method notes</summary>
#
# To cover all read-outs, it is enough to test matrices with a single entry 1, or none. Taken literally, the line of
# Appendix C counts the query twice.
#
# </details>
#
# ## What to remember
#
# - A skip connection adds a known vector to each output, and we can subtract it beforehand.
# - Theorem 1 therefore holds for layers with skip connections as well.
#
# ## Exercises
#
# 1. *By hand.* The label is $(1,4)$ and the query $(3,-2,7)$. For which label do we build the weights?
#    <details><summary>Solution</summary>
#
#    We build them for $(1,4)-(3,-2)=(-2,6)$.
#
#    </details>
# 2. *Predict, then run.* Set `outputs = 8`, the width of the tokens. What happens to the table?
#    <details><summary>Solution</summary>
#
#    It has three rows instead of six, because both numbers of outputs are now the same.
#
#    </details>
#
# Next: [Proposition 4](proposition_4_averaging.ipynb). A layer with a skip connection can also make equal queries
# independent.
