import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.memorization.attention import random_heads, softmax_weights
from attention_theory.memorization.examples import sample_examples
from attention_theory.memorization.key_width import narrowed_heads


@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(2, 6), st.integers(1, 10), st.integers(0, 1_000))
def test_width_n_minus_1_is_as_good_as_any(heads: int, tokens: int, head_width: int, seed: int) -> None:
    examples = sample_examples(10, tokens, 9, law="uniform", seed=seed)
    wide = random_heads(heads, 9, head_width, seed + 1)
    narrow = narrowed_heads(wide, examples.contexts)
    assert narrow.keys.shape == (heads, 9, tokens - 1)
    assert torch.allclose(softmax_weights(wide, examples), softmax_weights(narrow, examples), atol=1e-9)


def test_a_narrowed_head_has_from_one_to_all_but_one_of_the_tokens_columns() -> None:
    examples = sample_examples(4, 3, 6, seed=0)
    heads = random_heads(2, 6, 6, 1)
    assert narrowed_heads(heads, examples.contexts, 1).keys.shape == (2, 6, 1)
    assert narrowed_heads(heads, examples.contexts, 2).keys.shape == (2, 6, 2)
