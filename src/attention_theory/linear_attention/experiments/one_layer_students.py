"""One-layer students of Section 6.1, many at once, trained on mini-batches in the space of coefficients (Figure 1).

With ``Λ_i`` the mean of ``H_t H_tᵀ`` over the positions of sequence i, the error of a student there is
``(p − p*) Λ_i (p − p*)ᵀ``, and a mini-batch takes the mean of the ``Λ_i``. Where there are more coefficients than
tokens in a sequence, the same products are formed from its prefixes and no ``Λ_i`` is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.linear_attention.experiments._moment_training import SequenceMoments, train_by_moments
from attention_theory.linear_attention.experiments.run_data import RunData
from attention_theory.linear_attention.experiments.teacher_task import Tasks
from attention_theory.linear_attention.model.features import certificate_features, pairs
from attention_theory.linear_attention.model.mhla import Heads, mhla_every_token, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import Seed, generator
from attention_theory.training import Parameters, train_many
from attention_theory.validation import Each, refuse_unless, require, require_some

#: Feature entries held in memory at once while errors are summed: 64 MB of float64.
_ENTRIES_AT_ONCE = 8_000_000


def students_start(width: int, heads: Sequence[int], seeds: Sequence[Seed]) -> Heads:
    """One student for each seed and number of heads; every entry Gaussian of deviation ``1/√d``, one output.

    ``values`` have shape (runs, kinds, heads, 1, width). Students with fewer heads than the largest are filled up with
    heads of zeros, which Adam leaves as they are: their gradient is zero.

    Raises:
        ParameterError: a width or heads below 1, or no seed.
    """
    require(width=(width, 1, None), heads=(Each(heads), 1, None))
    require_some(seeds=seeds)
    shape = (len(seeds), len(heads), max(heads))
    values = torch.zeros(*shape, 1, width, dtype=torch.float64, device="cpu")
    queries = torch.zeros(*shape, width, width, dtype=torch.float64, device="cpu")
    for run, seed in enumerate(seeds):
        draws = generator(seed)
        for kind, count in enumerate(heads):
            drawn = random_heads(count, width, draws, out=1, scale=width**-0.5)
            values[run, kind, :count], queries[run, kind, :count] = drawn.values, drawn.queries
    return Heads(values, queries)


class CoefficientErrors:
    """The squared errors of one-layer students on the sequences of their runs, by way of their coefficients.

    Args:
        tasks: the data; type and device of the computation follow them.
    """

    def __init__(self, tasks: Tasks) -> None:
        self.target = coefficients(tasks.teachers)  # (runs, 1, ψ)
        self._tokens, self._shape = tasks.tokens, tasks.tokens.shape

    @cached_property
    def moments(self) -> SequenceMoments | None:
        """``Λ_i`` of every sequence of every run; none where ψ is above the number of tokens."""
        return None if self.target.shape[-1] > self._shape[2] else SequenceMoments(self._tokens)

    def gap(self, heads: Heads) -> Float[Tensor, "runs kinds psi"]:
        """``p − p*`` of every student."""
        return coefficients(heads)[..., 0, :] - self.target

    def pull(
        self, gap: Float[Tensor, "runs kinds psi"], rows: Int[Tensor, "runs batch"]
    ) -> Float[Tensor, "runs kinds psi"]:
        """``(p − p*) Λ``, with the mean Λ of some sequences of each run: half the gradient of the error by p."""
        if self.moments is not None:
            return gap @ self.moments.means(rows)
        places = torch.arange(len(rows), device=rows.device)[:, None]
        return _pull_by_prefixes(gap, self._tokens[places, rows])

    def of_sequences(self, heads: Heads) -> Float[Tensor, "runs kinds sequences"]:
        """The mean squared error of each student on each sequence of its run, over the positions."""
        gaps = self.gap(heads).mT
        size = max(1, _ENTRIES_AT_ONCE // (self._shape[2] * gaps.shape[1]))
        errors = [
            torch.cat(
                [(certificate_features(part, is_causal=True) @ gap).square().mean(dim=1) for part in tokens.split(size)]
            )
            for tokens, gap in zip(self._tokens, gaps, strict=True)
        ]
        return torch.stack(errors).mT


def train_by_coefficients(
    start: Heads,
    errors: CoefficientErrors,
    batches: Int[Tensor, "steps runs batch"],
    lr: float | Float[Tensor, "runs kinds"],
    weight_decay: float = 0.0,
) -> tuple[Heads, Float[Tensor, "steps runs kinds"]]:
    """Train students by Adam at a constant rate: the students at the end, and their error on each step's batch.

    Args:
        start: students of shape (runs, kinds, heads, ...), on the device and of the type of ``errors``.
        errors: the data and their teachers.
        batches: which sequences of each run a step sees.
        lr: the learning rate, one for all or one for each student.
        weight_decay: decoupled decay, as a multiple of the rate: AdamW.
    """
    if errors.moments is not None:
        return train_by_moments(start, errors.target, errors.moments, batches, lr, weight_decay)
    stack = start.values.shape[:2]

    def loss(models: Parameters, step: int) -> Tensor:
        heads = Heads(models["values"].unflatten(0, stack), models["queries"].unflatten(0, stack))
        gap = errors.gap(heads)
        pull = errors.pull(gap.detach(), batches[min(step, len(batches) - 1)])
        value = (pull * gap).sum(dim=-1).flatten()
        return 2 * value - value.detach()  # the pull is half the gradient, and is held constant

    rates = lr.flatten() if isinstance(lr, Tensor) else lr
    begin = {"values": start.values.flatten(0, 1), "queries": start.queries.flatten(0, 1)}
    trained = train_many(loss, begin, len(batches), rates, weight_decay=weight_decay, record_every=1)
    students = Heads(*(trained.parameters[name].unflatten(0, stack) for name in ("values", "queries")))
    return students, trained.history[:-1].unflatten(1, stack)


@dataclass(frozen=True)
class _HeadRuns:
    """Trained students of several kinds.

    Attributes:
        heads: the students, of shape (runs, kinds, heads, ...), in float64.
        curves: the mean error of each on the batches of each window of steps, over that of always answering zero.
    """

    heads: Heads
    curves: Float[Tensor, "windows runs kinds"]


def run_heads(
    data: RunData,
    kinds: Sequence[tuple[int, float, float]],
    dtype: torch.dtype = torch.float32,
    weight_decay: float = 0.0,
    window: int | None = None,
) -> _HeadRuns:
    """Draw students and train them, in the arithmetic asked for.

    Args:
        data: what the runs are trained on, in float64.
        kinds: number of heads, learning rate and start of each kind; the start multiplies the deviation ``1/√d``.
            Kinds of the same number of heads begin from the same draws.
        dtype: the arithmetic of the training.
        weight_decay: decoupled decay, as a multiple of the rate: AdamW.
        window: steps over which errors are averaged; those of a pass unless given.

    Raises:
        ParameterError: heads below 1, a rate or start that is not positive, or a window outside the training.
    """
    require_some(kinds=kinds)
    counts, rates, starts = (list(column) for column in zip(*kinds, strict=True))
    refuse_unless(
        min(rates) >= 1e-9 and min(starts) >= 1e-9, f"kinds must have positive rates and starts, got {list(kinds)}"
    )
    different = sorted(set(counts))
    drawn = students_start(data.shape[-1], different, data.seeds)
    places = [different.index(count) for count in counts]
    scale = torch.tensor(starts, dtype=torch.float64, device="cpu")[:, None, None, None]
    where = data.tasks.tokens.device
    start = Heads(*((scale * part[:, places]).to(where, dtype) for part in (drawn.values, drawn.queries)))
    rate = torch.tensor(rates, dtype=dtype, device=where).expand(len(data.seeds), -1)
    errors = CoefficientErrors(data.tasks.to(dtype))
    trained, history = train_by_coefficients(start, errors, data.batches, rate, weight_decay)
    return _HeadRuns(Heads(trained.values.double(), trained.queries.double()), data.curves(history.double(), window))


def train_literally(
    tasks: Tasks, start: Heads, batches: Int[Tensor, "steps batch"], lr: float, weight_decay: float = 0.0
) -> tuple[Heads, Float[Tensor, " steps"]]:
    """The reference for :func:`train_by_coefficients`: one student of the first run, every output computed."""

    def loss(models: Parameters, step: int) -> Tensor:
        rows = batches[min(step, len(batches) - 1)]
        student = Heads(models["values"][0], models["queries"][0])
        outputs = mhla_every_token(student, tasks.tokens[0, rows], is_causal=True)
        return (outputs - tasks.labels[0, rows][..., None]).square().mean()[None]

    begin = {"values": start.values[None], "queries": start.queries[None]}
    trained = train_many(loss, begin, len(batches), lr, weight_decay=weight_decay, record_every=1)
    return Heads(trained.parameters["values"][0], trained.parameters["queries"][0]), trained.history[:-1, 0]


def _pull_by_prefixes(
    gap: Float[Tensor, "runs kinds psi"], tokens: Float[Tensor, "runs batch tokens width"]
) -> Float[Tensor, "runs kinds psi"]:
    """The same without any Λ: the residuals of a batch, and their products with the features of their prefixes."""
    j, k = pairs(tokens.shape[-1], tokens.device)
    pulls = []
    for one, inputs in zip(gap, tokens.permute(0, 3, 1, 2), strict=True):  # features first, so that products are long
        products = (inputs[j] * inputs[k]).cumsum(dim=-1).flatten(1)
        positions = inputs.flatten(1)
        asked = (one.unflatten(-1, (len(j), -1)).flatten(0, 1) @ positions).unflatten(0, (len(one), -1))
        residuals = (asked * products).sum(dim=1, keepdim=True)
        pulls.append(((residuals * products) @ positions.mT).flatten(1) / positions.shape[1])
    return torch.stack(pulls)
