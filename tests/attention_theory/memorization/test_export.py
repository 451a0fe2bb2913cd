import pytest

from attention_theory.memorization import export
from attention_theory.memorization.exact_rank import _rank_bound
from attention_theory.memorization.export import _rank_table


@pytest.fixture
def few_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"HEADS": 3, "TOKENS": (1, 3), "WIDTHS": (2, 4), "HEAD_WIDTHS": (1, 2)}
    for name, value in sizes.items():
        monkeypatch.setattr(export, f"_{name}", value)


def test_entries_lie_at_the_places_of_their_sizes(few_sizes: None) -> None:
    table = _rank_table()
    assert (table["heads"], table["tokens"], table["widths"], table["head_widths"]) == (
        [1, 2, 3],
        [1, 3],
        [2, 4],
        [1, 2],
    )
    for contexts in ("shared", "separate"):
        for i, n in enumerate(table["tokens"]):
            for j, d in enumerate(table["widths"]):
                expected = [_rank_bound(H, n, d, contexts == "shared") for H in table["heads"]]
                assert table["ranks"][contexts][i][j] == [expected] * 2
