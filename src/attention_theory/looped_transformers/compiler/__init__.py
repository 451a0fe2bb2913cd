"""A compiler from a subset of Python to the programs of looped transformers.

``source`` and ``expressions`` read Python into ``code``, three-address code on named cells; ``optimise`` makes it
shorter; ``subleq`` and ``fleq``, each a ``writer`` of statements, lower it to the two machines; ``program`` holds what
came of it and runs it on its frozen transformer.
"""
