"""Every range of a parameter: kept in ``ranges.txt``, and its ends tried by a call.

A line of the file is a function or a class with the limits that its ``require`` states, or with what it asks of a
tensor or a list. A bound that moves has to be moved there too. Calls are made from the annotations, as in
``test_devices.py``; what lies just outside of an end is refused by name, and so is a value of another kind; what lies
on the end is not. In the same way an argument that is empty, not finite or of another shape is tried.
"""

import ast
import importlib
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from jaxtyping import TypeCheckError
from torch import Generator, Tensor

from arguments import CannotMakeError, made, needed
from attention_theory.in_context_reasoning.task import Task
from attention_theory.linear_attention.experiments.decoder import DecoderSize
from attention_theory.linear_attention.machines.block_heads import BlockHead
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.machines.turing import Machine, parse_machine
from attention_theory.looped_transformers.blocks.base import FunctionBlock
from attention_theory.looped_transformers.blocks.sum import SumBlock
from attention_theory.looped_transformers.fleq.assembler import assemble
from attention_theory.looped_transformers.fleq.language import FleqProgram
from attention_theory.looped_transformers.fleq.machine import FleqMachine
from attention_theory.looped_transformers.machine.layers import LoopedTransformer
from attention_theory.looped_transformers.subleq.language import SubleqProgram, program
from attention_theory.looped_transformers.subleq.machine import SubleqMachine
from attention_theory.rows import Rows
from attention_theory.validation import ParameterError, require

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "attention_theory"
TABLE = Path(__file__).with_name("ranges.txt")
#: So many ranges can be tried by calls made from annotations; fewer would be a check that fell asleep.
LEAST_TRIED = 650
#: The rules of tensors and lists, with their words; so many can be tried.
INPUT_RULES = {"require_finite": "must be finite", "require_some": "must hold", "require_shape": "must have shape"}
LEAST_INPUTS = 85
#: Where the other one of two whose shapes have to be the same is named.
OTHER_NAMED = ("linear_attention.machines.parallel_copies.in_copy", "extra")
#: An argument for each type that none can be made of.
EXAMPLES: dict[Any, Any] = {
    str: "a",
    Path: Path("nowhere"),
    Callable: lambda *given: given[0],
    Mapping: {1: 1.0},
    dict: {"a": 1},
    Generator: Generator(),
    torch.device: torch.device("cpu"),
    torch.dtype: torch.float64,
    Rows: Rows(a=2),
    Task: Task(16, 2, 2, 12, noisy=True),
    Machine: parse_machine("a 0 -> a 0 L"),
    FunctionBlock: SumBlock("add"),
    FleqProgram: assemble("halt", {}, 3),
    FleqMachine: FleqMachine(assemble("halt", {}, 3)),
    SubleqMachine: SubleqMachine(3, 4, 4),
    LoopedTransformer: SubleqMachine(3, 4, 4).dense,
    SubleqProgram: program([1], [(0, 0, 0)]),
    CompactMachine: CompactMachine(2, 2, 3, 4),
    BlockHead: BlockHead(*[torch.tensor([0])] * 4),
    DecoderSize: DecoderSize(4, 4, 2, 1),
}
#: Arguments that must not be what the annotation says alone.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "in_context_reasoning.descent.descend_noiseless": {"laws": torch.full((2, 2), 0.5, dtype=torch.float64)},
    "hyper_attention.worlds.genotype.activation_score": {"dictionary": {0: []}, "form": "printed"},
    "in_context_reasoning.training.train_grid": {"names": ["Origin-Linear-F"]},
    "in_context_reasoning.training.train_on_sample": {"runs": [], "samples": 512},
    "in_context_reasoning.instrument.trained_matrices": {"name": "Origin-Linear-F"},
    "linear_attention.learning.interpolation.interpolate": {"last": 0},
    "linear_attention.machines.turing.write_tape": {"window": 20},
    "looped_transformers.fleq.layout.FleqLayout": {"pointers": True},
    "in_context_reasoning.direction.instance": {"length": 4},
    "in_context_reasoning.finite_sample.separation_time": {"radius": 0.1},
    "looped_transformers.blocks.barron.Element": {"gamma": 0.0},
    "looped_transformers.machine.codes.to_bits": {"integers": 1},
    "memorization.key_width.dimension_count": {"width": 5},
    "memorization.single_head.silent_direction": {
        "silent": torch.tensor([True, False]),
        "decided": torch.tensor([False, True]),
    },
}
#: Ranges of what is computed from the parameter, so that no value of it lies on an end.
COMPUTED = {
    ("in_context_reasoning.training.train_on_sample", "runs"),
    ("linear_attention.experiments.convergence.best_settings", "floors"),
}


