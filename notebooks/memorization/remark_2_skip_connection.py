# %% [markdown]
# # Remark 2 · With a skip connection
# *Mahdavi, Liao, Thrampoulidis: Section 4.4; Remark 2; Appendix C.*
#
# <!-- claim memorization/skip-layer -->
# <blockquote>
#
# **Section 4.4 (Attention with a skip connection)** *Section 4.4; Appendix C*
#
# **As printed.** $e'=e+f_{\mathcal W}(E,e)$ and $e_i'=e_i+f_{\mathcal W}(E,e_i)$, also in Proposition 4, which names no
# $W_D$.
#
# **Corrected.** $e'=e+o(E,e)$ and $e_i'=e_i+o(E,e_i)$ with $o=W_O^\top[p_1;\dots;p_H]\in\mathbb R^d$, the layer's
# output before decoding.
#
# $o$ in place of $f_{\mathcal W}$: in Section 3 $f_{\mathcal W}$ is the decoded $\hat y\in\mathbb R^{d_\mathrm{out}}$,
# which can be added to a token only where $d_\mathrm{out}=d$.
#
# </blockquote>
# <!-- /claim -->
#
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
# A skip connection adds the query to the layer's output before decoding. The decoder of the construction passes
# on the first $d_\mathrm{out}$ coordinates, so each output is off by the first coordinates of its query.
# Subtracting these from the labels beforehand puts it right.

# %%
from attention_theory.memorization.attention import capacity, predict, random_heads, random_readout
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.examples import random_labels, sample_examples
from attention_theory.memorization.readout import labels_for_skip, solve_readout
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
heads = 3  # H, at least 1
context = 4  # n, from 2 to width - 1
width = 8  # d, at least 3
outputs = 2  # d_out, from 1 to width - 1
seed = 0  # seed of every draw, at least 0

# %%
require(heads=(heads, 1, None), width=(width, 3, None), context=(context, 2, width - 1))
require(outputs=(outputs, 1, width - 1), seed=(seed, 0, None))
examples = sample_examples(capacity(heads, context, width), context, width, seed=seed)
labels = random_labels(examples.count, outputs, seed + 1)

# %% [markdown]
# ## The layer
# Section 4.4 adds $f_{\mathcal W}(E, e)$ to the token. In Section 3 that is the *decoded* output of $d_\mathrm{out}$
# numbers, which can be added to the $d$ of a token only where $d_\mathrm{out} = d$; what is meant is $o \in \mathbb
# R^d$. One line of Appendix C decodes $e + o$ after $o$ was redefined to contain $e$. Taken at its word it counts the
# query twice; the next line of the paper counts it once.

# %%
some_heads = random_heads(heads, width, width, seed + 2)
some_readout = random_readout(heads, width, outputs, outputs, seed + 3)
plain = predict(some_heads, some_readout, examples)
skipped = predict(some_heads, some_readout, examples, skip=True)
decoded_query = examples.queries @ some_readout.decode

claim = Claim("memorization/skip-layer")
claim.check("skip less plain less decoded query", (skipped - plain - decoded_query).abs().max(), "<=", 1e-13)
claim.misprint("f as in Section 3: numbers to be added to the d of a token", plain.shape[1], "==", width)
claim.control("the query counted twice", (skipped - plain - 2 * decoded_query).abs().max(), "<=", 1e-13)
claim.verdict()

# %% [markdown]
# ## Theorem 1 with the skip

# %%
built = build_heads(examples, heads, width, seed=seed + 4)
first = examples.queries[:, :outputs]
answers = {
    "labels as they are": labels,
    "labels less the query's first coordinates": labels_for_skip(labels, examples.queries),
    "labels plus them": labels + first,
}
errors = {}
for name, wanted in answers.items():
    readout = solve_readout(built.Z, wanted, heads, outputs)
    errors[name] = predict(built.heads, readout, examples, skip=True) - labels
show.table(["trained on", "largest residual"], [(name, error.abs().max()) for name, error in errors.items()])

claim = Claim("memorization/remark-2")
claim.check("shifted labels: residual", errors["labels less the query's first coordinates"].abs().max(), "<=", 1e-10)
once, twice = (errors["labels as they are"] - times * first for times in (1, 2))
claim.check("no shift: residual less e counted once", once.abs().max(), "<=", 1e-12, of="proof")
claim.misprint("no shift: residual less e counted twice", twice.abs().max(), "<=", 1e-12, of="proof")
claim.control("no shift: residual", errors["labels as they are"].abs().max(), "<=", 1e-10)
claim.control("shift of the wrong sign: residual", errors["labels plus them"].abs().max(), "<=", 1e-10)
claim.verdict()
