# %% [markdown]
# # One language model of Tables 1 and 2
# *Ustaomeroglu, Qu: Tables 1 and 2, Section 7.2.*
#
# A model of one layer learns to predict the next token: how low is its loss on text that it has not seen? The tables
# are rows of such models; a sweep of this notebook trains one after another, each with several seeds.

# %%
from attention_theory.data.token_files import open_corpus
from attention_theory.hyper_attention.language.language_model import BASELINES, TABLE_1, TABLE_1_VARIANTS, TABLE_2
from attention_theory.hyper_attention.language.pretraining import Training, train_table
from attention_theory.validation import require
from bookpress import report

# %% tags=["parameters"]
model = "Self-Attention"  # which row of Table 1 or 2, by its name there
layers = 1  # layers, at least 1
tokens_folder = ""  # token files to train on; empty for the stand-in
width = 48  # features of a token, a multiple of 12 from 12 to 4092
window = 32  # tokens in a sequence, at least 2
batch = 16  # sequences in a step, at least 1
micro_batch = 16  # sequences held at once, from 1 to batch
steps = 60  # gradient steps, at least 1
warm_up = 6  # steps of rising rate, from 0 to steps
rate = 0.004  # largest learning rate, from 1e-7 to 1
evaluate_every = 30  # steps between two validations, at least 1
validation_windows = 50  # sequences a validation is taken on, at least 1
device = "cpu"  # where to train: one of "cpu", "cuda"
seed = 0  # of weights and batches, at least 0

# %%
rows = {**BASELINES, **TABLE_1, **TABLE_1_VARIANTS, **TABLE_2}
require(
    model=(model, set(rows)),
    layers=(layers, 1, None),
    width=(width, range(12, 4097, 12)),
    window=(window, 2, None),
    seed=(seed, 0, None),
)
require(
    batch=(batch, 1, None), micro_batch=(micro_batch, 1, batch), steps=(steps, 1, None), warm_up=(warm_up, 0, steps)
)
require(rate=(rate, 1e-7, 1.0), evaluate_every=(evaluate_every, 1, None), device=(device, {"cpu", "cuda"}))
require(validation_windows=(validation_windows, 1, None))

# %%
training = Training(steps, batch, window, rate, warm_up, micro_batch, evaluate_every, validation_windows)
(course,) = train_table({model: rows[model]}, width, layers, open_corpus(tokens_folder), training, [seed], device)[
    model
]

# %%
report(perplexity=course.perplexity, loss=course.losses[-1])
