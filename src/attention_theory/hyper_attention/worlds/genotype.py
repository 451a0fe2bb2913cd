"""Active alleles: a dictionary of activations as one attention layer (Example 2, Appendix B.2).

The dictionary maps an allele to the alleles that activate it; an empty list means always active, and an allele that
is not in it is never active. The paper's weights ``1/m`` for an allele with m activators return the *share* of its
activators that are present; with one activator each, as in the paper's dictionary, the readings "any" and "all" agree.
"""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.hyper_attention.interactions.interactions import counts
from attention_theory.validation import FORMS, Each, Form, ParameterError, require

_Dictionary = Mapping[int, Sequence[int]]


def activation_score(
    dictionary: _Dictionary, size: int, form: Form = "correct", length: int | None = None
) -> Float[Tensor, "size size"]:
    """The score matrix of Appendix B.2, the value vector being all ones.

    Args:
        dictionary: who activates whom.
        size: the number of alleles.
        form: how an always active allele gets its 1: from itself, which is right at every length, or (``"printed"``)
            ``1 / length`` from every token, which is right at that length alone.
        length: the length for ``"printed"``.

    Raises:
        ParameterError: an allele outside the range or twice in a list, an unknown form, or the printed one without a
            length.
    """
    require(form=(form, FORMS))
    _require_alleles(dictionary, size)
    score = torch.zeros(size, size, dtype=torch.float64)
    for allele, activators in dictionary.items():
        if activators:
            score[allele, list(activators)] = 1 / len(activators)
        elif form == "correct":
            score[allele, allele] = 1
        else:
            require(length=(length, 1, None))
            assert length is not None
            score[allele] = 1 / length
    return score


def activation(symbols: Int[Tensor, "... length"], dictionary: _Dictionary, size: int) -> Float[Tensor, "... length"]:
    """Test whether each token is active (Example 2): 1 if always, the share of its activators that are present, or 0.

    Raises:
        ParameterError: an allele outside the range or twice in a list.
    """
    _require_alleles(dictionary, size)
    present = (counts(symbols, size) > 0).to(torch.float64)
    by_allele = torch.zeros_like(present)
    for allele, activators in dictionary.items():
        by_allele[..., allele] = present[..., list(activators)].mean(dim=-1) if activators else 1.0
    return by_allele.gather(-1, symbols)


def _require_alleles(dictionary: _Dictionary, size: int) -> None:
    alleles = [allele for key, values in dictionary.items() for allele in (key, *values)]
    require(dictionary=(Each(alleles), 0, size - 1))
    for allele, activators in dictionary.items():
        if len(set(activators)) < len(activators):
            raise ParameterError(f"activators of allele {allele} must be distinct, got {list(activators)}")
