"""What the packages of the book offer as files: machines, weights and the like, found by a convention and not by name.

A package's room for a paper may have a module ``export`` with a table ``EXPORTS``: for each name a function whose
parameters are the options, numbers and words with defaults. It gives, for each ending that a file's name may have, a
function that makes the content. The press knows nothing else of what it writes.
"""

import importlib
import inspect
from collections.abc import Sequence

import click

from bookpress.claims.registry import Registry
from bookpress.exits import Exit, Failure
from bookpress.layout import Layout


class ExportError(Failure, code=Exit.USAGE):
    """A name, an option or an ending is not offered, or a value is refused."""


def find_exports(layout: Layout) -> dict[str, click.Command]:
    """Everything that is offered, by its name ``paper/name``, as commands with the functions' parameters as options."""
    offered = {}
    for paper in Registry.load(layout).papers:
        for path in sorted(layout.packages.glob(f"*/{paper.name.replace('-', '_')}/export.py")):
            dotted = ".".join(path.relative_to(layout.packages).with_suffix("").parts)
            for name, make in importlib.import_module(dotted).EXPORTS.items():
                defaults = {key: option.default for key, option in inspect.signature(make).parameters.items()}
                options = [click.Option([f"--{key}"], default=value) for key, value in defaults.items()]
                about = (inspect.getdoc(make) or "").partition("\n")[0]
                offered[f"{paper.name}/{name}"] = click.Command(
                    name, callback=make, params=[*options], help=about, add_help_option=False
                )
    return offered


def make_export(layout: Layout, name: str, texts: Sequence[str], ending: str) -> bytes:
    """Make the content of a file whose name has the ending.

    Args:
        texts: options as on a command line: ``--layers 4`` or ``--layers=4``.

    Raises:
        ExportError: a name, an option or an ending that is not offered, or a value that is refused.
    """
    offered = find_exports(layout)
    if name not in offered:
        raise ExportError(f"there is no {name!r} to export; there are: {', '.join(offered) or 'none'}")
    try:
        forms = offered[name].main([*texts], standalone_mode=False)
    except (click.UsageError, ValueError) as error:
        raise ExportError(error.format_message() if isinstance(error, click.UsageError) else str(error)) from error
    if ending not in forms:
        raise ExportError(f"{name} is written as {' or '.join(forms)}, got {ending or 'no ending'}")
    return bytes(forms[ending]())
