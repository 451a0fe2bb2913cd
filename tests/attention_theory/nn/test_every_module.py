"""What holds for each of the nine modules at the door: blocks, the two layers of theory, and machines alike."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, jvp, vjp
from torch.nn import Module
from torch.utils.checkpoint import checkpoint

import attention_theory as at
from attention_theory.randomness import generator, normal
from modules import close, in_onnx

BLOCKS = ("HyperAttention", "HyperFeatureAttention", "LinearAttention", "LinearHyperAttention")
#: A machine with a soft maximum, where it has one, for derivatives that are not zero.
MACHINES: dict[str, Callable[..., Any]] = {
    "FleqTransformer": lambda **options: at.nn.FleqTransformer.compile(
        "y = add(a, x)\nhalt", {"a": 2.0, "x": 1.0, "y": 0.0}, 2, inverse_temperature=0.5, **options
    ),
    "SubleqTransformer": lambda **options: at.nn.SubleqTransformer.compile(
        "x = 7\ny = 9\ny -= x\nhalt", 5, 4, inverse_temperature=0.5, **options
    ),
    "UniversalTransformer": lambda **options: at.nn.UniversalTransformer.compile("a _ -> a _ R", 2, 2, **options),
}
#: The one table of exemptions: a test, the modules that it leaves out, and why.
EXEMPT: dict[str, dict[str, str]] = {
    "test_autocast_gives_the_same": dict.fromkeys(MACHINES, "a machine computes with codes, for which 8 bits are few"),
    "test_float16_keeps_the_type": {"FleqTransformer": "its gate of 1000 times its data is beyond float16"},
    "test_runs_in_onnx": dict.fromkeys(
        (*BLOCKS, "InContextRecall", *MACHINES), "tested with every mask in test_contract.py and test_machines.py"
    ),
}


def made(name: str, dtype: torch.dtype = torch.float64, batch: int = 3, tokens: int = 5) -> tuple[Any, list[Tensor]]:
    """A module with drawn or compiled weights, and inputs that keep off the kinks of its ReLUs."""
    torch.manual_seed(0)
    if name in MACHINES:
        module = MACHINES[name](dtype=dtype)
        state = module.load("_") if name == "UniversalTransformer" else module.load()
        return module, [state + 0.1 * normal(batch, *state.shape, seed=1, dtype=dtype)]
    if name == "InContextRecall":
        module = at.nn.InContextRecall(6, 2, 1, dtype=dtype)
        for weight in module.parameters():
            torch.nn.init.normal_(weight)
        return module, [torch.randint(6, (batch, tokens), generator=generator(1))]
    module = getattr(at.nn, name)(8, 2, dtype=dtype)
    queries = [normal(batch, 8, seed=2, dtype=dtype)] if name == "MemorizingAttention" else []
    return module, [normal(batch, tokens, 8, seed=1, dtype=dtype), *queries]


def every_module(test: Callable[..., None]) -> Callable[..., None]:
    names = [name for name in at.nn.__all__ if name not in EXEMPT.get(test.__name__, {})]
    return pytest.mark.parametrize("name", names)(test)


def differentiable(module: Module, inputs: list[Tensor]) -> tuple[Callable[..., Tensor], tuple[Tensor, ...]]:
    """The outputs as a function of the inputs, or of the weights where the inputs are whole numbers."""
    if inputs[0].is_floating_point():
        return module, tuple(inputs)
    names, weights = zip(*module.named_parameters(), strict=True)
    detached = tuple(weight.detach() for weight in weights)
    return lambda *given: functional_call(module, dict(zip(names, given, strict=True)), tuple(inputs)), detached


def directions(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(normal(*tensor.shape, seed=number) for number, tensor in enumerate(tensors))


def dot(left: tuple[Tensor, ...], right: tuple[Tensor, ...]) -> Tensor:
    return torch.stack([(one * other).sum() for one, other in zip(left, right, strict=True)]).sum()


def test_every_exemption_names_a_test_and_a_module() -> None:
    assert set(EXEMPT) <= set(globals())
    assert {name for names in EXEMPT.values() for name in names} <= set(at.nn.__all__)


@every_module
def test_hooks_see_a_call_and_may_change_it(name: str) -> None:
    module, inputs = made(name)
    seen: list[Tensor] = []
    module.register_forward_pre_hook(lambda module, given: seen.extend(given))
    module.register_forward_hook(lambda module, given, out: 2 * out)
    out = module(*inputs)
    assert all(ours is theirs for ours, theirs in zip(seen, inputs, strict=True))
    close(out, 2 * module.forward(*inputs))


@every_module
def test_a_deep_copy_shares_nothing(name: str) -> None:
    module, inputs = made(name)
    before, other = module(*inputs), copy.deepcopy(module)
    close(other(*inputs), before)
    for weight in other.state_dict().values():
        weight.zero_()
    close(module(*inputs), before)


@every_module
def test_reset_parameters_restores_or_draws(name: str) -> None:
    module, _ = made(name)
    before = copy.deepcopy(module.state_dict())
    for weight in module.state_dict().values():
        weight.fill_(1)
    torch.manual_seed(0)
    module.reset_parameters()
    after = module.state_dict()
    if name == "InContextRecall":  # training starts at zero
        assert not any(weight.any() for weight in after.values())
    else:
        close(after, before)


@every_module
def test_checkpointing_keeps_gradients(name: str) -> None:
    function, leaves = differentiable(*made(name))
    given = [leaf.requires_grad_() for leaf in leaves]
    plain = torch.autograd.grad(function(*given).square().sum(), given)
    kept = torch.autograd.grad(checkpoint(function, *given, use_reentrant=False).square().sum(), given)
    close(kept, plain)


@every_module
def test_forward_and_reverse_derivatives_agree(name: str) -> None:
    """Of the first order, ``<J v, u> = <v, J^T u>``, and of the second: the Hessian times a vector by both ways."""
    function, leaves = differentiable(*made(name, batch=1, tokens=3))
    along = directions(leaves)
    out, forward = jvp(function, leaves, along)[:2]
    weights = normal(*out.shape, seed=9)
    torch.testing.assert_close(dot((forward,), (weights,)), dot(along, vjp(function, *leaves)[1](weights)))

    def loss(*given: Tensor) -> Tensor:
        return (function(*given) * weights).square().sum()

    gradient = grad(loss, argnums=tuple(range(len(leaves))))
    over_reverse = jvp(gradient, leaves, along)[1]
    given = [leaf.clone().requires_grad_() for leaf in leaves]
    first = torch.autograd.grad(loss(*given), given, create_graph=True)
    twice = torch.autograd.grad(dot(first, along), given)
    torch.testing.assert_close(over_reverse, twice, rtol=1e-6, atol=1e-4)  # FLEQ adds 1e3


@every_module
def test_float16_keeps_the_type(name: str) -> None:
    module, inputs = made(name)
    low = copy.deepcopy(module).half()(*(x.half() if x.is_floating_point() else x for x in inputs))
    assert low.dtype == torch.float16
    assert low.isfinite().all()


@every_module
def test_autocast_gives_the_same(name: str) -> None:
    module, inputs = made(name, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = module(*inputs)
    close(out.float(), module(*inputs), atol=64 * torch.finfo(torch.bfloat16).eps)


@pytest.mark.slow
@every_module
def test_exports_with_any_batch_and_number_of_tokens(name: str) -> None:
    module, inputs = made(name)
    dynamic = torch.export.Dim.DYNAMIC
    sizes = tuple({0: dynamic} if x.ndim == 2 and x.is_floating_point() else {0: dynamic, 1: dynamic} for x in inputs)
    exported = torch.export.export(module, tuple(inputs), dynamic_shapes=sizes).module()
    _, other = made(name, batch=2, tokens=7)
    fewer = [x[:, :-1] if name in MACHINES else x for x in other]  # another number of tokens
    close(exported(*fewer), module(*fewer))


@pytest.mark.slow
@every_module
def test_runs_in_onnx(name: str) -> None:
    module, inputs = made(name, torch.float32)
    _, other = made(name, torch.float32, batch=2, tokens=7)
    sizes = ({0: "batch", 1: "tokens"}, {0: "batch"})
    close(in_onnx(module, tuple(inputs), sizes, tuple(other)), module(*other), atol=1e-5)
