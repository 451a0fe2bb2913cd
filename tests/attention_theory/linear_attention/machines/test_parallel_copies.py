import pytest
import torch

from attention_theory.linear_attention.machines.block_heads import dense
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.parallel_copies import (
    automaton_head,
    automaton_prompt,
    copies,
    idle_rows,
    in_copy,
)
from attention_theory.linear_attention.machines.recurrent_layer import RecurrentLayer
from attention_theory.linear_attention.machines.turing import random_inputs, random_tables
from attention_theory.linear_attention.model.autoregression import autoregress
from attention_theory.linear_attention.model.mhla import mhla
from attention_theory.validation import ParameterError


def test_the_automaton_runs_its_table() -> None:
    heads = dense(automaton_head(3), 6)
    prompt = automaton_prompt(torch.tensor([1, 2, 0]), 2)
    history = autoregress(lambda tokens: mhla(heads, tokens), prompt[None], 4)[0]
    assert history[3:, 3:].argmax(dim=1).tolist() == [2, 0, 1, 2, 0]


@pytest.mark.parametrize("active", [0, 3])
def test_the_active_copy_does_not_see_the_idle_ones(active: int) -> None:
    machine, steps = CompactMachine(2, 2, 1, 1), 8
    prompts = machine.embed(random_tables(5, 2, 2, 0), *random_inputs(5, 2, 1, 1)).long()
    alone = machine.layer.run(prompts, steps)
    layer = RecurrentLayer(copies(machine.heads, machine.width), 4 * machine.width)
    noise = torch.randint(-1, 2, (2, 3 * machine.width), generator=torch.Generator().manual_seed(0))
    for prompt, history in zip(prompts, alone, strict=True):
        together = layer.run(in_copy(prompt, active, *noise)[None], steps)[0]
        own = together[:, active * machine.width : (active + 1) * machine.width]
        assert torch.equal(own[1:], history)


def test_idle_rows_are_those_of_the_other_copies() -> None:
    assert idle_rows(2, 1, 3).tolist() == [0, 1, 4, 5]
    with pytest.raises(ParameterError, match="active"):
        idle_rows(2, 3, 3)
