"""YAML that people write."""

from pathlib import Path

import pytest
import yaml

from bookpress.files import load_yaml


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
