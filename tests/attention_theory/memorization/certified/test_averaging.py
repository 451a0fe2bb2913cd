import pytest
import torch

from attention_theory.memorization.attention import Examples
from attention_theory.memorization.certified import averaging
from attention_theory.memorization.certified.averaging import certify_averaging


@pytest.mark.parametrize("place", [(0, 0), (2, 3)])
def test_a_mean_that_is_wrong_in_its_last_bit_is_noticed(
    place: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = averaging.averaging_layer

    def wrong(examples: Examples) -> Examples:
        after = exact(examples)
        if examples.tokens == 4:
            after.contexts[0][place] = torch.nextafter(after.contexts[0][place], torch.tensor(9.0).double())
        return after

    monkeypatch.setattr(averaging, "averaging_layer", wrong)
    assert certify_averaging().outcome != "proved"


def test_the_coefficients_at_units_are_those_of_the_layer() -> None:
    examples = Examples(torch.randn(1, 4, 7).double(), torch.randn(1, 7).double())
    after = averaging.averaging_layer(examples)
    read = averaging._layer_at_units(4) @ torch.cat([examples.contexts[0], examples.queries])
    assert torch.allclose(read, torch.cat([after.contexts[0], after.queries]), atol=1e-14)
