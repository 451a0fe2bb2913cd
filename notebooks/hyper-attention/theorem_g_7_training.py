# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem G.7 · Gradient flow learns three-way interactions
# *Ustaomeroglu, Qu: Theorem G.7, Lemmas G.8 and G.9, Assumptions G.6 and G.10, Appendix G.4.*
#
# Gradient flow, which is gradient descent with infinitely small steps, trains a layer of self-attention to zero error
# ([Theorem 4.4](theorem_4_4_gradient_flow.ipynb)). Does it also succeed when tokens act three at a time, as in
# HyperAttention of order 3?

# %%
import torch

from attention_theory.hyper_attention.certified.gradients import certify_tuple_conservation
from attention_theory.hyper_attention.certified.tuples import certify_four_factors, certify_pair_versatility
from attention_theory.hyper_attention.interactions.connected import relative_residual
from attention_theory.hyper_attention.interactions.flow import (
    conserved,
    drift_of_a_step,
    flow_limit,
    gradient_flow,
    loss_bound,
)
from attention_theory.hyper_attention.interactions.gram import gram_gradients
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.hyper_attention.layers.linear_hyper_attention import (
    linear_hyper_attention,
    pair_counts,
    tuple_features,
)
from attention_theory.hyper_attention.layers.pair_gram import (
    four_fold_counts,
    residual_map,
    tuple_gram,
    tuple_versatility,
)
from attention_theory.randomness import generator, normal
from attention_theory.validation import refuse_unless, require
from bookpress import Claim, show

