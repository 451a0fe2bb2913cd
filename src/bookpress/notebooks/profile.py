"""Profiles: the laptop run is each notebook's own defaults, the full run has the papers' own sizes."""

from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from bookpress.exits import Exit, Failure
from bookpress.files import load_yaml
from bookpress.layout import FULL, LAPTOP, Layout
from bookpress.notebooks.values import span_of

#: The limit on a point; a profile may raise it.
POINT_MINUTES = 60.0


class ProfileError(Failure, code=Exit.USAGE):
    """A profile file does not fit its schema, or names a notebook or a parameter that there is not."""


class Limits(BaseModel):
    """The parameters that a run is given, and what it may take of the machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parameters: dict[str, Any] = Field(default_factory=dict)
    gpu: bool = False
    minutes: float = Field(default=10.0, gt=0)
    memory_mb: int = Field(default=4000, gt=0)  # of which the kernel's own libraries take half a gigabyte


def _numbers(values: Any) -> Any:
    """The numbers of a span, and anything else as it is."""
    return span_of(values) or values if isinstance(values, str) else values


class Sweep(Limits):
    """A sweep as ``notebooks/profiles/full.yaml`` describes it.

    ``axes`` are lists, or spans of whole numbers, ``0..5``. ``seconds`` (of one point on one core)
    and ``first`` (what is smallest is made first) are arithmetic of the parameters. The picture has the reported
    ``number`` against the axis ``across``, a curve for each value of ``apart``, named by ``words``. A table compares
    the curves with the one at ``against``, each where its number is smallest.
    """

    title: str
    notebook: str
    axes: dict[str, Annotated[list[Any], BeforeValidator(_numbers)]]
    first: str = ""
    seconds: str
    minutes: float = Field(default=POINT_MINUTES, gt=0)
    across: str
    number: str
    apart: str | None = None
    against: Any = None
    words: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _of_its_axes(self) -> Self:
        if unknown := {self.across, self.apart} - {None, *self.axes}:
            raise ValueError(f"across and apart name axes, got {unknown.pop()!r}; there are: {', '.join(self.axes)}")
        values = self.axes.get(self.apart or "", [])
        if self.against is not None and self.against not in values:
            raise ValueError(f"against: {self.against!r} is no value of apart; there are: {values}")
        return self


class Settings(Limits):
    """How one notebook is run under a profile."""

    cost: str | None = None
    sweeps: list[Sweep] = Field(default_factory=list)


def load_profile(name: str, layout: Layout) -> dict[str, Settings]:
    """The settings of every notebook that the profile names.

    Raises:
        ProfileError: no such profile, or its file is at fault.
    """
    if name == LAPTOP:
        return {}
    if name not in layout.profile_names():
        raise ProfileError(f"no profile {name!r} (there are: {', '.join(layout.profile_names())})")
    path = layout.profiles / f"{name}.yaml"
    try:
        return TypeAdapter(dict[str, Settings]).validate_python(load_yaml(path) or {})
    except (yaml.YAMLError, ValidationError) as error:
        raise ProfileError(f"{path.name}: {error}") from error


def full_size(layout: Layout) -> dict[str, Settings]:
    """The settings of the full-size runs; none in a book that describes no such run."""
    return load_profile(FULL, layout) if FULL in layout.profile_names() else {}


def settings_for(notebook: str, profile: str, layout: Layout) -> Settings:
    """The settings of one notebook; its own defaults where the profile does not name it."""
    return load_profile(profile, layout).get(notebook, Settings())
