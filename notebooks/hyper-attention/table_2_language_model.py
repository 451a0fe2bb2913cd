# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 2 · Three layers, and heads of two kinds
# *Ustaomeroglu, Qu: Table 2, Section 7.2.*
#
# Table 1 has one layer and one head. Models in use have several of both, and a second layer can make up for much that a
# head lacks: it reads what the first one has gathered. Does HyperFeatureAttention still help there? The paper trains
# three models with three layers on windows of 1,024 tokens:
#
# - **SA**: three heads of self-attention, each with one score for every earlier token.
# - **HFA**: three heads whose score is a product of two, so that an earlier token counts where both parts of the head
#   agree. It has the parameters of SA.
# - **HFA_v2**: a hybrid with two heads of each kind, narrower, since four share the width that three had.
#
# A head of HFA thus sees every earlier token in one way more than a head of SA, at nearly no cost: the products are
# taken entry by entry of matrices that are there in any case.
#
# <!-- claim hyper-attention/table-2 -->
# <blockquote>
#
# **Table 2 (Language models with three layers)** *Section 7.2*
#
# Three layers, 1024 tokens of OpenWebText: perplexity 28.70 for self-attention with 3 heads, 27.97 for
# HyperFeatureAttention with 3 heads of two factors, 27.75 for a hybrid of 2 heads of each kind. The entrywise products
# cost less than 0.1% extra compute.
#
# </blockquote>
# <!-- /claim -->
#
# The gaps to self-attention are about three hundredths of a nat, with one run of each model.
#
# **What order 3 means.** Table 2 gives self-attention the order 2, so its order 3 is two factors. It cannot be three:
# three heads share the width of 768, which makes 256 features each, and 256 is not a multiple of 3. Definition 5.1,
# where order 1 is self-attention, counts differently.
#
# ## What is run here
# As on {doc}`the page of Table 1 </notebooks/hyper-attention/table_1_language_model>`, the models are trained at small
# size on the sources of Python's standard library, character by character, seven times each with paired seeds. Two
# models that do not attend go along: one without attention blocks, and one that weighs all earlier tokens alike, the
# mean of the past. With `tokens_folder` set the same cells are the full run, on the terms given on that page.
#
# | | the paper | here |
# | --- | --- | --- |
# | text | OpenWebText | sources of the standard library |
# | vocabulary | 50,257 | 128 characters |
# | layers, width | 3, 768 | 3, 24 |
# | window, tokens | 1,024 | 16 |
# | batch, tokens | 160,000 | 128 |
# | steps | 28,000 | 1,500 |
# | largest rate | 0.0006 | 0.008 |
# | runs of each model | 1 | 7 |

# %%
import math

import torch

from attention_theory.data.token_files import open_corpus
from attention_theory.hyper_attention.language.comparison import in_words, mean, reading
from attention_theory.hyper_attention.language.drawing import draw_courses
from attention_theory.hyper_attention.language.language_model import BASELINES, TABLE_2, LanguageModel
from attention_theory.hyper_attention.language.pretraining import Training, bigram_loss, gaps, train_table, unigram_loss
from attention_theory.hyper_attention.layers.hyper_feature_attention import HyperFeatureAttention
from attention_theory.measure import entries_touched, matrix_operations
from attention_theory.validation import Each, require
from bookpress import Claim, estimate, interval_of, show

# %% tags=["parameters"]
tokens_folder = ""  # token files to train on; empty for the stand-in
width = 24  # features of a token, a multiple of 24 from 24 to 4080
layers = 3  # blocks, at least 1
window = 16  # tokens in a sequence, at least 2
batch = 8  # sequences in a step, at least 1
micro_batch = 8  # sequences of each model held at once, from 1 to batch
steps = 1500  # gradient steps, at least 1
warm_up = 100  # steps of rising rate, from 0 to steps
rate = 0.008  # largest learning rate, from 1e-7 to 0.1
evaluate_every = 250  # steps between two validations, at least steps // 20
validation_windows = 400  # sequences a validation is taken on, at least 1
seeds = [0, 1, 2, 3, 4, 5, 6]  # of weights and batches, each at least 0
device = "cpu"  # where to train, one of "cpu", "cuda"

