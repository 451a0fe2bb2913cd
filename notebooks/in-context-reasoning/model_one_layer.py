# %% [markdown]
# # Assumption 2.2 · The model, its loss and its codes
# *Nguyen, Nguyen-Tang: Eq. (1) and (2), Assumption 2.2 and Remark 2.3, Section 2.*
#
# One attention layer reads the sentence, a linear layer reads what attention collected, and the sum of their logits
# names the next word. The codes of words are fixed vectors and never change; what is trained are three matrices: $W$
# scores positions, $V$ turns what attention collects into logits, and $F$ is the linear layer. The rows of $U$ are the
# codes $E(j)$ of all words.
#
# With the axes of space as codes, an input $x_h$ is a vector with two ones, at the word and at the word before it. A
# score is then two look-ups, and the attended sum is a histogram of words. That is the *gather form*, which all
# experiments of this chapter use: it never forms a tensor of sentences by length by width. On this page it is held
# against the formula as printed.

# %%
import math

import torch

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
# ## What attention sees
# Before the formulas, a picture: the weights that are built later, in {doc}`lemma_4_1_noisy`, on five sentences of the
# noisy task. One weight a position, and it is zero everywhere but at the output $y$ that follows the trigger $q$.

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
    caption="Attention weights of the construction of Lemma 4.1 on five sentences: the weight is λ at the y that "
    "follows the trigger q, and 0 at the τ that follows it too.",
    alt="Five rows of positions, blue but for one yellow cell in each row, which carries the letter y and follows a q.",
)

# %% [markdown]
# ## Printed form and gather form
# <!-- claim in-context-reasoning/definition-model -->
# <blockquote>
#
# **Model (The one-layer transformer)** *Section 2*
#
# With codes $E$ of words and $\tilde E$ of previous words, $x_h=E(z_h)+\tilde E(z_{h-1})$ and $x_1=E(z_1)$. Attention
# collects $a=\sum_h\sigma(x_H^\top W x_h)\,x_h$ and gives the logits $\xi_A=UVa$. A linear layer gives
# $\xi_F=UF(x_H+\kappa a)$, where $\kappa=1$ in the paper's model (FA) and $\kappa=0$ in the one that it compares with
# (F). The logits are $\xi=\xi_A+\xi_F$. The activation $\sigma$ is the identity, ReLU, or the softmax over $h$.
#
# </blockquote>
# <!-- /claim -->
#
# $V$, $W$ and $F$ are drawn at random. The two forms must give the same logits, and the slopes in closed form must be
# those of central differences of the loss.

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


# %% [markdown]
# Five random entries of each matrix are compared.

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


# %% [markdown]
# Both comparisons are made for three activations, and for a feed-forward layer that sees the attended sum (FA) or does
# not (F).

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

# %% [markdown]
# ## The loss
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
# **What changed.** The label is $z_{H+1}$, as in Eqs. (6) and (7) of the paper. It is $y$ in the noiseless task alone.
#
# </blockquote>
# <!-- /claim -->
#
# Eq. (2) scores the word $y$ in both tasks. That is a slip: in the noisy task the next word is $z_{H+1}$, and Eqs. (6)
# and (7) of the paper do have it. Eq. (2) is compared with the mean over both labels of a sentence, $\tau$ with
# probability $\alpha$ and $y$ otherwise, so that nothing depends on which labels are drawn.

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

# %% [markdown]
# ## The codes
# <!-- claim in-context-reasoning/assumption-2-2 -->
# <blockquote>
#
# **Assumption 2.2 (Orthonormal codes)** *Section 2*
#
# $E(i)^\top E(j)=\tilde E(i)^\top\tilde E(j)=\mathbb 1\{i=j\}$ and $E(i)^\top\tilde E(j)=0$ for all words $i,j$.
#
# </blockquote>
# <!-- /claim -->
#
# Random unit vectors are orthogonal only up to $1/\sqrt d$. With them, the attention scores of the lemmas to come are
# off by as much. How the error falls with $d$ is told by forty fits of its slope on a double logarithmic scale.

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
# Axes and a random rotation of them satisfy the assumption; random units in $d=1.5N$ dimensions do not.

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

# %% [markdown]
# ## How wide they must be
# <!-- claim in-context-reasoning/remark-2-3 -->
# <blockquote>
#
# **Remark 2.3 (How wide the codes must be)** *Section 2*
#
# Assumption 2.2 implies $d\ge N$. More than that is true: it asks for $2N$ orthonormal vectors, so that codes that
# satisfy it exist exactly when $d\ge 2N$ ($d\ge 2(N+1)$ with the noise token).
#
# </blockquote>
# <!-- /claim -->
#
# The assumption asks for $2N$ orthonormal vectors, words and previous words together, so it needs $d\ge2N$. The remark
# says that it implies $d\ge N$, which is true and not all. The paper's own $d=128$ is enough for its 60 words.


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
claim.verdict()

# %% [markdown]
# ## What was learned
# The model is small enough to be read: a score is two look-ups, what attention collects is a histogram, and both forms
# agree to the last digits. Eq. (2) scores the wrong word in the noisy task, a slip that the later equations do not
# have. Orthonormal codes for words and previous words need $d\ge2N$, twice what Remark 2.3 says, and codes that are
# orthogonal only nearly spoil the scores by about $1/\sqrt d$.
#
# ## To try
# - Set `noise = 0.01`: hardly a label is $\tau$, and the loss as Eq. (2) has it comes near the right one.
# - Set `width = 28`: with $d=2N$ exactly the codes fill their space, and every check of this page still passes.
