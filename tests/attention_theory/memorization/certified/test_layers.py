import dataclasses

import pytest
import torch

from attention_theory.memorization.attention import Readout
from attention_theory.memorization.certified import layers
from attention_theory.memorization.certified.layers import certify_matrix_form, certify_readout, certify_skip_labels


@pytest.mark.parametrize(
    # Rows of W_D from d_out on read zeros, whatever they hold.
    ("part", "place"),
    [("output", (1, 1)), ("output", (4, 0)), ("decode", (0, 0)), ("decode", (1, 1))],
)
def test_a_wrong_weight_of_the_read_out_is_noticed(
    part: str, place: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = layers.solve_readout

    def wrong(*arguments: object) -> Readout:
        readout = exact(*arguments)  # type: ignore[arg-type]
        weights = getattr(readout, part).clone()
        weights[place] = torch.nextafter(weights[place], torch.tensor(2.0, dtype=weights.dtype))
        return dataclasses.replace(readout, **{part: weights})

    monkeypatch.setattr(layers, "solve_readout", wrong)
    assert certify_readout(heads=3, width=4, outputs=2).outcome != "proved"
    assert certify_skip_labels(heads=3, width=4, outputs=2).outcome != "proved"


def test_a_matrix_form_that_adds_the_first_example_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = layers.matrix_form
    monkeypatch.setattr(layers, "matrix_form", lambda Z, readout: exact(Z, readout) + exact(Z, readout)[:1])
    assert certify_matrix_form().outcome != "proved"
