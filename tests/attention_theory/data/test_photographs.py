from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from attention_theory.data.photographs import digit_images, folder_images, patches, photograph_crops
from attention_theory.validation import ParameterError


def test_crops_are_in_range_and_can_be_made_again() -> None:
    crops, origins = photograph_crops(5, 16, seed=0)
    assert crops.shape == (5, 3, 16, 16)
    assert crops.abs().max() <= 1
    assert torch.equal(crops, photograph_crops(5, 16, seed=0)[0])
    assert (origins >= 0).all()
    assert (origins <= 1).all()


def test_patches_row_by_row_colour_by_colour() -> None:
    image = torch.arange(3 * 4 * 4).double().reshape(1, 3, 4, 4)
    cut = patches(image, 2)
    assert cut.shape == (1, 4, 12)
    assert torch.equal(cut[0, 1], image[0, :, 0:2, 2:4].flatten())


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    Image.fromarray(np.full((9, 6, 3), 255, dtype=np.uint8)).save(tmp_path / "a.png")
    Image.fromarray(np.zeros((9, 6), dtype=np.uint8)).save(tmp_path / "grey.png")
    images = folder_images(tmp_path, 8, most=10)
    assert images.shape == (1, 3, 8, 8)
    assert torch.equal(images, torch.ones_like(images))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError):
        folder_images(tmp_path / "empty", 8, most=1)


@pytest.mark.parametrize(("said", "side", "most"), [("side", 7, 1), ("most", 8, 0)])
def test_too_small_a_picture_and_no_picture_are_refused(tmp_path: Path, said: str, side: int, most: int) -> None:
    with pytest.raises(ParameterError, match=said):
        folder_images(tmp_path, side, most)


def test_digits_have_one_colour() -> None:
    digits = digit_images()
    assert digits.shape == (1797, 1, 8, 8)
    assert digits.min() == -1
    assert digits.max() == 1
    assert torch.equal(patches(digits, 1)[0, :, 0], digits[0].flatten())
