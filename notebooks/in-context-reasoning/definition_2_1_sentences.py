# %% [markdown]
# # Definition 2.1 · The sentences
# *Nguyen, Nguyen-Tang: Definition 2.1, Section 2; the sampler of Section 5.*
#
# A sentence ends in a trigger word. Somewhere before, the same trigger was followed by an output word, and that word is
# what comes next. In the noisy task the trigger may also have been followed by a noise word $\tau$, and with
# probability $\alpha$ it is $\tau$ that comes next. So in general one has to look back in the sentence for the trigger.
#
# The definition leaves the law of the sentences open and asks for conditions only. This page draws sentences, checks
# every condition on every one of them, and then breaks each condition on its own.

# %%
import torch
from scipy.stats import chisquare

from attention_theory.in_context_reasoning.certified.sentences import certify_reading
from attention_theory.in_context_reasoning.task import (
    Sentences,
    Task,
    bigram_count,
    draw_labels,
    recover_output,
    sample_sentences,
    violations,
)
from attention_theory.randomness import generator, streams
from attention_theory.validation import require
from bookpress import Claim, estimate, show

# %% tags=["parameters"]
count = 10_000  # sentences drawn, at least 5000
tokens = 20  # size of the vocabulary with the noise token, at least triggers + outputs + 3
length = 32  # H, words in a sentence, at least 16
triggers = 3  # size of Q, at least 2
outputs = 4  # size of O, at least 2
noise = 0.2  # alpha, the chance that the noise token comes next, from 0.05 to 0.95
seed = 0  # at least 0

# %%
require(
    count=(count, 5000, None),
    tokens=(tokens, triggers + outputs + 3, None),
    length=(length, 16, None),
    triggers=(triggers, 2, None),
    outputs=(outputs, 2, None),
    noise=(noise, 0.05, 0.95),
    seed=(seed, 0, None),
)
seeds = streams(seed, 10)
noisy = Task(tokens, triggers, outputs, length, noisy=True)
noiseless = Task(tokens, triggers, outputs, length)

# %% [markdown]
# ## One sentence
# The picture shows one sentence of the noisy task, which uses one trigger, as Section 4 of the paper assumes.

# %%
sample = sample_sentences(noisy, count, seeds[0])
names = {0: "q", int(sample.output[0]): "y", noisy.noise_token: "τ"}
colours = {"q": show.COLOURS[3], "y": show.COLOURS[2], "τ": show.COLOURS[1]}
fig, axis = show.axes(width=7.0, height=1.5)
for place, word in enumerate(sample.tokens[0].tolist(), start=1):
    name = names.get(word, str(word))
    size, colour = (14, colours[name]) if word in names else (8, "0.6")
    axis.text(place, 0.5, name, ha="center", va="center", color=colour, size=size)
axis.set(xlim=(0, length + 1), ylim=(0, 1), xlabel="position h", yticks=[])
axis.grid(False)
axis.spines["left"].set_visible(False)
show.figure(
    fig,
    name="sentence",
    caption="One sentence of the noisy task, neutral words as small numbers. The trigger q comes three times: once "
    "before y, once before τ, and at the end.",
    alt="A row of small word numbers. The trigger q, in pink, is before a green y, before an orange tau, and in "
    "the last place.",
)

# %% [markdown]
# ## The conditions
# <!-- claim in-context-reasoning/definition-2-1 -->
# <blockquote>
#
# **Definition 2.1 (The sentences)** *Section 2*
#
# **The paper states.** Sample $q\sim\mathrm{Unif}(\mathcal Q)$, $y\sim\mathrm{Unif}(\mathcal O)$; sample $z_{1:H-1}$,
# over an arbitrary distribution, from sentences that satisfy: (I) at least one bigram $(q,y)$; (II) $\tau$ only if
# $\alpha>0$, always preceded by $q$; (III) no other (trigger, token) bigrams than $(q,y)$ or $(q,\tau)$. Fix $z_H=q$,
# set $z_{H+1}=\tau$ with probability $\alpha$ and $y$ otherwise.
#
# **What is true.** The three conditions are on $z_{1:H}$. Then $z_{H-1}$ is no trigger, and $y$ can be read off the
# context.
#
# **What changed.** The definition puts the conditions on $z_{1:H-1}$ and fixes $z_H$ afterwards. This allows
# $z_{H-1}=q$. The trigger then follows itself, and Lemmas A.1, 3.1 and 4.1 are false on that sentence.
#
# </blockquote>
# <!-- /claim -->
#
# We draw noiseless sentences with one to three bigrams $(q,y)$, and noisy ones with up to three bigrams $(q,\tau)$
# besides. Whether words are uniform is told by chi-square tests on a hundred groups of sentences: for a uniform law
# their p-values are $\frac12$ on average.

