"""How a settled claim is shown: one panel, as Markdown for a notebook, as a block of a page, as text for a terminal."""

import re
from collections.abc import Container, Iterable, Sequence
from textwrap import shorten

from bookpress.claims.evidence import Certified, Item, Part, Role, Settled, describe, format_bound, format_measured
from bookpress.claims.registry import ProofMark, Verdict

#: Behind the verdict on a claim whose whole statement is settled for all inputs.
CERTIFIED = ", certified"

#: A panel of more comparisons than this opens on a click.
ROWS_SHOWN = 8

_FALLS_SHORT = {Verdict.PARTLY_REPRODUCED, Verdict.NOT_REPRODUCED}

#: A relation as it stands before its bound in a sentence; nothing for what is equal.
IN_WORDS = {"==": "", "!=": "other than ", "<": "below ", "<=": "at most ", ">": "above ", ">=": "at least "}

_SIGNS = {"<=": "≤", ">=": "≥", "==": "=", "!=": "≠"}

#: A number with an exponent, as Python writes it.
_POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)\b")

#: A hyphen that is a minus sign: before a digit, and behind nothing that it could subtract from.
_MINUS = re.compile(r"(?:(?<=^)|(?<=[\s(\[]))-(?=\d)")

#: The whole of a measured value, up to a bracket behind it.
_TRUTH = re.compile(r"^(?:True|False|-?inf)(?=$| \()")
_WORDS = {"True": "yes", "False": "no", "inf": "∞", "-inf": "−∞"}

#: The worst of a single case is that case.
_ONLY_CASE = re.compile(r" \(worst of 1: ([^()]*)\)$")

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def verdict_class(verdict: Verdict) -> str:
    """The CSS class of a verdict's badge."""
    return "verdict-" + verdict.value.replace(" ", "-")


def proof_class(mark: ProofMark) -> str:
    """The CSS class of the badge of a proof mark."""
    return "proof-" + mark.value.replace(" ", "-")


def proof_in_words(mark: ProofMark) -> str:
    """The mark where nothing around it says that it is of a proof: ``proof repaired``, or ``proved here``."""
    return mark.value if mark is ProofMark.PROVED_HERE else f"proof {mark.value}"


def panel_markdown(settled: Settled) -> str:
    """For a notebook: title, result and the table; a long one in a fold that Jupyter and code hosts know."""
    fold = f"<details><summary>All {len(settled.evidence)} comparisons</summary>"
    return "\n".join([f"**{title_of(settled)}**", "", *_body(settled, [fold, ""], ["", "</details>"])])


def panel_block(settled: Settled) -> str:
    """For a page of the book: a box coloured by the verdict, a long table in a fold, a link behind each certificate."""
    opening = f"::::::{{admonition}} {title_of(settled)}\n:class: verdict-panel {verdict_class(settled.verdict)}\n"
    fold = f":::::{{dropdown}} All {len(settled.evidence)} comparisons"
    block = "\n".join([opening, *_body(settled, [fold, ""], [":::::"]), "::::::"])
    return block.replace("*For all inputs*", "[*For all inputs*](/generated/certificates.md)")


def panel_text(settled: Settled) -> str:
    """For a terminal: a line for each comparison."""
    proof = f"; {proof_in_words(settled.proof)}" if settled.proof else ""
    lines = [f"{settled.claim}: {verdict_in_words(settled)}{proof} (expected: {settled.expected.value})"]
    for item in settled.evidence:
        words = outcome(item, settled.verdict).replace("*", "")
        of = " (proof)" if item.of is Part.PROOF else ""
        said = describe(item.model_copy(update={"relation": _relation(item)}))
        lines.append(f"  {_heading_of(item.role).lower() + of:15} {said}  [{words}]")
    lines += [f"  stand-in: {settled.stand_in}"] if settled.stand_in else []
    lines += [f"  note: {settled.note}"] if settled.note else []
    return "\n".join(lines)


