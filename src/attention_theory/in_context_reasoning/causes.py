"""Four questions that decide the cells of Table 1, and the measurements that answer them.

Our own reading: the paper gives a reason for the softmax models and a hint on what the feed-forward layer sees
(Section 5.1), and leaves open why words that were never outputs are lost (Section 5.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.in_context_reasoning._places import Places
from attention_theory.in_context_reasoning.batches import fresh_batches
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Architecture, Weights, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.table_1 import Cells
from attention_theory.in_context_reasoning.task import Sentences, Task
from attention_theory.in_context_reasoning.variants import VARIANTS, TrainingRun, Variant, stacks
from attention_theory.randomness import Seed
from attention_theory.validation import Each, require


@dataclass(frozen=True)
class Answers:
    """The answers that decide a row of Table 1."""

    leaves: bool  # descent from zero moves W
    grows: bool  # the logit of the output can grow without bound
    follows: bool  # the logit of τ can rise with it
    alike: bool  # a word that was never an output is treated as an output is

    @property
    def cells(self) -> Cells:
        """The row that the answers predict."""
        optimal = self.leaves and self.grows
        return Cells(optimal, self.alike, optimal and self.follows, self.alike)


@dataclass(frozen=True)
class _Descent:
    """A short training: the norms of the loss's gradients in V, W, F before each step, and the weights at the end."""

    gradient_norms: Float[Tensor, "steps 3"]
    architecture: Architecture
    weights: Weights


def descend_from_zero(
    names: Sequence[str], task: Task, noise: float, lr: float, steps: int, batch: int, seed: Seed
) -> dict[str, _Descent]:
    """Normalised descent of Table 1's models on fresh sentences (Section 5), with exact gradients.

    Raises:
        ParameterError: a name that is none of the models, or a number out of range.
    """
    require(names=(Each(names), VARIANTS), steps=(steps, 1, None), batch=(batch, 1, None))
    group = stacks([TrainingRun(VARIANTS[name], noise, lr) for name in names], task)
    batches = fresh_batches(task, [noise], batch, seed)
    norms: list[list[Tensor]] = [[] for _ in group]
    for step in range(steps):
        sentences, labels = batches(step)
        places = Places(sentences.tokens, task.tokens)
        for stack, of_stack in zip(group, norms, strict=True):
            done = stack.architecture.attend(places, stack.weights)
            logits = stack.architecture.logits(places, stack.weights, done)
            loss = cross_entropy(logits, labels[stack.rows([noise])])
            error = loss.error * loss.log_scale.exp()[..., None, None]
            gradient = stack.architecture.gradients(places, stack.weights, done, error)
            of_stack.append(torch.stack([each.flatten(1).norm(dim=1) for each in gradient.matrices], dim=-1))
            stack.step(gradient)
    return {
        run.variant.name: _Descent(
            torch.stack(of_stack)[:, index],
            run.variant.architecture(stack.architecture.relu_shift),
            Weights(*(each[index] for each in stack.weights.matrices)),
        )
        for stack, of_stack in zip(group, norms, strict=True)
        for index, run in enumerate(stack.runs)
    }


def best_known(variant: Variant, task: Task, scale: float, noise: float = 0.0) -> Weights:
    """The best weights known for a model, in the codes: those of Lemmas 3.1 and 4.1 at λ = ``scale``.

    Where V is trained it takes two things upon itself: under softmax attention it is ``scale`` times as large, and
    where the feed-forward layer sees ``x_H`` alone, V turns the trigger that was attended into τ in its place.

    Raises:
        ParameterError: α not strictly between 0 and 1 in a noisy task.
    """
    codes = embedding(task.tokens, 2 * task.tokens)
    gamma = odds(noise) if task.noisy else 0.0
    scales = torch.full((task.used_triggers,), scale, dtype=torch.float64)
    made = reparameterised(task, codes, scales, gamma).in_codes(codes)
    if variant.trained != "all":
        return made
    value, last = made.value.clone(), made.feed_forward.clone()
    if task.noisy and not variant.full_input:
        value[task.noise_token, task.tokens] = 1.0
        last[:, task.tokens] = 0.0
    if variant.attention == "softmax":
        value *= scale
        last[:, task.tokens] *= scale
    return Weights(value, made.query_key, last)


def logits_at(
    sentences: Sentences, weights: Weights, architecture: Architecture, noise_token: int | None = None
) -> Float[Tensor, " sentences"]:
    """The logit of each sentence's output word, or that of τ where its number is given."""
    logits = forward(sentences.tokens, weights, architecture).logits
    words = sentences.output if noise_token is None else torch.full_like(sentences.output, noise_token)
    return logits.gather(-1, words[:, None]).squeeze(-1)
