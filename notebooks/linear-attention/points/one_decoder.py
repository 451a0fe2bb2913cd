# %% [markdown]
# # One decoder of Figure 3
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Figure 3, Section 6.3.*
#
# A decoder learns to execute automata of $Q$ states on words of $L$ letters from an alphabet of $V$, from a fixed set
# of $N$ strings: does it reach the target of 99 right tokens in 100? The figure asks for the least such $N$ at each
# size; a sweep of this notebook tries them, from few to many.

# %%
from attention_theory.linear_attention.experiments.automata import StringForm
from attention_theory.linear_attention.experiments.decoder import DecoderSize
from attention_theory.linear_attention.experiments.dfa_training import DecoderTraining
from attention_theory.validation import require
from bookpress import report

# %% tags=["parameters"]
states = 3  # Q, at least 2
word = 2  # L, at least 2
letters = 2  # V, at least 2
examples = 256  # N, at least 1
width = 48  # width of the decoder, a multiple of 2 * heads from 2 * heads to 8192
heads = 4  # attention heads, at least 1
layers = 2  # layers, at least 1
rate = 0.003  # learning rate, from 1e-7 to 1
batch = 32  # strings of a step, at least 1
epochs = 2  # passes through the strings, at least 1
tested = 128  # strings in a test for stopping, at least 2; the result is measured on twice as many
device = "cpu"  # where to train: one of "cpu", "cuda"
seed = 0  # of weights, automata and words, at least 0

# %%
require(states=(states, 2, None), word=(word, 2, None), letters=(letters, 2, None), examples=(examples, 1, None))
require(heads=(heads, 1, None), width=(width, range(2 * heads, 8193, 2 * heads)), layers=(layers, 1, None))
require(rate=(rate, 1e-7, 1.0), batch=(batch, 1, None), epochs=(epochs, 1, None), tested=(tested, 2, None))
require(device=(device, {"cpu", "cuda"}), seed=(seed, 0, None))

# %%
form = StringForm(states=states, letters=letters, word=word)
decoder = DecoderSize(form.vocabulary, width, heads, layers)
training = DecoderTraining(batch, rate, tested=tested)
(reached,) = training.data_sets(form, decoder, [examples], epochs, [seed], device)

# %%
report(
    reached=reached.examples is not None,
    history=reached.history,
    states_right=reached.states,
    other_tables=reached.other_tables,
)
