"""The data model of Definition 2.1: sentences that hide one (trigger, output) bigram, and the check that they do."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_theory.randomness import Seed, generator
from attention_theory.validation import Each, ParameterError, refuse_unless, require


@dataclass(frozen=True)
class Task:
    """The vocabulary and the length of the sentences (Definition 2.1; sizes of Section 5).

    Tokens are numbered: the triggers first, then the outputs, then the neutral words, and, if the task is noisy, the
    noise token τ last. A noisy task uses its first trigger only (Section 4).

    Attributes:
        tokens: size of the vocabulary, the noise token among them.
        triggers: size of Q.
        outputs: size of O.
        length: H, words in the context.
        noisy: whether sentences hold the noise token.
        fillers: the words around the bigrams: ``neutral`` ones alone, as Section 5 states, or also outputs.

    Raises:
        ParameterError: a size below its least, or words that do not fit into the vocabulary.
    """

    tokens: int = 60
    triggers: int = 5
    outputs: int = 4
    length: int = 256
    noisy: bool = False
    fillers: Literal["neutral", "outputs allowed"] = "neutral"

    def __post_init__(self) -> None:
        require(
            triggers=(self.triggers, 1, None),
            outputs=(self.outputs, 1, None),
            length=(self.length, 4, None),
            fillers=(self.fillers, {"neutral", "outputs allowed"}),
        )
        require(tokens=(self.tokens, self.triggers + self.outputs + 1 + self.noisy, None))

    @property
    def noise_token(self) -> int:
        """τ. A task without noise has none and says -1, which no token is."""
        return self.tokens - 1 if self.noisy else -1

    @property
    def used_triggers(self) -> int:
        return 1 if self.noisy else self.triggers

    @property
    def output_words(self) -> range:
        return range(self.triggers, self.triggers + self.outputs)

    @property
    def neutral_words(self) -> range:
        return range(self.triggers + self.outputs, self.tokens - self.noisy)

    @property
    def filler_words(self) -> range:
        first = self.neutral_words.start if self.fillers == "neutral" else self.output_words.start
        return range(first, self.neutral_words.stop)


@dataclass(frozen=True)
class Sentences:
    """Contexts ``z_1 ... z_H`` with the trigger and the output word that each of them hides (Definition 2.1)."""

    tokens: Int[Tensor, "sentences length"]
    trigger: Int[Tensor, " sentences"]
    output: Int[Tensor, " sentences"]

    def pick(self, rows: Tensor | slice) -> "Sentences":
        """Some of the sentences, by their numbers or by a mask."""
        return Sentences(self.tokens[rows], self.trigger[rows], self.output[rows])

    def to(self, device: torch.device | str) -> "Sentences":
        """The same sentences on another device."""
        return Sentences(self.tokens.to(device), self.trigger.to(device), self.output.to(device))

    def exchange(self, word: int) -> "Sentences":
        """The same sentences with the output word of each and ``word`` exchanged."""
        output = self.output[:, None]
        tokens = torch.where(self.tokens == output, word, torch.where(self.tokens == word, output, self.tokens))
        return Sentences(tokens, self.trigger, torch.full_like(self.output, word))


def sample_sentences(
    task: Task,
    count: int,
    seed: Seed,
    copies: int | Int[Tensor, " count"] = 1,
    noise_copies: int | Int[Tensor, " count"] = 1,
    unseen: bool = False,
) -> Sentences:
    """Sentences with ``copies`` bigrams (q, y) and, if noisy, ``noise_copies`` bigrams (q, τ), placed at random.

    The bigrams lie anywhere without touching, every placement as likely as any other. They end before the last
    word but one or at it, so that ``z_{H-1}`` is no trigger. ``unseen`` takes the output among the neutral words
    (Theorems 3.3 and 4.4). Source: Section 5.

    Raises:
        ParameterError: no sentence, a number of bigrams that is none, or more of them than a sentence holds.
    """
    draw = generator(seed)
    require(count=(count, 1, None))
    wanted = _numbers("copies", copies, 1, count).to(draw.device)
    noise = _numbers("noise_copies", noise_copies, 0, count).to(draw.device) if task.noisy else torch.zeros_like(wanted)
    most = int((wanted + noise).max())
    room = (task.length - 1) // 2
    refuse_unless(
        1 <= most <= room,
        f"copies must be at least 1 and, with noise_copies, at most {room} in a sentence of {task.length} words, "
        f"got {most}",
    )

    trigger = torch.randint(task.used_triggers, (count,), generator=draw, device=draw.device)
    output = _pick(task.neutral_words if unseen else task.output_words, (count,), draw)
    tokens = _pick(task.filler_words, (count, task.length), draw)
    starts, used = _places(task.length, wanted + noise, most, draw)
    for place in range(most):
        rows = used[place].nonzero().squeeze(1)
        start = starts[place, rows]
        tokens[rows, start] = trigger[rows]
        tokens[rows, start + 1] = torch.where(place < wanted, output, task.noise_token)[rows]
    tokens[:, -1] = trigger
    return Sentences(tokens, trigger, output)


def draw_labels(
    sentences: Sentences, task: Task, noise: Float[Tensor, " levels"], seed: Seed
) -> Int[Tensor, "levels sentences"]:
    """The next word ``z_{H+1}`` at each noise level α: τ with probability α, else the output word.

    One uniform number decides a sentence at every level, so that the levels can be compared.

    Raises:
        ParameterError: a level outside [0, 1), or above 0 in a task without a noise token.
    """
    below_one = 1 - 2**-53
    require(noise=(Each(noise), 0.0, below_one if task.noisy else 0.0))
    draw = generator(seed)
    uniform = torch.rand(len(sentences.output), generator=draw, dtype=torch.float64, device=draw.device)
    is_noise = uniform.to(sentences.output.device) < noise.to(sentences.output.device)[:, None]
    return torch.where(is_noise, task.noise_token, sentences.output)


def bigram_count(
    tokens: Int[Tensor, "sentences length"], first: Int[Tensor, " sentences"], second: Int[Tensor, " sentences"]
) -> Int[Tensor, " sentences"]:
    """``C`` of Section 3: how often ``second`` follows ``first`` in each sentence."""
    return ((tokens[:, :-1] == first[:, None]) & (tokens[:, 1:] == second[:, None])).sum(dim=1)


def violations(sentences: Sentences, task: Task, unseen: bool = False) -> dict[str, Bool[Tensor, " sentences"]]:
    """The sentences that break each condition of Definition 2.1, by the condition's name.

    ``unseen`` takes the output to be among the neutral words instead of O (Theorems 3.3 and 4.4).
    """
    tokens, trigger, output = sentences.tokens, sentences.trigger, sentences.output
    outputs = task.neutral_words if unseen else task.output_words
    before, after = tokens[:, :-1], tokens[:, 1:]
    is_noise = tokens == task.noise_token
    allowed = (before == trigger[:, None]) & ((after == output[:, None]) | (after == task.noise_token))
    return {
        "the trigger is one of Q": (trigger < 0) | (trigger >= task.triggers),
        "the output is one of O": (output < outputs.start) | (output >= outputs.stop),
        "ends in its trigger": tokens[:, -1] != trigger,
        "I: the (trigger, output) bigram occurs": bigram_count(tokens, trigger, output) == 0,
        "II: the noise token follows the trigger alone": is_noise[:, 0]
        | (is_noise[:, 1:] & (before != trigger[:, None])).any(dim=1),
        "III: no other word follows a trigger": ((before < task.triggers) & ~allowed).any(dim=1),
    }


def recover_output(tokens: Int[Tensor, "sentences length"], task: Task) -> Int[Tensor, " sentences"]:
    """The output word read off the context alone (Definition 2.1): the one word but τ that follows the trigger.

    Raises:
        ParameterError: a sentence in which no word but τ follows its last word.
    """
    follows = (tokens[:, :-1] == tokens[:, -1:]) & (tokens[:, 1:] != task.noise_token)
    if not bool(follows.any(dim=1).all()):
        raise ParameterError("tokens must hold a (trigger, output) bigram in every sentence")
    return tokens[:, 1:].gather(1, follows.int().argmax(dim=1, keepdim=True)).squeeze(1)


def _numbers(name: str, given: int | Tensor, least: int, count: int) -> Int[Tensor, " count"]:
    """One whole number a sentence, from one for all or one for each."""
    numbers = torch.as_tensor(given)
    if numbers.is_floating_point() or numbers.dtype is torch.bool:
        raise ParameterError(f"{name} must be integers, got {numbers.dtype}")
    refuse_unless(
        numbers.ndim == 0 or len(numbers) == count, f"{name} must be one number or {count}, got {numbers.numel()}"
    )
    least_number = int(numbers.min())
    refuse_unless(least_number >= least, f"{name} must be whole numbers, at least {least}, got {least_number}")
    return numbers.expand(count)


def _pick(words: range, shape: tuple[int, ...], draw: torch.Generator) -> Int[Tensor, "..."]:
    return torch.randint(words.start, words.stop, shape, generator=draw, device=draw.device)


def _places(
    length: int, bigrams: Int[Tensor, " sentences"], most: int, draw: torch.Generator
) -> tuple[Int[Tensor, "most sentences"], Bool[Tensor, "most sentences"]]:
    """Starts of bigrams that do not touch: each in turn goes into one of the gaps between words and earlier bigrams.

    All gaps are as likely, so all placements are. ``found`` counts what stands before a bigram, a bigram as one; those
    at or behind a gap that is filled move on by one. Also whether a sentence has so many bigrams.
    """
    used = torch.arange(most, device=draw.device)[:, None] < bigrams
    share = torch.rand(most, len(bigrams), generator=draw, device=draw.device, dtype=torch.float64)
    others = length - 1 - 2 * bigrams  # the words of no bigram, but the last
    found = torch.full_like(share, length, dtype=torch.int64)
    for place in range(most):
        gap = (share[place] * (others + place + 1)).long().masked_fill_(~used[place], length)
        found[:place] += found[:place] >= gap
        found[place] = gap
    return found + (found < found[:, None]).sum(dim=1), used
