# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemmas C.1, C.3 and C.4 · Why should the loss go to zero at all?
# *Ustaomeroglu, Qu: training loss, Section 4; Lemmas C.1, C.3 and C.4, gradients and Eq. 21, Appendix C.*
#
# Training changes scores and values at the same time, and only their products matter. Why should it not stop before the
# errors are gone? The paper answers with a linear equation for the errors. We check each step and show where this
# argument stops working.

# %%
import torch

from attention_theory.encodings import random_orthonormal
from attention_theory.hyper_attention.certified.gradients import (
    certify_diagonal_counts,
    certify_loss_gradients,
    certify_residual_motion,
)
from attention_theory.hyper_attention.interactions.gradients import (
    loss_gradients,
    residual_maps,
    residuals,
)
from attention_theory.hyper_attention.interactions.interactions import counts, sample_sequences
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% tags=["parameters"]
size = 4  # symbols |S| and embedding dimension d, from 2 to 12
length = 6  # tokens L, from 2 to 30
samples = 60  # sequences B, from 5 to 500
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 2, 12), length=(length, 2, 30), samples=(samples, 5, 500), seed=(seed, 0, None))

# %% [markdown]
# ## A tiny example
# We take one symbol and one token. The output is a score $c$ times a value $w$, and the target is 1. At $c=0$, $w=1$
# the error is $cw-1=-1$, and the loss is its square. Its gradients are $2\cdot(-1)\cdot w=-2$ in $c$ and
# $2\cdot(-1)\cdot c=0$ in $w$. Gradient flow moves against them, so only $c$ moves, with speed 2. The error then also
# changes at speed 2, which is $-2(w^2+c^2)$ times the error. As long as $w^2+c^2$ stays away from 0, the error decays
# exponentially.

# %%
words = ["loss", "gradients", "motion of the errors", "decay"]
fig, axis = schematic.canvas(7.0, 1.4)
at = schematic.tokens(axis, words, at=(0.4, 0.5), lit=[2], step=3.4)
for (start, y), (end, _), name in zip(at, at[1:], ("App. C", "Eq. 21", "Lemmas C.3, C.4"), strict=False):
    schematic.arrow(axis, (start + 0.2, y + 0.05), (end - 0.2, y + 0.05), name, bend=0.2)
show.figure(
    fig,
    name="chain",
    caption="The chain from the loss to its decay. Each arrow is labelled with the paper's step.",
    alt="Four boxes in a row, loss, gradients, motion of the errors and decay, joined by arrows with the names "
    "Appendix C, Equation 21 and Lemmas C.3 and C.4.",
)

