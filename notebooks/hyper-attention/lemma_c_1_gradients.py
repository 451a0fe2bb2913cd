# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemmas C.1, C.3 and C.4 · The loss and how it moves
# *Ustaomeroglu, Qu: training loss, Section 4; Lemmas C.1, C.3 and C.4, gradients and Eq. 21, Appendix C.*
#
# The proof that gradient flow reaches zero loss rests on a chain of small steps. This page runs each of them on random
# data: the loss, its gradients, the equation by which the residuals move, and two lemmas from linear algebra. The
# theorem itself has its own page.
#
# The statements are right. What is misprinted stands in the derivations between them: a factor, a transpose. One thing
# the chain does not give: the residuals do *not* obey Lemma C.4, as the page of Theorem 4.4 shows.

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

# %% tags=["parameters"]
size = 4  # symbols |S| and embedding dimension d, from 2 to 12
length = 6  # tokens L, from 2 to 30
samples = 60  # sequences B, from 5 to 500
seed = 0  # of every draw, at least 0

# %%
require(size=(size, 2, 12), length=(length, 2, 30), samples=(samples, 5, 500), seed=(seed, 0, None))

# %% [markdown]
# Everything below is run on one random data set, with a layer away from its target.

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

# %% [markdown]
# ## The loss
# <!-- claim hyper-attention/definition-loss -->
# <blockquote>
#
# **Training loss** *Section 4*
#
# $L(C, W^V) = \frac1B \sum_{n=1}^B \|\mathrm{SA}(X^{(n)}) - Y^{(n)}\|_F^2$: a sum over the tokens of a sequence, a mean
# over the sequences only.
#
# </blockquote>
# <!-- /claim -->

# %%
outputs = linear_attention(tokens, score, value[:, None])
loss = (outputs.squeeze(-1) - targets).square().sum(dim=1).mean()
loop = sum((outputs[n, i, 0] - targets[n, i]) ** 2 for n in range(samples) for i in range(length)) / samples
mean_over_all = (outputs.squeeze(-1) - targets).square().mean()

# %% [markdown]
# A mean over the tokens too must be another loss.

# %%
claim = Claim("hyper-attention/definition-loss")
claim.at_most("loss against a loop, relative error", abs(loss - loop) / loop, 1e-12)
claim.equal("loss over the mean of all squares", loss / mean_over_all, length, tolerance=1e-9)
claim.control.at_most("mean over the tokens too, against the loop", abs(mean_over_all - loop) / loop, 1e-12)
claim.verdict()

# %% [markdown]
# ## Counts on the diagonal
# <!-- claim hyper-attention/lemma-c-1 -->
# <blockquote>
#
# **Lemma C.1 (Counts on the diagonal)** *Appendix C*
#
# For an orthonormal embedding $B$, $\;B X^\top X B^\top = \mathrm{diag}(s)$, with $s_\mu$ the number of tokens that are
# $\mu$.
#
# </blockquote>
# <!-- /claim -->
#
# The paper calls this an observation and gives no proof. One line is enough: with one-hot rows $E$ the sequence is $X =
# E B$, and $B B^\top = I$ leaves $B X^\top X B^\top = E^\top E$, whose entry $(\mu, \nu)$ counts the tokens that are
# both $\mu$ and $\nu$.

# %%
diagonals = torch.diag_embed(counts(symbols, size))
in_basis = embedding @ tokens.mT @ tokens @ embedding.mT
stretched = embedding + 0.3 * normal(size, size, seed=draw)
stretched_tokens = stretched[symbols]
not_orthonormal = stretched @ stretched_tokens.mT @ stretched_tokens @ stretched.mT

# %% [markdown]
# With an embedding that is not orthonormal the equation must fail. For three symbols, sympy settles the equation for
# every rotation.

# %%
claim = Claim("hyper-attention/lemma-c-1")
claim.close("B X^T X B^T against diag(s), largest error", in_basis, diagonals, atol=1e-12)
claim.control.close("B not orthonormal, largest error", not_orthonormal, diagonals, atol=1e-12)
claim.certified("three symbols: every rotation", certify_diagonal_counts())
claim.verdict()

