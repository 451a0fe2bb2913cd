"""Seeds, generators and streams: every draw of the package can be made again."""

import numpy
import torch
from jaxtyping import Shaped
from torch import Generator, Tensor

from attention_theory.validation import require

#: What a function that draws takes: a whole number that names the draws, or a generator that goes on from where it is.
Seed = int | Generator


def generator(seed: Seed, device: torch.device | str = "cpu") -> Generator:
    """A generator from a seed; a generator is passed through, so that draws can go on from where it stands.

    The generator of the CPU reads the lower 32 bits of a seed and no more.

    Raises:
        ParameterError: a seed that is no integer from 0 to 2^64 - 1.
    """
    if isinstance(seed, Generator):
        return seed
    require(seed=(seed, 0, 2**64 - 1))
    return Generator(device=device).manual_seed(seed)


def normal(
    *shape: int, seed: Seed, dtype: torch.dtype = torch.float64, device: torch.device | str | None = None
) -> Shaped[Tensor, "..."]:
    """Independent standard normal numbers.

    They are drawn where the generator lives, on the CPU if ``seed`` is a number, and then moved to ``device`` if one is
    given: a number names the same draws on every device. Another ``dtype`` is another draw.

    Raises:
        ParameterError: a seed that is no integer from 0 to 2^64 - 1.
    """
    source = generator(seed)
    return torch.randn(shape, generator=source, dtype=dtype, device=source.device).to(device or source.device)


def streams(seed: Seed, count: int) -> list[int]:
    """Seeds of independent streams, all derived from one seed: ``training, test = streams(seed, 2)``.

    Sums such as ``seed + 1`` meet again in the next seed's draws; these do not (NumPy's ``SeedSequence``). Each is a
    32-bit number, and more streams leave the first ones as they are. A generator gives other streams each time.

    Raises:
        ParameterError: fewer than one stream, or a seed that is no integer from 0 to 2^64 - 1.
    """
    require(count=(count, 1, None))
    if isinstance(seed, Generator):
        seed = int(torch.randint(2**63 - 1, (), generator=seed, device=seed.device))
    require(seed=(seed, 0, 2**64 - 1))
    return [int(child.generate_state(1)[0]) for child in numpy.random.SeedSequence(seed).spawn(count)]