# %% [markdown]
# We follow this chain. With many symbols, a matrix takes the place of $w^2+c^2$.
#
# ## The paper states
# Sequence $X^{(n)}$ has the counts $s^{(n)}$ and the residuals $D^{(n)}$, output minus target. The rows of the matrix
# $B$ are the codes of the symbols; the number $B$ counts sequences.
#
# <!-- claim hyper-attention/definition-loss -->
# <blockquote>
#
# **Training loss** *Section 4*
#
# **The paper states.** We focus on the mean-squared error (MSE) objective $L^{\mathrm{MSE}}(C, W^V) = \frac1B
# \sum_{n=1}^B \bigl\|\mathrm{SA}^{\mathrm{lin}}_{C, W^V}(X^{(n)}) - Y^{(n)}\bigr\|^2$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The loss is a sum over the tokens of a sequence and a mean over the sequences.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/lemma-c-1 -->
# <blockquote>
#
# **Lemma C.1 (Counts on the diagonal)** *Appendix C*
#
# **The paper states.** If the domain embeddings are orthonormal, then $X^\top X$ is diagonal in the embedding basis,
# and $B X^{(n)\top} X^{(n)} B^\top = \mathrm{diag}(s^{(n)})$, where $s_\mu^{(n)}$ is the number of times the element
# $\mu$ appears in the $n$-th sample.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/gradients-matrix-form -->
# <blockquote>
#
# **Appendix C (Gradients of the loss)** *Appendix C*
#
# **The paper states.** $\frac{\partial L}{\partial C} = \frac2B \sum_n X^{(n)\top} D^{(n)} w^\top X^{(n)\top} X^{(n)}$
# and $\frac{\partial L}{\partial w} = \frac2B \sum_n X^{(n)\top} X^{(n)} C^\top X^{(n)\top} D^{(n)}$.
#
# <details><summary>Slips (2)</summary>
#
# - The display that begins the derivation has $\frac1B$ in place of $\frac2B$.
# - The paper announces the next lemma for the proof of Theorem 3.1, but uses it in the proof of Theorem 4.4.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/equation-21 -->
# <blockquote>
#
# **Eq. 21 (How the residuals move)** *Appendix C, Eq. 21*
#
# **The paper states.** Stacking different samples with $M = [(w^\top X^{(n)\top} X^{(n)}) \otimes X^{(n)}]_n$ and
# $M_2 = [X^{(n)} C X^{(n)\top} X^{(n)}]_n$, we can write the Eq. 21 $\dot D = -\frac{2\eta}B\, [M M^\top + M_2
# M_2^\top]\, D$. Stacking over $n$ produces $D = M\,\mathrm{vec}\bigl(C - C^*\mathrm{diag}(w^*/w)\bigr)$.
#
# <details><summary>Slips (2)</summary>
#
# - In the displays before Eq. 21, the second term ends in $X^{(n)} C X^{(n)\top} D^{(n)}$. It must end in $X^{(n)}
#   C^\top X^{(n)\top} D^{(n)}$, as in Eq. 21 itself.
# - The norm in the step after Lemma C.3 must be $\|M\,\mathrm{vec}(\cdot)\|^2$.
#
# </details>
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/lemma-c-3 -->
# <blockquote>
#
# **Lemma C.3 (A lower bound on a quartic form)** *Appendix C, Eq. 28*
#
# **The paper states.** For any matrix $M$, and any vector $x$ such that $M x$ is defined, $x^\top M^\top M M^\top M x
# \ge \lambda_{\min}(M^\top M)\, \|M x\|^2$, where $\lambda_{\min}(M^\top M)$ corresponds to the minimum eigenvalue of
# $M^\top M$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/lemma-c-4 -->
# <blockquote>
#
# **Lemma C.4 (Decay under positive definite matrices)** *Appendix C, Eq. 29*
#
# **The paper states.** Consider the equation $\dot x(t) = -\eta A(t) x(t)$. Assume that $A(t)$ is symmetric for all
# $t$, and that its eigenvalues are lower bounded by a positive constant, $\lambda_{\min}(A(t)) \ge \psi > 0$ for all
# $t$. Then $x(t) \to 0$ as $t \to \infty$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The rate is $\|x(t)\| \le \|x(0)\|\,e^{-\eta\psi t}$.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# **Lemma C.1.** If the rows of $E$ are the one-hot tokens, then $X=EB$, and $BX^\top XB^\top=E^\top E$ because
# $BB^\top=I$. Entry $(\mu,\nu)$ counts tokens that are both $\mu$ and $\nu$.
#
# **Lemma C.4.** We have $\frac{d}{dt}\|x\|^2=-2\eta\,x^\top A(t)\,x\le-2\eta\psi\|x\|^2$, so $\|x(t)\|^2e^{2\eta\psi
# t}$ does not grow.
#
# **Equation 21.** If $C$ and $w$ move against their gradients, then $\dot D=-\frac2B(MM^\top+M_2M_2^\top)D$ by the
# chain rule. Here vec stacks columns, and $\otimes$ puts one block per entry of its first factor.
#
# ## See it run
# We draw random data, a random target and a random layer.

# %%
draw = generator(seed)
symbols = sample_sequences(samples, length, size, draw)
embedding = random_orthonormal(size, size, draw)
tokens = embedding[symbols]
score_star, score = normal(2, size, size, seed=draw)
value_star = normal(size, seed=draw)
value = embedding.mT @ (0.5 + torch.rand(size, generator=draw, dtype=torch.float64))  # no entry 0 in one-hot terms
targets = linear_attention(tokens, score_star, value_star[:, None]).squeeze(-1)
residual = residuals(tokens, targets, score, value)

# %%
outputs = linear_attention(tokens, score, value[:, None])
loss = (outputs.squeeze(-1) - targets).square().sum(dim=1).mean()
loop = sum((outputs[n, i, 0] - targets[n, i]) ** 2 for n in range(samples) for i in range(length)) / samples
mean_over_all = (outputs.squeeze(-1) - targets).square().mean()

# %%
diagonals = torch.diag_embed(counts(symbols, size))
in_basis = embedding @ tokens.mT @ tokens @ embedding.mT
stretched = embedding + 0.3 * normal(size, size, seed=draw)
stretched_tokens = stretched[symbols]
not_orthonormal = stretched @ stretched_tokens.mT @ stretched_tokens @ stretched.mT

# %% [markdown]
# We compare the gradients with central differences.

# %%
by_score, by_value = loss_gradients(tokens, targets, score, value)
_, by_value_dropped = loss_gradients(tokens, targets, score, value, form="printed")


def loss_at(score, value):
    return residuals(tokens, targets, score, value).square().sum(dim=-1).mean()


