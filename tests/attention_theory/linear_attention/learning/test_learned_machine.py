import pytest
import torch

from attention_theory.linear_attention.learning.learned_machine import learn_runs, learning_curve
from attention_theory.linear_attention.machines.automaton_executor import AutomatonExecutor
from attention_theory.linear_attention.machines.turing import random_inputs, random_tables
from attention_theory.linear_attention.machines.universal import UniversalMachine
from attention_theory.linear_attention.model.rounding import round_token


def test_a_universal_machine_is_learned_from_runs() -> None:
    universal = UniversalMachine(1, 2, 2, 1)
    runs = universal.run(universal.embed(random_tables(120, 1, 2, 0), *random_inputs(120, 2, 2, 1))).double()
    blocks = [universal.rows.indices(name) for name in universal.rows.blocks]
    few, many = (
        learn_runs(runs[:count], 3).execute(runs[90:], 3, lambda tokens: round_token(tokens, blocks))
        for count in (10, 90)
    )
    assert many.exact.all()
    assert torch.equal(many.tokens, runs[90:])
    assert few.mismatch > 0.5
    assert many.error < few.error
    assert few.bound == pytest.approx(4 * few.error * 8)


def test_a_run_is_right_exactly_where_no_output_on_the_true_history_is_missed() -> None:
    task = AutomatonExecutor(2, 2, 2)
    source = torch.Generator().manual_seed(0)
    tables, words = torch.randint(2, (30, 2, 2), generator=source), torch.randint(2, (30, 2), generator=source)
    runs = task.run(task.prompts(tables, words, torch.zeros(30, dtype=torch.int64)))
    done = learn_runs(runs[:6], 5).execute(runs[6:], 5, task.read)
    assert torch.equal(done.exact, ~done.missed.any(dim=1))
    assert done.missed.any()
    assert not (done.missed & done.determined).any()
    *_, outputs = learning_curve(runs[:9], runs[6:], 5, [3, 6])
    assert torch.equal((task.read(outputs) != runs[6:, 5:]).any(dim=-1), done.missed)
    assert (outputs - runs[6:, 5:]).square().sum(dim=-1).mean(dim=0).tolist() == pytest.approx(done.errors.tolist())
