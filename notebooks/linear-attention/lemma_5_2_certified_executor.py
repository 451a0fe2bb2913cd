# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 5.2 · Certified execution, and which data can certify it
#
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Lemma 5.2, Section 5 and Appendix C.2.*
#
# A model that passes our tests may still fail on the next machine. Can the data guarantee that it executes *every*
# machine? They can, if they pass the certificate of [Lemma 4.1](lemma_4_1_certificate.ipynb). Do the runs of machines
# pass?

# %%
import torch

from attention_theory.linear_attention.certified.uniqueness import certify_design
from attention_theory.linear_attention.learning.interpolation import (
    design,
    interpolate,
    least_eigenvalue_bound,
    sparse_step,
)
from attention_theory.linear_attention.learning.learned_machine import learn_runs
from attention_theory.linear_attention.machines.block_heads import dense
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.turing import random_inputs, random_tables
from attention_theory.linear_attention.machines.universal import UniversalMachine
from attention_theory.linear_attention.model.autoregression import autoregress
from attention_theory.linear_attention.model.features import pairs, psi
from attention_theory.linear_attention.model.mhla import gram, mhla
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import streams
from attention_theory.validation import Each, require
from bookpress import Claim, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
#
# We look for the coefficients of $y=p\,x_1^2+q\,x_1x_2+r\,x_2^2$. Three inputs are enough:
#
# | input $(x_1,x_2)$ | label | what we learn |
# | --- | --- | --- |
# | $(1,0)$ | 3 | $p=3$ |
# | $(0,1)$ | 5 | $r=5$ |
# | $(1,1)$ | 10 | $q=10-3-5=2$ |
#
# Now suppose that a token holds a letter, $(1,0)$ for `a` or $(0,1)$ for `b`. Then the third input never occurs.

# %%
fig, axis = schematic.canvas(height=2.3)
columns = [((1, 0), "a", "y = p"), ((0, 1), "b", "y = r"), ((1, 1), "no letter", "y = p + q + r")]
for number, (entries, name, label) in enumerate(columns):
    x = 2.0 + 4.2 * number
    right = schematic.matrix(axis, [[entry] for entry in entries], (x, 1.5), cell=0.8, words=name)[2]
    schematic.arrow(axis, (right[0] + 0.2, right[1]), (right[0] + 1.0, right[1]))
    schematic.text(axis, (right[0] + 1.2, right[1]), label, align="left")
schematic.text(axis, (4.9, 4.0), "in histories", schematic.BLUE, 9)
schematic.text(axis, (11.4, 4.0), "in no history", schematic.VERMILION, 9)
axis.plot([1.8, 8.4], [3.6, 3.6], color=schematic.BLUE, lw=1.4)
_ = axis.plot([10.2, 13.4], [3.6, 3.6], color=schematic.VERMILION, lw=1.4)

# %%
show.figure(
    fig,
    name="letters",
    caption="Three inputs with two entries, and what their labels $y$ reveal. A filled cell is a 1.",
    alt="Three columns of two cells. The first two, with one filled cell each, are marked as in histories. The third, "
    "with both cells filled, is marked as in no history.",
)

