"""Image data that ships with scikit-learn (crops of two photographs, digits), or a folder of pictures of one's own."""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from sklearn.datasets import load_digits, load_sample_images
from torch import Tensor

from attention_theory.randomness import Seed, generator
from attention_theory.validation import refuse_unless, require

_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp"}


def photograph_crops(
    count: int, side: int, seed: Seed, smallest: int = 64
) -> tuple[Float[Tensor, "images 3 side side"], Float[Tensor, "images 3"]]:
    """Random square crops, resized, with values from -1 to 1 in float64.

    Args:
        count: the number of crops, at least 1.
        side: their side in pixels after resizing.
        seed: draws photograph, place and size.
        smallest: the smallest side that is cut out, from 8 to 400.

    Returns:
        the crops, and for each the photograph (0 or 1) and the place of its centre (0 to 1 across and down).

    Raises:
        ParameterError: a count below 1, a side below 8, or a smallest side outside 8 to 400.
    """
    require(count=(count, 1, None), side=(side, 8, None), smallest=(smallest, 8, 400))
    pictures = [Image.fromarray(picture) for picture in load_sample_images().images]
    draw = generator(seed)
    crops, origins = [], []
    for which, size, across, down in torch.rand(count, 4, generator=draw).tolist():
        picture = pictures[int(which * len(pictures))]
        wide, high = picture.size
        cut = smallest + int(size * (min(wide, high) - smallest))
        left, top = int(across * (wide - cut)), int(down * (high - cut))
        crops.append(_values(picture.crop((left, top, left + cut, top + cut)), side))
        origins.append((float(int(which * len(pictures))), (left + cut / 2) / wide, (top + cut / 2) / high))
    return torch.stack(crops), torch.tensor(origins)


def folder_images(folder: Path, side: int, most: int) -> Float[Tensor, "images 3 side side"]:
    """The first pictures of a folder (by name, in all its subfolders), centred, square, with values from -1 to 1.

    Pictures that are not in colour are left out, as the paper's experiment does.

    Raises:
        FileNotFoundError: the folder holds no picture in colour.
    """
    require(side=(side, 8, None), most=(most, 1, None))
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES)
    images = []
    for path in paths[:most]:
        with Image.open(path) as picture:
            if picture.mode == "RGB":
                cut = min(picture.size)
                left, top = (picture.size[0] - cut) // 2, (picture.size[1] - cut) // 2
                images.append(_values(picture.crop((left, top, left + cut, top + cut)), side))
    if not images:
        raise FileNotFoundError(f"no picture in colour in {folder}")
    return torch.stack(images)


def digit_images() -> Float[Tensor, "images 1 8 8"]:
    """The 1797 handwritten digits of 8 by 8 pixels, with values from -1 to 1 in float64."""
    return torch.from_numpy(load_digits().images / 8 - 1)[:, None]


def patches(images: Float[Tensor, "images colours side side"], patch: int) -> Float[Tensor, "images patches values"]:
    """Square patches row by row, each as one vector, colour by colour.

    Raises:
        ParameterError: the side is not a multiple of the patch.
    """
    require(patch=(patch, 1, None))
    side = images.shape[-1]
    refuse_unless(side % patch == 0, f"patch must divide the side of the images, got {patch} and a side of {side}")
    return torch.nn.functional.unfold(images, patch, stride=patch).mT.contiguous()


def _values(picture: Image.Image, side: int) -> Float[Tensor, "3 side side"]:
    resized = np.asarray(picture.resize((side, side), Image.Resampling.BILINEAR), dtype=np.float64)
    return torch.from_numpy(resized / 127.5 - 1).permute(2, 0, 1).contiguous()
