"""A certificate: a statement settled for all inputs of a range, its question to an engine, and a failed control."""

import hashlib
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Literal, Self

from attention_theory.validation import ParameterError, refuse_unless

#: ``refuted`` comes with a counterexample; ``unknown`` is a limit of time or of the method, and never a pass.
Outcome = Literal["proved", "refuted", "unknown"]

#: The most processor time for a question, in seconds; after it the outcome is ``unknown``.
LIMIT = 60.0
#: The most characters that a certificate keeps of questions that are no scripts, and those of one that is too long. A
#: cell of a notebook has several certificates, and the press stops it after 4 MB.
LONGEST, BEGINNING = 400_000, 10_000

#: A value for each variable of a question.
Counterexample = Mapping[str, Any]
#: What an engine finds.
Found = tuple[Outcome, Counterexample | None]


def decided(counterexample: Counterexample | None) -> Outcome:
    """The outcome of a question that an engine settles either way."""
    return "proved" if counterexample is None else "refuted"


@dataclass(frozen=True)
class Answer:
    """The result that an engine returned for one question.

    Attributes:
        question: the text as the engine got it, or all that fixes it where that is too long to read.
        outcome: of the question.
        engine: name and version.
        seconds: that it took.
        counterexample: where the statement is false, if the engine refuted it.
    """

    question: str
    outcome: Outcome
    engine: str
    seconds: float
    counterexample: Counterexample | None = None

    def __post_init__(self) -> None:
        refuse_unless(
            (self.outcome == "refuted") == (self.counterexample is not None),
            f"counterexample must be given if and only if the outcome is 'refuted', got {self.outcome!r}",
        )


@dataclass(frozen=True)
class Control:
    """The question with an assumption broken, and its counterexample run through the code.

    Attributes:
        broken: which assumption, in words.
        question: as in :class:`Answer`.
        outcome: of the broken question; only ``refuted`` is worth anything.
        counterexample: in words.
        observed: what the code returned for the counterexample, in words.
        failed: whether the code was wrong there, as the counterexample says.
    """

    broken: str
    question: str
    outcome: Outcome
    counterexample: str
    observed: str
    failed: bool

    @classmethod
    def of(cls, broken: str, answer: Answer, run: Callable[[Counterexample], tuple[str, bool]]) -> Self:
        """Run the counterexample of a broken question.

        Args:
            broken: the assumption, in words.
            answer: to the broken question.
            run: the code at the counterexample; returns what it gave in words, and whether it was wrong.
        """
        (question,) = _kept([answer.question])
        if answer.counterexample is None:
            return cls(broken, question, answer.outcome, "none", "nothing was run", False)
        observed, failed = run(answer.counterexample)
        words = ", ".join(f"{name} = {value}" for name, value in answer.counterexample.items())
        return cls(broken, question, answer.outcome, words, observed, bool(failed))


@dataclass(frozen=True)
class Certificate:
    """A statement that an engine settled for all inputs of a range.

    Attributes:
        statement: in words.
        covers: the inputs for which it was asked, in words.
        question: what the engine got; of SMT-LIB one script, in which each question states its answer as ``:status``.
        engine: name and version.
        seconds: that the engine took.
        outcome: of the question.
        control: shows that the question can fail, and that the code fails with it.
    """

    statement: str
    covers: str
    question: str
    engine: str
    seconds: float
    outcome: Outcome
    control: Control

    @property
    def settled(self) -> bool:
        """Decide whether the statement is proved and its control failed in the engine and in the code."""
        return self.outcome == "proved" and self.control.outcome == "refuted" and self.control.failed

    def to_json(self) -> str:
        """The certificate as text, for a record."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A certificate from what :meth:`to_json` wrote.

        Raises:
            ParameterError: text with other fields.
        """
        try:
            fields = json.loads(text)
            return cls(**fields | {"control": Control(**fields["control"])})
        except (TypeError, KeyError, ValueError) as fault:
            raise ParameterError(f"text must hold the fields of a certificate, got {text[:80]!r}") from fault