# %% [markdown]
# We see that letters never reveal $q$, however many histories we collect.
#
# ## The paper states
#
# <!-- claim linear-attention/lemma-5-2 -->
# <blockquote>
#
# **Lemma 5.2 (Certified execution)** *Section 5, Appendix C.2*
#
# **The paper states.** Let $D=\{(Z_i,y_i)\}_{i\in[N]}$ be a dataset satisfying $y_i=\mathrm{MHLA}_\Theta$ for
# $\Theta\in\Omega_H$ being the expressibility parameters of Lemma 2.2. If $D$ is certifiably identifiable with
# $\lambda_{\min}(\Lambda_D)>\eta$, then there is a $\mathrm{poly}(d,N,\hat Q,\hat\Sigma,\hat n,\hat\Phi,\eta^{-1})$
# time algorithm that outputs $\hat\Theta\in\Omega_{d^2}$ such that for all TM's $M$ and input words $x$ in $\Delta$, we
# have $\mathrm{CH}_{\hat\Theta}(M,x)^{c(t)}[:-k_t]=x^t$ (25).
#
# **What is true.** The lemma is true as stated. Exact least squares takes polynomial time and returns the coefficients
# of the universal machine.
#
# **What changed.** Only the proof differs. Eq. 66 lacks a square: it should be
# $\|\mathrm{MHLA}_{\hat\Theta}(Z)-\mathrm{MHLA}_\Theta(Z)\|^2\le\frac\epsilon\eta\|Z\|_F^6$. The proof ends with a
# probability over $(M,x)$, while the lemma is about all of them.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** A model with a loss above 0 also executes every machine if its outputs are rounded and its loss
# is below the *gate* $\eta/(4\|Z\|_F^6)$ for all inputs $Z$ in runs. At every width, there are data sets of polynomial
# size that pass the certificate. Histories of the embedded machines never do. For one input at a time we can decide
# whether they determine the output: all minimisers agree where its features lie in the range of $\Lambda_D$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/remark-certified-histories -->
# <blockquote>
#
# **Section 1 (Histories that are certifiably identifiable)** *Section 1, third result; Section 5, last sentence of
# Lemma 5.1*
#
# **The paper states.** We conclude that given a certifiably identifiable dataset of Turing machines and computation
# histories on input words, empirical risk minimization and in particular algorithm 1 will learn the universal Turing
# machine in a strong sense. That is at test time it will run any TM and input word up to a given size for a bounded
# number of steps.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The sentence starts from a "given" data set, which does not exist in the paper's embedding: a
# token holds at most one letter of an attribute, so two of the rows are orthogonal in every history, and no data set of
# histories is certifiably identifiable. With four copies of the layer there are such data sets, of polynomial size.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
#
# If $\lambda_{\min}(\Lambda_D)>\eta$, a model whose coefficients differ from the true ones by $\Delta$ has a loss of
# at least $\eta\|\Delta\|_F^2$. A small loss therefore means that the coefficients are nearly right, and that the
# error on every input is so small that rounding removes it.
#
# The three kinds of inputs in the tiny example, for every pair of rows, pass the certificate. In histories, a token
# has at most one nonzero entry among the rows of one attribute, so the product of two such rows is always 0.
#
# <details><summary>Proof of Lemma 5.2, with the square that its chain lacks</summary>
#
# Let $p$ and $\hat p$ be the coefficients of $\Theta$ and $\hat\Theta$, and $\Delta = \hat p - p$. The labels are the
# outputs of $\Theta$, so the loss of $\hat\Theta$ is $\varepsilon = \operatorname{tr}(\Delta \Lambda_D \Delta^\top) \ge
# \eta \|\Delta\|_F^2$. On any input, $\|\Delta \mathcal{H}(Z)\|^2 \le \|\Delta\|_F^2\, \|\mathcal{H}(Z)\|^2 \le
# \frac{\varepsilon}{\eta} \|Z\|_F^6$, because $\|\mathcal{H}(Z)\|^2 \le \|Z Z^\top\|_F^2 \|z_n\|^2 \le \|Z\|_F^6$. If
# $\varepsilon < \eta / (4 \|Z\|_F^6)$ for all inputs that occur, the squared error is below $1/4$ and rounding undoes
# it; by induction over tokens the history is the true one, for all machines and words. There are finitely many, and
# $\|Z\|_F^2$ is at most the number of entries, so the gate is polynomial. Exact least squares has $\varepsilon = 0$ and
# passes it, in time polynomial in $N$ and $d$. $\square$
#
# **A data set that passes, at every width.** Take the inputs with two tokens $x$ and $e_\ell$, where $x$ is one of $0$,
# $e_j$ and $e_j + e_k$. For fixed $\ell$ write $y(x)$ for the label. The Gram matrices are $x x^\top + e_\ell
# e_\ell^\top$, so $y(0) = p_{\ell\ell,\ell}$, then $y(e_j) - y(0) = p_{jj,\ell}$, and $y(e_j + e_k) - y(e_j) - y(e_k) +
# y(0) = p_{jk,\ell}$. So a matrix $A$ with rows of squared length 1, 2 and 4 recovers the coefficients from the labels:
# $A$ times the matrix whose rows are the features of the inputs is the identity. Hence every singular value of that
# matrix is at least $1/\|A\|_F$, and over all $N = d(\frac{d(d+1)}{2} + 1)$ inputs $\lambda_{\min}(\Lambda_D) \ge 1/(N
# \|A\|_F^2) > 0$. $\square$
#
# </details>
#
# <details><summary>Proof of Section 1, third result: no one-hot histories pass</summary>
#
# Let rows $j$ and $k$ belong to two letters of one attribute. A token holds at most one letter of an attribute, so in
# each token one of the two entries is 0. Hence $\langle z_j, z_k\rangle = 0$ in every history, and all features
# $\langle z_j, z_k\rangle z_{\ell n}$ are 0 in all data. Their unit vectors lie in the kernel of $\Lambda_D$, so that
# $\lambda_{\min}(\Lambda_D) = 0$.
#
# *Single inputs.* The data are realisable, so that two minimisers have loss 0, and the difference $\Delta$ of their
# coefficients has $\Delta\Lambda_D = 0$. If $\mathcal{H}(Z) = \Lambda_Du$, then $\Delta\mathcal{H}(Z) = 0$: they agree
# at $Z$. *Other data* that pass are built in the proof of Lemma 5.2 above. $\square$
#
# </details>
#
# ## See it run
#
# We label the inputs of the proof with the outputs of the [universal machine](lemma_2_2_universal_machine.ipynb).

