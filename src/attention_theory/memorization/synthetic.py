"""The synthetic memorisation task of Section 5.2 and Appendix A: uniform tokens, random labels.

A *panel* is a list of settings, one for each model that is trained. Every model draws its own data from its own seed,
so that what it learns does not depend on the models beside it.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_theory.randomness import generator
from attention_theory.validation import require

Labels = Literal["classes", "real"]


@dataclass(frozen=True)
class Setting:
    """One model of a panel, and the data set it is to memorise.

    Attributes:
        heads: H, at least 1.
        tokens: n, tokens in the context, at least 1.
        examples: T, at least 1.
        head_width: d_h, at least 1.
        seed: draws the data, the initial weights and the order of the batches; at least 0.

    Raises:
        ParameterError: one of them is out of its range.
    """

    heads: int
    tokens: int
    examples: int
    head_width: int
    seed: int = 0

    def __post_init__(self) -> None:
        require(
            heads=(self.heads, 1, None),
            tokens=(self.tokens, 1, None),
            examples=(self.examples, 1, None),
            head_width=(self.head_width, 1, None),
            seed=(self.seed, 0, None),
        )


@dataclass(frozen=True)
class DataSets:
    """The data of a panel, padded with zeros to the longest context and the largest data set.

    Attributes:
        queries: one query token an example.
        contexts: one context for all examples of a model (``shared``), or one for each example.
        labels: class numbers (int64) or real numbers.
        sizes: T of each model; only the first T examples of a row are data.
        classes: the number of classes; 1 for real labels.
    """

    queries: Float[Tensor, "models examples width"]
    contexts: Float[Tensor, "models tokens width"] | Float[Tensor, "models examples tokens width"]
    labels: Int[Tensor, "models examples"] | Float[Tensor, "models examples"]
    sizes: Int[Tensor, " models"]
    classes: int

    @property
    def shared(self) -> bool:
        return self.contexts.ndim == 3

    def to(self, device: torch.device | str) -> "DataSets":
        queries, contexts, labels, sizes = (
            part.to(device) for part in (self.queries, self.contexts, self.labels, self.sizes)
        )
        return DataSets(queries, contexts, labels, sizes, self.classes)


def sample_data_sets(
    settings: list[Setting],
    width: int,
    shared: bool = True,
    labels: Labels = "classes",
    classes: int = 100,
    dtype: torch.dtype = torch.float32,
) -> DataSets:
    """Tokens from U(0,1)^width; labels uniform over the classes or over [0, 1].

    Args:
        settings: one entry a model.
        width: d of the raw tokens, at least 2.
        shared: one context for all examples (Section 5.2), or one for each example (Appendix I.1).
        labels: ``classes`` for Figures 2 and 3, ``real`` for Figure 5.
        classes: the number of classes, at least 2; not used for real labels.

    Raises:
        ParameterError: an argument out of its range.
    """
    require(width=(width, 2, None), labels=(labels, {"classes", "real"}), classes=(classes, 2, None))
    most_examples = max(setting.examples for setting in settings)
    most_tokens = max(setting.tokens for setting in settings)
    context_shape = (most_tokens, width) if shared else (most_examples, most_tokens, width)
    queries = torch.zeros(len(settings), most_examples, width, dtype=dtype)
    contexts = torch.zeros(len(settings), *context_shape, dtype=dtype)
    answers = torch.zeros(len(settings), most_examples, dtype=torch.int64 if labels == "classes" else dtype)
    for model, setting in enumerate(settings):
        draw = generator(setting.seed)
        T, n = setting.examples, setting.tokens
        queries[model, :T] = torch.rand(T, width, generator=draw, dtype=dtype)
        if shared:
            contexts[model, :n] = torch.rand(n, width, generator=draw, dtype=dtype)
        else:
            contexts[model, :T, :n] = torch.rand(T, n, width, generator=draw, dtype=dtype)
        if labels == "classes":
            answers[model, :T] = torch.randint(classes, (T,), generator=draw)
        else:
            answers[model, :T] = torch.rand(T, generator=draw, dtype=dtype)
    sizes = torch.tensor([setting.examples for setting in settings])
    return DataSets(queries, contexts, answers, sizes, classes if labels == "classes" else 1)
