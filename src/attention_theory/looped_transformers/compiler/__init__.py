"""A compiler from a subset of Python to the programs of looped transformers.

``source`` reads Python into ``code``, three-address code on named cells; ``optimise`` makes it shorter; ``subleq`` and
``fleq`` lower it to the two machines; ``program`` holds what came of it and runs it on its frozen transformer.
"""
