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
# In some series, the next value depends on a few earlier values, for example on those of yesterday and of a week ago.
# Can one layer of attention make the prediction? It can, because the rule is a sum over pairs of times.

# %%
import torch

from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.hyper_attention.worlds.time_series import delay_score, roll_out, series_tokens, transition_value
from attention_theory.randomness import generator, normal
from attention_theory.validation import require
from bookpress import Claim, show
from bookpress.claims import schematic

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
# ## A tiny example
# Our rule for the next value is three times the value two steps ago plus seven times the value five steps ago. After 1,
# 0, 2, 1, 1, the next value is $3\cdot1+7\cdot1=10$.

# %%
fig, axis = schematic.canvas(7.0, 1.9)
tops = schematic.tokens(axis, ["1", "0", "2", "1", "1", "?"], at=(1.0, 1.0), lit=[5], step=2.0)
for delay, factor, bend in ((2, 3, 0.25), (5, 7, 0.2)):
    x, y = tops[5 - delay]
    schematic.arrow(axis, (x, y), (tops[5][0] - 0.2, y), bend=bend)
    schematic.text(axis, (x, 0.55), f"{factor} · 1", size=9)
schematic.text(axis, (tops[5][0], 0.55), "7 + 3 = 10", schematic.BLUE, 9)
show.figure(
    fig,
    name="delays",
    caption="A series at six times. The last value is the sum of the values two and five steps ago, each times its "
    "factor.",
    alt="Six boxes with 1, 0, 2, 1, 1 and a question mark. Arrows lead to the last one from the fourth box, with 3 "
    "times 1, and from the first box, with 7 times 1.",
)

# %% [markdown]
# The rule depends only on how long ago the other values were. It gives the last token's own value no weight.
#
# ## The paper states
# Here $m[t]$ has $d_2$ entries, $D$ is the set of delays with factors $a_k$, the matrix $A$ mixes the entries, and
# $p[t]$ is the code of the time.
#
# <!-- claim hyper-attention/time-series-construction -->
# <blockquote>
#
# **Appendix B.4 (Time series with delays)** *Appendix B.4*
#
# **The paper states.** Let $m[t] = \sum_{k \in D} a_k A\, m[t - k]$ and $x_t = [m[t], p[t]]$. Let $C = \mathrm{diag}(0,
# \tilde C)$ with $\tilde C_{u,v} = 1$ if position $v$ is a valid activator for position $u$, and 0 otherwise;
# equivalently, $\tilde C_{u,v} = \sum_{k \in D} a_k \mathbb I[u - v = k]$, $u, v \in \{1, \dots, L\}$. With $W^V = [A;
# 0]$ the row of the final time step yields precisely $m[L+1]$.
#
# **What is true.** With $\tilde C_{u,v} = \sum_{k \in D} a_k \mathbb I[u - v = k]$, $u, v \in \{1, \dots, L+1\}$, and
# $W^V = [A^\top; 0]$, the row of time $L+1$ yields $m[L+1]$.
#
# **What changed.** Tokens are rows, so the value matrix contains $A^\top$. Entries of 1 are not equivalent to the
# factors $a_k$, and the query also has a time.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The value that the last token holds does not matter.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# By [Theorem 3.1](theorem_3_1_representation.ipynb) the scores can be any table over pairs of times. We take $a_k$
# where $u$ is $k$ steps after $v$, and let the value matrix apply $A$. The sum over all times is then the rule. We
# write tokens as rows, so the value matrix must contain $A^\top$.
#
# ## See it run
# We predict random series with the paper's delays, and put noise into the last token, the query.

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
# Then we predict every point of a slowly decaying oscillation from the points before it.

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
    caption="A series (line) and the layer's predictions (dots). The dotted line shows predictions with 1 in place "
    "of the factors.",
    alt="A decaying oscillation with dots on it, and a dotted line with the wrong amplitude.",
)

# %% [markdown]
# The dots are on the line. With 1 in place of the factors, the predictions have the wrong amplitude.
#
# ## How we checked
# We compare the last output with the next value of the series. The paper's value matrix and its scores of 1 must fail,
# as must our control, a delay of 4 instead of 5.

# %%
claim = Claim("hyper-attention/time-series-construction")
claim.at_most("last output against the value to come, relative error", right, 1e-12)
claim.at_most("another value in the query token, relative error", any_query, 1e-12)
claim.at_most("with [A^T; 0], L + 1 places and a_k, relative error", right, 1e-12, of="proof")
for part in ("statement", "proof"):
    claim.misprint.at_most("value matrix [A; 0], relative error", not_transposed, 1e-12, of=part)
    claim.misprint.at_most("1 in place of the factors, relative error", ones_for_factors, 1e-12, of=part)
claim.control.at_most("a delay of 4 in place of 5, relative error", wrong_delay, 1e-12)
claim.verdict()

# %% [markdown]
# ## What to remember
# - A linear recurrence with delays is a sum over pairs of times.
# - The scores depend only on the difference of two times.
# - The query's own value does not matter.
#
# ## Exercises
#
# 1. *By hand.* What comes after the 10?
#    <details><summary>Solution</summary>
#
#    Two steps before the new value is the last 1, and five steps before it is the 0. We obtain $3\cdot1+7\cdot0=3$.
#
#    </details>
# 2. *Predict, then run.* Set `width = 20`. Is the prediction still exact?
#    <details><summary>Solution</summary>
#
#    Yes. In our run the relative error is $3\cdot10^{-16}$, which is rounding.
#
#    </details>
#
# Back to [Theorem 3.1](theorem_3_1_representation.ipynb).
