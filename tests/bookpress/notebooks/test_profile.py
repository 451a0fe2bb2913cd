"""Profiles fit the notebooks that they name."""

from typing import Any

import pytest

from bookpress.layout import FULL, Layout
from bookpress.notebooks.profile import ProfileError, load_profile, settings_for
from bookpress.notebooks.source import Notebook


def test_the_paper_profile_names_notebooks_and_parameters_that_there_are() -> None:
    for name, settings in load_profile(FULL, Layout.here()).items():
        known = {parameter.name for parameter in Notebook(name, Layout.here()).parameters}
        assert settings.parameters.keys() <= known, name


def test_every_full_size_run_says_what_it_costs() -> None:
    for notebook, settings in load_profile(FULL, Layout.here()).items():
        assert settings.cost, notebook


def test_faults_of_a_profile_are_named(toy: Any) -> None:
    toy.add("good")
    toy.layout.profiles.mkdir()
    path = toy.layout.profiles / "full.yaml"
    for limit in ("minutes", "memory_mb"):
        path.write_text(f"demo/good: {{{limit}: 0}}\n")
        with pytest.raises(ProfileError, match=limit):
            settings_for("demo/good", "full", toy.layout)
    with pytest.raises(ProfileError, match="no profile 'desk'"):
        settings_for("demo/good", "desk", toy.layout)
