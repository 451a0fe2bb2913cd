"""Curves of a sweep, each at its own best place, against one of them: gaps in pairs, seed by seed."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars

from bookpress.claims.intervals import interval_of

#: The draws of a number at each place of the axis.
Curve = Mapping[Any, Sequence[float]]


@dataclass(frozen=True)
class Gap:
    """A curve beside the one it is compared with; ``interval`` is that of the mean of the gaps, if there are two."""

    name: Any
    place: Any
    at_an_end: bool
    value: float
    gap: float
    interval: tuple[float, float] | None


def gaps_at_best(table: polars.DataFrame, across: str, number: str, apart: str, against: Any) -> list[Gap]:
    """How far each value of ``apart`` is from ``against``, each at the value of ``across`` with its least ``number``.

    The draws of a number are paired: the n-th of every point comes from the same seed. A best place that was chosen by
    the draw that it is then judged on would look better than it is, so in the gap of one draw either curve stands at
    the place that is best over the *other* draws. Curves that are not yet whole, with a place or a draw that others
    have missing, are left out, and so is everything where the one to compare with is not whole.
    """
    curves = _curves(table, across, number, apart)
    places = table[across].unique(maintain_order=True).to_list()
    draws = max(len(values) for curve in curves.values() for values in curve.values())
    whole = {
        name: curve
        for name, curve in curves.items()
        if [place for place in places if len(curve.get(place, ())) == draws] == places
    }
    if against not in whole:
        return []
    reference = _judged(whole[against])
    return [_gap(name, curve, reference, places) for name, curve in whole.items()]


def _curves(table: polars.DataFrame, across: str, number: str, apart: str) -> dict[Any, dict[Any, list[float]]]:
    curves: dict[Any, dict[Any, list[float]]] = {}
    for row in table.iter_rows(named=True):
        if row[number] is not None:
            curves.setdefault(row[apart], {}).setdefault(row[across], []).append(float(row[number]))
    return curves


def _gap(name: Any, curve: Curve, reference: list[float], places: list[Any]) -> Gap:
    place = min(curve, key=lambda one: statistics.fmean(curve[one]))
    gaps = [own - other for own, other in zip(_judged(curve), reference, strict=True)]
    return Gap(
        name,
        place,
        place in (min(places), max(places)),
        statistics.fmean(curve[place]),
        statistics.fmean(gaps),
        interval_of(gaps) if len(gaps) > 1 else None,
    )


def _judged(curve: Curve) -> list[float]:
    """Each draw at the place that is best over the other draws; a single draw at its own best."""
    draws = len(next(iter(curve.values())))
    return [curve[min(curve, key=lambda place: _without(curve[place], draw))][draw] for draw in range(draws)]


def _without(values: Sequence[float], draw: int) -> float:
    others = [value for number, value in enumerate(values) if number != draw]
    return statistics.fmean(others or values)
