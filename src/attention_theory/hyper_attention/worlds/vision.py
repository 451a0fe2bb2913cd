"""Counting black pixels at given offsets of every pixel, by one attention layer (Appendix B.3)."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.numerics import least_norm_solution
from attention_theory.validation import ParameterError, refuse_unless, require, require_some

_Offsets = Sequence[tuple[int, int]]


def pixel_tokens(images: Float[Tensor, "... height width"]) -> Float[Tensor, "... pixels features"]:
    """One token a pixel (Appendix B.3): its colour (1 for black), then its position as a one-hot."""
    colours = images.flatten(-2).unsqueeze(-1)
    pixels = colours.shape[-2]
    positions = torch.eye(pixels, dtype=images.dtype, device=images.device)
    return torch.cat([colours, positions.expand(*colours.shape[:-1], pixels)], dim=-1)


def pattern_score(height: int, width: int, offsets: _Offsets) -> Float[Tensor, "features features"]:
    """The score matrix of Appendix B.3: 1 from each position to those at the offsets (row, column) inside, else 0.

    Raises:
        ParameterError: a size below 1, no offset, or one offset twice.
    """
    require(height=(height, 1, None), width=(width, 1, None))
    _require_offsets(offsets)
    cells = torch.cartesian_prod(torch.arange(height), torch.arange(width))
    apart = cells[None, :] - cells[:, None]
    wanted = torch.stack([(apart == torch.tensor(offset)).all(dim=-1) for offset in offsets]).any(dim=0)
    return torch.block_diag(torch.zeros(1, 1, dtype=torch.float64), wanted.to(torch.float64))


def count_at_offsets(images: Float[Tensor, "... height width"], offsets: _Offsets) -> Float[Tensor, "... height width"]:
    """The count by looking: for each pixel the black ones at its offsets, those outside the image counting as white.

    Raises:
        ParameterError: no offset, or one offset twice.
    """
    _require_offsets(offsets)
    height, width = images.shape[-2:]
    reach = max(abs(step) for offset in offsets for step in offset)
    padded = torch.nn.functional.pad(images, (reach,) * 4)
    shifted = [
        padded[..., reach + down : reach + down + height, reach + right : reach + right + width]
        for down, right in offsets
    ]
    return torch.stack(shifted).sum(dim=0)


def convolve(
    images: Float[Tensor, "... height width"], kernel: Float[Tensor, "rows columns"], padded: bool = False
) -> Float[Tensor, "... height_out width_out"]:
    """One convolution of every image: for each pixel the weighted sum of those around it (Appendix B.3).

    Outside the image all is white, so that the image keeps its size; ``padded`` images have their margin already, and
    lose half a kernel on every side.

    Raises:
        ParameterError: a kernel that is not square with an odd number of rows.
    """
    rows, columns = kernel.shape
    refuse_unless(
        rows == columns and rows % 2 == 1, f"kernel must be square with an odd number of rows, got {rows} x {columns}"
    )
    around = torch.nn.functional.conv2d(
        images.reshape(-1, 1, *images.shape[-2:]), kernel[None, None], padding=0 if padded else rows // 2
    )
    return around.reshape(*images.shape[:-2], *around.shape[-2:])


def fit_kernel(
    images: Float[Tensor, "samples height width"], wanted: Float[Tensor, "samples height width"], reach: int
) -> tuple[Float[Tensor, "rows rows"], Float[Tensor, ""]]:
    """The kernel of ``2 reach + 1`` rows, and the bias, whose convolution comes closest in the mean square.

    What a single layer of a convolutional network can do (Appendix B.3): by least squares, so that no weights do
    better.

    Raises:
        ParameterError: a negative reach.
    """
    require(reach=(reach, 0, None))
    rows = 2 * reach + 1
    patches = torch.nn.functional.unfold(images.unsqueeze(1), rows, padding=reach).mT.flatten(0, 1)
    design = torch.cat([patches, torch.ones_like(patches[:, :1])], dim=1)
    weights = least_norm_solution(design, wanted.flatten()[:, None])[:, 0]
    return weights[:-1].reshape(rows, rows), weights[-1]


def _require_offsets(offsets: _Offsets) -> None:
    require_some(offsets=offsets)
    if len(set(offsets)) < len(offsets):
        raise ParameterError(f"offsets must be distinct, got {list(offsets)}")
