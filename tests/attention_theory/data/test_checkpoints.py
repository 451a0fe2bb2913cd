"""Both formats of a checkpoint, and a folder that has none."""

from pathlib import Path

import pytest
import torch

from attention_theory.data._checkpoints import read_configuration, read_weights
from safetensors_file import write_safetensors

WEIGHTS = {
    "bert.half": torch.tensor([[0.5, -2.0]], dtype=torch.float16),
    "numbers": torch.tensor([1, 2, 3]),
    "bert.one.bert.two": torch.tensor([0.25]),
}


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_weights_come_out_by_name_in_single_precision(tmp_path: Path, name: str) -> None:
    write = write_safetensors if name.endswith("safetensors") else lambda path, weights: torch.save(weights, path)
    write(tmp_path / name, WEIGHTS)
    found = read_weights(tmp_path)
    assert list(found) == ["half", "numbers", "one.bert.two"]
    assert found["half"].tolist() == [[0.5, -2.0]]
    assert [value.dtype for value in found.values()] == [torch.float32, torch.int64, torch.float32]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="safetensors"):
        read_weights(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        read_configuration(tmp_path)
