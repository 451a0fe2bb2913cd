"""A clone and its set-up on machines that are set in other ways: line ends, pip's settings, the folder's name."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

#: Takes the place of Python: makes an environment whose Python notes the variables it was called with.
PYTHON = """\
#!/bin/sh
[ "$2" = venv ] || exit 0
mkdir -p "$3/bin" && printf '#!/bin/sh\\nenv > environment\\n' > "$3/bin/python" && chmod +x "$3/bin/python"
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    path = tmp_path / "python"
    path.write_text(PYTHON)
    path.chmod(0o755)
    return path


def set_up(folder: Path, python: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    command = ["make", "setup", f"PYTHON={python}"]
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # of `make test`
    return subprocess.run(command, cwd=folder, env=outside | variables, capture_output=True, text=True, check=False)


def test_settings_of_pip_and_python_on_this_machine_do_not_reach_the_environment(tmp_path: Path, python: Path) -> None:
    folder = tmp_path / "it's a book"
    done = set_up(folder, python, PIP_USER="1", PIP_TARGET="/elsewhere", PYTHONPATH="/elsewhere")
    assert (done.returncode, done.stderr) == (0, "")
    variables = dict(line.split("=", 1) for line in (folder / "environment").read_text().splitlines() if "=" in line)
    assert variables["PIP_USER"] == "0"
    assert not {"PIP_TARGET", "PYTHONPATH"} & variables.keys()
    assert variables["PATH"].startswith(f"{folder}/.venv/bin:")
    assert "once; about" in done.stdout


def test_a_folder_in_which_pip_cannot_build_is_refused_in_one_line(tmp_path: Path, python: Path) -> None:
    done = set_up(tmp_path / "a {book}", python)
    assert done.returncode
    assert done.stdout.count("\n") == 1
    assert not (tmp_path / "a {book}" / ".venv").exists()


def test_a_clone_has_the_same_line_ends_whatever_git_converts(tmp_path: Path) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    for name in (".gitattributes", "Makefile", ".ci/run"):
        (origin / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, origin / name)
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=origin, check=True)
    subprocess.run(["git", "clone", "-q", "-c", "core.autocrlf=true", str(origin), str(clone)], check=True)
    assert (clone / ".ci" / "run").read_bytes() == (ROOT / ".ci" / "run").read_bytes()
