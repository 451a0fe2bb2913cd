import pytest

from attention_theory.linear_attention.machines.tm_embedding import machine_columns, read_columns
from attention_theory.linear_attention.machines.turing import random_tables


@pytest.mark.parametrize("letters", [1, 2, 3])
def test_columns_hold_the_whole_table(letters: int) -> None:
    table = random_tables(1, 3, letters, seed=0)[0]
    rules = read_columns(machine_columns(table))
    assert len(rules) == 3 * letters
    assert all(list(rule) == table[pair].tolist() for pair, rule in rules.items())


def test_the_printed_columns_lose_the_third_letter() -> None:
    assert len(read_columns(machine_columns(random_tables(1, 3, 3, seed=0)[0], form="printed"))) == 6
