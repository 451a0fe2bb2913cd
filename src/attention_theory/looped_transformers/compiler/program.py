"""Compile a Python function, and run it on the transformer that its program is for."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, Literal, get_args

import torch

from attention_theory.looped_transformers.blocks._integers import integer_blocks, integer_function
from attention_theory.looped_transformers.compiler import fleq, subleq
from attention_theory.looped_transformers.compiler.code import Code
from attention_theory.looped_transformers.compiler.optimise import optimise as shorten
from attention_theory.looped_transformers.compiler.source import read
from attention_theory.looped_transformers.compiler.writer import Lowered
from attention_theory.looped_transformers.fleq.assembler import with_inputs
from attention_theory.looped_transformers.fleq.language import FleqProgram, PointerMove, moved
from attention_theory.looped_transformers.fleq.transformer import FleqTransformer
from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.looped_transformers.subleq.machine import Depth
from attention_theory.looped_transformers.subleq.runner import SubleqRunner
from attention_theory.looped_transformers.subleq.transformer import SubleqTransformer
from attention_theory.validation import refuse_unless, require

Argument = int | list[int]
Target = Literal["subleq", "fleq"]
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
    target: Target = "subleq",
) -> "CompiledProgram":
    """Compile a function, or the text of a program, for a frozen transformer.

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
        bits: N, from 4 to 62; for ``fleq`` to 20.
        num_layers: of the SUBLEQ transformer: 10, 6 or 4. That of FLEQ has 9 and those of its deepest block, N + 6.
        optimise: make the program shorter. Without it, every statement is there as it was written.
        target: ``subleq``, a machine that subtracts, or ``fleq``, one that has a function block for each operator and
            pointers into lists: far fewer passes, each through more layers.

    Raises:
        CompileError: what is outside the subset, with its line.
        ParameterError: an argument out of its range.
    """
    require(bits=(bits, 4, 20 if target == "fleq" else 62), num_layers=(num_layers, (4, 6, 10)))
    require(target=(target, get_args(Target)))
    layers_fit = target == "subleq" or num_layers == 4
    refuse_unless(layers_fit, f"num_layers must be left out for {target}, whose blocks say how many, got {num_layers}")
    code = read(source, bits, example)
    code = shorten(code, bits) if optimise else code
    if target == "fleq":
        return FleqCompiled(code, fleq.lower(code, bits), bits)
    return SubleqCompiled(code, subleq.lower(code, bits), bits, num_layers)


@dataclass(frozen=True)
class CompiledProgram(ABC):
    """A program, and the transformer that runs it.

    Attributes:
        code: in the intermediate form.
        lowered: in the machine's language.
        bits: of an integer.
    """

    code: Code
    lowered: Lowered[Any]
    bits: int

    @property
    def program(self) -> Any:
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
        blocks = self._blocks
        return {name: blocks[cell] for cell, name in self.code.variables.items() if cell in blocks}

    @property
    @abstractmethod
    def transformer(self) -> Any:
        """The frozen transformer, with room for the program."""

    @property
    @abstractmethod
    def memory(self) -> list[int]:
        """What the cells hold at the start."""

    @property
    @abstractmethod
    def _blocks(self) -> Mapping[str, range]:
        """The memory cells of each name of the listing."""

    @property
    @abstractmethod
    def _end(self) -> int:
        """The number of the instruction that halts."""

    @abstractmethod
    def _with_inputs(self, inputs: Mapping[str, Argument]) -> Any:
        """The program with other values in named cells."""

    @abstractmethod
    def _passes(self, program: Any, literal: bool) -> Iterator[_State]:
        """Counter and memory before each pass through the transformer."""

    @abstractmethod
    def _steps(self, program: Any) -> Iterator[_State]:
        """Counter and memory before each step of the language."""

    def loaded(self, *inputs: Argument) -> Any:
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
        return self._with_inputs(dict(zip(names, inputs, strict=True)))

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
        return self._ended(inputs, self._passes(self._given(inputs), literal), steps)[0]

    def interpret(self, *inputs: Argument, steps: int = 1_000_000) -> Any:
        """Run the program by the rule of its language, without a transformer; as :meth:`run` otherwise."""
        return self._ended(inputs, self._steps(self._given(inputs)), steps)[0]

    def steps(self, *inputs: Argument, steps: int = 1_000_000) -> int:
        """How many instructions a run executes: one for each pass through the transformer."""
        given = [list(value) if isinstance(value, list) else value for value in inputs]
        return self._ended(given, self._steps(self._given(given)), steps)[1]

    def _ended(self, inputs: Sequence[Argument], run: Iterator[_State], steps: int) -> tuple[Any, int]:
        """What a run gives, and after how many steps."""
        require(steps=(steps, 1, None))
        for taken, (counter, memory) in enumerate(islice(run, steps + 1)):
            if counter == self._end:
                named = memory()
                for name, value in zip(self.code.inputs, inputs, strict=False):
                    if isinstance(value, list):
                        value[:] = named[name]
                return self._answer(named), taken
        raise NotEnded(f"the program did not end within {steps} passes")

    def _given(self, inputs: Sequence[Argument]) -> Any:
        return self.loaded(*inputs) if inputs else self.program

    def _named(self, memory: Sequence[int]) -> dict[str, list[int]]:
        return {name: list(memory[cells.start : cells.stop]) for name, cells in self._blocks.items()}

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


@dataclass(frozen=True)
class SubleqCompiled(CompiledProgram):
    """A program of SUBLEQ, and its transformer of so many layers."""

    lowered: Lowered[SubleqProgram]
    num_layers: Depth

    @cached_property
    def transformer(self) -> SubleqTransformer:
        return SubleqTransformer(self.program, self.bits, self.num_layers)

    @property
    def memory(self) -> list[int]:
        return list(self.lowered.program.memory)

    @property
    def _blocks(self) -> Mapping[str, range]:
        return self.lowered.program.blocks

    @property
    def _end(self) -> int:
        return self.lowered.program.end

    def _with_inputs(self, inputs: Mapping[str, Argument]) -> SubleqProgram:
        return self.lowered.program.with_inputs(inputs)

    def _passes(self, program: SubleqProgram, literal: bool) -> Iterator[_State]:
        transformer = self.transformer
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

    def _steps(self, program: SubleqProgram) -> Iterator[_State]:
        memory, counter, half = list(program.memory), 0, 1 << (self.bits - 1)
        while True:
            yield counter, partial(self._named, memory)
            a, b, c = program.code[counter]
            memory[b] = (memory[b] - memory[a] + half) % (2 * half) - half
            counter = c if memory[b] <= 0 else counter + 1


@dataclass(frozen=True)
class FleqCompiled(CompiledProgram):
    """A program of FLEQ. Its transformer has the same blocks and weights for all programs of a size."""

    lowered: Lowered[FleqProgram]

    @cached_property
    def transformer(self) -> FleqTransformer:
        gate = 2.0 ** (self.bits + 2)  # above every number that the machine moves
        return FleqTransformer(self.program, blocks=integer_blocks(self.bits), gate=gate, pointers=True)

    @property
    def memory(self) -> list[int]:
        return self.lowered.program.memory[:, 0].long().tolist()

    @property
    def _blocks(self) -> Mapping[str, range]:
        lengths = {name: len(values) for name, values in self.code.blocks.items()}
        starts = self.lowered.program.addresses
        return {name: range(start, start + lengths.get(name, 1)) for name, start in starts.items()}

    @property
    def _end(self) -> int:
        return self.lowered.program.halt

    def _with_inputs(self, inputs: Mapping[str, Argument]) -> FleqProgram:
        values = {name: torch.tensor(one, dtype=torch.float64).reshape(1, -1) for name, one in inputs.items()}
        return with_inputs(self.lowered.program, values)

    def _passes(self, program: FleqProgram, literal: bool) -> Iterator[_State]:
        transformer = self.transformer
        state, layout = transformer.load(program), transformer.layout
        cycle = transformer if literal else transformer.machine.fast_cycle()
        while True:
            numbers = layout.memory(state)[:, 0].round().long().tolist()
            yield layout.counter(state), partial(self._named, numbers)
            state = cycle(state)

    def _steps(self, program: FleqProgram) -> Iterator[_State]:
        functions = {name: integer_function(name, self.bits) for name in program.functions}
        code, memory, counter = list(program.code), program.memory[:, 0].long().tolist(), 0
        while True:
            yield counter, partial(self._named, memory)
            one = code[counter]
            counter += 1
            if isinstance(one, PointerMove):
                code[one.instruction] = moved(code[one.instruction], one)
            else:
                memory[one.c] = functions[one.function](memory[one.a], memory[one.b])
                counter = one.target if memory[one.flag] <= 0 else counter
