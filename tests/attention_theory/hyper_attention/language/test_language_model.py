import pytest
import torch

from attention_theory.hyper_attention.language.language_model import (
    BASELINES,
    TABLE_1,
    TABLE_1_VARIANTS,
    TABLE_2,
    LanguageModel,
)

WIDTH, WINDOW = 24, 6
EVERY = {**TABLE_1, **TABLE_1_VARIANTS, **TABLE_2}


@pytest.mark.parametrize("name", EVERY)
def test_every_model_of_the_tables_is_causal_and_trains_every_parameter(name: str) -> None:
    model = LanguageModel(11, WINDOW, WIDTH, EVERY[name], layers=2)
    tokens = torch.arange(WINDOW)[None] % 11
    changed = tokens.clone()
    changed[0, 4] = 10
    torch.testing.assert_close(model(tokens)[:, :4], model(changed)[:, :4], rtol=0, atol=1e-6)
    assert not torch.allclose(model(tokens)[:, 4:], model(changed)[:, 4:])
    model(tokens).square().sum().backward()
    assert all(value.grad is not None and value.grad.abs().max() > 0 for value in model.parameters())


def test_attention_parameters_are_those_of_the_formulas() -> None:
    counts = [LanguageModel(11, WINDOW, WIDTH, make).attention_parameters() for make in TABLE_1.values()]
    assert counts == [4 * WIDTH**2] * 3 + [6 * WIDTH**2]
    assert len({LanguageModel(11, WINDOW, WIDTH, m, 3).attention_parameters() for m in TABLE_2.values()}) == 1
    assert {LanguageModel(11, WINDOW, WIDTH, m).attention_parameters() for m in TABLE_1_VARIANTS.values()} == {
        4 * WIDTH**2
    }


def test_without_attention_a_token_sees_itself_alone() -> None:
    model = LanguageModel(11, WINDOW, WIDTH, BASELINES["no attention"], layers=2)
    tokens = torch.arange(WINDOW)[None] % 11
    changed = tokens.clone()
    changed[0, 2] = 10
    differs = (model(tokens) != model(changed)).any(dim=-1)[0]
    assert differs.tolist() == [False, False, True, False, False, False]
    assert model.attention_parameters() == 0


def test_seed_fixes_the_weights_and_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    first, second, other = (LanguageModel(11, WINDOW, WIDTH, TABLE_1["HyperAttention"], seed=s) for s in (0, 0, 1))
    assert torch.equal(torch.rand(1), expected)
    tokens = torch.arange(WINDOW)[None]
    assert torch.equal(first(tokens), second(tokens))
    assert not torch.equal(first(tokens), other(tokens))
