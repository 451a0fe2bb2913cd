"""Programs of different lengths brought to one size, so that one set of weights runs them all (Abstract, Section 1)."""

from dataclasses import replace

from attention_theory.looped_transformers.fleq.language import FleqProgram, Instruction, PointerMove
from attention_theory.validation import require


def padded(program: FleqProgram, cells: int, instructions: int) -> FleqProgram:
    """The same program with empty cells behind its memory, and idle instructions before its halt.

    The weights of the FLEQ machine depend on a program through these two numbers and ``d`` alone. What jumped to the
    halt jumps to the new one; what ran into it goes there from the first idle instruction, a cycle later.

    Args:
        program: at most of the wanted size.
        cells: memory columns.
        instructions: instruction columns, the halt included.

    Raises:
        ParameterError: a program that has more cells or instructions.
    """
    require(cells=(cells, len(program.memory), None), instructions=(instructions, len(program.code), None))
    memory = program.memory.new_zeros(cells, program.size)
    memory[: len(program.memory)] = program.memory
    *body, halt = (_led_to(instruction, program.halt, instructions - 1) for instruction in program.code)
    code = (*body, *[halt] * (instructions - len(body)))
    labels = {name: instructions - 1 if place == program.halt else place for name, place in program.labels.items()}
    return FleqProgram(code, memory, program.addresses, labels)


def _led_to(instruction: Instruction | PointerMove, halt: int, new_halt: int) -> Instruction | PointerMove:
    """The instruction with its jump to the new halt where it went to the old one."""
    if isinstance(instruction, Instruction) and instruction.target == halt:
        return replace(instruction, target=new_halt)
    return instruction
