"""What tests of instruments share: the rules of access, and how a machine is run to its end."""

from typing import Any

WCAG = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "resultTypes": ["violations"],
}

#: Lists the words of instruments that are less than nine pixels high.
SMALL_TEXT = """[...document.querySelectorAll('.instrument *')].filter((one) => one.getClientRects().length
    && [...one.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())
    && parseFloat(getComputedStyle(one).fontSize) < 9).map((one) => one.outerHTML.slice(0, 80))"""


def run_to_the_end(page: Any) -> str:
    """Press the button, and return the status once the machine has ended."""
    button = page.get_by_role("button", name="To the end")
    button.press("Enter")
    page.wait_for_function("button => button.disabled", arg=button.element_handle())
    return str(page.locator(".instrument-status").inner_text())
