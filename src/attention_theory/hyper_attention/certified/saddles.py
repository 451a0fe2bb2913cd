"""Critical points of the training loss: those with a way down, and one without (beyond Theorem 4.4)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exact, symbolic
from attention_theory.certificates.certificate import Counterexample
from attention_theory.hyper_attention.interactions.gram import gram_loss
from attention_theory.hyper_attention.layers.self_attention import linear_attention

#: Two sequences of two symbols on which all data matrices have full rank.
TWO_SEQUENCES = torch.tensor([[0, 1, 1], [0, 0, 1]])

#: Score and value, in one-hot coordinates, of a target with two outputs, and of a layer that is stuck above it.
TARGET = (
    torch.tensor([[17.0, 5.0], [5.0, 17.0]], dtype=torch.float64),
    torch.tensor([[17.0, -11.0], [17.0, 11.0]], dtype=torch.float64),
)
STUCK = (
    torch.tensor([[38.0, 95.0], [95.0, 38.0]], dtype=torch.float64),
    torch.tensor([[3.0, 1.0], [3.0, -1.0]], dtype=torch.float64),
)


def loss_of_outputs(
    score: Float[Tensor, "size size"],
    value: Float[Tensor, "size outputs"],
    target: tuple[Float[Tensor, "size size"], Float[Tensor, "size outputs"]],
    symbols: Int[Tensor, "samples length"],
) -> Float[Tensor, ""]:
    """The training loss of Section 4 of a layer with several outputs; the targets come from another layer."""
    hot = torch.eye(len(score), dtype=score.dtype, device=symbols.device)[symbols]
    apart = linear_attention(hot, score, value) - linear_attention(hot, *target)
    return (apart * apart).sum() / len(symbols)


def certify_negative_curvature() -> Certificate:
    """Beyond Theorem 4.4: where ``w_v = 0``, how the loss bends if ``C_uv`` and ``w_v`` move by ``a t`` and ``c t``.

    At a critical point of positive loss some entry ``r = (G_u E_u)_v`` is not 0, and then ``w_v = 0``. The second
    derivative ``2 c^2 K + 4 a c r`` with ``K >= 0`` is below 0 for some a and c. Here u is 1 and v is 0, and the factor
    1/B is in the Gram tensor.
    """
    shapes = {"half": (3, 3, 3), "target": (3, 3), "score": (3, 3), "others": (2,), "first": (1,), "a": (1,), "c": (1,)}
    *drawn, t = symbolic.variables(**shapes, t=(1,)).values()
    moved_score = torch.outer(torch.eye(3)[1], torch.eye(3)[0]).double()

    def loss(t: Tensor, half: Tensor, target: Tensor, score: Tensor, *rest: Tensor) -> Tensor:
        others, first, a, c = rest
        value = torch.cat([first + t * c, others])
        return gram_loss(half + half.mT, (score + t * a * moved_score) * value, target)

    def bend(half: Tensor, target: Tensor, score: Tensor, *rest: Tensor) -> Tensor:
        others, first, a, c = rest
        gram = half + half.mT
        pulled = gram[1] @ (score * torch.cat([first, others]) - target)[1]
        return 2 * c * c * (score[:, 0] * score[:, 0] * gram[:, 0, 0]).sum() + 4 * a * c * pulled[0]

    def ask(first: Tensor, words: str) -> Answer:
        given = [*drawn[:4], first, *drawn[5:]]
        second = symbolic.derivative(symbolic.derivative(loss(t, *given), t), t)
        (at_start,) = (entry.subs(symbolic.entries(t)[0], 0) for entry in symbolic.entries(second))
        return symbolic.equal(symbolic.Terms.of([at_start]), bend(*given), words)

    def run(values: Counterexample) -> tuple[str, bool]:
        given = list(symbolic.at(values, **shapes).values())
        steps = {step: loss(torch.tensor([step]).double(), *given) for step in (-2, -1, 0, 1, 2)}
        second = (16 * (steps[1] + steps[-1]) - steps[2] - steps[-2] - 30 * steps[0]) / 12  # exact at degree four
        off = (second - bend(*given)).abs().max().item()
        return f"the second derivative is off by {off:.3g}", off > 1e-6

    return certify(
        "Where w_v = 0, the second derivative of the loss along a move of C_uv and w_v is the formula of the proof.",
        "three symbols, every data set (all symmetric Gram tensors), all real targets and C, all w with one entry 0",
        ask(0 * drawn[4], "second derivative, w_v = 0"),
        Control.of("w_v is not 0", ask(drawn[4], "second derivative, any w_v"), run),
    )


def certify_stuck() -> Certificate:
    """Beyond Theorem 4.4: with two outputs a layer can be a local minimum of the loss, which is above 0 there.

    The gradient is 0. With one value of each symbol fixed, which the rescaling of column v of C against row v of W
    allows, the second derivative is positive definite.
    """
    score, value = symbolic.variables(score=(2, 2), value=(2, 2)).values()
    point = [number for tensor in STUCK for number in symbolic.entries(tensor).flat]
    free = torch.tensor([0, 1, 2, 3, 5, 7])  # without the first value of each symbol

    def at_point(expressions: Tensor) -> Tensor:
        numbers = [float(entry(*point)) for entry in symbolic.entries(expressions).flat]
        return torch.tensor(numbers, dtype=torch.float64)

    def gradient(symbols: Tensor) -> Tensor:
        loss = loss_of_outputs(score, value, TARGET, symbols)
        parts = [symbolic.derivative(loss, part).flatten() for part in (score, value)]
        return torch.cat(parts)

    def ask(symbols: Tensor) -> Answer:
        return symbolic.equal(at_point(gradient(symbols)), torch.zeros(8).double(), "the gradient at the layer is 0")

    def run(values: Counterexample) -> tuple[str, bool]:
        layer = [part.clone().requires_grad_() for part in STUCK]
        moved = torch.autograd.grad(loss_of_outputs(layer[0], layer[1], TARGET, more), layer)
        entries = torch.cat([part.flatten() for part in moved])
        off = entries - float(values["difference of the sides"])
        entry = entries[off.abs().argmin()].item()
        return f"an entry of the gradient is {entry:.4g}", abs(entry) > 1 and bool(off.abs().min() < 1e-6)

    slopes = gradient(TWO_SEQUENCES)
    rows = [
        torch.cat([at_point(symbolic.derivative(entry, part)) for part in (score, value)]) for entry in slopes.unbind()
    ]
    curvature = torch.stack(rows)[free][:, free]
    more = torch.cat([TWO_SEQUENCES, torch.tensor([[0, 0, 0]])])
    return certify(
        "With two symbols, two outputs and the sequences 122 and 112, a layer of positive loss is a local minimum, "
        "although another layer has loss 0.",
        "the target and the layer of the page; moves of all weights, up to a rescaling that does not change the layer",
        [
            ask(TWO_SEQUENCES),
            exact.positive_definite(curvature, "second derivative, first value of each symbol fixed"),
            exact.positive_definite([[loss_of_outputs(*STUCK, TARGET, TWO_SEQUENCES).item()]], "the loss is above 0"),
        ],
        Control.of("the data hold the sequence 111 too", ask(more), run),
    )
