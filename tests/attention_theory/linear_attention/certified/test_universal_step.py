import random
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_theory.certificates.one_hot import OneHotRing
from attention_theory.linear_attention.certified.universal_step import (
    Inputs,
    Prompts,
    SymbolicLayer,
    ask_prompt,
    ask_step,
    certify_step,
    run_and_compare,
)
from attention_theory.linear_attention.machines.block_heads import dense
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.compact_heads import WORK
from attention_theory.linear_attention.model.autoregression import autoregress
from attention_theory.linear_attention.model.mhla import Heads, mhla

SMALL = CompactMachine(2, 2, word=1, steps=2)
#: A tape that is followed within the bounds of ``SMALL`` by no longer one than it can print.
LENGTHS = (2, 1)


def drawn(inputs: Inputs, draws: random.Random) -> dict[str, int]:
    """Values for all choices."""
    machine, cells = inputs.machine, inputs.cells
    sizes = {f"letter {cell}": machine.letters for cell in range(cells)} | {"head": 1 + cells * machine.states}
    for state, letter in inputs.rules:
        for part, size in (("state", machine.states), ("letter", machine.letters), ("move", 3)):
            sizes[f"rule {state} {letter} {part}"] = size
    return {name: draws.randrange(size) for name, size in sizes.items()}


def test_a_step_is_right_with_four_states_four_letters_and_eight_cells() -> None:
    assert ask_step(CompactMachine(4, 4, word=8, steps=1), cells=8).outcome == "proved"


@pytest.mark.exhaustive
@pytest.mark.parametrize("stays", [False, True])
def test_all_that_a_step_needs_is_certified_at_this_size(stays: bool) -> None:
    assert certify_step(CompactMachine(4, 4, word=8, steps=1, stays=stays)).settled


def test_polynomials_take_the_values_of_the_layer() -> None:
    """Prompt and tokens at random choices: the polynomials are those of ``embed`` and of the layer that is run."""
    machine, draws = CompactMachine(3, 3, word=3, steps=2), random.Random(0)
    inputs = Inputs(machine, 3, OneHotRing())
    prompt = inputs.prompt(inputs.situation)
    layer = SymbolicLayer(dense(machine.heads, machine.width), inputs.ring)
    for token in prompt:
        layer.remember(token)
    written = list(prompt)
    for _ in range(10):
        written.append(layer.following(written[-1]))
        layer.remember(written[-1])
    for _ in range(5):
        choices = drawn(inputs, draws)
        start = Prompts(machine).write(3, choices)
        for token, row in zip(written, machine.layer.run(start[None], 10)[0], strict=True):
            values = {place: inputs.ring.value(entry, choices) for place, entry in token.items()}
            assert {place: value for place, value in values.items() if value} == {
                place: int(row[place]) for place in row.nonzero().flatten().tolist()
            }


def test_the_definition_of_a_step_agrees_with_the_simulator() -> None:
    """At random choices, next to the layer that is run: both are right."""
    machine, draws = CompactMachine(3, 2, word=3, steps=2), random.Random(1)
    inputs = Inputs(machine, 3, OneHotRing())
    following, prompts = inputs.following(), Prompts(machine)
    for _ in range(4):
        choices = drawn(inputs, draws)
        assert run_and_compare(machine, 3, choices) == ("the right configurations of 2 steps", False)
        tokens = machine.layer.run(prompts.write(3, choices)[None], 10)[:, -4:]
        letters = [[inputs.ring.value(entry, choices) for entry in cell] for cell in following.letters]
        assert machine.rows.view(tokens, "letter")[0].tolist() == letters
        states = [[inputs.ring.value(entry, choices) for entry in cell] for cell in following.heads]
        assert machine.rows.view(tokens, "state")[0].tolist() == states


def reached(part: Tensor) -> list[list[int]]:
    """The weights of matrices of the heads, except those of the last cell, from which no step within bounds starts."""
    last = {SMALL.rows[name][-1] for name in ("cell", "at", "next")}
    return [place for place in part.nonzero().tolist() if not last & {*place[1:]}]


def is_noticed(heads: Heads) -> bool:
    return any(ask_step(SMALL, cells, heads).outcome != "proved" for cells in LENGTHS)


@pytest.mark.parametrize("matrices", ["values", "queries"])
def test_a_weight_that_is_wrong_in_its_last_bit_is_noticed(matrices: str) -> None:
    """Four random weights of each kind."""
    draws, weights = random.Random(2), reached(getattr(dense(SMALL.heads, SMALL.width), matrices))
    for place in draws.sample(weights, 4):
        changed = dense(SMALL.heads, SMALL.width)
        weight = getattr(changed, matrices)[tuple(place)]
        weight.copy_(torch.nextafter(weight, weight + 1))
        assert is_noticed(changed), place


def configurations(heads: Heads) -> Tensor:
    """Letters and states that the layer writes in a step of sixteen random machines on one cell."""
    draws, inputs = random.Random(0), Inputs(SMALL, 1, OneHotRing())
    prompts = torch.stack([Prompts(SMALL).write(1, drawn(inputs, draws)) for _ in range(16)]).double()
    tokens = autoregress(lambda seen: mhla(heads, seen), prompts, len(WORK) + 2)[:, -2:]
    return tokens[..., [*SMALL.rows["letter"], *SMALL.rows["state"]]]


@pytest.mark.parametrize("seeds", [4, pytest.param(400, marks=pytest.mark.exhaustive)])
def test_an_entry_that_is_off_by_1_is_noticed_or_harmless(seeds: int) -> None:
    """A random entry of Q or of V, a weight or a zero: with whole numbers this is the smallest step."""
    due, noticed = configurations(dense(SMALL.heads, SMALL.width)), 0
    for seed in range(seeds):
        changed, draws = dense(SMALL.heads, SMALL.width), random.Random(seed)
        matrices = draws.choice([changed.values, changed.queries])
        entries = draws.choice([matrices.ne(0), matrices.eq(0)]).nonzero().tolist()
        matrices[tuple(draws.choice(entries))] += draws.choice((-1, 1))
        if is_noticed(changed):
            noticed += 1
        else:
            assert torch.equal(configurations(changed), due), f"seed {seed}"
    assert noticed >= seeds // 4


class Forgetful(CompactMachine):
    """A machine whose prompt lacks the head where it reads letter 1 and its rule writes letter 1."""

    def embed(self, tables: Tensor, words: Tensor, places: Tensor, *rest: Any, **options: Any) -> Tensor:
        prompt = super().embed(tables, words, places, *rest, **options)
        starts = rest[1] if len(rest) > 1 else options.get("starts", torch.zeros_like(places))
        machine = torch.arange(len(words))
        here = (words[machine, places] == 1) & (tables[machine, starts, 1, 1] == 1)
        self.rows.view(prompt, "head")[here] = 0
        return prompt


def test_a_prompt_in_which_choices_meet_is_not_certified() -> None:
    assert ask_prompt(CompactMachine(2, 2, word=2, steps=2)).outcome == "proved"
    assert ask_prompt(Forgetful(2, 2, word=2, steps=2)).outcome == "refuted"


def test_an_entry_that_nothing_reads_must_be_small_too() -> None:
    heads = dense(SMALL.heads, SMALL.width)
    values = heads.values.clone()
    values[0, SMALL.rows["state"][0], SMALL.rows["#"][0]] = 200
    assert ask_step(SMALL, 1, Heads(heads.queries, values)).outcome == "refuted"
