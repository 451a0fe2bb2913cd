import pytest
import torch

from attention_theory.linear_attention.certified import head_counts as certified
from attention_theory.linear_attention.certified.coefficients import tangents
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.linear_attention.model.parameters import coefficients, symmetric_matrix


@pytest.mark.slow
def test_the_fewest_heads_are_settled_at_large_widths() -> None:
    certificate = certified.certify_fewest_heads([5, 6, 7, 8])
    assert certificate.settled, certificate.control


def test_a_formula_that_is_wrong_in_its_last_bit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(row: torch.Tensor, width: int) -> torch.Tensor:
        matrix = symmetric_matrix(row, width)
        matrix[..., 0, 0] *= 1 + 2.0**-52
        return matrix

    monkeypatch.setattr(certified, "symmetric_matrix", wrong)
    assert certified.certify_symmetric_heads(2).outcome == "refuted"


def test_a_head_too_few_is_never_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certified, "fewest_heads", lambda width: {2: 1, 3: 3}[width])
    assert certified.certify_fewest_heads([2, 3]).outcome == "unknown"


def test_tangents_are_derivatives() -> None:
    heads = certified.whole_heads(2, 3)

    def of(values: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        return coefficients(Heads(values, queries)).flatten()

    by_values, by_queries = torch.autograd.functional.jacobian(of, (heads.values, heads.queries))
    expected = torch.cat([by_values.flatten(1), by_queries.flatten(1)], dim=1).mT
    assert torch.equal(tangents(heads), expected)
