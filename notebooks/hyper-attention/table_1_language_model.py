# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 1 · A language model with one layer, four kinds of attention
# *Ustaomeroglu, Qu: Table 1, Section 7.2; the conclusion, Section 8.*
#
# A language model reads a text up to some place and says which token comes next. Most of such a model looks at one
# token at a time: an embedding, a perceptron, a list of probabilities. The attention block alone lets a token see those
# before it. The paper takes four models that differ in this block and in nothing else, and asks which predicts best:
#
# - **Self-attention** gives every earlier token a score, the inner product of a query and a key, and takes the mean of
#   the values with the softmax of the scores as weights.
# - **HyperFeatureAttention** cuts queries and keys into parts, here four, and multiplies the scores of the parts. An
#   earlier token counts where all parts agree.
# - **HyperAttention** gives a score to every *pair* of earlier tokens, so that two tokens that mean something only
#   together can be found together.
# - The same **without sharing** has keys and values of their own for the two members of a pair, and more parameters.
#
# The measure is perplexity, $e^{\text{loss}}$: the number of tokens among which the model is as good as undecided. Less
# is better. The paper has one run of each, and no error bars:
#
# <!-- claim hyper-attention/table-1 -->
# <blockquote>
#
# **Table 1 (Language models with one layer)** *Section 7.2*
#
# One layer, one head, 256 tokens of OpenWebText: perplexity 62.28 for self-attention, 60.22 for HyperFeatureAttention
# of order 4, 51.26 for HyperAttention of order 3, 48.50 for the same without sharing. The first three have equally many
# parameters.
#
# </blockquote>
# <!-- /claim -->
#
# ## What is run here, and what is not
# The paper's run takes 4.5 thousand million tokens of OpenWebText, 50,257 kinds of token and width 768. This page
# trains the same four models at a size that a laptop core can manage. In place of OpenWebText stand the sources of
# Python's standard library, read character by character: real text of twelve million characters, code with English in
# it. The cosine schedule with warm-up down to a tenth of the largest rate is the paper's, and AdamW is taken from
# GPT-3, whose settings the paper says it uses; the sizes are not the paper's:
#
# | | the paper | here |
# | --- | --- | --- |
# | text | OpenWebText | sources of the standard library |
# | vocabulary | 50,257 | 128 characters |
# | width | 768 | 48 |
# | window, tokens | 256 | 16 |
# | batch, tokens | 160,000 | 128 |
# | steps | 28,000 | 1,000 |
# | largest rate | 0.0006 | 0.004 |
# | runs of each model | 1 | 5 |
#
# With `tokens_folder` set to token files made by `python -m attention_theory.data.prepare_tokens`, the same cells are
# the full run.
#
# A stand-in of this size cannot say what the perplexities on OpenWebText are, and a sign that is found here need not be
# the sign there. What it can settle is whether the four blocks have learned to attend at all in the runs that are
# compared, how far the models differ by more than chance, and what they cost.

# %%
import math
from dataclasses import replace

import torch

from attention_theory.data.token_files import open_corpus
from attention_theory.hyper_attention.interactions.connected import relative_residual
from attention_theory.hyper_attention.interactions.interactions import sample_sequences
from attention_theory.hyper_attention.language.comparison import in_words, mean, reading
from attention_theory.hyper_attention.language.drawing import draw_courses
from attention_theory.hyper_attention.language.language_model import BASELINES, TABLE_1, TABLE_1_VARIANTS, LanguageModel
from attention_theory.hyper_attention.language.pretraining import Training, bigram_loss, gaps, train_table, unigram_loss
from attention_theory.hyper_attention.layers.linear_hyper_attention import (
    aggregate_tuples,
    tuple_features,
)
from attention_theory.measure import cpu_seconds, matrix_operations
from attention_theory.randomness import generator, normal
from attention_theory.validation import Each, require
from bookpress import Claim, estimate, interval_of, show

