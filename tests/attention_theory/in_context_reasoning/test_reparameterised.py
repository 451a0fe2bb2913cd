"""The constructions of Lemmas 3.1 and 4.1, entry by entry, and their refusals."""

import torch

from attention_theory.in_context_reasoning.embedding import embedding
from attention_theory.in_context_reasoning.reparameterised import reparameterised
from attention_theory.in_context_reasoning.task import Task


def test_noisy_weights_on_axes() -> None:
    task = Task(8, 2, 2, 8, noisy=True)
    weights = reparameterised(task, embedding(8, 16), torch.tensor([3.0], dtype=torch.float64), gamma=0.5)
    query_key, feed_forward = torch.zeros(2, 16, 16, dtype=torch.float64)
    query_key[0, 8], query_key[0, 7] = 3.0, -3.0
    feed_forward[7, 0], feed_forward[7, 8] = 0.5, 1.0
    assert torch.equal(weights.query_key, query_key)
    assert torch.equal(weights.feed_forward, feed_forward)
