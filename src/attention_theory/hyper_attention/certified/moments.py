"""Moments of the counts: when they are positive definite, and how they make the rank grow (Appendix E)."""

from itertools import combinations, product
from typing import NamedTuple

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exact, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import Term, z3
from attention_theory.hyper_attention.interactions import connected
from attention_theory.hyper_attention.interactions.interactions import counts
from attention_theory.hyper_attention.interactions.versatility import rank_failure_tail, uniform_second_moment


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


def certify_growth() -> Certificate:
    """Theorem E.2: for every distribution, a row leaves a span with a chance that the moments bound from below.

    Let Y be a row times a unit vector that is orthogonal to the span, ``a`` its mean and ``p = P[Y != 0]``. Given that
    Y is not 0, let m be its mean and v its mean square about ``a``, which is at most M^2. Then ``a = p m``, and the
    variance of Y is ``(1 - p) a^2 + p v``. With the second moment in place of the variance, the rows are those of all
    sequences of a length, each with an unknown share.
    """
    p, a, m, v, M, least = z3.Reals("p a m v M least")
    given = [p >= 0, p <= 1, a == p * m, v <= M * M, (m - a) * (m - a) <= v, M >= 0, least > 0]
    variance, square = (1 - p) * a * a + p * v, p * (v + 2 * a * m - a * a)
    one_token = [m == 1, v == (1 - p) * (1 - p), 1 - p == M, least == p, 4 * p >= 1, 2 * p <= 1]  # of two symbols

    def ask(moment: Term, words: str) -> Answer:
        more = one_token if moment is square else []
        return smt.prove([*given, *more, moment >= least], p * (M * M + least) >= least, words)

    def run(values: Counterexample) -> tuple[str, bool]:
        share, least, M = (float(values[name]) for name in ("p", "least", "M"))
        bounds = {rows: rank_failure_tail(rows, 2, least / (M**2 + least)) for rows in range(2, 400)}
        over = {rows: (share**rows + (1 - share) ** rows) / bound for rows, bound in bounds.items()}
        worst = max(over, key=lambda rows: over[rows])
        return f"one token of two, B = {worst}: the probability is {over[worst]:.3g} times the bound", over[worst] > 1

    q, fails, grown = z3.Reals("q fails grown")
    step = q * grown + (1 - q) * fails <= p * grown + (1 - p) * fails
    return certify(
        "A row leaves a span with a chance of at least ζ²/(M² + ζ²), or g/L² by the second moment, and a larger chance "
        "never makes a full rank less likely.",
        "the first: all distributions; the second: all distributions on sequences of one length, of two symbols and 2 "
        "to 4 tokens or three and 2 or 3; the third: one row more, and so every B",
        [
            ask(variance, "P[Y != 0] >= variance / (M^2 + variance)"),
            *(_ask_second_moment(size, length) for size, length in ((2, 2), (2, 3), (2, 4), (3, 2), (3, 3))),
            smt.prove([p >= 0, p <= q, q <= 1, grown <= fails], step, "one row more, with a chance q >= p to grow"),
        ],
        Control.of("the second moment in place of the variance", ask(square, "P[Y != 0]"), run),
    )


def _ask_second_moment(size: int, length: int) -> Answer:
    """Whether ``E[s s^T] >= g`` makes every span of ``size - 1`` rows one that a row leaves with a chance of g/L^2."""
    rows = counts(connected.all_sequences(length, size), size).unique(dim=0)
    g, shares = z3.Real("g"), z3.RealVector("share", len(rows))
    leaves = []
    for spanning in combinations(rows, size - 1):
        for normal in exact.null_vectors(torch.stack(spanning)):
            along = [sum(int(s) * u for s, u in zip(row, normal, strict=True)) for row in rows.tolist()]
            moment = z3.Sum([smt.rational(y * y) * share for y, share in zip(along, shares, strict=True)])
            outside = z3.Sum([share for y, share in zip(along, shares, strict=True) if y])
            enough = moment >= g * smt.rational(sum(u * u for u in normal))
            leaves.append(z3.Implies(enough, length**2 * outside >= g))
    words = f"{size} symbols, {length} tokens: {len(leaves)} directions"
    given = [g > 0, z3.Sum(shares) == 1, *(share >= 0 for share in shares)]
    return smt.prove(given, z3.And(leaves), words)


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
