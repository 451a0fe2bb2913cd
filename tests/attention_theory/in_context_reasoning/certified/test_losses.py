import math
from collections.abc import Callable

import pytest
import torch

from attention_theory.certificates import Certificate
from attention_theory.in_context_reasoning.certified import balance, joint, losses, noiseless, noisy
from attention_theory.in_context_reasoning.closed_form import bayes_risk, bernoulli_kl, noisy_loss, odds
from attention_theory.in_context_reasoning.descent import normalised_step

CERTIFY: dict[str, Callable[[], Certificate]] = {
    "Lemma C.1": losses.certify_slope,
    "Section 4.2, f_C": losses.certify_shape,
    "Remark 4.2": noisy.certify_any_law,
    "Theorem 4.3": noisy.certify_loss_after_steps,
    "Theorem 4.4": noisy.certify_unseen_noisy,
    "Appendix B.2.1": noisy.certify_known_noise,
    "Theorem 3.2": lambda: noiseless.certify_rate(4),
    "Eq. (5)": noiseless.certify_step,
    "Section 3.2": noiseless.certify_chord,
    "balance": balance.certify_balance,
    "both numbers": joint.certify_excess,
}
#: A function of the package that each certificate reads, by the module that calls it.
READ = {
    "Lemma C.1": (losses, "noisy_slope"),
    "Section 4.2, f_C": (losses, "noisy_hessian"),
    "Remark 4.2": (losses, "noisy_loss"),
    "Theorem 4.3": (losses, "noisy_loss"),
    "Theorem 4.4": (noisy, "probabilities"),
    "Appendix B.2.1": (losses, "noisy_loss"),
    "Theorem 3.2": (noiseless, "normalised_step"),
    "Eq. (5)": (noiseless, "noiseless_slope"),
    "Section 3.2": (noiseless, "noiseless_loss"),
    "balance": (balance, "balance_step"),
    "both numbers": (losses, "noisy_loss"),
}


@pytest.mark.parametrize("place", CERTIFY)
def test_a_statement_holds_for_all_of_its_inputs(place: str) -> None:
    certificate = CERTIFY[place]()
    assert certificate.settled, certificate


@pytest.mark.parametrize("place", CERTIFY)
def test_a_factor_in_the_package_is_noticed(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function that is certified is 3/2 of what it was, and so is the exponential of a loss."""
    module, name = READ[place]
    function, is_loss = getattr(module, name), name.endswith("loss")
    monkeypatch.setattr(
        module, name, lambda *args: (1.5 * function(*args).exp()).log() if is_loss else 1.5 * function(*args)
    )
    assert CERTIFY[place]().outcome != "proved"


def test_the_excess_is_that_of_the_package() -> None:
    """The loss at γ̂ is the Bayes risk, the divergence of the two coins and the logarithm of the certified formula."""
    level, estimate, scale, count, others = 0.3, 0.45, 1.2, 2.0, 17
    scale_at, gamma, count_at = (torch.tensor(value, dtype=torch.float64) for value in (scale, odds(estimate), count))
    loss = noisy_loss(scale_at, gamma, count_at, level, others).item()
    point = {losses.X: math.exp(scale * count), losses.m: others, losses.estimate: estimate}
    excess = noisy.excess_formula().subs(point | {losses.beta: 1 - estimate})
    expected = bayes_risk(level) + bernoulli_kl(level, estimate) + torch.log1p(torch.tensor(float(excess))).item()
    assert loss == pytest.approx(expected, rel=1e-6)


def test_a_step_is_that_of_the_package() -> None:
    """Two slopes, of which the formula was read at others."""
    slopes, rate = torch.tensor([-0.3, -0.4], dtype=torch.float64), 0.7
    first, second = losses.sympy.symbols("first second", negative=True)
    moves = noiseless.moves_of([first, second])
    point = {first: -0.3, second: -0.4, losses.sympy.Symbol("rate", positive=True): rate}
    real = normalised_step(torch.zeros(2, dtype=torch.float64), slopes, rate)
    assert [float(move.subs(point)) for move in moves] == pytest.approx(real.tolist())
