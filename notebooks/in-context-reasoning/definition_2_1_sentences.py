# %% [markdown]
# # Definition 2.1 · A sentence whose next word was read before
# *Nguyen, Nguyen-Tang: Definition 2.1, Section 2; the sampler of Section 5.*
#
# To test whether a model reasons about a sentence, we need sentences whose next word follows from the words before it.
# This page defines such sentences for the whole chapter. Which conditions make the answer certain, and would we notice
# if one of them were broken?

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
from bookpress.claims import schematic

# %% [markdown]
# ## A tiny example
# Read this sentence and guess the next word:
#
# > red **door** *seven* green **door** $\tau$ lamp **door** → ?

# %%
fig, axis = schematic.canvas(7.0, 1.9)
words = ["red", "door", "seven", "green", "door", "τ", "lamp", "door", "?"]
tops = schematic.tokens(axis, words, at=(0.3, 0.9), lit=[2, 8])
schematic.arrow(axis, tops[7], tops[2], "the word after an earlier door", bend=-0.25)
for place, role in ((1, "trigger q"), (2, "output y"), (4, "trigger q"), (5, "noise"), (7, "trigger q"), (8, "label")):
    schematic.text(axis, (tops[place][0], 0.5), role, schematic.QUIET, 9)
show.figure(
    fig,
    name="sentence",
    caption="The task of the chapter. The arrow leads from the final trigger to the word after an earlier occurrence.",
    alt="Nine boxes: red, door, seven, green, door, tau, lamp, door and a question mark. An arrow leads from the last "
    "door back to seven, which follows the first door.",
)

# %% [markdown]
# We see an arrow from the final *door* to *seven*, the word after an earlier *door*. A model that follows it predicts
# *seven*.
#
# - The final word is the *trigger* $q$. The set of triggers is $\mathcal Q$.
# - The word to copy is the *output* $y$, from the set $\mathcal O$ of outputs. The *bigram* $(q,y)$, a pair of adjacent
#   words, occurs $C\ge1$ times.
# - The *noise word* is $\tau$. Inside the sentence it occurs only after a trigger. The next word, called the *label*,
#   is $\tau$ with probability $\alpha$ and $y$ otherwise. In the *noiseless* task $\alpha=0$, and $\tau$ never occurs.
# - All other words are *fillers*; the tables call them *neutral* words. The sentence has $H$ words $z_1,\dots,z_H$. The
#   vocabulary has $N$ words, not counting $\tau$.
#
# ## The paper states
#
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
# **What is true.** The three conditions apply to $z_{1:H}$. Then $z_{H-1}$ is not a trigger, and $y$ can be read off
# the context.
#
# **What changed.** The definition puts the conditions on $z_{1:H-1}$ and fixes $z_H$ afterwards. This allows
# $z_{H-1}=q$. The trigger then follows itself, and Lemmas 3.1 and 4.1 are false on that sentence.
#
# </blockquote>
# <!-- /claim -->
#
# ## Why it is true
# Suppose that the conditions hold on the whole sentence $z_{1:H}$. Look at any earlier occurrence of the final trigger.
# By (III), the next word there is $y$ or $\tau$, and by (I) it is $y$ at least once. Therefore the context determines
# $y$, whatever the fillers are.
#
# We also check every sentence of six words by computer and find no exception.
#
# ## See it run

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
# We draw noisy sentences with up to three bigrams $(q,y)$ and $(q,\tau)$. Then we break each condition separately, for
# example by placing $\tau$ after a filler.

# %%
copies = torch.randint(1, 4, (count,), generator=generator(seeds[1]))
noise_copies = torch.randint(0, 4, (count,), generator=generator(seeds[2]))
several = sample_sentences(noisy, count, seeds[3], copies, noise_copies)
plain = sample_sentences(noiseless, count, seeds[4], copies)
labels = draw_labels(several, noisy, torch.tensor([noise], dtype=torch.float64), seeds[5])[0]
counted = bigram_count(several.tokens, several.trigger, several.output)
is_noise = labels == noisy.noise_token

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

# %%
show.table(
    ["what is broken", *(condition.partition(":")[0] for condition in conditions)],
    [[name, *shares.values()] for name, shares in seen.items()],
    caption="Fraction of sentences that violate each condition of Definition 2.1.",
)

# %% [markdown]
# In each row we see a 1 under the condition that we broke. The small fractions come from sentences in which we also
# overwrote a word of a bigram.
#
# ## How we checked
# Where we break a condition on purpose, this condition must be violated in every sentence, and no other may be violated
# in every sentence. We also test whether triggers and outputs are uniformly distributed. As a control, we never draw
# one of the outputs.

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

