"""SUBLEQ programs of different lengths brought to one size, so that one set of weights runs them all."""

from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.validation import require


def padded(program: SubleqProgram, cells: int, instructions: int) -> SubleqProgram:
    """The same program with zeros behind its memory, and further last instructions behind its last.

    What jumped to the last instruction jumps to the new one; what ran into it is there a step later.

    Args:
        program: at most of the wanted size.
        cells: of memory, the reserved two included.
        instructions: the last one included.

    Raises:
        ParameterError: a program that has more cells or instructions.
    """
    require(cells=(cells, len(program.memory), None), instructions=(instructions, len(program.code), None))
    end = instructions - 1
    body = [(a, b, end if c == program.end else c) for a, b, c in program.code[:-1]]
    code = (*body, *[(0, 1, end)] * (instructions - len(body)))
    memory = (*program.memory, *[0] * (cells - len(program.memory)))
    labels = {name: end if place == program.end else place for name, place in program.labels.items()}
    return SubleqProgram(memory, code, program.cells, labels)
