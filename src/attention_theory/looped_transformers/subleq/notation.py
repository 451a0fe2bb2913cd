"""A SUBLEQ program written down as the paper writes one (Algorithm 6): ``Instr. 3: SUBLEQ(x, y, 4)``."""

from collections.abc import Mapping

from attention_theory.looped_transformers.subleq.language import SubleqProgram


def notation(source: SubleqProgram, names: Mapping[int, str] | None = None) -> str:
    """The instructions of a program, one a line, with the names of its cells; instructions are counted from 0.

    The source is Algorithms 1 and 6: ``SUBLEQ(a, b, c)`` is ``mem[b] -= mem[a]``, then c if the result is at most 0.

    Args:
        source: the program.
        names: the name of every cell; those that the program gives its cells unless given.
    """
    known = cell_names(source) if names is None else names
    width = len(str(source.end))
    return "\n".join(
        f"Instr. {place:>{width}}: SUBLEQ({known[a]}, {known[b]}, {c})" for place, (a, b, c) in enumerate(source.code)
    )


def cell_names(source: SubleqProgram) -> dict[int, str]:
    """The name of each memory cell: as the program has it, ``name[k]`` within a list, or its number."""
    names = {place: str(place) for place in range(len(source.memory))}
    for name, cells in source.blocks.items():
        for cell in cells:
            names[cell] = f"{name}[{cell - cells.start}]" if len(cells) > 1 else name
    return names
