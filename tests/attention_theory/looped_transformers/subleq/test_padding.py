import torch

from attention_theory.looped_transformers.subleq.language import interpret, random_program
from attention_theory.looped_transformers.subleq.padding import padded


def test_a_padded_program_does_the_same_and_ends_in_the_new_last_instruction() -> None:
    for seed in range(50):
        source = random_program(3, 5, 6, seed)
        longer = padded(source, 9, 12)
        assert (len(longer.memory), len(longer.code)) == (9, 12)
        ours, theirs = interpret(longer, 6, 30), interpret(source, 6, 29)
        steps = len(theirs)
        assert torch.equal(ours.memories[:steps, :5], theirs.memories)
        if theirs.halted:
            assert ours.halted
            assert len(ours) - steps in (0, 1)
            assert ours.counters[-1] == 11


def test_its_own_size_leaves_a_program_as_it_is() -> None:
    source = random_program(3, 5, 6, 0)
    assert padded(source, 5, 6) == source
