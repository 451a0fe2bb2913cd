import pytest
import torch

from attention_theory.linear_attention.certified import identities
from attention_theory.linear_attention.certified.determining_inputs import inputs_of, polynomials
from attention_theory.linear_attention.model.features import certificate_features
from attention_theory.linear_attention.model.mhla import Heads, mhla


@pytest.mark.parametrize("entry", ["values", "queries"])
def test_a_model_that_is_wrong_in_one_entry_is_noticed(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last entry of V, or of Q, counts for more than it should by the smallest step."""

    def wrong(heads: Heads, tokens: torch.Tensor) -> torch.Tensor:
        step = torch.ones(2, 2, dtype=torch.float64)
        step[-1, -1] = 1 + 2.0**-52
        return (
            mhla(Heads(heads.values * step, heads.queries), tokens)
            if entry == "values"
            else mhla(Heads(heads.values, heads.queries * step), tokens)
        )

    monkeypatch.setattr(identities, "mhla", wrong)
    assert identities.certify_feature_map(2, 2).outcome == "refuted"


def test_the_memory_teacher_with_a_weight_moved_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = identities.memory_teacher(2)
    teacher.values[0, 3, 3] = torch.nextafter(teacher.values[0, 3, 3], torch.tensor(2.0, dtype=torch.float64))
    monkeypatch.setattr(identities, "memory_teacher", lambda width: teacher)
    assert identities.certify_memory(2).outcome == "refuted"


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
