"""Language models of one shape, stacked: the same network from several seeds, trained in one pass.

A small model keeps a core waiting for the interpreter more than for arithmetic. So the weights of several models lie
behind one another along a first axis, and one batched product does the work of all of them. The attention blocks are
those of Tables 1 and 2 as they are: they get the sequences of all the models as one batch, and only their linear maps
know which sequence belongs to which model.
"""

import copy
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_theory.hyper_attention.language.language_model import LanguageModel
from attention_theory.validation import ParameterError, require


class StackedLinear(nn.Module):
    """Linear maps of several models; the rows of its input are those of the first model, then of the second, ...

    Args:
        maps: one a model, all of one shape. (The linear maps of Definitions F.3 and G.1 and of the perceptrons.)
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


class StackedNorm(nn.Module):
    """Layer normalisations of several models, with their own factors and offsets (Section 7.2's block)."""

    def __init__(self, norms: Sequence[nn.LayerNorm]) -> None:
        super().__init__()
        self.weight, self.bias = _stack([one.weight for one in norms]), _stack([one.bias for one in norms])

    def forward(self, x: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        rows = nn.functional.layer_norm(x, x.shape[-1:]).reshape(len(self.weight), -1, x.shape[-1])
        return torch.addcmul(self.bias[:, None], rows, self.weight[:, None]).reshape(x.shape)


class StackedModels(nn.Module):
    """Several :class:`LanguageModel` of one shape as one network (Tables 1 and 2).

    Args:
        models: at least one, alike but for their weights, which are copied.

    Raises:
        ParameterError: no model, or weights elsewhere than in linear maps and normalisations.
    """

    def __init__(self, models: Sequence[LanguageModel]) -> None:
        super().__init__()
        require(models=(len(models), 1, None))
        self.tokens = _stack([one.tokens.weight for one in models])
        self.positions = _stack([one.positions.weight for one in models])
        self.blocks = _stack_module([one.blocks for one in models])
        self.norm = StackedNorm([one.norm for one in models])

    def forward(self, tokens: Int[Tensor, "models batch length"]) -> Float[Tensor, "models rows vocabulary"]:
        """The logits of the token after each one, those of a model's sequences one after another."""
        models, batch, length = tokens.shape
        vocabulary = self.tokens.shape[1]
        places = tokens + vocabulary * torch.arange(models, device=tokens.device)[:, None, None]
        x = nn.functional.embedding(places, self.tokens.flatten(0, 1)) + self.positions[:, None, :length]
        x = self.norm(self.blocks(x.flatten(0, 1)))
        return x.reshape(models, batch * length, -1) @ self.tokens.mT

    def decayed(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """The matrices of the models, which weight decay shrinks, and the vectors, which it leaves alone."""
        matrices = [value for value in self.parameters() if value.ndim > 2]
        return matrices, [value for value in self.parameters() if value.ndim <= 2]


def _stack(values: Sequence[Tensor]) -> nn.Parameter:
    return nn.Parameter(torch.stack([value.detach() for value in values]))


#: What has weights of its own, and how several of them become one; what has none is taken as it is.
_STACKED: dict[type[nn.Module], Callable[[list], nn.Module]] = {nn.Linear: StackedLinear, nn.LayerNorm: StackedNorm}


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
