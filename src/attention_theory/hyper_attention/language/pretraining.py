"""Training a language model as Tables 1 and 2 say: AdamW, a cosine schedule with warm-up, held-out perplexity."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from scipy.special import stdtrit
from torch import Tensor, nn

from attention_theory.data.token_files import Corpus
from attention_theory.hyper_attention.language.language_model import LanguageModel
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require


@dataclass(frozen=True)
class Training:
    """What is fixed for every model of a table.

    Printed: the steps, the tokens of a batch, the largest rate and its fall to a tenth. The rest is GPT-3's.

    Attributes:
        steps: gradient steps.
        batch: sequences in a step.
        window: tokens in a sequence.
        rate: the largest learning rate; the last is a tenth of it.
        warm_up: steps over which the rate rises from 0.
        micro_batch: sequences held at once; the gradients of a step are summed over them.
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
    rate: float
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
            rate=(self.rate, 0.0, None),
            warm_up=(self.warm_up, 0, self.steps),
            micro_batch=(self.micro_batch, 1, self.batch),
            evaluate_every=(self.evaluate_every, 1, None),
            validation_windows=(self.validation_windows, 1, None),
        )

    def rate_at(self, step: int) -> float:
        """Linear up to the largest rate, then half a cosine down to a tenth of it at the last step (Table 1)."""
        if step < self.warm_up:
            return self.rate * (step + 1) / self.warm_up
        share = (step - self.warm_up) / max(1, self.steps - 1 - self.warm_up)
        return self.rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * share)))


@dataclass(frozen=True)
class Course:
    """Validation losses in nats a token, at the start, at every evaluation and at the end (Section 7.2)."""

    steps: list[int]
    losses: list[float]

    @property
    def perplexity(self) -> float:
        """``e^loss`` at the last evaluation, as the tables give it."""
        return math.exp(self.losses[-1])


def pretrain(
    model: nn.Module, corpus: Corpus, training: Training, seed: Seed, device: torch.device | str = "cpu"
) -> Course:
    """Train a model in place, as the caption of Table 1 says. Equal seeds give every model the same batches.

    Args:
        model: tokens to logits.
        corpus: batches are drawn from its training tokens, losses taken on the others.
        training: the settings.
        seed: of the batches.
        device: where the model and its batches are.
    """
    draw = generator(seed)
    model.to(device)
    matrices = [value for value in model.parameters() if value.ndim > 1]
    vectors = [value for value in model.parameters() if value.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": training.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=training.rate, betas=training.betas, fused=True)
    held_out = corpus.validation.every_window(training.window, training.validation_windows)
    steps, losses = [0], [evaluate(model, *held_out, training.micro_batch, device)]
    for step in range(training.steps):
        for group in optimiser.param_groups:
            group["lr"] = training.rate_at(step)
        optimiser.zero_grad(set_to_none=True)
        inputs, targets = corpus.train.windows(training.batch, training.window, draw)
        for part in torch.arange(training.batch).split(training.micro_batch):
            loss = _loss(model, inputs[part].to(device), targets[part].to(device))
            (loss * len(part) / training.batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), training.clip)
        optimiser.step()
        if (step + 1) % training.evaluate_every == 0 or step + 1 == training.steps:
            steps.append(step + 1)
            losses.append(evaluate(model, *held_out, training.micro_batch, device))
    return Course(steps, losses)


def train_table(
    models: Mapping[str, Callable[[int], nn.Module]],
    width: int,
    layers: int,
    corpus: Corpus,
    training: Training,
    seeds: Sequence[int],
    device: torch.device | str = "cpu",
) -> dict[str, list[Course]]:
    """Train the models of Table 1 or 2, each around its attention block; equal seeds see equal batches.

    Args:
        models: attention blocks by name, as :data:`TABLE_1` of :mod:`language_model`.
        width: the features of a token.
        layers: the depth of every model.
        corpus: training and validation tokens.
        training: the settings.
        seeds: of weights and batches.
        device: where the models are.
    """
    return {
        name: [
            pretrain(
                LanguageModel(corpus.train.vocabulary, training.window, width, attention, layers, seed),
                corpus,
                training,
                seed,
                device,
            )
            for seed in seeds
        ]
        for name, attention in models.items()
    }


@dataclass(frozen=True)
class Gap:
    """The last loss of a model less that of another, seed by seed, in nats; negative where the first is better.

    Equal seeds see equal batches, so the runs are pairs: the noise is the spread of the gaps, not that of the losses.
    (Tables 1 and 2 give one number a model.)
    """

    by_seed: list[float]

    @property
    def mean(self) -> float:
        return sum(self.by_seed) / len(self.by_seed)

    @property
    def half_width(self) -> float:
        """Half the 95% interval of the mean, Student's t for the paired gaps.

        Raises:
            ParameterError: fewer than two gaps.
        """
        require(seeds=(len(self.by_seed), 2, None))
        seeds = len(self.by_seed)
        return float(stdtrit(seeds - 1, 0.975)) * statistics.stdev(self.by_seed) / math.sqrt(seeds)

    @property
    def is_beyond_noise(self) -> bool:
        """Whether 0 is outside the 95% interval of the mean."""
        return abs(self.mean) > self.half_width


def gap(courses: Sequence[Course], others: Sequence[Course]) -> Gap:
    """Compare two models of Table 1 or 2 that were trained from the same seeds."""
    last = [[course.losses[-1] for course in some] for some in (courses, others)]
    return Gap([ours - theirs for ours, theirs in zip(*last, strict=True)])


@torch.no_grad()
def evaluate(
    model: nn.Module,
    inputs: Int[Tensor, "windows length"],
    targets: Int[Tensor, "windows length"],
    micro_batch: int,
    device: torch.device | str = "cpu",
) -> float:
    """Mean loss over the windows, in nats a token: the logarithm of the perplexity of Section 7.2."""
    total = 0.0
    for some, wanted in zip(inputs.split(micro_batch), targets.split(micro_batch), strict=True):
        total += _loss(model, some.to(device), wanted.to(device)).item() * len(some)
    return total / len(inputs)


def _loss(model: nn.Module, inputs: Tensor, targets: Tensor) -> Float[Tensor, ""]:
    return nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


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
