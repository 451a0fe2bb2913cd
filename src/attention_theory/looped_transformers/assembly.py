"""What both assemblers refuse a text with."""


class AssemblyError(ValueError):
    """The text is not a program for the machine. The message names the line and what is wrong with it."""
