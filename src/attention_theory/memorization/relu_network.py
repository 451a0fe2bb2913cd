"""A two-layer ReLU network on flattened examples, and data it cannot memorise (Section 4.3, Appendix F)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.memorization.attention import Examples
from attention_theory.randomness import Seed, generator, normal
from attention_theory.training import Parameters
from attention_theory.validation import FORMS, Form, require


def random_network(inputs: int, hidden: int, outputs: int, seed: Seed) -> Parameters:
    """Gaussian weights and biases of x -> W_2 relu(W_1 x + b_1) + b_2.

    Raises:
        ParameterError: no input, no hidden unit or no output.
    """
    require(inputs=(inputs, 1, None), hidden=(hidden, 1, None), outputs=(outputs, 1, None))
    draw = generator(seed)
    shapes = {"W1": (hidden, inputs), "b1": (hidden,), "W2": (outputs, hidden), "b2": (outputs,)}
    return {name: normal(*shape, seed=draw) for name, shape in shapes.items()}


def apply_network(network: Parameters, x: Float[Tensor, "examples inputs"]) -> Float[Tensor, "examples outputs"]:
    hidden = (x @ network["W1"].mT + network["b1"]).relu()
    return hidden @ network["W2"].mT + network["b2"]


def hard_examples(x: Float[Tensor, "examples tokens"], width: int) -> Examples:
    """Examples that satisfy Assumptions 1 and 2 but vary in n numbers only: the context is e_1, ..., e_n for all.

    Raises:
        ParameterError: a width that is not above the number of numbers that vary.
    """
    require(width=(width, x.shape[1] + 1, None))
    padding = (width - x.shape[1], 0)
    return Examples(torch.eye(x.shape[1], width, dtype=x.dtype, device=x.device), torch.nn.functional.pad(x, padding))


def flatten(examples: Examples) -> Float[Tensor, "examples tokens_plus_1_times_width"]:
    """Context tokens and query as one long vector, which is all that a fully connected network sees."""
    return torch.cat([examples.context_of_each.flatten(1), examples.queries], dim=1)


def fold_prefix(network: Parameters, prefix: Float[Tensor, " constant"], form: Form = "correct") -> Parameters:
    """The smaller network that does the same where the first inputs are constant: they go into the bias.

    The printed fold subtracts the constant's share instead of adding it.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    constant = len(prefix)
    share = network["W1"][:, :constant] @ prefix
    bias = network["b1"] + (share if form == "correct" else -share)
    return network | {"W1": network["W1"][:, constant:], "b1": bias}


def jacobian_ranks(
    x: Float[Tensor, "examples inputs"], hidden: int, points: int, seed: Seed, rtol: float = 1e-9, outputs: int = 1
) -> Int[Tensor, " points"]:
    """The rank of the derivative of all outputs of all examples by all parameters, at random parameters.

    Where it is below the number of labels everywhere, the labels that can be met form a set of measure zero
    (Appendix F).

    Raises:
        ParameterError: no hidden unit, no point or no output.
    """
    require(hidden=(hidden, 1, None), points=(points, 1, None), outputs=(outputs, 1, None))
    draw = generator(seed)
    networks = [random_network(x.shape[1], hidden, outputs, draw) for _ in range(points)]
    stacked = {name: torch.stack([network[name] for network in networks]).to(x) for name in networks[0]}
    jacobians = torch.func.vmap(torch.func.jacrev(lambda network: apply_network(network, x).flatten()))(stacked)
    matrix = torch.cat([part.flatten(2) for part in jacobians.values()], dim=2)
    values = torch.linalg.svdvals(matrix)
    return (values > rtol * values[:, :1]).sum(dim=1)
