"""The thirteen models of Section 5, and the stacks in which they are trained together."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.in_context_reasoning._places import Places
from attention_theory.in_context_reasoning.closed_form import odds
from attention_theory.in_context_reasoning.cross_entropy import Arithmetic
from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.model import Activation, Architecture, Weights
from attention_theory.in_context_reasoning.reparameterised import key_directions, reparameterised
from attention_theory.in_context_reasoning.task import Task


@dataclass(frozen=True)
class Variant:
    """One of the paper's models.

    Attributes:
        trained: ``all`` of V, W, F (Origin); the ``query-key`` matrix W alone, with V and F of the lemmas (Reparam-W);
            or the ``scales`` λ alone (Reparam).
        attention: the activation.
        full_input: whether the feed-forward layer sees the attended sum (FA) or ``x_H`` alone (F).
        fixed: the matrix that has the form of the lemmas although all others are trained; in no model of the paper.
    """

    trained: Literal["all", "query-key", "scales"]
    attention: Activation
    full_input: bool
    fixed: Literal["value", "feed_forward"] | None = None

    @property
    def name(self) -> str:
        """As the paper writes it, e.g. ``Reparam-Linear-W-FA``, with the matrices that are trained."""
        family = "Origin" if self.trained == "all" and not self.fixed else "Reparam"
        activation = {"linear": "Linear", "relu": "ReLU", "softmax": "Softmax"}[self.attention]
        middle = "-W" if self.trained == "query-key" else {None: "", "value": "-WF", "feed_forward": "-VW"}[self.fixed]
        return f"{family}-{activation}{middle}-{'FA' if self.full_input else 'F'}"

    def architecture(self, relu_shift: float = 0.0) -> Architecture:
        """Attention and feed-forward layer of the model."""
        return Architecture(self.attention, float(self.full_input), relu_shift)


#: The matrices that a model may have in the form of the lemmas while W is trained.
_LAYERS: tuple[Literal["value", "feed_forward"], ...] = ("value", "feed_forward")
_ACTIVATIONS: tuple[Activation, ...] = ("softmax", "linear", "relu")

#: Every model by its name; Table 1's thirteen, and Reparam-ReLU-W-FA of Figure 2.
VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for variant in [
        *(Variant("all", attention, full) for attention in _ACTIVATIONS for full in (False, True)),
        *(Variant("scales", attention, full) for attention in _ACTIVATIONS for full in (False, True)),
        Variant("query-key", "linear", True),
        Variant("query-key", "relu", True),
    ]
}

#: Models that the paper has not, with V or F alone in the form of the lemmas (Appendix D.2.2).
HALF_FIXED: dict[str, Variant] = {
    variant.name: variant for variant in (Variant("all", "linear", True, layer) for layer in _LAYERS)
}

#: The rows of Table 1 in its order.
TABLE_1 = (
    *(name for name in VARIANTS if name.startswith("Origin")),
    "Reparam-Softmax-F",
    "Reparam-Softmax-FA",
    "Reparam-Linear-F",
    "Reparam-Linear-FA",
    "Reparam-Linear-W-FA",
    "Reparam-ReLU-F",
    "Reparam-ReLU-FA",
)


@dataclass(frozen=True)
class TrainingRun:
    """One training of Section 5: a model, the noise level α of its labels, the learning rate η.

    Attributes:
        arithmetic: how the loss's gradient is computed; as in the other runs where none is given.
    """

    variant: Variant
    noise: float
    lr: float
    arithmetic: Arithmetic | None = None


class Stack:
    """Models of Section 5 with the same attention, stacked and begun at zero.

    Those that train W alone may stand among those that train all matrices: their V and F stay.

    Args:
        runs: all with the same ``attention``, and ``scales`` trained in all of them or in none.
        task: the sentences they share.
        gammas: γ for the feed-forward layer, by noise level; the true ``ln(α/(1-α))`` where none is given.
        device: where the models are.
        sets: how many sets of sentences there are; each has a copy of every model, the copies of a model in turn.
    """

    def __init__(
        self,
        runs: list[TrainingRun],
        task: Task,
        gammas: dict[float, float] | None = None,
        relu_shift: float = 1e-8,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
        sets: int = 1,
    ) -> None:
        self.runs, self.task, self.sets = runs, task, sets
        trained = {run.variant.trained for run in runs}
        self.trained = "all" if "all" in trained else runs[0].variant.trained
        self.full = torch.tensor([float(run.variant.full_input) for run in runs], dtype=dtype, device=device)
        self.architecture = Architecture(runs[0].variant.attention, self.full[:, None, None], relu_shift)
        known = [(gammas or {}).get(run.noise, odds(run.noise) if run.noise else 0.0) for run in runs]
        self.gammas = torch.tensor(known, dtype=dtype, device=device)
        self.rates = torch.tensor([run.lr for run in runs], dtype=dtype, device=device)
        kept = {
            layer: torch.tensor([run.variant.trained != "all" or run.variant.fixed == layer for run in runs])
            for layer in _LAYERS
        }
        self._layer_rates = {layer: self.rates.masked_fill(kept[layer].to(device), 0.0) for layer in _LAYERS}
        size, stack = task.tokens, len(runs)
        codes = embedding(size, 2 * size).to(device)
        self.directions = key_directions(task, codes).to(dtype)
        self.scales = self.directions.new_zeros(stack, task.used_triggers)
        layers = {layer: self.directions.new_zeros(stack, 2 * size, size).mT for layer in _LAYERS}
        for index, gamma in enumerate(known):
            for layer in _LAYERS:
                if kept[layer][index]:
                    made = reparameterised(task, codes, codes.word.new_zeros(task.used_triggers), gamma)
                    layers[layer][index] = getattr(made.in_codes(codes), layer).to(dtype)
        value = layers["value"]
        query_key = value.new_zeros(stack, 2 * size, 2 * size)
        if sets == 1 and Places.is_abreast(value):  # as look-ups of all models want it, and give its slope
            query_key = query_key.permute(1, 2, 0).contiguous().permute(2, 0, 1)
        self.weights = Weights(value, query_key, layers["feed_forward"])

    def rows(self, levels: list[float]) -> Int[Tensor, " runs"]:
        """The place of each run's noise level α among ``levels``, for one set."""
        return torch.tensor([levels.index(run.noise) for run in self.runs[:: self.sets]], device=self.scales.device)

    def arithmetics(self, others: Arithmetic) -> list[Arithmetic]:
        """The arithmetic of every run; ``others`` where it names none."""
        return [run.arithmetic or others for run in self.runs]

    def step(self, gradient: Weights) -> None:
        """One normalised step of every run: each trained tensor moves by η against its gradient."""
        if self.trained == "scales":
            self.step_scales(torch.einsum("mde,qde->mq", gradient.query_key, self.directions))
            self.weights.query_key[:] = torch.einsum("mq,qde->mde", self.scales, self.directions)
            return
        _move(self.weights.query_key, gradient.query_key, self.rates)
        if self.trained == "all":
            _move(self.weights.value, gradient.value, self._layer_rates["value"])
            _move(self.weights.feed_forward, gradient.feed_forward, self._layer_rates["feed_forward"])

    def step_scales(self, gradient: Float[Tensor, "runs triggers"]) -> None:
        """The step of the scales alone, from their gradients; W stays behind."""
        _move(self.scales, gradient, self.rates)


def _move(tensor: Float[Tensor, "runs ..."], gradient: Float[Tensor, "runs ..."], lrs: Float[Tensor, " runs"]) -> None:
    """Move a tensor of every run by its rate against its gradient; where the gradient is 0 it stays."""
    axes = tuple(range(1, gradient.ndim))
    length = (gradient * gradient).sum(dim=axes, keepdim=True).sqrt_()
    pace = (lrs.view(length.shape) / length).masked_fill_(length == 0, 0.0)
    tensor.addcmul_(gradient, pace, value=-1)


def stacks(
    runs: list[TrainingRun],
    task: Task,
    gammas: dict[float, float] | None = None,
    relu_shift: float = 1e-8,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    sets: int = 1,
) -> list[Stack]:
    """The runs in as few stacks as their kinds allow."""
    kinds: dict[tuple[bool, str], list[TrainingRun]] = {}
    for run in runs:
        kinds.setdefault((run.variant.trained == "scales", run.variant.attention), []).append(run)
    repeated = ([run for run in group for _ in range(sets)] for group in kinds.values())
    return [Stack(group, task, gammas, relu_shift, dtype, device, sets) for group in repeated]
