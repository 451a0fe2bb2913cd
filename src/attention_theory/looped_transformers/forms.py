"""As printed, place by place: a construction or a listing that is wrong in print in more than one place."""

from collections.abc import Collection, Mapping

from attention_theory.validation import FORMS, Form, require

#: One form for all places, or a form for each of some; those not named are correct.
Forms = Form | Mapping[str, Form]


def printed_places(form: Forms, places: Collection[str]) -> frozenset[str]:
    """The places that are wanted as the paper prints them.

    Raises:
        ParameterError: a form that is neither ``correct`` nor ``printed``, or an unknown place.
    """
    if isinstance(form, str):
        require(form=(form, FORMS))
        return frozenset(places) if form == "printed" else frozenset()
    require(**{f"place {place!r}": (place, places) for place in form})
    require(**{f"form of {place!r}": (one, FORMS) for place, one in form.items()})
    return frozenset(place for place, one in form.items() if one == "printed")
