"""The loss, its gradients and the dynamics of the residuals, sample by sample (Section 4, Appendix C).

Here the layer has one output (``d_2 = 1``): ``value`` is the vector w. The Gram form in :mod:`gram` computes the same
loss and gradients from counts alone, and is what training uses.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.validation import FORMS, Form, require


def residuals(
    tokens: Float[Tensor, "samples tokens width"],
    targets: Float[Tensor, "samples tokens"],
    score: Float[Tensor, "width width"],
    value: Float[Tensor, " width"],
) -> Float[Tensor, "samples tokens"]:
    """Output minus target of every token of every sample, ``D`` in Appendix C."""
    return linear_attention(tokens, score, value[:, None]).squeeze(-1) - targets


def loss_gradients(
    tokens: Float[Tensor, "samples tokens width"],
    targets: Float[Tensor, "samples tokens"],
    score: Float[Tensor, "width width"],
    value: Float[Tensor, " width"],
    form: Form = "correct",
) -> tuple[Float[Tensor, "width width"], Float[Tensor, " width"]]:
    """Gradients of the loss in C and w, in the matrix form of Appendix C.

    ``form="printed"`` leaves out the transpose on C in the second one, as two displays of the derivation do.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    residual = residuals(tokens, targets, score, value)
    gram = tokens.mT @ tokens
    pulled = torch.einsum("nia,ni->na", tokens, residual)
    by_score = torch.einsum("na,nbc,c->ab", pulled, gram, value)
    turned = score.mT if form == "correct" else score
    by_value = torch.einsum("nab,bc,nc->a", gram, turned, pulled)
    return 2 / len(tokens) * by_score, 2 / len(tokens) * by_value


def residual_maps(
    tokens: Float[Tensor, "samples tokens width"], score: Float[Tensor, "width width"], value: Float[Tensor, " width"]
) -> tuple[Float[Tensor, "rows pairs"], Float[Tensor, "rows width"]]:
    """The matrices M and M_2 of Eq. 21, samples stacked: how the residuals move with vec(C) and with w.

    vec stacks columns, so that ``M vec(C)`` is ``X C X^T X w``: row (n, i) of M is ``(w^T X^T X) ⊗ X_i``.
    """
    gram = tokens.mT @ tokens
    by_score = torch.einsum("nb,nia->niba", gram @ value, tokens).flatten(2)
    return by_score.flatten(0, 1), (tokens @ score @ gram).flatten(0, 1)