def _body(settled: Settled, opening: list[str], closing: list[str]) -> list[str]:
    """The result, the table, folded if it is long, and the remarks below it."""
    rows = ["| | what is compared | ours | | bound | outcome |", "|---|---|---:|:---:|:---|---|"]
    rows += [_row(item, settled.verdict) for item in settled.evidence]
    if len(settled.evidence) > ROWS_SHOWN:
        rows = [*opening, *rows, *closing]
    remarks = [line for one in settled.certificates for line in ("", certificate_in_words(one))]
    remarks += ["", f"*Stand-in:* {settled.stand_in}"] if settled.stand_in else []
    remarks += ["", f"*Undecided at these parameters:* {escape(settled.note)}"] if settled.note else []
    return [result(settled), "", *rows, *remarks]


def certificate_in_words(certified: Certified) -> str:
    """What was proved, for which inputs, by which engine in how long, and how its control failed."""
    control = certified.control
    case, given = (escape(shorten(text, 160, placeholder=" …")) for text in (control.counterexample, control.observed))
    proved = f"*For all inputs* ({escape(certified.covers)}): {escape(certified.statement)}"
    engine = f"*Engine:* {escape(certified.engine)}, {certified.seconds:.2g} s."
    return f"{proved} {engine} *Control:* {escape(control.broken)}: the engine finds {case}; the code gives {given}."


def title_of(settled: Settled) -> str:
    """``Lemma 4.4: holds with correction · proof repaired``; of a claim of the book's own ``holds · proved here``."""
    title = f"{settled.label}: {verdict_in_words(settled)}"
    if settled.proof is None or settled.proof is ProofMark.NOT_CHECKED:
        return title
    return f"{title} · {proof_in_words(settled.proof)}"


def verdict_in_words(settled: Settled) -> str:
    """``holds``, or ``holds, certified`` where the whole statement is settled for all inputs."""
    return settled.verdict.value + (CERTIFIED if settled.is_certified else "")


def result(settled: Settled) -> str:
    """The outcome in a sentence or two; the first failing form is named, one of the statement if any."""
    items = [item for item in settled.evidence if item.counts]
    checks = [item.passed is True for item in items if not item.role.must_fail]
    sentences = [_passing(sum(checks), len(checks))] if checks else []
    if broken := [item for item in items if _is_broken(item)]:
        of_statement = [item for item in broken if item.of is Part.STATEMENT]
        sentences.append(_breaking((of_statement or broken)[0], settled.verdict))
    if failed := sum(item.role is Role.CONTROL and item.passed is False for item in items):
        sentences.append(
            "The control fails, as it must." if failed == 1 else f"The {failed} controls fail, as they must."
        )
    return " ".join(sentences)


def breaking(settled: Settled, part: Part) -> list[str]:
    """The comparisons which show that something in the paper is wrong, in words: of the statement, or of its proof."""
    return [_falls_short(item) for item in settled.evidence if _is_broken(item) and item.of is part]


def _is_broken(item: Item) -> bool:
    return item.role in (Role.PRINTED, Role.MISPRINT, Role.COUNTEREXAMPLE) and item.passed is False


def _breaking(item: Item, verdict: Verdict) -> str:
    """``The paper's form fails: columns as stated, difference 2.862, which should be at most 0.1.``"""
    begin = "The paper's proof fails" if item.of is Part.PROOF else "The paper's form fails"
    if item.role is Role.COUNTEREXAMPLE:
        begin = "The statement fails on an example"
    elif item.role is Role.PRINTED and verdict in _FALLS_SHORT:
        begin = "Unlike in the paper"
    return f"{begin}: {_falls_short(item)}."


def _falls_short(item: Item) -> str:
    """``columns as stated, difference 2.862, which should be at most 0.1``."""
    runs_on = item.label[-1:].isalpha() and not isinstance(item.measured, str | bool)  # a word, and a number after it
    measured = ("" if runs_on else ":") + " " + set_number(format_measured(item))
    bound = IN_WORDS[item.relation] + set_number(format_bound(item))
    return f"{set_label(item.label)}{measured}, which should be {bound}"


