from attention_theory.linear_attention.learning.levenberg_marquardt import fit_many
from attention_theory.linear_attention.learning.regression import least_squares
from attention_theory.linear_attention.model.features import certificate_features, psi
from attention_theory.linear_attention.model.mhla import Heads, mhla, random_heads
from attention_theory.linear_attention.model.parameters import distance
from attention_theory.randomness import normal


def test_zero_loss_fits_on_identifiable_data_are_the_teacher() -> None:
    tokens, teacher = normal(psi(2) + 2, 4, 2, seed=0), random_heads(1, 2, seed=1)
    labels = mhla(teacher, tokens)
    fits = fit_many(certificate_features(tokens), labels, random_heads(4, 2, seed=2, models=(6,)))
    found = fits.losses < 1e-18
    assert found.any()
    assert distance(fits.heads, teacher)[found].max() < 1e-11


def test_losses_are_those_of_the_heads_and_never_below_least_squares() -> None:
    tokens, labels = normal(50, 3, 2, seed=0), normal(50, 2, seed=1)
    features = certificate_features(tokens)
    row = least_squares(features, labels)
    least = (features @ row.mT - labels).square().sum() / 50
    for heads in (1, 4):
        fits = fit_many(features, labels, random_heads(heads, 2, seed=3, models=(4,)))
        for i, loss in enumerate(fits.losses):
            model = Heads(fits.heads.values[i], fits.heads.queries[i])
            assert abs((mhla(model, tokens) - labels).square().sum() / 50 - loss) < 1e-11
        assert (fits.losses > least - 1e-12).all()
    # With d² heads every matrix can be had.
    assert abs(fits.losses.min() - least) < 1e-12
