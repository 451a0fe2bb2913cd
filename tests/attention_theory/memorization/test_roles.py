from attention_theory.memorization.construction import _fixed_roles, blocks, printed_roles
from attention_theory.randomness import generator, normal


def test_blocks_cover_every_example_once() -> None:
    assert blocks(11, heads=4, together=4) == [range(4), range(4, 7), range(7, 10), range(10, 11)]
    assert blocks(1, heads=3, together=1) == [range(1), range(1, 1), range(1, 1)]


def test_both_forms_clear_the_fresh_rows() -> None:
    draw = generator(0)
    Z = normal(9, 3, seed=draw) @ normal(3, 8, seed=draw)
    printed = printed_roles(Z, together=4, tolerance=1e-10)
    assert len(printed.earlier) == 3
    assert (Z[printed.fresh] + printed.C @ Z[printed.earlier]).abs().max() < 1e-12
    fixed = _fixed_roles(Z @ Z.T, range(4, 7))
    assert (Z[fixed.fresh] + fixed.C @ Z[fixed.earlier]).abs().max() < 1e-5
