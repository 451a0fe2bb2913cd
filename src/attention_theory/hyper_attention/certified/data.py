"""Identifiability from data, certified by exact ranks (Section 4, Appendices D and E, Theorem 3.2)."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product

import torch
from jaxtyping import Float
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, certify, exact, exhaust, symbolic
from attention_theory.certificates.certificate import Clock, Counterexample, name_of
from attention_theory.hyper_attention.interactions import connected
from attention_theory.hyper_attention.interactions.interactions import functional_tensor, outputs_from_counts
from attention_theory.hyper_attention.interactions.versatility import data_matrix, unique_null_vector, versatility
from attention_theory.hyper_attention.layers.linear_hyper_attention import tuple_features
from attention_theory.hyper_attention.layers.self_attention import linear_attention
from attention_theory.validation import refuse_unless


def certify_unseen_direction(size: int, length: int) -> Certificate:
    """Remark D.1: sequences without repeats leave a direction of each data matrix unseen, and all of them no other.

    Args:
        size: the number of symbols.
        length: of the sequences, at least 2 and below ``size``.

    Raises:
        ParameterError: a length out of bounds.
    """
    refuse_unless(2 <= length < size, f"length must be at least 2 and below size, {size}, got {length}")
    distinct = torch.tensor(list(permutations(range(size), length)))
    answers = []
    for symbol in range(size):
        matrix = data_matrix(distinct, symbol, size)
        answers.append(exact.rank_is(matrix, size - 1, f"Counts of the sequences that hold symbol {symbol}:"))
        answers.append(_is_null_vector(matrix, unique_null_vector(symbol, size, length), symbol))
    every = torch.tensor(list(product(range(size), repeat=length)))

    def run(values: Counterexample) -> tuple[str, bool]:
        rank = int(versatility(every, size).ranks[0])
        return f"sequences with repeats give rank {rank}, not {size - 1}", rank == values["rank"] != size - 1

    control = Control.of(
        "tokens may repeat",
        exact.rank_is(data_matrix(every, 0, size), size - 1, "Counts of the sequences that hold symbol 0:"),
        run,
    )
    return certify(
        "If no token repeats, the data matrix of every symbol misses the vector that is 1 - L at the symbol and 1 "
        "elsewhere, and that of all sequences misses no other direction.",
        f"{size} symbols, length L = {length}: all {len(distinct)} sequences without repeats",
        answers,
        control,
    )


def _is_null_vector(matrix: Tensor, vector: Tensor, symbol: int) -> Answer:
    """Test whether the null space is the multiples of this vector, exactly."""
    clock = Clock()
    spans = exact.null_vectors(matrix)
    factors = (
        {entry / Fraction(number) for entry, number in zip(spans[0], vector.tolist(), strict=True)}
        if len(spans) == 1
        else set()
    )
    is_multiple = len(factors) == 1
    point = None if is_multiple else {"null space": [[str(entry) for entry in row] for row in spans]}
    question = f"the null space of the counts for symbol {symbol} is spanned by {vector.tolist()}"
    return Answer(question, "proved" if is_multiple else "refuted", name_of("python-flint"), clock.seconds, point)


def certify_unshared_parameters() -> Certificate:
    """Theorem 3.2: pair features without shared weights have the rank of the formula, for every output."""

    def ask(size: int, length: int, token: int, shared: bool) -> Answer:
        features = connected.pair_features(connected.all_sequences(length, size), size, token, shared)
        words = f"pair features of output {token}, {size} symbols, {length} tokens, weights shared: {shared}"
        return exact.rank_is(features, connected.unshared_parameters(length, size) // length, words)

    def run(values: Counterexample) -> tuple[str, bool]:
        features = connected.pair_features(connected.all_sequences(3, 3), 3, 0, shared=True)
        rank, wanted = int(torch.linalg.matrix_rank(features)), connected.unshared_parameters(3, 3) // 3
        return f"shared features have rank {rank}, not {wanted}", rank == values["rank"] != wanted

    cases = [(2, 2), (2, 3), (2, 4), (2, 5), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3)]
    return certify(
        "On all sequences an unshared linear map on pairs has |S| (1 + (L - 1)(|S| - 1)) free parameters per output.",
        "two symbols and 2 to 5 tokens, three symbols and 2 to 4, four symbols and 2 or 3; every output",
        [ask(size, length, token, shared=False) for size, length in cases for token in range(length)],
        Control.of("the weights are shared over the partners", ask(3, 3, 0, shared=True), run),
    )


def certify_equivalence() -> Certificate:
    """Corollary 4.9: the outputs on sequences of one and two tokens determine every entry of T; one token does not."""

    def rows(size: int, *lengths: int) -> Float[Tensor, "rows features"]:
        return torch.cat([tuple_features(connected.all_sequences(length, size), size, 1) for length in lengths])

    def run(values: Counterexample) -> tuple[str, bool]:
        unseen = torch.tensor(exact.combination(values, 9)).double().reshape(3, 3, 1)
        alone, two = (outputs_from_counts(connected.all_sequences(length, 3), unseen).abs().max() for length in (1, 2))
        return f"a change of T moves single tokens by {alone:.0f} and pairs by {two:.0f}", bool(alone == 0 < two)

    sizes = (2, 3, 4, 5)
    answers = [
        exact.rank_is(rows(size, 1, 2), size**2, f"outputs at one and two tokens, linear in T, {size} symbols:")
        for size in sizes
    ]
    embedding, score, value = symbolic.variables(embedding=(3, 2), score=(2, 2), value=(2, 1)).values()
    every = connected.all_sequences(3, 3)
    outputs = linear_attention(embedding[every], score, value)
    by_tensor = outputs_from_counts(every, functional_tensor(embedding, score, value))
    answers.append(symbolic.equal(outputs, by_tensor, "the outputs of a layer are those of its T and the counts"))
    return certify(
        "Two layers are the same function if and only if T agrees entry by entry.",
        "T from outputs: 2 to 5 symbols, all real T. Outputs from T: all layers of width two on three symbols, all "
        "sequences of three tokens",
        answers,
        Control.of("sequences of one token alone", exact.independent(rows(3, 1), "outputs at one token:"), run),
    )


def certify_unseen_change() -> Certificate:
    """The illustration of Theorem 4.8: the change of T adds ``a (L* - L) / (L* - 1)`` to every output at length L."""
    size, amount = 5, symbolic.variables(a=())["a"]

    def change(trained: int, amount: Tensor) -> Tensor:
        rows = torch.stack([unique_null_vector(symbol, size, trained) for symbol in range(size)])
        return -amount * (rows / (trained - 1))[..., None]

    def ask(trained: int, length: int, symbols: Tensor) -> Answer:
        outputs = outputs_from_counts(symbols, change(trained, amount))
        wanted = torch.full(outputs.shape, (trained - length) / (trained - 1), dtype=torch.float64) * amount
        return symbolic.equal(outputs, wanted, f"changed at L* = {trained}, seen at L = {length}")

    def run(values: Counterexample) -> tuple[str, bool]:
        outputs = outputs_from_counts(connected.all_sequences(2, size), change(3, symbolic.at(values, a=())["a"]))
        half = values["a"] / 2
        return f"the change is {outputs.min():.3g} to {outputs.max():.3g}, not {half}", bool((outputs != half).any())

    unique = {length: torch.tensor(list(permutations(range(size), length))) for length in range(1, size + 1)}
    return certify(
        "If no token repeats, the change of T adds a (L* - L) / (L* - 1) to every output at length L: nothing at L*.",
        "five symbols, all sequences of 1 to 5 different tokens, L* = 2, 3 and 5, all real a",
        [ask(trained, length, symbols) for trained in (2, 3, 5) for length, symbols in unique.items()],
        Control.of("tokens may repeat", ask(3, 2, connected.all_sequences(2, size)), run),
    )


def certify_generalization(lengths: Sequence[int]) -> Certificate:
    """Theorems 4.6 and 4.8: on versatile data zero training error leaves no error at these lengths.

    Outputs are linear in T. What the training sequences say of T has the rank of what they and all others say
    together, so a T that is right on the former is right on the latter.

    Args:
        lengths: at which the layer is used; it is trained on sequences of three tokens over two symbols.
    """
    every = connected.all_sequences(3, 2)
    others = torch.cat([tuple_features(connected.all_sequences(length, 2), 2, 1) for length in lengths])

    def ask(need_versatile: bool) -> Answer:
        def is_right(number: int) -> bool:
            train = every[[place for place in range(len(every)) if number >> place & 1]]
            if need_versatile and any(exact.matrix(data_matrix(train, symbol, 2)).rank() < 2 for symbol in (0, 1)):
                return True
            features = tuple_features(train, 2, 1)
            return bool(exact.matrix(features).rank() == exact.matrix(torch.cat([features, others])).rank())

        def holds(batch: exhaust.Batch) -> Tensor:
            return torch.tensor([is_right(1 + number) for number in batch["data set"].tolist()])

        words = f"the data settle the outputs at lengths {list(lengths)}; a data set is the bits of its number plus 1"
        return exhaust.every({"data set": 255}, holds, words)

    def run(values: Counterexample) -> tuple[str, bool]:
        number = 1 + values["data set"]
        train = every[[place for place in range(len(every)) if number >> place & 1]]
        null = exact.null_vectors(tuple_features(train, 2, 1))
        unseen = [torch.tensor([float(entry) for entry in vector]).double() for vector in null]
        off = max((others @ vector).abs().max().item() for vector in unseen)
        on_train = max((tuple_features(train, 2, 1) @ vector).abs().max().item() for vector in unseen)
        return f"a layer is off by {on_train:.3g} in training and by {off:.3g} later", on_train < 1e-9 < off

    return certify(
        "Where some layer has zero error everywhere, parameters with zero training error on versatile data have zero "
        "error on all sequences of these lengths.",
        f"each of the 255 sets of sequences of three tokens over two symbols, all real parameters; lengths {lengths}",
        ask(need_versatile=True),
        Control.of("the data need not be versatile", ask(need_versatile=False), run),
    )
