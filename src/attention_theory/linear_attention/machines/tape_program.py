"""One step of a Turing machine, cell by cell, as a program over tokens (Algorithms 6 and 7).

Each cell of the tape is written anew at every step from three cells of the tape before: its left neighbour, itself and
its right neighbour. A cell is a letter, and a state where the head is.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from jaxtyping import Int
from torch import Tensor

from attention_theory.linear_attention.machines.turing import LEFT, RIGHT
from attention_theory.validation import FORMS, Each, Form, require

#: Tokens of a block: the copies, the two lookups, and the cell that is returned.
_BLOCK = 4

#: What Algorithm 7 has wrong as printed, by name: two slips and a branch that is missing.
_BranchFault = Literal["both tests say L", "letter read from the table", "no branch for other cells"]
BRANCH_FAULTS: tuple[_BranchFault, ...] = get_args(_BranchFault)

#: What Algorithm 6 has wrong as printed, by name.
_CopyFault = Literal["copies read s0", "offsets count tokens"]
COPY_FAULTS: tuple[_CopyFault, ...] = get_args(_CopyFault)


@dataclass(frozen=True)
class Cell:
    """A cell of the tape; ``None`` is the paper's None: nothing written, or no head here."""

    letter: int | None = None
    state: int | None = None


def _new_cell(
    table: Int[Tensor, "states letters 3"],
    left: Cell | None,
    here: Cell,
    right: Cell | None,
    form: Form = "correct",
    faults: Collection[_BranchFault] = BRANCH_FAULTS,
) -> Cell:
    """Algorithm 7: what a cell holds after the step, from itself and its neighbours (``None`` beyond the window).

    ``form="printed"`` has what is printed, or of it the ``faults`` that are named:

    * *both tests say L*: left of the head, the second condition repeats ``L`` where ``R`` is meant;
    * *letter read from the table*: the rule is picked by ``s2.letter``. ``s2`` is the table's column and holds every
      letter, so every condition is met and the last letter's rule remains, whatever is under the head;
    * *no branch for other cells*: a cell that is not next to the head is never written.

    Raises:
        ParameterError: an unknown form or fault.
    """
    require(form=(form, FORMS), faults=(Each(faults), BRANCH_FAULTS))
    present = faults if form == "printed" else ()

    def rule(head: Cell) -> tuple[int, int, int]:
        last = table.shape[1] - 1
        letter = last if "letter read from the table" in present else head.letter
        next_state, written, move = table[head.state, letter].tolist()
        return next_state, written, move

    if right is not None and right.state is not None:  # branch 1: left of the head
        next_state, _, move = rule(right)
        if "both tests say L" in present:
            return Cell(here.letter, None) if move == LEFT else Cell()
        return Cell(here.letter, next_state if move == LEFT else None)
    if here.state is not None:  # branch 2: at the head
        next_state, written, move = rule(here)
        return Cell(written, None if move in (LEFT, RIGHT) else next_state)
    if left is not None and left.state is not None:  # branch 3: right of the head
        next_state, _, move = rule(left)
        return Cell(here.letter, next_state if move == RIGHT else None)
    return Cell() if "no branch for other cells" in present else here


def new_tape(
    table: Int[Tensor, "states letters 3"],
    tape: Sequence[Cell],
    form: Form = "correct",
    faults: Collection[_BranchFault] = BRANCH_FAULTS,
) -> list[Cell]:
    """Algorithm 7 at every cell of the window, in the form of :func:`_new_cell`."""
    return [
        _new_cell(
            table,
            tape[cell - 1] if cell > 0 else None,
            tape[cell],
            tape[cell + 1] if cell + 1 < len(tape) else None,
            form,
            faults,
        )
        for cell in range(len(tape))
    ]


def run_blocks(
    table: Int[Tensor, "states letters 3"],
    tape: Sequence[Cell],
    steps: int,
    form: Form = "correct",
    faults: Collection[_CopyFault] = COPY_FAULTS,
) -> list[list[Cell]]:
    """Algorithm 6: all tapes from step 0 on, written as tokens behind the prompt, one block of four a cell.

    Args:
        table: the transition function δ.
        tape: the cells of the prompt.
        steps: the number of steps.
        form: ``printed`` has the copies of Algorithm 6 as they stand; what they copy goes through the correct branches.
        faults: of what is printed, the faults to have. *copies read s0*: a block copies from the blocks one tape before
            what they had loaded, and not what they returned. *offsets count tokens*: so does the ``N`` in
            ``Token[-N]``, where a block has four.

    Raises:
        ParameterError: steps below 0, or an unknown form or fault.
    """
    require(form=(form, FORMS), faults=(Each(faults), COPY_FAULTS), steps=(steps, 0, None))
    present = faults if form == "printed" else ()
    window = len(tape)
    loaded, returned = list(tape), list(tape)  # by token; a token of the prompt is a block of its own
    tapes = [list(tape)]

    def copy(step: int, cell: int) -> Cell:
        source = loaded if "copies read s0" in present else returned
        if "offsets count tokens" in present:
            place = len(returned) - window + (cell - now)
            return source[place] if 0 <= place < len(source) else Cell()
        if step == 0:
            return tape[cell]
        start = window + _BLOCK * ((step - 1) * window + cell)
        return source[start] if source is loaded else source[start + _BLOCK - 1]

    for step in range(steps):
        for now in range(window):
            left = copy(step, now - 1) if now > 0 else None
            right = copy(step, now + 1) if now + 1 < window else None
            here = copy(step, now)
            loaded += [here] + [Cell()] * (_BLOCK - 1)
            written = Cell() if here.letter is None else _new_cell(table, left, here, right)
            returned += [Cell()] * (_BLOCK - 1) + [written]
        tapes.append(returned[-_BLOCK * window + _BLOCK - 1 :: _BLOCK])
    return tapes


def cells_of(letters: Int[Tensor, " window"], states: Int[Tensor, " window"], nowhere: int) -> list[Cell]:
    """The tape of a simulator as cells; ``nowhere`` is its number for a cell without the head."""
    return [
        Cell(letter, None if state == nowhere else state)
        for letter, state in zip(letters.tolist(), states.tolist(), strict=True)
    ]
