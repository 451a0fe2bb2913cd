"""Language models that differ in weights and attention blocks alone, stacked: trained in one pass.

A small model keeps a core waiting for the interpreter more than for arithmetic. So the weights of several models lie
behind one another along a first axis, and one batched product does the work of all of them. The attention blocks are
those of Tables 1 and 2 as they are: a block gets the sequences of all models of its kind as one batch, and only its
linear maps know which sequence belongs to which model.
"""

import copy
from collections.abc import Callable, Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_theory.hyper_attention.language.language_model import Block, LanguageModel
from attention_theory.validation import ParameterError, require_some


class _StackedLinear(nn.Module):
    """Linear maps of several models; the rows of its input are those of the first model, then of the second, ...

    Args:
        maps: one per model, all of one shape: those of Definitions F.3 and G.1 and of the perceptrons.
    """

    def __init__(self, maps: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.weight = _stack([one.weight for one in maps])
        self.bias = None if maps[0].bias is None else _stack([one.bias for one in maps])

    def forward(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens features"]:
        rows = x.reshape(len(self.weight), -1, x.shape[-1])
        matrix = self.weight.mT
        mapped = rows @ matrix if self.bias is None else torch.baddbmm(self.bias[:, None], rows, matrix)
        return mapped.reshape(*x.shape[:-1], -1)


class _StackedNorm(nn.Module):
    """Layer normalisations of several models, with their own factors and offsets (Section 7.2's block)."""

    def __init__(self, norms: Sequence[nn.LayerNorm]) -> None:
        super().__init__()
        self.weight, self.bias = _stack([one.weight for one in norms]), _stack([one.bias for one in norms])

    def forward(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        rows = nn.functional.layer_norm(x, x.shape[-1:]).reshape(len(self.weight), -1, x.shape[-1])
        return torch.addcmul(self.bias[:, None], rows, self.weight[:, None]).reshape(x.shape)


class _SideBySide(nn.Module):
    """Attention blocks of several kinds; each gets its share of the sequences, which lie kind by kind (Section 7.2).

    Args:
        blocks: one a kind, each the stack of equally many models.
    """

    def __init__(self, blocks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        return torch.cat([block(part) for block, part in zip(self.blocks, x.chunk(len(self.blocks)), strict=True)])


class StackedModels(nn.Module):
    """Several :class:`LanguageModel` as one network (Tables 1 and 2), kind by kind.

    Args:
        kinds: equally many models of each kind, at least one. Those of a kind are alike except for their weights, which
            are copied; kinds differ in their attention blocks alone.

    Raises:
        ParameterError: no kind, no model or not equally many of each kind, or weights elsewhere than in linear maps and
            normalisations.
    """

    def __init__(self, kinds: Sequence[Sequence[LanguageModel]]) -> None:
        super().__init__()
        require_some(kinds=kinds)
        for models in kinds:
            require_some(kinds=models)
        if len(set(map(len, kinds))) > 1:
            raise ParameterError(f"models must be equally many of each kind, got {[len(models) for models in kinds]}")
        models = [one for some in kinds for one in some]
        self.tokens = _stack([one.tokens.weight for one in models])
        self.positions = _stack([one.positions.weight for one in models])
        depth = range(len(models[0].blocks))
        layers = [[[cast(Block, one.blocks[layer]) for one in some] for some in kinds] for layer in depth]
        self.blocks = nn.Sequential(*(_stack_blocks(layer) for layer in layers))
        self.norm = _StackedNorm([one.norm for one in models])
        self.kinds = len(kinds)

    def forward(self, tokens: Int[Tensor, "models batch length"]) -> Float[Tensor, "models rows vocabulary"]:
        """The logits of the token after each one, those of a model's sequences one after another."""
        models, batch, length = tokens.shape
        vocabulary = self.tokens.shape[1]
        places = tokens + vocabulary * torch.arange(models, device=tokens.device)[:, None, None]
        x = nn.functional.embedding(places, self.tokens.flatten(0, 1)) + self.positions[:, None, :length]
        x = self.norm(self.blocks(x.flatten(0, 1)))
        return x.reshape(models, batch * length, -1) @ self.tokens.mT

    def of_kind(self, kind: int) -> list[tuple[nn.Parameter, slice]]:
        """The parameters with weights of the models of a kind, each with their place along its first axis."""
        each = len(self.tokens) // self.kinds
        own: set[nn.Parameter] = set()
        others: set[nn.Parameter] = set()
        for one in self.blocks:
            if isinstance(one.attention, _SideBySide):
                for place, block in enumerate(one.attention.blocks):
                    (own if place == kind else others).update(block.parameters())
        shared = slice(kind * each, (kind + 1) * each)
        return [(one, slice(0, each) if one in own else shared) for one in self.parameters() if one not in others]

    def decayed(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """The matrices of the models, which weight decay shrinks, and the vectors, which it leaves alone."""
        matrices = [value for value in self.parameters() if value.ndim > 2]
        return matrices, [value for value in self.parameters() if value.ndim <= 2]


def _stack(values: Sequence[Tensor]) -> nn.Parameter:
    return nn.Parameter(torch.stack([value.detach() for value in values]))


#: What has weights of its own, and how several of them become one; what has none is taken as it is.
_STACKED: dict[type[nn.Module], Callable[[list], nn.Module]] = {nn.Linear: _StackedLinear, nn.LayerNorm: _StackedNorm}


def _stack_module(modules: Sequence[nn.Module]) -> nn.Module:
    """The first of several like modules, with every linear map and normalisation inside it stacked."""
    if make := _STACKED.get(type(modules[0])):
        return make(list(modules))
    if own := [name for name, _ in modules[0].named_parameters(recurse=False)]:
        kind = type(modules[0]).__name__
        raise ParameterError(f"models must keep their weights in linear maps and normalisations, {kind} has {own[0]}")
    one = copy.deepcopy(modules[0])
    for name, _ in one.named_children():
        setattr(one, name, _stack_module([getattr(module, name) for module in modules]))
    return one


def _stack_blocks(kinds: Sequence[Sequence[Block]]) -> Block:
    """The blocks of one layer as one: the attention of each kind beside that of the others, all else in one stack."""
    blocks = [one for some in kinds for one in some]
    stacked = copy.deepcopy(blocks[0])
    for name in ("before_attention", "before_mlp", "mlp"):
        setattr(stacked, name, _stack_module([getattr(one, name) for one in blocks]))
    attention = [_stack_module([one.attention for one in some]) for some in kinds]
    stacked.attention = attention[0] if len(attention) == 1 else _SideBySide(attention)
    return stacked
