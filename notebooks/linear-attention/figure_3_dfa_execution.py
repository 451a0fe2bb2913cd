# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Figure 3 · How much data executing an automaton takes
# *Yau, Akyürek, Mao, Tenenbaum, Jegelka, Andreas: Figure 3, Section 6.3.*
#
# <!-- claim linear-attention/figure-3-states -->
# <blockquote>
#
# **Figure 3 (Data against the number of states)** *Section 6.3*
#
# The number of tokens, word length times examples, that a decoder needs to execute new automata with 99 % of the next
# tokens right grows less than exponentially with the number of states $Q$.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/figure-3-word-length -->
# <blockquote>
#
# **Figure 3 (Data against the length of the word)** *Section 6.3*
#
# The number of tokens, word length times examples, that a decoder needs to execute new automata with 99 % of the next
# tokens right grows less than exponentially with the length $L$ of the word.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim linear-attention/figure-3-alphabet -->
# <blockquote>
#
# **Figure 3 (Data against the size of the alphabet)** *Section 6.3*
#
# The number of tokens, word length times examples, that a decoder needs to execute new automata with 99 % of the next
# tokens right grows less than exponentially with the size $V$ of the alphabet.
#
# </blockquote>
# <!-- /claim -->
#
# A decoder is given the table of an automaton and a word, and has to write down the run. How many examples does it need
# until it continues *new* automata right in 99 of 100 tokens, and how does this grow with the number of states $Q$, the
# length of the word $L$ and the size of the alphabet $V$?
#
# ## What is run here, and what is not
# The paper trains a model of some 200 million weights from scratch for each of up to sixteen sizes of the data, with
# 100 epochs each; {doc}`/notebooks/linear-attention/task_6_3_strings` puts that at years of a CPU for one point. It is
# not run here. In its place stands a decoder of the same kind with two layers and width 48; the sizes that a panel
# holds fixed are 2 and 3, where the paper has 4. It trains on examples as they are drawn, and the count of examples
# when the target is reached takes the place of the smallest data set. Such a count is of the same nature, but not the
# same number: repeated passes would need fewer examples. Each panel has three points from one run each, so it can show
# growth and its rough shape, and cannot tell a power from a slow exponential.
#
# ## New automata
# There are $Q^{QV}$ tables and $V^L$ words. With two states and two letters these are 16 tables, and a test on fresh
# draws would show strings of the training. So the tables are dealt out by a random hash before anything is drawn: half
# are for training, a quarter tells when to stop, and the result is measured on the last quarter. No table of either
# test is ever trained on. The panels begin at three states, with 729 tables. Of these some 360 are trained on, most of
# them several times; from four states or three letters on, most strings are seen once at most. Two states and two
# letters are too few: in a trial the decoder learned its 8 tables and never came to 99 % on the others.
#
# Most tokens of a run are easy, brackets and copies. So the share of right *states*, the tokens that must be looked
# up, is shown as well. The control asks whether the table is read at all: the prompt shows another automaton's table.

# %%
from math import isfinite

import torch

from attention_theory.linear_attention.experiments.automata import StringForm
from attention_theory.linear_attention.experiments.decoder import DecoderSize
from attention_theory.linear_attention.experiments.dfa_training import TARGET, data_sets, one_pass
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
protocol = "one pass"  # fresh examples, or fixed sizes as in the paper, one of "data sets", "one pass"
sizes_states = [3, 4, 5]  # Q in the first panel, three or more growing numbers, each at least 2
sizes_word = [2, 3, 4]  # L in the second panel, the same, each at least 2
sizes_alphabet = [2, 3, 4]  # V in the third panel, the same, each at least 2
fixed_states = 3  # Q in the second and third panel, at least 2
fixed = 2  # V in the first two panels and L in the first and third, at least 2
width = 48  # width of the decoder, a multiple of 2 * heads from 2 * heads to 8192
heads = 4  # attention heads, at least 1
layers = 2  # layers, at least 1
rate = 0.003  # learning rate, from 1e-7 to 1
batch = 32  # strings of a step, at least 1
steps = 800  # most steps of a training by one pass, at least 10
examples = [256, 1024, 4096]  # numbers of examples for "data sets", each at least 1
epochs = 100  # passes for "data sets", at least 1
tested = 128  # strings in a test for stopping, at least 2; the result is measured on four times as many
runs = 3  # runs at the smallest sizes, for the spread of the counts, at least 3
device = "cpu"  # device for "data sets": one of "cpu", "cuda"
seed = 0  # seed of weights, automata and words, at least 0