def certify(statement: str, covers: str, answer: Answer | Sequence[Answer], control: Control) -> Certificate:
    """A certificate from the answers to its questions, all of which must be proved.

    Raises:
        ParameterError: no answer.
    """
    answers = [answer] if isinstance(answer, Answer) else list(answer)
    refuse_unless(len(answers) > 0, "answer must be at least one, got none")
    outcomes = {part.outcome for part in answers}
    outcome: Outcome = "proved" if outcomes == {"proved"} else "refuted" if "refuted" in outcomes else "unknown"
    question = joined(_kept([part.question for part in answers]))
    engines = ", ".join(dict.fromkeys(part.engine for part in answers))
    return Certificate(statement, covers, question, engines, sum(part.seconds for part in answers), outcome, control)


def joined(questions: Sequence[str]) -> str:
    """Several questions as one text. With SMT-LIB among them it is a script: the others are comments in it."""
    scripts = [_is_script(question) for question in questions]
    if not any(scripts):
        return "\n\n".join(questions)
    parts = [
        f"(reset)\n{question}" if script else "".join(f"; {line}\n" for line in question.splitlines())
        for question, script in zip(questions, scripts, strict=True)
    ]
    return "\n".join(parts)


def _is_script(question: str) -> bool:
    return "(check-sat)" in question


def _kept(questions: Sequence[str]) -> list[str]:
    """The questions. If those that are no scripts are too long together, the longest are a beginning and a digest."""
    texts = [question for question in questions if not _is_script(question)]
    if sum(map(len, texts)) <= LONGEST:
        return list(questions)
    most = LONGEST // len(texts)
    return [
        question if _is_script(question) or len(question) <= most else _digest(question, min(BEGINNING, most))
        for question in questions
    ]


def _digest(text: str, beginning: int) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[:beginning]}\n... the first {beginning:,} of {len(text):,} characters, all with SHA-256 {digest}"


@contextmanager
def needs(distribution: str) -> Iterator[None]:
    """Around the import of an engine: where it is not installed, the error names the extra that brings it.

    Raises:
        ImportError: the engine is not installed.
    """
    try:
        yield
    except ImportError as missing:
        raise ImportError(
            f"certificates need {distribution}: pip install 'attention-theory-executed[book]'"
        ) from missing


def name_of(distribution: str) -> str:
    """Name and version of an installed engine."""
    return f"{distribution} {version(distribution)}"


class _OutOfTimeError(Exception):
    """The limit of a question is exceeded."""


def within_limit(settle: Callable[[], Found], question: str, engine: str, seconds: float = LIMIT) -> Answer:
    """The answer of an engine that knows no limit of time: beyond ``seconds`` the outcome is ``unknown``.

    A signal ends what runs in Python. A call of compiled code is not interrupted; what it returns too late is no pass.
    Signals reach the main thread alone: a question from another one runs to its end.
    """
    clock = Clock(seconds)

    def stop(*_: Any) -> None:
        raise _OutOfTimeError

    found: Found = ("unknown", None)
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGVTALRM, stop) if is_main else None
    try:
        if is_main:
            signal.setitimer(signal.ITIMER_VIRTUAL, max(seconds, 1e-6))
        found = settle()
    except _OutOfTimeError:
        pass
    finally:
        if is_main:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)
    outcome, counterexample = ("unknown", None) if clock.has_run_out else found
    return Answer(question, outcome, engine, clock.seconds, counterexample)


class Clock:
    """Processor time since it was made.

    Args:
        limit: in seconds.
    """

    def __init__(self, limit: float = LIMIT) -> None:
        self._start, self._limit = time.process_time(), limit

    @property
    def has_run_out(self) -> bool:
        """Decide whether the limit is exceeded: an engine that loops then stops, and its outcome is ``unknown``."""
        return self.seconds > self._limit

    @property
    def seconds(self) -> float:
        return time.process_time() - self._start
