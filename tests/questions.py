"""The questions of all certificates in SMT-LIB as files, and what another solver answers to them: ``make questions``.

A question states as ``:status`` what z3 returned: ``unsat`` for what is proved, ``sat`` for the control.
"""

import argparse
import multiprocessing
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from bookpress.files import write_whole
from bookpress.layout import LAPTOP, Layout
from bookpress.site.book import Book

_STATUS = re.compile(r"\(set-info :status (\w+)\)")

#: ``sat``, ``unsat`` or ``unknown``, for one question.
Solver = Callable[[str], str]


def scripts_of(book: Book) -> Iterator[tuple[str, str]]:
    """Names of files and their texts: of each certificate its questions, and its control."""
    for claim in sorted(book.settled):
        for number, one in enumerate(book.settled[claim].certificates, start=1):
            for ending, text in (("", one.question), ("-control", one.control.question)):
                if "(check-sat)" in text:
                    yield f"{claim}-{number}{ending}.smt2", text


def disagreements(scripts: Iterator[tuple[str, str]], solver: Solver, agreed: Counter[str]) -> list[str]:
    """The questions to which a solver gives another answer than they state; counts what it returned."""
    wrong = []
    for name, text in scripts:
        for question in text.split("(reset)"):
            for status in _STATUS.findall(question):
                answer = solver(question)
                agreed[answer] += 1
                if answer not in (status, "unknown"):
                    wrong.append(f"{name}: {answer}, where z3 has {status}\n{question[:300]}")
    return wrong


def cvc5(question: str, seconds: float = 10.0) -> str:
    """The answer of cvc5, which tries two ways with polynomials; each runs aside, since cvc5 may miss its own limit."""
    start = multiprocessing.get_context("fork")
    for coverings in ("false", "true"):
        here, there = start.Pipe(duplex=False)
        process = start.Process(target=_send_answer, args=(there, question, coverings))
        process.start()
        there.close()
        answer = here.recv() if here.poll(seconds) else "unknown"
        process.kill()
        process.join()
        if answer != "unknown":
            return str(answer)
    return "unknown"


def _send_answer(there: Connection, question: str, coverings: str) -> None:
    from cvc5 import InputLanguage, InputParser
    from cvc5 import Solver as Cvc5

    solver = Cvc5()
    solver.setLogic("ALL")
    solver.setOption("nl-cov", coverings)
    parser = InputParser(solver)
    parser.setStringInput(InputLanguage.SMT_LIB_2_6, question, "question")
    answer = ""
    while not (command := parser.nextCommand()).isNull():
        answer += command.invoke(solver, parser.getSymbolManager())
    there.send(answer.split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files are written")
    parser.add_argument("--ask", action="store_true", help="put them to cvc5, and fail where it disagrees")
    arguments = parser.parse_args()
    scripts = dict(scripts_of(Book(Layout.here(), LAPTOP)))
    for name, text in scripts.items():
        write_whole(arguments.folder / name, text + "\n")
    print(f"{len(scripts)} files of questions in {arguments.folder}")
    if arguments.ask:
        counts: Counter[str] = Counter()
        wrong = disagreements(iter(scripts.items()), cvc5, counts)
        print(f"cvc5: {counts['unsat']} unsat, {counts['sat']} sat, {counts['unknown']} unknown within 20 s")
        print("\n".join(wrong) or "no answer other than that of z3")
        sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
