import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_theory.linear_attention.automata import StringForm, random_automata, read_string, write_strings
from attention_theory.validation import ParameterError


@settings(deadline=None, max_examples=30)
@given(states=st.integers(1, 4), letters=st.integers(1, 4), word=st.integers(1, 5), seed=st.integers(0, 99))
def test_strings_say_what_the_automata_do(states: int, letters: int, word: int, seed: int) -> None:
    form = StringForm(states, letters, word)
    tables, words = random_automata(3, form, seed)
    strings = write_strings(tables, words, form)
    assert strings.shape == (3, 5 * states * letters + word + 2 + 5 * word)
    assert strings.max() < form.vocabulary
    for string, table, letters_read in zip(strings, tables.tolist(), words.tolist(), strict=True):
        shown, read, history = read_string(string, form)
        assert read == letters_read
        assert shown == {(s, w): table[s][w] for s in range(states) for w in range(letters)}
        state = 0
        for letter, (before, by, after) in zip(read, history, strict=True):
            assert (before, by, after) == (state, letter, table[state][letter])
            state = after
        assert [int(string[form.prompt + place]) for place in form.state_places] == [one[2] for one in history]


def test_other_tables_can_be_shown() -> None:
    form = StringForm(3, 2, 2)
    tables, words = random_automata(2, form, 0)
    strings = write_strings(tables, words, form, shown=tables.roll(1, dims=0))
    honest = write_strings(tables, words, form)
    assert torch.equal(strings[:, form.table :], honest[:, form.table :])
    assert torch.equal(strings[0, : form.table], honest[1, : form.table])


def test_bad_input_is_refused() -> None:
    form = StringForm(2, 2, 3)
    tables, words = random_automata(1, form, 0)
    with pytest.raises(ParameterError, match="word"):
        write_strings(tables, words[:, :2], form)
    with pytest.raises(ParameterError, match="letters"):
        StringForm(2, 0, 3)
    string = write_strings(tables, words, form)[0]
    with pytest.raises(ValueError, match="tokens"):
        read_string(string[:-1], form)
    string[0] = 0
    with pytest.raises(ValueError, match="triplet"):
        read_string(string, form)
