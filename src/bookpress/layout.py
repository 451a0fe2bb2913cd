"""The paths of a book: its sources, what is made from them, and the built site."""

import os
from dataclasses import dataclass
from pathlib import Path

from bookpress.exits import Exit, Failure

#: The profiles: each notebook's own defaults, and the papers' own sizes.
LAPTOP = "laptop"
FULL = "full"

#: Tells a notebook's kernel which profile it runs under.
PROFILE_VARIABLE = "BOOK_PROFILE"

#: Tells a notebook's kernel which parameters, comma by comma, a reader has set; empty for the book's own, not set where
#: something else than the press runs the notebook.
OWN_VARIABLE = "BOOK_OWN_PARAMETERS"


class LayoutError(Failure, code=Exit.USAGE):
    """There is no book where this package looks for one."""


@dataclass(unsafe_hash=True)
class Layout:
    """The folders of one book. ``BOOKPRESS_ROOT`` names another book than the one this package was installed from.

    Generated pages are written ``aside``, where a folder is given, before they take their places in ``book``.
    """

    root: Path
    aside: Path | None = None

    def __post_init__(self) -> None:
        self.sources = self.root / "notebooks"
        self.profiles = self.sources / "profiles"
        self.packages = self.root / "src"
        #: Recorded full-size runs, kept in git.
        self.results = self.root / "results"
        #: Executed notebooks and records, made by running.
        self.build = self.root / "build"
        self.lock = self.build / ".lock"
        #: What was read of sources, and how many seconds each job of a build took.
        self.memory = self.build / "memory"
        self.seconds = self.build / "seconds.json"
        #: Settings of matplotlib, which are its defaults, and its list of fonts.
        self.matplotlib = self.build / "matplotlib"
        self.book = self.root / "book"
        self.claims = self.book / "claims"
        #: The folder above all generated pages, and those of them that are Markdown made from records.
        self.pages = self.aside or self.book
        self.generated = self.pages / "generated"
        self.contents = self.pages / "_toc.yml"
        #: The manifest of the generated pages, as they were last bound whole.
        self.bound = self.build / "bound"
        #: The built site, and its manifest as it was last built without a warning.
        self.site = self.root / "_build"
        self.site_manifest = self.site / "manifest.json"

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

    def page(self, notebook: str) -> Path:
        """A notebook's page in the book."""
        return self.pages / "notebooks" / f"{notebook}.ipynb"

    def figure(self, name: str) -> Path:
        return self.pages / "figures" / f"{name}.svg"

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
