# %% [markdown]
# # Assumption 2.2 · The model, its loss and its codes
# *Nguyen, Nguyen-Tang: Eq. (1) and (2), Assumption 2.2 and Remark 2.3, Section 2.*
#
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
# <!-- claim in-context-reasoning/definition-loss -->
# <blockquote>
#
# **Loss** *Section 2*
#
# **As printed.** $-\ln\big(e^{\xi_y}/\sum_j e^{\xi_j}\big)$, for both tasks.
#
# **Corrected.** The population loss is the mean of $-\ln\big(e^{\xi_{z_{H+1}}}/\sum_j e^{\xi_j}\big)$ over sentences
# and labels.
#
# The label is $z_{H+1}$, as in Eqs. (6) and (7); it is $y$ in the noiseless task alone.
#
# </blockquote>
# <!-- /claim -->
#
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
# One attention layer reads the sentence, a linear layer reads what attention collected, and the sum of their logits
# names the next word. The codes of words never change. With axes as codes, $x_h$ is a vector with two ones, so a score
# is two look-ups and the attended sum is a histogram. That is the *gather form*, which all experiments of this chapter
# use: it never forms a tensor of sentences by length by width. Here it is held against the formula as printed.

# %%
import math

import torch

from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.embedding import embedding, random_units
from attention_theory.in_context_reasoning.model import (
    Architecture,
    Weights,
    dense_forward,
    forward,
    gradients,
    in_codes,
)
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.numerics import numerical_rank
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError, require
from bookpress import Claim, show

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
task = Task(tokens, 1, 3, length, noisy=True)
sentences = sample_sentences(task, count, seed)
labels = draw_labels(sentences, task, torch.tensor([noise], dtype=torch.float64), seed)[0]
codes = embedding(tokens, width, "rotated", seed)

# %% [markdown]
# ## Printed form and gather form
# Random weights of every kind: the two forms give the same logits, and the slopes in closed form are those of central
# differences of the loss.

# %%
draw = generator(seed + 1)
weights = Weights(*(normal(width, width, seed=draw) / 4 for _ in range(3)))
small = in_codes(weights, codes)


def loss_of(parts: Weights, architecture: Architecture) -> float:
    return cross_entropy(forward(sentences.tokens, parts, architecture).logits, labels).losses.mean().item()


def slope_gap(architecture: Architecture, step: float = 1e-5, entries: int = 5) -> float:
    """The largest gap between closed-form slopes and central differences over a few random entries of V, W, F."""
    done = forward(sentences.tokens, small, architecture)
    loss = cross_entropy(done.logits, labels)
    slopes = gradients(sentences.tokens, small, architecture, done, loss.error * loss.log_scale.exp())
    gaps = []
    for index, slope in enumerate(slopes.matrices):
        for entry in torch.randint(slope.numel(), (entries,), generator=draw).tolist():
            ends = []
            for sign in (1, -1):
                moved = [part.clone() for part in small.matrices]
                moved[index].view(-1)[entry] += sign * step
                ends.append(loss_of(Weights(*moved), architecture))
            gaps.append(abs((ends[0] - ends[1]) / (2 * step) - slope.view(-1)[entry].item()))
    return max(gaps)


claim = Claim("in-context-reasoning/definition-model")
for attention in ("linear", "relu", "softmax"):
    for full_input in (0, 1):
        architecture = Architecture(attention, full_input)
        gap = (
            dense_forward(sentences.tokens, codes, weights, architecture).logits
            - forward(sentences.tokens, small, architecture).logits
        )
        name = f"{attention}, {'FA' if full_input else 'F'}"
        claim.check(f"{name}: printed minus gather, largest", gap.abs().max(), "<=", 1e-12)
        claim.check(f"{name}: slope against central differences", slope_gap(architecture), "<=", 1e-8)
without, with_sum = (forward(sentences.tokens, small, Architecture("linear", full)).logits for full in (0, 1))
claim.control("F and FA give the same logits", (without - with_sum).abs().max(), "<=", 1e-12)
claim.verdict()

# %% [markdown]
# ## The loss
# At zero weights every word is as likely as another. In the noisy task the label is $z_{H+1}$, as in Eqs. (6) and (7).
# Eq. (2) scores $y$, a slip, and another number as soon as some labels are $\tau$.