# %%
step = 1e-5
units = torch.eye(size * size, dtype=torch.float64).reshape(-1, size, size) * step
differences = torch.stack(
    [(loss_at(score + unit, value) - loss_at(score - unit, value)) / (2 * step) for unit in units]
)
value_units = torch.eye(size, dtype=torch.float64) * step
value_differences = torch.stack(
    [(loss_at(score, value + unit) - loss_at(score, value - unit)) / (2 * step) for unit in value_units]
)

# %% [markdown]
# Then we compare the motion of the residuals with Eq. 21.

# %%
velocity = linear_attention(tokens, -by_score, value[:, None]) + linear_attention(tokens, score, -by_value[:, None])
velocity_dropped = linear_attention(tokens, -by_score, value[:, None]) + linear_attention(
    tokens, score, -by_value_dropped[:, None]
)
by_c, by_w = residual_maps(tokens, score, value)
moved = -2 / samples * (by_c @ (by_c.mT @ residual.flatten()) + by_w @ (by_w.mT @ residual.flatten()))

# %%
hot = torch.eye(size, dtype=torch.float64)[symbols]
score_hot, star_hot = embedding @ score @ embedding.mT, embedding @ score_star @ embedding.mT
value_hot, value_star_hot = embedding @ value, embedding @ value_star
by_c_hot, _ = residual_maps(hot, score_hot, value_hot)
apart = score_hot - star_hot * (value_star_hot / value_hot)
columns = (by_c_hot @ apart.mT.flatten() - residual.flatten()).abs().max()
rows = (by_c_hot @ apart.flatten() - residual.flatten()).abs().max()

# %% [markdown]
# For Lemma C.4 we change $A(t)$ 60 times, and solve each interval exactly.

# %%
matrices = normal(500, 7, 5, seed=draw)
vectors = normal(500, 5, 1, seed=draw)
squares = matrices.mT @ matrices
eigenvalues, eigenvectors = torch.linalg.eigh(squares)
left = (squares @ vectors).square().sum(dim=(-2, -1))
right = (matrices @ vectors).square().sum(dim=(-2, -1))
slack = ((left - eigenvalues[:, 0] * right) / left).min()
slack_largest = ((left - eigenvalues[:, -1] * right) / left).min()
lowest = eigenvectors[..., :1]
equal = (squares @ lowest).square().sum(dim=(-2, -1)) - eigenvalues[:, 0] * (matrices @ lowest).square().sum(
    dim=(-2, -1)
)

# %%
turned = eigenvalues.clamp(min=0).sqrt().unsqueeze(-1) * (eigenvectors.mT @ vectors)  # Q^T A^(1/2) x
by_eigenvalues = (eigenvalues.unsqueeze(-1) * turned.square()).sum(dim=(-2, -1))
steps_of_proof = {
    "uᵀ Λ u": ((by_eigenvalues - left) / left).abs().max(),
    "|u|²": ((turned.square().sum(dim=(-2, -1)) - right) / right).abs().max(),
}

# %%
psi, interval, intervals, dimension = 0.5, 0.1, 60, 5
bases = [random_orthonormal(dimension, dimension, draw) for _ in range(intervals)]
spectra = psi + 3 * torch.rand(intervals, dimension, generator=draw, dtype=torch.float64)
state = normal(dimension, seed=draw)
norms = [state.norm()]
for basis, spectrum in zip(bases, spectra, strict=True):
    state = torch.linalg.matrix_exp(-interval * basis.mT * spectrum @ basis) @ state
    norms.append(state.norm())
norms = torch.stack(norms)
times = interval * torch.arange(intervals + 1, dtype=torch.float64)
limit = norms[0] * torch.exp(-psi * times)

# %%
still = normal(dimension, seed=draw)
null = spectra[0].clone()
null[0] = 0.0
stuck = torch.linalg.matrix_exp(-interval * intervals * bases[0].mT * null @ bases[0]) @ still
stuck_share = stuck.norm() / still.norm()

# %%
fig, axis = show.axes(width=5.5)
axis.semilogy(times, norms, label="|x(t)|")
axis.semilogy(times, limit, "--", label="|x(0)| exp(-ψ t)")
axis.set_xlabel("time t")
axis.set_ylabel("norm")
axis.legend()
show.figure(
    fig,
    name="decay",
    caption="The norm of the state, driven to zero by changing symmetric matrices, stays below the exponential "
    "given by the lower bound ψ on their eigenvalues.",
    alt="Two falling lines on a logarithmic scale; the solid one is below the dashed straight one.",
)

# %% [markdown]
# The norm decays at least as fast as the bound.
#
# ## How we checked
# We compare every formula with a direct computation. Each control changes one ingredient: the mean, the codes, a
# transpose, the order of entries in vec, or an eigenvalue.

