"""The wheel in an environment with nothing but what it asks for: no press, no clone, no library of the book."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
README = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
DOCTESTS = """
import doctest, attention_theory as at
names = [(at.nn, name) for name in at.nn.__all__] + [(at, name) for name in at.__all__ if callable(getattr(at, name))]
finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
for package, name in names:
    for example in finder.find(getattr(package, name), name, globs={}):
        runner.run(example)
failed, tried = runner.summarize(verbose=False)
assert tried >= len(names) and not failed
"""
pytestmark = pytest.mark.slow


def needed_by(texts: list[str]) -> dict[str, Distribution]:
    """The installed distributions that some requirements bring, without extras."""
    found: dict[str, Distribution] = {}
    requirements = [Requirement(text) for text in texts]
    while requirements:
        requirement = requirements.pop()
        if requirement.name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found[requirement.name] = distribution(requirement.name)
        requirements += [Requirement(text) for text in found[requirement.name].requires or []]
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a bare environment with the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", folder, source], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "bare"], check=True)
    (packages,) = (folder / "bare").glob("lib/python*/site-packages")
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(packages)
    (metadata,) = packages.glob("*.dist-info")
    asked = [text for text in Distribution.at(metadata).requires or [] if "extra ==" not in text]
    link(packages, asked)
    return folder / "bare" / "bin" / "python"


def link(packages: Path, texts: list[str]) -> None:
    """Put what some requirements bring into the packages of the bare environment."""
    for needed in needed_by(texts).values():
        for name in {file.parts[0] for file in needed.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            if not (packages / name).exists():
                (packages / name).symlink_to(Path(str(needed.locate_file(name))))


def run(python: Path, *code: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [python, *(code if len(code) > 1 else ("-c", *code))],
        cwd=python.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_is_bare(python: Path) -> None:
    assert "No module named 'pydantic'" in run(python, "import pydantic").stderr
    assert str(ROOT) not in run(python, "import attention_theory; print(attention_theory.__file__)").stdout


@pytest.mark.parametrize("example", README, ids=range(len(README)))
def test_each_example_of_the_readme_runs(python: Path, example: str) -> None:
    ended = run(python, example)
    assert ended.returncode == 0, ended.stderr


def test_each_example_of_the_door_runs(python: Path) -> None:
    ended = run(python, DOCTESTS)
    assert ended.returncode == 0, ended.stdout + ended.stderr
