"""The lines of a program's text, read alike here and in the browser (``book/static/instruments/instruments.js``)."""

import re
from collections.abc import Iterator

from attention_theory.validation import ParameterError

#: Characters that nobody sees, apart from the space and the tab: controls, wide and narrow spaces, marks of direction.
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]")


def program_lines(text: str, refusal: type[ValueError] = ParameterError) -> Iterator[tuple[int, str]]:
    """The lines that say anything, without comments (``#``) and outer blanks, and their numbers from 1.

    A line ends at a line feed, a carriage return or both, and at nothing else.

    Raises:
        ParameterError: an invisible character outside of comments; ``refusal`` where another class is given.
    """
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = raw.partition("#")[0]
        if hidden := _INVISIBLE.search(line):
            raise refusal(f"line {number}: the invisible character U+{ord(hidden[0]):04X} is not allowed")
        if line := line.strip():
            yield number, line
