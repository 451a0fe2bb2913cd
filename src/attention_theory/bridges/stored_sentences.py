"""Sentences of the in-context task stored by the construction that memorises (Bridge 4).

The construction requires independent tokens in each context and independent queries. The codes of the in-context model
do not have them: sentences that end alike have the same query. So a word at a place gets a separate random code, and
the query is the mean of the sentence's codes, as a token that has looked at all of them.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Sentences, Task
from attention_theory.memorization.attention import Examples, KeyQueryHeads, Readout, predict
from attention_theory.memorization.construction import build_heads
from attention_theory.memorization.readout import solve_readout
from attention_theory.randomness import Seed, normal, streams
from attention_theory.validation import refuse_unless, require


@dataclass(frozen=True)
class _SentenceStore:
    """A layer that has stored sentences with their next words.

    Attributes:
        codes: of each word at each place.
        heads, readout: the layer.
        residual: the largest miss of a stored label.
    """

    codes: Float[Tensor, "places tokens width"]
    heads: KeyQueryHeads
    readout: Readout
    residual: float

    def outputs(self, tokens: Int[Tensor, "sentences length"]) -> Float[Tensor, "sentences words"]:
        """A number for each word of the vocabulary; the stored labels are 1 at the next word and 0 elsewhere."""
        return predict(self.heads, self.readout, coded(tokens, self.codes))

    def answers(self, tokens: Int[Tensor, "sentences length"]) -> Int[Tensor, " sentences"]:
        """The word with the largest output."""
        return self.outputs(tokens).argmax(dim=1)

    @property
    def parameters(self) -> int:
        """Numbers in keys, queries, values and the two matrices of the read-out."""
        parts = (self.heads.keys, self.heads.queries, self.readout.values, self.readout.output, self.readout.decode)
        return sum(part.numel() for part in parts)


def coded(tokens: Int[Tensor, "sentences length"], codes: Float[Tensor, "places tokens width"]) -> Examples:
    """Sentences as examples: the code of each word at its place, and their mean as the query."""
    contexts = codes[torch.arange(tokens.shape[1], device=codes.device), tokens]
    return Examples(contexts, contexts.mean(dim=1))


def heads_needed(sentences: int, length: int) -> int:
    """H of the construction: ``H (n - 1) + 1`` sentences of n words fit (Theorem 1 on memorization, ``d_h >= n``).

    Raises:
        ParameterError: no sentence, or fewer than 2 words.
    """
    require(sentences=(sentences, 1, None), length=(length, 2, None))
    return max(1, math.ceil((sentences - 1) / (length - 1)))


def store(
    tokens: Int[Tensor, "sentences length"], labels: Int[Tensor, " sentences"], words: int, width: int, seed: Seed
) -> _SentenceStore:
    """Weights that answer each sentence with its label, whatever the labels.

    Args:
        tokens: the sentences, no two alike.
        labels: a word each.
        words: size of the vocabulary.
        width: d, above the length and at least ``words``.
        seed: of codes and construction.

    Raises:
        ParameterError: a width that is too small, or sentences for which the construction fails: two that are alike, or
            some whose codes add up to those of others.
    """
    require(width=(width, max(tokens.shape[1] + 1, words), None))
    for_codes, for_heads = streams(seed, 2)
    codes = normal(tokens.shape[1], words, width, seed=for_codes)
    examples, heads = coded(tokens, codes), heads_needed(len(tokens), tokens.shape[1])
    built = build_heads(examples, heads, tokens.shape[1], for_heads)
    wanted = torch.nn.functional.one_hot(labels, words).to(codes.dtype)
    readout = solve_readout(built.Z, wanted, heads, words)
    residual = (predict(built.heads, readout, examples) - wanted).abs().max().item()
    return _SentenceStore(codes, built.heads, readout, residual)


def understood(sentences: Sentences, task: Task, scale: float = 20.0) -> Int[Tensor, " sentences"]:
    """The answers of the one-layer solution of Lemma 3.1, with linear attention.

    Raises:
        ParameterError: a noisy task, for which that lemma is not.
    """
    refuse_unless(not task.noisy, "task must be noiseless, got a noisy one")
    with torch.device(sentences.tokens.device):
        codes = embedding(task.tokens, 2 * task.tokens)
        scales = torch.full((task.triggers,), scale, dtype=torch.float64)
        weights = reparameterised(task, codes, scales).in_codes(codes)
    return forward(sentences.tokens, weights, Architecture()).logits.argmax(dim=1)


def sentence_count(task: Task) -> int:
    """The sentences of the noiseless task with one bigram: its place, trigger and output, and the fillers.

    Raises:
        ParameterError: a noisy task.
    """
    refuse_unless(not task.noisy, "task must be noiseless, got a noisy one")
    fillers = len(task.filler_words)
    return task.triggers * task.outputs * (task.length - 2) * fillers ** (task.length - 3)