# %%
require(protocol=(protocol, {"one pass", "data sets"}), device=(device, {"cpu", "cuda"}), seed=(seed, 0, None))
require(sizes_states=(sizes_states, 2, None), sizes_word=(sizes_word, 2, None), fixed=(fixed, 2, None))
require(
    fixed_states=(fixed_states, 2, None),
    sizes_alphabet=(sizes_alphabet, 2, None),
    rate=(rate, 1e-7, 1.0),
    batch=(batch, 1, None),
)
require(heads=(heads, 1, None), width=(width, range(2 * heads, 8193, 2 * heads)), layers=(layers, 1, None))
require(
    tested=(tested, 2, None),
    runs=(runs, 3, None),
    steps=(steps, 10, None),
    examples=(examples, 1, None),
    epochs=(epochs, 1, None),
)

# %%
panels = {
    "Q": [StringForm(size, fixed, fixed) for size in sizes_states],
    "L": [StringForm(fixed_states, fixed, size) for size in sizes_word],
    "V": [StringForm(fixed_states, size, fixed) for size in sizes_alphabet],
}


def train(form, from_seed):
    decoder = DecoderSize(form.vocabulary, width, heads, layers)
    if protocol == "one pass":
        return one_pass(form, decoder, batch, steps, rate, from_seed, every=20, tested=tested)
    return data_sets(form, decoder, examples, batch, epochs, rate, from_seed, tested, device)


reached = {form: train(form, seed) for form in dict.fromkeys(form for forms in panels.values() for form in forms)}
base = StringForm(fixed_states, fixed, fixed)
again = [reached.get(base) or train(base, seed), *[train(base, seed + number) for number in range(1, runs)]]

# %%
sizes = {"Q": sizes_states, "L": sizes_word, "V": sizes_alphabet}
tokens = {
    panel: torch.tensor([form.word * (reached[form].examples or float("nan")) for form in forms], dtype=torch.float64)
    for panel, forms in panels.items()
}
rows = []
for panel, forms in panels.items():
    for form, count in zip(forms, tokens[panel].tolist(), strict=True):
        one = reached[form]
        sizes_of = [panel, form.states, form.word, form.letters]
        tables = form.states ** (form.states * form.letters)
        ends = [one.history, one.states, one.other_tables]
        rows.append([*sizes_of, tables, one.examples or "not reached", count, *ends])
show.table(
    [
        "panel",
        "Q",
        "L",
        "V",
        "tables",
        "examples",
        "tokens L N",
        "history right",
        "states right",
        "another table shown",
    ],
    rows,
    caption="The end of each training. The last three columns are of the tables kept for the result.",
)
counts = [one.examples or float("nan") for one in again]
spread = torch.tensor(counts, dtype=torch.float64).log().std()
print(f"examples at Q = {base.states}, V = {base.letters}, L = {base.word} in {runs} runs: {counts}")
print(f"deviation of their logarithms: {spread:.2f}")

# %%
names = {"Q": "states Q", "L": "word length L", "V": "alphabet V"}
fig, axes = show.axes(1, 3, width=9.5, height=3.2, sharey=True)
for axis, (panel, counts) in zip(axes, tokens.items(), strict=True):
    axis.plot(sizes[panel], counts, marker="o", label="tokens to 99 %")
    first, last = sizes[panel][0], sizes[panel][-1]
    rate_of_growth = (counts[1] / counts[0]).log() / (sizes[panel][1] - first)
    straight = torch.linspace(first, last, 20, dtype=torch.float64)
    axis.plot(
        straight, counts[0] * (rate_of_growth * (straight - first)).exp(), "--", label="exponential from the start"
    )
    axis.set_yscale("log")
    axis.set_xticks(sizes[panel])
    axis.set_xlabel(names[panel])
