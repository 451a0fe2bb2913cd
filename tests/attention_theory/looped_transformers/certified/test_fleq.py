from collections.abc import Callable

import pytest

from attention_theory.certificates import Certificate
from attention_theory.looped_transformers.certified.fleq_blocks import ask_blocks, certify_blocks
from attention_theory.looped_transformers.certified.fleq_cycle import (
    ask_rows_of_blocks,
    ask_work_is_cleared,
    certify_fleq_cycle,
)
from attention_theory.looped_transformers.certified.fleq_layers import layer_of, small_machine
from attention_theory.looped_transformers.certified.fleq_operands import certify_pointers, certify_routes
from attention_theory.looped_transformers.certified.fleq_results import certify_branch, certify_write
from attention_theory.looped_transformers.certified.pointer_moves import certify_pointer_moves
from attention_theory.looped_transformers.fleq.machine import FleqMachine

STEPS: dict[str, Callable[[FleqMachine], Certificate]] = {
    "1": lambda machine: certify_pointers(machine, small_machine({"first mask": "printed"})),
    "3": certify_routes,
    "6": lambda machine: certify_write(machine, small_machine({"write sign": "printed"})),
    "7": certify_branch,
    "moves": certify_pointer_moves,
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_right_for_all_that_it_may_find(step: str) -> None:
    assert STEPS[step](small_machine(pointers=step == "moves")).settled


def test_the_blocks_compute_products_sums_and_differences() -> None:
    assert certify_blocks(small_machine()).settled


@pytest.mark.parametrize(("step", "head", "matrix"), [("4.1", 0, "key"), ("4.1", 2, "value"), ("4.2", 0, "value")])
def test_a_weight_of_a_block_that_is_doubled_is_noticed(step: str, head: int, matrix: str) -> None:
    machine = small_machine()
    getattr(layer_of(machine, step).heads[head], matrix)[:] *= 2
    assert any(answer.outcome != "proved" for answer in ask_blocks(machine, 8.0))


def test_a_whole_cycle_leaves_exact_pointers_whatever_the_blocks_return() -> None:
    assert certify_fleq_cycle(small_machine()).settled


def test_a_block_that_writes_where_it_must_not_is_noticed() -> None:
    machine = small_machine()
    layer_of(machine, "4.1").w2[machine.layout.rows["counter"][0], 0] = 1.0
    assert ask_rows_of_blocks(machine).outcome == "refuted"


def test_a_block_that_leaves_its_work_behind_is_noticed() -> None:
    machine = small_machine()
    weights = layer_of(machine, "4.2").w2[machine.layout.rows["mul moved"][0]]
    weights[weights.nonzero()[0]] *= 2
    assert ask_work_is_cleared(machine).outcome == "refuted"
