"""Identities of the model and its features, for all models of one head and all inputs of a size; heads add up."""

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exhaust
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.linear_attention.certified.coefficients import ask_features
from attention_theory.linear_attention.certified.determining_inputs import (
    batched,
    heads_of,
    inputs_of,
)
from attention_theory.linear_attention.experiments.associative_memory import memory_teacher, printed_labels
from attention_theory.linear_attention.learning.kernel import kernel
from attention_theory.linear_attention.model.features import certificate_features, cubic_features
from attention_theory.linear_attention.model.literal import cubic_features_by_loops
from attention_theory.linear_attention.model.mhla import Heads, mhla, mhla_every_token
from attention_theory.linear_attention.model.parameters import coefficients, head_matrix
from attention_theory.validation import Form, require

#: A function of models and inputs.
_Function = Callable[[Heads, Tensor], Tensor]


def certify_attention(width: int, tokens: int) -> Certificate:
    """Eqs. 1 and 2: the outputs are the products of matrices of the definition, and blind to the order before the last.

    Args:
        width: d, and small: there are d⁴ models and about (n d)³ / 6 inputs.
        tokens: n, at least 2.

    Raises:
        ParameterError: a number out of its range.
    """
    require(width=(width, 1, None), tokens=(tokens, 2, None))
    pairs = {
        "every column is that of Eq. 1": (mhla_every_token, _by_definition),
        "Eq. 2 is the last column": (mhla, lambda heads, z: mhla_every_token(heads, z)[-1]),
        "the first tokens in another order give the same": (mhla, lambda heads, z: mhla(heads, _reordered(z))),
    }
    broken = (mhla, lambda heads, z: mhla(heads, z.flip(0)))
    return _certificate(
        "All outputs are those of Eqs. 1 and 2, and the last one does not depend on the order of the tokens before.",
        (width, tokens),
        pairs,
        "the last token changes places with the others",
        broken,
    )


def certify_feature_map(width: int, tokens: int) -> Certificate:
    """Eq. 4 with the columns in the order of Algorithm 8: each output is a block of the head matrix times 𝒳(Z).

    Args:
        width: d, at least 2, and small.
        tokens: n.

    Raises:
        ParameterError: a number out of its range.
    """
    require(width=(width, 2, None), tokens=(tokens, 1, None))
    return _certificate(
        "Output a of every model is the sum of the products of the a-th block of its head matrix with the features.",
        (width, tokens),
        {"the output is the head matrix times the features": (mhla, _by_features("correct"))},
        "the columns are in the order of Eq. 4",
        (mhla, _by_features("printed")),
    )


def certify_coefficients(width: int, tokens: int) -> Certificate:
    """Corollary 2: each output is ``<p_a, H(Z)>`` (Eq. 45), and the features are independent.

    Args:
        width: d, and small.
        tokens: n, at least 2.

    Raises:
        ParameterError: a number out of its range.
    """
    require(width=(width, 1, None), tokens=(tokens, 2, None))
    return _certificate(
        "Output a of every model is the product of its coefficients p_a with the features of Algorithm 2, which are "
        "independent functions. So two models are one function if and only if their p are equal.",
        (width, tokens),
        {"the output is p times H(Z)": (mhla, _by_coefficients("correct"))},
        "p counts the terms with j = k twice, as Eq. 16 has it",
        (mhla, _by_coefficients("printed")),
        [ask_features(width)],
    )


def certify_loops(width: int, tokens: int) -> Certificate:
    """Algorithm 8: the features are those of its three loops, on all inputs of a size.

    Args:
        width: d, at least 2, and small.
        tokens: n.

    Raises:
        ParameterError: a number out of its range.
    """
    require(width=(width, 2, None), tokens=(tokens, 1, None))
    inputs = inputs_of(tokens, width)
    loops = torch.stack([cubic_features_by_loops(z) for z in inputs])

    def ask(form: Form) -> Answer:
        same = (cubic_features(inputs, form) == loops).flatten(1).all(dim=1)
        words = f"the features ({form} order) are those of the loops"
        return exhaust.every({"input": len(inputs)}, lambda batch: same[batch["input"]], words)

    def run(values: Counterexample) -> tuple[str, bool]:
        at = values["input"]
        wrong = int((cubic_features(inputs[at], "printed") != loops[at]).sum())
        return f"{wrong} entries of Eq. 68 unlike those of the loops at Z = {inputs[at].tolist()}", wrong > 0

    return certify(
        "The features are those of the three loops of Algorithm 8.",
        f"d = {width}, n = {tokens}, all inputs",
        ask("correct"),
        Control.of("the columns are in the order of Eq. 68", ask("printed"), run),
    )


def certify_kernel(width: int, tokens: int) -> Certificate:
    """The kernel of two inputs is the inner product of their cubic features, for all inputs of a size.

    Args:
        width: d, and small.
        tokens: n, at least 2, of either input.

    Raises:
        ParameterError: a number out of its range.
    """
    require(width=(width, 1, None), tokens=(tokens, 2, None))
    inputs = inputs_of(tokens, width)
    features = cubic_features(inputs).flatten(1)
    products = features @ features.mT
    kernels = {True: kernel(inputs, inputs), False: kernel(inputs.flip(1), inputs)}

    def ask(kept: bool) -> Answer:
        same, words = kernels[kept] == products, "the kernel is the inner product of the features"
        sizes = {"first": len(inputs), "second": len(inputs)}
        return exhaust.every(sizes, lambda batch: same[batch["first"], batch["second"]], words)

    def run(values: Counterexample) -> tuple[str, bool]:
        at = values["first"], values["second"]
        ours, due = kernels[False][at].item(), products[at].item()
        return f"kernel {ours:g}, inner product {due:g}", ours != due

    return certify(
        "The kernel is the inner product of the cubic features.",
        f"d = {width}, n = {tokens}, all pairs of inputs",
        ask(kept=True),
        Control.of("the kernel takes another token for the last", ask(kept=False), run),
    )


