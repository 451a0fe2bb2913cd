"""Programs for matrices in the exact interpreter of FLEQ, on all matrices: Newton's iteration and descent."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust, symbolic
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.symbolic import Terms
from attention_theory.looped_transformers._forms import Forms
from attention_theory.looped_transformers.fleq.language import FleqProgram, Instruction, interpret
from attention_theory.looped_transformers.programs.newton import newton_program, newton_step
from attention_theory.looped_transformers.programs.regression import descent, sgd_program
from attention_theory.validation import Form, require


def certify_newton_program(size: int, most: int = 12) -> Certificate:
    """Algorithm 9: two lines leave ``ε Aᵀ`` and Aᵀ, and a round makes ``X (2I - A X)`` of any X, for all A and ε.

    Args:
        size: d.
        most: the values of T for which rounds are counted: the counter is a whole number, and so are its sums.

    Raises:
        ParameterError: size or most below 1.
    """
    require(size=(size, 1, None), most=(most, 1, None))
    shapes: dict[str, int | Sequence[int]] = {"a": (size, size), "x": (size, size), "y": (size, size), "e": 1, "t": 1}

    def is_counted(batch: exhaust.Batch) -> Tensor:
        programs = [newton_program(torch.eye(size, dtype=torch.float64), rounds) for rounds in batch["T"].tolist()]
        updates = [interpret(one).executed.count(one.labels["again"] + 3) for one in programs]
        return torch.tensor(updates) == batch["T"] + 1

    def run(values: Counterexample) -> tuple[str, bool]:
        found, due = _round("printed", size, symbolic.at(values, **shapes))
        at = newton_program(torch.eye(size, dtype=torch.float64), 1).addresses["x"]
        ours, theirs = (memory[at : at + size].mT.tolist() for memory in (found, due))
        return f"a round makes {ours} of X and not {theirs}", ours != theirs

    given = symbolic.variables(**shapes)
    counted = exhaust.every({"T": most}, is_counted, "a program with the counter -T has T + 1 rounds")
    return certify(
        "The program starts from ε Aᵀ, and a round makes X (2I - A X) of X, adds 1 to the counter, and leaves all "
        "other cells as they are.",
        f"all real matrices A and X of side {size}, all ε; rounds are counted for all T below {most}",
        [*_ask_start(size, given), symbolic.equal(*_round("correct", size, given), "all cells after a round"), counted],
        Control.of("a round as in the paper", symbolic.equal(*_round("printed", size, given), "all cells"), run),
    )


def _ask_start(size: int, given: Mapping[str, Tensor]) -> list[Answer]:
    """The memory behind the lines before the loop."""
    program = newton_program(torch.eye(size, dtype=torch.float64), 1)
    a, scaled = given["a"], given["e"] * torch.eye(size, dtype=torch.float64)
    found = _execute(program, 0, program.labels["again"], {"a": a, "x": scaled})
    due = _filled(program, {"a": a.mT, "x": given["e"] * a.mT})
    return [symbolic.equal(found, due, "all cells before the loop")]


def _round(form: Form, size: int, given: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The memory after a round that begins with ``Aᵀ`` and any X, y and t, and what it must be."""
    program, one = newton_program(torch.eye(size, dtype=torch.float64), 1, form), torch.eye(size, dtype=torch.float64)
    a, x, t = given["a"], given["x"], given["t"]
    before = {"a": a.mT, "x": x, "y": given["y"], "t": t[None]}
    step = {"x": newton_step(a, x, one), "y": 2 * one - a @ x, "t": t[None] + 1.0}
    found = _execute(program, program.labels["again"], program.halt, before)
    return found, _filled(program, before | step)


def certify_descent_program(points: int, epochs: int, size: int = 2) -> Certificate:
    """Algorithm 13: the program of 18 instructions makes the weights of plain descent, for all data, start and rate.

    Args:
        points: of the data.
        epochs: passes over them.
        size: d.

    Raises:
        ParameterError: a number below 1.
    """
    require(points=(points, 1, None), epochs=(epochs, 1, None), size=(size, 1, None))
    shapes = {"w": (size,), "x": (points, size), "y": (points,), "e": (1,)}

    def run(values: Counterexample) -> tuple[str, bool]:
        ours, due = (
            weights.tolist() for weights in _weights({"lines 3-4": "printed"}, epochs, symbolic.at(values, **shapes))
        )
        return f"the weights are {ours} and not {due}", ours != due

    given, words = symbolic.variables(**shapes), "the weights of the program and of plain descent"
    return certify(
        "The program leaves the weights of plain descent.",
        f"{points} points, {epochs} passes, d = {size}; all real points, labels, rates and weights at the start",
        symbolic.equal(*_weights("correct", epochs, given), words),
        Control.of(
            "lines 3 and 4 as in the paper",
            symbolic.equal(*_weights({"lines 3-4": "printed"}, epochs, given), words),
            run,
        ),
    )


def _weights(form: Forms, epochs: int, given: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The weights in memory when the program halts, and those of descent."""
    w, x, y, (rate,) = given["w"], given["x"], given["y"], given["e"]
    empty = [torch.zeros(part.shape, dtype=torch.float64) for part in (w, x, y)]
    program = sgd_program(empty[0], empty[1], empty[2], 1.0, epochs, form)
    filled = {"w": w[:, None], "x0": x.mT, "y0": y[None], "eta": given["e"][None]}
    run = interpret(replace(program, memory=_filled(program, filled)))
    return program.variable(run.memory, "w")[:, 0], descent(w, x, y, rate, epochs)[-1]


def _filled(program: FleqProgram, values: Mapping[str, Tensor]) -> Tensor:
    """The memory at the start with these matrices in its variables."""
    memory = program.memory.clone()
    if any(isinstance(value, Terms) for value in values.values()):
        memory = Terms.of(memory)
    for name, matrix in values.items():
        rows, columns = matrix.shape
        start = program.addresses[name]
        memory[start : start + columns, :rows] = matrix.mT
    return memory


def _execute(program: FleqProgram, start: int, stop: int, values: Mapping[str, Tensor]) -> Tensor:
    """The memory after the instructions from ``start`` to before ``stop``, one after another."""
    memory = _filled(program, values)
    for instruction in program.code[start:stop]:
        assert isinstance(instruction, Instruction)
        memory = instruction.execute(memory)
    return memory
