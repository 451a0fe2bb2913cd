"""Where things are in the house. Every path of the press is named here and nowhere else."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bookpress.exits import Exit, Failure

#: The profiles: each notebook's own defaults, and the papers' own sizes.
LAPTOP = "laptop"
FULL = "full"

#: Tells a notebook's kernel which profile it runs under.
PROFILE_VARIABLE = "BOOK_PROFILE"


class LayoutError(Failure, code=Exit.USAGE):
    """There is no book where this package looks for one."""


@dataclass(frozen=True)
class Layout:
    """The folders of one book. ``BOOKPRESS_ROOT`` names another book than the one this package was installed from."""

    root: Path
    #: Where generated pages are written before they take their places in ``book``; None for these places.
    aside: Path | None = None

    @classmethod
    def here(cls) -> "Layout":
        named = os.environ.get("BOOKPRESS_ROOT")
        return cls(Path(named).resolve() if named else Path(__file__).resolve().parents[2])

    def checked(self) -> "Layout":
        """This layout, for what needs a book and not the packages alone.

        Raises:
            LayoutError: the folder has no claims, as where the packages were installed without a clone.
        """
        if not self.claims.is_dir():
            raise LayoutError(
                f"there is no book at {self.root}; a clone with `pip install -e .` has one, or BOOKPRESS_ROOT names one"
            )
        return self

    @cached_property
    def sources(self) -> Path:
        return self.root / "notebooks"

    @cached_property
    def profiles(self) -> Path:
        return self.sources / "profiles"

    @cached_property
    def packages(self) -> Path:
        return self.root / "src"

    def module(self, dotted: str) -> str | None:
        """The file of a module of ``src``, from the root; None where there is none."""
        path = self.packages.joinpath(*dotted.split(".")).with_suffix(".py")
        return path.relative_to(self.root).as_posix() if path.is_file() else None

    @cached_property
    def book(self) -> Path:
        return self.root / "book"

    @cached_property
    def claims(self) -> Path:
        return self.book / "claims"

    @cached_property
    def results(self) -> Path:
        """Recorded full-size runs, kept in git."""
        return self.root / "results"

    @cached_property
    def build(self) -> Path:
        """Executed notebooks and records, made by running."""
        return self.root / "build"

    @cached_property
    def bound(self) -> Path:
        """The manifest of the generated pages, as they were last bound whole."""
        return self.build / "bound"

    @cached_property
    def site(self) -> Path:
        return self.root / "_build"

    @cached_property
    def site_manifest(self) -> Path:
        """The manifest of the site, as it was last built without a warning."""
        return self.site / "manifest.json"

    @cached_property
    def matplotlib(self) -> Path:
        """Settings of matplotlib, which are its defaults, and its list of fonts."""
        return self.build / "matplotlib"

    def source(self, notebook: str) -> Path:
        return self.sources / f"{notebook}.py"

    def executed(self, notebook: str, profile: str) -> Path:
        return self.build / profile / f"{notebook}.ipynb"

    def failed(self, notebook: str, profile: str) -> Path:
        """What a run got to that ended early."""
        return self.executed(notebook, profile).with_suffix(".failed.ipynb")

    def log(self, notebook: str, profile: str) -> Path:
        """The output of a notebook's last run in a build; its end says why a run ended early."""
        return self.executed(notebook, profile).with_suffix(".log")

    def record(self, notebook: str, profile: str) -> Path:
        return self.build / profile / f"{notebook}.json"

    def plan(self, name: str) -> Path:
        """What a run of many points keeps while it lasts."""
        return self.build / "plans" / name

    def sweep(self, notebook: str) -> Path:
        """The points of a reader's own sweeps of a notebook."""
        return self.build / "sweeps" / notebook

    def points(self, notebook: str) -> Path:
        """The recorded points of a page's full-size figures, kept in git."""
        return self.results / "points" / notebook

    @cached_property
    def pages(self) -> Path:
        """The folder above all generated pages."""
        return self.aside or self.book

    def page(self, notebook: str) -> Path:
        """A notebook's page in the book."""
        return self.pages / "notebooks" / f"{notebook}.ipynb"

    def figure(self, name: str) -> Path:
        return self.pages / "figures" / f"{name}.svg"

    @cached_property
    def generated(self) -> Path:
        """Pages made from records."""
        return self.pages / "generated"

    def full_size_record(self, notebook: str) -> Path:
        """The record of a full-size run, kept in git."""
        return self.results / "records" / f"{notebook}.json"

    def notebooks(self) -> list[str]:
        """Every notebook as ``paper/name``, in the order of the folders."""
        return [self._name(path) for path in files_of(self.sources, "*/*.py")]

    @staticmethod
    def is_page(notebook: str) -> bool:
        """Whether a notebook is a page of the book, and not one that makes points."""
        return notebook.count("/") == 1

    def point_notebooks(self) -> list[str]:
        """Notebooks that make one point of a figure and are no page: ``paper/points/name``."""
        return [self._name(path) for path in files_of(self.sources, "*/points/*.py")]

    def profile_names(self) -> list[str]:
        """The profiles that there are: the laptop run, which needs no file, and those with one."""
        return [LAPTOP, *(path.stem for path in files_of(self.profiles, "*.yaml"))]

    def _name(self, path: Path) -> str:
        return path.relative_to(self.sources).with_suffix("").as_posix()


def files_of(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that match a pattern, in order.

    Names with a leading dot are what editors and systems leave: ``.#page.py`` of an unsaved page, ``._page.py``.
    """
    return sorted(path for path in folder.glob(pattern) if path.is_file() and not path.name.startswith("."))
