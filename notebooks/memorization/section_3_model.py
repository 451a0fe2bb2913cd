# %% [markdown]
# # Section 3 · The model, its matrix form and its parameters
# *Mahdavi, Liao, Thrampoulidis: Section 3, Eqs. (1)-(8); Table 2; the text after Theorem 1.*
#
# A model memorises if it gives every one of $T$ examples its label, whatever the labels are; its capacity is the
# largest $T$ for which it can. The model here is one attention layer that is read at one query. An example shows it a
# context, $n$ tokens of $d$ numbers each, and the query. Each of $H$ heads takes a convex combination of the context's
# tokens; the $H$ combinations, side by side, are a row of the feature matrix $Z$; everything after that is linear. So
# with the heads fixed, the number of labels that can all be met is the rank of $Z$. (Heads trained for given labels can
# meet more: Proposition 2.) (The introduction of the paper calls capacity "the minimal set of parameters"; Section 3
# and all theorems mean the largest $T$.)

# %%
import torch

from attention_theory.memorization.attention import (
    capacity,
    features,
    matrix_form,
    memorises,
    parameter_count,
    predict,
    predict_literally,
    random_heads,
    random_readout,
    softmax_weights,
)
from attention_theory.memorization.certified.layers import certify_matrix_form
from attention_theory.memorization.certified.sizes import certify_parameter_count
from attention_theory.memorization.exact_rank import reachable_dimensions
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.readout import solve_readout
from attention_theory.randomness import normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
examples_count = 7  # T, from 2 to heads * (context - 1) + 1
heads = 3  # H, at least 1
context = 4  # n, from 2 to width - 1
width = 6  # d, at least 3
head_width = 2  # d_h, at least 1
values = 3  # d_v, at least outputs
outputs = 2  # d_out, from 2 to width
seed = 0  # seed of every draw, at least 0

# %%
require(
    examples_count=(examples_count, 2, heads * (context - 1) + 1),
    heads=(heads, 1, None),
    width=(width, 3, None),
    context=(context, 2, width - 1),
    head_width=(head_width, 1, None),
    outputs=(outputs, 2, width),
    values=(values, outputs, None),
    seed=(seed, 0, None),
)
examples = sample_examples(examples_count, context, width, shared=False, seed=seed)
layer = random_heads(heads, width, head_width, seed + 1)
readout = random_readout(heads, width, values, outputs, seed + 2)

# %% [markdown]
# ## Six equations
# A head compares the query with every token, turns the comparisons into weights that sum to 1, and returns the weighted
# mean of the tokens. Head $h$ has keys $W_{K_h}$ and queries $W_{Q_h}$, matrices of $d$ rows and $d_h$ columns, and
# values $W_{V_h}$ of $d$ rows and $d_v$ columns. The output map $W_O$, of $Hd_v$ rows and $d$ columns, joins the heads,
# and the decoder $W_D$, of $d$ rows and $d_\mathrm{out}$ columns, makes the output.
#
# <!-- claim memorization/definition-mha -->
# <blockquote>
#
# **Eqs. 1-6 (One layer of multi-head attention, read at a query)** *Section 3, Eqs. 1-6*
#
# For heads $h\in[H]$, a context $E\in\mathbb R^{n\times d}$ of tokens as rows and a query $e\in\mathbb R^d$:
# $\alpha_h=EW_{K_h}W_{Q_h}^\top e$, $\theta_h=\mathrm{softmax}(\alpha_h)$, $z_h=E^\top\theta_h$, $p_h=W_{V_h}^\top
# z_h$, $o=W_O^\top[p_1;\dots;p_H]$, $\hat y=W_D^\top o$. No scaling of the logits, no bias, mask or skip connection.
#
# </blockquote>
# <!-- /claim -->
#
# (At $d_h = 1$ the usual factor $1/\sqrt{d_h}$, which Eq. (1) does without, is 1.) The loop below follows the six
# equations line by line; the package computes all examples and heads at once.

# %%
batched = predict(layer, readout, examples)
pairs = list(zip(examples.contexts, examples.queries, strict=True))
literal = torch.stack([predict_literally(layer, readout, E, e) for E, e in pairs])
scaled = torch.stack([predict_literally(layer, readout, E, e, scale=head_width**-0.5) for E, e in pairs])
masked = torch.stack([predict_literally(layer, readout, E[:-1], e) for E, e in pairs])
skipped = predict(layer, readout, examples, skip=True)
weights = softmax_weights(layer, examples)
sums = weights.sum(dim=-1)

# %% [markdown]
# Each head makes a mixture of the tokens of one example, with weights of its own.

