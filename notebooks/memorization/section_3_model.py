# %% [markdown]
# # Section 3 · The model: everything after the softmax is linear
# *Mahdavi, Liao, Thrampoulidis: Section 3, Eqs. (1)-(8); Table 2; the text after Theorem 1.*
#
# What does it mean that a layer of attention memorises? It must be able to give every question its answer, for any
# choice of answers. Most of its weights act linearly, and this page separates the linear part from the rest.
#
# **In numbers.** The context has the tokens $(1,0)$ and $(0,1)$. On one query, a head gives the weights 3/4 and 1/4 and
# returns $z=(0.75,0.25)$. On another, it gives 1/4 and 3/4 and returns $(0.25,0.75)$. Everything that follows is
# linear. The read-out $1.5\,z_1-0.5\,z_2$ answers 1 on the first query and 0 on the second.
#
# ## The paper states
# An example $t$ has a context $E$, whose rows are $n$ tokens of $d$ numbers, a query $e$ of $d$ numbers and a label
# $y$. The layer has $H$ heads. Head $h$ has keys $W_{K_h}$ and queries $W_{Q_h}$ of width $d_h$, and values $W_{V_h}$
# of width $d_v$. The output map $W_O$ combines the heads, and the decoder $W_D$ produces the output of $d_\mathrm{out}$
# numbers.
#
# <!-- claim memorization/definition-mha -->
# <blockquote>
#
# **Eqs. 1-6 (One layer of multi-head attention, read at a query)** *Section 3, Eqs. 1-6*
#
# **The paper states.** For all heads $h\in[H]$: $\alpha_h:=EW_{K_h}W_{Q_h}^\top e$,
# $\theta_h:=\mathrm{Softmax}(\alpha_h)$, $z_h:=E^\top\theta_h$, $p_h:=W_{V_h}^\top z_h$;
# $o:=W_O^\top[p_1;p_2;\dots;p_H]$ is the output of the MHA layer, and $\hat y:=W_D^\top o$ is the final output of the
# model.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The context $E\in\mathbb R^{n\times d}$ has the tokens as rows, and $e\in\mathbb R^d$ is the
# query. There is no scaling of the logits, no bias, no mask and no skip connection.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim memorization/definition-feature-matrix -->
# <blockquote>
#
# **Eqs. 7-8 (Feature matrix and matrix form)** *Section 4.1, Eqs. 7-8*
#
# **The paper states.** $Z:=[z^{(1)\top};z^{(2)\top};\dots;z^{(T)\top}]\in\mathbb R^{T\times dH}$, where
# $z^{(t)}:=[z_1^{(t)\top},\dots,z_H^{(t)\top}]^\top$. The predicted labels $\hat y^{(t)}$ are given by $\hat
# y^{(t)}:=Z\,\mathrm{diag}(W_{V_1},\dots,W_{V_H})W_OW_D\in\mathbb R$, $\forall t\in[T]$.
#
# **What is true.** $\hat Y=Z\,\mathrm{diag}(W_{V_1},\dots,W_{V_H})\,W_OW_D\in\mathbb R^{T\times d_\mathrm{out}}$.
#
# **What changed.** The right side of Eq. 8 is the matrix of all outputs, not the output of a single example.
#
# </blockquote>
# <!-- /claim -->
#
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
# **Beyond the paper.** In the introduction, capacity "refers to the minimal set of parameters $\mathcal W$ such that
# $f_{\mathcal W}(x)=y$ holds for all input-output pairs". This definition fixes the examples and counts parameters. All
# results of the paper fix the layer and count examples, as this definition does.
#
# </blockquote>
# <!-- /claim -->
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
# **What changed.** The paper's count omits the output weights $W_O\in\mathbb R^{Hd_v\times d}$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The orders are for $n\ge2$: as the paper says in Section 4.2, the capacity with one shared token
# is 1 for every $H$.
#
# </blockquote>
# <!-- /claim -->
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
# **Beyond the paper.** These two entries are for $d_\mathrm{out}=1$; Section 3 has $W_D\in\mathbb R^{d\times
# d_\mathrm{out}}$ and $y,\hat y\in\mathbb R^{d_\mathrm{out}}$. All other entries agree.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# The outputs are the feature matrix $Z$ times one matrix. If the rows of $Z$ are independent, we can choose this matrix
# to give any labels. With the heads fixed, the number of labels that we can choose freely is therefore the rank of $Z$.
# Most of this chapter asks how large this rank can be. Heads that are trained for given labels can do more
# ([Proposition 2](proposition_2_tightness.ipynb)).
#
# <details><summary>Proof of Text after Theorem 1, the count and the order in setting (3)</summary>
#
# *The count.* Keys and queries have $Hdd_h$ entries each, $W_V$ has $Hdd_v$, $W_O$ has $Hd_v\,d$, and $W_D$ has
# $dd_\mathrm{out}$. In all three settings, $Hd_vd$ is at most of the order stated.
#
# *Setting (3).* At least $H(n-1)+1$ examples are certain, by Theorem 1 with $d_h = d > n$. Now let all examples share
# one context. A head acts through its logits up to a common number, a matrix of $n - 1$ free rows of $d$ numbers. A
# head's weights are given by $n - 1$ of them, so all features are linear in 1 and these, and each of the $d$ outputs is
# a linear map of these $H(n-1)+1$ numbers. So the outputs of $T$ examples, $Td$ numbers, are a smooth function of at
# most $H(n-1)d + (H(n-1)+1)\,d = 2H(n-1)d + d$ numbers. For $T > 2H(n-1) + 1$ they are more than that. A smooth image
# of fewer dimensions has measure zero, so almost no labels are met. $\square$
#
# </details>
#
# ## See it run

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

