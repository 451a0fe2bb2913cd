"""Independence of the queries and tokens of given texts in a given language model, decided in ball arithmetic.

The stored weights are taken as the exact numbers that they are, and every operation of the layers is done with balls,
which contain the values of exact arithmetic. If the ball of a Gram determinant does not contain 0, the vectors are
independent in exact arithmetic, and so is every part of them: the queries of T <= d texts have Kruskal rank T then.
That vectors are dependent is never read from a ball, but from two texts that are equal.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, Outcome, certify
from attention_theory.certificates.balls import Ball, flint, softmax
from attention_theory.certificates.certificate import Clock, Counterexample, name_of
from attention_theory.memorization.language import PretrainedModel
from attention_theory.memorization.transformer import Affine, Norm, TransformerLayer, cast
from attention_theory.validation import refuse_unless, require

_BITS = 256
_Matrix = Any  # of balls


def certify_independent(
    model: PretrainedModel, texts: Int[Tensor, "texts tokens"], depths: Sequence[int] = (1,)
) -> dict[int, Certificate]:
    """Ask whether after so many layers the queries of all texts are independent, and the tokens of each text.

    The control gives the first text twice.

    Raises:
        ParameterError: more texts or tokens than the width, which are dependent by their number; more layers than the
            model has.
    """
    count, tokens = texts.shape
    width, layers = model.words.shape[1], len(model.layers)
    refuse_unless(2 <= count <= width, f"texts must be 2 to {width}, the width, got {count}")
    refuse_unless(tokens <= width, f"texts must have at most {width} tokens, the width, got {tokens}")
    possible = len(depths) > 0 and min(depths) >= 0 and max(depths) <= layers
    refuse_unless(possible, f"depths must be from 0 to {layers}, the layers, got {list(depths)}")
    twice = torch.cat([texts, texts[:1]])
    certificates = {}
    for depth, states in enumerate(_states(model, texts, max(depths))):
        if depth in depths:
            broken = _independent_queries(model, twice, [*states, states[0]])
            certificates[depth] = certify(
                f"After {depth} layers the queries of {count} texts are independent, and so are the {tokens} tokens of "
                "each.",
                f"these {count} texts and weights, as exact numbers",
                [_independent_queries(model, texts, states), _independent_tokens(texts, states)],
                Control.of("the first text is given twice", broken, partial(_difference, model, twice, depth)),
            )
    return certificates


def _difference(
    model: PretrainedModel, texts: Int[Tensor, "texts tokens"], depth: int, values: Counterexample
) -> tuple[str, bool]:
    queries = cast(model, torch.float64).queries(texts[[values["first"] - 1, values["second"] - 1]], depth)
    apart = queries.diff(dim=0).abs().max().item()
    return f"their queries differ by {apart:.3g}", apart == 0.0


def certify_queries(model: PretrainedModel, texts: Int[Tensor, "texts tokens"], depth: int) -> Answer:
    """Ask whether after ``depth`` layers the queries of all texts are independent.

    Raises:
        ParameterError: no layer, or more than the model has.
    """
    require(depth=(depth, 1, len(model.layers)))
    at = model.query_position
    states = enclosed_contexts(model, texts, depth - 1)
    layer = _with_bits(lambda: _Layer(model.layers[depth - 1]))
    rows = _with_bits(lambda: [layer(state, model.causal, at % texts.shape[1]) for state in states])
    return _independent_queries(model, texts, rows)


def enclosed_contexts(model: PretrainedModel, texts: Int[Tensor, "texts tokens"], depth: int) -> list[_Matrix]:
    """The tokens of each text after ``depth`` layers, as balls that contain them."""
    *_, last = _states(model, texts, depth)
    return last


def _states(model: PretrainedModel, texts: Int[Tensor, "texts tokens"], depth: int) -> Iterator[list[_Matrix]]:
    states = _with_bits(lambda: [_embedded(model, text) for text in texts])
    yield states
    for layer in model.layers[:depth]:
        states = _with_bits(partial(_after, layer, states, model.causal))
        yield states


def _after(layer: TransformerLayer, states: list[_Matrix], causal: bool) -> list[_Matrix]:
    enclosed = _Layer(layer)
    return [enclosed(state, causal) for state in states]


def _with_bits(compute: Callable[[], Any]) -> Any:
    before, flint.ctx.prec = flint.ctx.prec, _BITS
    try:
        return compute()
    finally:
        flint.ctx.prec = before


def _independent_queries(model: PretrainedModel, texts: Tensor, states: list[_Matrix]) -> Answer:
    clock, at = Clock(), model.query_position
    rows = [state.table()[at] for state in states]
    point: Counterexample | None = None
    for second in range(len(texts)):
        for first in range(second):
            if torch.equal(texts[first], texts[second]):
                point = {"first": first + 1, "second": second + 1}
    determinant = _with_bits(lambda: _gram_determinant(flint.arb_mat(rows)))
    return _answer(f"queries of {len(texts)} texts: Gram determinant {determinant} > 0", determinant, clock, point)


def _independent_tokens(texts: Tensor, states: list[_Matrix]) -> Answer:
    clock = Clock()
    determinants = _with_bits(lambda: [_gram_determinant(state) for state in states])
    least = min(determinants, key=lambda one: float(one.lower()))
    return _answer(f"tokens of {len(texts)} texts: smallest Gram determinant {least} > 0", least, clock, None)


def _answer(words: str, determinant: Ball, clock: Clock, point: Counterexample | None) -> Answer:
    outcome: Outcome = "refuted" if point else "proved" if determinant > 0 else "unknown"
    return Answer(f"{words}, balls of {_BITS} bits", outcome, name_of("python-flint"), clock.seconds, point)


def _gram_determinant(rows: _Matrix) -> Ball:
    """Of rows that are divided by about their length."""
    scaled = []
    for row in rows.table():
        length = sum(float(entry.mid()) ** 2 for entry in row) ** 0.5 or 1.0
        scaled.append([entry / length for entry in row])
    matrix = flint.arb_mat(scaled)
    return (matrix * matrix.transpose()).det()


def _embedded(model: PretrainedModel, text: Tensor) -> _Matrix:
    rows = _matrix(model.words[text]) + _matrix(model.positions[: len(text)])
    if model.segments is not None:
        ends = text == model.separator
        after = (ends.cumsum(dim=0) - ends.long()).clamp(max=model.sentences - 1)
        rows += _matrix(model.segments[after])
    return rows if model.norm is None else _normalise(model.norm, rows)


class _Layer:
    """A layer on the tokens of one text."""

    def __init__(self, layer: TransformerLayer) -> None:
        self.layer = layer
        names = ("query", "key", "value", "output", "up", "down")
        self.maps = {name: _Affine(part) for name in names if (part := getattr(layer, name)) is not None}

    def __call__(self, tokens: _Matrix, causal: bool, only: int | None = None) -> _Matrix:
        """The outputs at all positions, or at one."""
        layer, maps = self.layer, self.maps
        inside = _normalise(layer.attention_norm, tokens) if layer.order == "pre" else tokens
        at = range(tokens.nrows()) if only is None else [only]
        asking = flint.arb_mat([inside.table()[place] for place in at])
        query, key, value = maps["query"](asking), maps["key"](inside), maps["value"](inside)
        size = tokens.ncols() // layer.heads
        parts = []
        for head in range(layer.heads):
            q, k, v = (
                flint.arb_mat([row[head * size : (head + 1) * size] for row in part.table()])
                for part in (query, key, value)
            )
            scores, scale = (q * k.transpose()).table(), flint.arb(size).rsqrt()
            weights = []
            for place, row in zip(at, scores, strict=True):
                seen = row[: place + 1] if causal else row
                shares = softmax([score * scale for score in seen])
                weights.append(shares + [flint.arb(0)] * (len(row) - len(seen)))
            parts.append((flint.arb_mat(weights) * v).table())
        mixed = flint.arb_mat([[entry for part in parts for entry in part[row]] for row in range(len(at))])
        return self._finish(flint.arb_mat([tokens.table()[place] for place in at]), maps["output"](mixed))

    def _finish(self, before: _Matrix, attended: _Matrix) -> _Matrix:
        layer, middle = self.layer, before + attended
        if layer.order == "post":
            middle = _normalise(layer.attention_norm, middle)
        if layer.forward_norm is None or "up" not in self.maps:
            return middle
        inside = _normalise(layer.forward_norm, middle) if layer.order == "pre" else middle
        gelu = _gelu_by_tanh if layer.gelu == "tanh" else _gelu
        bent = flint.arb_mat([[gelu(entry) for entry in row] for row in self.maps["up"](inside).table()])
        after = middle + self.maps["down"](bent)
        return after if layer.order == "pre" else _normalise(layer.forward_norm, after)


class _Affine:
    def __init__(self, part: Affine) -> None:
        self.weight, self.bias = _matrix(part.weight), _matrix(part.bias[None])

    def __call__(self, rows: _Matrix) -> _Matrix:
        ones = flint.arb_mat(rows.nrows(), 1, [1] * rows.nrows())
        return rows * self.weight + ones * self.bias


def _normalise(norm: Norm, rows: _Matrix) -> _Matrix:
    gain = [1.0] * rows.ncols() if norm.gain is None else norm.gain.tolist()
    bias = [0.0] * rows.ncols() if norm.bias is None else norm.bias.tolist()
    return flint.arb_mat([_normalised(row, gain, bias, norm.epsilon) for row in rows.table()])


def _normalised(row: list[Ball], gain: list[float], bias: list[float], epsilon: float) -> list[Ball]:
    mean = sum(row, flint.arb(0)) / len(row)
    centred = [entry - mean for entry in row]
    scale = (sum((entry * entry for entry in centred), flint.arb(0)) / len(row) + epsilon).rsqrt()
    return [entry * scale * factor + shift for entry, factor, shift in zip(centred, gain, bias, strict=True)]


def _gelu(entry: Ball) -> Ball:
    return entry * (1 + (entry * flint.arb(0.5).sqrt()).erf()) / 2


def _gelu_by_tanh(entry: Ball) -> Ball:
    return entry * (1 + ((2 / flint.arb.pi()).sqrt() * (entry + flint.arb("0.044715") * entry**3)).tanh()) / 2


def _matrix(numbers: Tensor) -> _Matrix:
    """Floats as balls of radius 0."""
    rows, columns = numbers.shape
    return flint.arb_mat(rows, columns, numbers.double().flatten().tolist())