# %% tags=["parameters"]
tokens_folder = ""  # token files to train on; empty for the stand-in
width = 48  # features of a token, a multiple of 12 from 12 to 4092
window = 16  # tokens in a sequence, at least 2
batch = 8  # sequences in a step, at least 1
micro_batch = 8  # sequences of each model held at once, from 1 to batch
steps = 1000  # gradient steps, at least 1
warm_up = 100  # steps of rising rate, from 0 to steps
rate = 0.004  # largest learning rate, from 1e-7 to 0.1
evaluate_every = 200  # steps between two validations, at least steps // 20
validation_windows = 400  # sequences a validation is taken on, at least 1
seeds = [0, 1, 2, 3, 4]  # of weights and batches, each at least 0
device = "cpu"  # where to train, one of "cpu", "cuda"

# %%
require(width=(width, range(12, 4097, 12)))
require(seeds=(Each(seeds), 0, None), number_of_seeds=(len(seeds), 2, None), device=(device, {"cpu", "cuda"}))
require(window=(window, 2, None), batch=(batch, 1, None), micro_batch=(micro_batch, 1, batch), steps=(steps, 1, None))
require(warm_up=(warm_up, 0, steps), rate=(rate, 1e-7, 0.1), evaluate_every=(evaluate_every, steps // 20, None))
require(validation_windows=(validation_windows, 1, None))

# %% [markdown]
# ## The text, and two tables that are counted
# Two marks need no training. One is the loss of a table of how often each token comes. The other is that of a bigram
# table, how often each token follows each other one: about what can be known from the present token alone. The text
# changes a little with every release of Python; a hash says whether this machine has the one on which the book's
# numbers were taken.

# %%
corpus = open_corpus(tokens_folder)
unigram, bigram = unigram_loss(corpus), bigram_loss(corpus)
show.table(
    ["text", "training tokens", "validation tokens", "kinds", "loss by frequencies", "by bigrams"],
    [[corpus.source, len(corpus.train), len(corpus.validation), corpus.train.vocabulary, unigram, bigram]],
    caption="Losses are in nats a token, on the text kept for validation.",
)

# %% [markdown]
# ## Two models that do not attend
# How low must a loss be before attention has had a part in it? Two more models go along. One has **no attention** block
# at all. The other takes the **mean of the past**: it has values and an output map as the others have, and in place of
# scores the same weight for every earlier token, which is what a softmax gives before its scores are learned. Whatever
# is better than this has learned *where to look*, and the models of the table differ in nothing else.
#
# All models have one learning rate here, so that a gap on this page is one at this rate. A fair comparison gives each
# model its best: at the foot of the page every model is trained twice as long, on twice the batch, at four rates, and
# a table there sets each at its best rate beside self-attention. (The fourth rate was added when the largest of three
# had been seen to be the best for nearly all.)
#
# Every model is trained from the same seeds. Equal seeds draw equal batches, so two models are compared in pairs, seed
# by seed. (The order 4 of HyperFeatureAttention in Table 1 can mean four factors, as in Definition 5.1, or three, as
# Table 2 counts. Four are trained here; three are among the points at the foot of the page.)

# %%
training = Training(steps, batch, window, rate, warm_up, micro_batch, evaluate_every, validation_windows)
models = {**BASELINES, **TABLE_1}
courses = train_table(models, width, 1, corpus, training, seeds, device)

# %% [markdown]
# On the left, the loss on held-out text in the course of the training. On the right, what each model draws from the
# tokens before, place by place in the window: how far its loss at the end is below that without attention. At the first
# place, 0, there is nothing to be seen, and models that have learned to use the past do worse there than the one that
# never had any. (At single places the loss itself depends on which tokens of the text happen to lie there.)

# %%
fig, axes = show.axes(1, 2, width=9.5, height=3.6)
draw_courses(*axes, courses, bigram, show.COLOURS, show.MARKERS)
show.figure(
    fig,
    name="losses",
    caption="Held-out loss, mean over the seeds. Left: in the course of the training; dashed, the counted bigrams. "
    "Right: at its end, how far each model is below the one without attention, by the number of tokens that a token "
    "can see before it.",
    alt="Left: curves that fall with the steps; the one without attention stays uppermost, and at the end the mean of "
    "the past is next, with the models of the table below it. Right: curves that begin below zero, are far above it at "
    "the next place, and then go up and down together.",
)

# %% [markdown]
# ## Has attention been learned?
# Only if this is so does it mean anything to compare kinds of attention. The loss of the mean of the past less that of
# each model, seed by seed, is what the scores have added. The interval is Student's, of the mean over the seeds.

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
# Now the table's own question. The gap of a model is its loss less that of self-attention, in nats: the logarithm of
# the ratio of the perplexities, so that the paper's gaps have a place beside ours. Negative is better than
# self-attention.

# %%
PRINTED = {"HyperFeatureAttention": 60.22, "HyperAttention": 51.26, "HyperAttention (no sharing)": 48.50}
printed_gaps = {name: math.log(value / 62.28) for name, value in PRINTED.items()}
own_gaps = {name: gaps(courses[name], courses["Self-Attention"]) for name in PRINTED}
show.table(
    ["model", "gap here", "99 % interval", "than self-attention, here", "gap in the paper", "in the paper"],
    [
        [name, mean(some), in_words(interval_of(some)), reading(interval_of(some)), printed_gaps[name], "better"]
        for name, some in own_gaps.items()
    ],
    caption="Gaps to self-attention in nats, over paired seeds, beside the paper's single runs on OpenWebText.",
)

# %% [markdown]
# Each seed is a mark, and the paper's gap a cross. What to look for is whether the marks of a model lie together, and
# on which side of zero.

# %%
fig, axis = show.axes(width=7.5, height=2.6)
axis.axvline(0, color="gray", linewidth=0.8)
for row, (name, some) in enumerate(own_gaps.items()):
    model = list(models).index(name)
    axis.plot(interval_of(some), [row, row], color=show.COLOURS[model], alpha=0.5, linewidth=3)
    axis.plot(some, [row] * len(some), show.MARKERS[model], color=show.COLOURS[model])
    axis.plot([printed_gaps[name]], [row], "x", color="gray", markersize=9, label=None if row else "the paper's run")
axis.set(xlabel="gap to self-attention, nats a token", yticks=range(len(own_gaps)), yticklabels=list(own_gaps))
axis.invert_yaxis()
axis.legend(fontsize=8)
show.figure(
    fig,
    name="gaps",
    caption="The gap of each model to self-attention: one mark a seed, the 99 % interval of their mean as a bar, and "
    "the paper's gap on OpenWebText as a cross.",
    alt="Three rows, one a model. In each some marks close together with a bar through them, and a cross for the "
    "paper, which lies left of zero in every row.",
)

# %% [markdown]
# ## What the layers can and cannot represent
# Behind the table stands a theory of what each kind of attention can represent, and this part does hold at any size. A
# three-way interaction is drawn at random, and a two-way one. The outputs of a linear attention layer are linear in
# *pair features* (own symbol times counts), those of linear HyperAttention in *triple features* (own symbol times pair
# counts). So the best layer of each kind is a least-squares fit, and what it misses is a number.

# %%
draw = generator(seeds[0])
symbols = sample_sequences(400, 8, 4, draw)
tasks = {
    "two-way": aggregate_tuples(symbols, normal(4, 4, seed=draw), normal(4, 1, seed=draw), "all"),
    "three-way": aggregate_tuples(symbols, normal(4, 4, 4, seed=draw), normal(4, 4, 1, seed=draw), "le"),
}
pairs, triples = tuple_features(symbols, 4, 1), tuple_features(symbols, 4, 2, "le")
missed = {
    name: (relative_residual(pairs, task.flatten(0, 1)), relative_residual(triples, task.flatten(0, 1)))
    for name, task in tasks.items()
}
show.table(
    ["task", "missed by the best linear attention", "missed by the best linear HyperAttention"],
    [[task, *both] for task, both in missed.items()],
)

# %% [markdown]
# The paper compares models with equally many parameters. Whether they have is counted on the models themselves, at its
# own width of 768.

# %%
with torch.device("meta"):  # shapes without numbers: the paper's models need no memory to be counted
    full = {name: LanguageModel(50257, 256, 768, make) for name, make in {**models, **TABLE_1_VARIANTS}.items()}
counted = {name: one.attention_parameters() for name, one in full.items()}
in_all = {name: sum(value.numel() for value in one.parameters()) for name, one in full.items()}
show.table(
    ["model", "parameters in attention", "parameters in all"],
    [[name, counted[name], in_all[name]] for name in full],
    caption="Parameters at the paper's size. The last two rows are variants with the parameters of self-attention.",
)

# %% [markdown]
# ## The verdict on Table 1
# What is judged is whether self-attention, with which the others are compared, has learned to attend, by the interval
# over the seeds, and what was counted and fitted. The control is the same question asked of a model from which the
# attention block was deleted. The gaps are shown and not judged: a stand-in is no part of the paper's table. The size
# of the runs was chosen in trials so that attention is learned in them; the bound is zero, and the level of the
# interval is that of the whole book. (At first every model was to be better than the mean of the past. One was so by a
# hair, in a full run, and the bar was then set for the model alone that the others are compared with.)

# %%
claim = Claim("hyper-attention/table-1")
if not tokens_folder:
    claim.stand_in(f"sources of the standard library by characters, width {width}, windows of {window}, {steps} steps")
band = 0.05 if tokens_folder else None  # another text cannot have the printed perplexities
for name, value in {"Self-Attention": 62.28, **PRINTED}.items():
    ours = mean([one.perplexity for one in courses[name]])
    claim.number(f"perplexity, {name}", ours, printed=value, within=band)
claim.above("Self-Attention: below the mean of the past by, nats", estimate(added["Self-Attention"]), 0)
claim.control.above("no attention: the same", estimate(added["no attention"]), 0)
for name, some in own_gaps.items():
    claim.number(f"gap to self-attention, {name}", mean(some), printed=printed_gaps[name])
matched = {name: counted[name] for name in ("HyperFeatureAttention", "HyperAttention")}
claim.equal("attention parameters at width 768", matched, counted["Self-Attention"])
claim.control.equal("the same without sharing", counted["HyperAttention (no sharing)"], counted["Self-Attention"])
claim.at_most("three-way task, missed by linear HyperAttention", missed["three-way"][1], 1e-12)
claim.control.at_most("three-way task, missed by linear attention", missed["three-way"][0], 1e-12)
claim.verdict()

# %% [markdown]
# ## Matched compute?
#
# <!-- claim hyper-attention/remark-matched-compute -->
# <blockquote>
#
# **Conclusion (What the compared language models compute)** *Section 8; Tables 1 and 2*
#
# **As printed.** Both modules show consistent perplexity reductions under matched compute budgets.
#
# **Corrected.** The models of Tables 1 and 2 are matched in data, steps and, but for the rows without sharing, in
# parameters. HyperFeatureAttention takes as many operations as self-attention, to one part in a thousand. A model with
# HyperAttention of order 3 takes at least a quarter more on the 256 tokens of Table 1, its attention block at least
# five times as many.
#
# Compute is matched for HyperFeatureAttention alone. Whether HyperAttention's lower perplexity survives at equal
# compute is not in the paper.
#
# </blockquote>
# <!-- /claim -->
#
# The conclusion of the paper speaks of lower perplexity "under matched compute budgets". Data and steps are matched in
# the tables, and parameters but for the rows without sharing. Compute can be counted. HyperFeatureAttention multiplies
# numbers that self-attention has in any case. HyperAttention gives a score to each pair of tokens up to a query, some
# $L^3/6$ scores in place of $L^2/2$, as the caption of Table 1 itself says. How much is that of a whole model, whose
# list of 50,257 probabilities costs a great deal too?
#
# <details><summary>Proof of Conclusion: matched compute, as corrected</summary>
#
# Let $w=768$, $L=256$ and $V=50{,}257$, and count a multiplication and an addition as two operations. Outside the
# scores a model has the head, $2LwV$, the perceptron, $16Lw^2$, and the four maps of the attention block, $8Lw^2$:
# together $2.34\cdot10^{10}$. Self-attention adds scores and means, $4L^2w=2\cdot10^8$ where all pairs of tokens are
# multiplied. HyperFeatureAttention of order 4 cuts the same inner products into four and multiplies the parts, three
# products a score: $3L^2<2\cdot10^5$ operations more, less than one part in a thousand.
#
# In HyperAttention of order 3 a query $i$ has a score for each $j_2\le j_1\le i$, in all $\binom{L+2}3$ of them. Each
# is an inner product of $w$ entries, and each pair of values goes into an output of $w$ entries with its weight: at
# least $4w\binom{L+2}3=8.7\cdot10^9$ operations, with scores written out as in the paper's models. That is 37 parts in
# a hundred of $2.36\cdot10^{10}$, and beside the block's own $8Lw^2+4L^2w=1.4\cdot10^9$ more than six times as many.
# $\square$
#
# </details>


# %%
def block_operations(make, tokens):
    """Operations of the matrix products in an attention block of width 768, counted as it runs on one sequence."""
    block, x = make(768), normal(1, tokens, 768, seed=0).float()
    return matrix_operations(lambda: block(x))


with torch.device("meta"):
    rest = matrix_operations(lambda: full["no attention"](torch.zeros(1, 256, dtype=torch.int64)))
in_blocks = {name: block_operations(make, 256) for name, make in TABLE_1.items()}
in_models = {name: rest + some for name, some in in_blocks.items()}
ratios = {name: some / in_models["Self-Attention"] for name, some in in_models.items()}
short = {name: block_operations(TABLE_1[name], 16) for name in ("Self-Attention", "HyperAttention")}
short_ratio = (rest / 16 + short["HyperAttention"]) / (rest / 16 + short["Self-Attention"])

# %% [markdown]
# Operations are one thing, and seconds another: a pair costs more than its arithmetic. So each block is timed as well,
# forward and backward, on one core of this machine.


# %%
def block_seconds(make):
    """CPU seconds of an attention block of width 768 on 256 tokens, forward and backward."""
    block, x = make(768), normal(1, 256, 768, seed=0).float()
    return cpu_seconds(lambda: block(x).sum().backward(), repeats=1)


timed = {name: block_seconds(make) for name, make in TABLE_1.items()}

# %% [markdown]
# Both for one sequence of the paper's size:

# %%
show.table(
    ["model", "operations of the block", "times self-attention's", "of the model", "times", "seconds of the block"],
    [
        [
            name,
            f"{in_blocks[name]:.2e}",
            in_blocks[name] / in_blocks["Self-Attention"],
            f"{in_models[name]:.2e}",
            ratios[name],
            timed[name],
        ]
        for name in TABLE_1
    ],
    caption="One sequence of 256 tokens at width 768: operations of a forward pass, seconds of one forward and back.",
)

# %% [markdown]
# What would the extra operations buy, if they were spent on more steps of self-attention? The stand-in is trained again
# with as many steps more as the ratio of the operations at the paper's size allows, and with a schedule of that length.

# %%
more = round(steps * ratios["HyperAttention"])
longer = replace(training, steps=more, warm_up=round(warm_up * more / steps), evaluate_every=more)
single = {"Self-Attention": TABLE_1["Self-Attention"]}
equal = train_table(single, width, 1, corpus, longer, seeds, device)["Self-Attention"]
at_equal = {name: gaps(courses[name], equal) for name in ("HyperAttention", "HyperAttention (no sharing)")}
show.table(
    ["model", "gap at equal steps", "at equal operations", "99 % interval", "than self-attention"],
    [
        [name, mean(own_gaps[name]), mean(some), in_words(interval_of(some)), reading(interval_of(some))]
        for name, some in at_equal.items()
    ],
    caption="Gaps to self-attention on the stand-in, in nats: after equally many steps, and where self-attention has "
    "had the steps that HyperAttention's operations at the paper's size would pay for.",
)

# %% [markdown]
# What is judged is the counting: the operations of the paper's models, which no seed and no text can change. The
# control is the same ratio at 16 tokens, where pairs cost next to nothing. The gaps at equal operations are shown.

# %%
claim = Claim("hyper-attention/remark-matched-compute")
apart = ratios["HyperFeatureAttention"] - 1 + 3 * 256**2 / in_models["Self-Attention"]  # three products a score
claim.at_most("HyperFeatureAttention: operations beyond self-attention's, share", abs(apart), 0.001)
label = "HyperAttention: operations of the model over self-attention's"
claim.at_least(label, ratios["HyperAttention"], 1.25)
claim.at_least("the same without sharing", ratios["HyperAttention (no sharing)"], 1.25)
claim.at_least("the same of the block alone", in_blocks["HyperAttention"] / in_blocks["Self-Attention"], 5)
claim.control.at_least("operations of the model over self-attention's, 16 tokens", short_ratio, 1.25)
claim.printed.at_most("compute is matched: " + label, ratios["HyperAttention"], 1.05)
for name, some in at_equal.items():
    claim.number(f"stand-in, gap at equal operations, {name}", mean(some))
claim.verdict()

# %% [markdown]
# Of the budgets that the paper calls matched, HyperFeatureAttention's is, and HyperAttention's is not: its model takes
# more than a third more operations, its block seven times as many, and more again in seconds. On the stand-in, which is
# still learning fast at its last step, so many more steps of self-attention are worth a good deal: the last table has
# what is left of the gaps. The paper's models are trained much longer, where more steps buy less, and its gaps for
# HyperAttention are large; but the comparison at equal compute is not in the paper.
#
# **The full run.** 28,000 steps of 625 windows of 256 tokens for each model and seed. With `tokens_folder` set, the
# perplexities are judged, within 5 % of the printed ones, and nothing stands in for anything: the claim's entry in the
# registry then has to expect another verdict than *stand-in*, and is to be changed before the run. Left open in the
# paper and filled in as for GPT-3's small model: AdamW with averages 0.9 and 0.95, weight decay 0.1, clipping at 1, no
# dropout, 2,344 steps of warm-up, learned positions. Also open: the tokenizer (the vocabulary is GPT-2's), whether
# HyperAttention's pairs must lie in the past (they must, or the model sees the answer), the scale of its scores (the
# root of the rank here), its rank (the width here), and how widely the reported perplexities are smoothed (not here).
#
# ## What was learned
# A gap between kinds of attention means something only once attention has been learned, and that is seen by setting
# every model beside one that weighs all earlier tokens alike. Here self-attention is clearly better than that, and
# equal batches make gaps of a few hundredths of a nat visible; their signs, in the table above, are not all those of
# the paper, and nor are those at the best of four rates, at the foot of the page. They are signs at this size, on this
# text and after so few steps, and do not settle the paper's table. What is settled is the price: equal parameters are
# not equal compute, and a model that is still learning fast makes good use of more steps.
#
# ## To try
# - Set `steps = 100` and `warm_up = 10`: the model without attention is better than self-attention and than the mean of
#   the past. Before attention is learned it is in the way; the control passes, and the claim is left open. A comparison
#   of kinds of attention that ended here would compare something else.
# - Set `seeds = [0, 1]`: two pairs of runs give intervals many times as wide, and hardly a gap to self-attention is
#   told from chance any more, though the gaps themselves are much the same.
