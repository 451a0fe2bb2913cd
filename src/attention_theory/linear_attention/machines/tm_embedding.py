"""A machine as columns of symbols (Eq. 59): what a prompt must say, before letters become unit vectors."""

from jaxtyping import Int
from torch import Tensor

from attention_theory.validation import FORMS, Form, require

#: Next state, letter written, move.
Transition = tuple[int, int, int]

#: A state, then for every letter the letter and its rule.
Column = tuple[int, list[tuple[int, Transition]]]


def machine_columns(table: Int[Tensor, "states letters 3"], form: Form = "correct") -> list[Column]:
    """One column a state: the state, then a letter and its rule for each letter of the alphabet.

    ``form="printed"`` has room for the two letters ``a_0`` and ``a_1``, and for no more.

    Raises:
        ParameterError: an unknown form.
    """
    require(form=(form, FORMS))
    letters = table.shape[1] if form == "correct" else min(2, table.shape[1])
    rules = table.tolist()
    return [(state, [(a, tuple(rules[state][a])) for a in range(letters)]) for state in range(len(table))]


def read_columns(columns: list[Column]) -> dict[tuple[int, int], Transition]:
    """The transition function that the columns hold, by state and letter."""
    return {(state, letter): rule for state, rules in columns for letter, rule in rules}