# %%
fig, axis = show.axes(width=5.2, height=2.6)
shown = weights[0]
for h, marker in zip(range(min(heads, len(show.MARKERS))), show.MARKERS, strict=False):
    axis.plot(range(1, context + 1), shown[h], marker=marker, label=f"head {h + 1}")
axis.set(xlabel="token i", ylabel="softmax weight", ylim=(0, 1), xticks=range(1, context + 1))
axis.legend()
show.figure(
    fig,
    name="weights",
    caption="Softmax weights of the heads on the first example. Each curve sums to 1; the mean of the tokens with "
    "these weights is the head's part of the row of Z.",
    alt="A curve for each head over the tokens, all between zero and one.",
)

# %% [markdown]
# Controls are layers with something that Section 3 leaves out; the factor on the logits is such a control for $d_h \ge
# 2$ only.

# %%
claim = Claim("memorization/definition-mha")
claim.close("batched less one by one", batched, literal, atol=1e-13)
claim.close("softmax weights, sum less 1", sums, 1, atol=1e-15)
claim.control.close("with a mask on the last token", batched, masked, atol=1e-13)
claim.control.close("with a skip connection", batched, skipped, atol=1e-13)
if head_width > 1:
    claim.control.close("with the usual factor on the logits", batched, scaled, atol=1e-13)
claim.verdict()

# %% [markdown]
# ## The matrix form
# The $H$ combinations side by side are a row of $Z$; value, output and decoding weights then act on $Z$ as one matrix.
# Both sides are linear in each of these weights, so that trying all matrices with a single entry 1 settles all others.
#
# <!-- claim memorization/definition-feature-matrix -->
# <blockquote>
#
# **Eqs. 7-8 (Feature matrix and matrix form)** *Section 4.1, Eqs. 7-8*
#
# **As printed.** Eq. 8 gives $\hat y^{(t)}=Z\,\mathrm{diag}(\cdots)W_OW_D\in\mathbb R$ for each $t$.
#
# **Corrected.** $Z\in\mathbb R^{T\times Hd}$ has the rows $[z_1^{(t)\top},\dots,z_H^{(t)\top}]$, and $\hat
# Y=Z\,\mathrm{diag}(W_{V_1},\dots,W_{V_H})\,W_OW_D\in\mathbb R^{T\times d_\mathrm{out}}$.
#
# The right side is the matrix of all outputs, $\hat Y\in\mathbb R^{T\times d_\mathrm{out}}$.
#
# </blockquote>
# <!-- /claim -->

# %%
Z = features(layer, examples)
product = matrix_form(Z, readout)
claim = Claim("memorization/definition-feature-matrix")
claim.close("matrix form less the model", product, batched, atol=1e-13)
claim.equal("shape of Z", str(tuple(Z.shape)), str((examples_count, heads * width)))
claim.equal("numbers in the product", product.numel(), examples_count * outputs)
claim.misprint.equal("Eq. 8 as printed, one number for each t: numbers in the product", product.numel(), examples_count)
claim.control.close("features in another order", matrix_form(Z.flip(1), readout), batched, atol=1e-13)
claim.certified("all read-outs", certify_matrix_form())
claim.verdict()

# %% [markdown]
# ## What memorising means
# <!-- claim memorization/definition-memorization -->
# <blockquote>
#
# **Memorization (Memorising a training set)** *Section 3*
#
# **The paper states.** Our goal is to find a parameter set $\mathcal W$ such that the MHA model is able to memorize any
# label set given the key matrices and query vectors, i.e., $y^{(t)}=f_{\mathcal W}(E^{(t)},e^{(t)})$ for all $t\in[T]$.
# The maximum number $T$ of examples for which we are able to achieve this serves as a lower bound on the memorization
# capacity of the model.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The introduction has another wording: capacity "refers to the minimal set of parameters
# $\mathcal W$ such that $f_{\mathcal W}(x)=y$ holds for all input-output pairs". That fixes the examples and counts
# parameters; all results of the paper fix the layer and count examples, as here.
#
# </blockquote>
# <!-- /claim -->
#
# Below the labels are drawn after the features and have nothing to do with them. An example that is there twice, with
# two labels, can never be memorised.

# %%
labels = normal(examples_count, outputs, seed=seed + 3)
solved = solve_readout(Z, labels, heads, values)
met = predict(layer, solved, examples)

# %% [markdown]
# For the control the first example is there again, with its label moved by one.

