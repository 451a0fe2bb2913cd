import torch

from attention_theory.linear_attention.certified.determining_inputs import inputs_of, polynomials
from attention_theory.linear_attention.model.features import certificate_features


def test_polynomials_take_the_values_of_the_features() -> None:
    variables, outputs = polynomials(certificate_features, tokens=2, width=2, degree=3)
    inputs = torch.randint(-9, 10, (3, 2, 2), generator=torch.Generator().manual_seed(0)).double()
    for z in inputs:
        at = dict(zip(variables, z.flatten().int().tolist(), strict=True))
        assert [int(output.subs(at)) for output in outputs] == certificate_features(z).tolist()


def test_inputs_determine_cubic_polynomials() -> None:
    inputs = inputs_of(2, 2).flatten(1)
    cubes = torch.stack([inputs.pow(power).prod(dim=1) for power in inputs], dim=1)
    assert torch.linalg.matrix_rank(cubes) == len(inputs) == 20
