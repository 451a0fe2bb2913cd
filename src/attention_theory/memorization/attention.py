"""One layer of multi-head attention read at a query (Section 3, Eqs. 1-8).

Symbols of the paper: H heads, T examples, n context tokens of width d, key width d_h, value width d_v. A context E
holds its tokens as rows; the query e is a separate row. There is no scaling by 1/sqrt(d_h), no bias and no mask.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_theory.randomness import Seed, generator, normal
from attention_theory.validation import FORMS, Form, refuse_unless, require, require_shape, require_some


@dataclass(frozen=True)
class KeyQueryHeads:
    """Key and query weights W_K, W_Q of all heads, each d by d_h."""

    keys: Float[Tensor, "heads width head_width"]
    queries: Float[Tensor, "heads width head_width"]

    @property
    def count(self) -> int:
        return self.keys.shape[0]


@dataclass(frozen=True)
class Readout:
    """Value weights W_V of all heads, output weights W_O, decoder W_D."""

    values: Float[Tensor, "heads width value_width"]
    output: Float[Tensor, "heads_times_value_width width"]
    decode: Float[Tensor, "width outputs"]


@dataclass(frozen=True)
class Examples:
    """Queries with their contexts: one context for all (``shared``), or one for each example.

    Raises:
        ParameterError: contexts without a token, or queries that are not as many or as wide as the contexts.
    """

    contexts: Float[Tensor, "tokens width"] | Float[Tensor, "examples tokens width"]
    queries: Float[Tensor, "examples width"]

    def __post_init__(self) -> None:
        refuse_unless(
            self.contexts.ndim in (2, 3) and self.contexts.shape[-2] > 0,
            f"contexts must have shape [tokens, width] or [examples, tokens, width], got {list(self.contexts.shape)}",
        )
        count = None if self.shared else self.contexts.shape[0]
        require_shape(queries=(self.queries, (count, self.contexts.shape[-1])))

    @property
    def shared(self) -> bool:
        return self.contexts.ndim == 2

    @property
    def count(self) -> int:
        return self.queries.shape[0]

    @property
    def tokens(self) -> int:
        return self.contexts.shape[-2]

    @property
    def width(self) -> int:
        return self.queries.shape[1]

    @property
    def context_of_each(self) -> Float[Tensor, "examples tokens width"]:
        """The context of every example; shared contexts are repeated without copying."""
        return self.contexts.expand(self.count, -1, -1)

    def take(self, rows: Tensor | slice) -> "Examples":
        """Some of the examples."""
        return Examples(self.contexts if self.shared else self.contexts[rows], self.queries[rows])

    def to(self, device: torch.device | str) -> "Examples":
        """The same examples on another device."""
        return Examples(self.contexts.to(device), self.queries.to(device))


def random_heads(heads: int, width: int, head_width: int, seed: Seed) -> KeyQueryHeads:
    """Gaussian weights, scaled so that the logits of unit-variance tokens are of order 1.

    Raises:
        ParameterError: no head, or a width below 1.
    """
    require(heads=(heads, 1, None), width=(width, 1, None), head_width=(head_width, 1, None))
    pair = normal(2, heads, width, head_width, seed=seed) * (width**2 * head_width) ** -0.25
    return KeyQueryHeads(pair[0], pair[1])


def random_readout(heads: int, width: int, value_width: int, outputs: int, seed: Seed) -> Readout:
    """Gaussian value, output and decoder weights.

    Raises:
        ParameterError: a size below 1.
    """
    require(heads=(heads, 1, None), width=(width, 1, None))
    require(value_width=(value_width, 1, None), outputs=(outputs, 1, None))
    draw = generator(seed)

    def gaussian(*shape: int) -> Tensor:
        return normal(*shape, seed=draw) * shape[-2] ** -0.5

    return Readout(gaussian(heads, width, value_width), gaussian(heads * value_width, width), gaussian(width, outputs))


def logits(heads: KeyQueryHeads, examples: Examples) -> Float[Tensor, "examples heads tokens"]:
    """alpha = E W_K W_Q^T e of every head on every example (Eq. 1)."""
    carried = (examples.queries @ heads.queries) @ heads.keys.mT
    return carried.transpose(0, 1) @ examples.contexts.mT


def softmax_weights(
    heads: KeyQueryHeads, examples: Examples, hidden: Bool[Tensor, "examples tokens"] | None = None
) -> Float[Tensor, "examples heads tokens"]:
    """theta = softmax(alpha) (Eq. 2); tokens that are hidden have the weight 0, even where all are."""
    if hidden is None:
        return logits(heads, examples).softmax(dim=-1)
    hidden = hidden[:, None]
    return logits(heads, examples).masked_fill(hidden, -torch.inf).softmax(dim=-1).masked_fill(hidden, 0.0)


def features(heads: KeyQueryHeads, examples: Examples) -> Float[Tensor, "examples heads_times_width"]:
    """The feature matrix Z: in each row the H convex combinations of context tokens, side by side (Eqs. 3 and 7)."""
    return (softmax_weights(heads, examples) @ examples.contexts).flatten(1)


def matrix_form(Z: Float[Tensor, "examples heads_times_width"], readout: Readout) -> Float[Tensor, "examples outputs"]:
    """Z diag(W_V1, ..., W_VH) W_O W_D (Eq. 8); one row of outputs an example."""
    return Z @ torch.block_diag(*readout.values) @ readout.output @ readout.decode


def predict(
    heads: KeyQueryHeads,
    readout: Readout,
    examples: Examples,
    skip: bool = False,
    hidden: Bool[Tensor, "examples tokens"] | None = None,
) -> Float[Tensor, "examples outputs"]:
    """The outputs of all examples (Eqs. 1-6).

    Args:
        skip: add the query to the layer's output before decoding (the layer with a skip connection, Section 4.4).
        hidden: true at tokens that count for nothing, whatever they hold; the output is 0 where all are.

    Raises:
        ParameterError: heads of another width than the examples.
    """
    refuse_unless(
        heads.keys.shape[1] == examples.width,
        f"heads must have the width of the examples, {examples.width}, got {heads.keys.shape[1]}",
    )
    if hidden is not None:
        examples = Examples(examples.context_of_each.masked_fill(hidden[..., None], 0.0), examples.queries)
    combined = softmax_weights(heads, examples, hidden) @ examples.contexts
    parts = torch.einsum("thd,hdv->thv", combined, readout.values).flatten(1)
    output = parts @ readout.output
    return (output + examples.queries if skip else output) @ readout.decode


def predict_literally(
    heads: KeyQueryHeads,
    readout: Readout,
    context: Float[Tensor, "tokens width"],
    query: Float[Tensor, " width"],
    scale: float = 1.0,
) -> Float[Tensor, " outputs"]:
    """One example, one head after another, an equation a line (Eqs. 1-6). ``scale`` multiplies the logits."""
    parts = []
    for keys, queries, values in zip(heads.keys, heads.queries, readout.values, strict=True):
        alpha = scale * (context @ keys @ queries.T @ query)
        theta = alpha.exp() / alpha.exp().sum()
        z = context.T @ theta
        parts.append(values.T @ z)
    o = readout.output.T @ torch.cat(parts)
    return readout.decode.T @ o


def capacity(heads: int, tokens: int, head_width: int) -> int:
    """H (min(n, d_h) - 1) + 1: the examples that Theorem 1 promises.

    >>> import attention_theory as at
    >>> at.capacity(heads=8, tokens=10, head_width=6)
    41

    Raises:
        ParameterError: no head, no token, or a head width below 1.
    """
    require(heads=(heads, 1, None), tokens=(tokens, 1, None), head_width=(head_width, 1, None))
    return heads * (min(tokens, head_width) - 1) + 1


def parameter_count(
    heads: int,
    width: int,
    head_width: int,
    value_width: int,
    outputs: int,
    form: Form = "correct",
) -> int:
    """2 H d d_h + 2 H d d_v + d d_out. The printed count leaves the output weights W_O out and has H d d_v once.

    Raises:
        ParameterError: a size below 1, or an unknown form.
    """
    require(heads=(heads, 1, None), width=(width, 1, None), head_width=(head_width, 1, None))
    require(value_width=(value_width, 1, None), outputs=(outputs, 1, None), form=(form, FORMS))
    value_and_output = (2 if form == "correct" else 1) * heads * width * value_width
    return 2 * heads * width * head_width + value_and_output + width * outputs


def memorises(
    outputs: Float[Tensor, "examples outputs"], labels: Float[Tensor, "examples outputs"], within: float = 1e-10
) -> bool:
    """Test whether every label is met, up to rounding (Section 3).

    Raises:
        ParameterError: outputs of another shape than the labels, or none.
    """
    require_some(outputs=outputs)
    require_shape(outputs=(outputs, labels.shape))
    return (outputs - labels).abs().max().item() <= within