# %%
claim = Claim("hyper-attention/definition-loss")
claim.at_most("loss against a loop, relative error", abs(loss - loop) / loop, 1e-12)
claim.equal("loss over the mean of all squares", loss / mean_over_all, length, tolerance=1e-9)
claim.control.at_most("mean over the tokens too, against the loop", abs(mean_over_all - loop) / loop, 1e-12)
claim.verdict()

# %%
claim = Claim("hyper-attention/lemma-c-1")
claim.close("B X^T X B^T against diag(s), largest error", in_basis, diagonals, atol=1e-12)
claim.control.close("B not orthonormal, largest error", not_orthonormal, diagonals, atol=1e-12)
claim.certified("three symbols: every rotation", certify_diagonal_counts())
claim.verdict()

# %%
claim = Claim("hyper-attention/gradients-matrix-form")
claim.close("in C, relative error", by_score.flatten(), differences, rtol=1e-8)
claim.close("in w, relative error", by_value, value_differences, rtol=1e-8)
claim.control.close("in w, transpose dropped, relative error", by_value_dropped, value_differences, rtol=1e-8)
entries = torch.einsum("nb,nia,ni->ab", tokens.mT @ tokens @ value, tokens, residual) / samples
for factor, role in ((2, claim), (1, claim.misprint)):
    ours = factor * entries.flatten()
    role.close(f"in C, entry by entry with {factor}/B, relative error", ours, differences, rtol=1e-8, of="proof")
claim.number("in w, transpose dropped", relative_error(by_value_dropped, value_differences))
claim.certified("two sequences: all tokens, targets and weights", certify_loss_gradients())
claim.verdict()

# %%
claim = Claim("hyper-attention/equation-21")
motion_error = relative_error(velocity.flatten(), moved)
claim.at_most("motion of the residuals, relative error", motion_error, 1e-10)
claim.at_most("D = M vec(...), columns stacked, largest error", columns, 1e-12 * residual.abs().max().item())
claim.at_most("motion with C^T in the second gradient, relative error", motion_error, 1e-10, of="proof")
claim.misprint.close(
    "motion with the transpose on C dropped, relative error", velocity_dropped.flatten(), moved, rtol=1e-10, of="proof"
)
claim.control.at_most("D = M vec(...), rows stacked, largest error", rows, 1e-12 * residual.abs().max().item())
claim.certified("two sequences: all tokens, targets and weights", certify_residual_motion())
claim.verdict()

# %%
claim = Claim("hyper-attention/lemma-c-3")
claim.at_least("least slack, relative", slack, -1e-12)
claim.at_most("equality on the lowest eigenvector, largest error", equal.abs().max(), 1e-10)
claim.at_most("both equalities of the proof, largest relative error", steps_of_proof, 1e-10, of="proof")
claim.control.at_least("with the largest eigenvalue, least slack", slack_largest, -1e-12)
claim.verdict()

# %%
claim = Claim("hyper-attention/lemma-c-4")
claim.at_most("largest |x(t)| over its bound", (norms / limit).max(), 1 + 1e-9)
claim.at_most("|x| at the end", norms[-1], norms[0] * limit[-1] / limit[0])
claim.control.at_most("one eigenvalue 0: |x| at the end over |x(0)|", stuck_share, limit[-1] / limit[0])
claim.verdict()

# %% [markdown]
# ## Where the paper differs
# There are $BL$ residuals, which can move in only $|\mathcal S|^2$ directions. If $BL$ is larger, the matrix of Eq. 21
# is singular, and Lemma C.4 does not apply. [Theorem 4.4](theorem_4_4_gradient_flow.ipynb) repairs this step.
#
# ## What to remember
# - The residuals obey a linear equation whose matrix depends on the layer.
# - A positive definite matrix would make them decay. This one can be singular, so we need another argument.
# - With orthonormal codes, the diagonal of $BX^\top XB^\top$ holds the counts of the symbols.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, let $c=w=0$. What does the flow do?
#    <details><summary>Solution</summary>
#
#    Both gradients are zero, because each is the error times the other weight. The flow does not move, and the error
#    stays at $-1$. This is why Theorem 4.4 starts from $w>0$.
#
#    </details>
# 2. *Predict, then run.* Set `samples = 5`. Which check needs versatile data?
#    <details><summary>Solution</summary>
#
#    None does. All checks pass with 5 sequences as they do with 60, because every statement on this page holds for any
#    data.
#
#    </details>
#
# Next: [Theorem 4.4](theorem_4_4_gradient_flow.ipynb), where these steps become a proof.
