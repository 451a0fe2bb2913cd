import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.linear_attention.model.literal import mhla_by_sums
from attention_theory.linear_attention.model.mhla import (
    Heads,
    gram,
    mhla,
    mhla_every_token,
    random_heads,
    stack_lengths,
)
from attention_theory.numerics import relative_error
from attention_theory.randomness import generator, normal


def draw(tokens: int, width: int, seed: int, batch: tuple[int, ...] = ()) -> torch.Tensor:
    return normal(*batch, tokens, width, seed=seed)


@pytest.mark.parametrize(("width", "tokens", "heads"), [(2, 1, 1), (2, 3, 2), (3, 7, 5), (4, 3, 1)])
def test_three_forms_agree(width: int, tokens: int, heads: int) -> None:
    model, z = random_heads(heads, width, seed=1), draw(tokens, width, seed=2)
    reference = mhla_by_sums(model, z)
    assert relative_error(mhla(model, z), reference) < 1e-12
    columns = torch.stack([mhla_by_sums(model, z, column) for column in range(tokens)])
    assert relative_error(mhla_every_token(model, z), columns) < 1e-12


@pytest.mark.parametrize("out", [1, 3])
def test_causal_form_is_the_last_token_form_on_every_prefix(out: int) -> None:
    model, z = random_heads(2, 3, seed=3, out=out), draw(6, 3, seed=4, batch=(2,))
    prefixes = torch.stack([mhla(model, z[:, : t + 1]) for t in range(6)], dim=1)
    assert mhla_every_token(model, z, is_causal=True).shape == (2, 6, out)
    assert relative_error(mhla_every_token(model, z, is_causal=True), prefixes) < 1e-12


def test_causal_gram_ends_at_the_gram_matrix() -> None:
    z = draw(5, 3, seed=0, batch=(4,))
    assert torch.allclose(gram(z, is_causal=True)[:, -1], gram(z), rtol=1e-13)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), tokens=st.integers(2, 6), factor=st.floats(0.1, 10))
def test_symmetries(seed: int, tokens: int, factor: float) -> None:
    model, z = random_heads(3, 3, seed=seed), draw(tokens, 3, seed=seed + 1)
    y = mhla(model, z)
    assert relative_error(mhla(model, factor * z), factor**3 * y) < 1e-12
    order = torch.randperm(tokens - 1, generator=generator(seed))
    assert relative_error(mhla(model, torch.cat([z[order], z[-1:]])), y) < 1e-12
    rescaled = Heads(factor * model.values, model.queries / factor)
    assert relative_error(mhla(rescaled, z), y) < 1e-12
    assert relative_error(mhla(Heads(model.values.flip(0), model.queries.flip(0)), z), y) < 1e-12


def test_zero_tokens_in_front_change_nothing() -> None:
    model = random_heads(2, 3, seed=5)
    sequences = [draw(n, 3, seed=n) for n in (1, 4, 2)]
    stacked = stack_lengths(sequences)
    assert stacked.shape == (3, 4, 3)
    one_by_one = torch.stack([mhla(model, one) for one in sequences])
    assert relative_error(mhla(model, stacked), one_by_one) < 1e-13
