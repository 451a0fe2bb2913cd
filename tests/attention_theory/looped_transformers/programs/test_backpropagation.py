import torch
from torch import Tensor

from attention_theory.looped_transformers.programs.backpropagation import Network
from attention_theory.randomness import normal


def small_training() -> tuple[Network, Tensor, Tensor]:
    return Network.random(4, 4, 1), normal(2, 4, seed=0), normal(2, seed=3)


def test_the_gradient_is_the_derivative() -> None:
    network, x, y = small_training()
    leaves = [part.clone().requires_grad_() for part in vars(network).values()]
    automatic = torch.autograd.grad(Network(*leaves).loss(x[0], y[0].item()), leaves)
    assert Network(*automatic).distance(network.gradient(x[0], y[0].item())) < 1e-14
