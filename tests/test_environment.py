"""One environment, described three times: pyproject, constraints and environment.yml must agree."""

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {normal(name): version for name, version in pins}


def requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    return [Requirement(text) for text in texts]


def test_every_requirement_is_pinned_to_a_version_that_it_admits() -> None:
    pins = constraints()
    for requirement in requirements():
        assert pins[normal(requirement.name)] in requirement.specifier, requirement


def test_everything_installed_is_pinned() -> None:
    own = {"attention-theory-executed", "pip", "wheel", "setuptools"}
    pins = constraints()
    installed = {normal(found.name): found.version.split("+")[0] for found in distributions()}
    assert {name: version for name, version in installed.items() if name not in own and pins.get(name) != version} == {}


def test_the_conda_environment_installs_the_same() -> None:
    described = yaml.safe_load((ROOT / "environment.yml").read_text())
    *conda, by_pip = described["dependencies"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [name.partition("=")[0] for name in conda] == ["python", "pip"]
    assert conda[0].partition("=")[2] in project["requires-python"]
    constraint, package = by_pip["pip"]
    assert constraint == "-c constraints.txt"
    extras = re.fullmatch(r"-e \.\[(.*)\]", package)
    assert extras
    assert extras[1].split(",") == ["book", "test"]
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])
    assert described["name"] == project["name"]


def test_no_pin_names_where_it_is_downloaded_from() -> None:
    for name in ("constraints.txt", "environment.yml", "pyproject.toml"):
        assert not re.search(r"https?://|file:|@", (ROOT / name).read_text()), name
