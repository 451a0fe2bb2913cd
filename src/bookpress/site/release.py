"""The book as a release: the sources, the site, the records and the errata as sheets, with a checksum of each."""

import gzip
import hashlib
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

import yaml

from bookpress.claims.record import Record
from bookpress.graph.engine import BuildError
from bookpress.layout import LAPTOP, Layout
from bookpress.notebooks.dependencies import Reach
from bookpress.notebooks.source import Notebook

#: What a browser that prints without a window is called.
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHECKSUMS = "SHA256SUMS"


def make_release(layout: Layout) -> Path:
    """Write the release of the present commit under ``build/release`` and return its folder.

    Raises:
        BuildError: something is not committed, or the book is not built from the present code.
    """
    if changed := _git(layout, "status", "--porcelain").decode().strip():
        raise BuildError(f"not committed: {changed.splitlines()[0].split()[-1]}")
    _refuse_what_is_old(layout)
    citation = layout.root / "CITATION.cff"
    version = yaml.safe_load(citation.read_text(encoding="utf-8"))["version"]
    folder = layout.build / "release" / f"attention-theory-executed-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seconds = int(_git(layout, "show", "-s", "--format=%ct", "HEAD"))
    source = _git(layout, "archive", "--format=tar", f"--prefix={folder.name}/", "HEAD")
    (folder / "source.tar.gz").write_bytes(gzip.compress(source, mtime=seconds))
    site = layout.root / "_build" / "html"
    pack(folder / "site.tar.gz", layout.root / "_build", site.rglob("*"), seconds)
    records = [layout.record(name, LAPTOP) for name in layout.notebooks()]
    pack(folder / "records.tar.gz", layout.root, [*records, *layout.results.rglob("*")], seconds)
    shutil.copyfile(citation, folder / citation.name)
    for sheet in sorted((site / "generated").glob("errata-*.html")):
        print_sheet(sheet, folder / f"{sheet.stem}.pdf")
    write_checksums(folder)
    return folder


def _refuse_what_is_old(layout: Layout) -> None:
    """A release holds the records of its own sources and a site made from them."""
    reach = Reach(layout, LAPTOP)
    for notebook in (Notebook(name, layout) for name in layout.notebooks()):
        record = Record.of(layout, notebook.name, LAPTOP)
        if record is None or record.fingerprint != reach.fingerprint(notebook):
            raise BuildError(f"{notebook.name} has no record of the present code: make book first")
    if not (layout.root / "_build" / "html" / "index.html").is_file():
        raise BuildError("the site is not built: make book first")


def _git(layout: Layout, *arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=layout.root, capture_output=True, check=False)
    if done.returncode:
        raise BuildError(f"git {arguments[0]}: {done.stderr.decode().strip()}")
    return done.stdout


def pack(target: Path, root: Path, paths: Iterable[Path], seconds: int) -> None:
    """A compressed archive of files with names from ``root``, the same bytes for the same files and time."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime, member.mode = seconds, 0o644
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with (
        target.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", mtime=seconds, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for path in sorted(path for path in paths if path.is_file()):
            archive.add(path, path.relative_to(root).as_posix(), filter=plain)


def print_sheet(page: Path, target: Path) -> bool:
    """Print a page of the site as a PDF, formulas set; False where there is no browser to do it."""
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        return False
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    command += ["--virtual-time-budget=20000", f"--print-to-pdf={target}", page.as_uri()]
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    return True


def write_checksums(folder: Path) -> None:
    """A line for each file, as ``sha256sum --check`` reads it."""
    files = sorted(path for path in folder.iterdir() if path.name != CHECKSUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