# %% [markdown]
# ## Gradients
# <!-- claim hyper-attention/gradients-matrix-form -->
# <blockquote>
#
# **App. C (Gradients of the loss)** *Appendix C*
#
# With $D^{(n)} = \mathrm{SA}(X^{(n)}) - y^{(n)}$: $\;\partial L/\partial C = \frac2B \sum_n X^\top D\, w^\top X^\top X$
# and $\partial L/\partial w = \frac2B \sum_n X^\top X\, C^\top X^\top D$.
#
# **In the paper's proof.** The display that begins the derivation has $\frac1B$. (Around it: these pages are announced
# for the proof of Theorem 3.1.)
#
# **Corrected.** $\frac2B$, as in the displays that follow. (Theorem 4.4.)
#
# </blockquote>
# <!-- /claim -->
#
# Against central differences, entry by entry. The display that begins the derivation in the paper has $\frac1B$ where
# the later ones have $\frac2B$: half the gradient. Two displays of the proof of Theorem 4.4 drop the transpose on $C$
# in the second gradient; they are off by much.

# %%
by_score, by_value = loss_gradients(tokens, targets, score, value)
_, by_value_dropped = loss_gradients(tokens, targets, score, value, form="printed")


def loss_at(score, value):
    return residuals(tokens, targets, score, value).square().sum(dim=-1).mean()


# %% [markdown]
# Each entry of $C$ and of $w$ is moved by $10^{-5}$ to either side.

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
# Both gradients are compared with the differences, and so are the forms that are printed wrong. For two sequences of
# two tokens, sympy differentiates the loss and settles both gradients for all numbers.

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

# %% [markdown]
# ## The residuals
# <!-- claim hyper-attention/equation-21 -->
# <blockquote>
#
# **Eq. 21 (How the residuals move)** *Appendix C, Eq. 21*
#
# Under gradient flow with rate $\eta$ the stacked residuals obey $\dot D = -\frac{2\eta}B (M M^\top + M_2 M_2^\top) D$,
# with $M^{(n)} = (w^\top X^\top X) \otimes X$ and $M_2^{(n)} = X C X^\top X$; in one-hot terms $D =
# M\,\mathrm{vec}\bigl(C - C^*\mathrm{diag}(w^*/w)\bigr)$, vec stacking columns.
#
# **In the paper's proof.** In the displays before Eq. 21 the second term ends in $X^{(n)} C X^{(n)\top} D^{(n)}$.
#
# **Corrected.** $X^{(n)} C^\top X^{(n)\top} D^{(n)}$, as in Eq. 21 itself. (The norm in the step after Lemma C.3 must
# be $\|M\,\mathrm{vec}(\cdot)\|^2$.)
#
# </blockquote>
# <!-- /claim -->
#
# When $C$ and $w$ move against their gradients, the residuals move by $\dot D = -\frac{2}{B}(M M^\top + M_2 M_2^\top)
# D$. In one-hot terms $D = M\,\mathrm{vec}(C - C^*\mathrm{diag}(w^*/w))$; vec must stack columns, so that
# $\mathrm{vec}\begin{pmatrix}1&2\\3&4\end{pmatrix}=(1,3,2,4)$. The product $\otimes$ puts one block per entry of its
# first factor: $(1,2)\otimes\begin{pmatrix}1&0\\3&4\end{pmatrix}=\begin{pmatrix}1&0&2&0\\3&4&6&8\end{pmatrix}$.

# %%
velocity = linear_attention(tokens, -by_score, value[:, None]) + linear_attention(tokens, score, -by_value[:, None])
velocity_dropped = linear_attention(tokens, -by_score, value[:, None]) + linear_attention(
    tokens, score, -by_value_dropped[:, None]
)
by_c, by_w = residual_maps(tokens, score, value)
moved = -2 / samples * (by_c @ (by_c.mT @ residual.flatten()) + by_w @ (by_w.mT @ residual.flatten()))

# %% [markdown]
# In one-hot terms the residuals are a product with $M$.

# %%
hot = torch.eye(size, dtype=torch.float64)[symbols]
score_hot, star_hot = embedding @ score @ embedding.mT, embedding @ score_star @ embedding.mT
value_hot, value_star_hot = embedding @ value, embedding @ value_star
by_c_hot, _ = residual_maps(hot, score_hot, value_hot)
apart = score_hot - star_hot * (value_star_hot / value_hot)
columns = (by_c_hot @ apart.mT.flatten() - residual.flatten()).abs().max()
rows = (by_c_hot @ apart.flatten() - residual.flatten()).abs().max()

# %% [markdown]
# Rows stacked in place of columns, or a transpose dropped, must fail. For two sequences of two tokens, sympy settles
# the motion for all numbers.

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

