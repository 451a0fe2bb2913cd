"""The console script ``book``: the command line of ``bookpress``, or a line that says which extra it needs."""

import sys


def main() -> None:
    """Run the command line; without the libraries of the extra ``book``, say so and exit with 1."""
    try:
        from bookpress.cli import main as run
    except ModuleNotFoundError as error:
        sys.exit(f"book: needs the extra book, pip install 'attention-theory-executed[book]': {error}")
    run()
