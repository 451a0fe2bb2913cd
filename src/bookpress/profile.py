"""Profiles: the laptop run is each notebook's own defaults, the full run has the papers' own sizes."""

from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from bookpress.layout import Layout
from bookpress.notebook import SourceError, parameters_of, read_source
from bookpress.profile_names import FULL, LAPTOP
from bookpress.sweep import Sweep
from bookpress.yaml_files import load_yaml

#: The limit on a whole notebook; a profile may raise it. One cell may take up to a share of it.
NOTEBOOK_MINUTES = 10.0
CELL_SHARE = 0.8

#: What a run asks of a cluster; a profile may raise it. The kernel's own libraries take half a gigabyte of it.
MEMORY_MB = 4000


class ProfileError(Exception):
    """A profile file does not fit its schema, or names a notebook or a parameter that there is not."""


class Settings(BaseModel):
    """How one notebook is run under a profile."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parameters: dict[str, Any] = Field(default_factory=dict)
    gpu: bool = False
    minutes: float = Field(default=NOTEBOOK_MINUTES, gt=0)
    memory_mb: int = Field(default=MEMORY_MB, gt=0)
    cost: str | None = None
    sweeps: list[Sweep] = Field(default_factory=list)

    @property
    def cell_minutes(self) -> float:
        """The limit on one cell."""
        return CELL_SHARE * self.minutes


def load_profile(name: str, layout: Layout) -> dict[str, Settings]:
    """The settings of every notebook that the profile names.

    Raises:
        ProfileError: no such profile, or its file is at fault.
    """
    if name == LAPTOP:
        return {}
    path = layout.profiles / f"{name}.yaml"
    if not path.is_file():
        raise ProfileError(f"no profile '{name}' (there are: {LAPTOP}, {FULL})")
    try:
        content = load_yaml(path) or {}
        return TypeAdapter(dict[str, Settings]).validate_python(content)
    except (yaml.YAMLError, ValidationError) as error:
        raise ProfileError(f"{path.name}: {error}") from error


def settings_for(notebook: str, profile: str, layout: Layout) -> Settings:
    """The settings of one notebook; its own defaults where the profile does not name it."""
    return load_profile(profile, layout).get(notebook, Settings())


def check_profile(name: str, layout: Layout) -> list[str]:
    """Faults of a profile against the sources: unknown notebooks and unknown parameters."""
    faults = []
    for notebook, settings in load_profile(name, layout).items():
        try:
            known = {one.name for one in parameters_of(read_source(layout.source(notebook)), notebook)}
        except SourceError as error:
            faults.append(str(error))
            continue
        faults += [f"{notebook}: no parameter '{unknown}'" for unknown in settings.parameters.keys() - known]
    return sorted(faults)
