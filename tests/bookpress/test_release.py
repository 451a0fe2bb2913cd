"""What a release is made of: archives that are the same twice, checksums that fit, and nothing old or uncommitted."""

import hashlib
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from bookpress.build import BuildError
from bookpress.release import make_release, pack, write_checksums


def test_an_archive_is_the_same_twice_and_holds_what_it_was_given(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "b.txt").write_text("b")
    (tree / "inner" / "a.txt").write_text("a")
    first, again = tmp_path / "first.tar.gz", tmp_path / "again.tar.gz"
    pack(first, tmp_path, tree.rglob("*"), 1_000_000_000)
    (tree / "b.txt").touch()
    pack(again, tmp_path, reversed(list(tree.rglob("*"))), 1_000_000_000)
    assert first.read_bytes() == again.read_bytes()
    with tarfile.open(first) as archive:
        assert archive.getnames() == ["tree/b.txt", "tree/inner/a.txt"]


def test_checksums_are_of_every_file_but_their_own(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    write_checksums(tmp_path)
    write_checksums(tmp_path)
    assert (tmp_path / "SHA256SUMS").read_text() == f"{hashlib.sha256(b'1').hexdigest()}  one\n"


def test_what_is_not_committed_or_not_built_is_refused(toy: Any) -> None:
    root = toy.layout.root
    toy.add("good")
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x"]
    (root / ".gitignore").write_text("/build/\n/src/\n")
    subprocess.run([*git, "init", "-q"], cwd=root, check=True)
    with pytest.raises(BuildError, match="not committed"):
        make_release(toy.layout)
    subprocess.run([*git, "add", "-A"], cwd=root, check=True)
    subprocess.run([*git, "commit", "-qm", "all"], cwd=root, check=True)
    with pytest.raises(BuildError, match="demo/good has no record of the present code"):
        make_release(toy.layout)
