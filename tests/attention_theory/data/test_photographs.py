from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from attention_theory.data.photographs import digit_images, folder_images, patches, photograph_crops


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


def test_digits_have_one_colour() -> None:
    digits = digit_images()
    assert digits.shape == (1797, 1, 8, 8)
    assert digits.min() == -1
    assert digits.max() == 1
    assert torch.equal(patches(digits, 1)[0, :, 0], digits[0].flatten())


def test_crops_come_from_both_photographs_and_their_centres_from_within() -> None:
    """The photographs are 640 by 427: what is cut out lies whole in one of them."""
    _, origins = photograph_crops(300, 8, seed=0, smallest=400)
    assert set(origins[:, 0].tolist()) == {0, 1}
    assert origins[:, 1].min() >= 200 / 640 - 1e-6
    assert origins[:, 1].max() <= 1 - 200 / 640 + 1e-6
    assert origins[:, 1].max() - origins[:, 1].min() > 0.3
    assert origins[:, 2].min() >= 200 / 427 - 1e-6
    assert origins[:, 2].max() <= 1 - 200 / 427 + 1e-6


def test_a_picture_is_cut_in_its_middle(tmp_path: Path) -> None:
    """White but for two black stripes of as many pixels on either side, which a square in the middle leaves out."""
    wide = np.full((10, 30, 3), 255, dtype=np.uint8)
    wide[:, :10] = wide[:, 20:] = 0
    Image.fromarray(wide).save(tmp_path / "a.png")
    Image.fromarray(wide.transpose(1, 0, 2).copy()).save(tmp_path / "b.png")
    Image.fromarray(0 * wide).save(tmp_path / "c.png")
    images = folder_images(tmp_path, 8, most=2)
    assert torch.equal(images, torch.ones(2, 3, 8, 8, dtype=torch.float64))
    assert folder_images(tmp_path, 8, most=3).min() == -1
