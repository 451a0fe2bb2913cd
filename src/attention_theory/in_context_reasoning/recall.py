"""The one-layer transformer of Eq. (1) as a ``torch.nn`` module: drawn, trained, or with the weights of the lemmas."""

from typing import Any, Literal, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from attention_theory.in_context_reasoning._places import Places
from attention_theory.in_context_reasoning.batches import Batches, Shared, epochs, fresh_batches
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Activation, Architecture, Weights, forward
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Task
from attention_theory.in_context_reasoning.variants import Stack, TrainingRun, Variant
from attention_theory.randomness import Seed, streams
from attention_theory.validation import ParameterError, refuse_unless, require, require_shape

#: Added to the scores within ReLU, which never leaves a zero start without it.
_RELU_SHIFT = 1e-8


class InContextRecall(nn.Module):
    """Predict the word that followed the last word when it came before: Eq. (1), one layer of attention and one more.

    Inputs are whole numbers, ``(..., length)``, and outputs logits, ``(..., tokens)``. Sentences may be of any length.
    There are no masks: the last word is the only query, which sees every word, and a filler would be a word too.
    Weights start at zero, from which the paper trains. They are kept in the codes of a word and of the word before it,
    which are orthonormal (Assumption 2.2).

    >>> from attention_theory.nn import InContextRecall
    >>> import torch
    >>> layer = InContextRecall.closed_form(tokens=8, triggers=2, outputs=2, length=12)
    >>> layer(torch.tensor([0, 3, 5, 6, 1, 2, 7, 0])).argmax()
    tensor(3)

    Args:
        tokens: N, the size of the vocabulary: triggers first, then outputs, neutral words and, with noise, τ.
        triggers: the words after which the output comes.
        outputs: the words that may come after a trigger.
        length: the words in a sentence that :meth:`fit` draws.
        noise: α, the fraction of labels that are the noise token τ; 0 for a task without one (Section 4).
        fillers: the words around the bigrams that :meth:`fit` draws.
        attention: what becomes of the scores, σ of Eq. (1).
        full_input: the feed-forward layer sees the attended sum too, and not the last word alone.

    Raises:
        ParameterError: a size below its least, words that do not fit into the vocabulary, noise outside [0, 1).
    """

    def __init__(
        self,
        tokens: int = 60,
        triggers: int = 5,
        outputs: int = 4,
        length: int = 256,
        noise: float = 0.0,
        *,
        fillers: Literal["neutral", "outputs allowed"] = "neutral",
        attention: Activation = "linear",
        full_input: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require(noise=(noise, 0.0, 1 - 2**-53))
        self.task, self.noise = Task(tokens, triggers, outputs, length, noise > 0, fillers), noise
        self.full_input = full_input
        self.architecture = Architecture(attention, float(full_input), _RELU_SHIFT)

        def matrix(rows: int) -> nn.Parameter:
            return nn.Parameter(torch.zeros(rows, 2 * tokens, device=device, dtype=dtype))

        self.value, self.query_key, self.feed_forward = matrix(tokens), matrix(2 * tokens), matrix(tokens)

    @classmethod
    def closed_form(cls, scale: float = 20.0, **options: Any) -> Self:
        """The layer with the weights of Lemma 3.1, or of Lemma 4.1 with noise.

        Args:
            scale: λ of every trigger. The loss falls to the Bayes risk as it grows.
            options: as for the class.

        Raises:
            ParameterError: a negative or infinite scale, and as for the class.
        """
        require(scale=(scale, 0.0, None))
        layer = cls(**options)
        task, codes = layer.task, embedding(layer.task.tokens, 2 * layer.task.tokens)
        scales = torch.full((task.used_triggers,), scale, dtype=torch.float64)
        weights = reparameterised(task, codes, scales, odds(layer.noise) if task.noisy else 0.0)
        layer._copy(weights.in_codes(codes))
        return layer

    @property
    def weights(self) -> Weights:
        """V, W and F in the codes, as the functions of this paper take them."""
        return Weights(self.value, self.query_key, self.feed_forward)

    def reset_parameters(self) -> None:
        """Set all weights to zero."""
        for matrix in self.parameters():
            nn.init.zeros_(matrix)

    def forward(self, tokens: Int[Tensor, "... length"]) -> Float[Tensor, "... tokens"]:
        """The logits of the next word.

        Raises:
            ParameterError: fewer than two words, or words that are not whole numbers.
        """
        if tokens.ndim == 0 or tokens.shape[-1] < 2:
            raise ParameterError(f"tokens must have shape [..., at least 2], got {list(tokens.shape)}")
        if tokens.is_floating_point() or tokens.dtype == torch.bool:
            raise ParameterError(f"tokens must be whole numbers, got {tokens.dtype}")
        rows = tokens.reshape(-1, tokens.shape[-1]).long()
        logits = forward(_LookUps(rows, self.task.tokens), self.weights, self.architecture).logits
        return logits.reshape(*tokens.shape[:-1], self.task.tokens)

    def fit(
        self,
        tokens: Int[Tensor, "sentences length"] | None = None,
        labels: Int[Tensor, " sentences"] | None = None,
        *,
        steps: int = 200,
        lr: float = 0.1,
        batch_size: int = 512,
        seed: Seed = 0,
    ) -> Self:
        """Train all weights by normalised gradient descent from where they are (Section 5).

        Args:
            tokens: sentences to train on, in a new order each pass; fresh ones of the task at each step unless given.
            labels: the next word of each sentence.
            steps: the steps.
            lr: η, the length of a step of each matrix.
            batch_size: the sentences of a step.
            seed: of the sentences, the labels and the order.

        Returns:
            The layer itself.

        Raises:
            ParameterError: sentences without labels, fewer than a batch, or a number out of range.
        """
        require(steps=(steps, 1, None), lr=(lr, 0.0, None), batch_size=(batch_size, 1, None))
        batches = self._batches(tokens, labels, batch_size, seed)
        kind = Variant("all", self.architecture.attention, self.full_input)
        value = self.value.detach()
        with torch.inference_mode():
            run = TrainingRun(kind, self.noise, lr)
            stack = Stack([run], self.task, None, _RELU_SHIFT, value.dtype, value.device)
            for stacked, matrix in zip(stack.weights.matrices, self.weights.matrices, strict=True):
                stacked[0] = matrix
            for step in range(steps):
                sentences, targets = batches(step)
                sentences.step(stack, targets, "log-domain")
        self._copy(Weights(*(stacked[0] for stacked in stack.weights.matrices)))
        return self

    def _batches(self, tokens: Tensor | None, labels: Tensor | None, batch_size: int, seed: Seed) -> Batches:
        refuse_unless((tokens is None) == (labels is None), "labels must be given with tokens and not without")
        dtype, device = self.value.dtype, self.value.device
        if tokens is None or labels is None:
            return fresh_batches(self.task, [self.noise], batch_size, seed, dtype, device)
        require(batch_size=(batch_size, 1, len(tokens)))
        require_shape(labels=(labels, (len(tokens),)))
        (order,) = streams(seed, 1)
        return epochs(Shared(tokens.to(device), self.task, dtype), labels[None].to(device), batch_size, order)

    @torch.no_grad()
    def _copy(self, weights: Weights) -> None:
        for ours, given in zip(self.weights.matrices, weights.matrices, strict=True):
            ours.copy_(given)

    def extra_repr(self) -> str:
        task = self.task
        return (
            f"{task.tokens}, {task.triggers}, {task.outputs}, {task.length}, noise={self.noise}, "
            f"fillers={task.fillers!r}, attention={self.architecture.attention!r}, full_input={self.full_input}"
        )


class _LookUps(Places):
    """The look-ups of one model by plain gathers and sums, which autograd, ``vmap`` and an exporter take apart."""

    def __init__(self, tokens: Int[Tensor, "sentences length"], size: int) -> None:
        self.size, self._tokens, self._previous = size, tokens, size + tokens[:, :-1]

    def read(self, lookup: Float[Tensor, "sentences codes"]) -> Float[Tensor, "sentences length"]:
        return lookup.gather(-1, self._tokens) + pad(lookup.gather(-1, self._previous), (1, 0))

    def write(self, values: Float[Tensor, "sentences length"]) -> Float[Tensor, "sentences codes"]:
        sums = values.new_zeros(values.shape[0], 2 * self.size).scatter_add(-1, self._tokens, values)
        return sums.scatter_add(-1, self._previous, values[:, 1:])

    def at_last(self, matrix: Float[Tensor, "codes features"]) -> Float[Tensor, "sentences features"]:
        return matrix[self._tokens[:, -1]] + matrix[self._previous[:, -1]]

    def by_set(self, values: Tensor, rows: int | None = None) -> Tensor:
        return values
