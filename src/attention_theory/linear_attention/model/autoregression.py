"""Autoregressive linear attention: every output becomes the next token (Section 5, Eqs. 21 and 22)."""

from collections.abc import Callable

import torch
from jaxtyping import Num
from torch import Tensor

from attention_theory.validation import FORMS, Form, require


def autoregress(
    step: Callable[[Num[Tensor, "... tokens width"]], Num[Tensor, "... width"]],
    prompt: Num[Tensor, "... tokens width"],
    steps: int,
    rounding: Callable[[Num[Tensor, "... width"]], Num[Tensor, "... width"]] | None = None,
    form: Form = "correct",
) -> Num[Tensor, "... longer width"]:
    """The prompt Z^0 with ``steps`` more tokens: Z^{t+1} is Z^t with ``y^{t+1} = step(Z^t)`` behind it.

    Args:
        step: from all tokens to the next one, e.g. :func:`.mhla.mhla` at fixed heads.
        prompt: Z^0, with n tokens.
        steps: Φ, at least 0.
        rounding: applied to each output before it is appended. Eq. 22 has none, but the proofs of Section 5 round.
        form: ``printed`` appends ``y^t`` instead, the output of the step before; where there is none yet, the last
            token of the prompt takes its place.

    Raises:
        ParameterError: steps below 0, or an unknown form.
    """
    require(steps=(steps, 0, None), form=(form, FORMS))
    tokens = prompt
    previous = prompt[..., -1, :]
    for _ in range(steps):
        output = step(tokens)
        output = output if rounding is None else rounding(output)
        appended = output if form == "correct" else previous
        tokens = torch.cat([tokens, appended[..., None, :]], dim=-2)
        previous = output
    return tokens
