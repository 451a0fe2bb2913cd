"""``python -m bookpress`` is ``book``."""

from bookpress.cli import main

main()
