"""Kruskal rank, general position, and ranks of block triangles and changed matrices (Definitions 1, 2; Lemmas 1, 5)."""

from collections.abc import Callable, Sequence
from itertools import combinations

import sympy
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attention_theory.certificates import Answer, Certificate, Control, algebra, certify, exhaust, smt
from attention_theory.certificates.certificate import Counterexample
from attention_theory.certificates.exhaust import Batch
from attention_theory.certificates.smt import Term, z3
from attention_theory.memorization.kruskal import is_in_general_position, kruskal_rank
from attention_theory.numerics import modular_rank, numerical_rank
from attention_theory.validation import require

#: The entries of the vectors that are tried, by their numbers.
_NAMES = [f"{name}{place}" for name in "abc" for place in (1, 2)]


def certify_kruskal_rank() -> Certificate:
    """Definition 1: the code's Kruskal rank of three vectors in the plane is the largest k with every k independent.

    By exhaustion over all entries from -1 to 1, against the determinants of all pairs.
    """

    def run(values: Counterexample) -> tuple[str, bool]:
        vectors = _vectors({name: torch.tensor([value]) for name, value in values.items()})[0]
        rank, kruskal = modular_rank(vectors), kruskal_rank(vectors)
        return f"{vectors.tolist()}: rank {rank}, Kruskal rank {kruskal}", rank != kruskal

    return certify(
        "The Kruskal rank is the largest k such that every k of the vectors are independent.",
        "all sets of three vectors in the plane with entries from -1 to 1",
        _every_set(kruskal_rank, "Kruskal rank of three vectors in the plane"),
        Control.of("some k independent vectors in place of every k", _every_set(modular_rank, "rank"), run),
    )


def certify_general_position() -> Certificate:
    """Definition 2: vectors in the plane are in general position if every two are independent, and only then.

    By exhaustion over all sets of three vectors with entries from -1 to 1.
    """

    def spans_the_plane(vectors: Int[Tensor, "vectors width"]) -> int:
        return 2 if modular_rank(vectors) == 2 else 0

    def run(values: Counterexample) -> tuple[str, bool]:
        vectors = _vectors({name: torch.tensor([value]) for name, value in values.items()})[0]
        inside = is_in_general_position(vectors)
        return f"{vectors.tolist()} span the plane, in general position: {inside}", not inside

    def position(vectors: Int[Tensor, "vectors width"]) -> int:
        return 2 if is_in_general_position(vectors) else 0

    words = "in general position"
    return certify(
        "Vectors of the plane are in general position if and only if every two of them are independent.",
        "all sets of three vectors in the plane with entries from -1 to 1",
        _every_set(position, words, largest_only=True),
        Control.of("that they span the plane is enough", _every_set(spans_the_plane, words, largest_only=True), run),
    )


def _vectors(batch: Batch) -> Int[Tensor, "members 3 2"]:
    return torch.stack([batch[name] - 1 for name in _NAMES], dim=1).unflatten(1, (3, 2))


def _every_set(measure: Callable[[Tensor], int], words: str, largest_only: bool = False) -> Answer:
    """Test whether a measure of three vectors is their Kruskal rank, or only says right whether that is 2."""

    def holds(batch: Batch) -> Bool[Tensor, " members"]:
        vectors = _vectors(batch)
        minors = [torch.linalg.det(vectors[:, pair].double()).round() for pair in combinations(range(3), 2)]
        pairs = torch.stack(minors, dim=1).ne(0).all(dim=1)
        single = vectors.ne(0).any(dim=2).all(dim=1)
        right = torch.where(pairs, 2, torch.where(single, 1, 0))
        seen = torch.tensor([measure(one) for one in vectors])
        return (seen == 2) == (right == 2) if largest_only else seen == right

    return exhaust.every(dict.fromkeys(_NAMES, 3), holds, f"{words}, entries less 1")


