"""Open folders: places within them, links that stay inside, and descriptors that are closed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from grader.intake.open_folder import (
    OpenFolder,
    chunks,
    is_file_at,
    kind_in_words,
    open_file,
    read_bounded,
)

pytestmark = pytest.mark.unit


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder of three levels, with a file on each."""
    for place in ("a/b", "a/c", "d"):
        (tmp_path / "top" / place).mkdir(parents=True)
        (tmp_path / "top" / place / "file").write_text(place)
    return tmp_path / "top"


def test_places_are_found_in_any_order(top: Path) -> None:
    """A folder that was used before is left for the next one, up and down."""
    with OpenFolder(top) as folder:
        for place in ("a/b", "a/c", "d", "a/b", "a/b", "d"):
            with folder.open_file((*place.split("/"), "file")) as file:
                assert file.read().decode() == place
        assert sorted(item.name for item in folder.listed()) == ["a", "d"]
        assert sorted(item.name for item in folder.listed(("a",))) == ["b", "c"]
        assert len(folder.listed(("a",), 1)) == 1
        file, inner = folder.item(("d", "file")), folder.item(("a", "b"))
        assert (file.is_file, file.is_folder, file.size) == (True, False, 1)
        assert (inner.is_file, inner.is_folder, inner.is_link) == (False, True, False)
        with folder.folder(("a",)) as below, below.open_file(("b", "file")) as file:
            assert file.read() == b"a/b"
        with pytest.raises(FileNotFoundError):
            folder.item(("a", "none"))


def test_no_descriptor_stays_open(top: Path) -> None:
    """A batch opens thousands of folders."""

    def many() -> int:
        return len([*Path("/proc/self/fd").iterdir()])

    before = many()
    with OpenFolder(top) as folder:
        folder.listed(("a", "b"))
        assert many() == before + 3
        folder.listed(("a", "c"))
        assert many() == before + 3
        folder.listed(("d",))
        assert many() == before + 2
        folder.listed()
        assert many() == before + 1
        read_bounded(top / "d" / "file", 10)
        with pytest.raises(OSError, match="not a regular file"):
            open_file(top / "d")
        folder.listed(("a", "b"))
    assert many() == before


def test_a_folder_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    """Each level keeps a descriptor open."""
    names = ["d"] * 65
    (tmp_path / Path(*names)).mkdir(parents=True)
    with OpenFolder(tmp_path) as folder:
        assert [item.name for item in folder.listed(tuple(names[:64]))] == ["d"]
        with pytest.raises(OSError, match="more than 64 folders deep"):
            folder.listed(tuple(names))


def test_only_folders_and_regular_files_are_opened(tmp_path: Path, top: Path) -> None:
    """A link is never followed at a given path."""
    (tmp_path / "link").symlink_to(top)
    (tmp_path / "to-file").symlink_to(top / "d" / "file")
    for place in (tmp_path / "link", top / "d" / "file"):
        with pytest.raises(NotADirectoryError):
            OpenFolder(place)
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "to-file", tmp_path / "pipe", top):
        with pytest.raises(OSError, match="not a regular file"):
            open_file(place)


def test_bytes_are_read_up_to_a_bound(tmp_path: Path) -> None:
    """Larger files come in pieces of a quarter of a megabyte."""
    path = tmp_path / "file"
    path.write_bytes(bytes(600_000))
    assert len(read_bounded(path, 7)) == 7
    assert len(read_bounded(path, 600_001)) == 600_000
    assert read_bounded(path, 0) == b""
    with open_file(path) as file:
        assert [*map(len, chunks(file, 300_000))] == [262_144, 37_856]


def test_kinds_of_files_are_told_in_words() -> None:
    """Only a regular file is called a file."""
    kinds = (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFBLK, stat.S_IFCHR, stat.S_IFDIR)
    said = ["a link", "a FIFO", "a socket", "a device", "a device", "a folder"]
    assert [kind_in_words(kind | 0o644) for kind in kinds] == said
    assert kind_in_words(stat.S_IFREG) == "a file"


def test_a_path_that_no_file_can_have_leads_to_no_file(tmp_path: Path) -> None:
    """Neither a long name nor a null byte raises."""
    (tmp_path / "file").touch()
    places = ("file", "none", "n" * 300, "a\0b", ".")
    assert [is_file_at(tmp_path / name) for name in places] == [True, *[False] * 4]
