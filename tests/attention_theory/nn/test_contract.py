"""One contract for all modules at the door: what a user of ``torch.nn`` may take for granted, one property a test."""

import copy
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import Module
from torch.utils.checkpoint import checkpoint

import attention_theory as at
from attention_theory.randomness import normal
from attention_theory.validation import ParameterError

EMBED, HEADS, BATCH, TOKENS = 8, 2, 3, 5
#: Constructors of each module, the plainest first.
EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "HyperAttention": [
        {},
        {"is_causal": False, "sum_over": "all", "sharing": False, "num_kv_heads": 1, "bias": True},
        {"sum_over": "gt", "separate_output": True},
        {"window": (3, 2)},
        {"order": 4, "sum_over": "lt"},
    ],
    "HyperFeatureAttention": [{}, {"order": [1, 4], "is_causal": False, "num_kv_heads": 1, "bias": True}],
    "LinearHyperAttention": [{}, {"sum_over": "all", "is_causal": False, "num_kv_heads": 1, "bias": True}],
}
CASES = [(name, options) for name in at.nn.__all__ for options in EXAMPLES[name]]
every_module = pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{name}-{options}" for name, options in CASES])
plain_modules = pytest.mark.parametrize("name", at.nn.__all__)


def build(name: str, options: dict[str, Any], dtype: torch.dtype = torch.float64, **more: Any) -> Any:
    torch.manual_seed(0)
    return getattr(at.nn, name)(EMBED, HEADS, dtype=dtype, **options, **more)


def sequences(dtype: torch.dtype = torch.float64) -> Tensor:
    return normal(BATCH, TOKENS, EMBED, seed=1, dtype=dtype)


def parameters(module: Module) -> dict[str, Tensor]:
    return {key: value.detach() for key, value in module.named_parameters()}


def loss_of(module: Module) -> Callable[[dict[str, Tensor], Tensor], Tensor]:
    return lambda weights, x: functional_call(module, weights, (x,)).square().sum()


def close(ours: Any, theirs: Any, atol: float = 1e-12) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)


# As a part of a network


@every_module
def test_state_dict_copies_and_pickles_round_trip(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    module, x = build(name, options), sequences()
    other = getattr(at.nn, name)(EMBED, HEADS, dtype=torch.float64, **options)
    other.load_state_dict(module.state_dict())
    torch.save(module, tmp_path / "module.pt")
    for same in (other, copy.deepcopy(module), torch.load(tmp_path / "module.pt", weights_only=False)):
        assert torch.equal(same(x), module(x))


@every_module
def test_reset_parameters_draws_as_the_constructor_does(name: str, options: dict[str, Any]) -> None:
    module, other = build(name, options), build(name, options)
    other.reset_parameters()
    assert any(not torch.equal(a, b) for a, b in zip(module.parameters(), other.parameters(), strict=True))
    torch.manual_seed(0)
    other.reset_parameters()
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), other.parameters(), strict=True))


@every_module
def test_every_parameter_has_a_gradient(name: str, options: dict[str, Any]) -> None:
    module = build(name, options)
    module(sequences()).square().sum().backward()
    assert all(value.grad is not None and value.grad.abs().max() > 0 for value in module.parameters())


@every_module
def test_repr_names_the_arguments(name: str, options: dict[str, Any]) -> None:
    shown = repr(build(name, options))
    assert shown.startswith(f"{name}(")
    assert f"{EMBED}, {HEADS}" in shown
    assert f"is_causal={options.get('is_causal', True)}" in shown


