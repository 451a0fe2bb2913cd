# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Appendix B.4 · The next value of a series
# *Ustaomeroglu, Qu: Appendix B.4.*
#
# Some series carry on by themselves: the next value is made from a few of those before it. The paper's kind follows
# $m[t] = \sum_{k \in D} a_k\, A\, m[t-k]$. A value $m[t]$ is a vector of $d_2$ numbers; $D$ is a set of delays, for
# example 2 and 5; the number $a_k$ says how strongly the value of $k$ steps ago comes in; and the matrix $A$ mixes the
# entries of a value. When $m[1], \dots, m[L]$ are known, can one layer of attention say what $m[L+1]$ will be?
#
# It can, because the rule is a sum over pairs of times. A token is $[m[t], p[t]]$, the value and a one-hot $p[t]$ for
# its time. A linear layer adds up scores times values: the matrix $C$ makes a score from two tokens, and $W^V$ makes
# the value from the one looked at. The scores look at times only, through the part $\tilde C$ of $C$: time $u$ looks at
# time $u - k$ with strength $a_k$. The value matrix applies $A$. The last token stands for the time that is to come;
# its output is the prediction.
#
# <!-- claim hyper-attention/time-series-construction -->
# <blockquote>
#
# **App. B.4 (Time series with delays)** *Appendix B.4*
#
# For $m[t] = \sum_{k \in D} a_k A\, m[t - k]$ and tokens $[m[t], p[t]]$ with $L + 1$ places, the layer with $C =
# \mathrm{diag}(0, \tilde C)$, $\tilde C_{uv} = \sum_{k \in D} a_k \mathbb I\{u - v = k\}$ and $W^V = [A^\top; 0]$
# returns $m[L+1]$ in its last row, whatever value the last token holds.
#
# **In the paper's construction.** $W^V = [A; 0]$, places $1, \dots, L$, and $\tilde C_{uv} \in \{0, 1\}$ called
# equivalent.
#
# **Corrected.** $W^V = [A^\top; 0]$, $L + 1$ places, and the factors $a_k$ in $\tilde C$.
#
# </blockquote>
# <!-- /claim -->
#
# **What is misprinted.** Tokens are rows, so the value matrix must hold $A^\top$, not $A$: the text says that a token
# times $W^V$ is $A\,m[t]$. There are $L + 1$ times, not $L$, since the query, which is the last token, has one too. And
# entries of 1 for the delays are called equivalent to entries $a_k$, which they are not. The query token carries a
# value as well; what it is does not matter, as nobody looks at it.
#
# (Scores for every pair of times are had by the first half of Theorem 3.1, whose proof needs no repair.)

# %%
import torch

from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.time_series import delay_score, roll_out, series_tokens, transition_value
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
width = 3  # d_2, values at a time, from 2 to 50
length = 12  # L, times that are known, from 5 to 300
samples = 50  # series, from 1 to 5000
picture_length = 60  # times in the picture, from 20 to 300
seed = 0  # of every draw, at least 0

# %%
require(width=(width, 2, 50), length=(length, 5, 300), samples=(samples, 1, 5000))
require(picture_length=(picture_length, 20, 300), seed=(seed, 0, None))
delays = {2: 3.0, 5: 7.0}  # the paper's example

# %% [markdown]
# ## The prediction
# Random series with the paper's delays; the query token is filled with noise. Each spoiled layer has one thing wrong.

# %%
draw = generator(seed)
transition = normal(width, width, seed=draw) / width
series = roll_out(normal(samples, 5, width, seed=draw), transition, delays, length - 4)
known, coming = series[:, :-1], series[:, -1]
slots = length + 1
tokens = series_tokens(known, query=normal(samples, width, seed=draw))
scale = coming.abs().max()


def prediction_error(score, value, tokens=tokens):
    """The error of the last output, relative to the largest value that is to come."""
    return ((linear_attention(tokens, score, value)[:, -1] - coming).abs().max() / scale).item()


# %% [markdown]
# The right layer first, then those with the printed parts, another query, and a delay of 4 in place of 5.

# %%
right = prediction_error(delay_score(delays, slots, width), transition_value(transition, slots))
not_transposed = prediction_error(
    delay_score(delays, slots, width), transition_value(transition, slots, form="printed")
)
ones_for_factors = prediction_error(
    delay_score(delays, slots, width, form="printed"), transition_value(transition, slots)
)
other_query = series_tokens(known, query=100 * torch.ones(samples, width, dtype=torch.float64))
any_query = prediction_error(delay_score(delays, slots, width), transition_value(transition, slots), tokens=other_query)
wrong_delay = prediction_error(delay_score({2: 3.0, 4: 7.0}, slots, width), transition_value(transition, slots))

# %% [markdown]
# ## A picture
# A gentle series with delays 1 and 2, one value a time. Every point is predicted from those before it.

# %%
gentle = {1: 1.9, 2: -0.98}
identity = torch.eye(1, dtype=torch.float64)
wave = roll_out(normal(1, 5, 1, seed=draw), identity, gentle, picture_length - 5)[0]
predicted, predicted_with_ones = [], []
for time in range(6, picture_length):
    before = series_tokens(wave[:time], query=torch.zeros(1, dtype=torch.float64))
    value = transition_value(identity, time + 1)
    predicted.append(linear_attention(before, delay_score(gentle, time + 1, 1), value)[-1, 0])
    with_ones = delay_score(gentle, time + 1, 1, form="printed")
    predicted_with_ones.append(linear_attention(before, with_ones, value)[-1, 0])

# %% [markdown]
# Dots on the line are right predictions.

# %%
fig, axis = show.axes(width=7)
times = range(6, picture_length)
axis.plot(wave[:, 0], color=show.COLOURS[0], label="series")
axis.plot(times, predicted, "o", color=show.COLOURS[1], label="predicted by the layer")
axis.plot(times, predicted_with_ones, ":", color=show.COLOURS[3], label="1 in place of the factors")
axis.set_xlabel("time t")
axis.set_ylabel("m[t]")
axis.legend()
show.figure(
    fig,
    name="series",
    caption="The layer's predictions (dots) lie on the series. With 1 in place of the factors they do not (dotted).",
    alt="A fading oscillation with dots on it, and a dotted line of the wrong size.",
)

# %% [markdown]
# The printed value matrix and the printed scores must fail, and so must a wrong delay.

# %%
claim = Claim("hyper-attention/time-series-construction")
claim.at_most("last output against the value to come, relative error", right, 1e-12)
claim.at_most("another value in the query token, relative error", any_query, 1e-12)
claim.at_most("with [A^T; 0], L + 1 places and a_k, relative error", right, 1e-12, of="proof")
claim.misprint.at_most("value matrix [A; 0], relative error", not_transposed, 1e-12, of="proof")
claim.misprint.at_most("1 in place of the factors, relative error", ones_for_factors, 1e-12, of="proof")
claim.control.at_most("a delay of 4 in place of 5, relative error", wrong_delay, 1e-12)
claim.verdict()

# %% [markdown]
# ## What was learned
# A linear recurrence with delays is a sum over pairs of times, with scores that see nothing but the difference of two
# times. The construction is right up to a transpose, one place and the factors in the scores. What the query token
# holds does not matter, as nobody looks at it.
#
# ## To try
# - Set `width = 20`: larger matrices, and the prediction stays right to rounding.
# - Set `picture_length = 200`: the oscillation fades, and the dots stay on it.
