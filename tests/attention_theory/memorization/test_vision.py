import torch

from attention_theory.memorization.vision import random_vision_model, train_vision_model
from attention_theory.randomness import generator, normal


def test_the_class_token_is_the_same_query_for_all() -> None:
    model = random_vision_model(5, 12, 8, 2, seed=0)
    tokens = model.tokens(normal(3, 4, 12, seed=1, dtype=torch.float32))
    assert tokens.shape == (3, 5, 8)
    assert torch.equal(tokens[0, 0], tokens[2, 0])


def test_training_lowers_the_loss_and_leaves_the_first_model_alone() -> None:
    draw = generator(0)
    model = random_vision_model(5, 12, 8, 2, seed=0)
    before = model.embed.weight.clone()
    patches = normal(64, 4, 12, seed=draw, dtype=torch.float32)
    trained, losses = train_vision_model(model, patches, patches.mean(dim=1)[:, :2], steps=60, batch=32, rate=2e-2)
    assert losses[-1] < 0.7 * losses[0]
    assert torch.equal(model.embed.weight, before)
    assert not torch.equal(trained.embed.weight, before)
