import pytest
import torch

from attention_theory.looped_transformers.subleq.language import interpret
from attention_theory.looped_transformers.subleq.minsky import (
    FIRST_REGISTER,
    Add,
    Sub,
    interpret_minsky,
    random_minsky,
    translate,
)
from attention_theory.validation import Form


def right_and_halting(form: Form = "correct", short: bool = False, machines: int = 150) -> tuple[int, int]:
    right = halting = 0
    for seed in range(machines):
        code, registers = random_minsky(3, 2 + seed % 4, seed)
        ours = interpret_minsky(code, registers, 100)
        if ours.halted:
            source = translate(code, registers, form, short)
            run = interpret(source, 16, 1000)
            memory = run.memories[-1] if len(run) else torch.tensor(source.memory)
            halting += 1
            right += run.halted and tuple(memory[FIRST_REGISTER:].tolist()) == ours.registers
    return right, halting


def test_a_machine_by_hand() -> None:
    move: list[Add | Sub] = [Sub(0, 3), Add(1), Sub(2, 0)]  # register 2 is 0: empty register 0 into register 1
    run = interpret_minsky(move, [3, 1, 0], 100)
    assert (run.registers, run.steps, run.halted) == ((0, 4, 0), 10, True)


@pytest.mark.parametrize("short", [False, True])
def test_translations_agree(short: bool) -> None:
    right, halting = right_and_halting(short=short)
    assert right == halting > 100


def test_the_printed_order_fails_on_most() -> None:
    right, halting = right_and_halting("printed")
    assert right < 0.2 * halting


def test_lengths() -> None:
    code: list[Add | Sub] = [Add(0), Sub(0, 0)]
    assert len(translate(code, [0]).code) == 1 + 5 + 1
    assert len(translate(code, [0], short=True).code) == 1 + 2 + 1


def test_random_machines_have_two_additions_for_every_three_subtractions() -> None:
    code, registers = random_minsky(500, 10_000, seed=0)
    assert sum(isinstance(one, Add) for one in code) == pytest.approx(4000, abs=5 * 49)  # five standard deviations
    assert {one.register for one in code} == set(range(500))
    targets = {one.target for one in code if isinstance(one, Sub)}
    assert min(targets) < 50
    assert 9_950 < max(targets) <= 10_000
    assert set(registers) == set(range(5))
