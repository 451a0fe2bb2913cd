"""How a command ends: the exit codes of ``book``, and the failures that carry them."""

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended; the exit code of ``book``."""

    DONE = 0
    NOT_WHOLE = 1
    USAGE = 2
    BAD_PARAMETER = 3
    FAILED_CHECK = 4
    FAILED_CELL = 5
    TIME_OUT = 6
    DEAD_KERNEL = 7
    BAD_REGISTRY = 8
    BAD_FILE = 9


class Failure(Exception):
    """A failure that is to be expected. Each kind carries its exit code: ``class BadName(Failure, code=...)``."""

    code: Exit

    def __init_subclass__(cls, code: Exit | None = None) -> None:
        if code is not None:
            cls.code = code


#: Exceptions that a notebook may end in. From its kernel the name alone reaches us.
OF_NOTEBOOK = {
    "ParameterError": Exit.BAD_PARAMETER,
    "FailedCheck": Exit.FAILED_CHECK,
    "EvidenceError": Exit.FAILED_CHECK,
    "RegistryError": Exit.BAD_REGISTRY,
}
