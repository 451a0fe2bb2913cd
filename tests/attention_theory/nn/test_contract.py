"""One contract for all modules at the door: what a user of ``torch.nn`` may take for granted, one property a test."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import Module

import attention_theory as at
from attention_theory.randomness import normal
from attention_theory.validation import ParameterError
from modules import close, copies, in_onnx

EMBED, HEADS, BATCH, TOKENS = 8, 2, 3, 5


@dataclass(frozen=True)
class Case:
    """A module of the contract.

    Attributes:
        name: its name at the door.
        options: what differs from the plain module; shown with the test.
        out: the shape of what it gives, without the batch.
        exempt: the tests whose property has no meaning for it, each with the reason.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    out: tuple[int, ...] = (TOKENS, EMBED)
    exempt: dict[str, str] = field(default_factory=dict)

    def build(self, dtype: torch.dtype = torch.float64, **more: Any) -> Any:
        """The same module at every call."""
        torch.manual_seed(0)
        return getattr(at.nn, self.name)(EMBED, HEADS, dtype=dtype, **self.options, **more)

    def __str__(self) -> str:
        return f"{self.name}-{self.options}"


ONE_QUERY = "it has one query, so one mask and no weights"
ONE_ROW = "it gives no row for each token; tested with the layer"
#: The plain module of each name first.
CASES = [
    Case("HyperAttention"),
    Case("HyperAttention", {"is_causal": False, "sum_over": "all", "sharing": False, "num_kv_heads": 1, "bias": True}),
    Case("HyperAttention", {"sum_over": "gt", "separate_output": True}),
    Case("HyperAttention", {"window": (3, 2)}),
    Case("HyperAttention", {"order": 4, "sum_over": "lt"}),
    Case("HyperFeatureAttention"),
    Case("HyperFeatureAttention", {"order": [1, 4], "is_causal": False, "num_kv_heads": 1, "bias": True}),
    Case("LinearAttention"),
    Case("LinearAttention", {"is_causal": False}),
    Case(
        "LinearAttention",
        {"last_token": True, "out_features": 3},
        out=(3,),
        exempt={
            "test_padded_batches_give_what_each_sequence_gives_alone": ONE_ROW,
            "test_the_two_masks_say_the_same": ONE_QUERY,
            "test_masks_must_be_boolean": ONE_QUERY,
            "test_weights_are_given_on_demand_and_are_those_of_the_output": ONE_QUERY,
            "test_a_bad_token_is_seen_where_it_counts_and_nowhere_before": "the one query sees every token",
            "test_overflow_is_never_taken_for_zero": ONE_ROW,
        },
    ),
    Case("LinearHyperAttention"),
    Case("LinearHyperAttention", {"sum_over": "all", "is_causal": False, "num_kv_heads": 1, "bias": True}),
]
#: Modules that are no blocks of a network: machines take states (``test_machines.py``), InContextRecall takes words
#: (``test_recall.py``), MemorizingAttention reads a context at a query (``test_memorizing_attention.py``).
ELSEWHERE = {"FleqTransformer", "InContextRecall", "MemorizingAttention", "SubleqTransformer", "UniversalTransformer"}
PLAIN = list({case.name: case for case in reversed(CASES)}.values())[::-1]


