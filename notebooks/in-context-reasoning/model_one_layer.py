# %% [markdown]
# # Assumption 2.2 · Two codes per word turn the look-up into one product
# *Nguyen, Nguyen-Tang: Eq. (1) and (2), Assumption 2.2 and Remark 2.3, Section 2.*
#
# To find the word after an earlier trigger, a model must know at each position which word came before. For this
# purpose, the paper gives every word a second code. What exactly is the model, and how wide must its vectors be?

# %%
import math

import torch

from attention_theory.in_context_reasoning.certified.codes import certify_width
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy, expected_loss
from attention_theory.in_context_reasoning.embedding import embedding, random_units
from attention_theory.in_context_reasoning.model import Architecture, Weights, dense_forward, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.numerics import numerical_rank
from attention_theory.randomness import generator, normal, streams
from attention_theory.validation import ParameterError, require
from bookpress import Claim, estimate, show
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Take the vocabulary *door*, *seven*, *lamp* and the sentence *door seven lamp door*, where the answer is *seven*, the
# word after the earlier *door*. Each position gets six numbers: three for its own word and three for the word before.

# %%
fig, axis = schematic.canvas(7.0, 2.6)
inputs = [[1, 0, 0, 0, 0, 0], [0, 1, 0, 1, 0, 0], [0, 0, 1, 0, 1, 0], [1, 0, 0, 0, 0, 1]]
schematic.matrix(axis, inputs, at=(4.5, 0.5), cell=0.9)
for column, word in enumerate(["door", "seven", "lamp"] * 2):
    schematic.text(axis, (4.95 + 0.9 * column, 4.35), word, size=8)
for words, x in (("word E", 5.85), ("word before Ẽ", 8.55)):
    schematic.text(axis, (x, 4.8), words, schematic.QUIET, 9)
for row, word in enumerate(["door", "seven", "lamp", "door"]):
    schematic.text(axis, (4.2, 3.65 - 0.9 * row), f"{word}  x{row + 1}", size=9, align="right")
schematic.arrow(axis, (5.3, 1.1), (7.25, 2.6), bend=-0.1, colour=schematic.VERMILION)
schematic.text(axis, (10.2, 2.75), "match: x2 gets the score λ", schematic.VERMILION, 9, "left")
show.figure(
    fig,
    name="codes",
    caption="The input vectors of a sentence of four words. The final door is compared with the word before each "
    "position.",
    alt="A table of four rows and six columns, with one filled cell in the first row and two in each other row. "
    "An arrow leads from the cell for door in the last row to the cell for door as the word before, in the "
    "row of seven.",
)

