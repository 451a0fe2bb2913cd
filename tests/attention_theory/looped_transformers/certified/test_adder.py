import random
from contextlib import suppress

import torch

from attention_theory.looped_transformers.certified.adder import adder_layer, ask_adder
from attention_theory.validation import ParameterError


def test_a_weight_of_the_adder_that_is_wrong_in_its_last_bit_is_noticed() -> None:
    draws = random.Random(0)
    for name in ("w1", "b1", "w2", "b2"):
        layer = adder_layer(4)
        weights = getattr(layer.dense, name)
        place = tuple(draws.choice(weights.nonzero().tolist()))
        weights[place] = torch.nextafter(weights[place], torch.tensor(99.0, dtype=weights.dtype))
        with suppress(ParameterError):  # the units are no longer one family
            assert ask_adder(layer).outcome != "proved", (name, place)
