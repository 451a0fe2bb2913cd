"""Sigmoids out of the softmax in the paper's own layouts: many heads (Lemma 11) and a single one (Lemma 12).

A softmax over one score u and n - 1 scores 0 is a sigmoid of u - log(n - 1). Lemma 11 adds the missing log(n - 1) to
the score; Lemma 12 pushes all other scores but one far below 0.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.encodings import sign_code
from attention_theory.looped_transformers._forms import Forms, printed_places
from attention_theory.looped_transformers.blocks.base import CLOSED
from attention_theory.looped_transformers.machine.layers import Layer, LoopedTransformer
from attention_theory.rows import Combination, Rows, combine, moves
from attention_theory.validation import FORMS, Form, refuse_unless, require

#: Where Lemma 12 and Corollary 2 are wrong in print.
_PLACES = ("empty column", "sum row")

#: Keys and queries of a head that attends to all columns alike.
_EVEN: list[Combination] = [{}]


class ManyHeads:
    """Lemma 11: ``sum_i c[j, i] sigmoid(a[j, i] · x)`` in three layers and m heads; the input chooses the function j.

    Columns, from 0: the selector e_j in column 0, x in column d, the result in column 2d.

    Args:
        a: the directions, N functions of m terms.
        c: the coefficients.
        size: d.
        spare: columns beyond the 3d of the lemma; they take part in every softmax.
        counted: the number n of columns that the bias log(n - 1) is made for; the true one unless given.
        inverse_temperature: factor on the scores.
        scaled: divide the keys by the inverse temperature.
        cleared: after the sums, empty their row outside the column of x. Every column attends, so every column gets a
            sum, and in the result's column it would be added to the one that is copied there.
        form: ``printed`` has the bias -log(n - 1).

    Raises:
        ParameterError: a parameter out of its range.
    """

    def __init__(
        self,
        a: Float[Tensor, "functions terms width"],
        c: Float[Tensor, "functions terms"],
        size: int,
        spare: int = 0,
        counted: int | None = None,
        inverse_temperature: float = 30.0,
        scaled: bool = True,
        cleared: bool = True,
        form: Form = "correct",
    ) -> None:
        require(size=(size, 2, None), spare=(spare, 0, None), inverse_temperature=(inverse_temperature, 1e-6, None))
        require(form=(form, FORMS))
        functions, terms, width = a.shape
        self.size, self.columns, self.inverse_temperature = size, 3 * size + spare, inverse_temperature
        bits = math.ceil(math.log2(self.columns))
        top = max(functions, width + 1)
        self.rows = Rows(top=top, moved=width + 1, sum=1, pointer=bits, address=bits, here=1, elsewhere=1)
        count = self.columns if counted is None else counted
        bias = math.log(count - 1) if form == "correct" else -math.log(count - 1)
        self.codes = sign_code(self.columns, bits)
        move = self._move_layer(width)
        sigmoids = Layer(self.rows, "sigmoids")
        (total,), (here,) = self.rows["sum"], self.rows["here"]
        strength = 1 / inverse_temperature if scaled else 1.0
        selector = self.rows["top"][:functions]
        for term in range(terms):
            biased = torch.cat([a[:, term], a.new_full((functions, 1), bias)], dim=1) * strength
            keys = [_weights(selector, biased[:, entry]) for entry in range(width + 1)]
            value = _weights(selector, c[:, term])
            sigmoids.head(f"term {term + 1}", keys, combine(self.rows["moved"]), [(value, total)])
        if cleared:
            sigmoids.gated_move(total, total, {here: CLOSED}, gain=-1.0)
        place = Layer(self.rows, "place")
        place.head("place", combine(self.rows["pointer"]), combine(self.rows["address"]), [({total: 1.0}, total)])
        self.total = total
        self.machine = LoopedTransformer(self.rows, [move, sigmoids, place], device=a.device)

    def _move_layer(self, width: int) -> Layer:
        """x from the top rows to separate rows, so that its column has no key."""
        layer = Layer(self.rows, "move")
        for source, target in zip(self.rows["top"][: width + 1], self.rows["moved"], strict=True):
            layer.gated_move(source, target, {self.rows["elsewhere"][0]: CLOSED})
            layer.gated_move(source, source, {self.rows["elsewhere"][0]: CLOSED}, gain=-1.0)
        return layer

    def start(self, x: Float[Tensor, "... width"], chosen: int) -> Float[Tensor, "... columns rows"]:
        """The state for inputs x and the function ``chosen``."""
        state = torch.zeros(*x.shape[:-1], self.columns, self.rows.size, dtype=torch.float64, device=x.device)
        top = self.rows.view(state, "top")
        top[..., 0, chosen] = 1
        top[..., self.size, : x.shape[-1]] = x
        top[..., self.size, x.shape[-1]] = 1
        self.rows.view(state, "here")[..., self.size, :] = 1
        self.rows.view(state, "elsewhere")[...] = 1
        self.rows.view(state, "elsewhere")[..., self.size, :] = 0
        self.rows.view(state, "pointer")[..., self.size, :] = self.codes[2 * self.size]
        self.rows.view(state, "address")[..., 2 * self.size, :] = self.codes[2 * self.size]
        return state

    def run(self, x: Float[Tensor, "... width"], chosen: int) -> Float[Tensor, "... columns rows"]:
        return self.machine.cycle(self.start(x, chosen), self.inverse_temperature)

    def __call__(self, x: Float[Tensor, "... width"], chosen: int) -> Float[Tensor, "..."]:
        """The result: what column 2d holds in the row of the sums at the end."""
        return self.run(x, chosen)[..., 2 * self.size, self.total]


class OneHead:
    """Lemma 12 and Corollary 2: all m sigmoids in one head, then their weighted sum in every column.

    Layer 1 copies x from the first column into all others. Column l selects term l: its own column answers with
    a_l · x, the other columns with a_l · x - C, and one empty column with 0. Layer 2, that of Lemma 12, leaves
    c_l sigmoid(a_l · x) in column l; layer 3 adds them up.

    Args:
        a: the directions.
        c: the coefficients, 1 unless given.
        height: C.
        inverse_temperature: factor on the scores.
        form: of the places in :data:`_PLACES`. Printed, there is no ``empty column``, and every weight is 1; the
            ``sum row`` is that of the sigmoids, to which the sum is added.

    Raises:
        ParameterError: a negative height, an inverse temperature that is not positive, or an unknown form.
    """

    def __init__(
        self,
        a: Float[Tensor, "terms width"],
        c: Float[Tensor, " terms"] | None = None,
        height: float = 50.0,
        inverse_temperature: float = 30.0,
        form: Forms = "correct",
    ) -> None:
        require(height=(height, 0.0, None), inverse_temperature=(inverse_temperature, 1e-6, None))
        printed = printed_places(form, _PLACES)
        terms, width = a.shape
        self.terms, self.inverse_temperature = terms, inverse_temperature
        self.columns = terms + (0 if "empty column" in printed else 1)
        self.summed = "sigmoid" if "sum row" in printed else "sum"
        self.rows = Rows(x=width, sigmoid=1, others=terms, own=terms, sum=1)
        rows, strength = self.rows, 1 / inverse_temperature
        copies, sigmoids = self._copy_layer(), Layer(rows, "sigmoids")
        keys = [
            {**_weights(rows["x"], a[term] * strength), rows["others"][term]: -height * strength}
            for term in range(terms)
        ]
        heights = a.new_ones(terms) if c is None else c
        value = _weights(rows["own"], heights)
        (sigmoid,) = rows["sigmoid"]
        sigmoids.head("sigmoids", keys, combine(rows["own"]), [(value, sigmoid)])
        not_empty = dict.fromkeys(rows["own"], CLOSED)
        sigmoids.gated_move(sigmoid, sigmoid, not_empty, gain=-1.0)
        total = Layer(rows, "sum")
        total.head("sum", _EVEN, _EVEN, moves(rows["sigmoid"], rows[self.summed], self.columns))
        self.machine = LoopedTransformer(rows, [copies, sigmoids, total], device=a.device)

    def _copy_layer(self) -> Layer:
        """x from the first column into all; halve what is then 2x there, and empty the empty column again."""
        layer, x = Layer(self.rows, "copies"), self.rows["x"]
        layer.head("copy", _EVEN, _EVEN, moves(x, x, self.columns))
        not_first = {self.rows["others"][0]: CLOSED}
        not_empty = dict.fromkeys(self.rows["own"], CLOSED)
        for row in x:
            layer.gated_move(row, row, not_first, gain=-0.5)  # open in the empty column too, where the rest is taken
            layer.gated_move(row, row, not_empty, gain=-0.5)
        return layer

    def start(self, x: Float[Tensor, "... width"], copies: bool = False) -> Float[Tensor, "... columns rows"]:
        """The input of Corollary 2, with x in the first column; with ``copies`` that of Lemma 12, with x in all."""
        state = torch.zeros(*x.shape[:-1], self.columns, self.rows.size, dtype=torch.float64, device=x.device)
        self.rows.view(state, "x")[..., : self.terms if copies else 1, :] = x[..., None, :]
        own = torch.eye(self.terms, dtype=torch.float64, device=x.device)
        self.rows.view(state, "own")[..., : self.terms, :] = own
        self.rows.view(state, "others")[..., : self.terms, :] = 1 - own
        return state

    def sigmoids(self, x: Float[Tensor, "... width"]) -> Float[Tensor, "... terms"]:
        """Lemma 12: its one layer, on its own input."""
        state = self.machine.dense[1](self.start(x, copies=True), self.inverse_temperature)
        return self.rows.view(state, "sigmoid")[..., : self.terms, 0]

    def sums(self, x: Float[Tensor, "... width"], copied: bool = True) -> Float[Tensor, "... columns"]:
        """Corollary 2: the sum, as found in every column; without ``copied`` the first layer is left out."""
        state = self.start(x)
        for layer in self.machine.dense[0 if copied else 1 :]:
            state = layer(state, self.inverse_temperature)
        return self.rows.view(state, self.summed)[..., 0]


class OwnColumns:
    """Corollary 2 on its own input of d columns: no empty column, three layers, one head each, O(d) rows.

    Layer 1 copies x into all columns, and its ReLU part leaves a_l · x in row l of column l alone. In layer 2 column l
    scores a_l · x + log(d - 1) with itself and 0 with the d - 1 others, so that its weight on itself is the sigmoid.
    Layer 3 adds up, in a separate row. Gates close up to |a_l · x| = 1e9.

    Args:
        a: the directions, at least 2: as many as columns.
        c: the coefficients, 1 unless given.
        inverse_temperature: factor on the scores.

    Raises:
        ParameterError: fewer than two directions, an inverse temperature that is not positive.
    """

    def __init__(
        self,
        a: Float[Tensor, "terms width"],
        c: Float[Tensor, " terms"] | None = None,
        inverse_temperature: float = 30.0,
    ) -> None:
        terms, width = a.shape
        require(inverse_temperature=(inverse_temperature, 1e-6, None))
        refuse_unless(terms >= 2, f"a must have at least two terms, got shape {list(a.shape)}")
        self.terms, self.inverse_temperature = terms, inverse_temperature
        heights = a.new_ones(terms) if c is None else c
        self.rows = rows = Rows(x=width, others=terms, own=terms, score=terms, weight=terms, sigmoid=1, sum=1)
        copies, sigmoids, total = (Layer(rows, name) for name in ("copies", "sigmoids", "sum"))
        copies.head("copy", _EVEN, _EVEN, moves(rows["x"], rows["x"], terms))
        for term, (score, others) in enumerate(zip(rows["score"], rows["others"], strict=True)):
            direction = a[term] / (2 if term == 0 else 1)  # the first column has x twice
            for sign in (1.0, -1.0):
                copies.unit("score", {**_weights(rows["x"], sign * direction), others: CLOSED}, {score: sign})
        strength, bias = 1 / inverse_temperature, math.log(terms - 1)
        keys = [{score: strength, own: bias * strength} for score, own in zip(rows["score"], rows["own"], strict=True)]
        sigmoids.head("sigmoids", keys, combine(rows["own"]), moves(rows["own"], rows["weight"]))
        for weight, others, height in zip(rows["weight"], rows["others"], heights.tolist(), strict=True):
            sigmoids.gated_move(weight, rows["sigmoid"][0], {others: CLOSED}, gain=height)
        sigmoids.clear([*rows["weight"], *rows["score"]])
        total.head("sum", _EVEN, _EVEN, moves(rows["sigmoid"], rows["sum"], terms))
        self.machine = LoopedTransformer(rows, [copies, sigmoids, total], device=a.device)

    def sums(self, x: Float[Tensor, "... width"]) -> Float[Tensor, "... columns"]:
        """The sum, as found in every column."""
        state = torch.zeros(*x.shape[:-1], self.terms, self.rows.size, dtype=torch.float64, device=x.device)
        own = torch.eye(self.terms, dtype=torch.float64, device=x.device)
        self.rows.view(state, "x")[..., 0, :] = x
        self.rows.view(state, "own")[...] = own
        self.rows.view(state, "others")[...] = 1 - own
        return self.rows.view(self.machine.cycle(state, self.inverse_temperature), "sum")[..., 0]


def _weights(block: range, weights: Float[Tensor, " block"]) -> Combination:
    return dict(zip(block, weights.tolist(), strict=True))
