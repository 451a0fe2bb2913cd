import pytest

from attention_theory.hyper_attention.language.comparison import in_words, mean, reading


def test_the_mean_over_the_seeds() -> None:
    assert mean([1.0, 2.0, 6.0]) == 3.0


def test_both_ends_of_an_interval_carry_their_sign() -> None:
    assert in_words((-0.0241, 0.0373)) == "-0.024 to +0.037"
    assert in_words((0.0, 0.0)) == "+0.000 to +0.000"


@pytest.mark.parametrize(
    ("interval", "told"),
    [
        ((-0.2, -0.1), "better"),
        ((0.1, 0.2), "worse"),
        ((-0.1, 0.1), "not told"),
        ((0.0, 0.1), "not told"),
        ((-0.1, 0.0), "not told"),
    ],
)
def test_a_gap_is_told_only_where_its_interval_is_clear_of_zero(interval: tuple[float, float], told: str) -> None:
    assert reading(interval) == told