# %%
claim = Claim("in-context-reasoning/definition-loss")
zero = forward(sentences.tokens, Weights(*(torch.zeros_like(part) for part in small.matrices)), Architecture())
claim.check("loss at zero weights", cross_entropy(zero.logits, labels).losses.mean(), "==", math.log(tokens), 1e-12)
built = reparameterised(task, codes, torch.tensor([6.0], dtype=torch.float64), odds(noise))
done = forward(sentences.tokens, in_codes(built, codes), Architecture())
right = cross_entropy(done.logits, labels).losses.mean().item()
by_hand = -done.logits.softmax(dim=1)[torch.arange(count), labels].log().mean().item()
claim.check("loss against the label z_{H+1}, by hand", right, "==", by_hand, 1e-12)
claim.misprint(
    "loss against y, as in Eq. (2)", cross_entropy(done.logits, sentences.output).losses.mean(), "==", right, 1e-6
)
claim.control("loss at trained weights", right, "==", math.log(tokens), 1e-3)
claim.verdict()

# %% [markdown]
# ## The codes
# The assumption asks for $2N$ orthonormal vectors, words and previous words together. So it needs $d\ge 2N$. The remark
# says that it implies $d\ge N$, which is true and not all: $d=N$ is not enough. Random unit vectors are orthogonal up
# to $1/\sqrt d$, and the attention scores of the lemmas to come are off by as much.

# %%
claim = Claim("in-context-reasoning/assumption-2-2")
eye = torch.eye(2 * tokens, dtype=torch.float64)
for kind in ("basis", "rotated"):
    rows = embedding(tokens, width, kind, seed).stacked
    claim.check(f"{kind} codes: Gram matrix minus I, largest", (rows @ rows.mT - eye).abs().max(), "<=", 1e-12)
narrow = random_units(tokens, 3 * tokens // 2, seed)
claim.control("random units: Gram matrix minus I", (narrow.stacked @ narrow.stacked.mT - eye).abs().max(), "<=", 1e-12)

noiseless = Task(tokens, 1, 3, length)
plain = sample_sentences(noiseless, count, seed)
follows = torch.zeros(plain.tokens.shape, dtype=torch.float64)
follows[:, 1:] = (plain.tokens[:, :-1] == plain.trigger[:, None]).double()


def score_error(chosen) -> torch.Tensor:
    """Scores minus their value in Lemma A.1, at scale 1."""
    parts = reparameterised(noiseless, chosen, torch.ones(1, dtype=torch.float64))
    return dense_forward(plain.tokens, chosen, parts, Architecture()).scores - follows


claim.check("orthonormal codes: scores against Lemma A.1", score_error(codes).abs().max(), "<=", 1e-12)
claim.control("random units: scores against Lemma A.1", score_error(narrow).std(), "<=", 1e-12)
widths = [6 * tokens, 24 * tokens]
spread = [
    torch.stack([score_error(random_units(tokens, d, seed + draw)).std() for draw in range(100)]).mean().log()
    for d in widths
]
slope = (spread[-1] - spread[0]) / math.log(widths[-1] / widths[0])
claim.check("random units: slope of ln(spread of the scores' error) in ln d", slope, "==", -0.5, 0.05)
claim.verdict()

# %%
claim = Claim("in-context-reasoning/remark-2-3")


def refused(dimension: int) -> bool:
    try:
        embedding(tokens, dimension)
    except ParameterError:
        return True
    return False


ranks = [int(numerical_rank(random_units(tokens, d, seed).stacked)) for d in range(tokens, 2 * tokens + 1)]
claim.check("least d at which 2N codes are independent", tokens + ranks.index(2 * tokens), "==", 2 * tokens)
claim.check("d from N to 2N - 1 that are refused", sum(map(refused, range(tokens, 2 * tokens))), "==", tokens)
claim.check("d = 2N is refused", refused(2 * tokens), "==", False)
claim.control("d = N is enough: independent codes", ranks[0], "==", 2 * tokens)
claim.verdict()

# %% [markdown]
# ## What attention sees
# The noisy construction of Lemma 4.1 on five sentences: one weight a position, and it is zero everywhere but at $y$.

# %%
shown = sample_sentences(task, 5, seed + 7)
picture = forward(
    shown.tokens, in_codes(reparameterised(task, codes, torch.ones(1, dtype=torch.float64)), codes), Architecture()
)
fig, axis = show.axes(width=7.0, height=2.2)
image = axis.imshow(picture.weights, aspect="auto", vmin=0, vmax=1)
for row, words in enumerate(shown.tokens.tolist()):
    for place, word in enumerate(words):
        label = {0: "q", task.noise_token: "τ", int(shown.output[row]): "y"}.get(word, "")
        axis.text(
            place, row, label, ha="center", va="center", color="white" if picture.weights[row, place] < 0.5 else "black"
        )
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
