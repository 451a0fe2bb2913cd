import pytest
import torch

from attention_theory.linear_attention.experiments.gram_training import _fold_back, _folded, start_heads, train_heads
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.linear_attention.model.parameters import coefficients
from attention_theory.randomness import generator, normal


def test_one_step_is_adam_on_the_data_itself() -> None:
    tokens, labels = normal(40, 3, 2, seed=0), normal(40, 2, seed=1)
    start = random_heads(2, 2, seed=2, models=(3,))
    trained = train_heads(statistics(tokens, labels), start, steps=5, lr=0.05)
    for i in range(3):
        model = [start.values[i].clone().requires_grad_(), start.queries[i].clone().requires_grad_()]
        optimizer = torch.optim.Adam(model, lr=0.05)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
        for _ in range(5):
            optimizer.zero_grad()
            (mhla(Heads(*model), tokens) - labels).square().sum().div(40).backward()
            optimizer.step()
            schedule.step()
        assert torch.allclose(trained.heads.values[i], model[0], atol=1e-6)
        loss = (mhla(Heads(*model), tokens) - labels).square().sum() / 40
        assert abs(trained.losses[i] - loss) < 1e-5


def test_a_model_keeps_its_number_of_heads() -> None:
    tokens, teacher = normal(40, 3, 2, seed=0), random_heads(1, 2, seed=3)
    data, start = statistics(tokens, mhla(teacher, tokens)), start_heads([1, 3, 2], 2, 0.5, seed=5)
    trained = train_heads(data, start, steps=50, lr=0.05)
    for heads in (start, trained.heads):
        used = (heads.values.flatten(2).norm(dim=2) > 0) & (heads.queries.flatten(2).norm(dim=2) > 0)
        assert used.tolist() == [[True, False, False], [True, True, True], [True, True, False]]
    by_itself = train_heads(data, Heads(start.values[:1, :1], start.queries[:1, :1]), steps=50, lr=0.05)
    assert torch.allclose(by_itself.losses, trained.losses[:1], rtol=1e-9)


@pytest.mark.parametrize(("steps", "marks"), [(1, [0, 1]), (3, [0, 1, 2, 3]), (120, [*range(0, 121, 2)])])
def test_losses_are_recorded_fifty_times_or_at_every_step(steps: int, marks: list[int]) -> None:
    tokens, labels = normal(20, 3, 2, seed=0), normal(20, 2, seed=1)
    data, start = statistics(tokens, labels), random_heads(1, 2, seed=2, models=(2,))
    trained = train_heads(data, start, steps, lr=0.05)
    assert trained.steps == marks
    assert trained.history.shape == (len(marks), 2)
    first = (mhla(Heads(start.values[0], start.queries[0]), tokens) - labels).square().sum() / 20
    assert trained.history[0, 0].item() == pytest.approx(first.item())
    assert torch.equal(trained.history[-1], trained.losses)


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("out", [1, 2])
def test_coefficients_and_gradients_are_those_of_the_plain_form(width: int, out: int) -> None:
    start = random_heads(2, width, 1, out=out, models=(2, 3))
    weights = normal(2, 3, out, width * width * (width + 1) // 2, seed=generator(2))
    heads = Heads(*(part.clone().requires_grad_() for part in (start.values, start.queries)))
    plain = coefficients(heads)
    of_heads = torch.autograd.grad((weights * plain.square()).sum(), (heads.values, heads.queries))
    fast = _folded(start)
    torch.testing.assert_close(fast, plain.detach())
    torch.testing.assert_close(_fold_back(start, 2 * weights * fast), of_heads)
