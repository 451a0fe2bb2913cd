"""Attention theory in running form: a small core and one subpackage for each of five papers.

Conventions, everywhere: tokens are rows and batch dimensions lead, ``(..., tokens, features)``; theory runs in
float64; tensors in, tensors out, on the device and of the type of the input; a function that draws takes a seed or a
``torch.Generator``; ``form="printed"`` gives a formula as the paper prints it where that is wrong. Import from the
module that holds the thing, e.g. ``from attention_theory.linear_attention.learning.certificate import certificate``.
"""
