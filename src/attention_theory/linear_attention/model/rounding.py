"""From vectors back to letters (Appendix D): rounding to the nearest unit vector, with and without an empty token."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from attention_theory.validation import refuse_unless, require


def round_letter(vectors: Float[Tensor, "... letters"]) -> Float[Tensor, "... letters"]:
    """The unit vector of the largest entry, the paper's rounding; some letter even for the zero vector."""
    return torch.nn.functional.one_hot(vectors.argmax(dim=-1), vectors.shape[-1]).to(vectors.dtype)


def read_letter(vectors: Num[Tensor, "... letters"]) -> Int[Tensor, "..."]:
    """The letter of each unit vector, and -1 for every other vector."""
    is_unit = ((vectors == 0) | (vectors == 1)).all(dim=-1) & (vectors.sum(dim=-1) == 1)
    return torch.where(is_unit, vectors.argmax(dim=-1), -1)


def round_token(
    tokens: Float[Tensor, "... width"], blocks: Sequence[Int[Tensor, " _rows"]], threshold: float = 0.5
) -> Float[Tensor, "... width"]:
    """The letter of the largest entry of each attribute, or nothing if that entry is below the threshold.

    At the threshold 1/2 an error of squared norm below 1/4 is always undone; :func:`round_letter` undoes one below 1/2.

    Args:
        tokens: outputs of a layer.
        blocks: the rows of each attribute; rows outside all blocks become 0.
        threshold: between 0 and 1.

    Raises:
        ParameterError: a threshold outside [0, 1].
    """
    require(threshold=(threshold, 0.0, 1.0))
    rounded = torch.zeros_like(tokens)
    for block in blocks:
        entries = tokens[..., block]
        rounded[..., block] = round_letter(entries) * (entries.amax(dim=-1, keepdim=True) >= threshold)
    return rounded


def worst_error(letters: int, squared_norm: float, true: int | None, wrong: int) -> Float[Tensor, " letters"]:
    """The error of given squared norm that brings rounding closest to a mistake.

    It moves the true and the wrong letter by equal parts, or the wrong one alone where the token is empty (``None``).

    Raises:
        ParameterError: the wrong letter is the true one, or not a letter.
    """
    require(letters=(letters, 1, None), squared_norm=(squared_norm, 0.0, None))
    require(wrong=(wrong, 0, letters - 1))
    refuse_unless(wrong != true, f"wrong must be another letter than the true one, got {wrong} for both")
    error = torch.zeros(letters, dtype=torch.float64)
    if true is None:
        error[wrong] = squared_norm**0.5
    else:
        error[true] = -((squared_norm / 2) ** 0.5)
        error[wrong] = (squared_norm / 2) ** 0.5
    return error
