import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import functional_call, grad, vmap

import attention_theory as at
from attention_theory.memorization.attention import KeyQueryHeads, Readout, predict_literally
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.memorizing_attention import MemorizingAttention
from attention_theory.randomness import normal
from modules import close, copies, in_onnx


def layer(dtype: torch.dtype = torch.float64, **options: Any) -> MemorizingAttention:
    torch.manual_seed(0)
    return MemorizingAttention(8, 3, 2, head_dim=5, value_dim=4, dtype=dtype, **options)


def inputs(examples: int = 6, tokens: int = 4, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    return normal(examples, tokens, 8, seed=1, dtype=dtype), normal(examples, 8, seed=2, dtype=dtype)


def test_it_is_the_layer_of_the_paper() -> None:
    module, (contexts, queries) = layer(), inputs()
    heads, readout = KeyQueryHeads(module.keys, module.queries), Readout(module.values, module.output, module.decode)
    wanted = [predict_literally(heads, readout, *one) for one in zip(contexts, queries, strict=True)]
    close(module(contexts, queries), torch.stack(wanted))


def test_batch_dimensions_lead_and_a_context_can_be_shared() -> None:
    module, (contexts, queries) = layer(), inputs()
    out = module(contexts, queries)
    close(module(contexts[0], queries[0]), out[0])
    close(module(contexts.unflatten(0, (2, 3)), queries.unflatten(0, (2, 3))), out.unflatten(0, (2, 3)))
    close(module(contexts[0], queries), module(contexts[:1].expand(6, -1, -1), queries))
    assert module(contexts[:0], queries[:0]).shape == (0, 2)


@pytest.mark.parametrize("filler", [0.0, 7.0, torch.nan, torch.inf])
def test_what_is_masked_counts_for_nothing(filler: float) -> None:
    module, (contexts, queries) = layer(), inputs()
    padding = torch.zeros(6, 4, dtype=torch.bool)
    padding[1, :2] = padding[2, 3:] = padding[3] = True
    filled, queries = contexts.masked_fill(padding[..., None], filler), queries.requires_grad_()
    out, weights = module(filled, queries, padding, need_weights=True)
    assert weights.shape == (6, 3, 4)
    close(weights.sum(-1), (~padding.all(-1)).double()[:, None].expand(6, 3))
    assert weights.masked_select(padding[:, None]).abs().max() == 0
    close(module(filled, queries, padding), out)
    close(out[1], module(contexts[1, 2:], queries[1]))
    close(out[2], module(contexts[2, :3], queries[2]))
    assert out[3].abs().max() == 0
    assert torch.autograd.grad(out.sum(), queries)[0].isfinite().all()


def test_what_is_not_a_number_stays_visible_in_its_example() -> None:
    module, (contexts, queries) = layer(), inputs()
    whole = module(contexts, queries)
    contexts[2, 1] = torch.nan
    out = module(contexts, queries)
    assert out[2].isnan().all()
    close(out[[0, 1, 3, 4, 5]], whole[[0, 1, 3, 4, 5]])


def test_copies_types_devices_and_transforms(tmp_path: Path) -> None:
    module, (contexts, queries) = layer(), inputs()
    out = module(contexts, queries)
    other = MemorizingAttention(8, 3, 2, head_dim=5, value_dim=4, dtype=torch.float64)
    for same in copies(module, other, tmp_path):
        assert torch.equal(same(contexts, queries), out)
    close(copy.deepcopy(module).float()(contexts.float(), queries.float()).double(), out, atol=1e-5)
    assert layer(device="meta")(contexts.to("meta"), queries.to("meta")).shape == out.shape
    assert copy.deepcopy(module).half()(contexts.half(), queries.half()).dtype == torch.float16
    close(vmap(module)(contexts, queries), out)
    for weight in other.parameters():
        weight.data.fill_(1.0)
    torch.manual_seed(0)
    other.reset_parameters()
    close(other.state_dict(), module.state_dict())
    weights = {name: value.detach() for name, value in module.named_parameters()}
    gradients = grad(lambda given: functional_call(module, given, (contexts, queries)).square().sum())(weights)
    assert all(value.abs().max() > 0 for value in gradients.values())
    assert repr(module) == "MemorizingAttention(8, 3, 2, head_dim=5, value_dim=4)"


def test_it_exports_with_any_number_of_examples_and_tokens() -> None:
    module, given = layer(), inputs()
    sizes = ({0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}, {0: torch.export.Dim.DYNAMIC})
    exported = torch.export.export(module, given, dynamic_shapes=sizes).module()
    close(exported(*inputs(3, 7)), module(*inputs(3, 7)))


@pytest.mark.slow
def test_it_compiles_as_one_graph_for_every_length() -> None:
    """In a fresh process, where no shapes are checked: a compiler cannot look into a checked dataclass."""
    code = """
import torch
from attention_theory.nn import MemorizingAttention
layer = MemorizingAttention(8, 3, 2)
compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
for examples, tokens in ((6, 4), (3, 7)):
    inputs = torch.randn(examples, tokens, 8), torch.randn(examples, 8)
    padding = torch.arange(tokens).expand(examples, tokens) > 2
    torch.testing.assert_close(compiled(*inputs), layer(*inputs))
    torch.testing.assert_close(compiled(*inputs, padding), layer(*inputs, padding))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 4), st.integers(2, 5), st.booleans(), st.integers(0, 2**31))
def test_as_many_labels_as_theorem_1_promises_are_memorised(heads: int, tokens: int, shared: bool, seed: int) -> None:
    count = at.capacity(heads, tokens, tokens)
    data, labels = sample_examples(count, tokens, 8, shared, seed=seed), normal(count, 3, seed=seed)
    module = at.memorize(data.contexts, data.queries, labels, heads)
    close(module(data.contexts, data.queries), labels, atol=1e-8)


def test_weights_have_the_type_of_the_examples() -> None:
    (contexts, queries), labels = inputs(10), normal(10, 2, seed=3)
    assert at.memorize(contexts.float(), queries.float(), labels, 3).keys.dtype == torch.float32


def test_first_and_second_derivatives() -> None:
    module, (contexts, queries) = layer(), inputs(1, 3)
    given = (contexts.requires_grad_(), queries.requires_grad_())
    assert torch.autograd.gradcheck(module, given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(module, given)


def test_autocast_gives_the_same() -> None:
    module, given = layer(torch.float32), inputs(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = module(*given)
    close(out.float(), module(*given), atol=64 * torch.finfo(torch.bfloat16).eps)


@pytest.mark.slow
def test_it_runs_in_onnx_with_any_number_of_examples_and_tokens() -> None:
    module, given = layer(torch.float32), inputs(dtype=torch.float32)
    other, sizes = inputs(2, 7, torch.float32), ({0: "examples", 1: "tokens"}, {0: "examples"})
    close(in_onnx(module, given, sizes, other), module(*other), atol=1e-5)
