# %% [markdown]
# # Definition 2.1 · The sentences
# *Nguyen, Nguyen-Tang: Definition 2.1, Section 2; the sampler of Section 5.*
#
# <!-- claim in-context-reasoning/definition-2-1 -->
# <blockquote>
#
# **Definition 2.1 (The sentences)** *Section 2*
#
# Let $\mathcal Q$ (triggers) and $\mathcal O$ (outputs) be disjoint sets of words. Draw $q$ uniformly from $\mathcal Q$
# and $y$ uniformly from $\mathcal O$, and draw $z_1,\dots,z_{H-1}$ from any law on the sentences in which (I) the
# bigram $(q,y)$ occurs, (II) the noise word $\tau$ occurs only if $\alpha>0$, and then only right after $q$, (III) no
# other bigram begins with a trigger. The last word is $z_H=q$. The label $z_{H+1}$ is $\tau$ with probability $\alpha$
# and $y$ otherwise. It follows that $z_{H-1}$ is no trigger and that $y$ can be read off the context.
#
# </blockquote>
# <!-- /claim -->
#
# <!-- claim in-context-reasoning/data-sampler -->
# <blockquote>
#
# **Section 5 sentence sampler (The sampler of the experiments)** *Section 5; Appendix D.1*
#
# **As printed.** The two positions are picked uniformly, nothing being said of collisions. Section 5 has five triggers;
# Section 4 and the numbers of Appendix D.1, outputs 1 to 4 and unseen words 5 to 59 of 60 words, leave room for one.
#
# **Corrected.** With 60 words, 5 triggers (one of them in use where there is noise, as in Section 4), 4 outputs and
# $H=256$, a sentence holds one bigram $(q,y)$, in the noisy task also one $(q,\tau)$, at random places; all other words
# are uniform, either on the neutral words or on neutral and output words. Unseen words are neutral words in the place
# of $y$.
#
# The placement is uniform among those in which the bigrams do not touch. Triggers, outputs, neutral words and $\tau$
# are numbered one after another, and unseen words are drawn from the neutral ones.
#
# </blockquote>
# <!-- /claim -->
#
# A sentence ends in a trigger word. Somewhere before, the same trigger was followed by an output word, and that word
# is what comes next. In the noisy task the trigger was also followed by a noise word $\tau$, and with probability
# $\alpha$ it is $\tau$ that comes next. We draw sentences, check every condition on every one of them, and then break
# each condition to see that the check notices.

# %%
import torch
from scipy.stats import chisquare

from attention_theory.in_context_reasoning.task import (
    Sentences,
    Task,
    bigram_count,
    draw_labels,
    recover_output,
    sample_sentences,
    violations,
)
from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
count = 10_000  # sentences drawn, at least 1000
tokens = 20  # size of the vocabulary with the noise token, at least triggers + outputs + 3
length = 32  # H, words in a sentence, at least 16
triggers = 3  # size of Q, at least 2
outputs = 4  # size of O, at least 2
noise = 0.2  # alpha, the chance that the noise token comes next, from 0.05 to 0.95
seed = 0  # at least 0

# %%
require(
    count=(count, 1000, None),
    tokens=(tokens, triggers + outputs + 3, None),
    length=(length, 16, None),
    triggers=(triggers, 2, None),
    outputs=(outputs, 2, None),
    noise=(noise, 0.05, 0.95),
    seed=(seed, 0, None),
)

# %% [markdown]
# ## One sentence
# The noisy task uses one trigger, as Section 4 of the paper assumes.

# %%
noisy = Task(tokens, triggers, outputs, length, noisy=True)
sample = sample_sentences(noisy, count, seed)
first = sample.tokens[0].tolist()
names = {0: "q", int(sample.output[0]): "y", noisy.noise_token: "τ"}

fig, axis = show.axes(width=7.0, height=1.5)
for place, word in enumerate(first, start=1):
    colour = {"q": show.COLOURS[0], "y": show.COLOURS[2], "τ": show.COLOURS[1]}.get(names.get(word, ""), "0.6")
    size = 14 if word in names else 8
    axis.text(place, 0.5, names.get(word, str(word)), ha="center", va="center", color=colour, size=size)
