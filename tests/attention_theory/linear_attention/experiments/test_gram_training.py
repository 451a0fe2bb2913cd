import torch

from attention_theory.linear_attention.experiments.gram_training import train_heads
from attention_theory.linear_attention.learning.regression import statistics
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.randomness import normal


def test_one_step_is_adam_on_the_data_itself() -> None:
    tokens, labels = normal(40, 3, 2, seed=0), normal(40, 2, seed=1)
    start = random_heads(2, 2, seed=2, models=(3,))
    trained = train_heads(statistics(tokens, labels), start, steps=5, rate=0.05)
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


def test_training_on_realizable_data_reaches_zero() -> None:
    tokens, teacher = normal(40, 3, 2, seed=0), random_heads(1, 2, seed=3)
    data = statistics(tokens, mhla(teacher, tokens))
    trained = train_heads(data, random_heads(4, 2, seed=4, models=(3,)), steps=1500, rate=0.05, least_loss=0.0)
    assert trained.losses.min() < 1e-12
    assert trained.steps[0] == 0
    assert trained.history.shape == (len(trained.steps), 3)