@every_module
def test_hooks_and_checkpointing_change_nothing(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences().requires_grad_()
    seen: dict[str, torch.Size] = {}
    (plain,) = torch.autograd.grad(module(x).square().sum(), x)
    module.register_forward_hook(lambda _, inputs, out: seen.update(forward=out.shape))
    module.register_full_backward_hook(lambda _, into, out: seen.update(backward=out[0].shape))
    (again,) = torch.autograd.grad(checkpoint(module, x, use_reentrant=False).square().sum(), x)
    close(again, plain)
    assert seen == {"forward": x.shape, "backward": x.shape}


# Shapes, types and devices


@every_module
def test_batch_dimensions_lead(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences()
    close(module(x[0]), module(x)[0])
    close(module(x.unflatten(0, (1, BATCH))), module(x)[None])


@every_module
def test_empty_batch_and_one_token(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences()
    nothing = x[:0].clone().requires_grad_()
    module(nothing).sum().backward()
    assert nothing.grad is not None
    assert nothing.grad.shape == (0, TOKENS, EMBED)
    assert module(x[:, :1]).isfinite().all()
    with pytest.raises(ParameterError, match="x must have shape"):
        module(x[:, :0])


@every_module
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_every_float_type_is_kept(name: str, options: dict[str, Any], dtype: torch.dtype) -> None:
    module, x = build(name, options), sequences()
    low = copy.deepcopy(module).to(dtype)
    out = low(x.to(dtype))
    out.sum().backward()
    assert out.dtype == dtype
    close(out.double(), module(x), atol=64 * torch.finfo(dtype).eps)


@every_module
def test_autocast(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options, torch.float32), sequences(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = module(x)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    close(out.float(), module(x), atol=64 * torch.finfo(torch.bfloat16).eps)


@every_module
def test_meta_device_gives_shapes(name: str, options: dict[str, Any]) -> None:
    module = build(name, options, device="meta")
    assert {value.device.type for value in module.parameters()} == {"meta"}
    assert module(sequences().to("meta")).shape == (BATCH, TOKENS, EMBED)


@every_module
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator here")
def test_cuda_gives_the_same(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences()
    close(copy.deepcopy(module).cuda()(x.cuda()).cpu(), module(x), atol=1e-10)


# Derivatives and transforms


@every_module
def test_first_and_second_derivatives(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences()[:1, :3].requires_grad_()
    assert torch.autograd.gradcheck(module, (x,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(module, (x,))


@every_module
def test_functional_gradient_is_the_gradient(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences()
    gradients = grad(loss_of(module))(parameters(module), x)
    module(x).square().sum().backward()
    for key, value in module.named_parameters():
        close(gradients[key], value.grad)


@every_module
def test_vmap_over_stacked_models_and_over_samples(name: str, options: dict[str, Any]) -> None:
    models = [build(name, options) for _ in range(2)]
    models[1].reset_parameters()
    stacked, x, module = stack_module_state(models)[0], sequences(), models[0]
    outputs = vmap(lambda weights: functional_call(module, weights, (x,)))(stacked)
    close(outputs, torch.stack([model(x) for model in models]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")
        gradients = vmap(grad(loss_of(module)), (0, None))(stacked, x)
        per_sample = vmap(grad(loss_of(module)), (None, 0))(parameters(module), x)
    for key, value in grad(loss_of(module))(parameters(module), x).items():
        close(gradients[key][0], value)
        close(per_sample[key].sum(0), value)


# Compiled and exported


@pytest.fixture
def unchecked_shapes() -> Iterator[None]:
    """Leave out the checks of annotated shapes, which only tests have: a compiler cannot look into them."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked_shapes")
@every_module
def test_compiles_as_one_graph_for_every_length(name: str, options: dict[str, Any]) -> None:
    torch._dynamo.reset()
    module, x, padding = build(name, options), sequences(), torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend="aot_eager")
    close(compiled(x, padding), module(x, padding))
    longer, hidden = normal(2, 7, EMBED, seed=2), torch.arange(7).expand(2, 7) > 4
    weights = list(module.parameters())
    gradients = [torch.autograd.grad(f(longer, hidden).square().sum(), weights) for f in (compiled, module)]
    close(gradients[0], gradients[1])


@every_module
def test_exports_with_any_batch_and_number_of_tokens(name: str, options: dict[str, Any]) -> None:
    module, x, padding = build(name, options), sequences(), torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    exported = torch.export.export(module, (x, padding), dynamic_shapes=(sizes, sizes)).module()
    longer, hidden = normal(2, 7, EMBED, seed=2), torch.arange(7).expand(2, 7) > 4
    close(exported(longer, hidden), module(longer, hidden))


@pytest.mark.slow
@plain_modules
def test_runs_in_onnx_with_any_batch_and_number_of_tokens(name: str, tmp_path: Path) -> None:
    runtime, path = pytest.importorskip("onnxruntime"), str(tmp_path / "module.onnx")
    module, x = build(name, {}, torch.float32), sequences(torch.float32)
    padding, sizes = torch.zeros(BATCH, TOKENS, dtype=torch.bool), {0: "batch", 1: "tokens"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x, padding), path, dynamo=True, dynamic_shapes=(sizes, sizes), verbose=False)
    longer, hidden = normal(2, 7, EMBED, seed=2, dtype=torch.float32), torch.arange(7).expand(2, 7) > 4
    session = runtime.InferenceSession(path)
    feed = zip(session.get_inputs(), (longer, hidden), strict=True)
    (out,) = session.run(None, {given.name: value.numpy() for given, value in feed})
    close(torch.from_numpy(out), module(longer, hidden), atol=1e-5)


# Masks


@every_module
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("filler", [0.0, 7.0, torch.nan, torch.inf])
def test_padded_batches_give_what_each_sequence_gives_alone(
    name: str, options: dict[str, Any], side: str, filler: float
) -> None:
    module, lengths = build(name, options), [5, 3, 1]
    x, padding = sequences(), torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    real = [slice(0, n) if side == "right" else slice(TOKENS - n, TOKENS) for n in lengths]
    for row, at_real in enumerate(real):
        padding[row] = True
        padding[row, at_real] = False
    x = x.masked_fill(padding[..., None], filler).requires_grad_()
    out = module(x, key_padding_mask=padding)
    for row, at_real in enumerate(real):
        close(out[row, at_real], module(x[row, at_real]))
    (gradient,) = torch.autograd.grad(out[~padding].square().sum(), x)
    assert gradient[~padding].isfinite().all()


@every_module
def test_a_fully_masked_row_is_zero_whatever_it_hides(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences().requires_grad_()
    padding = torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    padding[1] = True
    assert module(x, padding)[1].abs().max() == 0
    assert module(x.masked_fill(padding[..., None], torch.nan), padding)[1].abs().max() == 0
    (gradient,) = torch.autograd.grad(module(x, padding).sum(), x)
    assert gradient.isfinite().all()


@every_module
def test_the_two_masks_say_the_same(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences()
    padding = torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    padding[:, 1] = True
    each = padding[:, None].expand(-1, TOKENS, -1)
    for same in (each, each[0]):
        close(module(x, attn_mask=same), module(x, key_padding_mask=padding))
    close(module(x, padding, torch.eye(TOKENS, dtype=torch.bool)), module(x, attn_mask=each | torch.eye(TOKENS).bool()))


@plain_modules
def test_a_causal_mask_makes_a_causal_module(name: str) -> None:
    x = sequences()
    later = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    close(build(name, {"is_causal": False})(x, attn_mask=later), build(name, {})(x))


@every_module
def test_masks_must_be_boolean(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences()
    with pytest.raises(ParameterError, match="key_padding_mask must be boolean"):
        module(x, key_padding_mask=torch.zeros(BATCH, TOKENS))
    with pytest.raises(ParameterError, match="attn_mask must be boolean"):
        module(x, attn_mask=torch.zeros(TOKENS, TOKENS))


@every_module
def test_weights_are_given_on_demand_and_are_those_of_the_output(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences()
    padding = torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    padding[0, 2] = True
    out, weights = module(x, padding, need_weights=True)
    close(out, module(x, padding))
    assert weights.shape[:3] == (BATCH, HEADS, TOKENS)
    assert set(weights.shape[3:]) == {TOKENS}
    for axis in range(3, weights.ndim):
        assert weights.select(axis, 2)[0].abs().max() == 0


# What is not finite


@every_module
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, 1e300])
def test_a_bad_token_is_seen_where_it_counts_and_nowhere_before(name: str, options: dict[str, Any], bad: float) -> None:
    module, x = build(name, options), sequences()
    broken = x.clone()
    broken[0, 3] = bad
    out, whole = module(broken), module(x)
    assert not out[0, 3].isfinite().all()
    close(out[1:], whole[1:])
    if module.is_causal:
        close(out[0, :3], whole[0, :3])
    elif bad != 1e300:  # a finite token may have the weight 0
        assert not out[0].isfinite().all(-1).any()


@every_module
def test_overflow_is_never_taken_for_zero(name: str, options: dict[str, Any]) -> None:
    module, x = build(name, options), sequences()
    out = module(x * 1e200)
    attends = module(x).abs().amax(-1) > 0  # all rows but those without a tuple
    assert not out[attends].isfinite().all(-1).any()
    assert (out[~attends] == 0).all()
