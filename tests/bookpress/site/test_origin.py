"""Where values come from: the package's functions behind a cell, and the line that says so under its figure."""

from typing import Any

from bookpress.claims.record import Record
from bookpress.layout import Layout
from bookpress.notebooks.source import Parameter
from bookpress.site.origin import Origins, origin_block

CELLS = [
    "from toy.a import far, near\nfrom toy.b import alone, helper\nimport math",
    "def own(x):\n    return helper(x)\n\nrows = {}\nfor k in range(3):\n    rows[k] = near(k)",
    "other = alone(2)",
    "axis = show.axes()\naxis.plot(rows[0])",
    "axis = show.axes()\naxis.plot(own(1), math.pi)",
    'claim = Claim("x")\nclaim.equal("c", other, 2)',
    "claim.verdict()",
]
ORIGINS = Origins(CELLS, package="toy")


def test_a_cells_functions_are_found_through_the_cells_before_it() -> None:
    assert ORIGINS.functions(3) == ["toy.a.near"]
    assert ORIGINS.functions(4) == ["toy.b.helper"]
    assert ORIGINS.functions(5) == ["toy.b.alone"]


def test_what_computes_or_judges_is_told_from_what_draws() -> None:
    assert [ORIGINS.computes_or_judges(number) for number in range(1, 7)] == [True, True, False, True, True, True]
    assert [ORIGINS.only_imports(number) for number in range(3)] == [True, False, False]


def record(**fields: Any) -> Record:
    usual: dict[str, Any] = {
        "notebook": "p/n",
        "title": "T",
        "profile": "laptop",
        "parameters": {"d": 2, "seed": 0},
        "claims": [],
        "figures": [],
        "fingerprint": "f",
        "commit": "abc123",
        "environment": {"device": "CPU"},
        "seconds": 12.3,
    }
    return Record.model_validate(usual | fields)


PARAMETERS = [Parameter("d", 2, "width"), Parameter("seed", 0, "seed")]


def test_the_line_names_what_was_set_the_device_the_time_and_the_commit() -> None:
    layout = Layout.here()
    line = origin_block(record(), PARAMETERS, [], layout).splitlines()[0]
    assert line == "::::::{dropdown} Made with default parameters · CPU · 12 s · commit abc123"
    line = origin_block(record(parameters={"d": 3, "seed": 1}, commit=""), PARAMETERS, [], layout).splitlines()[0]
    assert line == "::::::{dropdown} Made with d = 3, seed = 1 · CPU · 12 s"


def test_functions_are_listed_by_file() -> None:
    functions = ["attention_theory.layers.attention", "attention_theory.numerics.numerical_rank"]
    text = origin_block(record(), PARAMETERS, functions, Layout.here())
    assert "- `attention` of `src/attention_theory/layers.py`" in text
