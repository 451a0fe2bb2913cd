"""The page of what a machine has checked for all inputs, with every question as it was put."""

from bookpress.claims.panel import certificate_in_words
from bookpress.files import write_whole
from bookpress.site.book import Book

_OPENING = """# What a machine has checked

Most of this book's evidence comes from runs: numbers that could have come out otherwise. Some statements can be settled
for every input of a range, and then an engine has done so. A *certificate* is the statement in words, the question as
the engine got it, and a control: the same question with an assumption broken. There the engine must find a
counterexample, and our code must go wrong; otherwise the certificate counts for nothing. Most controls run the code on
the counterexample itself. Some, mostly those about ranks or with free tokens, run it on another case of the same broken
assumption, and show its result.

If you trust a certificate, you trust its engine and the code that puts the question, which is the module `certified` of
each paper. z3, sympy and python-flint are engines of others. Two engines are the book's: the exhaustion of a finite
set, and the comparison of polynomials in one-hot choices. You also trust that a layer computes with floating-point
numbers what it computes with real ones, unless the certificate says that it bounds the rounding. A function that is
linear in each argument is fixed by its values at basis vectors, so that an exhaustion can settle all real weights.
There you trust that the code only adds and multiplies, up to the degree that the question names. You need not trust a
copy of the weights: a question takes them from the layers we run.

There are {count} certificates for {claims} claims. A counterexample of an exhaustion gives the numbers of its choices,
from 0. A short question can be downloaded whole, and put to another engine. Of a long one, such as a polynomial
identity of thousands of terms, the file shows examples and a digest.
"""


def certificates_page(book: Book) -> str:
    """The page, by paper and claim; the questions are written beside it."""
    certified = {claim: settled.certificates for claim, settled in book.settled.items() if settled.certificates}
    lines = [_OPENING.format(count=sum(map(len, certified.values())), claims=len(certified))]
    for paper in book.registry.papers:
        claims = [name for entry in paper.claims if (name := f"{paper.name}/{entry.id}") in certified]
        lines += [f"## {paper.short_title}\n"] if claims else []
        for claim in claims:
            lines += [f"**{{claim:ref}}`{book.settled[claim].label} <{claim}>`**\n"]
            for number, one in enumerate(certified[claim], start=1):
                ending = ".smt2" if "(check-sat)" in one.question else ".txt"
                question = f"certificates/{claim.replace('/', '-')}-{number}{ending}"
                write_whole(book.layout.generated / question, one.question + "\n")
                lines += [f"- {certificate_in_words(one)} {{download}}`The question <{question}>`"]
            lines += [""]
    return "\n".join(lines) + "\n"
