"""Compile a Python function, and run it on the transformer that its program is for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any

from attention_theory.looped_transformers.compiler.code import Code
from attention_theory.looped_transformers.compiler.optimise import optimise as shorten
from attention_theory.looped_transformers.compiler.source import read
from attention_theory.looped_transformers.compiler.subleq import Lowered, lower
from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.looped_transformers.subleq.machine import Depth
from attention_theory.looped_transformers.subleq.runner import SubleqRunner
from attention_theory.looped_transformers.subleq.transformer import SubleqTransformer
from attention_theory.validation import refuse_unless, require

Argument = int | list[int]
#: The program counter, and a function that gives the memory by names.
_State = tuple[int, Callable[[], dict[str, list[int]]]]

#: The exceptions that a program can end with, as in Python.
_ERRORS: dict[str, type[Exception]] = {
    "AssertionError": AssertionError,
    "IndexError": IndexError,
    "ZeroDivisionError": ZeroDivisionError,
}


class NotEnded(RuntimeError):
    """A program was stopped because it did not end in time."""


def compile(
    source: str | Callable[..., Any],
    example: Sequence[int | Sequence[int]] | None = None,
    bits: int = 8,
    num_layers: Depth = 4,
    optimise: bool = True,
) -> "CompiledProgram":
    """Compile a function, or the text of a program, for a SUBLEQ transformer.

    The module :mod:`.compiler.source` says which subset of Python. Integers have N bits: what they overflow wraps
    around, and all else is as in Python.

    >>> import attention_theory as at
    >>> def gcd(a, b):
    ...     while b: a, b = b, a % b
    ...     return a
    >>> at.compile(gcd).run(48, 36)
    12

    Args:
        source: a function, or a text whose last function is the program; a text without functions is itself one. A
            last line of a text that calls the function gives its arguments.
        example: arguments; needed to say which of a function's parameters are lists, and how long.
        bits: N, from 4 to 62.
        num_layers: of the transformer: 10, 6 or 4.
        optimise: make the program shorter. Without it, every statement is there as it was written.

    Raises:
        CompileError: what is outside the subset, with its line.
        ParameterError: an argument out of its range.
    """
    require(bits=(bits, 4, 62), num_layers=(num_layers, (4, 6, 10)))
    code = read(source, bits, example)
    code = shorten(code, bits) if optimise else code
    return CompiledProgram(code, lower(code, bits), bits, num_layers)


@dataclass(frozen=True)
class CompiledProgram:
    """A program, and the transformer that runs it.

    Attributes:
        code: in the intermediate form.
        lowered: as SUBLEQ.
        bits: of an integer.
        num_layers: of the transformer.
    """

    code: Code
    lowered: Lowered
    bits: int
    num_layers: Depth

    @property
    def program(self) -> SubleqProgram:
        """The program of the machine."""
        return self.lowered.program

    @property
    def listing(self) -> str:
        """The program in the assembler's language."""
        return self.lowered.text

    @property
    def source_map(self) -> tuple[int, ...]:
        """For each instruction of the machine its line in the source; 0 for none."""
        return self.lowered.lines

    @property
    def cells(self) -> Mapping[str, range]:
        """The memory cells of each variable of the source, by its name there."""
        blocks = self.program.blocks
        return {name: blocks[cell] for cell, name in self.code.variables.items() if cell in blocks}

    @cached_property
    def transformer(self) -> SubleqTransformer:
        """The frozen transformer, with room for the program."""
        return SubleqTransformer(self.program, self.bits, self.num_layers)

    def loaded(self, *inputs: Argument) -> SubleqProgram:
        """The program with its arguments in their cells.

        Raises:
            ParameterError: not as many arguments as there are, a number for a list, a list of another length, or a
                number that does not fit.
        """
        names = self.code.inputs
        refuse_unless(len(inputs) == len(names), f"inputs must be {len(names)} arguments, got {len(inputs)}")
        half = 1 << (self.bits - 1)
        for name, value in zip(names, inputs, strict=True):
            shown, length = self.code.variables.get(name, name), len(self.code.blocks.get(name, ()))
            given = list(value) if isinstance(value, Sequence) else [value]
            refuse_unless(
                isinstance(value, Sequence) == bool(length) and len(given) == max(length, 1),
                f"inputs must have {f'a list of {length} integers' if length else 'an integer'} for {shown!r}, "
                f"got {value!r}",
            )
            for number in given:
                refuse_unless(
                    isinstance(number, int) and -half <= number < half,
                    f"inputs must be integers from {-half} to {half - 1}, got {number!r} for {shown!r}",
                )
        return self.program.with_inputs(dict(zip(names, inputs, strict=True)))

    def run(self, *inputs: Argument, steps: int = 100_000, literal: bool = False) -> Any:
        """Run the program on its transformer, and give what the function returns.

        A list that the function changes is changed, as in Python. A program without a function gives its variables by
        name.

        Args:
            inputs: the arguments; those of the example unless given.
            steps: passes through the transformer, at most.
            literal: compute every layer in full. Otherwise what the structure of the input cannot change is left out,
                which takes some hundred times less.

        Raises:
            AssertionError, IndexError, ZeroDivisionError: where Python raises them, with the line.
            NotEnded: the program is not done after so many passes.
            ParameterError: arguments that do not fit, or steps below 1.
        """
        return self._ended(inputs, self._passes(inputs, literal), steps)[0]

    def interpret(self, *inputs: Argument, steps: int = 1_000_000) -> Any:
        """Run the program by the rule of its language, without a transformer; as :meth:`run` otherwise."""
        return self._ended(inputs, self._steps(inputs), steps)[0]

    def steps(self, *inputs: Argument, steps: int = 1_000_000) -> int:
        """How many instructions a run executes: one for each pass through the transformer."""
        given = [list(value) if isinstance(value, list) else value for value in inputs]
        return self._ended(given, self._steps(given), steps)[1]

    def _ended(self, inputs: Sequence[Argument], run: Iterator[_State], steps: int) -> tuple[Any, int]:
        """What a run gives, and after how many steps."""
        require(steps=(steps, 1, None))
        for taken, (counter, memory) in enumerate(islice(run, steps + 1)):
            if counter == self.program.end:
                named = memory()
                for name, value in zip(self.code.inputs, inputs, strict=False):
                    if isinstance(value, list):
                        value[:] = named[name]
                return self._answer(named), taken
        raise NotEnded(f"the program did not end within {steps} passes")

    def _given(self, inputs: Sequence[Argument]) -> SubleqProgram:
        return self.loaded(*inputs) if inputs else self.program

    def _named(self, memory: Sequence[int]) -> dict[str, list[int]]:
        return {name: list(memory[cells.start : cells.stop]) for name, cells in self.program.blocks.items()}

    def _passes(self, inputs: Sequence[Argument], literal: bool) -> Iterator[_State]:
        """The counter, and what gives the memory, before each pass."""
        program, transformer = self._given(inputs), self.transformer
        machine = transformer.machine
        if literal:
            state = transformer.load(program)
            while True:
                memory = machine.memory(state, program).tolist()
                yield int(machine.counter(state, program)), partial(self._named, memory)
                state = transformer(state)
        runner = SubleqRunner(machine, [program], transformer.inverse_temperature)
        while True:
            yield int(runner.counters()), lambda: self._named(runner.memories()[0].tolist())
            runner.cycle()

    def _steps(self, inputs: Sequence[Argument]) -> Iterator[_State]:
        program = self._given(inputs)
        memory, counter, half = list(program.memory), 0, 1 << (self.bits - 1)
        while True:
            yield counter, partial(self._named, memory)
            a, b, c = program.code[counter]
            memory[b] = (memory[b] - memory[a] + half) % (2 * half) - half
            counter = c if memory[b] <= 0 else counter + 1

    def _answer(self, memory: Mapping[str, list[int]]) -> Any:
        if number := memory.get("error", [0])[0]:
            line, error = self.lowered.errors[number - 1]
            raise _ERRORS[error](f"line {line}")
        values = {name: memory[name] if name in self.code.blocks else memory[name][0] for name in memory}
        if self.code.result is not None:
            return values[self.code.result]
        if self.code.inputs or not self.code.variables:
            return None
        return {shown: values[cell] for cell, shown in self.code.variables.items() if cell in values}
