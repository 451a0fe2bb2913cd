"""Moments of the counts and when they are positive definite, exactly (Appendix E)."""

from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exact
from attention_theory.certificates.certificate import Counterexample
from attention_theory.hyper_attention.interactions import connected
from attention_theory.hyper_attention.interactions.interactions import counts
from attention_theory.hyper_attention.interactions.versatility import uniform_second_moment


def certify_second_moment() -> Certificate:
    """Assumption E.1: at one length the covariance of the counts is singular; the second moment has L/S and more."""
    size = 4

    def ask(length: int) -> list[Answer]:
        moments = _pooled(size, (connected.all_sequences(length, size), 1))
        apart, about = moments.second - uniform_second_moment(length, size), f"of uniform sequences, L = {length}:"
        floor = torch.eye(size, dtype=torch.float64) * length / size
        return [
            exact.rank_is(moments.covariance, size - 1, f"covariance {about}"),
            exact.rank_is(apart, 0, f"second moment less its formula {about}"),
            exact.rank_is(moments.second - floor, 1, f"second moment less L/S {about}"),
            exact.positive_definite((moments.second - floor)[:1, :1], f"its first entry {about}"),
        ]

    two, three = connected.all_sequences(2, size), connected.all_sequences(3, size)
    mixed = _pooled(size, (two, 4), (three, 1)).covariance

    def run(values: Counterexample) -> tuple[str, bool]:
        return _run_rank(mixed, values, size - 1)

    return certify(
        "The covariance of the counts of uniform sequences of one length is singular; their second moment has the "
        "least eigenvalue L/S.",
        "four symbols, L = 2, 3 and 4",
        [answer for length in (2, 3, 4) for answer in ask(length)],
        Control.of("lengths vary", exact.rank_is(mixed, size - 1, "covariance, lengths two and three:"), run),
    )


def certify_scenario() -> Certificate:
    """Remark E.3: a repeated symbol, lengths that vary, the second moment: no change alone is enough, any two are.

    Sequences come so often that all shares are exact as floats.
    """

    def drawn(others: tuple[int, ...], length: int) -> Tensor:
        """Sequences that begin with symbol 0, the others as often as they are listed."""
        return torch.tensor([[0, *rest] for rest in product(others, repeat=length - 1)])

    once = {length: drawn((1, 2), length) for length in (2, 4)}
    again = {length: drawn((0, 0, 1, 2), length) for length in (2, 3)}

    printed = _pooled(3, (once[4], 1))
    repeated, varied = _pooled(3, (again[3], 1)), _pooled(3, (once[2], 4), (once[4], 1))
    both = _pooled(3, (again[2], 4), (again[3], 1))
    answers = [
        exact.rank_is(printed.second, 2, "second moment, and so the rows, with one mu and one length:"),
        exact.rank_is(printed.covariance, 1, "covariance, one mu and one length:"),
        exact.rank_is(repeated.covariance, 2, "covariance, mu repeats:"),
        exact.rank_is(varied.covariance, 2, "covariance, lengths vary:"),
        exact.positive_definite(repeated.second, "second moment, mu repeats:"),
        exact.positive_definite(varied.second, "second moment, lengths vary:"),
        exact.positive_definite(both.covariance, "covariance, mu repeats and lengths vary:"),
    ]

    def run(values: Counterexample) -> tuple[str, bool]:
        return _run_rank(both.covariance, values, 2)

    return certify(
        "With one mu in each sequence of one length the covariance is singular and the rank |S| - 1; of three changes "
        "none alone makes a least eigenvalue above 0, any two do.",
        "three symbols. One mu: four tokens, or two and four; mu drawn half the time: three tokens, or two and three",
        answers,
        Control.of("mu repeats and lengths vary", exact.rank_is(both.covariance, 2, "covariance, two changes:"), run),
    )


def _run_rank(covariance: Tensor, values: Counterexample, claimed: int) -> tuple[str, bool]:
    """The eigenvalue that must not be 0 if the rank is the engine's, and whether it shows more than the claimed one."""
    rank = values["rank"]
    eigenvalue = torch.linalg.eigvalsh(covariance)[-rank].item()
    return f"eigenvalue {rank} of the covariance is {eigenvalue:.3g}", rank > claimed and eigenvalue > 0.01


class _Moments(NamedTuple):
    """Covariance and second moment ``E[s s^T]`` of the counts."""

    covariance: Tensor
    second: Tensor


def _pooled(size: int, *parts: tuple[Tensor, int]) -> _Moments:
    """The moments of the counts of sequences of several lengths, those of each part taken so many times."""
    rows = torch.cat([counts(symbols, size).repeat(times, 1) for symbols, times in parts])
    centred = rows - rows.mean(dim=0)
    return _Moments(centred.mT @ centred / len(rows), rows.mT @ rows / len(rows))
