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
@pytest.mark.parametrize("weights", ["key", "query", "w1", "w2"])
def test_a_weight_that_is_wrong_in_its_last_bit_is_noticed(
    kind: str, weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gates are left out: they have room."""
    exact = access.access_layer

    def wrong(kind: str, bits: int, form: Form = "correct") -> Layer:
        layer = exact(kind, bits, form)
        matrix = getattr(layer.dense.heads[0] if weights in ("key", "query") else layer.dense, weights)
        gates = {*layer.rows["indicator"]} if weights == "w1" else set()
        places = [place for place in matrix.nonzero().tolist() if place[1] not in gates]
        place = tuple(random.Random(1).choice(places))
        matrix[place] = torch.nextafter(matrix[place], torch.tensor(99.0, dtype=matrix.dtype))
        return layer

    monkeypatch.setattr(access, "access_layer", wrong)
    certificate: Certificate = CERTIFY[kind](3)
    assert certificate.outcome != "proved"
