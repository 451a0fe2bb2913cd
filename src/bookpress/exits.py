"""How a command ends: the exit codes of ``book``, and which failure has which."""

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


#: Exceptions that a notebook may end in. From its kernel the name alone reaches us.
OF_NOTEBOOK = {
    "ParameterError": Exit.BAD_PARAMETER,
    "FailedCheck": Exit.FAILED_CHECK,
    "EvidenceError": Exit.FAILED_CHECK,
    "RegistryError": Exit.BAD_REGISTRY,
}

#: Exceptions of the press that are to be expected, by name, so that no command has to import every room.
OF_PRESS = {
    "ValueRefused": Exit.BAD_PARAMETER,
    "RegistryError": Exit.BAD_REGISTRY,
    "ExportError": Exit.USAGE,
    "InstrumentError": Exit.USAGE,
    "LayoutError": Exit.USAGE,
    "ProfileError": Exit.USAGE,
    "SourceError": Exit.USAGE,
    "SweepError": Exit.USAGE,
    "BuildError": Exit.NOT_WHOLE,
    "MutationError": Exit.NOT_WHOLE,
    "RecordError": Exit.BAD_FILE,
    "StalePage": Exit.BAD_FILE,
    "UnicodeDecodeError": Exit.BAD_FILE,
}


def expected(error: Exception) -> tuple[Exit, str] | None:
    """The exit code and the words for a failure that is to be expected; None for a fault of the press itself."""
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return Exit.BAD_FILE, f"{place}{error.strerror or error}"
    code = getattr(error, "code", None)
    if isinstance(code, Exit):  # of a run
        return code, str(error)
    codes = [OF_PRESS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in OF_PRESS]
    return (codes[0], str(error)) if codes else None
