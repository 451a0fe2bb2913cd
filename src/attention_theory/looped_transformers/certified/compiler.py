"""The rules of the compiler to SUBLEQ: each gives what Python gives modulo 2^N, for all pairs of operands."""

import torch
from jaxtyping import Int
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust
from attention_theory.certificates.certificate import Counterexample
from attention_theory.looped_transformers.compiler.code import (
    OPERATORS,
    RELATIONS,
    Branch,
    Code,
    Compute,
    Copy,
    Instruction,
    Label,
    Operator,
    Relation,
    Stop,
    wrap,
)
from attention_theory.looped_transformers.compiler.subleq import lower
from attention_theory.looped_transformers.subleq.language import SubleqProgram
from attention_theory.validation import refuse_unless, require


def certify_rules(bits: int = 6) -> Certificate:
    """Every operator and every comparison of two cells, as SUBLEQ, is Python's modulo ``2^bits``.

    The programs that are run are those that the compiler writes.

    Raises:
        ParameterError: bits outside 4 to 8.
    """
    require(bits=(bits, 4, 8))
    half = 2 ** (bits - 1)
    sizes = {"a": 2**bits, "b": 2**bits}

    def plain(batch: exhaust.Batch) -> Tensor:
        a, b = batch["a"] - half, batch["b"] - half
        return _result("+", a, b, bits) == a + b

    def run(values: Counterexample) -> tuple[str, bool]:
        a, b = (values[name] - half for name in "ab")
        result = int(_result("+", torch.tensor([a]), torch.tensor([b]), bits))
        return f"{a} + {b} gives {result}", result != a + b

    return certify(
        "The SUBLEQ code that the compiler writes for + - * // % and for < <= == != ends, and leaves what Python "
        "gives, modulo 2^N in two's complement.",
        f"N = {bits}, all pairs of operands; divisors other than 0",
        [_answer(sign, sizes, bits) for sign in (*OPERATORS, *RELATIONS)],
        Control.of("sums do not wrap around", exhaust.every(sizes, plain, "the code for + gives a + b"), run),
    )


def _answer(sign: Operator | Relation, sizes: dict[str, int], bits: int) -> Answer:
    half = 2 ** (bits - 1)

    def right(batch: exhaust.Batch) -> Tensor:
        a, b = batch["a"] - half, batch["b"] - half
        wanted = [_python(sign, int(x), int(y), bits) for x, y in zip(a, b, strict=True)]
        return (_result(sign, a, b, bits) == torch.tensor(wanted)) | ((b == 0) & (sign in ("//", "%")))

    return exhaust.every(sizes, right, f"the code for {sign} gives what Python gives")


def _python(sign: Operator | Relation, a: int, b: int, bits: int) -> int:
    if sign in RELATIONS:
        return int(RELATIONS[sign](a, b))
    return 0 if b == 0 and sign in ("//", "%") else wrap(OPERATORS[sign](a, b), bits)  # type: ignore[index]


def _result(sign: Operator | Relation, a: Int[Tensor, " n"], b: Int[Tensor, " n"], bits: int) -> Int[Tensor, " n"]:
    """What the compiled code leaves in its target; a relation leaves 1 or 0."""
    compared: list[Instruction] = [
        Copy("d", 1, 1),
        Branch("a", sign, "b", "end", 1),  # type: ignore[arg-type]
        Copy("d", 0, 1),
        Label("end", 1),
    ]
    computed: list[Instruction] = [Compute("d", "a", sign, "b", 1)]  # type: ignore[arg-type]
    body = compared if sign in RELATIONS else computed
    if sign in ("//", "%"):
        body = [Branch("b", "!=", 0, "fine", 1), Stop(None, 1), Label("fine", 1), *body]
    code = Code((*body, Stop(None, 0)), {"a": 0, "b": 0, "d": 0}, {}, ("a", "b"), "d")
    program = lower(code, bits).program
    memory = torch.tensor(program.memory).repeat(len(a), 1)
    memory[:, program.cells["a"]], memory[:, program.cells["b"]] = a, b
    return run_all(program, memory, bits)[:, program.cells["d"]]


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
