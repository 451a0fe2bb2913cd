"""Sentences with what stacked models share that are trained or measured on them, and where they come from."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import cast

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory._subnormals import subnormals_as_zero
from attention_theory.in_context_reasoning._bigrams import Bigrams
from attention_theory.in_context_reasoning._places import Places
from attention_theory.in_context_reasoning._scales import Kinds
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic, cross_entropy
from attention_theory.in_context_reasoning.model import LayerLogits, Weights, forward
from attention_theory.in_context_reasoning.task import Task, draw_labels, sample_sentences
from attention_theory.in_context_reasoning.variants import Stack
from attention_theory.randomness import Seed, generator

#: Sentences taken at once: what is worked out for so many stays near the processor.
_CHUNK = 256

#: Steps whose sentences are drawn at once.
_BLOCK = 25


class Shared:
    """Sentences, or sets of them, with what stacks share that are trained or measured on them.

    Args:
        tokens: the sentences; of several sets, as for :class:`Places`.
        task: of the sentences.
        dtype: of the models.
        picked: the sentences among which these were picked, and their numbers there; what is known of those is not
            worked out again.
    """

    def __init__(
        self,
        tokens: Int[Tensor, "*sets sentences length"],
        task: Task,
        dtype: torch.dtype,
        picked: "tuple[Shared, Int[Tensor, ' picked']] | None" = None,
    ) -> None:
        self.tokens, self._task, self._dtype, self._picked = tokens, task, dtype, picked

    def pick(self, rows: Int[Tensor, " picked"]) -> "Shared":
        """Some sentences of a single set, by their numbers."""
        return type(self)(self.tokens[rows], self._task, self._dtype, (self, rows))

    @cached_property
    def kinds(self) -> Kinds:
        """The words by the scores that fully reparameterised models give them."""
        if self._picked:
            whole, rows = self._picked
            return whole.kinds.pick(rows)
        return Kinds.count(self.tokens, self._task, self._dtype)

    @cached_property
    def places(self) -> list[Places]:
        """The places of the sentences; a single set is taken in pieces."""
        size = self._task.tokens
        if self.tokens.ndim == 3:
            return [Places(self.tokens, size)]
        pieces = [slice(first, first + _CHUNK) for first in range(0, len(self.tokens), _CHUNK)]
        if not self._picked:
            return [Places(self.tokens[piece], size) for piece in pieces]
        whole, rows = self._picked
        return [Places(self.tokens[piece], size, order=partial(whole.order, rows[piece])) for piece in pieces]

    @cached_property
    def _order(self) -> tuple[Tensor, Tensor]:
        return Places.sort(self.tokens, self._task.tokens)

    def order(self, rows: Int[Tensor, " picked"]) -> tuple[Tensor, Tensor]:
        """The result of :meth:`Places.sort` for some sentences of a single set; all are sorted once."""
        positions, counts = self._order
        return positions.index_select(0, rows), counts.index_select(0, rows)

    def layers(self, stacks: Sequence[Stack]) -> LayerLogits:
        """The logits of both layers of all stacks; what there is for every position is let go."""
        each = [self.kinds.layers(one) if one.trained == "scales" else self._layers(one) for one in stacks]
        return LayerLogits(torch.cat([one.attention for one in each]), torch.cat([one.feed_forward for one in each]))

    def step(self, stack: Stack, labels: Int[Tensor, "runs batch"], arithmetic: Arithmetic) -> None:
        """One step of every run of a stack; of sets, the labels stand as the stacked models do.

        Probabilities of a trained model are subnormal by the thousand, and nothing in a sum. The length of a gradient
        is taken with them, for when it underflows is part of an arithmetic.
        """
        if stack.trained == "scales":
            with subnormals_as_zero():
                of_scales = self.kinds.gradient(stack, labels, arithmetic)
            stack.step_scales(of_scales)
        else:
            with subnormals_as_zero():
                of_weights = self._gradients(stack, labels, arithmetic)
            stack.step(of_weights)

    def _layers(self, stack: Stack) -> LayerLogits:
        passes = [forward(piece, stack.weights, stack.architecture) for piece in self.places]
        attention, feed_forward = zip(*((one.attention, one.feed_forward) for one in passes), strict=True)
        return LayerLogits(torch.cat(attention, dim=-2), torch.cat(feed_forward, dim=-2))

    def _gradients(self, stack: Stack, labels: Int[Tensor, "runs batch"], arithmetic: Arithmetic) -> Weights:
        """The gradients of the loss on a batch whose sentences are taken in pieces, up to a factor for each run."""
        weights, architecture = stack.weights, stack.architecture
        done = [architecture.attend(piece, weights) for piece in self.places]
        logits = [architecture.logits(piece, weights, each) for piece, each in zip(self.places, done, strict=True)]
        loss = cross_entropy(torch.cat(logits, dim=-2), labels, stack.arithmetics(arithmetic))
        errors = loss.error.split([len(piece) for piece in self.places], dim=-2)
        parts = [
            architecture.gradients(piece, weights, each, error * len(piece), stack.trained == "all").matrices
            for piece, each, error in zip(self.places, done, errors, strict=True)
        ]
        for more in parts[1:]:
            for total, part in zip(parts[0], more, strict=True):
                total += part
        return Weights(*parts[0])


class Counted(Shared):
    """The same for linear models with FA alone, on counts of bigrams, which are taken once however long a sentence."""

    @cached_property
    def bigrams(self) -> Bigrams:
        """The bigrams of the sentences."""
        if self._picked:
            whole, rows = cast(tuple[Counted, Tensor], self._picked)
            return whole.bigrams.pick(rows)
        return Bigrams.count(self.tokens, self._task.tokens, self._dtype)

    def _layers(self, stack: Stack) -> LayerLogits:
        return self.bigrams.layers(stack.weights)

    def _gradients(self, stack: Stack, labels: Int[Tensor, "runs batch"], arithmetic: Arithmetic) -> Weights:
        attended = self.bigrams.attend(stack.weights)
        logits = self.bigrams.logits(stack.weights, attended)
        error = cross_entropy(logits, labels, stack.arithmetics(arithmetic)).error
        return self.bigrams.gradients(stack.weights, attended, error, stack.trained == "all")


#: The sentences of a step, with their labels at each noise level; of several sets, the sets in the middle.
Batches = Callable[[int], tuple[Shared, Int[Tensor, "levels *sets batch"]]]


def fresh_batches(
    task: Task,
    levels: list[float],
    batch: int,
    seed: Seed,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Batches:
    """New sentences at every step, for models of a type and on a device: descent on the population loss (Section 5).

    Sentences of several steps are drawn at once, for with small batches most of a draw is spent on calling operations.
    So the steps must come in their order.
    """
    draw = generator(seed)
    noise = torch.tensor(levels, dtype=torch.float64)
    block: list[tuple[Tensor, Int[Tensor, "levels sentences"]]] = []

    def next_batch(step: int) -> tuple[Shared, Int[Tensor, "levels batch"]]:
        if step % _BLOCK == 0:
            drawn = sample_sentences(task, _BLOCK * batch, draw)
            block[:] = [(drawn.tokens, draw_labels(drawn, task, noise, draw))]
        tokens, labels = block[0]
        rows = slice(step % _BLOCK * batch, (step % _BLOCK + 1) * batch)
        return Shared(tokens[rows].to(device), task, dtype), labels[:, rows].to(device)

    return next_batch


def epochs(sentences: Shared, labels: Int[Tensor, "levels sentences"], batch: int, seed: Seed) -> Batches:
    """The same sentences over and over, in a new order each epoch: descent on the empirical loss (Section 5.3)."""
    draw = generator(seed)
    count, device = len(sentences.tokens), sentences.tokens.device
    per_epoch, order = count // batch, torch.empty(0)

    def next_batch(step: int) -> tuple[Shared, Int[Tensor, "levels batch"]]:
        nonlocal order
        if step % per_epoch == 0:
            order = torch.randperm(count, generator=draw).to(device)
        rows = order[step % per_epoch * batch :][:batch]
        return sentences.pick(rows), labels[:, rows]

    return next_batch
