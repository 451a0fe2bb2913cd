import random

import pytest
import torch

from attention_theory.certificates import Certificate
from attention_theory.looped_transformers.certified import access
from attention_theory.looped_transformers.certified.access import certify_read, certify_write
from attention_theory.looped_transformers.machine.layers import Layer
from attention_theory.validation import Form

CERTIFY = {"read": certify_read, "write": certify_write}


@pytest.mark.parametrize("kind", CERTIFY)
@pytest.mark.parametrize("weights", ["key", "query", "value", "w1", "w2"])
@pytest.mark.parametrize("which", ["a weight", "a zero"])
def test_an_entry_that_is_wrong_in_its_last_bit_is_noticed(
    kind: str, weights: str, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gates are left out: they have room."""
    exact = access.access_layer

    def wrong(kind: str, bits: int, form: Form = "correct") -> Layer:
        layer = exact(kind, bits, form)
        matrix = getattr(layer.dense.heads[0] if weights in ("key", "query", "value") else layer.dense, weights)
        gates = {*layer.rows["indicator"]} if weights == "w1" else set()
        entries = matrix.nonzero() if which == "a weight" else matrix.eq(0).nonzero()
        place = tuple(random.Random(1).choice([place for place in entries.tolist() if place[1] not in gates]))
        matrix[place] = torch.nextafter(matrix[place], torch.tensor(99.0, dtype=matrix.dtype))
        return layer

    monkeypatch.setattr(access, "access_layer", wrong)
    certificate: Certificate = CERTIFY[kind](3)
    assert certificate.outcome != "proved"
