"""Profiles fit the notebooks that they name."""

from typing import Any

import pytest

from bookpress.layout import Layout
from bookpress.profile import PAPER, ProfileError, check_profile, load_profile, settings_for


def test_the_paper_profile_names_notebooks_and_parameters_that_there_are() -> None:
    assert check_profile(PAPER, Layout.here()) == []


def test_every_full_size_run_says_what_it_costs() -> None:
    for notebook, settings in load_profile(PAPER, Layout.here()).items():
        assert settings.cost, notebook


def test_faults_of_a_profile_are_named(toy: Any) -> None:
    toy.add("good")
    toy.layout.profiles.mkdir()
    path = toy.layout.profiles / "paper.yaml"
    path.write_text("demo/good: {parameters: {m: 1}}\ndemo/gone: {}\n")
    assert check_profile("paper", toy.layout) == ["demo/good: no parameter 'm'", "no notebook source at gone.py"]
    path.write_text("demo/good: {minutes: 0}\n")
    with pytest.raises(ProfileError, match="minutes"):
        settings_for("demo/good", "paper", toy.layout)
    with pytest.raises(ProfileError, match="no profile 'desk'"):
        settings_for("demo/good", "desk", toy.layout)
