"""A notebook in step: with the registry in what it states, with its .ipynb in everything."""

from typing import Any

import pytest

from bookpress.notebooks.pair import unpaired, write_pairs
from bookpress.notebooks.source import SourceError


def test_a_pair_states_its_claims_and_is_then_left_alone(toy: Any) -> None:
    toy.add("good")
    assert [*unpaired(toy.layout)] == ["demo/good"]
    assert write_pairs(toy.layout) == 1
    source = toy.layout.source("demo/good")
    assert "$1 < n$\n" in source.read_text()
    assert "$1 < n$" in source.with_suffix(".ipynb").read_text()
    assert write_pairs(toy.layout) == 0


def test_a_change_of_the_registry_or_of_the_ipynb_puts_the_notebook_out_of_step(toy: Any, edit: Any) -> None:
    toy.add("good")
    write_pairs(toy.layout)
    edit(toy.layout.claims / "demo.yaml", "$1 < n$", "$1 < 2 n$")
    assert [*unpaired(toy.layout)] == ["demo/good"]
    write_pairs(toy.layout)
    assert "$1 < 2 n$" in toy.layout.source("demo/good").with_suffix(".ipynb").read_text()
    assert unpaired(toy.layout) == {}
    edit(toy.layout.source("demo/good").with_suffix(".ipynb"), "Nobody", "Somebody")
    assert [*unpaired(toy.layout)] == ["demo/good"]


def test_a_block_left_open_names_its_notebook(toy: Any, edit: Any) -> None:
    toy.add("good")
    edit(toy.layout.source("demo/good"), "# <!-- /claim -->", "#")
    with pytest.raises(SourceError, match=r"demo/good: .*come in pairs"):
        write_pairs(toy.layout)
