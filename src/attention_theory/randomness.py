"""Seeds and generators: every draw of the package can be made again."""

import torch
from torch import Generator

Seed = int | Generator


def generator(seed: Seed, device: torch.device | str = "cpu") -> Generator:
    """A generator from a seed; a generator is passed through, so that draws can go on from where it stands."""
    return seed if isinstance(seed, Generator) else Generator(device=device).manual_seed(seed)