# %% tags=["parameters"]
states = 2  # most states of a machine, from 1 to 2
letters = 2  # letters of the alphabet, from 1 to 2
steps = 2  # steps of a machine, from 1 to 3
machines = 300  # random machines run by the certified model, from 20 to 2000
counts = [20, 60, 140]  # machines whose histories are learned from in the last part, each from 2 to 200
seed = 0  # seed of every draw, at least 0

# %%
require(states=(states, 1, 2), letters=(letters, 1, 2), steps=(steps, 1, 3), machines=(machines, 20, 2000))
require(counts=(Each(counts), 2, 200), seed=(seed, 0, None))

# %%
universal = CompactMachine(states, letters, 1, steps)
width = universal.width
teacher = dense(universal.heads, width)
learned = torch.zeros(width, width * (width + 1) // 2, width, dtype=torch.float64)
for last in range(width):
    learned[..., last] = interpolate(mhla(teacher, design(width, last)), width, last)
true = coefficients(teacher)
gap = (learned.flatten(1) - true).abs().max().item()
out, pair, last = learned.nonzero(as_tuple=True)
places = torch.stack([out, pairs(width)[0][pair], pairs(width)[1][pair], last])
terms = learned[out, pair, last]
print(f"d = {width}, {psi(width):,} features, {len(terms)} coefficients that are not 0, distance {gap}")

# %%
samples = width * len(design(width, 0))
j, k = pairs(width)


def block(last):
    """The part of the second moment that belongs to one last token."""
    products = gram(design(width, last))[:, j, k]
    return products.mT @ products / samples


smallest = torch.linalg.eigvalsh(block(0))[0].item()
eta = least_eigenvalue_bound(width)
print(f"{samples:,} inputs, least eigenvalue {smallest:.3g}, bound of the proof {eta:.3g}")

# %% [markdown]
# We learn all coefficients exactly, and $\eta$ is below the smallest eigenvalue. Next, the learned coefficients run
# random machines, without rounding.


# %%
def histories(count, stream):
    """Runs of random machines on random words by the universal machine."""
    tables = random_tables(count, states, letters, stream)
    prompts = universal.embed(tables, *random_inputs(count, letters, 1, stream + 1))
    return universal.run(prompts, steps).double()


first = states + 2
test, training = streams(seed, 2)
truth = histories(machines, test)
own = autoregress(lambda tokens: sparse_step(terms, places, tokens), truth[:, :first], truth.shape[1] - first)
wrong = (own != truth).flatten(1).any(dim=1)
print(f"{machines} machines, {truth.shape[1] - first} tokens each: {int(wrong.sum())} runs differ")

# %% [markdown]
# No run differs. How large may the loss be? For a given loss, we change the coefficients in the direction that moves
# the output the most.

# %%
largest = truth.square().sum(dim=(1, 2)).max().item()
gate = smallest / (4 * largest**3)


def reach(prefix):
    """``H(Z) Λ⁻¹ H(Z)``: the squared change of an output at the input that a loss of 1 allows."""
    products = gram(prefix)[j, k]
    used = prefix[-1].nonzero()[:, 0].tolist()
    return sum((prefix[-1, at] ** 2 * products @ torch.linalg.solve(block(at), products)).item() for at in used)


inputs = [truth[number, :length] for number, length in enumerate(range(first, truth.shape[1], 5))]
reaches = torch.tensor([reach(prefix) for prefix in inputs])
sizes = torch.tensor([prefix.square().sum().item() for prefix in inputs])
at_gate = (0.999 * gate * reaches).sqrt()
harm = (0.25 / reaches).min().item() / gate
print(f"gate {gate:.2g}; largest change there {at_gate.max():.2g}; harm begins at {harm:.2g} gates")

# %% [markdown]
# Rounding undoes every change whose loss is below the gate, and in fact every change with a loss of up to 30,000
# times the gate. Now we learn from histories.

# %%
data = histories(max(counts), training)
found = {}
for count in counts:
    model = learn_runs(data[:count], first)
    found[count] = model.rank, model.execute(truth[:60], first, torch.round)
cell = universal.rows.indices("cell")
two_cells = max((runs[..., cell[0]] * runs[..., cell[1]]).abs().max().item() for runs in (data, truth))
elsewhere = design(width, width - 1)[:200]
apart = (model(elsewhere) - mhla(teacher, elsewhere)).abs().max().item()
show.table(
    ["machines", "rank", "features", "ε", "fraction of runs wrong", "fraction of outputs determined"],
    [
        [k, rank, psi(width), one.error, one.mismatch, one.determined.double().mean()]
        for k, (rank, one) in found.items()
    ],
)

# %% [markdown]
# Histories of 140 machines span only 1,744 of 99,238 dimensions, and 8 % of the new runs are wrong.
#
# ## How we checked
#
# Data that pass the certificate must give every coefficient and every run exactly. A model learned from histories
# must be right on every output that they determine. As a control, models learned from few histories should fail. We
# also test Eq. 66, and certify the data at $d=4$.

# %%
loss = 1e-6 * gate
differences, bounds = (loss * reaches).sqrt(), loss / smallest * sizes**3
determined_missed = sum(int((one.missed & one.determined).sum()) for _, one in found.values())
print(
    f"difference over the paper's bound: {(differences / bounds).max():.3g},"
    f" squared: {(differences**2 / bounds).max():.3g}"
)

# %%
claim = Claim("linear-attention/lemma-5-2")
claim.above("bound of the proof on the least eigenvalue, above 0", eta, 0)
claim.at_most("bound over the least eigenvalue", eta / smallest, 1)
claim.equal("coefficients learned less those of the universal machine, largest", gap, 0)
claim.equal(f"{machines} machines: runs that differ in any token", wrong.sum(), 0)
claim.below("loss 0.999 of the gate: largest change of an output", at_gate.max(), 0.5)
claim.number("loss where harm begins, over the gate", harm)
claim.equal("histories: outputs that are determined and missed", determined_missed, 0)
claim.equal("histories: product of the rows of two cells in any token, largest", two_cells, 0)
claim.number("histories: largest rank", max(one[0] for one in found.values()))
claim.control.at_most(f"histories of {counts[0]} machines: share of runs wrong", found[counts[0]][1].mismatch, 0)
claim.control.at_most("learned from histories: error on inputs that are none", apart, 1e-9)
claim.printed.at_most("difference over (ε/η) ‖Z‖⁶, largest", (differences / bounds).max(), 1, of="proof")
claim.at_most("squared difference over (ε/η) ‖Z‖⁶, largest", (differences**2 / bounds).max(), 1, of="proof")
claim.certified("d = 4: the design gives back all coefficients, above η", certify_design(4))
claim.verdict()

# %%
paper = UniversalMachine(states, letters + 1, 2, 1)
tables = random_tables(40, states, letters + 1, test)
tokens = paper.run(paper.embed(tables, *random_inputs(40, letters + 1, 2, training)))
row = paper.rows.indices("letter")
two_letters = (tokens[..., row[0]] * tokens[..., row[1]]).abs().max()

# %%
claim = Claim("linear-attention/remark-certified-histories")
claim.equal("data that pass: coefficients learned less those of the universal machine, largest", gap, 0)
claim.equal(f"data that pass: runs of {machines} machines that differ in any token", wrong.sum(), 0)
claim.equal("ours: product of the rows of two cells in any token, largest", two_cells, 0)
claim.equal("Appendix C.1: product of the rows of two letters in any token, largest", two_letters, 0)
claim.control.at_most(f"histories of {counts[0]} machines: share of runs wrong", found[counts[0]][1].mismatch, 0)
claim.number("histories: rank over the number of features", max(one[0] for one in found.values()) / psi(width))
claim.verdict()

# %% [markdown]
# ## What to remember
#
# - If the data pass the certificate, a small loss guarantees that every run of every machine is right.
# - At every width, a data set of polynomial size passes.
# - Histories of one-hot tokens never pass, because a token never holds two letters.
#
# ## Exercises
#
# 1. *By hand.* In the tiny example, we replace $(1,1)$ by $(2,1)$, with the label 21. What is $q$?
#
#    <details><summary>Solution</summary>
#
#    The label is $4p+2q+r=12+2q+5$, so $q=2$.
#
#    </details>
#
# 2. *Predict, then run.* Set `steps = 3`. How does the width change, and can the learned machine still do without
#    rounding?
#
#    <details><summary>Solution</summary>
#
#    One more step needs three more rows, so $d$ grows from 58 to 61. We still learn all coefficients exactly, and
#    without rounding none of the 300 runs differs.
#
#    </details>
#
# Next: [Histories that identify](histories_identify.ipynb). With four copies of the layer, histories do pass.
