from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from attention_theory.looped_transformers.certified import minsky
from attention_theory.looped_transformers.certified.minsky import ask_instruction
from attention_theory.looped_transformers.subleq.language import SubleqProgram


@pytest.mark.parametrize("operand", [0, 1, 2])
def test_a_wrong_part_of_the_test_for_zero_is_noticed(operand: int, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = minsky.translate

    def wrong(code: Sequence[Any], registers: Sequence[int], *options: Any) -> SubleqProgram:
        made = exact(code, registers, *options)
        a, b, c = (part + (place == operand) for place, part in enumerate(made.code[4]))  # jumps if the register is 0
        return replace(made, code=(*made.code[:4], (a, b, c), *made.code[5:]))

    monkeypatch.setattr(minsky, "translate", wrong)
    assert ask_instruction(1).outcome == "refuted"
