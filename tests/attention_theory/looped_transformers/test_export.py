import json

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
