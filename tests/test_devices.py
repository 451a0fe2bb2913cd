"""Device and type follow the input, everywhere: each function of the package that takes tensors is called and watched.

Arguments are made from the annotations: small random tensors of the shapes written there, 2 for a whole number. A call
is made once as it is, and once where a tensor without an explicit device lands on ``meta``, a device without numbers.
So a function that forgets the device of its input meets a tensor from elsewhere, on any machine. Every call is made in
float64 and in float32; what comes out must be of that type. What cannot be called like this is left to its own tests.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Generator, Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from arguments import functions, made, needed
from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor
from attention_theory.linear_attention.machines.turing import random_inputs, random_tables
from attention_theory.linear_attention.machines.universal import UniversalMachine
from attention_theory.looped_transformers.blocks.sigmoid_sums import ManyHeads, OneHead
from attention_theory.randomness import normal

#: Arguments that must not be what the annotation says alone.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "in_context_reasoning.curves.rate_of": {"high": 2.0, "low": -9.0},
    "linear_attention.learning.error_bounds.draw_directions": {"count": 3},
    "linear_attention.learning.quadratic.Quadratic.fit": {"labels": torch.zeros(8, 2)},  # a fit to noise takes seconds
    "linear_attention.machines.turing.simulate": {"head": 1},
}
#: Functions that may do otherwise, and why.
EXEMPT = {
    f"looped_transformers.programs.{name}": "the memory of a FLEQ machine is float64, whatever is written into it"
    for name in (
        "backpropagation_program.listing_program",
        "backpropagation_program.machine_program",
        "losses.loss_program",
        "newton.newton_program",
        "power_iteration.power_program",
        "regression.sgd_program",
        "regression.unrolled_program",
    )
} | {
    "memorization.exact_rank.exact_self_attention": "its whole-number weights are drawn on the CPU",
    "linear_attention.model.few_heads.two_heads": "it chooses eigenvectors by their values",
    "bridges.hyper_capacity.exact_features": "its powers modulo a prime are Python's whole numbers",
    "in_context_reasoning.history.measures": "it measures in float64, whatever the models are",
    "looped_transformers.certified.compiler.run_all": "it looks at values to see whether all runs have ended",
    "memorization.depths.cut_positions": "an approximation of a rank needs zeros of float64",
    "memorization.depths.kinds_of_positions": "it draws positions on the CPU",
    "linear_attention.experiments.growth.growth_line": "the numbers of a line are Python's own",
    "linear_attention.experiments.one_layer_students.run_heads": "it trains in the type told, measures in float64",
}
#: So many functions can be called with arguments made from their annotations; fewer would be a check that fell asleep.
LEAST_CALLED = 190


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of two devices: some of torch's read unwritten memory where one is ``meta``."""

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        devices = {tensor.device.type for tensor in tensors([args, kwargs or {}])}
        if len(devices) > 1:
            raise RuntimeError(f"{operation} on {sorted(devices)}")
        return operation(*args, **(kwargs or {}))


def tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif dataclasses.is_dataclass(value):
        yield from tensors([getattr(value, field.name) for field in dataclasses.fields(value)])
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors(one)


def arguments(name: str, function: Callable[..., Any], dtype: torch.dtype) -> dict[str, Any] | None:
    """Arguments with a tensor among them, or None if they cannot be made."""
    draws, given = Generator().manual_seed(0), ARGUMENTS.get(name, {})
    given = {key: value.to(dtype) if isinstance(value, Tensor) else value for key, value in given.items()}
    try:
        built = {
            key: given[key] if key in given else made(kind, dtype, draws) for key, kind in needed(function).items()
        }
    except Exception:  # an annotation, or a dataclass that refuses its fields
        return None
    return built if any(True for _ in tensors(built)) else None


def call(function: Callable[..., Any], name: str, dtype: torch.dtype, elsewhere: bool = False) -> tuple[str, Any]:
    """What a call returns, or the fault it ends in."""
    built = arguments(name, function, dtype)
    if built is None:
        return "not made", None
    try:
        with torch.device("meta" if elsewhere else "cpu"), OneDevice():
            return "", function(**built)
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}", None


def fault_of(name: str, function: Callable[..., Any]) -> str | None:
    """How a function fails to follow its input: empty if it does, None if it cannot be called like this."""
    if call(function, name, torch.float64)[0]:
        return None
    for dtype in (torch.float64, torch.float32):
        for elsewhere in (False, True):
            fault, result = call(function, name, dtype, elsewhere)
            if fault:
                return f"{dtype}, tensors by default {'elsewhere' if elsewhere else 'here'}: {fault[:200]}"
            if any(one.device.type != "cpu" for one in tensors(result)):
                return "the result is not where the input is"
            floats = [one for one in tensors(arguments(name, function, dtype)) if one.is_floating_point()]
            if floats and any(one.is_floating_point() and one.dtype != dtype for one in tensors(result)):
                return f"{dtype} goes in and another type comes out"
    return ""


def test_results_lie_where_the_inputs_lie_and_have_their_type() -> None:
    found = {name: fault_of(name, function) for name, function in functions()}
    faults = {name: fault for name, fault in found.items() if fault and name not in EXEMPT}
    assert faults == {}
    assert sum(fault is not None for fault in found.values()) >= LEAST_CALLED


def forgetful(tokens: Tensor) -> Tensor:
    return tokens + torch.ones(2, dtype=torch.float64)


def stubborn(tokens: Tensor) -> Tensor:
    return tokens.new_zeros(2, dtype=torch.float64)


def careless(tokens: Tensor) -> Tensor:
    return tokens[torch.arange(len(tokens))]


@pytest.mark.parametrize("function", [forgetful, stubborn, careless])
def test_a_function_that_forgets_is_found(function: Callable[..., Any]) -> None:
    assert fault_of("here", function)


def universal_machine() -> Callable[[], Any]:
    machine = UniversalMachine(2, 2, 3, 2)
    inputs = random_tables(4, 2, 2, seed=0), *random_inputs(4, 2, 3, seed=1)
    assert machine.layer
    return lambda: machine.compare(*inputs)


def executor() -> Callable[[], Any]:
    task = AutomatonExecutor(2, 2, 2)
    tables, words, starts = (torch.randint(2, shape) for shape in ((3, 2, 2), (3, 2), (3,)))
    return lambda: task.read(task.run(task.prompts(tables, words, starts)))


def sigmoids() -> Callable[[], Any]:
    a, x = normal(2, 3, 2, seed=0), normal(4, 2, seed=1)
    many, one = ManyHeads(a, a[..., 0], size=4), OneHead(a[0])
    return lambda: [many(x, 1), one.sums(x), one.sigmoids(x)]


MACHINES = [universal_machine, executor, sigmoids]


@pytest.mark.parametrize("made_here", MACHINES)
def test_machines_and_models_run_where_their_input_lies(made_here: Callable[[], Callable[[], Any]]) -> None:
    run = made_here()
    here = list(tensors(run()))
    with torch.device("meta"):
        elsewhere = list(tensors(run()))
    assert here
    for one, other in zip(here, elsewhere, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
