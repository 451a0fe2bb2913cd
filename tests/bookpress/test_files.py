"""Files written whole, hashes of content, what killed processes have left behind, and YAML that people write."""

import hashlib
import os
import socket
import tempfile
from pathlib import Path

import pytest
import yaml

from bookpress import files
from bookpress.files import HOST, digest, digest_of_file, load_yaml, remove_leftovers, scratch_folder, write_whole

#: Above the largest number that Linux gives to a process.
NOBODY = 1 << 23


def test_a_hash_is_short_and_of_the_values_alone() -> None:
    assert len(digest("a")) == 16
    assert digest({"a": 1, "b": Path("x")}) == digest({"b": Path("x"), "a": 1})
    assert len({digest(1, 2), digest(2, 1), digest([1, 2]), digest(1), digest("1"), digest()}) == 6


def test_the_hash_of_a_text_does_not_depend_on_line_ends(tmp_path: Path) -> None:
    (tmp_path / "unix").write_bytes(b"a\nb\n")
    (tmp_path / "windows").write_bytes(b"a\r\nb\r\n")
    (tmp_path / "data").write_bytes(b"\0a\r\nb\r\n")
    hashes = [digest_of_file(tmp_path / name) for name in ("unix", "windows")]
    assert hashes[0] == hashes[1]
    assert digest_of_file(tmp_path / "data") == hashlib.sha256(b"\0a\r\nb\r\n").hexdigest()[:16]


def test_a_file_is_written_with_its_folders_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.txt"
    for text in ("first", "s\u00e9cond"):
        write_whole(path, text)
        assert path.read_text(encoding="utf-8") == text
        assert list(path.parent.iterdir()) == [path]


def test_what_cannot_be_written_leaves_nothing_aside(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match=r"directory: '.*/taken'$"):
        write_whole(tmp_path / "taken", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_disk_is_named_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.with_name(f".a.txt.{HOST}-{os.getpid()}.aside").symlink_to("/dev/full")
    with pytest.raises(OSError, match=rf"No space left on device: '{path}'"):
        write_whole(path, "text")


def test_only_what_ended_processes_of_this_machine_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SCRATCH", tmp_path / "scratch")
    names = {
        f"book/deep/.a.md.{HOST}-{NOBODY}.aside": True,
        f"book/.b.md.{HOST}-{os.getpid()}.aside": False,
        f"book/.c.md.other-machine-{NOBODY}.aside": False,
        f"book/.d.md.{HOST}-{NOBODY}.aside.txt": False,
        f"book/e.md.{HOST}-{NOBODY}.aside": False,
        f"scratch/book-x.{HOST}-{NOBODY}.aside/inner": True,
        f"scratch/book-x.{HOST}-{os.getpid()}.aside/inner": False,
        f"scratch/book-x.other-machine-{NOBODY}.aside/inner": False,
        f"scratch/my-book-x.{HOST}-{NOBODY}.aside/inner": False,
        f"elsewhere/.f.md.{HOST}-{NOBODY}.aside": False,
    }
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    left = remove_leftovers([tmp_path / "book"])
    assert {name: not (tmp_path / name).exists() for name in names} == names
    assert [path.relative_to(tmp_path).as_posix() for path in left] == [
        f"book/deep/.a.md.{HOST}-{NOBODY}.aside",
        f"scratch/book-x.{HOST}-{NOBODY}.aside",
    ]
    assert not left[1].exists()
    assert remove_leftovers([tmp_path / "book"]) == []


def test_a_scratch_folder_has_a_short_name_with_its_owner_and_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("d" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with scratch_folder() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(Path(folder, "kernel-5")))
    assert folder.endswith(f".{HOST}-{os.getpid()}.aside")
    assert not Path(folder).exists()


def test_a_key_that_is_given_twice_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: {b: 1, c: 2}\n")
    assert load_yaml(path) == {"a": {"b": 1, "c": 2}}
    path.write_text("a: {b: 1, b: 2}\n")
    with pytest.raises(yaml.YAMLError, match="the key 'b' is given twice"):
        load_yaml(path)


def test_numbers_are_read_as_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: [1e-3, 1E3, 10, -2, 0.5, '010']\n")
    assert load_yaml(path) == {"a": [0.001, 1000.0, 10, -2, 0.5, "010"]}
    for number in ("010", "1:30", "0x10"):
        path.write_text(f"a: {number}\n")
        with pytest.raises(yaml.YAMLError, match=f"'{number}' is no decimal number"):
            load_yaml(path)
