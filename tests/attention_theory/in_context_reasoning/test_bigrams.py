"""Counts of bigrams against the gather form, which looks at every position."""

from attention_theory.in_context_reasoning._bigrams import Bigrams
from attention_theory.in_context_reasoning.cross_entropy import cross_entropy
from attention_theory.in_context_reasoning.model import Architecture, Weights, forward
from attention_theory.in_context_reasoning.task import Task, sample_sentences
from attention_theory.randomness import generator, normal

SIZE = 14


def test_layers_and_slopes_are_those_of_the_gather_form() -> None:
    task = Task(SIZE, 2, 3, 20, noisy=True)
    sentences = sample_sentences(task, 9, 0)
    counts = Bigrams.count(sentences.tokens, SIZE)
    draw = generator(1)
    shapes = ((3, SIZE, 2 * SIZE), (3, 2 * SIZE, 2 * SIZE), (3, SIZE, 2 * SIZE))
    weights = Weights(*(normal(*shape, seed=draw) for shape in shapes))
    done = forward(sentences.tokens, weights, Architecture())
    found = counts.layers(weights)
    attended = counts.attend(weights)
    assert (attended - done.attended).abs().max() < 1e-11
    assert (found.attention - done.attention).abs().max() < 1e-10
    assert (found.feed_forward - done.feed_forward).abs().max() < 1e-10
    assert (counts.logits(weights, attended) - done.logits).abs().max() < 1e-10
    error = cross_entropy(0.01 * done.logits, sentences.output).error
    for all_layers in (True, False):
        expected = Architecture().gradients(sentences.tokens, weights, done, error, all_layers)
        ours = counts.gradients(weights, attended, error, all_layers)
        for one, other in zip(ours.matrices, expected.matrices, strict=True):
            assert (one - other).abs().max() < 1e-10
