"""Certificates about the instance of Appendix A.4: its hard-margin direction, exactly, from the built sentences.

Margins are linear in v. Where ``a`` is a sum, with weights above 0, of the rows of the smallest margins, it is the
direction of the shortest v with margins of at least 1 (Karush, Kuhn, Tucker), and no other one is.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cosine_similarity

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, exhaust
from attention_theory.certificates.algebra import sympy
from attention_theory.certificates.certificate import Counterexample
from attention_theory.in_context_reasoning.direction import TRIGGER, Instance, hard_margin, instance
from attention_theory.validation import refuse_unless


def certify_hard_margin(cases: Sequence[Instance]) -> Certificate:
    """Theorem 3.4: A is the hard-margin direction, and its cosine with W* has the square ``4/12``.

    Raises:
        ParameterError: an instance of other than two outputs.
    """
    refuse_unless(all(case.outputs == 2 for case in cases), "cases must have two outputs each")
    first = cases[0]
    twice = first.claimed_direction
    twice[1], twice[2] = 2.0, 0.0
    return certify(
        "The hard-margin direction of the task is A, whose cosine with W* is 2/√12.",
        f"{_sizes(cases)}, every sentence and every word",
        [answer for case in cases for answer in ask_hard_margin(case, case.claimed_direction)],
        _control("A has E(y_1) twice, as the text has it", first, twice),
    )


def certify_more_outputs(outputs: Sequence[int]) -> Certificate:
    """Remark 3.5: with m outputs the cosine is ``1/√(2(1 + 1/m))``, and W* separates all sentences as well.

    Raises:
        ParameterError: a number of outputs below 2.
    """
    refuse_unless(min(outputs) >= 2, f"outputs must be at least 2 each, got {list(outputs)}")
    cases = [instance(m + 3, 6, m) for m in outputs]
    largest = cases[-1]
    of_two = largest.claimed_direction
    of_two[3 : 1 + largest.outputs], of_two[largest.tokens + TRIGGER] = 0.0, 2.0
    answers = []
    for case in cases:
        look_up = torch.zeros_like(case.claimed_direction)
        look_up[case.tokens + TRIGGER] = 1.0
        answers += [*ask_hard_margin(case, case.claimed_direction), ask_margins(case, look_up, 1.0, "margins of W*")]
    return certify(
        "With m outputs the hard-margin direction has the cosine 1/√(2(1 + 1/m)) with W*, which separates too.",
        f"{_sizes(cases)}, every sentence and every word",
        answers,
        _control("the direction is that of two outputs", largest, of_two),
    )


def ask_hard_margin(case: Instance, direction: Float[Tensor, " codes"]) -> list[Answer]:
    """Ask whether a direction, of whole numbers, is the hard margin's, with the cosine of the remark."""
    wrong_word = [2 if output == 1 else 1 for output in range(1, 1 + case.outputs)]
    first = [(case.sentences.output == output).nonzero()[0, 0] for output in range(1, 1 + case.outputs)]
    rows = margin_rows(case)[torch.stack(first), torch.tensor(wrong_word)]
    least = rows[0] @ direction
    active = bool((rows @ direction == least).all())
    square = sympy.Rational(*(int(part) for part in (direction[case.tokens + TRIGGER] ** 2, 2 * direction @ direction)))
    return [
        ask_margins(case, direction, least.item(), f"margins, of which the least is {least.item()}"),
        exhaust.every(
            {"code": len(direction)},
            lambda batch: (rows.sum(dim=0) == direction)[batch["code"]] & active,
            f"the direction is the sum of {case.outputs} rows of the least margin, each output against an absent one",
        ),
        algebra.identity(square, sympy.Rational(case.outputs, 2 * (case.outputs + 1)), "the cosine squared"),
    ]


def ask_margins(case: Instance, direction: Float[Tensor, " codes"], least: float, words: str) -> Answer:
    """Ask whether y is above every other word by so much, in every sentence."""
    margins = margin_rows(case) @ direction
    margins.scatter_(1, case.sentences.output[:, None], torch.inf)
    sizes = {"sentence": len(margins), "word": case.tokens}
    return exhaust.every(sizes, lambda batch: margins[batch["sentence"], batch["word"]] >= least, words)


def margin_rows(case: Instance) -> Float[Tensor, "sentences tokens codes"]:
    """The margin of y above each word, half of it, as rows that are multiplied by v."""
    rows = torch.arange(len(case.probability), device=case.probability.device)
    return case.features[rows, case.sentences.output][:, None] - case.features


def _control(broken: str, case: Instance, direction: Float[Tensor, " codes"]) -> Control:
    """A direction that is not the hard margin's: one margin is too small, and the package's solver disagrees."""
    least = case.outputs + 1.0

    def run(values: Counterexample) -> tuple[str, bool]:
        margin = margin_rows(case)[values["sentence"], values["word"]] @ direction
        cosine = cosine_similarity(hard_margin(case), direction, dim=0).item()
        return f"margin {margin.item()}; cosine with the hard margin {cosine:.3f}", cosine < 0.999

    return Control.of(broken, ask_margins(case, direction, least, f"margins of at least {least}"), run)


def _sizes(cases: Sequence[Instance]) -> str:
    sizes = (f"({case.tokens}, {case.sentences.tokens.shape[1]}, {case.outputs})" for case in cases)
    return "instances (N, H, m) = " + ", ".join(sizes)
