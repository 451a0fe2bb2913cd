"""Weights that meet all labels exactly, next to weights in floating point: Krawczyk's test in ball arithmetic.

The float weights, examples and labels are taken as the exact numbers that they are. Multiples delta of the dual
vectors change the query weights of the heads. On the box of all |delta_t| <= r the map delta - C (F(delta) - y), with C
near the inverse of F', takes its values inside -C (F(0) - y) + (I - C F'(box)) box. Where this set is inside the box,
Brouwer's theorem gives a fixed point in it, and there F = y because C is invertible.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, Outcome, certify
from attention_theory.certificates.balls import Ball, ball, flint, softmax
from attention_theory.certificates.certificate import Clock, Counterexample, name_of
from attention_theory.memorization.attention import Examples, predict
from attention_theory.memorization.pairs_of_heads import HeadsForLabels

_Matrix = Any


def certify_labels(examples: Examples, labels: Float[Tensor, " examples"], built: HeadsForLabels) -> Certificate:
    """Ask whether some real query weights near the built ones meet all labels exactly.

    The control requires another label of the first example, next to the same weights.
    """
    radius = 1e-7
    layer = _Layer(examples, built)
    moved = labels.clone()
    moved[0] += 1.0

    def run(values: Counterexample) -> tuple[str, bool]:
        missed = (predict(built.heads, built.readout, examples)[:, 0] - moved).abs().max().item()
        return f"the layer misses the label of example {values['example']} by {missed:.3g}", missed > 0.5

    return certify(
        f"Some real query weights next to the built ones meet all {examples.count} labels exactly.",
        f"H = {built.heads.count}, n = {examples.tokens}, d = {examples.width}: these examples, labels and weights, as "
        f"exact numbers; each query weight within {radius:g} times the size of the dual vectors of its head",
        layer.meets(labels, radius),
        Control.of("1 is added to the first label", layer.meets(moved, radius), run),
    )


class _Layer:
    """The outputs of the layer and their derivative in balls, as functions of the multiples of the dual vectors.

    W_O and W_D pass on what each head reads, so that only keys, queries and values count.
    """

    def __init__(self, examples: Examples, built: HeadsForLabels) -> None:
        self.built, self.count = built, examples.count
        contexts = [_matrix(context) for context in examples.context_of_each]
        queries, values = _matrix(examples.queries), _matrix(built.readout.values[:, :, 0].T)
        columns = range(built.heads.keys.shape[2])
        keys = [_matrix(built.heads.keys[:, :, column].T) for column in columns]
        self.logits = [[context * key for key in keys] for context in contexts]
        self.values = [context * values for context in contexts]
        self.factors = [queries * _matrix(built.heads.queries[:, :, column].T) for column in columns]
        self.moves = queries * _matrix(built.duals).transpose()

    def meets(self, labels: Float[Tensor, " examples"], radius: float) -> Answer:
        """Test whether a point of the box meets the labels; none does where the ball of an output excludes it."""
        clock, before = Clock(), flint.ctx.prec
        flint.ctx.prec = 128
        try:
            wanted = [ball(label) for label in labels.tolist()]
            outputs, derivative = self._run(0.0)
            outputs_on_box, derivative_on_box = self._run(radius)
            inverse = _matrix(torch.linalg.inv(_floats(derivative)))
            missed = flint.arb_mat([[output - label] for output, label in zip(outputs, wanted, strict=True)])
            box = flint.arb_mat([[flint.arb(0, radius)]] * self.count)
            rest = _matrix(torch.eye(self.count)) - inverse * derivative_on_box
            image = [abs(entry) for entry in (rest * box - inverse * missed).entries()]
        finally:
            flint.ctx.prec = before
        apart = [row for row in range(self.count) if abs(outputs_on_box[row] - wanted[row]) > 0]
        outcome: Outcome = "proved" if all(size < radius for size in image) else "refuted" if apart else "unknown"
        largest = max(float(size.upper()) for size in image)
        question = f"Krawczyk's test, {self.count} unknowns, |delta| <= {radius:g}: the image is within {largest:.3g}"
        point = {"example": apart[0] + 1} if outcome == "refuted" else None
        return Answer(question, outcome, name_of("python-flint"), clock.seconds, point)

    def _run(self, radius: float) -> tuple[list[Ball], _Matrix]:
        """Outputs, and their derivative by every multiple, where each multiple is at most ``radius`` in size."""
        owner, partners = self.built.owner.tolist(), self.built.partners
        outputs, derivative = [], flint.arb_mat(self.count, self.count)
        for example in range(self.count):
            output, by_owner = flint.arb(0), [flint.arb(0) for _ in range(self.built.heads.count)]
            for head in range(self.built.heads.count):
                steered = [
                    self.moves[example, other] for other in range(self.count) if owner[other] == head // partners
                ]
                moved = flint.arb(0, radius) * sum(map(abs, steered), flint.arb(0))
                mean, covariance = self._head(example, head, moved)
                output += mean
                by_owner[head // partners] += (-1) ** (head % partners) * covariance
            outputs.append(output)
            for other in range(self.count):
                derivative[example, other] = by_owner[owner[other]] * self.moves[example, other]
        return outputs, derivative

    def _head(self, example: int, head: int, moved: Ball) -> tuple[Ball, Ball]:
        """The mean of a head's values and its derivative by the first column's factor, to which ``moved`` is added."""
        factors = [factor[example, head] for factor in self.factors]
        factors[0] += moved
        tokens = range(self.values[example].nrows())
        parts = [[logits[token, head] for token in tokens] for logits in self.logits[example]]
        logits = [
            sum((factor * part for factor, part in zip(factors, row, strict=True)), flint.arb(0))
            for row in zip(*parts, strict=True)
        ]
        values = [self.values[example][token, head] for token in tokens]
        weights = softmax(logits)
        mean = sum((weight * value for weight, value in zip(weights, values, strict=True)), flint.arb(0))
        rows = zip(weights, parts[0], values, strict=True)
        return mean, sum((weight * slope * (value - mean) for weight, slope, value in rows), flint.arb(0))


def _matrix(numbers: Float[Tensor, "rows columns"]) -> _Matrix:
    """Floats as balls of radius 0."""
    return flint.arb_mat(numbers.tolist())


def _floats(matrix: _Matrix) -> Float[Tensor, "rows columns"]:
    entries = [[float(matrix[row, column].mid()) for column in range(matrix.ncols())] for row in range(matrix.nrows())]
    return torch.tensor(entries, dtype=torch.float64)
