"""Training stacked models is training each of them alone."""

import pytest
import torch
from torch import Tensor

from attention_theory.randomness import generator, normal
from attention_theory.training import Adam, Parameters, train_many

TARGETS = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
RATES = torch.tensor([0.1, 0.01, 0.05], dtype=torch.float64)


def start() -> Parameters:
    source = generator(0)
    return {
        "weight": normal(3, 2, 2, seed=source),
        "bias": normal(3, seed=source),
    }


def loss(models: Parameters, step: int) -> Tensor:
    return (models["weight"].square().sum(dim=(1, 2)) + models["bias"] - TARGETS[: len(models["bias"])]).square()


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_each_stacked_model_takes_the_steps_of_the_library_optimiser(decay: float) -> None:
    trained = train_many(loss, start(), steps=50, lr=RATES, weight_decay=decay)
    for i in range(3):
        alone = {name: value[i].clone().requires_grad_() for name, value in start().items()}
        optimiser = torch.optim.AdamW(alone.values(), lr=RATES[i].item(), weight_decay=decay)
        for _ in range(50):
            optimiser.zero_grad()
            (alone["weight"].square().sum() + alone["bias"] - TARGETS[i]).square().backward()
            optimiser.step()
        for name, value in alone.items():
            assert torch.allclose(trained.parameters[name][i], value, atol=1e-10)


def test_the_start_is_kept_and_the_history_begins_and_ends_with_it() -> None:
    begin = start()
    trained = train_many(loss, begin, steps=20, lr=0.01, schedule="cosine", record_every=5)
    assert torch.equal(begin["weight"], start()["weight"])
    assert trained.steps == [0, 5, 10, 15, 20]
    assert torch.equal(trained.history[0], loss(begin, 0))
    assert torch.equal(trained.history[-1], trained.losses)
    assert torch.equal(trained.losses, loss(trained.parameters, 20))
    assert (trained.losses < trained.history[0]).all()


def test_the_cosine_is_half_way_down_at_half_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []
    monkeypatch.setattr(Adam, "step", lambda self, gradient, share: shares.append(share))
    train_many(loss, {"bias": torch.zeros(1, dtype=torch.float64), "weight": torch.ones(1, 2, 2)}, 4, 0.1, "cosine")
    assert shares[::4] == pytest.approx([1.0, 0.5])


def test_the_averages_are_those_of_the_library_unless_others_are_given() -> None:
    for given in ({}, {"betas": (0.5, 0.9)}):
        ours, value = Adam(torch.zeros(1, 3), 0.1, **given).value, torch.zeros(1, 3, requires_grad=True)  # type: ignore[arg-type]
        optimiser, mine = torch.optim.Adam([value], lr=0.1, **given), Adam(ours, 0.1, **given)  # type: ignore[arg-type]
        for step in range(4):
            gradient = normal(1, 3, seed=step, dtype=torch.float32)
            value.grad = gradient
            optimiser.step()
            mine.step(gradient)
        torch.testing.assert_close(mine.value, value.detach())


def test_losses_are_recorded_fifty_times_or_at_every_step() -> None:
    assert train_many(loss, start(), steps=1, lr=0.1).steps == [0, 1]
    assert train_many(loss, start(), steps=3, lr=0.1).steps == [0, 1, 2, 3]
    assert train_many(loss, start(), steps=150, lr=0.1).steps == list(range(0, 151, 3))
