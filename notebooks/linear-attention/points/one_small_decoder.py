# %% [markdown]
# # One small decoder of Figure 3
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Figure 3, Section 6.3.*
#
# A small decoder learns to execute automata of $Q$ states on words of $L$ letters from an alphabet of $V$, from
# examples as they are drawn. How many does it see until it is right in 99 tokens of 100 on automata that are kept from
# it? A sweep of this notebook gives the growth of that number, with as many runs as it takes to tell its shape.

# %%
import math

from attention_theory.linear_attention.experiments.automata import StringForm
from attention_theory.linear_attention.experiments.decoder import DecoderSize
from attention_theory.linear_attention.experiments.dfa_training import DecoderTraining
from attention_theory.validation import require
from bookpress import report

# %% tags=["parameters"]
states = 3  # Q, at least 2
word = 2  # L, at least 2
letters = 2  # V, at least 2
width = 64  # width of the decoder, a multiple of 2 * heads from 2 * heads to 8192
feed_forward = 64  # width of its feed-forward layers, at least 1
heads = 4  # attention heads, at least 1
layers = 2  # layers, at least 1
rotary = 30.0  # base of the rotary positions, at least 1
rate = 0.002  # learning rate, from 1e-7 to 1
batch = 8  # strings of a step, at least 1
most = 200000  # most strings of a run, at least 1000
tested = 256  # strings in a test for stopping, at least 2; the result is measured on twice as many
device = "cpu"  # where to train: one of "cpu", "cuda"
seed = 0  # of weights, automata and words, at least 0

# %%
require(states=(states, 2, None), word=(word, 2, None), letters=(letters, 2, None), most=(most, 1000, None))
require(heads=(heads, 1, None), width=(width, range(2 * heads, 8193, 2 * heads)), layers=(layers, 1, None))
require(feed_forward=(feed_forward, 1, None), rotary=(rotary, 1.0, None), tested=(tested, 2, None))
require(rate=(rate, 1e-7, 1.0), batch=(batch, 1, None), device=(device, {"cpu", "cuda"}), seed=(seed, 0, None))

# %%
form = StringForm(states=states, letters=letters, word=word)
decoder = DecoderSize(form.vocabulary, width, heads, layers, feed_forward, rotary)
(reached,) = DecoderTraining(batch, rate, tested=tested).one_pass(form, decoder, most, [seed], device)

# %% [markdown]
# A run that did not come to the target has no number of tokens, and none is reported.

# %%
counted = {} if reached.examples is None else {"tokens": word * reached.examples}
report(
    **counted,
    **{f"log_{name}": math.log(count) for name, count in counted.items()},
    reached=reached.examples is not None,
    history=reached.history,
    states_right=reached.states,
    other_tables=reached.other_tables,
)
