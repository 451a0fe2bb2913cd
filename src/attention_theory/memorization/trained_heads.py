"""Keys and queries trained for given labels, the read-out solved for exactly (variable projection).

With fixed heads and a shared context the outputs live in a space of H (n - 1) + 1 dimensions (Proposition 2), with a
context for each example in one of at most H d. Labels that are known beforehand may lie in that space for suitable
heads, although there are more of them.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.memorization.attention import (
    Examples,
    KeyQueryHeads,
    features,
    predict,
    random_heads,
    softmax_weights,
)
from attention_theory.memorization.readout import solve_readout
from attention_theory.randomness import Seed
from attention_theory.validation import require


def fit_keys_and_queries(
    examples: Examples,
    labels: Float[Tensor, "examples outputs"],
    heads: int,
    head_width: int,
    seed: Seed = 0,
    steps: int = 500,
) -> tuple[KeyQueryHeads, float]:
    """Heads for which the best read-out comes as close to the labels as L-BFGS brings it.

    Returns:
        the heads, and the largest residual of a label, with a read-out solved for and the layer computed. Where the
        descent runs off to what is no number, these are the heads it began with.

    Raises:
        ParameterError: no step.
    """
    require(steps=(steps, 1, None))
    start = random_heads(heads, examples.width, head_width, seed)
    keys, queries = (part.to(labels, copy=True).requires_grad_() for part in (start.keys, start.queries))
    optimiser = torch.optim.LBFGS(
        [keys, queries],
        max_iter=steps,
        history_size=50,
        tolerance_grad=0,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = _residual(KeyQueryHeads(keys, queries), examples, labels).square().mean()
        value.backward()
        return value

    optimiser.step(loss)
    ended = bool(torch.isfinite(keys).all() and torch.isfinite(queries).all())
    trained = (
        KeyQueryHeads(keys.detach(), queries.detach())
        if ended
        else KeyQueryHeads(start.keys.to(labels), start.queries.to(labels))
    )
    readout = solve_readout(features(trained, examples), labels, heads, labels.shape[1])
    return trained, (predict(trained, readout, examples) - labels).abs().max().item()


def _residual(
    heads: KeyQueryHeads, examples: Examples, labels: Float[Tensor, "examples outputs"]
) -> Float[Tensor, "examples outputs"]:
    """The residual of the best read-out: the labels less their projection on the span of the softmax weights.

    With a shared context a head's weights sum to 1, so 1 and all weights but the last of every head span what Z's
    columns span; with separate ones it is these columns themselves. An entry that all tokens of a context have in
    common is the same in every head, and is taken once: dependent columns would leave directions to chance.
    """
    if examples.shared:
        weights = softmax_weights(heads, examples)[..., :-1].flatten(1)
        columns = torch.cat([torch.ones_like(weights[:, :1]), weights], dim=1)
    else:
        common = (examples.contexts == examples.contexts[:, :1]).flatten(0, 1).all(dim=0)
        Z = features(heads, examples)
        in_first_head = torch.arange(Z.shape[1], device=Z.device) < examples.width
        columns = Z[:, in_first_head | ~common.repeat(Z.shape[1] // examples.width)]
    basis = torch.linalg.qr(columns).Q
    return labels - basis @ (basis.mT @ labels)