# %% [markdown]
# ## Two lemmas
# <!-- claim hyper-attention/lemma-c-3 -->
# <blockquote>
#
# **Lemma C.3 (A lower bound on a quartic form)** *Appendix C, Eq. 28*
#
# $x^\top (M^\top M)^2 x \ge \lambda_{\min}(M^\top M)\, \|M x\|^2$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim hyper-attention/lemma-c-4 -->
# <blockquote>
#
# **Lemma C.4 (Decay under positive definite matrices)** *Appendix C, Eq. 29*
#
# If $\dot x = -\eta A(t) x$ with $A(t)$ symmetric and $\lambda_{\min}(A(t)) \ge \psi > 0$, then $x(t) \to 0$; in fact
# $\|x(t)\| \le \|x(0)\|\,e^{-\eta\psi t}$.
#
# </blockquote>
# <!-- /claim -->
#
# Lemma C.3 is tried on many random matrices. With the largest eigenvalue in place of the least one it is false.

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

# %% [markdown]
# The steps of its proof: with $A = M^\top M = Q \Lambda Q^\top$ and $u = Q^\top A^{1/2} x$, the left-hand side is
# $u^\top \Lambda u$, and $\|u\|^2 = \|Mx\|^2$.

# %%
turned = eigenvalues.clamp(min=0).sqrt().unsqueeze(-1) * (eigenvectors.mT @ vectors)  # Q^T A^(1/2) x
by_eigenvalues = (eigenvalues.unsqueeze(-1) * turned.square()).sum(dim=(-2, -1))
steps_of_proof = {
    "uᵀ Λ u": ((by_eigenvalues - left) / left).abs().max(),
    "|u|²": ((turned.square().sum(dim=(-2, -1)) - right) / right).abs().max(),
}

# %% [markdown]
# The slack is relative to the left-hand side.

# %%
claim = Claim("hyper-attention/lemma-c-3")
claim.at_least("least slack, relative", slack, -1e-12)
claim.at_most("equality on the lowest eigenvector, largest error", equal.abs().max(), 1e-10)
claim.at_most("both equalities of the proof, largest relative error", steps_of_proof, 1e-10, of="proof")
claim.control.at_least("with the largest eigenvalue, least slack", slack_largest, -1e-12)
claim.verdict()

# %% [markdown]
# Lemma C.4 is stated in the paper without a proof. It follows from $\frac{d}{dt}\|x\|^2 = -2\eta\, x^\top A(t)\, x \le
# -2\eta\psi \|x\|^2$, which also gives the rate: $\|x(t)\|^2 e^{2\eta\psi t}$ does not grow.
#
# To try it, $A(t)$ is a new random symmetric matrix in every interval of length $0.1$, with eigenvalues of at least
# $\psi = 0.5$; each interval is solved exactly by a matrix exponential. Then one direction is left without decay.

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

# %% [markdown]
# One direction without decay, for as long a time.

# %%
still = normal(dimension, seed=draw)
null = spectra[0].clone()
null[0] = 0.0
stuck = torch.linalg.matrix_exp(-interval * intervals * bases[0].mT * null @ bases[0]) @ still
stuck_share = stuck.norm() / still.norm()

# %% [markdown]
# The norm falls faster than its bound, which knows of the least eigenvalue only.

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
    caption="A state driven to zero by changing symmetric matrices stays below the exponential of their least "
    "eigenvalue.",
    alt="Two falling lines on a logarithmic scale; the solid one lies below the dashed straight one.",
)

# %% [markdown]
# The state with a direction that does not decay must not meet the bound.

# %%
claim = Claim("hyper-attention/lemma-c-4")
claim.at_most("largest |x(t)| over its bound", (norms / limit).max(), 1 + 1e-9)
claim.at_most("|x| at the end", norms[-1], norms[0] * limit[-1] / limit[0])
claim.control.at_most("one eigenvalue 0: |x| at the end over |x(0)|", stuck_share, limit[-1] / limit[0])
claim.verdict()

# %% [markdown]
# ## What was learned
# Each step of the chain holds where the paper states it, and several are misprinted where they are derived. What the
# chain moves is a vector of $BL$ residuals, of which only $|\mathcal S|^2$ directions can move; so Lemma C.4, true as
# it is, has nothing to say about them.
#
# ## To try
# - Set `size = 2`: every step still holds to rounding, in a space of four scores.
# - Set `samples = 5`: too few sequences for Theorem 4.4, and every lemma still holds, since none needs versatile data.
