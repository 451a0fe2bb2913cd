"""Every certificate of the room: proved, its control failed, and code that is a little wrong is noticed."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_theory.certificates import Certificate
from attention_theory.linear_attention.certified import (
    bounds,
    coefficients,
    head_counts,
    identities,
    moments,
    small_machines,
    uniqueness,
)
from attention_theory.linear_attention.certified.every_step import certify_every_step
from attention_theory.linear_attention.certified.universal_step import certify_step
from attention_theory.linear_attention.learning.exact_moments import EntryDistribution
from attention_theory.linear_attention.machines.compact import CompactMachine
from attention_theory.linear_attention.model.mhla import Heads
from attention_theory.linear_attention.model.parameters import coefficients as coefficients_of

EVERY: dict[str, Callable[[], Certificate]] = {
    "robustness, one token": lambda: bounds.certify_robustness(1, 1),
    "robustness": lambda: bounds.certify_robustness(2, 2),
    "robustness with noise": lambda: bounds.certify_noisy_robustness(2),
    "rounding": bounds.certify_rounding,
    "features": lambda: coefficients.certify_features(3),
    "distance": lambda: coefficients.certify_distance(3),
    "many heads": lambda: coefficients.certify_many_heads(3),
    "least norm": lambda: coefficients.certify_least_norm(3),
    "other model": lambda: coefficients.certify_other_model(3),
    "attention": lambda: identities.certify_attention(2, 3),
    "feature map": lambda: identities.certify_feature_map(3, 2),
    "coefficients": lambda: identities.certify_coefficients(3, 2),
    "loops": lambda: identities.certify_loops(2, 2),
    "symmetric heads": lambda: head_counts.certify_symmetric_heads(2),
    "symmetric heads, three entries": lambda: head_counts.certify_symmetric_heads(3),
    "fewest heads": lambda: head_counts.certify_fewest_heads([2, 3, 4]),
    "four copies": uniqueness.certify_copies,
    "kernel": lambda: identities.certify_kernel(2, 2),
    "memory": lambda: identities.certify_memory(2),
    "prefixes": lambda: identities.certify_prefixes(2, 3),
    "moments": moments.certify_moments,
    "noise": lambda: moments.certify_noise(2, 2),
    "noise, three tokens": lambda: moments.certify_noise(2, 3),
    "noise, three entries": lambda: moments.certify_noise(3, 2),
    "automata": lambda: small_machines.certify_automata(2, 3, 2),
    "strings": lambda: small_machines.certify_strings(3, 2, 3),
    "lookups": small_machines.certify_lookups,
    "walks": lambda: small_machines.certify_walks(2, 2, 4),
    "branches": lambda: small_machines.certify_branches(1, 2),
    "identified": lambda: uniqueness.certify_identified(2),
    "identified, three entries": lambda: uniqueness.certify_identified(3),
    "four inputs": lambda: uniqueness.certify_not_necessary(4),
    "five inputs": lambda: uniqueness.certify_not_necessary(5),
    "design": lambda: uniqueness.certify_design(3),
    "every step of one state": lambda: certify_every_step(CompactMachine(1, 2, 2, 2), 2),
    "every step of one letter": lambda: certify_every_step(CompactMachine(2, 1, 2, 2), 2),
    "every step, one state, stays": lambda: certify_every_step(CompactMachine(1, 2, 2, 2, stays=True), 2),
    "every step, one letter, stays": lambda: certify_every_step(CompactMachine(2, 1, 2, 2, stays=True), 2),
    "a step": lambda: certify_step(CompactMachine(3, 2, word=2, steps=2)),
    "a step, stays": lambda: certify_step(CompactMachine(3, 2, word=2, steps=2, stays=True)),
}


@pytest.mark.parametrize("name", EVERY)
def test_it_is_settled(name: str) -> None:
    certificate = EVERY[name]()
    assert certificate.settled, certificate.control


def last_bit(values: Tensor, *place: Any) -> Tensor:
    """The same with an entry, or with all of them, moved by the relative size of a last bit."""
    factor = torch.ones(values.shape, dtype=torch.float64)
    factor[place] += 2.0**-52
    return values * factor


def off(*place: Any) -> Callable[..., Any]:
    """What makes of a function one whose results are wrong there in their last bits."""
    return lambda exact: lambda *given, **named: last_bit(exact(*given, **named), *place)


LAST = (..., -1, -1)
#: Where a function is called, its name, what makes a wrong one of it, and the certificate that must not be proved then.
WRONG: list[tuple[Any, str, Callable[..., Any], Callable[[], Certificate]]] = [
    (bounds, "certificate_features", off(...), lambda: bounds.certify_robustness(2, 2)),
    (
        bounds,
        "round_token",
        lambda f: lambda z, blocks, threshold=0.4999: f(z, blocks, threshold),
        bounds.certify_rounding,
    ),
    (coefficients, "lift", off(..., 0, 0), lambda: coefficients.certify_many_heads(2)),
    (coefficients, "lift", off(..., 0, 0), lambda: coefficients.certify_least_norm(2)),
    (
        coefficients,
        "coefficients",
        lambda f: lambda model: f(model) * (torch.arange(6) > 0),
        lambda: coefficients.certify_distance(2),
    ),
    (
        coefficients,
        "distance",
        lambda f: lambda *pair: distance_but_one(*pair),
        lambda: coefficients.certify_distance(2),
    ),
    (head_counts, "symmetric_matrix", off(..., 0, 0), lambda: head_counts.certify_symmetric_heads(2)),
    (
        head_counts,
        "fewest_heads",
        lambda f: lambda width: f(width) - (width == 2),
        lambda: head_counts.certify_fewest_heads([2, 3]),
    ),
    (
        identities,
        "mhla",
        lambda f: lambda heads, z: f(Heads(last_bit(heads.values, *LAST), heads.queries), z),
        lambda: identities.certify_feature_map(2, 2),
    ),
    (
        identities,
        "mhla",
        lambda f: lambda heads, z: f(Heads(heads.values, last_bit(heads.queries, *LAST)), z),
        lambda: identities.certify_feature_map(2, 2),
    ),
    (
        identities,
        "memory_teacher",
        lambda f: lambda width: Heads(last_bit(f(width).values, 0, 3, 3), f(width).queries),
        lambda: identities.certify_memory(2),
    ),
    (EntryDistribution, "second_moment", off(*LAST), lambda: moments.certify_moments(3)),
    (uniqueness, "interpolate", off(0, 0), lambda: uniqueness.certify_design(2)),
    (uniqueness, "least_eigenvalue_bound", lambda f: lambda width: 0.1, lambda: uniqueness.certify_design(2)),
    (uniqueness, "unattained", lambda f: lambda *given: 0 * f(*given), uniqueness.certify_no_minimum),
]


def distance_but_one(first: Heads, second: Heads) -> Tensor:
    return torch.linalg.matrix_norm((coefficients_of(first) - coefficients_of(second))[:, 1:])


@pytest.mark.parametrize(("place", "name", "wrong", "certify"), WRONG)
def test_what_is_a_little_wrong_is_noticed(
    place: Any,
    name: str,
    wrong: Callable[..., Any],
    certify: Callable[[], Certificate],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(place, name, wrong(getattr(place, name)))
    assert certify().outcome != "proved"
