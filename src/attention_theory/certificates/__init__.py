"""Certificates: statements settled for every input of a range by a machine, with a control that was seen to fail.

A certificate holds the statement in words, the question as an engine got it, the engine, its time and its outcome, and
a control: the same question with an assumption broken, whose counterexample was run through the real code. The numbers
of a question come from built layers, never from a transcription of them. This room knows no paper and no press: the
questions are in ``attention_theory.<paper>.certified``.

The engines, each a module that asks one kind of question and returns an :class:`Answer`:

* :mod:`.smt`: z3, for integers, reals with polynomials, and bit-vectors;
* :mod:`.algebra`: sympy, for polynomial identities, common zeros and sums of squares;
* :mod:`.symbolic`: sympy, for code of torch that is run on polynomials, expressions or terms of z3;
* :mod:`.one_hot`: polynomials in one-hot choices, for layers that run on them;
* :mod:`.balls`: python-flint's intervals, for inequalities in one variable, sums and softmax;
* :mod:`.exact`: python-flint's rational matrices, for ranks, null vectors and definiteness;
* :mod:`.exhaust`: every member of a finite set, in batches.

z3-solver, sympy and python-flint come with the extra ``book``; each is imported by its own module alone.
"""

from attention_theory.certificates.certificate import Answer, Certificate, Control, Outcome, certify

__all__ = ["Answer", "Certificate", "Control", "Outcome", "certify"]