# %% tags=["parameters"]
size = 3  # symbols |S|, from 2 to 4
tokens = 6  # tokens in a sequence L, from 3 to 12
samples = 300  # training sequences B, from max(30, 100 * (size - 2) * (6 - tokens)) to 5000
least = 0.5  # b, the least entry of w at the start, from 0.1 to 3
end = 20.0  # time of the flow, from 1 to 500
tolerance = 1e-11  # relative error of a step of the integrator, from 1e-13 to 1e-6
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 2, 4), tokens=(tokens, 3, 12), least=(least, 0.1, 3.0))
require(samples=(samples, max(30, 100 * (size - 2) * (6 - tokens)), 5000))  # so that the pair counts are versatile
require(end=(end, 1.0, 500.0), tolerance=(tolerance, 1e-13, 1e-6), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# A layer of order 3 sees how often each pair of symbols occurs at positions $j\le k$. Take the sequence $a\,b\,a$.

# %%
show.table(
    ["first symbol", "followed by a", "followed by b"],
    [["a", "3: at (1, 1), (1, 3), (3, 3)", "1: at (1, 2)"], ["b", "1: at (2, 3)", "1: at (2, 2)"]],
    caption="Pair counts of the sequence a b a, with the positions.",
)

# %% [markdown]
# The six pairs of positions give the four counts 3, 1, 1 and 1. They take the role of symbol counts in self-attention.
#
# ## The paper states
# <!-- claim hyper-attention/assumption-g-6 -->
# <blockquote>
#
# **Assumption G.6 (Some layer fits the training data)** *Appendix G.4*
#
# **The paper states.** The task is realizable, i.e., there exist $\mathbf C^*$ and $\mathbf w^*$ that perfectly fit the
# training data.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/assumption-g-10 -->
# <blockquote>
#
# **Assumption G.10 (Versatile pair counts)** *Appendix G.4*
#
# **The paper states.** For all $\mu\in\mathcal S$, $\mathbf Z_{\mathcal B_\mu}$, whose rows are
# $\mathrm{vec}^\top(\Gamma^{(n)})$ for $n\in\mathcal B_\mu$, is full column rank.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/theorem-g-7 -->
# <blockquote>
#
# **Theorem G.7 (HyperAttention trains to zero error)** *Appendix G.4*
#
# **The paper states.** Let the dimensions $d=|\mathcal S|$ and $d_2=1$. Also, let the initial parameters $\mathbf
# C(t)=\mathbf 0$, $w^2_{\alpha\beta}(0)\ge b>0$, $\forall i$. Then, under the assumptions G.10 and G.6, gradient flow
# on $L^{\mathrm{MSE}}(\mathbf C,\mathbf W^V)=\frac1B\sum_n\|\mathbf{HA}^{\mathrm{lin}}_{\mathbf C,\mathbf W^V}(\mathbf
# X^{(n)})-\mathbf Y^{(n)}\|^2$ converges to zero training error.
#
# **What is true.** The flow starts at $\mathbf C(0)=\mathbf 0$, with $w^2_{\alpha\beta}(0)\ge b^2>0$ of either sign. It
# converges to zero training error.
#
# **What changed.** $\mathbf C(t)=\mathbf 0$ cannot hold along the flow. The proof takes $w_{\alpha\beta}(t)\ge b$ from
# Lemma G.9, which requires positive entries. For either sign, $w_{\alpha\beta}(t)^2\ge w_{\alpha\beta}(0)^2$ is true,
# and it is enough.
#
# <details><summary>Slips (3)</summary>
#
# - In the proof, the equation of motion for the residuals lacks its factor $D$: it is $\dot
#   D=-\frac{2\eta}B(MM^\top+M_2M_2^\top)D$.
# - Eq. 47 has $w_{\mu\nu}$ for $w_{\nu\sigma}$, and the two displays after it sum over the free index $\mu$.
# - $D_i$ lacks its sum over $k$ and $j$ and twice has $\sigma$ for $\theta$; $\|u\|$ is written for $\|u\|^2$.
#
# </details>
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The loss obeys $L(t)\le L(0)e^{-4b^2\zeta^2t/B}$, where $\zeta$ is the smallest singular value
# of the matrices of Assumption G.10.
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/lemma-g-8 -->
# <blockquote>
#
# **Lemma G.8 (Four factors make pair counts)** *Appendix G.4*
#
# **The paper states.** In the embedding base, $\sum_k\sum_{j\le
# k}X^{(n)}_{j\nu}X^{(n)}_{j\gamma}X^{(n)}_{k\sigma}X^{(n)}_{j\theta}$ is diagonal in the sense that it can be written
# as $\Gamma^{(n)}_{\nu\sigma}\delta_{\nu\gamma}\delta_{\sigma\theta}$, where $\Gamma^{(n)}_{\nu\sigma}=\sum_k\sum_{j\le
# k}\delta_{\mathcal X^{(n)}(j),\nu}\delta_{\mathcal X^{(n)}(k),\sigma}$.
#
# **What is true.** The last factor is $X^{(n)}_{k\theta}$: $\sum_k\sum_{j\le
# k}X^{(n)}_{j\nu}X^{(n)}_{j\gamma}X^{(n)}_{k\sigma}X^{(n)}_{k\theta} =
# \Gamma^{(n)}_{\nu\sigma}\delta_{\nu\gamma}\delta_{\sigma\theta}$.
#
# **What changed.** An index is misprinted here and in the gradients; it is correct at the end of the proof.
#
# <details><summary>Slips (1)</summary>
#
# - Before the lemma, the derivative of the layer in $C$ is summed over $\sigma$ twice and not over $\theta$, and that
#   in $w$ not over $\mu,\nu,\sigma$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/lemma-g-9 -->
# <blockquote>
#
# **Lemma G.9 (Positive weights stay positive)** *Appendix G.4*
#
# **The paper states.** If we choose initial parameters as $\mathbf C(0)=\mathbf 0$ and $w_{\alpha\beta}(0)\ge b>0$,
# then $w_{\alpha\beta}(t)\ge b>0$, $\forall\alpha,\beta$ and $\forall t\ge0$.
#
# <details><summary>Slips (4)</summary>
#
# - In the proof $\Lambda_{\nu\nu}\Lambda_{\sigma\sigma}$ are under a sum over $\gamma,\theta$; they must be
#   $\Lambda_{\gamma\gamma}\Lambda_{\theta\theta}$, as in the display before.
# - $w_{\nu\theta}$ is written twice for $w_{\nu\sigma}$, and $BCB^\top$ for $B\Lambda B^\top$.
# - $dC/dt$ contains a factor $X_{k\sigma}X_{j\theta}$ that is already part of $\Gamma$.
# - $t^*$ is a time with $w_{\alpha\beta}\le b$; it must be $w_{\alpha\beta}<b$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
# <!-- claim hyper-attention/theorem-g-7-orders -->
# <blockquote>
#
# **Appendix G.4 (Training at order 4)** *Appendix G.4*
#
# **The paper states.** For simplicity we prove the convergence of order three linear HyperAttention. However, after
# this proof, extension to any order is trivial.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** At order $n$, counts of allowed $(n-1)$-tuples of positions replace pair counts. If they are
# versatile and the targets realisable, the flow from $C(0)=0$, $w(0)\ge b>0$ reaches zero training error under the same
# bound.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# In one-hot coordinates the layer is $\mathrm{HA}_i=\sum_{\nu\sigma}\Gamma_{\nu\sigma}C_{\mathcal
# X(i)\nu\sigma}w_{\nu\sigma}$, with scores $C$, values $w$ and pair counts $\Gamma$. This is linear attention with
# *pairs of symbols* instead of symbols. For every pair $p$, the flow conserves $w_p^2-\|C_{\cdot p}\|^2$. From
# $C(0)=0$, no $w_p^2$ falls below its initial value. If the pair counts are versatile, the gradient is then zero only
# at zero error.
#
# We also know where the flow ends. If $T^*_{\cdot p}=C^*_{\cdot p}w^*_p$ belongs to a layer that fits the data,
#
# $$w_p(\infty)^2 = \tfrac12 \Bigl(w_p(0)^2 + \sqrt{w_p(0)^4 + 4 \|T^*_{\cdot p}\|^2}\Bigr), \qquad
# C_{\cdot p}(\infty) = T^*_{\cdot p} / w_p(\infty).$$
#
# <details><summary>Proof of Theorem G.7, with its rate, at any order</summary>
#
# Let $p$ run over the combinations of $n - 1$ symbols, and let $\Gamma^{(m)}_p$ count the allowed tuples of positions
# of sequence $m$ that hold $p$. With $E_{\mu p} = C_{\mu p} w_p - T^*_{\mu p}$ a token of symbol $\mu$ errs by
# $\Gamma^{(m)\top} E_\mu$, and
#
# $$L = \frac1B \sum_\mu E_\mu^\top G_\mu E_\mu, \qquad G_\mu = \sum_m s_\mu^{(m)}\, \Gamma^{(m)} \Gamma^{(m)\top}
# \succeq Z_{\mathcal B_\mu}^\top Z_{\mathcal B_\mu} \succeq \zeta^2 I,$$
#
# since $s_\mu \ge 1$ where $\mu$ is. *What is kept:* $\partial L/\partial C_{\mu p} = \frac2B (G_\mu E_\mu)_p\, w_p$
# and $\partial L/\partial w_p = \frac2B \sum_\mu (G_\mu E_\mu)_p\, C_{\mu p}$, so that along the flow $\frac{d}{dt}
# w_p^2 = \frac{d}{dt} \|C_{\cdot p}\|^2$, and $w_p(t)^2 \ge w_p(0)^2 \ge b^2$ from $C(0) = 0$, whatever the sign. *The
# rate:* as $G_\mu^2 \succeq \zeta^2 G_\mu$,
#
# $$\dot L \le -\frac{4 b^2}{B^2} \sum_\mu \|G_\mu E_\mu\|^2 \le -\frac{4 b^2 \zeta^2}B\, L .$$
#
# Nothing in this asks for $n = 3$. $\square$
#
# </details>
#
# ## See it run
# We draw sequences and the targets of a random layer, and compute the ranks of the pair counts.

# %%
pairs = size * size
symbols = sample_sequences(samples, tokens, size, seed)
unit = torch.eye(size, dtype=torch.float64)
diagonal = torch.einsum("nvs,vg,st->nvgst", pair_counts(symbols, size, "le"), unit, unit)
apart = {
    form: max(
        (four_fold_counts(one, size, form) - wanted).abs().max() for one, wanted in zip(symbols, diagonal, strict=True)
    )
    for form in ("correct", "printed")
}
strict = torch.einsum("nvs,vg,st->nvgst", pair_counts(symbols, size, "lt"), unit, unit)

# %%
draw = generator(seed + 1)
target = normal(size, pairs, seed=draw)
start = least + torch.rand(pairs, generator=draw, dtype=torch.float64)
features = tuple_features(symbols, size, 2, "le")
targets = features @ target.flatten()[:, None]
noise = normal(len(features), 1, seed=draw)
residual = {name: relative_residual(features, some) for name, some in (("a layer", targets), ("random", noise))}

# %%
found = tuple_versatility(symbols, size)
ranks, singular = found.ranks, found.least
by_length = {
    length: int(tuple_versatility(sample_sequences(400, length, 3, seed), 3).ranks.min()) for length in (1, 2, 3, 4, 6)
}
unique = int(tuple_versatility(sample_sequences(2000, 4, 5, seed, unique=True), 5).ranks.max())
show.table(["length L, 3 symbols", "smallest rank, of 9"], by_length.items())
refuse_unless(
    int(ranks.min()) == pairs,
    f"samples must give pair counts of rank {pairs} for every symbol (Assumption G.10), got {int(ranks.min())}",
)

# %% [markdown]
# With two tokens, the pair counts do not have full rank; with three or more, they do.
#
# We start the flow at $C=0$ and $w\ge b$. For comparison, we set one entry of $w$ to 0, or make half of the entries
# negative.

# %%
gram = tuple_gram(symbols, size)
stalled, turned = start.clone(), start.clone()
stalled[0] = 0.0
turned[::2] *= -1
paths = {
    name: gradient_flow(gram, target, value, end, records=1001, tolerance=tolerance)
    for name, value in (("w ≥ b", start), ("one w at 0", stalled), ("half of w negative", turned))
}
path = paths["w ≥ b"]
bound = loss_bound(path.losses[0].item(), start.min().item(), singular.min().item(), samples, path.times)
limit_score, limit_value = flow_limit(target, start)
least_eigenvalue = min(
    torch.linalg.eigvalsh(m.mT @ m)[0].item() for m in (residual_map(symbols, size, w) for w in path.value[::100])
)
floor = (start.min() * singular.min()).square()

# %%
fig, (loss, values) = show.axes(columns=2, width=9.0, height=3.4)
for (name, one), style in zip(paths.items(), ("-", "--", ":"), strict=True):
    loss.semilogy(one.times, one.losses.clamp(min=1e-14), style, label=name)
loss.semilogy(path.times, bound.clamp(min=1e-14), "-.", color="gray", label="bound of the proof")
loss.set(xlabel="time t", ylabel="training loss", ylim=(1e-13, 1e3))
loss.legend(fontsize=8)
values.plot(path.times, path.value, color=show.COLOURS[0], alpha=0.7)
values.plot([3.0] * pairs, limit_value, "o", color=show.COLOURS[1], label="closed form of the end")
values.set(xlabel="time t", ylabel="entries of w", xlim=(0, 3.2))
values.legend()
show.figure(
    fig,
    name="flow",
    caption="Left: training loss along the flow from three starts, and the exponential bound. From the start with a "
    "zero entry, the loss does not reach zero. Right: the entries of $w$ from the positive start, and the closed "
    "form for their limits.",
    alt="Left: two nearly identical curves of loss fall far below a slowly falling bound; a third stays near ten. "
    "Right: nine curves rise quickly, some overshoot, and end at orange dots.",
)

# %% [markdown]
# On the left, the loss falls below its bound from starts with positive or with negative entries, and stalls from a
# start with one zero entry. On the right, no entry of $w$ falls below its initial value, and all end at the closed
# form.
#
# For Lemma G.9, we measure the conserved quantity. One step of gradient descent changes it at second order: half the
# step makes a quarter of the change. We also compare the two weighted derivatives in the proof.

# %%
kept = (conserved(path.score, path.value) - start.square()).abs().max()
early = gradient_flow(gram, target, start, end=0.05, tolerance=tolerance)
right, tripled = (
    drift_of_a_step(early, gram, target, 1e-5, times) / drift_of_a_step(early, gram, target, 5e-6, times)
    for times in (1.0, 3.0)
)

# %%
midway, halfway = early.score[-1], early.value[-1]
by_score, by_value, _ = gram_gradients(gram, target, midway, halfway)
weighing = torch.outer(normal(size, seed=draw), normal(size, seed=draw)).flatten()
of_score = (midway * by_score).sum(dim=0) @ weighing
in_step = ((halfway * by_value) @ weighing - of_score).abs() / of_score.abs()
out_of_step = (weighing * (halfway * by_value).sum() - of_score).abs().max() / of_score.abs()

# %% [markdown]
# ### Order 4
# The paper calls the extension to any order trivial. At order 4, the layer sees counts of triples. We compare the loss
# from these counts with the layer written out over all tuples, and run the flow, also with a zero entry and on too few
# sequences.

# %%
few_symbols = sample_sequences(400, 6, 2, seed + 7)
versatile = tuple_versatility(few_symbols, 2, 3)
gram_4 = tuple_gram(few_symbols, 2, 3)
wanted_4, start_4 = normal(2, 8, seed=draw), 0.5 + torch.rand(8, generator=draw, dtype=torch.float64)
hot = torch.eye(2, dtype=torch.float64)


def written_out(score, value, some):
    """The layer of order 4 with one output, over all tuples of positions."""
    return linear_hyper_attention(hot[some], score.reshape(2, 2, 2, 2), value.reshape(2, 2, 2, 1), "le")[..., 0]


score, value = normal(2, 8, seed=draw).requires_grad_(), normal(8, seed=draw).requires_grad_()
difference = written_out(score, value, few_symbols) - written_out(wanted_4, torch.ones_like(value), few_symbols)
literal = difference.square().sum(1).mean()
by_hand = torch.autograd.grad(literal, (score, value))
*in_gram, loss_in_gram = gram_gradients(gram_4, wanted_4, score.detach(), value.detach())
apart_4 = max((a - b).abs().max() / b.abs().max() for a, b in zip(in_gram, by_hand, strict=True))
loss_apart = abs(loss_in_gram - literal.detach()) / literal.detach()

# %%
zero_4 = start_4.clone()
zero_4[0] = 0.0
flow_4 = gradient_flow(gram_4, wanted_4, start_4, 3.2, records=201, tolerance=1e-11)
stalled_4 = gradient_flow(gram_4, wanted_4, zero_4, 1.0, records=11)
scarce_4 = gradient_flow(tuple_gram(few_symbols[:5], 2, 3), wanted_4, start_4, 3.2, records=11)
end_score, end_value = flow_limit(wanted_4, start_4)
bound_4 = loss_bound(flow_4.losses[0].item(), start_4.min().item(), versatile.least.min().item(), 400, flow_4.times)
above_4 = flow_4.losses > 1e-10
longer = sample_sequences(20, 9, 2, seed + 8)
truth = written_out(wanted_4, torch.ones(8, dtype=torch.float64), longer)
learned = written_out(flow_4.score[-1], flow_4.value[-1], longer)
ends_apart = max((flow_4.score[-1] - end_score).abs().max(), (flow_4.value[-1] - end_value).abs().max())

# %% [markdown]
# ## How we checked
# Lemma G.8 equates integers, so we require equality. Controls for the lemma and the assumptions are counts with $j<k$,
# random labels, short sequences and sequences without repeats. Certificates cover all sequences of four tokens over
# three symbols, and the exact ranks at five sizes.

# %%
claim = Claim("hyper-attention/lemma-g-8")
claim.equal("correct indices against pair counts, largest difference", apart["correct"], 0)
claim.control.equal("pair counts with j < k in their place, largest difference", (strict - diagonal).abs().max(), 0)
claim.misprint.equal("printed indices against pair counts, largest difference", apart["printed"], 0)
claim.equal("product of four one-hots, first line of the proof, difference", apart["correct"], 0, of="proof")
claim.misprint.equal("the same with the printed left-hand side, difference", apart["printed"], 0, of="proof")
claim.certified("three symbols: all sequences of four tokens", certify_four_factors())
claim.verdict()

# %%
claim = Claim("hyper-attention/assumption-g-6")
claim.at_most("targets of a layer: residual of the best fit", residual["a layer"], 1e-12)
claim.control.at_most("random labels: residual of the best fit", residual["random"], 1e-12)
claim.verdict()

# %%
claim = Claim("hyper-attention/assumption-g-10")
claim.equal("training sequences: least rank", ranks.min(), pairs)
claim.equal("3 symbols, L = 3, 4 and 6: least rank", min(by_length[n] for n in (3, 4, 6)), 9)
claim.number("3 symbols, L = 2: rank", by_length[2])
claim.number("5 symbols, L = 4, no symbol twice: rank of 25", unique)
claim.control.equal("3 symbols, L = 2: least rank", by_length[2], 9)
claim.control.equal("no symbol twice: rank", unique, 25)
claim.certified("exact ranks at five sizes", certify_pair_versatility())
claim.verdict()

# %% [markdown]
# As a control for the theorem, one zero in $w$ must stall the flow. For Lemma G.9, the controls are a tripled gradient
# and negative entries; a certificate covers two symbols and three tokens.

# %%
claim = Claim("hyper-attention/theorem-g-7")
claim.below("loss at the end", path.losses[-1], 1e-18)
above = path.losses > 1e-10
claim.at_most("loss over the bound while above 1e-10, largest", (path.losses / bound)[above].max(), 1 + 1e-9)
claim.close("C at the end against the closed form", path.score[-1], limit_score, atol=1e-9)
claim.close("w at the end against the closed form", path.value[-1], limit_value, atol=1e-9)
negative = paths["half of w negative"]
claim.below("half of w negative: loss at the end (only zeros matter)", negative.losses[-1], 1e-18)
claim.control.below("one entry of w at 0: loss at the end", paths["one w at 0"].losses[-1], 1e-18)
claim.misprint.equal("C(t) = 0 as printed: largest entry of C along the flow", path.score.abs().max(), 0)
grown = (negative.value.abs() / turned.abs()).min()
claim.printed.at_least("half of w negative: least entry of w on the path", negative.value.min(), least, of="proof")
claim.at_least("half of w negative: least of |w| on the path over its start", grown, 1 - 1e-9, of="proof")
claim.at_least("least eigenvalue of M^T M along the flow over b² ζ²", least_eigenvalue / floor, 1.0, of="proof")
claim.verdict()

# %%
claim = Claim("hyper-attention/lemma-g-9")
claim.at_most("change of w^2 - |C|^2 along the flow, largest", kept, 1e-9)
claim.at_least("least entry of w along the flow less its start", (path.value - start).min(), -1e-9)
claim.equal("a step from midway, change over that of half a step", right, 4, tolerance=0.01)
claim.control.equal("the same with the gradient in C tripled", tripled, 4, tolerance=0.01)
claim.at_most("both motions weighed alike, relative difference", in_step, 1e-10, of="proof")
claim.misprint.at_most("with Λ outside of the sum, as printed, relative difference", out_of_step, 1e-10, of="proof")
claim.control.at_least(
    "half of w(0) negative: least entry of w on the path", paths["half of w negative"].value.min(), least
)
claim.certified("two symbols, three tokens: all targets, C and w", certify_tuple_conservation())
claim.verdict()

# %% [markdown]
# At order 4, a zero entry must stall the flow, and with too few sequences the flow must end at another layer.

# %%
claim = Claim("hyper-attention/theorem-g-7-orders")
claim.at_most("loss from triple counts against the layer written out, relative error", loss_apart, 1e-12)
claim.at_most("gradients against differentiation, relative error", apart_4, 1e-12)
claim.equal("least rank of the triple counts", versatile.ranks.min(), 8)
claim.below("loss at the end", flow_4.losses[-1], 1e-18)
claim.at_most("loss over the bound while above 1e-10, largest", (flow_4.losses / bound_4)[above_4].max(), 1 + 1e-9)
claim.at_most("C and w at the end against the closed form", ends_apart, 1e-9)
claim.at_most(
    "longer sequences: largest error over the largest output", (learned - truth).abs().max() / truth.abs().max(), 1e-9
)
claim.control.close(
    "five sequences: distance of the end from the closed form", scarce_4.score[-1], end_score, atol=1e-9
)
claim.control.below("one entry of w at 0: loss at the end", stalled_4.losses[-1], 1e-18)
claim.verdict()

# %% [markdown]
# ## What to remember
# - Gradient flow learns three-way interactions like pairwise ones, with pair counts in place of symbol counts.
# - The flow reaches zero loss at a known rate, and its limit is known.
# - The signs of $w$ do not matter, but a zero entry does.
#
# ## Exercises
#
# 1. *By hand.* How many pairs $j\le k$ does a sequence of four tokens have, and what are the counts of $a\,a\,b\,b$?
#    <details><summary>Solution</summary>
#
#    It has 10 pairs: $aa$ occurs 3 times, $ab$ 4 times, $bb$ 3 times, and $ba$ never.
#
#    </details>
# 2. *Predict, then run.* Set `least = 2`. What happens to the bound, and to the entries of $w$?
#    <details><summary>Solution</summary>
#
#    The bound falls more steeply, because its rate is proportional to $b^2$. The entries of $w$ change less.
#
#    </details>
#
# Back: [Theorem G.4](theorem_g_4_representation.ipynb), which says what such a layer represents.
