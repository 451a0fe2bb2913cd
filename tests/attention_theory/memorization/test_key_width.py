import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.memorization.attention import random_heads, softmax_weights
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.key_width import dimension_count, narrowed_heads


@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(2, 6), st.integers(1, 10), st.integers(0, 1_000))
def test_width_n_minus_1_is_as_good_as_any(heads: int, tokens: int, head_width: int, seed: int) -> None:
    examples = sample_examples(10, tokens, 9, law="uniform", seed=seed)
    wide = random_heads(heads, 9, head_width, seed + 1)
    narrow = narrowed_heads(wide, examples.contexts)
    assert narrow.keys.shape == (heads, 9, tokens - 1)
    assert torch.allclose(softmax_weights(wide, examples), softmax_weights(narrow, examples), atol=1e-9)


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
