from dataclasses import replace
from typing import Literal

import pytest
import torch

from attention_theory.memorization.certified.language_models import (
    certify_independent,
    certify_queries,
    enclosed_contexts,
)
from attention_theory.memorization.language import PretrainedModel, random_language_model
from attention_theory.memorization.transformer import cast


def small(kind: Literal["bert", "gpt2"], depth: int = 2) -> tuple[PretrainedModel, torch.Tensor]:
    model = random_language_model(kind, 40, 6, 12, 3, seed=0, depth=depth)
    texts = torch.randint(2, 40, (5, 6), generator=torch.Generator().manual_seed(1))
    texts[:, 0], texts[:, 3] = 0, 1
    return model, texts


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_balls_contain_the_layers_outputs(kind: Literal["bert", "gpt2"], depth: int) -> None:
    model, texts = small(kind)
    model = replace(
        model, layers=tuple(replace(layer, gelu="tanh" if kind == "gpt2" else "none") for layer in model.layers)
    )
    states = enclosed_contexts(model, texts, depth)
    expected = cast(model, torch.float64).contexts(texts, depth)
    middles = torch.tensor(
        [[[float(x.mid()) for x in row] for row in state.table()] for state in states], dtype=torch.float64
    )
    assert torch.allclose(middles, expected, atol=1e-13)
    assert all(float(x.rad()) < 1e-30 for state in states for x in state.entries())


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_independence_is_certified(kind: Literal["bert", "gpt2"]) -> None:
    model, texts = small(kind)
    certificates = certify_independent(model, texts, (1, 2))
    assert list(certificates) == [1, 2]
    assert all(certificate.settled for certificate in certificates.values())
    assert certify_queries(model, texts, 2).outcome == "proved"


def test_equal_queries_are_not() -> None:
    model, texts = small("bert")
    assert certify_independent(model, texts, (0,))[0].outcome == "unknown"  # all class tokens are alike
    without = replace(model, positions=torch.zeros_like(model.positions))
    swapped = texts[[0, 0]]
    swapped[1, 1:3] = swapped[1, 1:3].flip(0)
    assert certify_queries(model, swapped, 1).outcome == "proved"
    assert certify_queries(without, swapped, 1).outcome == "unknown"


def test_the_last_normalisation_alone_makes_d_tokens_dependent() -> None:
    """Without gain and bias the entries of a token sum to 0, so that no 12 of them are independent."""
    model, _ = small("bert", depth=1)
    texts = torch.randint(2, 40, (12, 6), generator=torch.Generator().manual_seed(2))
    assert certify_queries(model, texts[:11], 1).outcome == "proved"
    assert certify_queries(model, texts, 1).outcome == "unknown"
    with_bias = replace(model.layers[0], forward_norm=replace(model.layers[0].forward_norm, bias=torch.ones(12)))  # type: ignore[type-var]
    assert certify_queries(replace(model, layers=(with_bias,)), texts, 1).outcome == "proved"
