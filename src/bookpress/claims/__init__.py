"""Claims and their evidence.

In come the registry (``book/claims/<paper>.yaml``) and, inside a running notebook, the comparisons that a
:class:`~bookpress.claims.claim.Claim` takes, with the figures and tables of :mod:`~bookpress.claims.show`. Out go a
verdict computed from them, the panel that shows it, and the record of a run. It knows no other room of the press.
"""
