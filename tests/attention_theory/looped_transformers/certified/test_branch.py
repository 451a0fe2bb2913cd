import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import torch

from attention_theory.certificates import Certificate
from attention_theory.looped_transformers.certified import branch
from attention_theory.looped_transformers.certified.branch import (
    certify_bits_flag,
    certify_integer_flag,
    certify_selection,
)
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.validation import ParameterError

CASES = [
    ("flag_of_integer", certify_integer_flag),
    ("flag_of_bits", lambda: certify_bits_flag(6)),
    ("select_counter", lambda: certify_selection(2)),
]


@pytest.mark.parametrize(("name", "certificate"), CASES)
@pytest.mark.parametrize("weights", ["w1", "w2"])
def test_a_weight_that_is_wrong_in_its_last_bit_is_noticed(
    name: str, certificate: Callable[[], Certificate], weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare = getattr(branch, name)

    def wrong(layer: Layer, *args: Any, **options: Any) -> None:
        declare(layer, *args, **options)
        matrix = getattr(layer.dense, weights)
        place = tuple(random.Random(0).choice(matrix.nonzero().tolist()))
        matrix[place] = torch.nextafter(matrix[place], torch.tensor(99.0, dtype=matrix.dtype))

    monkeypatch.setattr(branch, name, wrong)
    with suppress(ParameterError):  # the units are no longer one family
        assert certificate().outcome != "proved"