# %%
again = torch.cat([torch.arange(examples_count), torch.tensor([0])])
twice = examples.take(again)
other_label = torch.cat([labels, labels[:1] + 1])
met_twice = predict(layer, solve_readout(features(layer, twice), other_label, heads, values), twice)
claim = Claim("memorization/definition-memorization")
claim.true("arbitrary labels memorised", memorises(met, labels))
claim.close("largest residual", met, labels, atol=1e-10)
claim.control.true("first example again with another label", memorises(met_twice, other_label))
claim.verdict()

# %% [markdown]
# ## Counting parameters
# $W_K, W_Q$ have $2Hdd_h$ entries, $W_V$ and $W_O$ have $Hdd_v$ each, $W_D$ has $dd_\mathrm{out}$. The paper has
# $Hdd_v$ once. It holds the number against what Theorem 1 promises, $H(\min(n,d_h)-1)+1$ examples ({claim:ref}`see
# Theorem 1 <memorization/theorem-1>`), in three settings. The slip does them no harm: the orders are the same.
#
# <!-- claim memorization/remark-parameter-count -->
# <blockquote>
#
# **Text after Theorem 1 (Parameters, and the three settings)** *Section 4*
#
# **The paper states.** Theorem 1 shows that an MHA with $2Hdd_h+Hdd_v+dd_\mathrm{out}$ parameters can memorize at least
# $H(\min(n,d_h)-1)+1$ examples. (1) $d_h=d$, $d_v=d_\mathrm{out}=1$: $\Theta(Hd^2)$, $\Omega(Hn)$ examples. (2)
# $d_h=n<d$, $d_v=d_\mathrm{out}=1$: $\Theta(Hdn)$, $\Omega(Hn)$. (3) $d_h=d_v=d_\mathrm{out}=d$: $\Theta(Hd^2)$,
# $\Theta(Hn)$ with $d$-dimensional label each; for $n=\Theta(d)$ the bound becomes optimal.
#
# **What is true.** The layer has $2Hdd_h+2Hdd_v+dd_\mathrm{out}$ parameters; the orders are as stated.
#
# **What changed.** The output weights $W_O\in\mathbb R^{Hd_v\times d}$ were left out of the count.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The orders are judged from $n=2$ on. At $n=1$ with one shared context the capacity is 1,
# whatever $H$ is.
#
# </blockquote>
# <!-- /claim -->
#
# Theorem 1 is a lower bound, so $\Omega$ is what it gives in all three settings. In setting (3) the paper says
# $\Theta$, and rightly, for what is *certain* to be memorised: there are data that satisfy both assumptions and on
# which no layer does better than twice as much.
#
# <details><summary>Proof of the order in setting (3)</summary>
#
# At least $H(n-1)+1$ examples are certain, by Theorem 1 with $d_h = d > n$. Now let all examples share one context. A
# head acts through its logits up to a common number, a matrix of $n - 1$ free rows of $d$ numbers. A head's weights are
# given by $n - 1$ of them, so all features are linear in 1 and these, and each of the $d$ outputs is a linear map of
# these $H(n-1)+1$ numbers. So the outputs of $T$ examples, $Td$ numbers, are a smooth function of at most $H(n-1)d +
# (H(n-1)+1)\,d = 2H(n-1)d + d$ numbers. For $T > 2H(n-1) + 1$ they are more than that. A smooth image of fewer
# dimensions has measure zero, so almost no labels are met. $\square$
#
# </details>
#
# An order is seen as an exponent over one doubling, at sizes of a real model.

# %%
counted = sum(w.numel() for w in (layer.keys, layer.queries, readout.values, readout.output, readout.decode))
sizes = (heads, width, head_width, values, outputs)


def slope(small: float, large: float) -> float:
    """The exponent seen over one doubling."""
    return torch.log2(torch.tensor(large / small, dtype=torch.float64)).item()


# %% [markdown]
# The exponents in the three settings, beside those that the text states:

