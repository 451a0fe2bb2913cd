"""A compiler from a subset of Python to the programs of looped transformers.

``source`` reads a text by ``statements``, these by ``expressions``, and these by ``names``, into ``code``:
three-address code on named cells. ``optimise`` makes it shorter, with what ``intervals`` knows of the cells.
``subleq`` and ``fleq``, each a ``writer`` of statements, lower it to the two machines. ``program`` holds what came of
it, and runs it on its frozen transformer. ``book/contributing.md`` says what to change, here and in JavaScript, for a
new refusal, example or operator.
"""
