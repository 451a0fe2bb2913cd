"""The skeleton of a new notebook, for a claim that the registry already holds."""

import re
from pathlib import Path
from string import Template

from bookpress.claims.registry import Registry
from bookpress.claims.statement import short_label
from bookpress.files import write_whole
from bookpress.layout import Layout
from bookpress.notebooks.pair import write_pairs
from bookpress.notebooks.source import SourceError

#: The two headings that close a page.
LEARNED, TO_TRY = "What was learned", "To try"

#: It shows each step of a page and runs up to its verdict, which is refused: its control cannot fail yet.
_SKELETON = Template("""\
# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # $number · $title
# *$authors: $where.*
#
# What the claim is about, in a paragraph or two, and if possible a picture.
#
# <!-- claim $claim -->
# <!-- /claim -->
#
# Why it is true, or where it goes wrong.

# %%
import torch

from attention_theory.randomness import generator
from attention_theory.validation import require
from bookpress import Claim, show

# %% tags=["parameters"]
tokens = 4  # tokens of an input, from 1 to 1000
seed = 0  # seed of every draw, at least 0

# %%
require(tokens=(tokens, 1, 1000), seed=(seed, 0, None))

# %% [markdown]
# ## What is run
# Say what is computed in the next cell. An algorithm lives in the package; the cell calls it.

# %%
values = torch.randn(tokens, generator=generator(seed), dtype=torch.float64)

# %% [markdown]
# Say what to see in the picture before it comes.

# %%
fig, axis = show.axes()
axis.plot(values, "o")
axis.set(xlabel="token", ylabel="value")
show.figure(fig, name="values", caption="What to see.", alt="The picture in words.")

# %% [markdown]
# What the check must show:
#
$check

# %%
claim = Claim("$claim")
claim.at_least("what must hold if the claim is true", values.square().sum(), 0)
claim.control.at_least("the same with an assumption broken: it must fail", values.square().sum(), 0)
claim.verdict()

# %% [markdown]
# The result, in one sentence.
#
# ## $learned
# Two to four sentences.
#
# ## $to_try
# - `tokens = 8`: what will be seen.
# - `seed = 1`: what will be seen.
""")


def write_skeleton(paper: str, claim: str, layout: Layout, slug: str = "") -> Path:
    """Write ``notebooks/<paper>/<claim>_<slug>.py`` and its pair.

    Raises:
        RegistryError: the registry holds no such claim.
        SourceError: there is a notebook of that name already, or ``slug`` cannot be part of its name.
    """
    registry = Registry.load(layout)
    entry = registry.entry(f"{paper}/{claim}")
    name = "_".join(part for part in (claim.replace("-", "_"), slug) if part)
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise SourceError(f"a notebook's name has lower case letters, digits and underscores, got {name!r}")
    path = layout.source(f"{paper}/{name}")
    if path.exists():
        raise SourceError(f"{path.name} is there already")
    text = _SKELETON.substitute(
        number=short_label(entry),
        title=entry.title or "its title",
        authors=next(one.authors or one.title for one in registry.papers if one.name == paper),
        where=", ".join(part for part in (short_label(entry), entry.where) if part),
        claim=f"{paper}/{claim}",
        check="\n".join(f"# {line}" for line in entry.check.strip().splitlines()),
        learned=LEARNED,
        to_try=TO_TRY,
    )
    write_whole(path, text)
    write_pairs(layout)
    return path
