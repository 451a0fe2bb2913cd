"""Reading the YAML that people write: a key that is given twice is an error, in place of the last one winning."""

from collections import Counter
from pathlib import Path
from typing import Any

import yaml


class _EachKeyOnce(yaml.CSafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if twice := [key for key, count in Counter(keys).items() if count > 1]:
            raise yaml.constructor.ConstructorError(None, None, f"the key '{twice[0]}' is given twice", node.start_mark)
        return super().construct_mapping(node, deep)


def load_yaml(path: Path) -> Any:
    """The content of a file, ``None`` for an empty one.

    Raises:
        yaml.YAMLError: it is not YAML, or has a key twice.
        UnicodeDecodeError: it is not UTF-8.
    """
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_EachKeyOnce)