axis.set(xlim=(0, length + 1), ylim=(0, 1), xlabel="position h", yticks=[])
axis.grid(False)
axis.spines["left"].set_visible(False)
show.figure(
    fig,
    name="sentence",
    caption="One sentence of the noisy task, neutral words as small numbers. The trigger q comes three times: once "
    "before y, once before τ, and at the end.",
    alt="A row of small word numbers. The trigger q, in blue, stands before a green y, before an orange tau, and "
    "in the last place.",
)

# %% [markdown]
# ## Every condition, every sentence

# %%
noiseless = Task(tokens, triggers, outputs, length)
copies = torch.randint(1, 4, (count,), generator=generator(seed + 1))
noise_copies = torch.randint(0, 4, (count,), generator=generator(seed + 2))
several = sample_sentences(noisy, count, seed + 3, copies, noise_copies)
labels = draw_labels(several, noisy, torch.tensor([noise], dtype=torch.float64), seed + 4)[0]

claim = Claim("in-context-reasoning/definition-2-1")
for name, task, sentences in (
    ("noiseless", noiseless, sample_sentences(noiseless, count, seed + 5, copies)),
    ("noisy", noisy, several),
):
    broken = torch.stack(list(violations(sentences, task).values())).any(dim=0)
    claim.check(f"{name} sentences that break a condition", broken.sum(), "==", 0)
is_noise = labels == noisy.noise_token
spread = (noise * (1 - noise) / count) ** 0.5
claim.check("frequency of τ as label, in σ from α", abs(is_noise.double().mean() - noise) / spread, "<=", 4)


def p_uniform(values: torch.Tensor, first: int, number: int) -> float:
    """The p-value of the chi-square test that values are uniform on `number` integers from `first`."""
    return float(chisquare(torch.bincount(values - first, minlength=number).numpy()).pvalue)


plain = sample_sentences(noiseless, count, seed + 5, copies)
first_output = noiseless.output_words.start
claim.check("triggers uniform on Q, p-value", p_uniform(plain.trigger, 0, triggers), ">=", 1e-3)
for name, sentences in (("noiseless", plain), ("noisy", several)):
    claim.check(f"{name} outputs uniform on O, p-value", p_uniform(sentences.output, first_output, outputs), ">=", 1e-3)
lame = several.output.where(several.output != first_output + 1, first_output)  # one output word never drawn
claim.control("one output word never drawn: uniform on O, p-value", p_uniform(lame, first_output, outputs), ">=", 1e-3)
claim.check("labels that are neither y nor τ", (~is_noise & (labels != several.output)).sum(), "==", 0)
counted = bigram_count(several.tokens, several.trigger, several.output)
claim.check("sentences whose C is not the one asked for", (counted != copies).sum(), "==", 0)
claim.check(
    "outputs not readable from the context", (recover_output(several.tokens, noisy) != several.output).sum(), "==", 0
)

# %% [markdown]
# Seven breaks, for every condition one at least: no bigram of trigger and output, a sentence that ends in another word,
# another word after the trigger, $\tau$ after another word, a trigger just before the last word, a trigger or an output
# that is none. Each must be seen on every sentence it is put into.

# %%
neutral = noisy.neutral_words.start


def with_words(words: dict[int, int]) -> Sentences:
    """The sampled sentences with some positions overwritten."""
    changed = several.tokens.clone()
    for place, word in words.items():
        changed[:, place] = word
    return Sentences(changed, several.trigger, several.output)


