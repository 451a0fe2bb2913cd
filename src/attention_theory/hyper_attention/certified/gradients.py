"""Gradients, residuals and what the flow keeps, as identities of polynomials (Section 4, Appendices C and G.4)."""

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, symbolic
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.symbolic import Terms
from attention_theory.hyper_attention.certified.pairs import sequences
from attention_theory.hyper_attention.interactions.flow import conserved
from attention_theory.hyper_attention.interactions.gradients import (
    loss_gradients,
    residual_maps,
    residuals,
)
from attention_theory.hyper_attention.interactions.gram import gram_gradients
from attention_theory.hyper_attention.interactions.interactions import counts
from attention_theory.hyper_attention.layers.linear_hyper_attention import linear_hyper_attention
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.validation import Form

#: Two sequences of two tokens of width two with their targets, and a layer.
_SHAPES = {"x": (2, 2, 2), "y": (2, 2), "c": (2, 2), "w": (2,)}


def certify_loss_gradients() -> Certificate:
    """Appendix C: the matrix form of both gradients is the derivative of the loss that training uses."""
    x, y, c, w = symbolic.variables(**_SHAPES).values()
    loss = _training_loss(linear_attention(x, c, w[:, None]), y[..., None])

    def ask(form: Form) -> list[Answer]:
        by_score, by_value = loss_gradients(x, y, c, w, form)
        return [
            symbolic.equal(by_score, symbolic.derivative(loss, c), "the gradient in C"),
            symbolic.equal(by_value, symbolic.derivative(loss, w), "the gradient in w"),
        ]

    def run(values: Counterexample) -> tuple[str, bool]:
        x, y, c, w = symbolic.at(values, **_SHAPES).values()
        w.requires_grad_()
        _training_loss(linear_attention(x, c, w[:, None]), y[..., None]).backward()
        assert w.grad is not None
        off = (loss_gradients(x, y, c, w, "printed")[1] - w.grad).abs().max().item()
        return f"the gradient in w is off by {off:.3g}", off > 1e-6

    return certify(
        "The gradients of Appendix C, with 2/B, are the derivatives of the loss.",
        "all real tokens, targets, C and w; two sequences of two tokens of width two",
        ask("correct"),
        Control.of("the transpose on C is dropped in the gradient in w", ask("printed")[1], run),
    )


def certify_residual_motion() -> Certificate:
    """Eq. 21: along the flow the residuals move by ``-(2/B) (M M^T + M_2 M_2^T) D``.

    M and M_2 are the derivatives of the residuals, and ``2/B`` times their transposes makes the gradients from D.
    """
    x, y, c, w = symbolic.variables(**_SHAPES).values()
    by_c, by_w = residual_maps(x, c, w)
    residual = residuals(x, y, c, w).flatten()
    moves_by_c = torch.stack([_column_major(symbolic.derivative(row, c)) for row in residual])
    moves_by_w = torch.stack([symbolic.derivative(row, w) for row in residual])

    def ask(form: Form) -> list[Answer]:
        by_score, by_value = loss_gradients(x, y, c, w, form)
        return [
            symbolic.equal(_column_major(by_score), by_c.mT @ residual, "the gradient in C is (2/B) M^T D, B = 2"),
            symbolic.equal(by_value, by_w.mT @ residual, "the gradient in w is (2/B) M_2^T D, B = 2"),
        ]

    def run(values: Counterexample) -> tuple[str, bool]:
        x, y, c, w = symbolic.at(values, **_SHAPES).values()
        by_score, by_value = loss_gradients(x, y, c, w, "printed")
        by_c, by_w = residual_maps(x, c, w)
        residual = residuals(x, y, c, w).flatten()
        motion, wanted = by_c @ _column_major(by_score) + by_w @ by_value, (by_c @ by_c.mT + by_w @ by_w.mT) @ residual
        off = (motion - wanted).abs().max().item()
        return f"the motion is off by {off:.3g}", off > 1e-6

    return certify(
        "Under gradient flow the residuals move by -(2/B) (M M^T + M_2 M_2^T) D.",
        "all real tokens, targets, C and w; two sequences of two tokens of width two",
        [
            symbolic.equal(by_c, moves_by_c, "M is the derivative of the residuals by vec(C)"),
            symbolic.equal(by_w, moves_by_w, "M_2 is the derivative of the residuals by w"),
            *ask("correct"),
        ],
        Control.of("the transpose on C is dropped, as in the displays before Eq. 21", ask("printed")[1], run),
    )


