import json
from pathlib import Path

import pytest

from attention_theory.looped_transformers.export import EXPORTS
from attention_theory.looped_transformers.subleq.assembler import library, library_text


def test_both_computers_are_offered_as_plain_matrices() -> None:
    for name, options in (("subleq", {"layers": 6, "bits": 4}), ("fleq", {"size": 3, "functions": "add, transpose"})):
        forms = EXPORTS[name](**options)
        assert set(forms) == {".onnx", ".json"}
        written = json.loads(forms[".json"]())
        assert len(written["layers"]) == written["of the transformer"]["layers"]
        for option in ("layers", "bits", "size"):
            assert written["sizes"].get(option) == options.get(option)


def test_the_programs_are_those_of_the_library() -> None:
    written = json.loads(EXPORTS["programs"]()[".json"]())
    assert list(written) == library()
    assert all(written[name] == library_text(name) for name in written)


@pytest.mark.parametrize("target", ["subleq", "fleq"])
def test_a_python_file_becomes_a_prompt(tmp_path: Path, target: str) -> None:
    path = tmp_path / "twice.py"
    path.write_text("def f(größe):\n    while True:\n        größe += 1\n", encoding="utf-8")
    written = json.loads(EXPORTS["program"](str(path), target=target)[".json"]())
    assert written["target"] == target
    assert len(written["code"]) == len(written["lines"]) == len(written["listing"].split("\n\n")[1].splitlines())
    ((start, stop),) = written["cells"].values()
    assert written["memory"][start:stop] == [0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x = 1\n" * 200_000, "at most 100000 characters"),
        (bytes(range(256)), "line 3: this is no text in UTF-8"),
        ("def f(\u202ea):\n    return a".encode(), "line 1"),
    ],
)
def test_a_file_that_is_no_program_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.py"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        EXPORTS["program"](str(path))


@pytest.mark.parametrize("source", ["/dev/zero", "nowhere.py", ""])
def test_what_is_no_file_and_no_example_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="source must be a file or one of"):
        EXPORTS["program"](source)