# %%
copies = torch.randint(1, 4, (count,), generator=generator(seeds[1]))
noise_copies = torch.randint(0, 4, (count,), generator=generator(seeds[2]))
several = sample_sentences(noisy, count, seeds[3], copies, noise_copies)
plain = sample_sentences(noiseless, count, seeds[4], copies)
labels = draw_labels(several, noisy, torch.tensor([noise], dtype=torch.float64), seeds[5])[0]
counted = bigram_count(several.tokens, several.trigger, several.output)
is_noise = labels == noisy.noise_token

# %% [markdown]
# As a control, one output word is never drawn.

# %%


def p_values(values, words: range) -> list[float]:
    """The p-values of chi-square tests that words are uniform, on a hundred groups of sentences."""
    groups = torch.tensor_split(values, 100) if isinstance(values, torch.Tensor) else values
    return [chisquare(torch.bincount(group.flatten() - words.start, minlength=len(words))).pvalue for group in groups]


first_output = noisy.output_words.start
never_one = several.output.where(several.output != first_output + 1, first_output)
lame = p_values(never_one, noisy.output_words)  # one output word is never drawn
uniform = {
    "triggers on Q": p_values(plain.trigger, range(triggers)),
    "noiseless outputs on O": p_values(plain.output, noiseless.output_words),
    "noisy outputs on O": p_values(several.output, noisy.output_words),
}

# %% [markdown]
# There are six conditions: $q\in\mathcal Q$, $y\in\mathcal O$, the last word is $q$, and (I), (II) and (III). Now each
# is broken on its own. Breaking the condition that $(q,y)$ occurs takes every $y$ out of the sentence; breaking the
# condition on the end puts a neutral word there; and so on. The check of the definition must notice on every sentence,
# and by the condition that was broken: the table shows the share of sentences on which each condition is found broken.

# %%
neutral, tau = noisy.neutral_words.start, noisy.noise_token


def with_words(words: dict[int, int]) -> Sentences:
    """The sampled sentences with some positions overwritten."""
    changed = several.tokens.clone()
    for place, word in words.items():
        changed[:, place] = word
    return Sentences(changed, several.trigger, several.output)


no_output = several.tokens.where(several.tokens != several.output[:, None], tau)
other_trigger = several.tokens.where(several.tokens != 0, neutral)
unseen = sample_sentences(noisy, count, seeds[6], copies, noise_copies, unseen=True)

# %% [markdown]
# Each break stands beside the condition that must notice it.

# %%
conditions = list(violations(several, noisy))
in_q, in_o, ends, one, two, three = conditions
breaks = {
    "no bigram (q, y)": (Sentences(no_output, several.trigger, several.output), one),
    "another last word": (with_words({-1: neutral}), ends),
    "τ after a neutral word": (with_words({4: neutral, 5: tau}), two),
    "τ at the first place": (with_words({0: tau}), two),
    "a bigram (q, neutral)": (with_words({4: 0, 5: neutral}), three),
    "the trigger at H - 1": (with_words({-2: 0}), three),
    "an output outside O": (unseen, in_o),
    "a trigger outside Q": (Sentences(other_trigger, torch.full_like(several.trigger, neutral), several.output), in_q),
}


def shares_of(sentences: Sentences) -> dict[str, float]:
    """The share of sentences on which each condition is found broken."""
    return {name: found.double().mean().item() for name, found in violations(sentences, noisy).items()}


seen = {name: shares_of(sentences) for name, (sentences, _) in breaks.items()}

# %% [markdown]
# Reading along a row, one finds which conditions see that break.

# %%
show.table(
    ["what is broken", *(condition.partition(":")[0] for condition in conditions)],
    [[name, *shares.values()] for name, shares in seen.items()],
    caption="Share of sentences on which each condition of Definition 2.1 is found broken.",
)