names_output = several.tokens == several.output[:, None]
breaks = {
    "no bigram (q, y)": Sentences(
        several.tokens.masked_fill(names_output, noisy.noise_token), several.trigger, several.output
    ),
    "another last word": with_words({-1: neutral}),
    "a bigram (q, neutral)": with_words({4: 0, 5: neutral}),
    "τ after a neutral word": with_words({4: neutral, 5: noisy.noise_token}),
    "the trigger at H - 1": with_words({-2: 0}),
    "an output outside O": sample_sentences(noisy, count, seed + 9, copies, noise_copies, unseen=True),
    "a trigger outside Q": Sentences(
        several.tokens.where(several.tokens != 0, neutral), torch.full_like(several.trigger, neutral), several.output
    ),
}
for name, sentences in breaks.items():
    broken = torch.stack(list(violations(sentences, noisy).values())).any(dim=0)
    claim.check(f"{name}: sentences let through", (~broken).sum(), "==", 0)
claim.verdict()

# %% [markdown]
# ## The sampler of Section 5
# The paper puts one bigram $(q,y)$, and in the noisy task one $(q,\tau)$, at uniform positions, and fills the rest
# with words outside $\mathcal Q\cup\mathcal O$. Three things have to be settled before it can be run.
#
# *Positions.* Two positions drawn independently can touch, and then one bigram overwrites the other. We draw them
# uniformly among the placements that do not touch.
#
# *Triggers and word numbers.* Section 5 has five triggers. Section 4 takes one, and the numbers of Appendix D.1,
# outputs 1 to 4 and unseen words 5 to 59, leave one of 60 words for it. Here there are five, of which noisy sentences
# use one. Triggers, outputs, neutral words and $\tau$ are numbered one after another.
#
# *Fillers.* If output words never occur as fillers, a model need not look at the trigger at all: the one output word
# in the sentence is the answer. Both rules can be asked for, and the page on Table 1 shows that the choice decides a
# row.

# %%
claim = Claim("in-context-reasoning/data-sampler")
one = sample_sentences(noiseless, count, seed + 6)
starts = (one.tokens[:, :-1] == one.trigger[:, None]).int().argmax(dim=1)
allowed = sample_sentences(Task(tokens, triggers, outputs, length, fillers="outputs allowed"), count, seed + 7)
claim.check("positions uniform, p-value", p_uniform(starts, 0, length - 2), ">=", 1e-3)
for name, sentences, words in (
    ("neutral fillers", one, noiseless.neutral_words),
    ("fillers with outputs", allowed, range(noiseless.triggers, tokens)),
):
    filler = torch.ones_like(sentences.tokens, dtype=torch.bool)
    at_trigger = sentences.tokens == sentences.trigger[:, None]
    filler &= ~at_trigger
    filler[:, 1:] &= ~at_trigger[:, :-1]
    claim.check(f"{name} uniform, p-value", p_uniform(sentences.tokens[filler], words.start, len(words)), ">=", 1e-3)

claim.check("outputs uniform on O, p-value", p_uniform(one.output, first_output, outputs), ">=", 1e-3)
strange = sample_sentences(noiseless, count, seed + 10, unseen=True).output
words = noiseless.neutral_words
claim.check(
    "unseen words uniform on the neutral ones, p-value", p_uniform(strange, words.start, len(words)), ">=", 1e-3
)

# %%
outputs_held = torch.tensor([[word in row for word in noiseless.output_words] for row in one.tokens.tolist()])
names_y = outputs_held[torch.arange(count), one.output - noiseless.output_words.start]
claim.check(
    "neutral fillers: presence alone names y, share", (names_y & (outputs_held.sum(1) == 1)).double().mean(), "==", 1
)
outputs_held = torch.tensor([[word in row for word in noiseless.output_words] for row in allowed.tokens.tolist()])
claim.control("outputs allowed: presence alone names y, share", (outputs_held.sum(1) == 1).double().mean(), ">=", 0.5)
claim.control("positions with a trigger moved to the front", p_uniform(starts // 2, 0, length - 2), ">=", 1e-3)

# %% [markdown]
# The positions as printed, as a comparison that fails.

# %%
apart = torch.randint(length - 2, (2, count), generator=generator(seed + 8))
claim.printed(
    "independent positions: sentences where the bigrams collide", ((apart[0] - apart[1]).abs() < 2).sum(), "==", 0
)
claim.verdict()
