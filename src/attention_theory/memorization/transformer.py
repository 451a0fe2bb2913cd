"""A layer of a vision or language transformer, read at all tokens or at one (Section 5.1, Appendix J)."""

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.randomness import Seed, generator
from attention_theory.validation import refuse_unless, require


@dataclass(frozen=True)
class Affine:
    """x -> x W + b."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


@dataclass(frozen=True)
class Norm:
    """Layer normalisation; no gain and bias where they are None."""

    gain: Float[Tensor, " width"] | None = None
    bias: Float[Tensor, " width"] | None = None
    epsilon: float = 1e-12

    def __call__(self, x: Float[Tensor, "... width"]) -> Float[Tensor, "... width"]:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], self.gain, self.bias, self.epsilon)


@dataclass(frozen=True)
class TransformerLayer:
    """One transformer layer.

    Attributes:
        heads: H; the width is split evenly among them.
        query, key, value, output: the attention's maps.
        attention_norm: before the attention (``pre``) or after its skip connection (``post``).
        up, down: the two maps of the feed-forward part; None leaves that part out.
        forward_norm: its normalisation.
        order: ``pre`` as in ViT and GPT-2, ``post`` as in BERT.
        gelu: the approximation of GELU that the model was made with.
    """

    heads: int
    query: Affine
    key: Affine
    value: Affine
    output: Affine
    attention_norm: Norm
    up: Affine | None = None
    down: Affine | None = None
    forward_norm: Norm | None = None
    order: Literal["pre", "post"] = "pre"
    gelu: Literal["none", "tanh"] = "none"

    def at(self, tokens: Float[Tensor, "examples tokens width"], position: int) -> Float[Tensor, "examples width"]:
        """The output at one position that may look at all tokens: the class token, or the last of a causal model.

        The query is carried through the key map and the values are mapped after the weighted sum, so that neither keys
        nor values are formed for the tokens.
        """
        inside = self.attention_norm(tokens) if self.order == "pre" else tokens
        query = self.query(inside[:, position]).unflatten(-1, (self.heads, -1))
        key = self.key.weight.unflatten(-1, (self.heads, -1))
        carried = torch.einsum("thk,dhk->thd", query, key) / math.sqrt(query.shape[-1])
        weights = (carried @ inside.mT).softmax(dim=-1)
        value = self.value.weight.unflatten(-1, (self.heads, -1))
        mixed = torch.einsum("thd,dhk->thk", weights @ inside, value).flatten(1) + self.value.bias
        return self._finish(tokens[:, position], self.output(mixed))

    def everywhere(
        self, tokens: Float[Tensor, "examples tokens width"], causal: bool = False
    ) -> Float[Tensor, "examples tokens width"]:
        """The outputs at all positions."""
        inside = self.attention_norm(tokens) if self.order == "pre" else tokens
        query, key, value = (
            part(inside).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return self._finish(tokens, self.output(mixed.transpose(1, 2).flatten(2)))

    def _finish(self, before: Tensor, attended: Tensor) -> Tensor:
        """Skip connections, feed-forward part and normalisations around them."""
        middle = before + attended
        if self.order == "post":
            middle = self.attention_norm(middle)
        if self.up is None or self.down is None or self.forward_norm is None:
            return middle
        inside = self.forward_norm(middle) if self.order == "pre" else middle
        forward = self.down(torch.nn.functional.gelu(self.up(inside), approximate=self.gelu))
        return middle + forward if self.order == "pre" else self.forward_norm(middle + forward)


_Model = TypeVar("_Model")


def cast(model: _Model, target: torch.dtype | torch.device | str) -> _Model:
    """A model in another precision or on another device: a dataclass of tensors, other such ones and tuples of them."""
    changed: dict[str, object] = {}
    for part in fields(model):  # type: ignore[arg-type]
        value = getattr(model, part.name)
        if isinstance(value, Tensor) and (value.is_floating_point() or not isinstance(target, torch.dtype)):
            changed[part.name] = value.to(target)
        elif is_dataclass(value) and not isinstance(value, type):
            changed[part.name] = cast(value, target)
        elif isinstance(value, tuple):
            changed[part.name] = tuple(cast(one, target) for one in value)
    return replace(model, **changed)  # type: ignore[type-var]


def random_layer(
    width: int, heads: int, seed: Seed, order: Literal["pre", "post"] = "pre", spread: float = 0.02
) -> TransformerLayer:
    """A layer as these models are initialised: maps from N(0, spread²), no biases, normalisations without effect.

    Raises:
        ParameterError: no head, or a width that the heads do not divide.
    """
    require(heads=(heads, 1, None))
    require(width=(width, heads, None))
    refuse_unless(width % heads == 0, f"width must be a multiple of heads, got {width} and {heads}")
    draw = generator(seed)

    def affine(inputs: int, outputs: int) -> Affine:
        return Affine(spread * torch.randn(inputs, outputs, generator=draw), torch.zeros(outputs))

    query, key, value, output = (affine(width, width) for _ in range(4))
    up, down = affine(width, 4 * width), affine(4 * width, width)
    return TransformerLayer(heads, query, key, value, output, Norm(), up, down, Norm(), order)


def random_attention(width: int, seed: Seed) -> TransformerLayer:
    """The paper's Random Attention: one head, Xavier-uniform maps, normalisation before, skip after, nothing else."""
    draw = generator(seed)
    bound = math.sqrt(3 / width)

    def affine() -> Affine:
        return Affine((2 * torch.rand(width, width, generator=draw) - 1) * bound, torch.zeros(width))

    return TransformerLayer(1, affine(), affine(), affine(), affine(), Norm(epsilon=1e-5))