# %%
H, n, d = 64, 512, 1024
exponents = {
    "setting 1, parameters in d": (slope(parameter_count(H, d, d, 1, 1), parameter_count(H, 2 * d, 2 * d, 1, 1)), 2),
    "setting 1, parameters in H": (slope(parameter_count(H, d, d, 1, 1), parameter_count(2 * H, d, d, 1, 1)), 1),
    "setting 2, parameters in n": (slope(parameter_count(H, d, n, 1, 1), parameter_count(H, d, 2 * n, 1, 1)), 1),
    "setting 2, parameters in d": (slope(parameter_count(H, d, n, 1, 1), parameter_count(H, 2 * d, n, 1, 1)), 1),
    "setting 3, parameters in d": (slope(parameter_count(H, d, d, d, d), parameter_count(H, 2 * d, *3 * (2 * d,))), 2),
    "examples in n": (slope(capacity(H, n, d), capacity(H, 2 * n, d)), 1),
    "examples in H": (slope(capacity(H, n, d), capacity(2 * H, n, d)), 1),
    "setting 3 with n = d/2, numbers stored per parameter, in d": (
        slope(
            capacity(H, d // 2, d) * d / parameter_count(H, d, d, d, d),
            capacity(H, d, 2 * d) * 2 * d / parameter_count(H, 2 * d, *3 * (2 * d,)),
        ),
        0,
    ),
}
# %% [markdown]
# All are as stated, up to what a doubling at finite size leaves.

# %%
show.table(["what grows", "exponent", "as stated"], [(name, *pair) for name, pair in exponents.items()])

# %% [markdown]
# The dimensions of the proof, called *labels within reach*, are the rank of the derivative of all outputs by all
# weights, here on seven examples more than the bound allows. Count and orders are also proved for all sizes, the order
# of the examples from $n = 2$ on.

# %%
small_sizes = [(2, 2, 6), (3, 2, 7), (2, 3, 6)]
reach = {}
for size in small_sizes:
    data = sample_examples(2 * size[0] * (size[1] - 1) + 8, *size[1:], law="integer", seed=seed)
    reach[str(size)] = reachable_dimensions(data, size[0], size[2], seed, outputs=size[2])
promised = {str((H, n, d)): 2 * H * (n - 1) * d + d for H, n, d in small_sizes}
own_contexts = sample_examples(12, 2, 6, shared=False, law="integer", seed=seed)
apart = reachable_dimensions(own_contexts, 2, 6, seed, outputs=6)

claim = Claim("memorization/remark-parameter-count")
claim.equal("formula less count", parameter_count(*sizes) - counted, 0)
claim.equal("count less printed formula", counted - parameter_count(*sizes, form="printed"), heads * width * values)
claim.at_most("largest deviation of an exponent", max(abs(a - b) for a, b in exponents.values()), 0.05)
claim.equal("setting 3, shared context, (H, n, d): labels within reach", reach, promised)
claim.misprint.equal("printed formula less count", parameter_count(*sizes, form="printed") - counted, 0)
claim.control.equal("setting 3, separate contexts, (2, 2, 6): labels within reach", apart, promised[str((2, 2, 6))])
claim.certified("count and orders, all sizes", certify_parameter_count())
claim.verdict()

# %% [markdown]
# ## The table of notation
# Table 2 lists symbols and shapes. They are the shapes of the tensors used here, with one slip: $W_D \in \mathbb R^d$
# and $y, \hat y \in \mathbb R$ are the case $d_\mathrm{out} = 1$ only.
#
# <!-- claim memorization/table-2 -->
# <blockquote>
#
# **Table 2 (Notation)** *Appendix*
#
# **The paper states.** The symbols of the paper with their shapes; among them $W_D\in\mathbb R^d$ and $y,\hat
# y\in\mathbb R$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** These entries are for $d_\mathrm{out}=1$; Section 3 has $W_D\in\mathbb R^{d\times
# d_\mathrm{out}}$ and $y,\hat y\in\mathbb R^{d_\mathrm{out}}$.
#
# </blockquote>
# <!-- /claim -->

# %%
shapes = {
    "W_K": (layer.keys[0], (width, head_width)),
    "W_Q": (layer.queries[0], (width, head_width)),
    "W_V": (readout.values[0], (width, values)),
    "W_O": (readout.output, (heads * values, width)),
    "W_D": (readout.decode, (width, outputs)),
    "E": (examples.contexts[0], (context, width)),
    "e": (examples.queries[0], (width,)),
    "y": (batched[0], (outputs,)),
}
claim = Claim("memorization/table-2")
claim.equal("shapes that differ", sum(tuple(tensor.shape) != shape for tensor, shape in shapes.values()), 0)
claim.control.equal("axes of W_D for labels of several numbers, by the table", readout.decode.ndim, 1)
claim.control.equal("numbers in such a label, by the table", batched[0].numel(), 1)
claim.verdict()

# %% [markdown]
# ## What was learned
# All that is not linear happens in the softmax weights; after them the outputs are $Z$ times a matrix. So how many
# labels fixed heads can meet, whatever they are, is the rank of $Z$, and most of the chapter asks it. Eq. 8, Table 2
# and the number of parameters have slips that change no order.
#
# ## To try
# - Set `head_width = 1`: the usual factor on the logits is 1 there, and one control falls away.
# - Set `examples_count = 10`: that is $H(n-1)+1$, and arbitrary labels are still met.
