import pytest
import torch

from attention_theory.looped_transformers.certified import codes
from attention_theory.looped_transformers.certified.codes import certify_codes, certify_copy_error


def test_a_code_with_a_wrong_bit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = codes.position_codes

    def wrong(columns: int, bits: int) -> torch.Tensor:
        code = exact(columns, bits)
        code[5, 1] *= -1
        return code

    monkeypatch.setattr(codes, "position_codes", wrong)
    assert certify_codes(4).outcome != "proved"
    assert certify_copy_error(3).outcome != "proved"
