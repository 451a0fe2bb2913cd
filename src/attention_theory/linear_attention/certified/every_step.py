"""One step of the compact universal machine by a second engine: every input is run in the machine's own layer."""

import torch
from jaxtyping import Bool
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust
from attention_theory.certificates.exhaust import Batch
from attention_theory.linear_attention.certified.universal_step import SHIFTS, run_and_compare
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.compact_heads import RULE, WORK
from attention_theory.linear_attention.machines.turing import MOVES
from attention_theory.validation import require


def certify_every_step(machine: CompactMachine, cells: int) -> Certificate:
    """Lemma 2.2: a step from every transition table, word, cell and state, for small bounds.

    Args:
        machine: with few states and letters: 2 and 2 are 82,944 inputs with a word of one letter.
        cells: of the word.

    Raises:
        ParameterError: cells that no word of the machine has.
    """
    require(cells=(cells, 1, machine.word))
    careless = CompactMachine(1, 2, 2, 2, take_back=False, stays=machine.stays)
    control = Control.of(
        "pair and departure stay in the memory (take_back=False; 1 state, 2 letters, 2 cells)",
        ask_every_step(careless, 2),
        lambda choices: run_and_compare(careless, 2, {**choices, "head": choices["head"] + 1}, steps=1),
    )
    return certify(
        "After one step the last tokens are the next configuration, for every table, word, cell and state.",
        f"{machine.states} states, {machine.letters} letters, words of {cells} letters",
        ask_every_step(machine, cells),
        control,
    )


def ask_every_step(machine: CompactMachine, cells: int) -> Answer:
    """Ask whether all steps are right."""
    sizes = {f"letter {cell}": machine.letters for cell in range(cells)} | {"head": cells * machine.states}
    for state in range(machine.states):
        for letter in range(machine.letters):
            limits = zip(RULE, (machine.states, machine.letters, len(MOVES)), strict=True)
            sizes |= {f"rule {state} {letter} {part}": size for part, size in limits}
    words = "the layer's last tokens after a step are the next configuration"
    return exhaust.every(sizes, lambda batch: _is_right(machine, cells, batch), words)


def _is_right(machine: CompactMachine, cells: int, batch: Batch) -> Bool[Tensor, " members"]:
    shape = (-1, machine.states, machine.letters, len(RULE))
    tables = torch.stack([values for name, values in batch.items() if name.startswith("rule")], dim=1).view(shape)
    tape = torch.stack([batch[f"letter {cell}"] for cell in range(cells)], dim=1)
    place, state = batch["head"] // machine.states, batch["head"] % machine.states
    prompt = machine.embed(tables, tape, place, starts=state)
    seen = machine.read(machine.layer.run(prompt, len(WORK) + cells + 1)[:, -cells - 1 :])

    member = torch.arange(len(tape))
    following, written, move = tables[member, state, tape[member, place]].unbind(dim=1)
    tape = torch.nn.functional.pad(tape, (0, 1))
    tape[member, place] = written
    place = place + torch.tensor([SHIFTS[number] for number in range(len(MOVES))])[move]
    place = place.clamp(min=0) if machine.stays else place
    here = torch.arange(cells + 1) == place[:, None]
    states = torch.where(here, following[:, None], machine.states)
    return (seen.letters == tape).all(dim=1) & (seen.states == states).all(dim=1)
