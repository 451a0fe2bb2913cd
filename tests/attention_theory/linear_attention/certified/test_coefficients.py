import torch

from attention_theory.linear_attention.certified import coefficients as certified
from attention_theory.linear_attention.model.features import cubic_features


def test_inputs_of_two_tokens_determine_the_features() -> None:
    """They span as much as many random ones do."""
    some = certified.whole_inputs(3, 2)
    many = torch.randint(-9, 10, (200, 2, 3), generator=torch.Generator().manual_seed(0)).double()
    ranks = [torch.linalg.matrix_rank(cubic_features(inputs).flatten(1)).item() for inputs in (some, many)]
    assert ranks == [18, 18]
