"""Notebooks as sources and as runs.

In comes a notebook's ``.py`` with its profile. Out go its parameters and their ranges, a fingerprint of everything
that its values depend on, its paired ``.ipynb``, and by :func:`~bookpress.notebooks.run.run` an executed copy with a
record, or a named failure and neither. It uses the room of claims.
"""