def certify_diagonal_counts() -> Certificate:
    """Lemma C.1: ``B X^T X B^T = diag(s)`` for every rotation of three coordinates.

    The rotation is a product of three turns of two coordinates each, scaled by ``1 + t^2`` with t the tangent of half
    of the angle, so that its entries are polynomials.
    """
    symbols = sequences(3, 3)
    a, b, c = symbolic.variables(t=3)["t"]

    def turn(t: Tensor, axes: tuple[int, int, int]) -> Tensor:
        one, zero = 1 + 0 * t, 0 * t
        rows = torch.stack(
            [
                torch.stack([1 - t * t, -2 * t, zero]),
                torch.stack([2 * t, 1 - t * t, zero]),
                torch.stack([zero, zero, one + t * t]),
            ]
        )
        return rows[list(axes)][:, list(axes)]

    def rotation(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return turn(a, (0, 1, 2)) @ turn(b, (2, 0, 1)) @ turn(c, (0, 1, 2))

    def sides(embedding: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
        tokens = embedding[symbols]
        return embedding @ tokens.mT @ tokens @ embedding.mT, torch.diag_embed(counts(symbols, 3)) * length

    def length(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        square = (1 + a * a) * (1 + b * b) * (1 + c * c)
        return square * square * square * square

    one = torch.ones((), dtype=torch.float64)

    def run(values: Counterexample) -> tuple[str, bool]:
        left, right = sides(symbolic.at(values, embedding=(3, 3))["embedding"], one)
        off = (left - right).abs().max().item()
        return f"entries are off by {off:.3g}", off > 0.5

    return certify(
        "In the basis of an orthonormal embedding X^T X is the diagonal matrix of the counts.",
        "every rotation of three coordinates as the embedding, all sequences of three tokens",
        symbolic.equal(*sides(rotation(a, b, c), length(a, b, c)), "rotations, scaled"),
        Control.of(
            "an embedding that is not orthonormal",
            symbolic.equal(*sides(symbolic.variables(embedding=(3, 3))["embedding"], one), "any embedding"),
            run,
        ),
    )


def _change(kept: Tensor, score: Terms, value: Terms, by_score: Tensor, by_value: Tensor) -> Tensor:
    """The change along the flow of a quantity that should be conserved, entry by entry."""
    changes = [
        (symbolic.derivative(entry, score) * by_score).sum() + (symbolic.derivative(entry, value) * by_value).sum()
        for entry in kept.flatten()
    ]
    return torch.stack(changes)


def certify_conservation() -> Certificate:
    """Lemma C.2: the flow keeps ``w_a^2 - |C_{:,a}|^2``, so that no entry of w falls below its start from C = 0."""
    shapes = {"gram": (3, 3, 3), "target": (3, 3), "score": (3, 3), "value": (3,)}
    half, target, score, value = symbolic.variables(**shapes).values()
    by_score, by_value, _ = gram_gradients(half + half.mT, target, score, value)
    kept, nothing = conserved(score, value), torch.zeros(3, dtype=torch.float64)

    def ask(factor: int) -> Answer:
        change = _change(kept, score, value, factor * by_score, by_value)
        return symbolic.equal(change, nothing, f"the change of w^2 - |C|^2, gradient in C times {factor}")

    def run(values: Counterexample) -> tuple[str, bool]:
        half, target, score, value = symbolic.at(values, **shapes).values()
        by_score, by_value, _ = gram_gradients(half + half.mT, target, score, value)
        change = 2 * (value * by_value - 3 * (score * by_score).sum(dim=0)).abs().max().item()
        return f"w^2 - |C|^2 moves at a speed of {change:.3g}", change > 1e-6

    return certify(
        "Gradient flow keeps w_a^2 - |C_{:,a}|^2 for every symbol a.",
        "three symbols, every data set (all symmetric Gram tensors), all real targets, C and w; gradients as in "
        "the code",
        ask(1),
        Control.of("the gradient in C is tripled", ask(3), run),
    )


def certify_tuple_conservation() -> Certificate:
    """Lemma G.9: the same for HyperAttention of order 3, whose loss is that of the layer written out over triples."""
    symbols = sequences(2, 3)
    shapes = {"score": (2, 2, 2), "value": (2, 2), "target": (len(symbols), 3)}
    score, value, target = symbolic.variables(**shapes).values()
    hot = torch.eye(2, dtype=torch.float64)[symbols]

    def loss(number: int, score: Tensor, value: Tensor, target: Tensor) -> Tensor:
        outputs = linear_hyper_attention(hot[[number]], score, value[..., None])
        return _training_loss(outputs, target[[number]][..., None])

    kept = conserved(score.flatten(1), value.flatten())

    def ask(factor: int) -> Answer:
        changes = []
        for number in range(len(symbols)):
            made = loss(number, score, value, target)
            gradients = factor * symbolic.derivative(made, score), symbolic.derivative(made, value)
            changes.append(_change(kept, score, value, *gradients))
        return symbolic.equal(
            torch.stack(changes), torch.zeros(len(symbols), 4).double(), f"change, gradient in C times {factor}"
        )

    def run(values: Counterexample) -> tuple[str, bool]:
        score, value, target = (tensor.requires_grad_() for tensor in symbolic.at(values, **shapes).values())
        losses = torch.stack([loss(number, score, value, target) for number in range(len(symbols))])
        moved = 0.0
        for each in losses:
            by_score, by_value = torch.autograd.grad(each, [score, value], retain_graph=True)
            change = value * by_value - 3 * (score * by_score).sum(dim=0)
            moved = max(moved, 2 * change.abs().max().item())
        return f"w^2 - |C|^2 moves at a speed of {moved:.3g}", moved > 1e-6

    return certify(
        "Gradient flow of HyperAttention of order 3 keeps w_ab^2 - |C_{:,ab}|^2 for every pair of symbols.",
        "two symbols, data sets of sequences of three tokens, sequence by sequence; all real targets, C and w",
        ask(1),
        Control.of("the gradient in C is tripled", ask(3), run),
    )


def _training_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """The squared error, summed over the tokens of a sequence and averaged over the sequences only (Section 4)."""
    return (outputs - targets).square().sum(dim=(-2, -1)).mean()


def _column_major(matrix: Tensor) -> Tensor:
    """vec of Appendix C: the columns of a matrix one under the other."""
    return matrix.mT.flatten()
