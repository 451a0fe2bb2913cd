"""Where a run comes from: versions, device, processor, commit, and parameters of the reader's own."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bookpress.claims import provenance
from bookpress.claims.provenance import OWN_VARIABLE, commit_of, environment, own_parameters, processor


@pytest.mark.parametrize(("placed", "device"), [(True, "A large GPU"), (False, "CPU")])
def test_a_gpu_counts_once_something_is_on_it(placed: bool, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(is_initialized=lambda: placed, get_device_name=lambda: "A large GPU")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    found = environment()
    assert found["device"] == device
    assert found["python"] == platform.python_version()
    assert (found["torch"].partition("+")[0], found["numpy"]) == (torch.__version__.partition("+")[0], np.__version__)
    assert found["processor"] == processor()


FIRST = "processor\t: 0\nmodel name\t: A 1 : fast\ncpu family\t: 6\nmodel\t\t: 85\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FIRST + "\n" + FIRST.replace("A 1", "B 2"), "A 1 : fast (family 6, model 85)"),
        ("CPU part\t: 0xd40\n", "an architecture"),
        (None, "a name"),
    ],
)
def test_a_processor_is_named_by_its_kind(
    text: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cpuinfo"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(provenance, "Path", lambda _: path)
    monkeypatch.setattr(platform, "machine", lambda: "an architecture")
    monkeypatch.setattr(platform, "processor", lambda: "a name")
    assert processor() == said


def git(folder: Path, *command: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *command], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "a").write_text("one")
    for command in (["init", "-q"], ["add", "a"], ["commit", "-qm", "m"]):
        git(folder, *command)
    return folder


def test_the_commit_is_marked_where_the_tree_differs(repository: Path) -> None:
    assert re.fullmatch("[0-9a-f]{12}", commit_of(repository))
    (repository / "a").write_text("two")
    assert re.fullmatch("[0-9a-f]{12}-dirty", commit_of(repository))


def test_the_commit_of_another_repository_is_not_ours(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = repository / "copy"
    copy.mkdir()
    assert commit_of(copy) == ""
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))  # as a hook of that repository does
    monkeypatch.setenv("GIT_INDEX_FILE", "none")
    assert commit_of(copy) == ""
    assert re.fullmatch("[0-9a-f]{12}", commit_of(repository))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_repository_of_another_user_has_its_commit(repository: Path) -> None:
    before = commit_of(repository)
    for path in [repository, *repository.rglob("*")]:
        os.chown(path, 65534, 65534)
    assert commit_of(repository) == before


@pytest.mark.parametrize(("told", "own"), [("", []), ("n", ["n"]), ("n,rate,", ["n", "rate"])])
def test_what_the_press_says_is_believed(told: str, own: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OWN_VARIABLE, told)
    assert own_parameters("demo/good") == own


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of an interactive session that the press knows nothing of."""
    names: dict[str, Any] = {}
    monkeypatch.delenv(OWN_VARIABLE, raising=False)
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(user_ns=names))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    return names


@pytest.mark.parametrize(("names", "own"), [({"n": 4}, ["n"]), ({"n": 3, "m": 4}, []), ({}, [])])
def test_without_the_press_the_session_is_compared_with_the_source(
    names: dict[str, int], own: list[str], toy: Any, session: dict[str, Any]
) -> None:
    session |= names
    assert own_parameters(toy.add("good")) == own
