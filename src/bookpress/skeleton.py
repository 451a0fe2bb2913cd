"""The skeleton of a new notebook, for a claim that the registry already holds."""

import re
from pathlib import Path
from string import Template

from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebook import SourceError
from bookpress.pairing import write_pairs
from bookpress.registry import Registry

_SKELETON = Template("""\
# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # $title
# *$authors: $label.*
#
# ```{claim} $claim
# ```
#
# What is claimed, why it is true or not, and what is run here.

# %%
from bookpress import Claim, show

from attention_theory.validation import require

# %% tags=["parameters"]
seed = 0  # seed of every draw, at least 0

# %%
require(seed=(seed, 0, None))

# %% [markdown]
# What the check must show: $check

# %%
claim = Claim("$claim")
claim.verdict()
""")


def write_skeleton(paper: str, label: str, layout: Layout) -> Path:
    """Write ``notebooks/<paper>/<label>.py`` and its pair.

    Raises:
        RegistryError: the registry holds no such claim.
        SourceError: there is a notebook of that name already.
    """
    registry = Registry.load(layout)
    entry = registry.entry(f"{paper}/{label}")
    book = next(one for one in registry.papers if one.name == paper)
    path = layout.source(f"{paper}/{re.sub('-', '_', label)}")
    if path.exists():
        raise SourceError(f"{path.name} is there already")
    text = _SKELETON.substitute(
        title=entry.title or entry.label,
        authors=book.authors,
        label=entry.label,
        claim=f"{paper}/{label}",
        check=" ".join(entry.check.split()),
    )
    write_whole(path, text)
    write_pairs(layout)
    return path
