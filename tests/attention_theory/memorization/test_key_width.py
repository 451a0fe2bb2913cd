import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.memorization.attention import Heads, features, random_heads, softmax_weights
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.key_width import dimension_count, narrowed_heads, reachable_dimensions
from attention_theory.randomness import generator, normal


@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(2, 6), st.integers(1, 10), st.integers(0, 1_000))
def test_width_n_minus_1_is_as_good_as_any(heads: int, tokens: int, head_width: int, seed: int) -> None:
    examples = sample_examples(10, tokens, 9, law="uniform", seed=seed)
    wide = random_heads(heads, 9, head_width, seed + 1)
    narrow = narrowed_heads(wide, examples.contexts)
    assert narrow.keys.shape == (heads, 9, tokens - 1)
    assert torch.allclose(softmax_weights(wide, examples), softmax_weights(narrow, examples), atol=1e-9)


def test_derivative_against_finite_differences() -> None:
    """An independent count: the rank of the outputs' differences along every single weight."""
    examples = sample_examples(30, 3, 5, seed=0)
    draw = generator(0)
    start = random_heads(1, 5, 1, draw)
    readout = normal(5, seed=draw)
    point = torch.cat([2 * start.keys.flatten(), 2 * start.queries.flatten(), readout])

    def outputs(weights: torch.Tensor) -> torch.Tensor:
        return features(Heads(weights[:5].view(1, 5, 1), weights[5:10].view(1, 5, 1)), examples) @ weights[10:]

    step = 1e-5 * torch.eye(15, dtype=torch.float64)
    slopes = torch.stack([(outputs(point + h) - outputs(point - h)) / 2e-5 for h in step])
    singular = torch.linalg.svdvals(slopes)
    assert reachable_dimensions(examples, 1, 1, 0) == int((singular > 1e-7 * singular[0]).sum())


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("head_width", [1, 2, 3, 5])
def test_the_count_is_the_rank(shared: bool, head_width: int) -> None:
    examples = sample_examples(80, 3, 5, shared, "uniform", seed=0)
    assert reachable_dimensions(examples, 2, head_width) == dimension_count(2, 3, 5, head_width, shared)


def test_the_count_by_hand() -> None:
    """H matrices of a rank r, r (rows + d - r) numbers each, and a read-out of the features for each output."""
    assert dimension_count(1, 2, 3, 1, shared=True) == 1 * (1 + 3 - 1) + (1 + 1)
    assert dimension_count(2, 3, 5, 2, shared=True, outputs=3) == 2 * 2 * (2 + 5 - 2) + 3 * (2 * 2 + 1)
    assert dimension_count(2, 3, 5, 2, shared=False, outputs=3) == 2 * 2 * (5 + 5 - 2) + 3 * 2 * 5
    assert dimension_count(2, 4, 5, 9, shared=True) == dimension_count(2, 4, 5, 3, shared=True)


def test_a_narrowed_head_has_from_one_to_all_but_one_of_the_tokens_columns() -> None:
    examples = sample_examples(4, 3, 6, seed=0)
    heads = random_heads(2, 6, 6, 1)
    assert narrowed_heads(heads, examples.contexts, 1).keys.shape == (2, 6, 1)
    assert narrowed_heads(heads, examples.contexts, 2).keys.shape == (2, 6, 2)


def test_two_outputs_have_two_read_outs() -> None:
    examples = sample_examples(40, 3, 5, True, "uniform", seed=0)
    assert reachable_dimensions(examples, 2, 1, outputs=2) == dimension_count(2, 3, 5, 1, True, outputs=2)
