import pytest
import torch

from attention_theory.hyper_attention.language._stacked import StackedModels
from attention_theory.hyper_attention.language.language_model import (
    BASELINES,
    TABLE_1,
    TABLE_1_VARIANTS,
    TABLE_2,
    LanguageModel,
)
from attention_theory.randomness import generator, normal

EVERY = {**BASELINES, **TABLE_1, **TABLE_1_VARIANTS, **TABLE_2}


@pytest.mark.parametrize("names", [*([name] for name in EVERY), [*EVERY]], ids=[*EVERY, "all"])
def test_a_stack_gives_what_each_model_gives_and_of_one_kind_the_same_gradients(names: list[str]) -> None:
    kinds = [
        [LanguageModel(11, 7, 24, EVERY[name], layers=2, seed=seed).double() for seed in range(3)] for name in names
    ]
    models = [one for some in kinds for one in some]
    for model, shift in zip(models, normal(len(models), seed=4), strict=True):  # norms and offsets that differ
        for value in model.parameters():
            value.data += 0.1 * shift * torch.ones_like(value).cumsum(-1) / value.shape[-1]
    stack = StackedModels(kinds)
    tokens = torch.randint(11, (len(models), 4, 7), generator=generator(1))
    together = stack(tokens)
    apart = torch.stack([model(some).flatten(0, 1) for model, some in zip(models, tokens, strict=True)])
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-12)
    for kind, some in enumerate(kinds):  # every weight of every model has its place
        held = sum(value[place].numel() for value, place in stack.of_kind(kind))
        assert held == sum(value.numel() for model in some for value in model.parameters())
    if len(names) > 1:
        return
    weight = normal(*together.shape, seed=2)
    ours = torch.autograd.grad((together * weight).sum(), list(stack.parameters()), allow_unused=True)
    (apart * weight).sum().backward()
    # Some ten thousand products in another order, terms as large as the largest gradient.
    largest = max(float(gradient.abs().max()) for gradient in ours if gradient is not None)
    rounding = 1e4 * torch.finfo(torch.float64).eps * largest
    for (key, _), gradient in zip(stack.named_parameters(), ours, strict=True):
        own = [grad for model in models if (grad := dict(model.named_parameters())[_name(key)].grad) is not None]
        if names == ["no attention"] and "before_attention" in key:  # what leads to no attention moves nothing
            assert gradient is None
            assert not own
            continue
        torch.testing.assert_close(gradient, torch.stack(own), rtol=0, atol=rounding)


def _name(key: str) -> str:
    return f"{key}.weight" if key in ("tokens", "positions") else key


def test_the_models_are_left_as_they_are() -> None:
    model = LanguageModel(11, 7, 24, TABLE_1["HyperAttention"])
    stack = StackedModels([[model]])
    with torch.no_grad():
        for value in stack.parameters():
            value.zero_()
    assert all(value.abs().max() > 0 for value in model.parameters() if value.ndim > 1)
