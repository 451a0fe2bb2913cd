"""The rules of the compiler: each gives what Python gives modulo 2^N, for all pairs of operands."""

from collections.abc import Callable
from typing import get_args

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust
from attention_theory.certificates.certificate import Counterexample
from attention_theory.looped_transformers.blocks._integers import integer_blocks
from attention_theory.looped_transformers.blocks.base import run_block
from attention_theory.looped_transformers.compiler import code as ir
from attention_theory.looped_transformers.compiler import fleq, subleq
from attention_theory.looped_transformers.compiler.code import OPERATORS, RELATIONS, Code, Operator, Relation, wrap
from attention_theory.looped_transformers.compiler.program import Target
from attention_theory.looped_transformers.fleq.language import Instruction
from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.validation import refuse_unless, require

#: What the code of a program leaves in the cell d, for many values of a and b.
_Run = Callable[[Code, Tensor, Tensor, int], Tensor]


def certify_rules(bits: int = 6, target: Target = "subleq") -> Certificate:
    """Every operator and every comparison of two cells, in the language of a machine, is Python's modulo ``2^bits``.

    The programs that are run are those that the compiler writes. A statement of FLEQ is run through the layers of its
    function block, softmax included.

    Raises:
        ParameterError: bits outside 4 to 8, or another target.
    """
    require(bits=(bits, 4, 8), target=(target, get_args(Target)))
    half, run_of = 2 ** (bits - 1), _subleq if target == "subleq" else _fleq
    sizes = {"a": 2**bits, "b": 2**bits}

    def plain(batch: exhaust.Batch) -> Tensor:
        a, b = batch["a"] - half, batch["b"] - half
        return _result("+", a, b, bits, run_of) == a + b

    def run(values: Counterexample) -> tuple[str, bool]:
        a, b = (values[name] - half for name in "ab")
        result = int(_result("+", torch.tensor([a]), torch.tensor([b]), bits, run_of))
        return f"{a} + {b} gives {result}", result != a + b

    return certify(
        f"The {target.upper()} code that the compiler writes for + - * // % and for < <= == != ends, and leaves what "
        "Python gives, modulo 2^N in two's complement.",
        f"N = {bits}, all pairs of operands; divisors other than 0",
        [_answer(sign, sizes, bits, run_of) for sign in (*OPERATORS, *RELATIONS)],
        Control.of("sums do not wrap around", exhaust.every(sizes, plain, "the code for + gives a + b"), run),
    )


def _answer(sign: Operator | Relation, sizes: dict[str, int], bits: int, run_of: _Run) -> Answer:
    half = 2 ** (bits - 1)

    def right(batch: exhaust.Batch) -> Tensor:
        a, b = batch["a"] - half, batch["b"] - half
        wanted = [_python(sign, int(x), int(y), bits) for x, y in zip(a, b, strict=True)]
        return (_result(sign, a, b, bits, run_of) == torch.tensor(wanted)) | ((b == 0) & (sign in ("//", "%")))

    return exhaust.every(sizes, right, f"the code for {sign} gives what Python gives")


def _python(sign: Operator | Relation, a: int, b: int, bits: int) -> int:
    if sign in RELATIONS:
        return int(RELATIONS[sign](a, b))
    return 0 if b == 0 and sign in ("//", "%") else wrap(OPERATORS[sign](a, b), bits)  # type: ignore[index]


def _result(
    sign: Operator | Relation, a: Int[Tensor, " n"], b: Int[Tensor, " n"], bits: int, run_of: _Run
) -> Int[Tensor, " n"]:
    """The value that the compiled code leaves in its target; a relation leaves 1 or 0."""
    compared: list[ir.Instruction] = [
        ir.Copy("d", 1, 1),
        ir.Branch("a", sign, "b", "end", 1),  # type: ignore[arg-type]
        ir.Copy("d", 0, 1),
        ir.Label("end", 1),
    ]
    computed: list[ir.Instruction] = [ir.Compute("d", "a", sign, "b", 1)]  # type: ignore[arg-type]
    body = compared if sign in RELATIONS else computed
    if sign in ("//", "%"):
        body = [ir.Branch("b", "!=", 0, "fine", 1), ir.Stop(None, 1), ir.Label("fine", 1), *body]
    code = Code((*body, ir.Stop(None, 0)), {"a": 0, "b": 0, "d": 0}, {}, ("a", "b"), "d")
    return run_of(code, a, b, bits)


def _subleq(code: Code, a: Int[Tensor, " n"], b: Int[Tensor, " n"], bits: int) -> Int[Tensor, " n"]:
    program = subleq.lower(code, bits).program
    memory = torch.tensor(program.memory).repeat(len(a), 1)
    memory[:, program.cells["a"]], memory[:, program.cells["b"]] = a, b
    return run_all(program, memory, bits)[:, program.cells["d"]]


def _fleq(code: Code, a: Int[Tensor, " n"], b: Int[Tensor, " n"], bits: int) -> Int[Tensor, " n"]:
    """Run a program without pointers: every statement on all runs that have come to it, until all have ended."""
    program, blocks = fleq.lower(code, bits).program, {block.name: block for block in integer_blocks(bits)}
    memory = program.memory[:, 0].repeat(len(a), 1)
    memory[:, program.addresses["a"]], memory[:, program.addresses["b"]] = a.double(), b.double()
    counter = torch.zeros(len(a), dtype=torch.long)
    while bool((counter < program.halt).any()):
        place = int(counter.min())
        one, here = program.code[place], (counter == place).nonzero().flatten()
        assert isinstance(one, Instruction)
        operands = memory.new_zeros(2, len(here), program.size, program.size)
        operands[:, :, 0, 0] = memory[here][:, [one.a, one.b]].mT
        memory[here, one.c] = run_block(blocks[one.function], *operands).result[:, 0, 0]
        counter[here] = torch.where(memory[here, one.flag] <= 0, one.target, place + 1)
    return memory[:, program.addresses["d"]].long()


def run_all(
    program: SubleqProgram, memory: Int[Tensor, "runs cells"], bits: int, steps: int = 5000
) -> Int[Tensor, "runs cells"]:
    """Run a program from many memories at once, to its end.

    Args:
        program: its own memory is not used.
        memory: at the start, one row for each run.
        bits: N.
        steps: at most.

    Raises:
        ParameterError: a run that has not ended by then.
    """
    code, half = torch.tensor(program.code, device=memory.device), 2 ** (bits - 1)
    every = torch.arange(len(memory), device=memory.device)
    memory, counter = memory.clone(), torch.zeros_like(every)
    for _ in range(steps):
        if bool((counter == program.end).all()):
            return memory
        a, b, c = code[counter].unbind(1)
        result = (memory[every, b] - memory[every, a] + half) % (2 * half) - half
        memory[every, b] = result
        counter = torch.where(result <= 0, c, counter + 1)
    refuse_unless(bool((counter == program.end).all()), f"steps must suffice for all runs to end, got {steps}")
    return memory
