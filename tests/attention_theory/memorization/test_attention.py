import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.memorization.attention import (
    capacity,
    features,
    matrix_form,
    memorises,
    predict,
    predict_literally,
    random_heads,
    random_readout,
    softmax_weights,
)
from attention_theory.memorization.examples import sample_examples


@settings(max_examples=15)
@given(
    count=st.integers(1, 6),
    heads=st.integers(1, 4),
    tokens=st.integers(1, 4),
    head_width=st.integers(1, 6),
    outputs=st.integers(1, 4),
    shared=st.booleans(),
    seed=st.integers(0, 99),
)
def test_all_forms_agree(
    count: int, heads: int, tokens: int, head_width: int, outputs: int, shared: bool, seed: int
) -> None:
    examples = sample_examples(count, tokens, 6, shared, seed=seed)
    model, readout = random_heads(heads, 6, head_width, seed), random_readout(heads, 6, 3, outputs, seed)
    batched = predict(model, readout, examples)
    literal = [
        predict_literally(model, readout, context, query)
        for context, query in zip(examples.context_of_each, examples.queries, strict=True)
    ]
    assert batched.shape == (count, outputs)
    assert torch.allclose(batched, torch.stack(literal), atol=1e-12)
    assert torch.allclose(batched, matrix_form(features(model, examples), readout), atol=1e-12)
    assert torch.allclose(softmax_weights(model, examples).sum(-1), torch.ones(()).double(), atol=1e-14)


def test_the_capacity_by_hand() -> None:
    assert [capacity(4, 4, 8), capacity(4, 8, 4), capacity(9, 1, 3), capacity(1, 1, 1)] == [13, 13, 1, 1]


def test_labels_are_met_up_to_the_rounding_that_is_allowed() -> None:
    labels = torch.zeros(2, 1, dtype=torch.float64)
    assert memorises(labels + 0.5, labels, within=0.5)
    assert not memorises(labels + 0.75, labels, within=0.5)
    assert not memorises(labels - 0.75, labels, within=0.5)
    assert memorises(labels + 1e-12, labels)
    assert not memorises(labels + 1e-9, labels)
