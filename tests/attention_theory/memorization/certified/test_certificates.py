"""Every certificate of the room: proved, its control failed as it says, and code that is a little wrong is noticed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_theory.certificates import Certificate
from attention_theory.memorization.attention import Examples
from attention_theory.memorization.certified import averaging, layers, ranks, relu_network, single_head, sizes, vectors
from attention_theory.numerics import modular_rank

#: What was observed where the control failed, for those of whose control a number is known.
EVERY: dict[str, tuple[Callable[[], Certificate], str]] = {
    "mean added": (averaging.certify_mean_added, "have rank 3"),
    "two tokens": (lambda: averaging.certify_averaging(2), "rank 2 before the layer and 1 after it"),
    "four tokens": (lambda: averaging.certify_averaging(4), "rank 2 before the layer and 1 after it"),
    "eight tokens": (lambda: averaging.certify_averaging(8), "rank 2 before the layer and 1 after it"),
    "read-out": (lambda: layers.certify_readout(heads=3, width=4, outputs=2), "missed by"),
    "shifted labels": (lambda: layers.certify_skip_labels(heads=3, width=4, outputs=2), ""),
    "matrix form": (layers.certify_matrix_form, ""),
    "skip connection": (layers.certify_skip_layer, ""),
    "rank bound": (lambda: ranks.certify_rank_bound(heads=3, tokens=4), "rank 12, above 10"),
    "token sums": (lambda: ranks.certify_token_sums(heads=3, tokens=3, width=4), "rank 12, above 10"),
    "narrow": (lambda: ranks.certify_narrow_contexts(heads=3, tokens=2, width=4, count=12), "rank 12, above 8"),
    "general position": (lambda: ranks.certify_promise_in_general_position(width=30), ""),
    "fold": (lambda: relu_network.certify_fold(tokens=2, width=3), "differ by"),
    "as powerful": (relu_network.certify_as_powerful, ""),
    "parameters": (sizes.certify_parameter_count, "a layer with 5 weights, 4 by the paper's formula"),
    "more heads": (sizes.certify_more_heads, ""),
    "longer contexts": (sizes.certify_longer_contexts, ""),
    "key width": (lambda: sizes.certify_key_width(heads=2, width=8), ""),
    "Kruskal rank": (vectors.certify_kruskal_rank, ""),
    "position of every small set": (vectors.certify_general_position, ""),
    "block triangle": (vectors.certify_block_triangle, "rank 1, the blocks on the diagonal 2"),
    "small change": (vectors.certify_small_change, "rank 1, not 2"),
    "targets": (single_head.certify_targets, "off by 0."),
    "saturation": (single_head.certify_saturation, "distance 1 from one-hot"),
}


@pytest.mark.parametrize("name", EVERY)
def test_it_is_settled(name: str) -> None:
    certify, observed = EVERY[name]
    certificate = certify()
    assert certificate.settled, certificate.control
    assert observed in certificate.control.observed


def last_bit(values: Tensor, *place: int) -> Tensor:
    """The same with one entry moved up by its last bit."""
    moved = values.clone()
    moved[place] = torch.nextafter(moved[place], torch.tensor(99.0, dtype=values.dtype))
    return moved


def in_contexts(*place: int) -> Callable[..., Examples]:
    return lambda made, *_: replace(made, contexts=last_bit(made.contexts, *place))


def in_readout(part: str, *place: int) -> Callable[..., Any]:
    return lambda made, *_: replace(made, **{part: last_bit(getattr(made, part), *place)})


#: A certificate, the function that it is about as its module calls it, and what is wrong of what this makes.
WRONG: list[tuple[str, Any, str, Callable[..., Any]]] = [
    ("four tokens", averaging, "averaging_layer", in_contexts(0, 0, 0)),
    ("four tokens", averaging, "averaging_layer", in_contexts(0, -1, -1)),
    # Rows of W_D from d_out on read zeros, whatever they hold.
    ("read-out", layers, "solve_readout", in_readout("output", 1, 1)),
    ("read-out", layers, "solve_readout", in_readout("output", 4, 0)),
    ("shifted labels", layers, "solve_readout", in_readout("decode", 0, 0)),
    ("shifted labels", layers, "solve_readout", in_readout("decode", 1, 1)),
    ("matrix form", layers, "matrix_form", lambda made, *_: made + made[:1]),
    ("rank bound", ranks, "block_differences", lambda made, *_: last_bit(made, 0, 0)),
    ("rank bound", ranks, "block_differences", lambda made, *_: last_bit(made, 11, 1)),
    ("narrow", ranks, "narrow_contexts", in_contexts(5, 1, 3)),
    ("general position", ranks, "fresh_examples", lambda made, *_: made + 1),
    ("fold", relu_network, "fold_prefix", lambda made, *_: made | {"b1": last_bit(made["b1"], 0)}),
    ("as powerful", relu_network, "parameter_count", lambda made, *_: 4 * made),
    ("parameters", sizes, "parameter_count", lambda made, *_: made - 1),
    ("more heads", sizes, "dimension_count", lambda made, H, n, d, d_h, *_: made + H * d_h),
    ("key width", sizes, "dimension_count", lambda made, H, n, d, d_h, *_: made + H * d_h),
    ("longer contexts", sizes, "dimension_count", lambda made, H, n, *_: made + n),
    ("targets", single_head, "fit_targets", lambda made, *_: replace(made, keys=made.keys + 1e-12)),
    ("targets", single_head, "fit_targets", lambda made, *_: replace(made, queries=made.queries + 1e-12)),
    ("saturation", single_head, "sufficient_scales", lambda made, *_: made - 2**-40),
    ("Kruskal rank", vectors, "kruskal_rank", lambda made, rows: modular_rank(rows)),
    ("position of every small set", vectors, "is_in_general_position", lambda made, *_: True),
]


@pytest.mark.parametrize(("name", "module", "function", "wrong"), WRONG)
def test_what_is_a_little_wrong_is_noticed(
    name: str, module: Any, function: str, wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = getattr(module, function)
    monkeypatch.setattr(module, function, lambda *args, **named: wrong(exact(*args, **named), *args))
    assert EVERY[name][0]().outcome != "proved"


def test_the_coefficients_at_units_are_those_of_the_averaging_layer() -> None:
    examples = Examples(torch.randn(1, 4, 7).double(), torch.randn(1, 7).double())
    after = averaging.averaging_layer(examples)
    read = averaging._layer_at_units(4) @ torch.cat([examples.contexts[0], examples.queries])
    assert torch.allclose(read, torch.cat([after.contexts[0], after.queries]), atol=1e-14)
