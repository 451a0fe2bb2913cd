"""Every certificate of the room: proved, and its control failed."""

from collections.abc import Callable

import pytest

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
from attention_theory.linear_attention.machines.compact import CompactMachine

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
