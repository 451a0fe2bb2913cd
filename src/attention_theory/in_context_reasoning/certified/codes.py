"""How wide orthonormal codes must be (Remark 2.3), for all codes."""

from collections.abc import Iterable

import torch
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, smt, symbolic
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.smt import z3
from attention_theory.in_context_reasoning.embedding import Embedding, embedding
from attention_theory.validation import require


def certify_width(tokens: int) -> Certificate:
    """Remark 2.3: codes that satisfy Assumption 2.2 exist exactly if ``d >= 2N``.

    With the codes as rows of V and ``G = V Vᵀ``, ``|I - Vᵀ V|² = d - 2 tr G + |G|²`` for all V. The assumption says
    ``G = I``, for which the right side is ``d - 2N``; the left side is not negative.

    Args:
        tokens: N, which every number from 1 up to it is for.

    Raises:
        ParameterError: tokens below 1.
    """
    require(tokens=(tokens, 1, None))
    answers = [_ask_excess(n, d) for n in range(1, tokens + 1) for d in range(n, 2 * n)]
    built = [embedding(n, 2 * n).stacked for n in range(1, tokens + 1)]
    exist = [symbolic.equal(codes @ codes.mT, torch.eye(len(codes)), "codes of width 2N: G = I") for codes in built]
    word, previous = ([[z3.Real(f"{name} {i} {j}") for j in range(2)] for i in range(2)] for name in "Ep")
    within = [claim for part in (word, previous) for claim in _orthonormal(part)]

    def run(values: Counterexample) -> tuple[str, bool]:
        parts = (torch.tensor([[float(values[str(x)]) for x in row] for row in part]) for part in (word, previous))
        codes = Embedding(*parts)
        seen = (codes.embed(torch.tensor([[0, 1]])) @ codes.word.mT)[0, 1].tolist()
        return f"at word 1 after word 0 the products with the words are {seen} and not [0, 1]", seen != [0, 1]

    return certify(
        "Codes that satisfy Assumption 2.2 have d >= 2N, and there are such codes for d = 2N.",
        f"N = 1 to {tokens}, every d from N to 2N - 1, all real codes",
        [*answers, *exist],
        Control.of(
            "words and previous words need not be orthogonal to each other, N = d = 2",
            smt.prove(within, z3.BoolVal(False), "no two words have such codes in two dimensions"),
            run,
        ),
    )


def _ask_excess(tokens: int, width: int) -> Answer:
    """Whether ``|I - Vᵀ V|² = d - 2 tr G + |G|²`` for all codes of this width."""
    shape = (tokens, width)
    codes = Embedding(**symbolic.variables(word=shape, previous=shape)).stacked
    gram, rest = codes @ codes.mT, torch.eye(width, dtype=torch.float64) - codes.mT @ codes
    trace: Tensor = sum(gram[row, row] for row in range(2 * tokens))  # type: ignore[assignment]
    words = f"N = {tokens}, d = {width}: |I - V^T V|^2 = d - 2 tr G + |G|^2, which is {width - 2 * tokens} for G = I"
    return symbolic.equal((rest * rest).sum(), width - 2 * trace + (gram * gram).sum(), words)


def _orthonormal(rows: list[list[smt.Term]]) -> Iterable[smt.Term]:
    for i, one in enumerate(rows):
        for j, other in enumerate(rows[: i + 1]):
            yield z3.Sum([x * y for x, y in zip(one, other, strict=True)]) == int(i == j)
