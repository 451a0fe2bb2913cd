"""The door itself: what it names, and what it loads."""

import subprocess
import sys

import pytest

import attention_theory as at


def test_the_names_are_modules_of_torch_and_no_others_are_given() -> None:
    assert dir(at.nn) == at.nn.__all__
    assert [getattr(at.nn, name).__name__ for name in at.nn.__all__] == at.nn.__all__
    assert dir(at) == at.__all__
    assert all(hasattr(at, name) for name in at.__all__)
    assert at.__version__.count(".") == 2
    for package in (at, at.nn):
        with pytest.raises(AttributeError, match="Missing"):
            package.Missing  # noqa: B018


#: What is loaded by then, of what would slow down those who do not need it.
LOADED = """
import sys
def show(*names): print(*(name for name in names if name in sys.modules), sep=", ")
import attention_theory as at
show("torch", "numpy", "scipy", "jaxtyping")
at.nn
show("attention_theory.hyper_attention", "attention_theory.certificates")
import torch, attention_theory.certificates
at.nn.HyperAttention(4, 2)(torch.ones(1, 3, 4))
show("attention_theory.hyper_attention", "sympy", "z3", "flint")
"""


def test_nothing_is_loaded_before_it_is_needed() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["", "", "attention_theory.hyper_attention"]