# %%
require(width=(width, range(24, 4097, 24)), layers=(layers, 1, None))
require(seeds=(Each(seeds), 0, None), number_of_seeds=(len(seeds), 2, None), device=(device, {"cpu", "cuda"}))
require(window=(window, 2, None), batch=(batch, 1, None), micro_batch=(micro_batch, 1, batch), steps=(steps, 1, None))
require(warm_up=(warm_up, 0, steps), rate=(rate, 1e-7, 0.1), evaluate_every=(evaluate_every, steps // 20, None))
require(validation_windows=(validation_windows, 1, None))

# %% [markdown]
# ## Training
# The text, with the losses of two tables that are counted and not learned:

# %%
corpus = open_corpus(tokens_folder)
unigram, bigram = unigram_loss(corpus), bigram_loss(corpus)
show.table(
    ["text", "training tokens", "validation tokens", "kinds", "loss by frequencies", "by bigrams"],
    [[corpus.source, len(corpus.train), len(corpus.validation), corpus.train.vocabulary, unigram, bigram]],
    caption="Losses are in nats a token, on the text kept for validation.",
)

# %% [markdown]
# All models have one learning rate here. At the foot of the page models twice as wide are trained twice as long, on
# twice the batch, at four rates, and a table there sets each at its best rate beside self-attention. (The fourth was
# added when the largest of three had been seen to be the best.) Equal seeds draw equal batches, so that two models are
# compared in pairs, seed by seed.
#
# The text is what the Python at hand has in its library, and it changes a little with every release. At a rate of
# 0.015, with a thousand steps, all seven seeds learned attention on one release and only four on another, so that the
# verdict hung on the text. At the rate here they learn it on the texts of 3.11.2, 3.11.7, 3.12.1 and 3.13.0.

# %%
training = Training(steps, batch, window, rate, warm_up, micro_batch, evaluate_every, validation_windows)
courses = train_table({**BASELINES, **TABLE_2}, width, layers, corpus, training, seeds, device)

# %% [markdown]
# On the left, the loss on held-out text in the course of the training. On the right, what each model draws from the
# tokens before, place by place in the window: how far its loss at the end is below that without attention. At the first
# place, 0, there is nothing to be seen, and models that have learned to use the past do worse there than the one that
# never had any. (At single places the loss itself depends on which tokens of the text happen to lie there.)

# %%
fig, axes = show.axes(1, 2, width=9.5, height=3.4)
draw_courses(*axes, courses, bigram, show.COLOURS, show.MARKERS)
show.figure(
    fig,
    name="losses",
    caption="Held-out loss, mean over the seeds. Left: in the course of the training; dashed, the counted bigrams. "
    "Right: at its end, how far each model is below the one without attention, by the number of tokens that a token "
    "can see before it.",
    alt="Left: curves that fall with the steps; the one without attention ends uppermost, then comes the mean of the "
    "past, with the three models of the table below it and close together. Right: curves that begin below zero, are "
    "far above it at the next place, and then go up and down together.",
)

# %% [markdown]
# ## What attention adds
# First the bar that the table needs: how much better than the mean of the past is each model, seed by seed? The
# interval is Student's, of the mean over the seeds.

# %%
added = {name: gaps(courses["mean of the past"], runs) for name, runs in courses.items()}
show.table(
    ["model", "perplexity, mean", "least", "most", "below the mean of the past by, nats", "99 % interval"],
    [
        [name, mean(some), min(some), max(some), mean(added[name]), in_words(interval_of(added[name]))]
        for name, some in ((name, [one.perplexity for one in runs]) for name, runs in courses.items())
    ],
    caption="Held-out perplexity over the seeds, and what scores add. Negative: worse than without scores.",
)

# %% [markdown]
# ## The gaps to self-attention
# The gap of a model is its loss less that of SA, in nats, the logarithm of the ratio of the perplexities. Negative is
# better than self-attention.

# %%
PRINTED = {"SA": 28.70, "HFA": 27.97, "HFA_v2": 27.75}
printed_gaps = {name: math.log(value / PRINTED["SA"]) for name, value in PRINTED.items() if name != "SA"}
own_gaps = {name: gaps(courses[name], courses["SA"]) for name in printed_gaps}
show.table(
    ["model", "gap here", "99 % interval", "than SA, here", "gap in the paper", "in the paper"],
    [
        [name, mean(some), in_words(interval_of(some)), reading(interval_of(some)), printed_gaps[name], "better"]
        for name, some in own_gaps.items()
    ],
    caption="Gaps to SA in nats, over paired seeds, beside the paper's single runs on OpenWebText.",
)

# %% [markdown]
# How large a gap would have to be to be seen is another matter. Two runs of one model that differ in their seeds alone
# are apart by so much, on average:

# %%
ends = torch.tensor([[one.losses[-1] for one in courses[name]] for name in TABLE_2], dtype=torch.float64)
between = torch.combinations(torch.arange(len(seeds)), 2)
apart = (ends[:, between[:, 0]] - ends[:, between[:, 1]]).abs().mean(dim=1)
show.table(
    ["model", "two seeds apart by, nats", "largest gap in the paper, nats"],
    [[name, one, max(map(abs, printed_gaps.values()))] for name, one in zip(TABLE_2, apart, strict=True)],
    caption="The noise of a single run here, beside the gaps of the paper's single runs.",
)

# %% [markdown]
# ## Parameters and operations
# The caption of the table says that products of scores cost less than 0.1 % extra. At the paper's size the models are
# made without numbers, as shapes alone, and run: the operations of their matrix products are counted, and so is every
# entry that an attention block touches beyond those that self-attention touches, which is more than it multiplies.

# %%
variants = {
    **TABLE_2,
    "HFA, values multiplied too": lambda width: HyperFeatureAttention(width, 3, 2, value_product=True),
}
with torch.device("meta"):
    full = {name: LanguageModel(50257, 1024, 768, make, 3) for name, make in variants.items()}
    text, tokens = torch.zeros(1, 1024, dtype=torch.int64), torch.zeros(1, 1024, 768)
    operations = {name: matrix_operations(lambda one=one: one(text)) for name, one in full.items()}
    entries = {name: 3 * entries_touched(lambda m=m: m(768)(tokens)) for name, m in variants.items()}
parameters = {name: one.attention_parameters() for name, one in full.items()}
extra = {
    name: (operations[name] - operations["SA"] + max(0, entries[name] - entries["SA"])) / operations["SA"]
    for name in full
}

# %% [markdown]
# One sequence of 1,024 tokens, forward:

# %%
show.table(
    ["model", "parameters in attention", "operations of matrix products", "beyond SA at most, share"],
    [[name, parameters[name], f"{operations[name]:.4e}", extra[name]] for name in full],
    caption="Counted at the paper's size: three layers of width 768, and a vocabulary of 50,257.",
)

# %% [markdown]
# ## The verdict
# What is judged is whether SA, with which the others are compared, has learned to attend, by the interval over the
# seeds, and what was counted. The control is the same question asked of a model without attention blocks. The gaps are
# shown and not judged, since a stand-in is no part of the paper's table. Width, rate, steps and the number of seeds
# were chosen after runs had been seen: smaller ones, with seeds among these, left the question open or the interval
# barely clear of zero.

# %%
claim = Claim("hyper-attention/table-2")
if not tokens_folder:
    claim.stand_in(f"sources of the standard library by characters, width {width}, windows of {window}, {steps} steps")
band = 0.05 if tokens_folder else None  # another text cannot have the printed perplexities
for name, value in PRINTED.items():
    ours = mean([one.perplexity for one in courses[name]])
    claim.number(f"perplexity, {name}", ours, printed=value, within=band)
claim.above("SA: below the mean of the past by, nats", estimate(added["SA"]), 0)
claim.control.above("no attention: the same", estimate(added["no attention"]), 0)
for name, some in own_gaps.items():
    claim.number(f"gap to SA, {name}", mean(some), printed=printed_gaps[name])
matched = {name: parameters[name] for name in own_gaps}
claim.equal("attention parameters at width 768", matched, parameters["SA"])
claim.control.equal("the same with values multiplied", parameters["HFA, values multiplied too"], parameters["SA"])
claim.below("extra operations at the printed size", {name: extra[name] for name in own_gaps}, 0.001)
claim.control.below("the same with values multiplied", extra["HFA, values multiplied too"], 0.001)
claim.verdict()

# %% [markdown]
# ## What was learned
# With three layers, too, a comparison has to wait until attention has been learned: self-attention is then better than
# a model that weighs all earlier tokens alike. The products of scores are as cheap as the paper says. The gaps that the
# paper reports are a few hundredths of a nat, and by so much two runs of one of these small models can differ for their
# seeds alone. How much two runs of the paper's large models differ by is not known, and a table of single runs does not
# say. Pairs of runs with equal batches see more. What they see here is in the table of the gaps, and, with a rate for
# each model, in that at the foot of the page.
#
# ## To try
# - Set `steps = 60` and `warm_up = 6`: on average the model without attention blocks is better than the mean of the
#   past. Before attention is learned it is in the way; the control is not seen to fail, and the claim is left open.
# - Set `seeds = [0, 1]`: two pairs of runs give intervals many times as wide, nothing is told from chance, and the
#   claim is left open.
