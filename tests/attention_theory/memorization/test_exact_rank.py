import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.memorization.attention import Examples, KeyQueryHeads, features
from attention_theory.memorization.exact_rank import (
    BASE,
    _derivative,
    _rank_bound,
    _ranks_of_blocks,
    exact_features,
    exact_ranks,
    exact_self_attention,
    reachable_dimensions,
)
from attention_theory.memorization.examples import integer_vectors, sample_examples
from attention_theory.memorization.key_width import dimension_count
from attention_theory.numerics import PRIME, modular_rank, numerical_rank
from attention_theory.randomness import generator
from attention_theory.validation import ParameterError


def small(shared: bool, seed: int = 3) -> tuple[torch.Tensor, ...]:
    """Whole numbers so small that no softmax weight is 0 in float64: H = 2, n = 3, d = 4, d_h = 2."""
    draw = generator(seed)
    contexts = integer_vectors(3 if shared else 30, 4, draw, 1)
    maps = integer_vectors(16, 2, draw, 1).view(2, 2, 4, 2)
    return contexts if shared else contexts.view(10, 3, 4), integer_vectors(10, 4, draw, 1), maps[0], maps[1]


@pytest.mark.parametrize("shared", [True, False])
def test_features_are_those_of_the_layer_with_keys_times_ln_7(shared: bool) -> None:
    """The fractions in Python's own whole numbers: as real numbers the layer's features, modulo the prime ours."""
    contexts, queries, keys, query_maps = small(shared)
    ours = exact_features(contexts, queries, keys, query_maps)
    heads = KeyQueryHeads(keys.double() * math.log(BASE), query_maps.double())
    layer = features(heads, Examples(contexts.double(), queries.double()))
    for t in range(10):
        tokens = (contexts if shared else contexts[t]).tolist()
        for h in range(2):
            logits = [int(torch.tensor(x) @ keys[h] @ query_maps[h].T @ queries[t]) for x in tokens]
            total = sum(Fraction(BASE) ** logit for logit in logits)
            for j in range(4):
                entry = sum(Fraction(BASE) ** logit * x[j] for logit, x in zip(logits, tokens, strict=True)) / total
                assert float(entry) == pytest.approx(layer[t, 4 * h + j].item(), abs=1e-9)
                assert entry.numerator * pow(entry.denominator, -1, PRIME) % PRIME == ours[t, 4 * h + j]


@pytest.mark.parametrize(("H", "n", "d", "k"), [(3, 4, 6, 2), (4, 3, 5, 5), (2, 5, 4, 3), (3, 1, 4, 2), (2, 2, 2, 1)])
@pytest.mark.parametrize("shared", [True, False])
def test_ranks_meet_their_bound_for_every_number_of_heads(H: int, n: int, d: int, k: int, shared: bool) -> None:
    assert exact_ranks(H, n, d, k, shared, 5) == [_rank_bound(h, n, d, shared) for h in range(1, H + 1)]


def test_a_duplicate_token_costs_one_for_each_head() -> None:
    draw = generator(1)
    contexts, queries = integer_vectors(4, 6, draw), integer_vectors(20, 6, draw)
    maps = integer_vectors(36, 6, draw, 99).view(2, 3, 6, 6)
    contexts[3] = contexts[0]
    assert _ranks_of_blocks(exact_features(contexts, queries, maps[0], maps[1]), 6) == [3, 5, 7]


@settings(max_examples=30)
@given(
    rows=st.lists(st.lists(st.integers(0, 1), min_size=6, max_size=6), min_size=1, max_size=7),
    width=st.sampled_from([1, 2, 3, 6]),
)
def test_block_ranks_of_sparse_matrices(rows: list[list[int]], width: int) -> None:
    """Where most entries are 0, rows have to be exchanged and columns passed over."""
    matrix = torch.tensor(rows)
    expected = [modular_rank(matrix[:, :columns]) for columns in range(width, 7, width)]
    assert _ranks_of_blocks(matrix, width) == expected
    assert expected[-1] == int(numerical_rank(matrix.double()))


@pytest.mark.parametrize("shared", [True, False])
def test_derivative_is_that_of_the_layer_by_automatic_differentiation(shared: bool) -> None:
    """Where no rounding matters, the rank modulo the prime is that of the derivative in float64."""
    contexts, queries, keys, query_maps = small(shared)
    readout = integer_vectors(8, 2, generator(9), 3)
    examples = Examples(contexts.double(), queries.double())

    def outputs(keys: torch.Tensor, query_maps: torch.Tensor, readout: torch.Tensor) -> torch.Tensor:
        return (features(KeyQueryHeads(math.log(BASE) * keys, query_maps), examples) @ readout).flatten()

    point = (keys.double(), query_maps.double(), readout.double())
    parts = torch.func.jacrev(outputs, argnums=(0, 1, 2))(*point)
    layer = torch.cat([part.flatten(1) for part in parts], dim=1)
    ours = _derivative(contexts, queries, keys, query_maps, readout.view(2, 4, 2))
    assert ours.shape == layer.shape
    for columns in (slice(0, 16), slice(16, 32), slice(32, None), slice(None)):
        assert modular_rank(ours[:, columns]) == int(numerical_rank(layer[:, columns]))
    assert ((ours == 0) == (layer.abs() < 1e-12)).all()


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("head_width", [1, 2, 3, 5])
@pytest.mark.parametrize("outputs", [1, 2])
def test_labels_within_reach_are_as_many_as_are_counted(shared: bool, head_width: int, outputs: int) -> None:
    examples = sample_examples(80, 3, 5, shared, "integer", seed=0)
    counted = dimension_count(2, 3, 5, head_width, shared, outputs)
    assert reachable_dimensions(examples, 2, head_width, outputs=outputs) == counted


def test_labels_within_reach_that_float64_does_not_see() -> None:
    """Four heads with keys of width 1: in float64 the smallest of the 69 singular values are lost in rounding."""
    examples = sample_examples(240, 6, 8, True, "integer", seed=0)
    assert reachable_dimensions(examples, 4, 1, seed=3) == 69


def test_labels_within_reach_are_counted_for_whole_numbers_only() -> None:
    with pytest.raises(ParameterError, match="examples must hold whole numbers"):
        reachable_dimensions(sample_examples(8, 2, 3), 1, 1)


def test_a_random_layer_with_a_skip_connection_is_the_layer_token_by_token() -> None:
    """Equations 1 to 5 for one example in Python's fractions, taken modulo the prime."""
    contexts = integer_vectors(6, 4, generator(2), 2).view(2, 3, 4)
    after = exact_self_attention(contexts, 2, 1, seed=4)
    source = generator(4)
    maps = integer_vectors(16, 1, source, 9_999).view(2, 2, 4, 1)
    values = integer_vectors(8, 4, source).view(2, 4, 4)
    tokens = contexts[1]
    output = [Fraction(int(x)) for x in tokens[2]]
    for keys, queries, value in zip(maps[0], maps[1], values, strict=True):
        logits = (tokens @ keys @ queries.T @ tokens[2]).tolist()
        powers = [Fraction(pow(BASE, logit % (PRIME - 1), PRIME)) for logit in logits]
        z = [sum(p * int(x) for p, x in zip(powers, column, strict=True)) / sum(powers) for column in tokens.T]
        for place, column in enumerate(value.T.tolist()):
            output[place] += sum(part * number for part, number in zip(z, column, strict=True))
    assert [x.numerator * pow(x.denominator, -1, PRIME) % PRIME for x in output] == after[1, 2].tolist()
