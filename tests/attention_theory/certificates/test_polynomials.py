import pytest
import sympy

from attention_theory.certificates.algebra import polynomial_of
from attention_theory.validation import ParameterError


def test_a_polynomial_is_read_from_its_values() -> None:
    read = polynomial_of(lambda a, b: a * a * (b - 3) + 7, a=(1, 2), b=(5, 1))
    a, b = sympy.symbols("a b")
    assert sympy.expand(read(a, b) - (a**2 * (b - 3) + 7)) == 0


@pytest.mark.parametrize("function", [lambda a: a**3, lambda a: min(a, 3), lambda a: a * (a + 1) // 2])
def test_a_function_that_is_no_such_polynomial_is_refused(function) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match="polynomial"):
        polynomial_of(function, a=(1, 2))
