"""What a release is made of: archives that are the same twice, checksums that fit, and nothing old or uncommitted."""

import hashlib
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from bookpress.graph.engine import BuildError
from bookpress.site.release import make_release, pack, print_sheet, write_checksums


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


def test_a_sheet_is_printed_where_there_is_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    page, sheet = tmp_path / "index.html", tmp_path / "sheet.pdf"
    assert print_sheet(page, sheet) is False
    browser = tmp_path / "chromium-browser"
    browser.write_text(
        '#!/bin/sh\nfor one in "$@"; do case $one in --print-to-pdf=*) echo "$@" > "${one#*=}";; esac; done\n'
    )
    browser.chmod(0o755)
    assert print_sheet(page, sheet) is True
    assert page.as_uri() in sheet.read_text()
    assert "--headless" in sheet.read_text()
    browser.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(subprocess.CalledProcessError):
        print_sheet(page, sheet)


def test_an_archive_says_nothing_of_who_made_it(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    (tmp_path / "one").chmod(0o600)
    pack(tmp_path / "all.tar.gz", tmp_path, [tmp_path / "one"], 1_000_000_000)
    with tarfile.open(tmp_path / "all.tar.gz") as archive:
        (member,) = archive.getmembers()
    assert (member.mtime, member.mode) == (1_000_000_000, 0o644)
    assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
