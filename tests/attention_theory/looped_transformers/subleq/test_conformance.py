import pytest

from attention_theory.looped_transformers.subleq.conformance import conformance, random_batches
from attention_theory.looped_transformers.subleq.language import random_program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine


@pytest.mark.parametrize("depth", [10, 6, 4])
def test_programs_at_the_limits_on_all_layers(depth: int) -> None:
    """Extreme integers, jumps to themselves, writes to reserved cells."""
    for machine, programs in random_batches(3, 60, depth, depth, columns=(8, 16), wild=True):  # type: ignore[arg-type]
        found = conformance(machine, programs, 15, by="sparse")
        assert found.wrong == 0
        assert found.steps > 300
        assert 0 < found.halted.sum() < 60
        assert conformance(machine, programs, 15).wrong == 0


def test_a_broken_machine_is_found_out() -> None:
    programs = [random_program(4, 6, 6, seed) for seed in range(10)]
    for form in ("write", "flag", "constants"):
        assert conformance(SubleqMachine(4, 6, form={form: "printed"}), programs, 10, by="sparse").wrong > 5
    assert conformance(SubleqMachine(4, 6, form={"flag": "printed"}), programs, 10, by="layers").wrong > 5
    assert conformance(SubleqMachine(4, 6), programs, 10, inverse_temperature=1.0, by="sparse").wrong > 5