def _passing(passed: int, count: int) -> str:
    if passed < count:
        return f"{passed} of {count} checks pass."
    return {1: "The check passes.", 2: "Both checks pass."}.get(count, f"All {count} checks pass.")


def outcome(item: Item, verdict: Verdict) -> str:
    """Passed or failed, and whether it had to, in words and never in a colour alone.

    What is bold speaks against the verdict. The paper's form may pass at a reader's own parameters; what a paper shows
    and a reproduction does not had no need to fail.
    """
    if not item.counts:
        return "shown"
    unlike = ", unlike in the paper" if item.role is Role.PRINTED and verdict in _FALLS_SHORT else ""
    match item.role.must_fail, item.passed:
        case False, True:
            return "passes"
        case False, False:
            return "**fails**"
        case True, False:
            return f"fails{unlike or ', as it must'}"
        case True, True:
            return "**passes, which it must not**" if item.role is Role.CONTROL else "passes here"
    return f"**undecided**{unlike}" if unlike or not item.role.must_fail else "**undecided, where it must fail**"


def escape(text: str) -> str:
    """Text that Markdown is to show as it was typed."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~^&])", r"\\\1", text)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Container[int] = ()) -> str:
    """A Markdown table, with the columns ``numbers`` to the right; what would end a line or a cell is put otherwise."""
    rule = ["---:" if column in numbers else "---" for column in range(len(heads))]
    lines = ([cell.replace("\n", " ").replace(" | ", " &#124; ") for cell in row] for row in (heads, rule, *rows))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _row(item: Item, verdict: Verdict) -> str:
    relation, bound = _relation(item), set_number(format_bound(item))
    if item.role is Role.NUMBER:
        relation, bound = "", f"{bound} (paper)" if bound else ""
    role = _heading_of(item.role) + (" of the proof" if item.of is Part.PROOF else "")
    cells = (role, set_label(item.label), set_number(format_measured(item)), relation, bound, outcome(item, verdict))
    return "| " + " | ".join(cells) + " |"


def _relation(item: Item) -> str:
    """The sign between what was measured and its bound, as it is true: ``≤``, ``not ≤``, ``≤?`` where it is open."""
    sign = _SIGNS.get(item.relation, item.relation)
    if item.passed is False:
        return {"=": "≠", "≠": "="}.get(sign, f"not {sign}")
    return f"{sign}?" if item.counts and not item.passed else sign


def _heading_of(role: Role) -> str:
    return "Paper's form" if role is Role.PRINTED else role.value.capitalize()


def set_number(number: str) -> str:
    """A number as print sets it: 1.2e-07 becomes 1.2·10⁻⁷, 1e-12 becomes 10⁻¹²; True becomes yes."""
    return escape(_ONLY_CASE.sub(r" (\1)", set_powers(set_truth(number))))


def set_label(label: str) -> str:
    """The words of a comparison, with powers and transposes as print sets them: 10^6 becomes 10⁶."""
    powers = re.sub(r"\^(-?\d+)\b", lambda hit: hit[1].translate(_SUPERSCRIPTS), label)
    return escape(set_powers(re.sub(r"\^T\b", "ᵀ", powers)))


def set_powers(text: str) -> str:
    """Powers of ten and minus signs as print sets them, in any text."""

    def power(hit: re.Match[str]) -> str:
        return ("" if hit[1] == "1" else f"{hit[1]}·") + f"10{str(int(hit[2])).translate(_SUPERSCRIPTS)}"

    return _MINUS.sub("−", _POWER.sub(power, text))


def set_truth(text: str) -> str:
    """What Python calls True and False in words, and its infinity as a sign."""
    return _TRUTH.sub(lambda hit: _WORDS[hit[0]], text)
