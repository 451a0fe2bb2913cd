"""One environment, described three times: pyproject, constraints and environment.yml must agree."""

import re
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions
from pathlib import Path
from typing import Any

import grimp
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {normal(name): version for name, version in pins}


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def requirements() -> list[Requirement]:
    extras = project()["optional-dependencies"].values()
    texts = [*project()["dependencies"], *(text for extra in extras for text in extra)]
    return [Requirement(text) for text in texts]


def test_every_requirement_is_pinned_to_a_version_that_it_admits() -> None:
    pins = constraints()
    for requirement in requirements():
        assert pins[normal(requirement.name)] in requirement.specifier, requirement


def test_every_library_that_is_imported_is_declared() -> None:
    extras, providers = project()["optional-dependencies"], packages_distributions()
    needed = {"attention_theory": [*project()["dependencies"], *extras["book"]]}
    needed["bookpress"] = [*needed["attention_theory"], *extras["test"]]
    for package, texts in needed.items():
        declared = {normal(Requirement(text).name) for text in texts}
        graph = grimp.build_graph(package, include_external_packages=True, cache_dir=None)
        outside = {name.partition(".")[0] for name in graph.modules} - set(sys.stdlib_module_names) - {package}
        by = {name: {normal(provider) for provider in providers[name]} for name in outside}
        assert {name for name, names in by.items() if not names & declared} == set()


def test_everything_installed_is_pinned() -> None:
    own = {"attention-theory-executed", "pip", "wheel", "setuptools"}
    pins = constraints()
    installed = {normal(found.name): found.version.split("+")[0] for found in distributions()}
    assert {name: version for name, version in installed.items() if name not in own and pins.get(name) != version} == {}


def test_the_conda_environment_installs_the_same() -> None:
    described = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, *_, by_pip = described["dependencies"]
    assert python.partition("=")[2] in SpecifierSet(project()["requires-python"])
    assert by_pip["pip"][0] == "-c constraints.txt"


def test_the_build_backend_is_pinned_as_everything_else() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    assert build["requires"] == [f"setuptools=={constraints()['setuptools']}"]


def test_no_pin_names_where_it_is_downloaded_from() -> None:
    for name in ("constraints.txt", "environment.yml", "pyproject.toml"):
        assert not re.search(r"https?://|file:|@", (ROOT / name).read_text()), name
