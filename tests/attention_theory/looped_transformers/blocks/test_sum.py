from attention_theory.looped_transformers.blocks.sum import sum_in_four_steps
from attention_theory.randomness import normal


def test_the_proof_as_printed_loses_b_and_a_second_pointer_brings_it() -> None:
    a, b = normal(2, 6, seed=2)
    for sign in (1.0, -1.0):
        assert (sum_in_four_steps(a, b, sign) - (a + sign * b)).abs().max() < 1e-14
        assert (sum_in_four_steps(a, b, sign, "printed") - a).abs().max() < 1e-14
