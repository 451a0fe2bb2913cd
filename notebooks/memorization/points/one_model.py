# %% [markdown]
# # One model of Figures 2, 4 and 5
# *Mahdavi, Liao, Thrampoulidis: Section 5.2, Appendices A, H and I.*
#
# One attention layer is trained on $T$ examples of the synthetic task, as in the figures: how many of the labels does
# it name in the end, and what is its loss? The figures of the paper are grids of such runs; a sweep of this notebook
# makes one of them, point by point. The text does not say from which weights a training starts. The sweeps take
# `start = "xavier"`, as {doc}`/notebooks/memorization/figure_3_saturation` does: the start of the code that the authors
# published.

# %%
from attention_theory.memorization.synthetic import Setting, sample_data_sets
from attention_theory.memorization.trainer import PanelTrainer
from attention_theory.validation import require
from bookpress import report

# %% tags=["parameters"]
labels = "classes"  # what is memorised, one of "classes", "real"
contexts = "shared"  # one context for all examples or one for each, one of "separate", "shared"
heads = 4  # H, at least 1
context = 8  # n, at least 1
key_width = 16  # d_h, at least 1
examples = 200  # T, at least 1
width = 16  # d, at least 2
classes = 20  # number of classes, at least 2
epochs = 500  # passes through the examples, at least 1
least_steps = 1000  # steps at the least, at least 1
batch = 64  # examples a step, at least 1
rate = 0.02  # Adam's rate at its height, from 1e-6 to 1
start = "fan-in"  # how the output map starts, one of "fan-in", "xavier"
device = "cpu"  # where to train: one of "cpu", "cuda"
seed = 0  # of the data, the initial weights and the batches, at least 0

# %%
require(labels=(labels, {"classes", "real"}), contexts=(contexts, {"separate", "shared"}))
require(heads=(heads, 1, None), context=(context, 1, None), key_width=(key_width, 1, None))
require(examples=(examples, 1, None), width=(width, 2, None), classes=(classes, 2, None), epochs=(epochs, 1, None))
require(least_steps=(least_steps, 1, None), batch=(batch, 1, None), rate=(rate, 1e-6, 1.0))
require(start=(start, {"fan-in", "xavier"}), device=(device, {"cpu", "cuda"}), seed=(seed, 0, None))

# %%
settings = [Setting(heads, context, examples, key_width, seed)]
data = sample_data_sets(settings, width, contexts == "shared", labels, classes).to(device)
steps = max(epochs * examples // batch, least_steps)
trainer = PanelTrainer(settings, data, steps, batch, rate, start=start)
score = trainer.run()

# %%
report(memorised=score.accuracy.item(), loss=score.loss.item(), steps=steps)
