"""Where things are: what is made lies in folders that git ignores, what is kept in those that it does not."""

from pathlib import Path

from bookpress.layout import Layout


def test_what_editors_and_systems_leave_is_no_notebook_and_no_profile(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for name in ("demo/page", "demo/.#page", "demo/._page", "demo/points/one", "demo/points/._one"):
        layout.source(name).parent.mkdir(parents=True, exist_ok=True)
        layout.source(name).touch()
    layout.source("demo/folder").mkdir()
    layout.source("demo/.#gone").symlink_to("me@host.1")
    layout.profiles.mkdir()
    for name in ("full.yaml", ".#full.yaml"):
        (layout.profiles / name).touch()
    assert layout.notebooks() == ["demo/page"]
    assert layout.point_notebooks() == ["demo/points/one"]
    assert [layout.is_page(name) for name in ("demo/page", "demo/points/one")] == [True, False]
    assert layout.profile_names() == ["laptop", "full"]
