"""Vision transformers up to their first layer (Section 5.1): embedding, class token, positions, one layer."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.memorization.transformer import Affine, Norm, TransformerLayer, random_layer
from attention_theory.randomness import Seed, generator
from attention_theory.validation import require


@dataclass(frozen=True)
class VisionModel:
    """Patches to tokens, and the first layer.

    Attributes:
        embed: the linear map of a patch.
        class_token: the query of every image.
        positions: row 0 for the class token.
        layer: the first layer.
    """

    embed: Affine
    class_token: Float[Tensor, " width"]
    positions: Float[Tensor, "tokens width"]
    layer: TransformerLayer

    def tokens(self, patches: Float[Tensor, "images patches values"]) -> Float[Tensor, "images tokens width"]:
        """The embedding layer's output, the class token first."""
        first = self.class_token.expand(len(patches), 1, -1)
        return torch.cat([first, self.embed(patches)], dim=1) + self.positions


def random_vision_model(tokens: int, values: int, width: int, heads: int, seed: Seed) -> VisionModel:
    """As ViT is initialised: everything from N(0, 0.02²).

    Raises:
        ParameterError: fewer than 2 tokens, or patches without values.
    """
    require(tokens=(tokens, 2, None), values=(values, 1, None))
    draw = generator(seed)

    def gaussian(*shape: int) -> Tensor:
        return 0.02 * torch.randn(*shape, generator=draw)

    embed = Affine(gaussian(values, width), torch.zeros(width))
    return VisionModel(embed, gaussian(width), gaussian(tokens, width), random_layer(width, heads, draw))


def train_vision_model(
    model: VisionModel,
    patches: Float[Tensor, "images patches values"],
    targets: Float[Tensor, "images numbers"],
    steps: int,
    batch: int = 64,
    lr: float = 1e-3,
    seed: Seed = 0,
) -> tuple[VisionModel, list[float]]:
    """Train embedding and layer so that a linear map of the class token's output gives the targets (squared error).

    Returns:
        the trained model, and the loss at every step.

    Raises:
        ParameterError: no step, a batch larger than the data, or a rate out of its range.
    """
    require(steps=(steps, 1, None), batch=(batch, 1, len(patches)), lr=(lr, 1e-9, 1.0))
    layer = model.layer
    names = ("query", "key", "value", "output", "up", "down")
    weights = {f"{name}.{part}": getattr(getattr(layer, name), part) for name in names for part in ("weight", "bias")}
    weights |= {"embed.weight": model.embed.weight, "embed.bias": model.embed.bias}
    weights |= {"class_token": model.class_token, "positions": model.positions}
    weights["head"] = model.class_token.new_zeros(model.class_token.shape[0], targets.shape[1])
    weights = {name: value.clone().requires_grad_() for name, value in weights.items()}
    optimiser = torch.optim.Adam(list(weights.values()), lr=lr)
    draw = generator(seed)
    losses = []
    for _ in range(steps):
        chosen = torch.randint(len(patches), (batch,), generator=draw)
        current = _assemble(model, weights)
        output = Norm()(current.layer.at(current.tokens(patches[chosen]), 0)) @ weights["head"]
        loss = (output - targets[chosen]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return _assemble(model, {name: value.detach() for name, value in weights.items()}), losses


def _assemble(model: VisionModel, weights: dict[str, Tensor]) -> VisionModel:
    """The model with other weights."""

    def affine(name: str) -> Affine:
        return Affine(weights[f"{name}.weight"], weights[f"{name}.bias"])

    layer = replace(
        model.layer,
        query=affine("query"),
        key=affine("key"),
        value=affine("value"),
        output=affine("output"),
        up=affine("up"),
        down=affine("down"),
    )
    return VisionModel(affine("embed"), weights["class_token"], weights["positions"], layer)
