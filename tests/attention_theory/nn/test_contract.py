"""One contract for all modules at the door: what a user of ``torch.nn`` may take for granted, one property a test."""

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import Module

import attention_theory as at
from attention_theory.randomness import generator, normal
from attention_theory.validation import ParameterError
from modules import close, copies, in_onnx

EMBED, HEADS, BATCH, TOKENS, WORDS = 8, 2, 3, 5, 4


def sequences(dtype: torch.dtype = torch.float64, batch: int = BATCH, tokens: int = TOKENS, seed: int = 1) -> Tensor:
    return normal(batch, tokens, EMBED, seed=seed, dtype=dtype)


def sentences(dtype: torch.dtype = torch.float64, batch: int = BATCH, tokens: int = TOKENS, seed: int = 1) -> Tensor:
    """Whole numbers, whatever the type of the weights."""
    return torch.randint(WORDS, (batch, tokens), generator=generator(seed))


def drawn(layer: Callable[..., Any], **options: Any) -> Any:
    """A module that starts at zero, with other weights."""
    module = layer(WORDS, 2, 1, **options)
    for weight in module.parameters():
        torch.nn.init.normal_(weight)
    return module


@dataclass(frozen=True)
class Case:
    """A module of the contract.

    Attributes:
        name: its name at the door.
        options: what differs from the plain module; shown with the test.
        construct: from the module's class, the options, ``dtype`` and ``device`` to a module with new weights.
        draw: inputs of a type, a batch and a number of tokens, from a seed.
        out: the shape of what it gives, without the batch.
        is_padded: whether it takes a mask of the tokens that are padding.
        least: the fewest tokens that it takes.
        shown: what its ``repr`` has to name.
        exempt: the tests whose property has no meaning for it, each with the reason.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    construct: Callable[..., Any] = lambda layer, **options: layer(EMBED, HEADS, **options)
    draw: Callable[..., Tensor] = sequences
    out: tuple[int, ...] = (TOKENS, EMBED)
    is_padded: bool = True
    least: int = 1
    shown: Sequence[str] = ("8, 2", "is_causal=True")
    exempt: dict[str, str] = field(default_factory=dict)

    def build(self, dtype: torch.dtype = torch.float64, **more: Any) -> Any:
        """The same module at every call."""
        torch.manual_seed(0)
        return self.construct(getattr(at.nn, self.name), dtype=dtype, **self.options, **more)

    def inputs(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, ...]:
        """What a call is given where it is to show a mask too."""
        return (x, hidden) if self.is_padded else (x,)

    def __str__(self) -> str:
        return f"{self.name}-{self.options}"


NOT_CAUSAL = ("8, 2", "is_causal=False")
ONE_QUERY = "it has one query, so one mask and no weights"
ONE_ROW = "it gives no row for each token; tested with the layer"
NO_MASK = "a sentence has no padding: its last word is the query and every word counts"
WHOLE = "words are whole numbers, which are finite and have no type of their own"
MASKS = (
    "test_padded_batches_give_what_each_sequence_gives_alone",
    "test_a_fully_masked_row_is_zero_whatever_it_hides",
    "test_the_two_masks_say_the_same",
    "test_a_causal_mask_makes_a_causal_module",
    "test_causality_of_a_call_takes_the_place_of_the_modules",
    "test_masks_must_be_boolean",
    "test_weights_are_given_on_demand_and_are_those_of_the_output",
)
NOT_FINITE = (
    "test_a_bad_token_is_seen_where_it_counts_and_nowhere_before",
    "test_overflow_is_never_taken_for_zero",
)
#: The plain module of each name first.
CASES = [
    Case("HyperAttention"),
    Case(
        "HyperAttention",
        {"is_causal": False, "sum_over": "all", "sharing": False, "num_kv_heads": 1, "bias": True},
        shown=NOT_CAUSAL,
    ),
    Case("HyperAttention", {"sum_over": "gt", "separate_output": True}),
    Case("HyperAttention", {"window": (3, 2)}),
    Case("HyperAttention", {"order": 4, "sum_over": "lt"}),
    Case("HyperFeatureAttention"),
    Case(
        "HyperFeatureAttention",
        {"order": [1, 4], "is_causal": False, "num_kv_heads": 1, "bias": True},
        shown=NOT_CAUSAL,
    ),
    Case("LinearAttention"),
    Case("LinearAttention", {"is_causal": False}, shown=NOT_CAUSAL),
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
    *(
        Case(
            "InContextRecall",
            options,
            drawn,
            sentences,
            (WORDS,),
            is_padded=False,
            least=2,
            shown=("4, 2, 1", f"attention={options.get('attention', 'linear')!r}"),
            exempt={
                "test_reset_parameters_draws_as_the_constructor_does": "training starts at zero; tested with the layer",
                "test_autocast_gives_its_type": "it adds look-ups in the type of the weights to products",
                "test_compiles_as_one_graph_for_every_length": "checked dataclasses hinder it; tested with the layer",
                **dict.fromkeys(MASKS, NO_MASK),
                **dict.fromkeys(NOT_FINITE, WHOLE),
            },
        )
        for options in ({}, {"attention": "softmax"}, {"attention": "relu", "full_input": False})
    ),
    Case("LinearHyperAttention"),
    Case(
        "LinearHyperAttention",
        {"sum_over": "all", "is_causal": False, "num_kv_heads": 1, "bias": True},
        shown=NOT_CAUSAL,
    ),
]
#: Modules that are no blocks of a network: machines take states (``test_machines.py``), MemorizingAttention reads a
#: context at a query (``test_memorizing_attention.py``).
ELSEWHERE = {"FleqTransformer", "MemorizingAttention", "SubleqTransformer", "UniversalTransformer"}
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


def test_every_name_is_in_the_table_and_every_exemption_names_a_test() -> None:
    assert {case.name for case in CASES} | ELSEWHERE == set(at.nn.__all__)
    assert {name for case in CASES for name in case.exempt} <= set(globals())


def parameters(module: Module) -> dict[str, Tensor]:
    return {key: value.detach() for key, value in module.named_parameters()}


def loss_of(module: Module) -> Callable[[dict[str, Tensor], Tensor], Tensor]:
    return lambda weights, x: functional_call(module, weights, (x,)).square().sum()


def leaves(module: Module, x: Tensor) -> list[Tensor]:
    """What derivatives are taken in: the inputs, or the weights where the inputs are whole numbers."""
    return [x.requires_grad_()] if x.is_floating_point() else list(module.parameters())


def of_leaves(module: Module, x: Tensor) -> Callable[..., Tensor]:
    """The outputs as a function of the :func:`leaves`."""
    names = [name for name, _ in module.named_parameters()]
    return (
        module
        if x.is_floating_point()
        else lambda *weights: functional_call(module, dict(zip(names, weights, strict=True)), (x,))
    )


# As a part of a network


@every_module
def test_state_dict_copies_and_pickles_round_trip(case: Case, tmp_path: Path) -> None:
    module, x = case.build(), case.draw()
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
    module(case.draw()).square().sum().backward()
    assert all(value.grad is not None and value.grad.abs().max() > 0 for value in module.parameters())


@every_module
def test_repr_names_the_arguments(case: Case) -> None:
    shown = repr(case.build())
    assert shown.startswith(f"{case.name}(")
    assert all(text in shown for text in case.shown)


# Shapes, types and devices


@every_module
def test_batch_dimensions_lead(case: Case) -> None:
    module, x = case.build(), case.draw()
    close(module(x[0]), module(x)[0])
    close(module(x.unflatten(0, (1, BATCH))), module(x)[None])


@every_module
def test_empty_batch_and_one_token(case: Case) -> None:
    module, x = case.build(), case.draw()
    nothing = x[:0].clone()
    inner = leaves(module, nothing)
    out = module(nothing)
    assert out.shape == (0, *case.out)
    assert all(part.abs().sum() == 0 for part in torch.autograd.grad(out.sum(), inner))
    assert module(x[:, : case.least]).isfinite().all()
    with pytest.raises(ParameterError, match="must have shape"):
        module(x[:, : case.least - 1])


@every_module
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_every_float_type_is_kept(case: Case, dtype: torch.dtype) -> None:
    module, x = case.build(), case.draw()
    low = copy.deepcopy(module).to(dtype)
    out = low(x.to(dtype) if x.is_floating_point() else x)
    out.sum().backward()
    assert out.dtype == dtype
    close(out.double(), module(x), atol=64 * torch.finfo(dtype).eps)


@every_module
def test_autocast_gives_its_type(case: Case) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert case.build(torch.float32)(case.draw(torch.float32)).dtype == torch.bfloat16


@every_module
def test_autocast_gives_the_same(case: Case) -> None:
    module, x = case.build(torch.float32), case.draw(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = module(x)
    out.float().sum().backward()
    close(out.float(), module(x), atol=64 * torch.finfo(torch.bfloat16).eps)


@every_module
def test_meta_device_gives_shapes(case: Case) -> None:
    module = case.build(device="meta")
    assert {value.device.type for value in module.parameters()} == {"meta"}
    assert module(case.draw().to("meta")).shape == (BATCH, *case.out)


@every_module
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator here")
def test_cuda_gives_the_same(case: Case) -> None:
    module, x = case.build(), case.draw()
    close(copy.deepcopy(module).cuda()(x.cuda()).cpu(), module(x), atol=1e-10)


# Derivatives and transforms


@every_module
def test_first_and_second_derivatives(case: Case) -> None:
    module, x = case.build(), case.draw()[:1, :3]
    inner, function = leaves(module, x), of_leaves(module, x)
    assert torch.autograd.gradcheck(function, inner, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, inner)


@every_module
def test_vmap_over_stacked_models_and_over_samples(case: Case) -> None:
    models = [case.build() for _ in range(2)]
    models[1].reset_parameters()
    stacked, x, module = stack_module_state(models)[0], case.draw(), models[0]
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
    module, x, padding = case.build(), case.draw(), torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend="aot_eager")
    close(compiled(*case.inputs(x, padding)), module(*case.inputs(x, padding)))
    longer, hidden = case.draw(batch=2, tokens=7, seed=2), torch.arange(7).expand(2, 7) > 4
    weights = list(module.parameters())
    gradients = [
        torch.autograd.grad(f(*case.inputs(longer, hidden)).square().sum(), weights) for f in (compiled, module)
    ]
    close(gradients[0], gradients[1])


@every_module
def test_exports_with_any_batch_and_number_of_tokens(case: Case) -> None:
    module, x, padding = case.build(), case.draw(), torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    given = case.inputs(x, padding)
    exported = torch.export.export(module, given, dynamic_shapes=(sizes,) * len(given)).module()
    longer, hidden = case.draw(batch=2, tokens=7, seed=2), torch.arange(7).expand(2, 7) > 4
    close(exported(*case.inputs(longer, hidden)), module(*case.inputs(longer, hidden)))


@pytest.mark.slow
@plain_modules
def test_runs_in_onnx_with_any_batch_and_number_of_tokens(case: Case) -> None:
    module, x, padding = case.build(torch.float32), case.draw(torch.float32), torch.zeros(BATCH, TOKENS).bool()
    feed = case.inputs(case.draw(torch.float32, 2, 7, 2), torch.arange(7).expand(2, 7) > 4)
    close(in_onnx(module, case.inputs(x, padding), {0: "batch", 1: "tokens"}, feed), module(*feed), atol=1e-5)


# Masks


@every_module
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("filler", [0.0, 7.0, torch.nan, torch.inf])
def test_padded_batches_give_what_each_sequence_gives_alone(case: Case, side: str, filler: float) -> None:
    module, lengths = case.build(), [5, 3, 1]
    x, padding = case.draw(), torch.zeros(BATCH, TOKENS, dtype=torch.bool)
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
    module, x = case.build(), case.draw().requires_grad_()
    padding = torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    padding[1] = True
    assert module(x, padding)[1].abs().max() == 0
    assert module(x.masked_fill(padding[..., None], torch.nan), padding)[1].abs().max() == 0
    (gradient,) = torch.autograd.grad(module(x, padding).sum(), x)
    assert gradient.isfinite().all()


@every_module
def test_the_two_masks_say_the_same(case: Case) -> None:
    module, x = case.build(), case.draw()
    padding = torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    padding[:, 1] = True
    each = padding[:, None].expand(-1, TOKENS, -1)
    for same in (each, each[0]):
        close(module(x, attn_mask=same), module(x, key_padding_mask=padding))
    close(module(x, padding, torch.eye(TOKENS, dtype=torch.bool)), module(x, attn_mask=each | torch.eye(TOKENS).bool()))


@plain_modules
def test_a_causal_mask_makes_a_causal_module(case: Case) -> None:
    x = case.draw()
    later = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    module = replace(case, options={"is_causal": False}).build()
    close(module(x, attn_mask=later), module(x, is_causal=True))
    close(module(x, attn_mask=later, is_causal=True), case.build()(x))


@every_module
def test_causality_of_a_call_takes_the_place_of_the_modules(case: Case) -> None:
    module, x = case.build(), case.draw()
    padding = torch.arange(TOKENS).expand(BATCH, TOKENS) > 3
    for is_causal in (True, False) if module.reach is None else (True,):
        other = replace(case, options={**case.options, "is_causal": is_causal}).build()
        close(module(x, padding, is_causal=is_causal), other(x, padding))


@every_module
def test_masks_must_be_boolean(case: Case) -> None:
    module, x = case.build(), case.draw()
    with pytest.raises(ParameterError, match="key_padding_mask must be boolean"):
        module(x, key_padding_mask=torch.zeros(BATCH, TOKENS))
    with pytest.raises(ParameterError, match="attn_mask must be boolean"):
        module(x, attn_mask=torch.zeros(TOKENS, TOKENS))


@every_module
def test_weights_are_given_on_demand_and_are_those_of_the_output(case: Case) -> None:
    module, x = case.build(), case.draw()
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
    module, x = case.build(), case.draw()
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
    module, x = case.build(), case.draw()
    out = module(x * 1e200)
    attends = module(x).abs().amax(-1) > 0  # all rows but those without a tuple
    assert not out[attends].isfinite().all(-1).any()
    assert (out[~attends] == 0).all()