def certify_memory(width: int) -> Certificate:
    """Section 6.2: the teacher returns the values found, and the term of the last token that Eq. 27 lacks.

    Args:
        width: d; all tables of d keys and values with any query.

    Raises:
        ParameterError: a width below 1.
    """
    require(width=(width, 1, None))
    inputs, teacher = inputs_of(width + 1, 2 * width), memory_teacher(width)
    outputs, table = mhla(teacher, inputs), printed_labels(inputs)
    query, noise = inputs[:, -1, :width], inputs[:, -1, width:]
    own = torch.cat([torch.zeros_like(query), query.square().sum(dim=1, keepdim=True) * noise], dim=1)

    def ask(labels: Tensor, words: str) -> Answer:
        same = (outputs == labels).all(dim=1)
        return exhaust.every({"input": len(inputs)}, lambda batch: same[batch["input"]], words)

    def run(values: Counterexample) -> tuple[str, bool]:
        ours, due = (mhla(teacher, inputs[values["input"]]).tolist(), table[values["input"]].tolist())
        return f"the head returns {ours}, Eq. 27 has {due}", ours != due

    return certify(
        "The head returns the sum over the table and the term of the last token.",
        f"d = {width}, all keys, values, queries and noise",
        ask(table + own, "the output is the corrected Eq. 27"),
        Control.of("without the term of the last token", ask(table, "the output is Eq. 27"), run),
    )


def certify_prefixes(width: int, tokens: int) -> Certificate:
    """Section 6.1: the labels by running sums are the teacher's outputs on every prefix.

    Args:
        width: d, and small.
        tokens: T, at least 2.

    Raises:
        ParameterError: a number out of its range.
    """
    require(width=(width, 1, None), tokens=(tokens, 2, None))

    def every_prefix(heads: Heads, z: Tensor) -> Tensor:
        return torch.stack([mhla(heads, z[: end + 1]) for end in range(tokens)])

    return _certificate(
        "The labels of every position, by running sums, are the outputs of Eq. 2 on the tokens up to it.",
        (width, tokens),
        {"causal outputs are those of the prefixes": (_causal, every_prefix)},
        "a position sees all tokens",
        (mhla_every_token, every_prefix),
    )


def _causal(heads: Heads, z: Tensor) -> Tensor:
    return mhla_every_token(heads, z, is_causal=True)


def _certificate(
    statement: str,
    size: tuple[int, int],
    pairs: Mapping[str, tuple[_Function, _Function]],
    broken: str,
    wrong: tuple[_Function, _Function],
    more: Sequence[Answer] = (),
) -> Certificate:
    """A certificate that two functions are equal for each of the pairs, and not for the wrong one."""
    width, tokens = size
    inputs = inputs_of(tokens, width)
    sizes = {"V": width**2, "Q": width**2, "input": len(inputs)}

    def sides(batch: Batch, pair: tuple[_Function, _Function]) -> list[Tensor]:
        heads = heads_of(batch, width)
        return [batched(function)(heads, inputs[batch["input"]]) for function in pair]

    def ask(pair: tuple[_Function, _Function], words: str) -> Answer:
        def holds(batch: Batch) -> Bool[Tensor, " members"]:
            first, second = sides(batch, pair)
            return (first == second).flatten(1).all(dim=1)

        return exhaust.every(sizes, holds, words, at_once=16_384)

    def run(values: Counterexample) -> tuple[str, bool]:
        batch = {name: torch.tensor([value]) for name, value in values.items()}
        first, second = (side[0].tolist() for side in sides(batch, wrong))
        return f"{first} and {second} at Z = {inputs[values['input']].tolist()}", first != second

    return certify(
        statement,
        f"d = {width}, n = {tokens}, one head, all V, Q and inputs",
        [*(ask(pair, words) for words, pair in pairs.items()), *more],
        Control.of(broken, ask(wrong, broken), run),
    )


def _by_definition(heads: Heads, tokens: Tensor) -> Tensor:
    """``Σ_h V_h Z (Zᵀ Q_h Z)`` with tokens as columns, as the paper has it; the result has them as rows again."""
    columns = tokens.mT
    return (heads.values @ columns @ (columns.mT @ heads.queries @ columns)).sum(dim=0).mT


def _by_features(form: Form) -> _Function:
    def run(heads: Heads, tokens: Tensor) -> Tensor:
        blocks = head_matrix(heads).unflatten(0, (-1, heads.width))
        return (blocks * cubic_features(tokens, form)).sum(dim=(1, 2))

    return run


def _by_coefficients(form: Form) -> _Function:
    def run(heads: Heads, tokens: Tensor) -> Tensor:
        return coefficients(heads, form) @ certificate_features(tokens)

    return run


def _reordered(tokens: Tensor) -> Tensor:
    return torch.cat([tokens[:-1].flip(0), tokens[-1:]])
