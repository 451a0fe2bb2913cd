import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.linear_attention.experiments.automata import _PARTS, StringForm, _part_of, automata_of_parts
from attention_theory.randomness import generator


def test_other_tables_can_be_shown() -> None:
    form = StringForm(3, 2, 2)
    tables, words = form.random_automata(2, 0)
    strings = form.write(tables, words, shown=tables.roll(1, dims=0))
    honest = form.write(tables, words)
    assert torch.equal(strings[:, form.table :], honest[:, form.table :])
    assert torch.equal(strings[0, : form.table], honest[1, : form.table])


@settings(max_examples=20)
@given(states=st.integers(3, 5), letters=st.integers(2, 3), seed=st.integers(0, 99))
def test_automata_are_of_their_parts(states: int, letters: int, seed: int) -> None:
    form = StringForm(states, letters, 2)
    draws = generator(seed)
    kept = [automata_of_parts(parts, 50, form, draws, seed) for parts in ((0, 1), (2,), (3,))]
    assert all(tables.shape == (50, states, letters) and words.shape == (50, 2) for tables, words in kept)
    as_tuples = [{tuple(table.flatten().tolist()) for table in tables} for tables, _ in kept]
    assert as_tuples[0].isdisjoint(as_tuples[1] | as_tuples[2])
    assert as_tuples[1].isdisjoint(as_tuples[2])


def test_parts_are_about_equal_and_equal_tables_stay_together() -> None:
    tables, _ = StringForm(3, 3, 1).random_automata(4000, 0)
    parts = _part_of(tables, seed=5)
    assert torch.equal(parts, _part_of(tables, seed=5))
    assert torch.bincount(parts, minlength=_PARTS).tolist() == pytest.approx([1000] * _PARTS, abs=120)


def test_no_string_is_read_from_other_tokens() -> None:
    form = StringForm(2, 2, 3)
    string = form.write(*form.random_automata(1, 0))[0]
    with pytest.raises(ValueError, match="tokens"):
        form.read(string[:-1])
    string[0] = 0
    with pytest.raises(ValueError, match="triplet"):
        form.read(string)
