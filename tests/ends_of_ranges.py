"""Both ends of the range of an argument: what lies at them is taken, and what lies beyond is refused by name."""

from collections.abc import Callable
from typing import Any

import pytest

from attention_theory.validation import ParameterError


def hold_ends(
    call: Callable[..., Any], given: dict[str, Any], argument: str, taken: list[Any], refused: list[Any]
) -> None:
    """Call with each value of ``argument`` beside what is ``given``; "runs=seeds" is refused by the second name."""
    name, _, said = argument.partition("=")
    for value in taken:
        call(**given | {name: value})
    for value in refused:
        with pytest.raises(ParameterError, match=rf"(?m)^(each of )?{said or name} must"):
            call(**given | {name: value})