# %%
batched = predict(layer, readout, examples)
pairs = list(zip(examples.contexts, examples.queries, strict=True))
literal = torch.stack([predict_literally(layer, readout, E, e) for E, e in pairs])
scaled = torch.stack([predict_literally(layer, readout, E, e, scale=head_width**-0.5) for E, e in pairs])
masked = torch.stack([predict_literally(layer, readout, E[:-1], e) for E, e in pairs])
skipped = predict(layer, readout, examples, skip=True)
weights = softmax_weights(layer, examples)
sums = weights.sum(dim=-1)

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
    caption="Softmax weights of each head on the first example.",
    alt="One curve per head over the tokens, with all values between zero and one.",
)

# %% [markdown]
# Each head mixes the tokens with different weights, which sum to 1. We now count the parameters in the paper's three
# settings.

# %%
counted = sum(w.numel() for w in (layer.keys, layer.queries, readout.values, readout.output, readout.decode))
sizes = (heads, width, head_width, values, outputs)


def exponent(small: float, large: float) -> float:
    """The exponent seen over one doubling."""
    return torch.log2(torch.tensor(large / small, dtype=torch.float64)).item()


# %%
H, n, d = 64, 512, 1024
exponents = {
    "setting 1, parameters in d": (exponent(parameter_count(H, d, d, 1, 1), parameter_count(H, 2 * d, 2 * d, 1, 1)), 2),
    "setting 1, parameters in H": (exponent(parameter_count(H, d, d, 1, 1), parameter_count(2 * H, d, d, 1, 1)), 1),
    "setting 2, parameters in n": (exponent(parameter_count(H, d, n, 1, 1), parameter_count(H, d, 2 * n, 1, 1)), 1),
    "setting 2, parameters in d": (exponent(parameter_count(H, d, n, 1, 1), parameter_count(H, 2 * d, n, 1, 1)), 1),
    "setting 3, parameters in d": (
        exponent(parameter_count(H, d, d, d, d), parameter_count(H, 2 * d, *3 * (2 * d,))),
        2,
    ),
    "examples in n": (exponent(capacity(H, n, d), capacity(H, 2 * n, d)), 1),
    "examples in H": (exponent(capacity(H, n, d), capacity(2 * H, n, d)), 1),
    "setting 3 with n = d/2, numbers stored per parameter, in d": (
        exponent(
            capacity(H, d // 2, d) * d / parameter_count(H, d, d, d, d),
            capacity(H, d, 2 * d) * 2 * d / parameter_count(H, 2 * d, *3 * (2 * d,)),
        ),
        0,
    ),
}
# %%
show.table(["what grows", "exponent", "as stated"], [(name, *pair) for name, pair in exponents.items()])

# %% [markdown]
# All orders of growth agree with the paper.
#
# ## How we checked
# We compare the batched code with a loop that follows the six equations. The controls are layers with something that
# the paper's layer does not have: a mask, a skip connection, or a factor on the logits.

# %%
claim = Claim("memorization/definition-mha")
claim.close("batched less one by one", batched, literal, atol=1e-13)
claim.close("softmax weights, sum less 1", sums, 1, atol=1e-15)
claim.control.close("with a mask on the last token", batched, masked, atol=1e-13)
claim.control.close("with a skip connection", batched, skipped, atol=1e-13)
if head_width > 1:
    claim.control.close("with the usual factor on the logits", batched, scaled, atol=1e-13)
claim.verdict()

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

# %%
labels = normal(examples_count, outputs, seed=seed + 3)
solved = solve_readout(Z, labels, heads, values)
met = predict(layer, solved, examples)

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
claim.printed.equal("printed formula less count", parameter_count(*sizes, form="printed") - counted, 0)
claim.control.equal("setting 3, separate contexts, (2, 2, 6): labels within reach", apart, promised[str((2, 2, 6))])
claim.certified("count and orders, all sizes", certify_parameter_count())
claim.verdict()

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
claim.printed.equal("axes of W_D for labels of several numbers, by the table", readout.decode.ndim, 1)
claim.printed.equal("numbers in such a label, by the table", batched[0].numel(), 1)
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# At $d_h=1$, the usual factor $1/\sqrt{d_h}$ is 1, so it cannot serve as a control. Both sides of the matrix form are
# linear in each weight, so it is enough to test all matrices with a single entry 1. We draw the labels after the
# features and independently of them. In the control, the first example occurs twice, the second time with its label
# increased by one. We measure each exponent over one doubling. Theorem 1 is a lower bound, so it gives $\Omega$. In
# setting (3) the paper says $\Theta$. This is correct for the number of examples that is *guaranteed*: for some data
# that satisfy both assumptions, no layer memorises more than about twice as many. The dimension count in that proof is
# the rank of the derivative of all outputs with respect to all weights. We compute it with seven examples more than the
# bound allows.
#
# </details>
#
# ## What to remember
#
# - Everything after the softmax is linear.
# - With fixed heads, the rank of $Z$ is the number of labels that we can choose freely.
# - The layer has $2Hd(d_h+d_v)+dd_\mathrm{out}$ parameters.
#
# ## Exercises
#
# 1. *By hand.* How many parameters does a layer with $H=2$, $d=4$, $d_h=d_v=3$ and one output have?
#    <details><summary>Solution</summary>
#
#    It has $2\cdot2\cdot4\cdot(3+3)+4=100$ parameters.
#
#    </details>
# 2. *Predict, then run.* Set `examples_count = 10`. Does the layer still fit arbitrary labels?
#    <details><summary>Solution</summary>
#
#    Yes. The number $10=3\cdot3+1$ is $H(n-1)+1$, and with separate contexts the layer can fit even more labels.
#
#    </details>
#
# Next: [Definitions 1 and 2](definition_1_kruskal_rank.ipynb), because the rank of $Z$ depends on how independent the
# data are.
