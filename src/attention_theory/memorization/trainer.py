"""Training a whole panel in one program: the recipe of Appendix A.

Adam at rate 0.001, linear warm-up over the first twentieth of the steps from a hundredth of the rate, then a cosine
to zero; batches from reshuffled epochs. The models are independent: the sum of their losses has each model's own
gradient, and Adam works entry by entry.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from attention_theory.allocation import keep_freed_memory
from attention_theory.memorization._panel_gradients import gradients
from attention_theory.memorization.panel import Panel, Start, forward, initial_weights, make_panel
from attention_theory.memorization.synthetic import DataSets, Setting
from attention_theory.randomness import generator
from attention_theory.training import Parameters
from attention_theory.validation import refuse_unless, require

_ORDER_SEED = 2_000_003
_EPOCH_STRIDE = 7_919

#: Batches are drawn for so many steps at once: drawn one by one, they would hold up a GPU.
_STEPS_AHEAD = 64


@dataclass(frozen=True)
class Score:
    """The accuracy and loss of each model on its data set.

    Attributes:
        accuracy: the fraction of labels that the largest output names; 0 for real labels.
        loss: mean cross-entropy (nats), or mean squared error for real labels.
    """

    accuracy: Float[Tensor, " models"]
    loss: Float[Tensor, " models"]


@dataclass
class PanelTrainer:
    """Trains the models of a panel together, and can be stopped and taken up again.

    Args:
        settings: one a model.
        data: their data sets, from :func:`~attention_theory.memorization.synthetic.sample_data_sets`.
        steps: the steps of the whole run, at least 1; they fix the rate's schedule.
        batch: examples a step and model, at least 1.
        lr: Adam's learning rate at its height, above 0.
        relabel: in every epoch each example bears the label of another, drawn anew: nothing is there to be memorised.
        start: how wide the output map starts, ``"fan-in"`` or ``"xavier"``, as in
            :func:`~attention_theory.memorization.panel.initial_weights`.

    Raises:
        ParameterError: an argument out of its range.
    """

    settings: list[Setting]
    data: DataSets
    steps: int
    batch: int = 256
    lr: float = 1e-3
    relabel: bool = False
    step: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    start: Start = "fan-in"

    def __post_init__(self) -> None:
        require(steps=(self.steps, 1, None), batch=(self.batch, 1, None), lr=(self.lr, 1e-9, None))
        dtype = self.data.queries.dtype
        device, width = self.data.queries.device, self.data.queries.shape[-1]
        self.panel: Panel = make_panel(self.settings, width, self.data.classes, dtype, device)
        weights = initial_weights(self.panel, dtype, self.start)
        # All weights lie in one vector, of which ``weights`` are views: Adam then has one tensor to look after.
        self._flat = torch.cat([value.flatten() for value in weights.values()])
        parts = self._flat.split([value.numel() for value in weights.values()])
        self.weights: Parameters = {
            name: part.view(value.shape) for (name, value), part in zip(weights.items(), parts, strict=True)
        }
        self._flat.grad = torch.zeros_like(self._flat)
        self._recorded: tuple[torch.cuda.CUDAGraph, Tensor] | None = None
        self.optimiser = torch.optim.Adam([self._flat], lr=self.lr, fused=True)
        self._epochs: dict[int, tuple[int, Tensor]] = {}
        self._ahead: tuple[int, Tensor] | None = None

    def run(self, until: int | None = None, record_every: int | None = None) -> Score:
        """:meth:`train`, and the score at the end."""
        self.train(until, record_every)
        return self.score()

    def train(self, until: int | None = None, record_every: int | None = None) -> None:
        """Train up to step ``until`` (all steps unless given), recording the score every so many steps."""
        keep_freed_memory()
        last = self.steps if until is None else min(until, self.steps)
        while self.step < last:
            if record_every and self.step % record_every == 0:
                self._record()
            self._derive(self.next_batch())
            self.optimiser.param_groups[0]["lr"] = self.lr * schedule(self.step, self.steps)
            self.optimiser.step()
            self.step += 1
        if record_every and self.step == self.steps:
            self._record()

    def _derive(self, batch: Int[Tensor, "2 models batch"]) -> None:
        """Set the derivatives by all weights. A GPU replays a graph: launched one by one, its kernels would wait."""
        if not batch.is_cuda:
            self._set_gradient(batch)
            return
        if self._recorded is None:
            self._recorded = self._record_graph(batch)
        graph, place = self._recorded
        place.copy_(batch)
        graph.replay()

    def _record_graph(self, batch: Int[Tensor, "2 models batch"]) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        place, graph, aside = batch.clone(), torch.cuda.CUDAGraph(), torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries set themselves up in a first run, which no graph may hold
            self._set_gradient(place)
        torch.cuda.current_stream().wait_stream(aside)
        with torch.cuda.graph(graph):
            self._set_gradient(place)
        return graph, place

    def _set_gradient(self, batch: Int[Tensor, "2 models batch"]) -> None:
        found = self.gradients(*batch)
        torch.cat([found[name].flatten() for name in self.weights], out=self._flat.grad)

    def gradients(self, chosen: Int[Tensor, "models batch"], bearers: Int[Tensor, "models batch"]) -> Parameters:
        """The derivatives of the models' losses on a batch: its examples, and those whose labels they bear."""
        contexts = self.data.contexts if self.data.shared else _take(self.data.contexts, chosen)
        labels = _take(self.data.labels, bearers)
        return gradients(self.panel, self.weights, _take(self.data.queries, chosen), contexts, labels)

    def score(self, labels: Tensor | None = None, chunk: int = 2_048) -> Score:
        """Accuracy and loss of every model on its whole data set (with other labels, if any are given)."""
        labels = self.data.labels if labels is None else labels
        counted = torch.arange(labels.shape[1], device=labels.device) < self.data.sizes[:, None]
        losses = torch.zeros_like(self.data.sizes, dtype=self.data.queries.dtype)
        hits = torch.zeros_like(self.data.sizes)
        with torch.no_grad():
            for rows in torch.arange(labels.shape[1], device=labels.device).split(chunk):
                contexts = self.data.contexts if self.data.shared else self.data.contexts[:, rows]
                outputs, _ = forward(self.panel, self.weights, self.data.queries[:, rows], contexts)
                losses += (_losses(outputs, labels[:, rows]) * counted[:, rows]).sum(dim=-1)
                hits += ((outputs.argmax(dim=-1) == labels[:, rows]) & counted[:, rows]).sum(dim=-1)
        return Score(hits * (self.data.classes > 1) / self.data.sizes, losses / self.data.sizes)

    def attention(self) -> Float[Tensor, "heads examples tokens"]:
        """The softmax weights of every head on every example (padding included)."""
        with torch.no_grad():
            return forward(self.panel, self.weights, self.data.queries, self.data.contexts)[1]

    def latest_labels(self) -> Tensor:
        """The labels of the last epoch that each model has completed; with ``relabel`` it has met them in no other.

        Raises:
            ParameterError: a model has not completed an epoch.
        """
        labels = self.data.labels.clone()
        for model, setting in enumerate(self.settings):
            completed = self.step * self.batch // setting.examples
            refuse_unless(completed >= 1, f"every model must have completed an epoch, model {model} has not")
            met, bearers = self._epoch(model, completed - 1).to(labels.device)
            labels[model, met] = self.data.labels[model, bearers]
        return labels

    def next_batch(self) -> Int[Tensor, "2 models batch"]:
        """The examples of the present step, and the examples whose labels they bear (themselves without ``relabel``).

        Each model goes through its own epochs, reshuffled every time. They follow from the seed and the step alone, so
        that a run taken up again sees the same ones.
        """
        block, place = divmod(self.step, _STEPS_AHEAD)
        if self._ahead is None or self._ahead[0] != block:
            first, count = block * _STEPS_AHEAD * self.batch, _STEPS_AHEAD * self.batch
            rows = [self._examples(model, first, count) for model in range(len(self.settings))]
            self._ahead = block, torch.stack(rows).unflatten(2, (-1, self.batch)).to(self.data.queries.device)
        return self._ahead[1][:, :, place].transpose(0, 1)

    def _examples(self, model: int, first: int, count: int) -> Int[Tensor, "2 count"]:
        """The examples that a model meets, from the first-th on, through as many epochs as it takes."""
        setting, pieces = self.settings[model], []
        while count:
            epoch, offset = divmod(first, setting.examples)
            if self._epochs.get(model, (-1, None))[0] != epoch:
                self._epochs[model] = (epoch, self._epoch(model, epoch))
            piece = self._epochs[model][1][:, offset : offset + count]
            pieces.append(piece)
            first, count = first + piece.shape[1], count - piece.shape[1]
        return torch.cat(pieces, dim=1)

    def _epoch(self, model: int, epoch: int) -> Int[Tensor, "2 examples"]:
        """The examples in the order in which they are met in an epoch, and with each the one whose label it bears."""
        setting = self.settings[model]
        draw = generator(setting.seed + _ORDER_SEED + _EPOCH_STRIDE * epoch)
        order = torch.randperm(setting.examples, generator=draw)
        if not self.relabel:
            return order.expand(2, -1)
        return torch.stack([order, torch.randperm(setting.examples, generator=draw)[order]])

    def _record(self) -> None:
        score = self.score()
        row = {"step": self.step, "accuracy": score.accuracy.tolist(), "loss": score.loss.tolist()}
        self.history.append(row)

    def state(self) -> dict[str, Any]:
        """All that is needed to go on later, for ``torch.save``."""
        weights = {name: value.detach() for name, value in self.weights.items()}
        return {
            "step": self.step,
            "weights": weights,
            "optimiser": self.optimiser.state_dict(),
            "history": self.history,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a :meth:`state` of a trainer made with the same arguments."""
        self.step, self.history = state["step"], list(state["history"])
        with torch.no_grad():
            for name, value in self.weights.items():
                value.copy_(state["weights"][name])
        self.optimiser.load_state_dict(state["optimiser"])


def schedule(step: int, steps: int) -> float:
    """The rate's share at a step: linear from 0.01 to 1 over the first twentieth, then a half cosine to 0."""
    warm = max(1, steps // 20)
    if step < warm:
        return 0.01 + 0.99 * step / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / (steps - warm)))


def _take(
    values: Shaped[Tensor, "models examples ..."], chosen: Int[Tensor, "models batch"]
) -> Shaped[Tensor, "models batch ..."]:
    """Of every model the chosen examples."""
    models, examples = values.shape[:2]
    first = torch.arange(0, models * examples, examples, device=values.device)
    return values.flatten(0, 1).index_select(0, (first[:, None] + chosen).flatten()).unflatten(0, chosen.shape)


def _losses(outputs: Tensor, labels: Tensor) -> Float[Tensor, "models batch"]:
    if outputs.shape[-1] == 1:
        return (outputs[..., 0] - labels) ** 2
    return torch.nn.functional.cross_entropy(outputs.mT, labels, reduction="none")
