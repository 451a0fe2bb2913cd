"""Arguments for the functions and classes of the package, made from their annotations."""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import torch
from jaxtyping import AbstractArray
from torch import Generator, Tensor

import attention_theory

#: The length of a named axis; 2 unless it is a function of others or two are too few.
SIZES = {"psi": 6, "width_squared": 4, "out_width": 4, "points": 3, "seeds": 3, "batch": 8, "samples": 8}


class CannotMakeError(Exception):
    """No argument can be made from an annotation."""


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(attention_theory.__path__, "attention_theory."):
        yield importlib.import_module(found.name)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in modules():
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
                yield f"{module.__name__.removeprefix('attention_theory.')}.{name}", value


@cache
def parsed(path: str) -> dict[str, ast.FunctionDef]:
    """The functions of a file, and of its classes the constructors, by the name of the class."""
    body = ast.parse(Path(path).read_text()).body
    parts = [(node.name, part) for node in body if isinstance(node, ast.ClassDef) for part in node.body]
    constructors = {name: part for name, part in parts if isinstance(part, ast.FunctionDef) and part.name == "__init__"}
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)} | constructors


def needed(called: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of the arguments without a default, from the source: the shape checker keeps shapes only."""
    if dataclasses.is_dataclass(called):
        return {field.name: field.type for field in required_fields(called)}
    source = parsed(inspect.getsourcefile(inspect.unwrap(called)) or "")[called.__name__].args
    kinds = {one.arg: one.annotation for one in [*source.posonlyargs, *source.args, *source.kwonlyargs]}
    names = vars(importlib.import_module(called.__module__))
    return {
        name: eval(ast.unparse(kinds[name] or ast.Constant(None)), names)
        for name, parameter in inspect.signature(called).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def required_fields(kind: Any) -> list[dataclasses.Field[Any]]:
    defaults = (dataclasses.MISSING, dataclasses.MISSING)
    return [
        field for field in dataclasses.fields(kind) if field.init and (field.default, field.default_factory) == defaults
    ]


def made(kind: Any, dtype: torch.dtype, draws: Generator, examples: Mapping[Any, Any] = MappingProxyType({})) -> Any:
    """A value for an annotation, the example of its type if there is one."""
    if isinstance(kind, Hashable) and kind in examples:
        return examples[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin in examples:
        return examples[origin]
    if inspect.isclass(kind) and issubclass(kind, AbstractArray):
        return drawn(kind, dtype, draws)
    if kind is Tensor:
        return torch.rand(2, generator=draws, dtype=dtype) * 0.8 + 0.1
    if dataclasses.is_dataclass(kind):
        return kind(**{field.name: made(field.type, dtype, draws, examples) for field in required_fields(kind)})  # type: ignore[operator]
    if kind in (bool, int, float):
        return {bool: False, int: 2, float: 0.5}[kind]
    if origin is Literal:
        return inner[0]
    if origin in (Union, UnionType):
        return made(inner[0], dtype, draws, examples)
    if origin in (list, Sequence, Collection, Iterable):
        return [made(inner[0], dtype, draws, examples) for _ in range(2)]
    if origin is tuple:
        return tuple(made(one, dtype, draws, examples) for one in inner if one is not ...)
    raise CannotMakeError(kind)


def drawn(kind: Any, dtype: torch.dtype, draws: Generator) -> Tensor:
    """A tensor of the annotated shape: numbers between 0 and 1, zeros and ones where they are whole."""
    words = [word.lstrip("*#_?").rpartition("=")[2] for word in kind.dim_str.split() if word != "..."]
    if any("{" in word for word in words):
        raise CannotMakeError(kind)
    shape = [eval(re.sub(r"[a-z_]+", lambda name: str(SIZES.get(name[0], 2)), word)) for word in words]
    kinds = " ".join(map(str, kind.dtypes))
    if "float" in kinds:
        return torch.rand(shape, generator=draws, dtype=dtype) * 0.8 + 0.1
    ones = torch.randint(0, 2, shape, generator=draws)
    return ones.bool() if kinds == "bool" else ones
