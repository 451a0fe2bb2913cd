"""The paper's version place by place: for a construction or a listing with more than one mistake."""

from collections.abc import Collection, Mapping

from attention_theory.validation import FORMS, Form, refuse_unless, require

#: One form for all places, or a form for each of some; those not named are correct.
Forms = Form | Mapping[str, Form]


def printed_places(form: Forms, places: Collection[str]) -> frozenset[str]:
    """The places that are wanted as the paper prints them.

    Raises:
        ParameterError: a form that is neither ``correct`` nor ``printed``, or an unknown place.
    """
    if not isinstance(form, Mapping):
        require(form=(form, FORMS))
        return frozenset(places) if form == "printed" else frozenset()
    refuse_unless(
        set(form) <= set(places) and set(form.values()) <= set(FORMS),
        f"form must be one of {FORMS}, or one of them for some of {list(places)}, got {dict(form)}",
    )
    return frozenset(place for place, one in form.items() if one == "printed")