# %% [markdown]
# We see that the arrow from the final *door* leads to the row of *seven*, the word after the earlier *door*. A matrix
# $W$ whose only nonzero entry is $\lambda$, at (word *door*, word before *door*), gives this row $x_2$ the score
# $\lambda$ and all others 0. Attention collects $\lambda x_2$, which gives *seven* the *logit* (its score as the next
# word) $\lambda$. In the noisy task, the noise word $\tau$ may also follow *door*. A second entry $-\lambda$ in $W$, at
# (word *door*, word $\tau$), then cancels the score of $\tau$.
#
# ## The paper states
#
# Codes are vectors of width $d$, and $[N]=\{1,\dots,N\}$ numbers the words. The activation $\sigma$ turns scores into
# attention weights. The matrix $V$ and the vector $\phi$ belong to attention, $F$ is the matrix of the feed-forward
# layer, and $U$ turns vectors into logits.
#
# <!-- claim in-context-reasoning/definition-model -->
# <blockquote>
#
# **Model (The one-layer transformer)** *Section 2*
#
# **The paper states.** The input and the output of the model are $x_h:=E(z_h)+\tilde E(z_{h-1})$,
# $\phi(x_H,x_{1:H}):=V\sum_{h=1}^H\sigma(x_H^\top Wx_h)x_h$, $\xi_A:=U\phi(x_H,x_{1:H})$ and
# $\xi_F:=UF\big(x_H+\sum_{h=1}^H\sigma(x_H^\top Wx_h)x_h\big)$. We use linear attention and ReLU attention. For
# empirical analyses, we additionally use softmax attention. The final logit is $\xi=\xi_A+\xi_F$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** At the first word, we set $x_1=E(z_1)$, since $z_0$ is not defined. With $\xi_F=UF(x_H+\kappa
# a)$, where $a$ is the attended sum, the code has the paper's model (FA) for $\kappa=1$ and the model (F) of Chen et
# al. for $\kappa=0$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/definition-loss -->
# <blockquote>
#
# **Loss** *Section 2*
#
# **The paper states.** The population loss is $L=\mathbb
# E_{q,y,z}\Big[-\ln\frac{\exp(\xi_y)}{\sum_{j\in[N]}\exp(\xi_j)}\Big]$.
#
# **What is true.** The population loss is the mean of $-\ln\big(e^{\xi_{z_{H+1}}}/\sum_j e^{\xi_j}\big)$ over sentences
# and labels.
#
# **What changed.** The label is $z_{H+1}$, as in Eqs. (6) and (7) of the paper. It is always $y$ only in the noiseless
# task.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/assumption-2-2 -->
# <blockquote>
#
# **Assumption 2.2 (Orthonormal codes)** *Section 2*
#
# **The paper states.** (Orthonormal Embedding) For any $i,j\in[N]$, we have $E(i)^\top E(j)=\tilde E(i)^\top\tilde
# E(j)=\mathbb 1\{i=j\}$ and $E(i)^\top\tilde E(j)=0$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/remark-2-3 -->
# <blockquote>
#
# **Remark 2.3 (How wide the codes must be)** *Section 2*
#
# **The paper states.** Assumption 2.2 necessarily implies that $d\ge N$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The assumption requires $2N$ orthonormal vectors. Codes that satisfy it exist exactly when
# $d\ge2N$, and $d\ge2(N+1)$ with the noise word.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# An input vector has two ones, so we can read a score from a few entries of $W$, and what attention collects is a
# weighted histogram of words. Our experiments use this *gather form* of Eq. (1), which never builds the large tensors
# of the formula.
#
# Words and previous words need $2N$ orthonormal codes, so $d\ge2N$ is necessary and sufficient. Random unit vectors are
# orthogonal only up to about $1/\sqrt d$, which causes errors of this order in the scores.
#
# ## See it run

# %% tags=["parameters"]
tokens = 14  # size of the vocabulary with the noise token, at least 8
length = 20  # H, words in a sentence, at least 8
width = 32  # d, at least 2 * tokens
count = 100  # sentences, at least 10
noise = 0.3  # alpha, from 0.01 to 0.99
seed = 0  # at least 0

# %%
require(
    tokens=(tokens, 8, None),
    length=(length, 8, None),
    width=(width, 2 * tokens, None),
    count=(count, 10, None),
    noise=(noise, 0.01, 0.99),
    seed=(seed, 0, None),
)
task, noiseless = Task(tokens, 1, 3, length, noisy=True), Task(tokens, 1, 3, length)
seeds = streams(seed, 6)
sentences = sample_sentences(task, count, seeds[0])
labels = draw_labels(sentences, task, torch.tensor([noise], dtype=torch.float64), seeds[1])[0]
codes = embedding(tokens, width, "rotated", seeds[2])
one = torch.ones(1, dtype=torch.float64)

# %% [markdown]
# We look at the weights of [Lemma 4.1](lemma_4_1_noisy.ipynb) on five sentences of [the
# task](definition_2_1_sentences.ipynb).

# %%
shown = sample_sentences(task, 5, seeds[3])
picture = forward(shown.tokens, reparameterised(task, codes, one).in_codes(codes), Architecture())
fig, axis = show.axes(width=7.0, height=2.2)
places = torch.cartesian_prod(torch.arange(5), torch.arange(length)).tolist()
image = axis.imshow(picture.weights, aspect="auto", vmin=0, vmax=1)
for (row, place), word in zip(places, shown.tokens.flatten().tolist(), strict=True):
    label = {0: "q", task.noise_token: "τ", int(shown.output[row]): "y"}.get(word, "")
    axis.text(place, row, label, ha="center", va="center", color="black" if label == "y" else "white")
