import pytest

from attention_theory.looped_transformers._forms import Forms, printed_places
from attention_theory.validation import ParameterError

PLACES = ("sign", "index")


@pytest.mark.parametrize(
    ("form", "printed"),
    [
        ("correct", set()),
        ("printed", {"sign", "index"}),
        ({"sign": "printed", "index": "correct"}, {"sign"}),
        ({}, set()),
    ],
)
def test_all_places_or_those_named(form: Forms, printed: set[str]) -> None:
    assert printed_places(form, PLACES) == printed


@pytest.mark.parametrize(("form", "message"), [("wrong", "form"), ({"sum": "printed"}, "sum"), ({"sign": "x"}, "sign")])
def test_unknown_forms_and_places_are_refused(form: Forms, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        printed_places(form, PLACES)
