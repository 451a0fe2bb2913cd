"""What the packages of the book offer as files: machines, weights and the like, found by a convention and not by name.

A package's room for a paper may have a module ``export`` with a table ``EXPORTS``: for each name a function whose
parameters are the options, numbers and words with defaults. It gives, for each ending that a file's name may have, a
function that makes the content. The press knows nothing else of what it writes.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from bookpress.claims.registry import Registry
from bookpress.exits import Exit, Failure
from bookpress.layout import Layout


class ExportError(Failure, code=Exit.USAGE):
    """What was asked for is not offered, or is refused by what makes it."""


@dataclass(frozen=True)
class Export:
    """Something that can be written to a file: ``paper/name``, and what makes its contents by ending from options."""

    name: str
    make: Callable[..., Mapping[str, Callable[[], bytes]]]

    @property
    def about(self) -> str:
        """The first line of what the function says of itself."""
        return (inspect.getdoc(self.make) or "").partition("\n")[0]

    @property
    def options(self) -> dict[str, Any]:
        """The options with their defaults."""
        return {name: option.default for name, option in inspect.signature(self.make).parameters.items()}


def find_exports(layout: Layout) -> dict[str, Export]:
    """Everything that is offered, by its name."""
    offered: dict[str, Export] = {}
    for paper in Registry.load(layout).papers:
        for path in sorted(layout.packages.glob(f"*/{paper.name.replace('-', '_')}/export.py")):
            dotted = ".".join(path.relative_to(layout.packages).with_suffix("").parts)
            names = {f"{paper.name}/{name}": make for name, make in importlib.import_module(dotted).EXPORTS.items()}
            offered |= {name: Export(name, make) for name, make in names.items()}
    return offered


def make_export(layout: Layout, name: str, texts: Sequence[str], ending: str) -> bytes:
    """The content of a file whose name has the ending.

    Args:
        texts: options as on a command line: ``--layers 4`` or ``--layers=4``.

    Raises:
        ExportError: a thing, an option or an ending that is not offered, or a value that is refused.
    """
    offered = find_exports(layout)
    if name not in offered:
        raise ExportError(f"there is no {name!r} to export; there are: {', '.join(offered) or 'none'}")
    options = offered[name].options.items()
    command = click.Command(
        name,
        params=[click.Option([f"--{key}"], type=type(default), default=default) for key, default in options],
        add_help_option=False,
    )
    try:
        forms = offered[name].make(**command.make_context(name, [*texts]).params)
    except (click.UsageError, ValueError) as error:
        raise ExportError(error.format_message() if isinstance(error, click.UsageError) else str(error)) from error
    if ending not in forms:
        raise ExportError(f"{name} is written as {' or '.join(forms)}, got {ending or 'no ending'}")
    return forms[ending]()