axis.set(xlabel="position h", ylabel="sentence", xticks=range(0, length, 2), yticks=range(5))
axis.set_xticklabels(range(1, length + 1, 2))
axis.grid(False)
fig.colorbar(image, label="weight / λ")
show.figure(
    fig,
    name="attention",
    caption="Attention weights of the construction of Lemma 4.1 on five sentences. The weight is λ at the y that "
    "follows the trigger q, and 0 at the τ that also follows it.",
    alt="Five rows of positions, blue with one yellow cell in each row, which carries the letter y and follows a q.",
)

# %% [markdown]
# In each sentence we see one nonzero weight, at the output $y$ that follows the trigger $q$.

# %%
plain = sample_sentences(noiseless, 10, seeds[5])
follows = torch.zeros(plain.tokens.shape, dtype=torch.float64)
follows[:, 1:] = (plain.tokens[:, :-1] == plain.trigger[:, None]).double()


def score_error(chosen) -> torch.Tensor:
    """Scores of ten sentences minus their value in Lemma A.1, at scale 1."""
    built_here = reparameterised(noiseless, chosen, one)
    return dense_forward(plain.tokens, chosen, built_here, Architecture()).scores - follows


def mean_spread(d: int, group: int) -> float:
    """The mean spread of the scores' error over ten draws of random units."""
    draws = range(10 * group, 10 * group + 10)
    return torch.stack([score_error(random_units(tokens, d, seeds[5] + part)).std() for part in draws]).mean().item()


near, far = 6 * tokens, 24 * tokens
slopes = [math.log(mean_spread(far, group) / mean_spread(near, group)) / math.log(far / near) for group in range(40)]

# %% [markdown]
# ## How we checked
# For random matrices, we compare the two forms of Eq. (1), and exact gradients with central differences. We compare Eq.
# (2) with the loss averaged over both possible labels. For Remark 2.3, a computer algebra system proves $d\ge2N$
# for all codes of up to three words.

# %%
draw = generator(seeds[4])
weights = Weights(*(normal(width, width, seed=draw) / 4 for _ in range(3)))
small = weights.in_codes(codes)


def loss_of(parts: Weights, architecture: Architecture) -> float:
    return cross_entropy(forward(sentences.tokens, parts, architecture).logits, labels).losses.mean().item()


def difference(index: int, entry: int, architecture: Architecture, step: float = 1e-5) -> float:
    """The central difference of the loss in one entry of V, W or F."""
    ends = []
    for sign in (1, -1):
        moved = [part.clone() for part in small.matrices]
        moved[index].view(-1)[entry] += sign * step
        ends.append(loss_of(Weights(*moved), architecture))
    return (ends[0] - ends[1]) / (2 * step)


# %%


def slope_gap(architecture: Architecture) -> float:
    """The largest gap between closed-form slopes and central differences."""
    done = forward(sentences.tokens, small, architecture)
    loss = cross_entropy(done.logits, labels)
    slopes = architecture.gradients(sentences.tokens, small, done, loss.error * loss.log_scale.exp())
    gaps = []
    for index, slope in enumerate(slopes.matrices):
        for entry in torch.randint(slope.numel(), (5,), generator=draw).tolist():
            gaps.append(abs(difference(index, entry, architecture) - slope.flatten()[entry].item()))
    return max(gaps)


# %%
kinds = {
    f"{kind}, {name}": Architecture(kind, full)
    for kind in ("linear", "relu", "softmax")
    for full, name in ((0, "F"), (1, "FA"))
}
printed = {name: dense_forward(sentences.tokens, codes, weights, kind).logits for name, kind in kinds.items()}
gathered = {name: forward(sentences.tokens, small, kind).logits for name, kind in kinds.items()}
slope_gaps = {name: slope_gap(kind) for name, kind in kinds.items()}

claim = Claim("in-context-reasoning/definition-model")
apart = {name: (printed[name] - gathered[name]).abs().max() for name in kinds}
claim.at_most("printed minus gather form, largest", apart, 1e-12)
claim.at_most("slope against central differences, largest gap", slope_gaps, 1e-8)
without = (gathered["linear, F"] - gathered["linear, FA"]).abs().max()
claim.control.at_most("F and FA give the same logits", without, 1e-12)
claim.verdict()

