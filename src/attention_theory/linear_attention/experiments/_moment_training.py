"""One-layer students trained by second moments of their batches, forth and back by hand (Figure 1).

The chain is written out: from heads to the head matrix, by a fixed matrix to the coefficients p, and back by its
transpose. The error on a batch with the second moment Λ is ``(p − p*) Λ (p − p*)ᵀ``.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag

from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.training import Adam

#: Sequences whose features are held in memory at once.
_AT_ONCE = 256


class SequenceMoments:
    """The mean of ``H_t H_tᵀ`` over the positions of every sequence, of which batches take means.

    Only the upper triangles are kept where all matrices are symmetric to the last bit, which depends on size and type.

    Args:
        tokens: the data of every run.
    """

    def __init__(self, tokens: Float[Tensor, "runs sequences tokens width"]) -> None:
        self.runs, self.sequences, length, width = tokens.shape
        parts = (certificate_features(part, is_causal=True) for part in tokens.flatten(0, 1).split(_AT_ONCE))
        moments = torch.cat([part.mT @ part / length for part in parts])
        self._size = psi(width)
        self._place: Tensor | None = None
        self._entries = moments.flatten(1)
        if torch.equal(moments, moments.mT):
            kept, self._place = _triangle(self._size, tokens.device)
            self._entries = self._entries.index_select(1, kept)

    def means(self, rows: Int[Tensor, "runs batch"]) -> Float[Tensor, "runs psi psi"]:
        """The means over some sequences of each run."""
        places = rows + self.sequences * torch.arange(self.runs, device=rows.device)[:, None]
        return self._unfolded(embedding_bag(places, self._entries, mode="mean"))

    def _unfolded(self, entries: Float[Tensor, "runs kept"]) -> Float[Tensor, "runs psi psi"]:
        if self._place is not None:
            entries = entries.gather(1, self._place.expand(len(entries), -1))
        return entries.unflatten(1, (self._size, self._size))


def train_by_moments(
    start: Heads,
    target: Float[Tensor, "runs one psi"],
    moments: SequenceMoments,
    batches: Int[Tensor, "steps runs batch"],
    lr: float | Float[Tensor, "runs kinds"],
    weight_decay: float = 0.0,
) -> tuple[Heads, Float[Tensor, "steps runs kinds"]]:
    """Train students by Adam at a constant rate: the students at the end, and their error before each step.

    Args:
        start: students of shape (runs, kinds, heads, ...) with one output.
        target: the coefficients p* of the teacher of each run.
        moments: those of the sequences of each run, in the type and on the device of ``start``.
        batches: which sequences of each run a step sees.
        lr: the learning rate, one for all or one for each student.
        weight_decay: decoupled decay, as a multiple of the rate: AdamW.
    """
    runs, kinds, heads, _, width = start.values.shape
    values = start.values.reshape(runs * kinds, heads, width).clone()
    queries = start.queries.reshape(runs * kinds, heads, width**2).clone()
    of_values, of_queries = torch.empty_like(values).mT.contiguous(), torch.empty_like(queries)
    of_entries = torch.eye(width**3, dtype=values.dtype, device=values.device).unflatten(1, (width, -1))
    fold = coefficients(of_entries).squeeze(1)  # (d³, ψ)
    back = 2 * fold.mT
    wanted = target.expand(runs, kinds, -1).flatten(0, 1)
    gap, pull = torch.empty_like(wanted), torch.empty_like(wanted)
    matrix = values.new_empty(runs * kinds, width, width**2)
    of_matrix = torch.empty_like(matrix)
    by_run = (runs, kinds, -1)
    history = values.new_empty(len(batches), runs, kinds)
    rates = lr.flatten() if isinstance(lr, Tensor) else lr
    of_all = [(Adam(one, rates, weight_decay), to) for one, to in ((values, of_values.mT), (queries, of_queries))]
    for step, rows in enumerate(batches):
        torch.bmm(values.mT, queries, out=matrix)
        torch.mm(matrix.flatten(1), fold, out=gap).sub_(wanted)
        torch.bmm(gap.view(by_run), moments.means(rows), out=pull.view(by_run))
        torch.sum((gap * pull).view(by_run), dim=-1, out=history[step])
        torch.mm(pull, back, out=of_matrix.flatten(1))
        torch.bmm(of_matrix, queries.mT, out=of_values)
        torch.bmm(values, of_matrix, out=of_queries)
        for adam, gradient in of_all:
            adam.step(gradient)
    stack = (runs, kinds, heads)
    return Heads(values.reshape(*stack, 1, width), queries.reshape(*stack, width, width)), history


def _triangle(size: int, device: torch.device) -> tuple[Int[Tensor, " different"], Int[Tensor, " size_squared"]]:
    """Of a symmetric matrix, flattened: the places of its upper triangle, and which of them each entry is equal to."""
    row, column = torch.triu_indices(size, size, device=device)
    place = torch.empty(size, size, dtype=torch.int64, device=device)
    place[row, column] = place[column, row] = torch.arange(len(row), device=device)
    return row * size + column, place.flatten()