def certify_block_triangle(most: int = 3) -> Certificate:
    """Lemma 1: the rank of a block triangle is at least the sum of the ranks of its diagonal blocks.

    With rank A rows and columns of A, and rank B ones of B, that have determinants other than 0, the minor of the whole
    is the product of the two, by sympy for all entries; for blocks of rank up to ``most``.

    Raises:
        ParameterError: ``most`` outside 1 to 3.
    """
    require(most=(most, 1, 3))
    sizes = [(a, b) for a in range(1, most + 1) for b in range(1, most + 1)]
    answers = [_minor_is_product(a, b) for a, b in sizes]
    A, B, C, D = z3.Ints("A B C D")
    broken = smt.prove([A != 0, B != 0], A * B - C * D != 0, "[[A, C], [D, B]] of four numbers has rank 2")

    def run(values: Counterexample) -> tuple[str, bool]:
        A, B, C, D = (torch.tensor([[values.get(name, 0)]]) for name in "ABCD")
        rank = modular_rank(torch.cat([torch.cat([A, C], dim=1), torch.cat([D, B], dim=1)]))
        blocks = modular_rank(A) + modular_rank(B)
        return f"rank {rank}, the blocks on the diagonal {blocks}", rank < blocks

    return certify(
        "The rank of [[A, C], [0, B]] is at least rank A + rank B.",
        f"all matrices whose diagonal blocks have ranks up to {most}",
        answers,
        Control.of("any block D in place of 0", broken, run),
    )


def _minor_is_product(first: int, second: int) -> Answer:
    """Test whether ``det [[A, C], [0, B]] = det A det B``."""

    def block(name: str, rows: int, columns: int) -> sympy.Matrix:
        return sympy.Matrix(rows, columns, lambda row, column: sympy.Symbol(f"{name}_{row + 1}{column + 1}"))

    A, B, C = block("A", first, first), block("B", second, second), block("C", first, second)
    triangle = sympy.Matrix(sympy.BlockMatrix([[A, C], [sympy.zeros(second, first), B]]))
    words = f"blocks of {first} and {second} rows"
    return algebra.identity(triangle.det(method="berkowitz"), A.det() * B.det(), words)


def certify_small_change() -> Certificate:
    """Lemma 5: a change below the smallest nonzero singular value keeps the rank.

    Rotations of rows and columns change neither ranks nor singular values, and take A to its singular values on the
    diagonal. On the r coordinates where these are not 0, the changed matrix takes no vector v but 0 to 0. So its rank
    is at least r. Of the change, only the size of what it makes of v matters. By z3, for ranks up to 6.
    """
    smallest, size = z3.Reals("smallest size")

    def ask(rank: int, change: Callable[[Term], Sequence[Term]], strict: bool = True) -> Answer:
        values, v = z3.RealVector("s", rank), z3.RealVector("v", rank)
        moved = change(v)
        given = [smallest > 0, size >= 0, size < smallest if strict else size <= smallest]
        given += [value >= smallest for value in values]
        given.append(z3.Sum([x * x for x in moved]) <= size * size * z3.Sum([x * x for x in v]))
        given += [value * x + y == 0 for value, x, y in zip(values, v, moved, strict=True)]
        return smt.prove(given, z3.And([x == 0 for x in v]), f"rank {rank}: no v but 0 is taken to 0")

    def by_size(v: Term) -> Sequence[Term]:
        return list(z3.RealVector("change_of_v", len(v)))

    def by_entries(v: Term) -> Sequence[Term]:
        rows = [z3.RealVector(f"d{row}", len(v)) for row in range(len(v))]
        return [z3.Sum([entry * x for entry, x in zip(row, v, strict=True)]) for row in rows]

    def run(found: Counterexample) -> tuple[str, bool]:
        before = torch.diag(torch.tensor([float(found[f"s__{place}"]) for place in (0, 1)]))
        change = torch.tensor([[float(found.get(f"d{row}__{column}", 0)) for column in (0, 1)] for row in (0, 1)])
        size = torch.linalg.matrix_norm(change, 2) / torch.linalg.svdvals(before)[-1]
        ranks = [int(numerical_rank(matrix.double())) for matrix in (before, before + change)]
        return f"a change of {size:.3g} times the smallest value: rank {ranks[1]}, not {ranks[0]}", ranks == [2, 1]

    return certify(
        "If the largest singular value of B - A is below the smallest nonzero one of A, then rank B >= rank A.",
        "all real matrices A of rank 1 to 6 and all B, of all sizes",
        [ask(rank, by_entries) for rank in (1, 2)] + [ask(rank, by_size) for rank in range(1, 7)],
        Control.of("a change of exactly the smallest singular value", ask(2, by_entries, strict=False), run),
    )