# %%
at_end = breaks["the trigger at H - 1"][0]
kept = several.tokens[:, -3] != several.trigger  # else a bigram of the sentence is overwritten
first = Sentences(at_end.tokens[kept, :-1], several.trigger[kept], several.output[kept])
refused = torch.stack(list(violations(first, noisy).values())).any(dim=0).double().mean()

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
# ## Where the paper differs
# The definition puts its conditions on $z_{1:H-1}$ and adds $z_H=q$ afterwards. This permits *door seven lamp door*
# before a final *door*. One arrow then leads to the trigger itself, and Lemmas 3.1 and 4.1 fail. Throughout the
# chapter, we apply the conditions to $z_{1:H}$.
#
# ## Also on this page
#
# <!-- claim in-context-reasoning/data-sampler -->
# <blockquote>
#
# **Section 5 (The sampler of the experiments)** *Section 5; Appendix D.1*
#
# **The paper states.** Set $N=60$ and $H=256$. Use $Q=5$ trigger words and $O=4$ output words. Sentences are generated
# by picking uniformly at random a position for the bigram $(q,y)$ and a position for the bigram $(q,\tau)$ (if the
# noisy setting). All other words are chosen uniformly at random from the set $[N]\setminus(\mathcal Q\cup\mathcal O)$.
#
# </blockquote>
#
# <blockquote>
#
# **Beyond the paper.** The paper does not say what happens when two positions collide. We draw the positions uniformly
# among those at which the bigrams do not touch. Appendix D.1 has outputs $y\in[1,4]$ and unseen words
# $y_{\text{test}}\in[5,59]$. Of the words 0 to 59, this leaves one, the only trigger of the noisy task. In the test of
# Section 5.2, an unseen word replaces $y$.
#
# </blockquote>
# <!-- /claim -->
#
# The experiments use one bigram $(q,y)$ per sentence and, with noise, one $(q,\tau)$. One choice matters: may fillers
# be outputs? According to the paper's text they may not. A model then need not follow the arrow, because $y$ is the
# only output in the sentence. Our code calls this rule `"neutral"` and the other one `"outputs allowed"`. [What decides
# the experiments](appendix_d_seeds.ipynb) shows which results depend on this choice.

# %%
allowed_task = Task(tokens, triggers, outputs, length, fillers="outputs allowed")
single = sample_sentences(noiseless, count, seeds[7])
allowed = sample_sentences(allowed_task, count, seeds[8])
strange = sample_sentences(noiseless, count, seeds[9], unseen=True)
starts = (single.tokens[:, :-1] == single.trigger[:, None]).int().argmax(dim=1)

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
# <details><summary>Method notes</summary>
#
# We split the sentences into a hundred groups and compute a chi-square test for each. For a uniform distribution, the
# mean p-value is $\frac12$. As a control we halve the positions.
#
# The paper's text does not say what happens when the two bigrams touch or overlap. We draw uniformly among the
# placements in which they do not. Appendix D.1 numbers the words differently: outputs are 1 to 4 and unseen words 5 to
# 59, which leaves a single trigger. We number triggers first, then outputs, fillers and $\tau$.
#
# </details>
#
# ## What to remember
# - The label is the word after an earlier occurrence of the final trigger, or the noise word.
# - Each condition of the task excludes something that the others allow.
# - If fillers are never outputs, the answer is the only output word in the sentence.
#
# ## Exercises
#
# 1. *By hand.* The trigger is *door* and the output *seven*. What is wrong with each sentence? (a) *red door seven
#    green lamp*; (b) *door seven $\tau$ lamp door*; (c) *door seven door green door*.
#    <details><summary>Solution</summary>
#
#    (a) The last word is not the trigger, so $z_H=q$ fails, which is not one of (I) to (III). (b) Condition (II),
#    because $\tau$ follows *seven*. (c) Condition (III), because the trigger is followed by *green*.
#
#    </details>
# 2. *Predict, then run.* Set `noise = 0.8`. What changes in the table?
#    <details><summary>Solution</summary>
#
#    Nothing. The label is drawn after the context and does not influence it. Only the fraction of labels that are
#    $\tau$ grows, from about 0.2 to about 0.8.
#
#    </details>
#
# Next: [Assumption 2.2](model_one_layer.ipynb), because a model needs a code for the word before each position.