# %%
zero = forward(sentences.tokens, Weights(*(torch.zeros_like(part) for part in small.matrices)), Architecture())
built = reparameterised(task, codes, 6 * one, odds(noise))
done = forward(sentences.tokens, built.in_codes(codes), Architecture())
right = cross_entropy(done.logits, labels).losses.mean().item()
by_hand = -done.logits.softmax(dim=1)[torch.arange(count), labels].log().mean().item()
expected = expected_loss(done.logits, sentences.output, task.noise_token, noise).mean()
against_y = cross_entropy(done.logits, sentences.output).losses.mean()

claim = Claim("in-context-reasoning/definition-loss")
claim.equal("loss at zero weights", cross_entropy(zero.logits, labels).losses.mean(), math.log(tokens), tolerance=1e-12)
claim.equal("loss against the label, by hand", right, by_hand, tolerance=1e-12)
claim.control.equal("loss at trained weights is that at zero", right, math.log(tokens), tolerance=1e-3)
claim.misprint.equal(
    "loss against y, as in Eq. (2), minus the mean over labels", against_y - expected, 0, tolerance=1e-6
)
claim.verdict()

# %%
eye = torch.eye(2 * tokens, dtype=torch.float64)
gram = {}
for kind in ("basis", "rotated"):
    rows = embedding(tokens, width, kind, seed).stacked
    gram[kind] = (rows @ rows.mT - eye).abs().max()
narrow = random_units(tokens, 3 * tokens // 2, seed)

claim = Claim("in-context-reasoning/assumption-2-2")
claim.at_most("Gram matrix minus I, largest", gram, 1e-12)
claim.at_most("scores against Lemma A.1, largest error", score_error(codes).abs().max(), 1e-12)
crossed = (narrow.stacked @ narrow.stacked.mT - eye).abs().max()
claim.control.at_most("random units: Gram matrix minus I, largest", crossed, 1e-12)
claim.control.at_most("random units: scores against Lemma A.1, spread", score_error(narrow).std(), 1e-12)
claim.equal("random units: slope of ln(spread) in ln d", estimate(slopes), -0.5, tolerance=0.05)
claim.verdict()


# %%
def refused(dimension: int) -> bool:
    try:
        embedding(tokens, dimension)
    except ParameterError:
        return True
    return False


ranks = {d: int(numerical_rank(random_units(tokens, d, seed).stacked)) for d in range(tokens, 2 * tokens + 1)}
enough = [d for d, rank in ranks.items() if rank == 2 * tokens]

claim = Claim("in-context-reasoning/remark-2-3")
claim.equal("least d at which 2N codes are independent", min(enough), 2 * tokens)
claim.equal("d from N to 2N - 1 that are refused", sum(map(refused, range(tokens, 2 * tokens))), tokens)
claim.equal("d = 2N is refused", refused(2 * tokens), False)
claim.control.equal("d = N is enough: independent codes", ranks[tokens], 2 * tokens)
claim.certified("N = 1 to 3: all real codes", certify_width(3))
claim.verdict()

# %% [markdown]
# <details><summary>Method notes</summary>
#
# We fit how the error of random codes falls with $d$ on a log-log scale, in forty groups of ten draws. The controls are
# that F and FA must differ, that codes of dimension $1.5N$ must overlap, and that $d=N$ must be too small.
#
# </details>
#
# ## Where the paper differs
# Eq. (2) scores $y$ even when the label is $\tau$. The later Eqs. (6) and (7) score the label. Remark 2.3 is true, but
# the necessary width is twice as large.
#
# ## What to remember
# - Each position carries its word and the word before it, and one matrix entry compares them.
# - The logits of attention and of the feed-forward layer are added.
# - Orthonormal codes need $d\ge2N$; the paper's $d=128$ is enough for its 60 words.
#
# ## Exercises
#
# 1. *By hand.* Which logits does $W$ above give for *lamp door seven door*?
#    <details><summary>Solution</summary>
#
#    The word before position 3 is *door*, so $x_3$ has score $\lambda$. Attention collects $\lambda x_3$, *seven* gets
#    logit $\lambda$, and the others get 0.
#
#    </details>
# 2. *Predict, then run.* Set `width = 28`, which is exactly twice the number of words on this page. Does a check fail?
#    <details><summary>Solution</summary>
#
#    No. The 28 codes fill the space and are still orthonormal. With `width = 27` the page refuses to run.
#
#    </details>
#
# Next: [Lemma 3.1](lemma_3_1_noiseless.ipynb). We can now write the look-up as one matrix and compute its loss.
