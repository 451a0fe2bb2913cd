# %% [markdown]
# # One row of Tables 1 and 2, from several seeds
# *Ustaomeroglu, Qu: Tables 1 and 2, Section 7.2.*
#
# A small model learns to predict the next character of the stand-in text, from several seeds side by side: how low is
# its loss on text that it has not seen? Equal seeds draw equal batches for every row, so rows are compared in pairs. A
# sweep of this notebook gives the loss of every row at several learning rates, of which each row may take its best.

# %%
import torch

from attention_theory.data.token_files import open_corpus
from attention_theory.hyper_attention.language.language_model import (
    BASELINES,
    TABLE_1,
    TABLE_1_VARIANTS,
    TABLE_2,
    LanguageModel,
)
from attention_theory.hyper_attention.language.pretraining import Training, train_table
from attention_theory.measure import matrix_operations
from attention_theory.validation import Each, require
from bookpress import report

# %% tags=["parameters"]
model = "Self-Attention"  # which row of Table 1 or 2, or which baseline, by its name there
layers = 1  # layers, at least 1
width = 48  # features of a token, a multiple of 24 from 24 to 4080
window = 16  # tokens in a sequence, at least 2
batch = 16  # sequences in a step, at least 1
steps = 60  # gradient steps, at least 1
rate = 0.004  # largest learning rate, from 1e-7 to 1
evaluations = 4  # validations on the way, from 1 to steps
validation_windows = 600  # sequences a validation is taken on, at least 1
seeds = [0, 1, 2, 3, 4]  # of weights and batches, each at least 0
device = "cpu"  # where to train: one of "cpu", "cuda"

# %%
rows = {**BASELINES, **TABLE_1, **TABLE_1_VARIANTS, **TABLE_2}
require(model=(model, set(rows)), layers=(layers, 1, None), width=(width, range(24, 4097, 24)))
require(window=(window, 2, None), batch=(batch, 1, None), steps=(steps, 1, None), evaluations=(evaluations, 1, steps))
require(rate=(rate, 1e-7, 1.0), validation_windows=(validation_windows, 1, None), seeds=(Each(seeds), 0, None))
require(device=(device, {"cpu", "cuda"}))

# %%
corpus = open_corpus()
training = Training(steps, batch, window, rate, steps // 10, batch, steps // evaluations, validation_windows)
courses = train_table({model: rows[model]}, width, layers, corpus, training, seeds, device)[model]

# %% [markdown]
# The operations are those of the matrix products of one training, a backward pass counted as two forward ones.

# %%
one = LanguageModel(corpus.train.vocabulary, window, width, rows[model], layers)
forward = matrix_operations(lambda: one(torch.zeros(1, window, dtype=torch.int64)))
report(
    loss=[course.losses[-1] for course in courses],
    perplexity=[course.perplexity for course in courses],
    first_half=[sum(course.by_place[: window // 2]) / (window // 2) for course in courses],
    second_half=[sum(course.by_place[window // 2 :]) / (window - window // 2) for course in courses],
    operations=3 * forward * batch * steps,
    attention_parameters=one.attention_parameters(),
)