# %% [markdown]
# The definition puts the conditions on $z_{1:H-1}$ and fixes $z_H$ afterwards. Read to the letter, it allows the
# trigger at $H-1$, as in *door seven lamp door* followed by *door*: the first four words satisfy (I) to (III). The last
# bigram, (*door*, *door*), is then one of a trigger with itself, and the proofs of Lemmas 3.1 and 4.1 exclude it. So
# the conditions must be meant for $z_{1:H}$, and this is how the book reads them. We count how many of these sentences
# the letter would refuse.

# %%
at_end = breaks["the trigger at H - 1"][0]
kept = several.tokens[:, -3] != several.trigger  # else a bigram of the sentence is overwritten
first = Sentences(at_end.tokens[kept, :-1], several.trigger[kept], several.output[kept])
refused = torch.stack(list(violations(first, noisy).values())).any(dim=0).double().mean()

# %% [markdown]
# Every row has a 1 under the condition that it breaks, and under no other: with any one of the conditions left out, the
# check would let some break pass. That is the control. The small shares are sentences in which the overwritten places
# held $q$ or $y$ of a bigram, so that a second condition breaks. What the definition implies is tried on every sentence
# of a small task.

# %%
own = {name: seen[name][condition] for name, (_, condition) in breaks.items()}
others = {name: max(share for key, share in seen[name].items() if key != breaks[name][1]) for name in breaks}
broken = {"noiseless": violations(plain, noiseless), "noisy": violations(several, noisy)}
any_broken = {name: torch.stack(list(found.values())).any(dim=0).sum() for name, found in broken.items()}

claim = Claim("in-context-reasoning/definition-2-1")
claim.equal("sampled sentences that break a condition", any_broken, 0)
claim.equal("breaks: share of sentences on which their condition notices", own, 1)
claim.equal("conditions that some break is for", len({condition for _, condition in breaks.values()}), 6)
claim.control.equal("breaks, their own condition left out: share noticed", others, 1)
claim.equal("labels that are τ", estimate(is_noise), noise, tolerance=0.03)
for name, draws in uniform.items():
    claim.equal(f"{name}, uniform: p-value", estimate(draws), 0.5, tolerance=0.2)
claim.control.equal("one output never drawn: p-value", estimate(lame), 0.5, tolerance=0.2)
claim.equal("labels that are neither y nor τ", (~is_noise & (labels != several.output)).sum(), 0)
claim.equal("sentences whose C is not the one asked for", (counted != copies).sum(), 0)
claim.equal("outputs misread from the context", (recover_output(several.tokens, noisy) != several.output).sum(), 0)
claim.misprint.equal("conditions on the first H - 1 words: sentences with the trigger at H - 1 refused", refused, 1)
claim.certified("every sentence of six words: what follows", certify_reading(Task(6, 2, 2, 6)))
claim.verdict()

# %% [markdown]
# ## The sampler of Section 5
# <!-- claim in-context-reasoning/data-sampler -->
# <blockquote>
#
# **Section 5 sentence sampler (The sampler of the experiments)** *Section 5; Appendix D.1*
#
# With 60 words, 5 triggers (one of them in use where there is noise, as in Section 4), 4 outputs and $H=256$, a
# sentence holds one bigram $(q,y)$, in the noisy task also one $(q,\tau)$, at random places; all other words are
# uniform on the words that are neither trigger nor output. Unseen words take the place of $y$ in the test of Section
# 5.2. (Appendix D.1 has outputs $y\in[1,4]$ and unseen words $y_{\text{test}}\in[5,59]$. Of the words 0 to 59 that
# leaves one, the trigger of the noisy task, which its finite samples are of. What happens where two positions collide
# is left open; here the placement is uniform among those in which the bigrams do not touch.)
#
# </blockquote>
# <!-- /claim -->
#
# The paper puts one bigram $(q,y)$, and in the noisy task one $(q,\tau)$, at uniform positions, and fills the rest with
# words outside $\mathcal Q\cup\mathcal O$. Two positions drawn independently can touch, and then one bigram overwrites
# the other; the text does not say what is done then. We draw them uniformly among the placements that do not touch.
#
# Whether output words occur as fillers matters more. If they never do, a model need not look at the trigger at all: the
# one output word in the sentence is the answer. There are two rules, and all pages of this chapter call them by these
# names. *Fillers as in the text* (`"neutral"` in the code) are neither triggers nor outputs. *Outputs as fillers*
# (`"outputs allowed"`) may be outputs too. The choice decides a row of {doc}`table_1_thirteen_models`.

