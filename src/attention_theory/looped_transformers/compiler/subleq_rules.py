"""What SUBLEQ makes of each instruction of the intermediate form: a few subtractions, by a rule that one can read.

A rule is text in the assembler's language. ``A``, ``B`` and ``D`` are the operands and the result, ``P`` to ``V`` cells
for passing use, ``{k}`` a cell that holds the number k, ``.name`` a label of this rule, ``L`` the place to branch to.
``zero`` and ``minus_one`` are the machine's own constants. Rules that move an operand put it back.
"""

RULES: dict[str, str] = {
    "copy": """
        P -= P
        P -= A
        D -= D
        D -= P
    """,
    "add": """
        P -= P
        P -= A
        P -= B
        D -= D
        D -= P
    """,
    "subtract": """
        P -= P
        P -= A
        Q -= Q
        Q -= P
        Q -= B
        P -= P
        P -= Q
        D -= D
        D -= P
    """,
    "at most zero": """
        A -= zero if <= 0 goto L
    """,
    "negative": """
        A -= zero if <= 0 goto .low
        goto .no
.low:   A -= minus_one if <= 0 goto .yes
        A -= {1}
        goto .no
.yes:   A -= {1}
        goto L
.no:
    """,
    "zero": """
        A -= zero if <= 0 goto .low
        goto .no
.low:   A -= minus_one if <= 0 goto .back
        A -= {1}
        goto L
.back:  A -= {1}
.no:
    """,
    "equal": """
        P -= P
        P -= A
        Q -= Q
        Q -= B
        P -= Q if <= 0 goto .low
        goto .no
.low:   P -= minus_one if <= 0 goto .no
        goto L
.no:
    """,
    # A - B does not overflow.
    "at most, near": """
        P -= P
        P -= A
        Q -= Q
        Q -= P
        Q -= B if <= 0 goto L
    """,
    "at most": """
        A -= zero if <= 0 goto .low
        B -= zero if <= 0 goto .no
        goto .near
.low:   B -= zero if <= 0 goto .both
        goto L
.both:  A -= minus_one if <= 0 goto .below
        A -= {1}
        B -= minus_one if <= 0 goto .less
        B -= {1}
        goto L
.less:  B -= {1}
        goto .no
.below: A -= {1}
.near:  P -= P
        P -= A
        Q -= Q
        Q -= P
        Q -= B if <= 0 goto L
.no:
    """,
    # From the highest bit of B: double, and take A once more where the bit is on. P is minus the product.
    "multiply": """
        P -= P
        Q -= Q
        Q -= B
        R -= R
        R -= Q
        S -= S
        S -= {-N}
.next:  Q -= Q
        Q -= P
        P -= Q
        R -= zero if <= 0 goto .low
        goto .off
.low:   R -= minus_one if <= 0 goto .on
        R -= {1}
        goto .off
.on:    R -= {1}
        P -= A
.off:   Q -= Q
        Q -= R
        R -= Q
        S -= {1} if <= 0 goto .end
        goto .next
.end:   D -= D
        D -= P
    """,
    # Long division of the sizes, bit by bit: P = -|B|, R the bits of |A|, Q = -remainder, U = -quotient, S the places
    # to come. T = 2 remainder + bit - |B| decides whether |B| goes in once more; no step overflows.
    "divide": """
        P -= P
        T -= T
        T -= B
        P -= T
        B -= zero if <= 0 goto .sized
        P -= P
        P -= B
.sized: R -= R
        T -= T
        T -= A
        A -= zero if <= 0 goto .minus
        R -= T
        goto .begin
.minus: Q -= Q
        Q -= T
        R -= Q
.begin: Q -= Q
        U -= U
        S -= S
        S -= {-N}
.next:  T -= T
        T -= U
        U -= T
        V -= V
        V -= P
        T -= T
        T -= V
        T -= Q
        T -= Q
        R -= zero if <= 0 goto .low
        goto .off
.low:   R -= minus_one if <= 0 goto .on
        R -= {1}
        goto .off
.on:    R -= {1}
        T -= minus_one
.off:   V -= V
        V -= R
        R -= V
        T -= zero if <= 0 goto .maybe
        goto .in
.maybe: T -= minus_one if <= 0 goto .out
        T -= {1}
.in:    Q -= Q
        Q -= T
        U -= {1}
        goto .count
.out:   T -= {1}
        V -= V
        V -= P
        Q -= Q
        Q -= V
        Q -= T
.count: S -= {1} if <= 0 goto .done
        goto .next
.done:
    """,
    # The signs differ, or A is 0 and so are quotient and remainder.
    "quotient": """
        A -= zero if <= 0 goto .below
        B -= zero if <= 0 goto .differ
        goto .same
.below: B -= zero if <= 0 goto .same
.differ: V -= V
        V -= U
        D -= D
        D -= V
        Q -= minus_one if <= 0 goto .down
        goto .end
.down:  D -= {1}
        goto .end
.same:  D -= D
        D -= U
.end:
    """,
    "remainder": """
        A -= zero if <= 0 goto .below
        B -= zero if <= 0 goto .differ
        goto .same
.below: B -= zero if <= 0 goto .same
.differ: Q -= minus_one if <= 0 goto .rest
        Q -= {1}
        goto .same
.rest:  Q -= {1}
        V -= V
        V -= P
        T -= T
        T -= V
        T -= Q
        Q -= Q
        V -= V
        V -= T
        Q -= V
.same:  B -= zero if <= 0 goto .turn
        D -= D
        D -= Q
        goto .end
.turn:  V -= V
        V -= Q
        D -= D
        D -= V
.end:
    """,
}
