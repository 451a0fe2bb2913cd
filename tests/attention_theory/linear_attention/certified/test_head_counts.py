import pytest
import torch

from attention_theory.linear_attention.certified import head_counts as certified
from attention_theory.linear_attention.certified.coefficients import tangents
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.linear_attention.model.parameters import coefficients


@pytest.mark.exhaustive
def test_the_fewest_heads_are_settled_at_large_widths() -> None:
    certificate = certified.certify_fewest_heads([5, 6, 7, 8])
    assert certificate.settled, certificate.control


def test_tangents_are_derivatives() -> None:
    heads = certified.whole_heads(2, 3)

    def of(values: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        return coefficients(Heads(values, queries)).flatten()

    by_values, by_queries = torch.autograd.functional.jacobian(of, (heads.values, heads.queries))
    expected = torch.cat([by_values.flatten(1), by_queries.flatten(1)], dim=1).mT
    assert torch.equal(tangents(heads), expected)
