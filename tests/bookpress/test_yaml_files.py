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