# %%
allowed_task = Task(tokens, triggers, outputs, length, fillers="outputs allowed")
single = sample_sentences(noiseless, count, seeds[7])
allowed = sample_sentences(allowed_task, count, seeds[8])
strange = sample_sentences(noiseless, count, seeds[9], unseen=True)
starts = (single.tokens[:, :-1] == single.trigger[:, None]).int().argmax(dim=1)


# %% [markdown]
# Two things are read off the sentences: their fillers, and whether the output words that are present are $y$ alone.

# %%


def fillers(sentences: Sentences) -> list[torch.Tensor]:
    """The words of a hundred groups of sentences that are no trigger and follow none."""
    at_trigger = sentences.tokens == sentences.trigger[:, None]
    filler = ~at_trigger
    filler[:, 1:] &= ~at_trigger[:, :-1]
    pairs = zip(torch.tensor_split(sentences.tokens, 100), torch.tensor_split(filler, 100), strict=True)
    return [words[kept] for words, kept in pairs]


def presence_names_y(sentences: Sentences) -> torch.Tensor:
    """On which sentences the output words present are y and no other."""
    present = torch.stack([(sentences.tokens == word).any(dim=1) for word in noiseless.output_words], dim=1)
    names_y = present[torch.arange(count), sentences.output - first_output]
    return names_y & (present.sum(dim=1) == 1)


# %% [markdown]
# The words have numbers in the appendix: outputs $y\in[1,4]$ and unseen words $y_{\text{test}}\in[5,59]$. Of the words
# 0 to 59 one is left for a trigger, and the noisy task, which the appendix speaks of there, has one in use. Here
# triggers, outputs, neutral words and $\tau$ are numbered one after another, with the five triggers of Section 5 first.

# %%
left_over = set(range(60)) - set(range(1, 5)) - set(range(5, 60))
neutrals = noiseless.neutral_words
uniform_sampler = {
    "position of (q, y)": p_values(starts, range(length - 2)),
    "fillers as in the text": p_values(fillers(single), neutrals),
    "outputs as fillers": p_values(fillers(allowed), range(triggers, tokens)),
    "outputs on O": p_values(single.output, noiseless.output_words),
    "unseen words on the neutral ones": p_values(strange.output, neutrals),
}
halved = p_values(starts // 2, range(length - 2))
apart = torch.randint(length - 2, (2, count), generator=generator(seeds[6]))
collisions = ((apart[0] - apart[1]).abs() < 2).double().mean()

# %% [markdown]
# As controls, positions are halved, and output words are allowed as fillers.

# %%
claim = Claim("in-context-reasoning/data-sampler")
for name, draws in uniform_sampler.items():
    part = "proof" if name.startswith("position") else "statement"
    claim.equal(f"{name}, uniform: p-value", estimate(draws), 0.5, tolerance=0.2, of=part)
claim.control.equal("positions halved: p-value", estimate(halved), 0.5, tolerance=0.2)
claim.equal("fillers as in the text: presence alone names y, share", presence_names_y(single).double().mean(), 1)
claim.control.at_least(
    "outputs as fillers: presence alone names y, share", presence_names_y(allowed).double().mean(), 0.5
)
claim.number("words that Appendix D.1 leaves for a trigger", len(left_over))
claim.number("two independent positions: share that collide", collisions)
claim.verdict()

# %% [markdown]
# ## What was learned
# The data model is a set of six conditions, each of which does work of its own: $q$ is a trigger, $y$ an output, the
# sentence ends in $q$, and (I), (II) and (III). A sentence that satisfies them gives its output away to whoever looks
# behind the trigger. The sampler of the experiments is a case of it. With fillers as in the text it gives the output
# away in a second manner too: it is the only output word in the sentence.
#
# ## To try
# - Set `noise = 0.8`: the labels change and no sentence does, since the context does not depend on the label.
# - Set `length = 16`: with so few fillers presence alone names $y$ more often, even where outputs may be fillers.
