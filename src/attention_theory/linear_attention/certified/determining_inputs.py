"""Models and inputs that stand for all: enough of them to prove that two functions of the model are one.

The functions compared here are sums of products with one entry of V, one of Q and three of the tokens. So matrices with
a single entry 1 stand for all; and two such functions are one if they agree where the entries of the tokens are whole
numbers from 0 on with the sum 3. All values are whole numbers and exact in float64.
"""

from collections.abc import Callable
from itertools import combinations_with_replacement
from math import prod
from typing import Any

import sympy
import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.certificates import exact
from attention_theory.certificates.exhaust import Batch
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.validation import require


def inputs_of(tokens: int, width: int, degree: int = 3) -> Float[Tensor, "inputs tokens width"]:
    """All inputs of whole numbers from 0 on with this sum; they determine a homogeneous polynomial of this degree.

    Raises:
        ParameterError: a number below 1.
    """
    require(tokens=(tokens, 1, None), width=(width, 1, None), degree=(degree, 1, None))
    entries = combinations_with_replacement(range(tokens * width), degree)
    places = torch.tensor(list(entries))
    return torch.nn.functional.one_hot(places, tokens * width).sum(dim=1).double().view(-1, tokens, width)


def heads_of(batch: Batch, width: int) -> Heads:
    """The models of one head of a batch, by the place of the entry 1 in V and in Q."""
    units = torch.eye(width**2, dtype=torch.float64).view(-1, 1, width, width)
    return Heads(units[batch["V"]], units[batch["Q"]])


def batched(
    model: Callable[[Heads, Float[Tensor, "tokens width"]], Tensor],
) -> Callable[[Heads, Float[Tensor, "members tokens width"]], Tensor]:
    """A function of one model and one input, at each model of a stack with its input."""

    def run(heads: Heads, tokens: Tensor) -> Tensor:
        return torch.vmap(lambda values, queries, z: model(Heads(values, queries), z))(
            heads.values, heads.queries, tokens
        )

    return run


def polynomials(
    function: Callable[[Float[Tensor, "inputs tokens width"]], Float[Tensor, "inputs out"]],
    tokens: int,
    width: int,
    degree: int,
) -> tuple[list[Any], list[Any]]:
    """A homogeneous function of the tokens as polynomials of sympy: its variables, token by token, and its outputs."""
    variables = [sympy.Symbol(f"z_{row + 1}{token + 1}") for token in range(tokens) for row in range(width)]
    inputs = inputs_of(tokens, width, degree)
    points = inputs.long().flatten(1).tolist()
    monomials = exact.matrix([[prod(map(pow, at, powers)) for powers in points] for at in points])
    solved = monomials.solve(exact.matrix(function(inputs)))
    outputs = []
    for out in range(solved.ncols()):
        terms = zip(points, (solved[row, out] for row in range(len(points))), strict=True)
        outputs.append(
            sum(sympy.Rational(int(c.p), int(c.q)) * prod(map(pow, variables, powers)) for powers, c in terms)
        )
    return variables, outputs