axes[0].set_ylabel("tokens, L times N")
axes[0].legend(fontsize=8)
show.figure(
    fig,
    name="tokens",
    caption="Tokens until 99 of 100 tokens of new runs are right, on a logarithmic axis. The dashed line goes on as "
    "fast as from the first point to the second: growth below exponential stays under it.",
    alt="Three panels, for states, word length and alphabet, each with three points that rise to the right and a "
    "dashed straight line through the first two of them.",
)

# %% [markdown]
# ## The verdicts
# The test that counts comes first: the automata kept for the result are executed, with at most twice the errors of the
# rule that stopped the training, and with most looked-up states right. This could fail: a decoder that knew its strings
# by heart would stop nowhere near.
#
# A panel shows growth below exponential if the logarithm of the tokens is concave: it rises more slowly between later
# sizes than between the first two. This is what the eye takes from the paper's plots. But counts vary from run to run,
# by the deviation printed above, and the difference of two growth rates by $\sqrt 6$ times as much. So the bend must be
# twice that below zero, or the shape cannot be told from an exponential; twice that above zero, and the growth is
# faster. This rule was set after two trials had been seen, in the place of a milder one that asked for the bend alone:
# in a trial at width 64 the panels that bend down here bent up, and the other way round.

# %%
rates = {
    panel: (counts.diff().div(counts[:-1]) + 1).log() / torch.tensor(sizes[panel]).diff()
    for panel, counts in tokens.items()
}
bends = {panel: (growth[1:] - growth[0]).max().nan_to_num(float("inf")) for panel, growth in rates.items()}
noise = (2 * 6**0.5 * spread).nan_to_num(float("inf"))


def reading(bend):
    if abs(bend) <= noise:
        return "not told"
    return "slower than exponential" if bend < 0 else "faster than exponential"


show.table(
    ["panel", "growth rate, later less first", "twice its deviation", "shape"],
    [(names[panel], bend, noise, reading(bend)) for panel, bend in bends.items()],
)

# %% [markdown]
# Three points of one run each, with a spread that is known at the smallest size only, cannot show what the paper's
# plots show, and cannot refute it. A shape that is not told is left open. A wider range would have to decide; it is in
# the full-size parameters.

# %%
STAND_IN = (
    f"a decoder with {layers} layers and width {width}, sizes from {min(sizes_word)} up with the others at {fixed} "
    f"and {fixed_states}"
)
for panel, name in (("Q", "states"), ("L", "word-length"), ("V", "alphabet")):
    claim = Claim(f"linear-attention/figure-3-{name}")
    if width < 2048 or protocol == "one pass":
        claim.stand_in(STAND_IN)
    ends = [reached[form] for form in panels[panel]]
    claim.check("kept automata: least share of right tokens", min(one.history for one in ends), ">=", 2 * TARGET - 1)
    claim.check("kept automata: least share of right states", min(one.states for one in ends), ">=", 0.9)
    grown = (tokens[panel][-1] / tokens[panel][0]).nan_to_num(0.0)
    claim.check(f"tokens at the largest {panel} over those at the smallest", grown, ">", 1.0)
    bend, reach = float(bends[panel]), float(noise)
    if isfinite(bend + reach):  # else a size was not learned, which the other checks tell
        span = (bend - reach, bend + reach)
        claim.estimate(f"growth rate in {panel}, later less first", bend, "<=", 0.0, interval=span)
    misled = max(one.other_tables for one in ends)
    claim.control("another automaton's table shown: share of right tokens", misled, ">=", 2 * TARGET - 1)
    claim.verdict()