def over(cases: list[Case], plain: str = "", other: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test for every case that is not exempt from it, those of plain modules and the others with a mark."""

    def parametrize(test: Callable[..., None]) -> Callable[..., None]:
        kept = [case for case in cases if test.__name__ not in case.exempt]
        marks = [plain if case in PLAIN else other for case in kept]
        marked = [
            pytest.param(case, marks=getattr(pytest.mark, mark)) if mark else case
            for case, mark in zip(kept, marks, strict=True)
        ]
        return pytest.mark.parametrize("case", marked, ids=str)(test)

    return parametrize


every_module, plain_modules = over(CASES), over(PLAIN)


def sequences(dtype: torch.dtype = torch.float64, batch: int = BATCH, tokens: int = TOKENS, seed: int = 1) -> Tensor:
    return normal(batch, tokens, EMBED, seed=seed, dtype=dtype)


def test_every_name_is_in_the_table_and_every_exemption_names_a_test() -> None:
    assert {case.name for case in CASES} | ELSEWHERE == set(at.nn.__all__)
    assert {name for case in CASES for name in case.exempt} <= set(globals())


def parameters(module: Module) -> dict[str, Tensor]:
    return {key: value.detach() for key, value in module.named_parameters()}


def loss_of(module: Module) -> Callable[[dict[str, Tensor], Tensor], Tensor]:
    return lambda weights, x: functional_call(module, weights, (x,)).square().sum()


# As a part of a network


@every_module
def test_state_dict_copies_and_pickles_round_trip(case: Case, tmp_path: Path) -> None:
    module, x = case.build(), sequences()
    other = case.build()
    other.reset_parameters()
    for same in copies(module, other, tmp_path):
        assert torch.equal(same(x), module(x))


@every_module
def test_reset_parameters_draws_as_the_constructor_does(case: Case) -> None:
    module, other = case.build(), case.build()
    other.reset_parameters()
    assert any(not torch.equal(a, b) for a, b in zip(module.parameters(), other.parameters(), strict=True))
    torch.manual_seed(0)
    other.reset_parameters()
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), other.parameters(), strict=True))


@every_module
def test_every_parameter_has_a_gradient(case: Case) -> None:
    module = case.build()
    module(sequences()).square().sum().backward()
    assert all(value.grad is not None and value.grad.abs().max() > 0 for value in module.parameters())


@every_module
def test_repr_names_the_arguments(case: Case) -> None:
    shown = repr(case.build())
    assert shown.startswith(f"{case.name}(")
    assert "8, 2" in shown
    assert f"is_causal={case.options.get('is_causal', True)}" in shown


# Shapes, types and devices


@every_module
def test_batch_dimensions_lead(case: Case) -> None:
    module, x = case.build(), sequences()
    close(module(x[0]), module(x)[0])
    close(module(x.unflatten(0, (1, BATCH))), module(x)[None])


@every_module
def test_empty_batch_and_one_token(case: Case) -> None:
    module, x = case.build(), sequences()
    nothing = x[:0].clone().requires_grad_()
    out = module(nothing)
    assert out.shape == (0, *case.out)
    assert torch.autograd.grad(out.sum(), nothing)[0].shape == nothing.shape
    assert module(x[:, :1]).isfinite().all()
    with pytest.raises(ParameterError, match="must have shape"):
        module(x[:, :0])


@every_module
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_every_float_type_is_kept(case: Case, dtype: torch.dtype) -> None:
    module, x = case.build(), sequences()
    low = copy.deepcopy(module).to(dtype)
    out = low(x.to(dtype))
    out.sum().backward()
    assert out.dtype == dtype
    close(out.double(), module(x), atol=64 * torch.finfo(dtype).eps)


@every_module
def test_autocast_gives_its_type_and_the_same(case: Case) -> None:
    module, x = case.build(torch.float32), sequences(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = module(x)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    close(out.float(), module(x), atol=64 * torch.finfo(torch.bfloat16).eps)


@every_module
def test_meta_device_gives_shapes(case: Case) -> None:
    module = case.build(device="meta")
    assert {value.device.type for value in module.parameters()} == {"meta"}
    assert module(sequences().to("meta")).shape == (BATCH, *case.out)


@every_module
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator here")
def test_cuda_gives_the_same(case: Case) -> None:
    module, x = case.build(), sequences()
    close(copy.deepcopy(module).cuda()(x.cuda()).cpu(), module(x), atol=1e-10)


# Derivatives and transforms


@every_module
def test_first_and_second_derivatives(case: Case) -> None:
    module, x = case.build(), sequences()[:1, :3].requires_grad_()
    assert torch.autograd.gradcheck(module, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(module, x)


@every_module
def test_vmap_over_stacked_models_and_over_samples(case: Case) -> None:
    models = [case.build() for _ in range(2)]
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


@pytest.mark.usefixtures("unchecked_shapes")
@over(CASES, "slow", "exhaustive")
def test_compiles_as_one_graph_for_every_length(case: Case) -> None:
    torch._dynamo.reset()
    module, x, padding = case.build(), sequences(), torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend="aot_eager")
    close(compiled(x, padding), module(x, padding))
    longer, hidden = sequences(batch=2, tokens=7, seed=2), torch.arange(7).expand(2, 7) > 4
    weights = list(module.parameters())
    gradients = [torch.autograd.grad(f(longer, hidden).square().sum(), weights) for f in (compiled, module)]
    close(gradients[0], gradients[1])


@every_module
def test_exports_with_any_batch_and_number_of_tokens(case: Case) -> None:
    module, x, padding = case.build(), sequences(), torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    exported = torch.export.export(module, (x, padding), dynamic_shapes=(sizes, sizes)).module()
    longer, hidden = sequences(batch=2, tokens=7, seed=2), torch.arange(7).expand(2, 7) > 4
    close(exported(longer, hidden), module(longer, hidden))


@pytest.mark.slow
@plain_modules
def test_runs_in_onnx_with_any_batch_and_number_of_tokens(case: Case) -> None:
    module, x, padding = case.build(torch.float32), sequences(torch.float32), torch.zeros(BATCH, TOKENS).bool()
    feed = (sequences(torch.float32, 2, 7, 2), torch.arange(7).expand(2, 7) > 4)
    close(in_onnx(module, (x, padding), {0: "batch", 1: "tokens"}, feed), module(*feed), atol=1e-5)


# Masks


@every_module
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("filler", [0.0, 7.0, torch.nan, torch.inf])
def test_padded_batches_give_what_each_sequence_gives_alone(case: Case, side: str, filler: float) -> None:
    module, lengths = case.build(), [5, 3, 1]
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
def test_a_fully_masked_row_is_zero_whatever_it_hides(case: Case) -> None:
    module, x = case.build(), sequences().requires_grad_()
    padding = torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    padding[1] = True
    assert module(x, padding)[1].abs().max() == 0
    assert module(x.masked_fill(padding[..., None], torch.nan), padding)[1].abs().max() == 0
    (gradient,) = torch.autograd.grad(module(x, padding).sum(), x)
    assert gradient.isfinite().all()


@every_module
def test_the_two_masks_say_the_same(case: Case) -> None:
    module, x = case.build(), sequences()
    padding = torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    padding[:, 1] = True
    each = padding[:, None].expand(-1, TOKENS, -1)
    for same in (each, each[0]):
        close(module(x, attn_mask=same), module(x, key_padding_mask=padding))
    close(module(x, padding, torch.eye(TOKENS, dtype=torch.bool)), module(x, attn_mask=each | torch.eye(TOKENS).bool()))


@plain_modules
def test_a_causal_mask_makes_a_causal_module(case: Case) -> None:
    x = sequences()
    later = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    module = replace(case, options={"is_causal": False}).build()
    close(module(x, attn_mask=later), module(x, is_causal=True))
    close(module(x, attn_mask=later, is_causal=True), case.build()(x))


@every_module
def test_causality_of_a_call_takes_the_place_of_the_modules(case: Case) -> None:
    module, x = case.build(), sequences()
    padding = torch.arange(TOKENS).expand(BATCH, TOKENS) > 3
    for is_causal in (True, False) if module.reach is None else (True,):
        other = replace(case, options={**case.options, "is_causal": is_causal}).build()
        close(module(x, padding, is_causal=is_causal), other(x, padding))


@every_module
def test_masks_must_be_boolean(case: Case) -> None:
    module, x = case.build(), sequences()
    with pytest.raises(ParameterError, match="key_padding_mask must be boolean"):
        module(x, key_padding_mask=torch.zeros(BATCH, TOKENS))
    with pytest.raises(ParameterError, match="attn_mask must be boolean"):
        module(x, attn_mask=torch.zeros(TOKENS, TOKENS))


@every_module
def test_weights_are_given_on_demand_and_are_those_of_the_output(case: Case) -> None:
    module, x = case.build(), sequences()
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
def test_a_bad_token_is_seen_where_it_counts_and_nowhere_before(case: Case, bad: float) -> None:
    module, x = case.build(), sequences()
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
def test_overflow_is_never_taken_for_zero(case: Case) -> None:
    module, x = case.build(), sequences()
    out = module(x * 1e200)
    attends = module(x).abs().amax(-1) > 0  # all rows but those without a tuple
    assert not out[attends].isfinite().all(-1).any()
    assert (out[~attends] == 0).all()
