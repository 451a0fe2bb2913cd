"""Why no stack of linear self-attention couples features (Remark F.6): the parallelogram identity.

A linear attention layer maps ``X`` to ``X G`` with a matrix ``G`` that depends on the whole sequence, and so does every
stack of them, with any number of heads and with skip connections. So four tokens with
``x(0,0) - x(0,1) - x(1,0) + x(1,1) = 0``, as one-hots of two features side by side always have, get outputs with the
same sum: 0. A product of two features breaks that.
"""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import refuse_unless, require

#: The heads of one layer: score matrices and value matrices, stacked.
_Layer = tuple[Float[Tensor, "heads width width"], Float[Tensor, "heads width width"]]


def random_layers(layers: int, heads: int, width: int, seed: Seed) -> list[_Layer]:
    """Gaussian weights of the stacks of Remark F.6, scaled so that the outputs stay near 1 for a dozen tokens.

    Raises:
        ParameterError: no layer, head or feature.
    """
    require(layers=(layers, 1, None), heads=(heads, 1, None), width=(width, 1, None))
    draw = generator(seed)

    def matrices() -> Float[Tensor, "heads width width"]:
        return normal(heads, width, width, seed=draw) / (3 * width)

    return [(matrices(), matrices()) for _ in range(layers)]


def linear_stack(
    tokens: Float[Tensor, "tokens width"], layers: Sequence[_Layer], skip: bool = False
) -> Float[Tensor, "tokens width"]:
    """Multihead linear self-attention, layer after layer (Remark F.6); heads are added (an output matrix is in W)."""
    for score, value in layers:
        heads = linear_attention(tokens, score, value).sum(dim=0)
        tokens = tokens + heads if skip else heads
    return tokens


def parallelogram_defect(outputs: Float[Tensor, "tokens features"], corners: Sequence[int]) -> float:
    """Largest entry of ``|Y_00 - Y_01 - Y_10 + Y_11|``, over the largest output; ``corners`` are those four rows.

    It is 0 for every stack of Remark F.6 on features side by side.

    Raises:
        ParameterError: not four corners.
    """
    refuse_unless(len(corners) == 4, f"corners must be four, got {len(corners)}")
    first, second, third, fourth = (outputs[row] for row in corners)
    defect = (first - second - third + fourth).abs().max()
    return (defect / outputs.abs().max()).item()
