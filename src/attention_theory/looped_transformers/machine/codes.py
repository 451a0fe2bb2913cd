"""Integers as vectors of ±1: addresses, and numbers in two's complement. The least significant bit comes first."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.validation import FORMS, Form, ParameterError, refuse_unless, require


def to_bits(
    integers: Int[Tensor, "..."] | int, bits: int, dtype: torch.dtype = torch.float64
) -> Float[Tensor, "... bits"]:
    """Bit ``k`` of an integer as +1 or -1; negative integers in two's complement, as if of unlimited length.

    With it an address is ``to_bits(i, L)`` (Appendix B.1) and a number ``to_bits(x, N)`` (Appendix F.3: the last bit,
    ``b_N``, is +1 where the number is negative). The rest is taken modulo ``2**bits``.

    Raises:
        ParameterError: numbers that are not integers, or bits outside 1 to 62.
    """
    require(bits=(bits, 1, 62))
    if not isinstance(integers, Tensor):
        require(integers=(integers, -(2**62), 2**62))
        integers = torch.tensor(integers)
    if integers.is_floating_point() or integers.dtype == torch.bool:
        raise ParameterError(f"integers must be of an integer type, got {integers.dtype}")
    integers = integers.to(torch.int64)
    return ((integers[..., None] >> torch.arange(bits, device=integers.device)) % 2 * 2 - 1).to(dtype)


def from_bits(code: Float[Tensor, "... bits"], signed: bool = False, form: Form = "correct") -> Int[Tensor, "..."]:
    """The integer that a vector of bits stands for, read by the signs of its entries.

    Args:
        code: the least significant bit first.
        signed: two's complement, with the last bit +1 where the number is negative.
        form: ``printed`` reads the sign as the list in Appendix G has it, the wrong way round.

    Raises:
        ParameterError: an unknown form, an entry that is no number (NaN), no bit, or more than 62.
    """
    require(form=(form, FORMS))
    refuse_unless(1 <= code.shape[-1] <= 62, f"code must have from 1 to 62 bits, got {code.shape[-1]}")
    if code.isnan().any():
        raise ParameterError("code must hold numbers, got NaN")
    places = torch.arange(code.shape[-1], device=code.device)
    one = (code > 0).to(torch.int64)
    if not signed:
        return (one << places).sum(dim=-1)
    last = one[..., -1] if form == "correct" else 1 - one[..., -1]
    return (one << places)[..., :-1].sum(dim=-1) - (last << (code.shape[-1] - 1))


def address_bits(columns: int) -> int:
    """``L``, the bits that give each of ``columns`` columns a different code.

    Raises:
        ParameterError: no column.
    """
    require(columns=(columns, 1, None))
    return max(1, (columns - 1).bit_length())


def position_codes(
    columns: int, bits: int | None = None, device: torch.device | str = "cpu"
) -> Float[Tensor, "columns bits"]:
    """The codes of columns 0, 1, 2, ... (Appendix B.1).

    Raises:
        ParameterError: more columns than codes. Two columns of one code look the same.
    """
    bits = address_bits(columns) if bits is None else bits
    if columns > 2**bits:
        raise ParameterError(f"columns must be an integer from 1 to {2**bits} with {bits} address bits, got {columns}")
    return to_bits(torch.arange(columns, device=device), bits)
