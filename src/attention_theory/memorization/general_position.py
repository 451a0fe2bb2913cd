"""Examples memorised for certain if all tokens are in general position: the conjecture of Appendix I.1.

With d independent queries a head can be given weights of its choice on d examples, not on n. The limit is then how far
the tokens of one context lie apart: the differences within any ceil(d / n) contexts span at least d - ceil(d / n)
dimensions, and there are data in general position whose differences all lie in a subspace of so many.
"""

import torch

from attention_theory.memorization.attention import Examples
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require


def fresh_examples(tokens: int, width: int, head_width: int) -> int:
    """The examples that every head but the first adds: min(d_h - 1, d - ceil(d / n)).

    Raises:
        ParameterError: no token or not fewer than the width, or a head width below 1.
    """
    require(tokens=(tokens, 1, width - 1), head_width=(head_width, 1, None))
    return min(head_width - 1, width + (-width // tokens))


def capacity_in_general_position(heads: int, tokens: int, width: int, head_width: int | None = None) -> int:
    """min(d, d_h) + (H - 1) min(d_h - 1, d - ceil(d / n)), with d_h = d unless given: examples memorised for certain.

    With d_h = d it is also the largest rank of Z that no choice of the data in general position can lower.

    Raises:
        ParameterError: no head, no token or not fewer than the width, or a head width below 1.
    """
    require(heads=(heads, 1, None))
    own = width if head_width is None else head_width
    return min(width, own) + (heads - 1) * fresh_examples(tokens, width, own)


def narrow_contexts(count: int, tokens: int, width: int, seed: Seed, largest: int = 95) -> Examples:
    """Whole tokens, almost always in general position, whose differences within a context lie in a subspace.

    The last ceil(d / n) entries of all tokens of a context are equal. For almost all choices of the other entries, and
    of the queries, any d of all tokens are independent: d tokens come from at least ceil(d / n) contexts.

    Raises:
        ParameterError: no example, or no token or not fewer than the width.
    """
    require(count=(count, 1, None), tokens=(tokens, 1, width - 1), largest=(largest, 1, None))
    draw = generator(seed)

    def whole(*shape: int) -> torch.Tensor:
        return torch.randint(-largest, largest + 1, shape, generator=draw).double()

    contexts = whole(count, tokens, width)
    same = width - fresh_examples(tokens, width, width + 1)
    contexts[..., width - same :] = contexts[:, :1, width - same :]
    return Examples(contexts, whole(count, width))
