"""How a settled claim is shown: one panel, as Markdown for the page and as text for a terminal."""

from bookpress.evidence import Item, Role, Settled, describe, format_bound, format_number
from bookpress.registry import Verdict

#: Words for the outcome of a comparison. Never a colour alone.
_OUTCOME = {
    (False, True): "passes",
    (False, False): "**fails**",
    (True, False): "fails, as it must",
    (True, True): "**passes, which it must not**",
}

_FALLS_SHORT = {Verdict.PARTLY_REPRODUCED, Verdict.NOT_REPRODUCED}

_HEADINGS = {
    Role.CHECK: "Check",
    Role.CONTROL: "Control",
    Role.PRINTED: "As printed",
    Role.COUNTEREXAMPLE: "Counterexample",
    Role.NUMBER: "Number",
}


def verdict_class(verdict: Verdict) -> str:
    """The CSS class of a verdict's badge."""
    return "verdict-" + verdict.value.replace(" ", "-")


def panel_markdown(settled: Settled) -> str:
    lines = [
        f"**{settled.label}: {settled.verdict.value}**",
        "",
        "| | what is compared | ours | | bound | outcome |",
        "|---|---|---:|:---:|:---|---|",
        *(_row(item, settled.verdict) for item in settled.evidence),
    ]
    if settled.stand_in:
        lines += ["", f"*Stand-in:* {settled.stand_in}"]
    return "\n".join(lines)


def panel_text(settled: Settled) -> str:
    lines = [f"{settled.claim}: {settled.verdict.value} (expected: {settled.expected.value})"]
    for item in settled.evidence:
        words = outcome(item, settled.verdict).replace("*", "")
        lines.append(f"  {_HEADINGS[item.role].lower():15} {describe(item)}  [{words}]")
    if settled.stand_in:
        lines.append(f"  stand-in: {settled.stand_in}")
    return "\n".join(lines)


def outcome(item: Item, verdict: Verdict) -> str:
    """Passed or failed, and whether it had to. What print shows and a reproduction does not had no need to fail."""
    if item.passed is None:
        return "shown"
    if item.role is Role.PRINTED and not item.passed and verdict in _FALLS_SHORT:
        return "fails, unlike in print"
    return _OUTCOME[item.role.must_fail, item.passed]


def _row(item: Item, verdict: Verdict) -> str:
    relation = {"<=": "≤", ">=": "≥", "==": "=", "!=": "≠"}.get(item.relation, item.relation)
    bound = format_bound(item)
    if item.role is Role.NUMBER:
        relation, bound = "", f"{bound} ({item.source})"
    label = item.label.replace("|", "\\|")
    cells = (_HEADINGS[item.role], label, format_number(item.measured), relation, bound, outcome(item, verdict))
    return "| " + " | ".join(cells) + " |"