def calls_of(require: str = "require") -> Iterator[tuple[str, set[str], ast.keyword]]:
    """Every rule in the package: the function, the parameters around it, and the rule."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        yield from _rules(ast.parse(path.read_text()), module, set(), require)


def _rules(node: ast.AST, name: str, parameters: set[str], require: str) -> Iterator[tuple[str, set[str], ast.keyword]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef():
                fields = {ast.unparse(part.target) for part in child.body if isinstance(part, ast.AnnAssign)}
                yield from _rules(child, f"{name}.{child.name}", fields, require)
            case ast.FunctionDef(args=given):
                own = {one.arg for one in [*given.posonlyargs, *given.args, *given.kwonlyargs]}
                constructor = child.name in ("__init__", "__post_init__")
                yield from _rules(child, name if constructor else f"{name}.{child.name}", parameters | own, require)
            case ast.Call(func=ast.Name(id=called), keywords=rules) if called == require:
                yield from ((name, parameters, rule) for rule in rules)
            case _:
                yield from _rules(child, name, parameters, require)


def ranges_of_the_package() -> dict[str, dict[str, str]]:
    """The limits of every parameter, as they are written: one for each rule that names it."""
    ranges: dict[str, dict[str, str]] = {}
    for name, _, rule in calls_of():
        assert isinstance(rule.value, ast.Tuple)
        value, *ends = map(ast.unparse, rule.value.elts)
        limits = f"{'each: ' * value.startswith('Each')}{', '.join(ends)}"
        rules = ranges.setdefault(name, {})
        rules[rule.arg or "**"] = f"{rules[rule.arg]} or {limits}" if rule.arg in rules else limits
    return ranges


def table() -> str:
    rows = ranges_of_the_package().items()
    ranges = [f"{name}: {'; '.join(f'{arg} ({limits})' for arg, limits in row.items())}\n" for name, row in rows]
    rules = [(words, *found) for require, words in INPUT_RULES.items() for found in calls_of(require)]
    return "".join(ranges + [f"{name}: {rule.arg} {words}\n" for words, name, _, rule in rules])


def kept_ranges() -> Iterator[tuple[str, str, str]]:
    """The ranges of the file: a function, one of its parameters, its limits."""
    for line in TABLE.read_text().splitlines():
        name, _, row = line.partition(": ")
        yield from ((name, arg, limits) for arg, limits in re.findall(r"(\w+) \((.*?)\)(?:; |$)", row))


def arguments(name: str, called: Any) -> dict[str, Any]:
    """Arguments for a call: those of the table, the rest by the annotations."""
    draws, given = Generator().manual_seed(0), ARGUMENTS.get(name, {})
    kinds = {key: kind for key, kind in needed(called).items() if key not in given}
    return given | {key: made(kind, torch.float64, draws, EXAMPLES) for key, kind in kinds.items()}


def called_by(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"attention_theory.{module}"), last)


def outside_and_on(limits: list[Any]) -> tuple[list[Any], list[Any]]:
    """Values just outside of a range or of another kind, and those on its ends."""
    if len(limits) == 1:
        return ["no choice", -1, None], [next(iter(limits[0]))]
    least, most = limits
    below = [] if least is None else [least - 1 if isinstance(least, int) else math.nextafter(least, -math.inf)]
    above = [] if most is None else [most + 1 if isinstance(most, int) else math.nextafter(most, math.inf)]
    odd = [math.inf, math.nan] if isinstance(most if least is None else least, float) else [2.5]
    return [*below, *above, *odd, "3", [2], True], [end for end in limits if end is not None]


def fault_of(name: str, tried: str, limits: str) -> str | None:
    """How a range is not kept by a call: empty if it is, None if there can be no such call."""
    _, each, ends = limits.rpartition("each: ")
    if (name, tried) in COMPUTED or name.rpartition(".")[2].startswith("_"):
        return None
    try:
        called = called_by(name)
        given = arguments(name, called)
        defaults = {key: one.default for key, one in inspect.signature(called).parameters.items()}
        names = vars(importlib.import_module(called.__module__)) | defaults | given
        outside, on = outside_and_on(list(eval(f"({ends},)", names | {"self": SimpleNamespace(**names)})))
    except Exception:  # a method, an annotation without an example, or ends from within the function
        return None
    if isinstance(given.get(tried), Tensor):
        kind = float if given[tried].is_floating_point() else int
        outside, on = (
            [torch.full_like(given[tried], value) for value in values if type(value) is kind]
            for values in (outside, on)
        )
    elif each:
        outside, on = ([[value] for value in values] for values in (outside, on))
    refusals = [refusal(called, given | {tried: value}, tried) for value in [*outside, *on]]
    wrong = [refused != "by name" for refused in refusals[: len(outside)]]
    wrong += [refused == "by name" for refused in refusals[len(outside) :]]
    return "" if not any(wrong) else f"({limits}): {[*zip([*outside, *on], refusals, strict=True)]}"


class ReachedError(Exception):
    """A value has passed: no more of the call is needed."""


def refusal(called: Any, given: Mapping[str, Any], tried: str) -> str:
    """``by name`` if a call is refused by the name of the parameter, else another fault, or nothing where it passes."""

    def require_and_stop(**rules: tuple[Any, ...]) -> None:
        require(**rules)
        if tried in rules:
            raise ReachedError

    with patch.dict(vars(importlib.import_module(called.__module__)), {"require": require_and_stop}):
        try:
            result = called(**given)
            next(result) if isinstance(result, Iterator) else result
        except ReachedError:
            return ""
        except ParameterError as fault:
            by_name = re.search(rf"(?m)^(each of )?{tried} must (be (one of|a whole|a number|a list)|hold)", str(fault))
            return "by name" if by_name else f"otherwise: {fault}"
        except TypeCheckError as fault:  # of the tests alone, for a value of another kind
            return "by name" if f"parameter '{tried}'" in str(fault) else str(fault)
        except Exception as fault:
            return f"{type(fault).__name__}: {fault}"
    return ""


def test_the_file_has_every_range_of_the_package() -> None:
    assert TABLE.read_text() == table(), f"write what changed into {TABLE.name}"


def test_what_require_names_is_a_parameter() -> None:
    assert [(name, rule.arg) for name, parameters, rule in calls_of() if rule.arg not in parameters] == []


def test_what_is_outside_of_a_range_is_refused_by_name_and_its_ends_are_taken() -> None:
    found = {(name, arg): fault_of(name, arg, limits) for name, arg, limits in kept_ranges()}
    assert {of: fault for of, fault in found.items() if fault} == {}
    assert sum(fault is not None for fault in found.values()) >= LEAST_TRIED


def bad_inputs(rule: str, value: Any) -> list[Any]:
    """What breaks a rule: no entries, entries that are no numbers, or a shape that the rule does not allow, of some."""
    if rule == "require_some":
        return [value[:0]]
    if rule == "require_finite":
        return [torch.full_like(value, torch.nan)]
    axes = range(value.ndim)
    return [value.new_zeros([n + (axis == longer) for axis, n in enumerate(value.shape)]) for longer in axes]


@pytest.mark.usefixtures("unchecked_shapes")
def test_what_is_empty_not_finite_or_of_another_shape_is_refused_by_name() -> None:
    tried, passed = 0, []
    for rule, words in INPUT_RULES.items():
        for name, _, keyword in calls_of(rule):
            arg = keyword.arg or "**"
            if name.rpartition(".")[2].startswith("_"):
                continue
            try:
                called = called_by(name)
                given = arguments(name, called)
                bad = bad_inputs(rule, given[arg])
            except (ModuleNotFoundError, CannotMakeError, KeyError):  # a method, or no parameter of the function's
                continue
            faults = [fault_of_call(called, given | {arg: value}) for value in bad]
            tried += 1
            if not any(re.search(rf"(?m)^{arg} {words}", fault) for fault in faults):
                passed.append((name, arg))
    assert passed == [OTHER_NAMED]
    assert tried >= LEAST_INPUTS


def fault_of_call(called: Any, given: dict[str, Any]) -> str:
    try:
        called(**given)
    except Exception as fault:
        return str(fault)
    return ""


if __name__ == "__main__":
    TABLE.write_text(table())
