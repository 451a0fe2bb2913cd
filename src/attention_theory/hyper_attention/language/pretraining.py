"""Training a language model as Tables 1 and 2 say: AdamW, a cosine schedule with warm-up, held-out perplexity."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_theory.data.token_files import Corpus
from attention_theory.hyper_attention.language._stacked import StackedModels
from attention_theory.hyper_attention.language.language_model import LanguageModel
from attention_theory.randomness import generator
from attention_theory.validation import refuse_unless, require, require_some


@dataclass(frozen=True)
class Training:
    """Settings shared by every model of a table.

    Printed: the steps, the tokens of a batch, the largest rate and its fall to a tenth. The rest is GPT-3's.

    Attributes:
        steps: gradient steps.
        batch: sequences in a step.
        window: tokens in a sequence.
        lr: the largest learning rate; the last is a tenth of it.
        warm_up: steps over which the rate rises from 0.
        micro_batch: sequences of each model held at once; the gradients of a step are summed over them.
        evaluate_every: steps between two validations.
        validation_windows: windows that a validation is taken on, the same each time.
        weight_decay: of the matrices.
        betas: decay of AdamW's averages.
        clip: the largest norm of a gradient.

    Raises:
        ParameterError: a number below 1, a negative rate, a longer warm-up than the training, or a larger micro-batch
            than the batch.
    """

    steps: int
    batch: int
    window: int
    lr: float
    warm_up: int
    micro_batch: int
    evaluate_every: int
    validation_windows: int
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    clip: float = 1.0

    def __post_init__(self) -> None:
        require(
            steps=(self.steps, 1, None),
            batch=(self.batch, 1, None),
            window=(self.window, 1, None),
            lr=(self.lr, 0.0, None),
            evaluate_every=(self.evaluate_every, 1, None),
            validation_windows=(self.validation_windows, 1, None),
        )
        require(warm_up=(self.warm_up, 0, self.steps), micro_batch=(self.micro_batch, 1, self.batch))

    def rate_at(self, step: int) -> float:
        """Linear up to the largest rate, then half a cosine down to a tenth of it at the last step (Table 1)."""
        if step < self.warm_up:
            return self.lr * (step + 1) / self.warm_up
        share = (step - self.warm_up) / max(1, self.steps - 1 - self.warm_up)
        return self.lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * share)))


@dataclass(frozen=True)
class Course:
    """Validation losses in nats a token, at the start, at every evaluation and at the end (Section 7.2).

    Attributes:
        steps: the steps taken before each validation.
        losses: the mean over all tokens, at each.
        by_place: at the end, the mean over the tokens at each place of a window: with so many tokens before them.
    """

    steps: list[int]
    losses: list[float]
    by_place: list[float]

    @property
    def perplexity(self) -> float:
        """``e^loss`` at the last evaluation, as the tables give it."""
        return math.exp(self.losses[-1])


def _pretrain(
    kinds: Sequence[Sequence[LanguageModel]],
    corpus: Corpus,
    training: Training,
    seeds: Sequence[int],
    device: torch.device | str = "cpu",
) -> list[list[Course]]:
    """Train models side by side, each as the caption of Table 1 says: their courses, kind by kind.

    The models are stacked: one step moves all of them, and none feels another, since gradients are clipped model by
    model and AdamW works entry by entry. Equal seeds draw equal batches, which every kind gets.

    Args:
        kinds: tokens to logits, one model per seed of a kind. Those of a kind are alike except for their weights,
            which are left as they are; kinds differ in their attention blocks alone.
        corpus: batches are drawn from its training tokens, losses taken on the others.
        training: the settings.
        seeds: of the batches.
        device: where the models and their batches are.

    Raises:
        ParameterError: no kind, no model, or not one model of each kind for each seed.
    """
    require_some(kinds=kinds)
    for models in kinds:
        refuse_unless(
            len(seeds) == len(models), f"seeds must be one for each of {len(models)} models, got {len(seeds)}"
        )
    draws = [generator(seed) for seed in seeds]
    stack = StackedModels(kinds).to(device)
    matrices, vectors = stack.decayed()
    groups = [{"params": matrices, "weight_decay": training.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=training.lr, betas=training.betas, fused=True)
    held_out = corpus.validation.every_window(training.window, training.validation_windows)
    marks, history = [0], [_evaluate(stack, *held_out, training.micro_batch)]
    for step in range(training.steps):
        for group in optimiser.param_groups:
            group["lr"] = training.rate_at(step)
        optimiser.zero_grad(set_to_none=True)
        drawn = [corpus.train.windows(training.batch, training.window, draw) for draw in draws]
        inputs, targets = (torch.stack(part).repeat(len(kinds), 1, 1).to(device) for part in zip(*drawn, strict=True))
        for part in torch.arange(training.batch).split(training.micro_batch):
            losses = _losses(stack, inputs[:, part], targets[:, part])
            (losses.mean(dim=(1, 2)).sum() * (len(part) / training.batch)).backward()
        _clip(stack, training.clip)
        optimiser.step()
        if (step + 1) % training.evaluate_every == 0 or step + 1 == training.steps:
            marks.append(step + 1)
            history.append(_evaluate(stack, *held_out, training.micro_batch))
    means, last = torch.stack(history).mean(dim=-1).T.tolist(), history[-1].tolist()
    courses = [Course(marks, losses, by_place) for losses, by_place in zip(means, last, strict=True)]
    return [courses[start : start + len(seeds)] for start in range(0, len(courses), len(seeds))]


def _clip(stack: StackedModels, largest: float) -> None:
    """Scale the gradient of every model down to norm ``largest`` where it is longer."""
    for kind in range(stack.kinds):
        gradients = [value.grad[place] for value, place in stack.of_kind(kind) if value.grad is not None]
        squared = torch.stack([gradient.flatten(1).square().sum(dim=1) for gradient in gradients]).sum(dim=0)
        factor = (largest / (squared.sqrt() + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.reshape(-1, *[1] * (gradient.ndim - 1)))


def train_table(
    models: Mapping[str, Callable[[int], nn.Module]],
    width: int,
    layers: int,
    corpus: Corpus,
    training: Training,
    seeds: Sequence[int],
    device: torch.device | str = "cpu",
) -> dict[str, list[Course]]:
    """Train the models of Table 1 or 2, each around its attention block, in one pass; equal seeds see equal batches.

    Args:
        models: attention blocks by name, as :data:`TABLE_1` of :mod:`language_model`.
        width: the features of a token.
        layers: the depth of every model.
        corpus: training and validation tokens.
        training: the settings.
        seeds: of weights and batches.
        device: where the models are.
    """
    vocabulary, window = corpus.train.vocabulary, training.window
    kinds = [
        [LanguageModel(vocabulary, window, width, attention, layers, seed) for seed in seeds]
        for attention in models.values()
    ]
    return dict(zip(models, _pretrain(kinds, corpus, training, seeds, device), strict=True))


def gaps(courses: Sequence[Course], others: Sequence[Course]) -> list[float]:
    """The last loss of a model less that of another, seed by seed, in nats; negative where the first is better.

    Equal seeds see equal batches, so the runs are pairs: the noise is the spread of the gaps, not that of the losses.
    Tables 1 and 2 give one number per model.

    Raises:
        ParameterError: not equally many runs of both.
    """
    refuse_unless(len(others) == len(courses), f"others must be as many as courses, {len(courses)}, got {len(others)}")
    return [ours.losses[-1] - theirs.losses[-1] for ours, theirs in zip(courses, others, strict=True)]


@torch.no_grad()
def _evaluate(
    stack: StackedModels,
    inputs: Int[Tensor, "windows length"],
    targets: Int[Tensor, "windows length"],
    micro_batch: int,
) -> Float[Tensor, "models length"]:
    """Mean loss over the windows at each of their places, in nats: the logarithm of the perplexity of Section 7.2.

    Args:
        stack: the models.
        inputs: tokens, the same for every model.
        targets: the token after each.
        micro_batch: windows taken at once.
    """
    models, device = len(stack.tokens), stack.tokens.device
    total = torch.zeros(models, inputs.shape[1])
    for some, wanted in zip(inputs.split(micro_batch), targets.split(micro_batch), strict=True):
        shared = (some.to(device).expand(models, -1, -1), wanted.to(device).expand(models, -1, -1))
        total += _losses(stack, *shared).sum(dim=1).cpu()
    return total / len(inputs)


def _losses(stack: StackedModels, inputs: Tensor, targets: Tensor) -> Float[Tensor, "models windows length"]:
    logits = stack(inputs).flatten(0, 1)
    return nn.functional.cross_entropy(logits, targets.flatten(), reduction="none").reshape(targets.shape)


def unigram_loss(corpus: Corpus) -> float:
    """Nats a token for a model that knows how often each token comes and nothing else; one is added to every count.

    What the models of Section 7.2 have to beat.
    """
    counts = torch.ones(corpus.train.vocabulary, dtype=torch.float64)
    for shard in corpus.train.shards:
        counts += torch.bincount(torch.as_tensor(shard.astype("int64")), minlength=corpus.train.vocabulary)
    log_share = (counts / counts.sum()).log()
    losses = [-log_share[torch.as_tensor(shard.astype("int64"))].sum() for shard in corpus.validation.shards]
    return (sum(losses) / len(corpus.validation)).item()  # type: ignore[union-attr]


def bigram_loss(corpus: Corpus, pseudo_count: float = 0.05) -> float:
    """Nats a token for a table that counts how often each token follows each other one: no layer, nothing learned.

    Each count begins at ``pseudo_count``. A model without attention sees one token, so it cannot do much better: a
    baseline for Tables 1 and 2.

    Raises:
        ParameterError: a pseudo-count that is not positive.
    """
    require(pseudo_count=(pseudo_count, 1e-12, None))
    size = corpus.train.vocabulary
    counts = torch.full((size * size,), pseudo_count, dtype=torch.float64)
    for shard in corpus.train.shards:
        tokens = torch.as_tensor(shard.astype("int64"))
        counts += torch.bincount(tokens[:-1] * size + tokens[1:], minlength=size * size)
    log_share = (counts.reshape(size, size) / counts.reshape(size, size).sum(dim=1, keepdim=True)).log().flatten()
    total, pairs = 0.0, 0
    for shard in corpus.validation.shards:
        tokens = torch.as_tensor(shard.astype("int64"))
        total -= log_share[tokens[:-1] * size + tokens[1:]].sum().item()
        pairs += len(tokens) - 1
    return total / pairs
