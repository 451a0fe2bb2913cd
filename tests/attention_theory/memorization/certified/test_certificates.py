"""Every certificate of the room: proved, and its control failed as it says."""

from collections.abc import Callable

import pytest

from attention_theory.certificates import Certificate
from attention_theory.memorization.certified import averaging, layers, ranks, relu_network, sizes, vectors

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
}


@pytest.mark.parametrize("name", EVERY)
def test_it_is_settled(name: str) -> None:
    certify, observed = EVERY[name]
    certificate = certify()
    assert certificate.settled, certificate.control
    assert observed in certificate.control.observed
