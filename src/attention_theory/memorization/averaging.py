"""The layer that only averages, and the assumption under which it prepares the queries (Section 4.4, Appendix G)."""

from jaxtyping import Int
from torch import Tensor

from attention_theory.memorization.attention import Examples, KeyQueryHeads, features
from attention_theory.validation import refuse_unless


def averaging_layer(examples: Examples) -> Examples:
    """One head with W_K = W_Q = 0, W_V = W_O = I and a skip connection: every token gains the mean of its context."""
    nothing = examples.queries.new_zeros(1, examples.width, 1)
    mean = features(KeyQueryHeads(nothing, nothing), examples)
    return Examples(examples.context_of_each + mean[:, None], examples.queries + mean)


def whole_mean_shifted_queries(examples: Examples) -> Int[Tensor, "examples width"]:
    """n times the same for examples of whole numbers, so that their Kruskal rank can be found exactly."""
    return (examples.tokens * examples.queries + examples.contexts.sum(dim=-2)).long()


def cancelling_examples(examples: Examples) -> Examples:
    """Self-attention on examples whose mean-shifted queries all coincide: Assumption 1 as before, Assumption 3 broken.

    The first token of each context is its query (Section 4.4). The second is set to n (v - query) minus all others,
    where v is the sum of the first two queries.

    Raises:
        ParameterError: contexts of one token, or a single example.
    """
    refuse_unless(
        examples.tokens >= 2 and examples.count >= 2,
        f"examples must be at least two, of at least two tokens, got {examples.count} of {examples.tokens}",
    )
    contexts = examples.context_of_each.clone()
    contexts[:, 0] = examples.queries
    contexts[:, 1] = 0
    v = examples.queries[:2].sum(dim=0)
    contexts[:, 1] = examples.tokens * (v - examples.queries) - contexts.sum(dim=1)
    return Examples(contexts, examples.queries)


def equal_queries(examples: Examples) -> Examples:
    """Every query set to the first context token of the first example, which all contexts share: a class token."""
    token = examples.context_of_each[0, 0]
    contexts = examples.context_of_each.clone()
    contexts[:, 0] = token
    return Examples(contexts, token.expand(examples.count, -1))
