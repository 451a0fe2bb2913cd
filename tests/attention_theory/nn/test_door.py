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


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, attention_theory; print(*sorted({'torch', 'numpy', 'scipy', 'jaxtyping'} & set(sys.modules)))"
    assert not subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_a_paper_is_loaded_when_its_layer_is_named_and_not_before() -> None:
    code = "import sys, attention_theory as at; at.nn; before = 'attention_theory.hyper_attention' in sys.modules;"
    code += "at.nn.HyperAttention; print(before, 'attention_theory.hyper_attention' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == ["False", "True"]
