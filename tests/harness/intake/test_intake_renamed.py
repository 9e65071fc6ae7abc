"""Files that browsers, platforms or people renamed are read as their authors wrote them."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from grader.core.submission import Submission, Unreadable
from grader.intake.discovery import discover
from grader.intake.entry import Entry
from grader.intake.process import take_in

pytestmark = pytest.mark.unit

CODE = "def run_x():\n    return 1\n"
NOTEBOOK = json.dumps(
    {
        "cells": [{"cell_type": "code", "source": CODE, "outputs": [], "execution_count": None}],
        "metadata": {"name": None},
        "nbformat": 4,
    }
)


def taken(path: Path, into: Path) -> Submission:
    into.mkdir()
    return take_in(Entry("alice", path), into)


def a_zip(files: dict[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("work.ipynb.json", NOTEBOOK),
        ("work.ipynb.txt", NOTEBOOK),
        ("work.IPYNB", NOTEBOOK),
        ("work.py.txt", CODE),
        ("work.PY", CODE),
        ("work.py", NOTEBOOK),
    ],
)
@pytest.mark.parametrize("is_in_folder", [False, True], ids=["alone", "in a folder"])
def test_a_renamed_file_is_read_under_its_original_name(
    tmp_path: Path, name: str, content: str, is_in_folder: bool
) -> None:
    """Browsers append a suffix, and some systems write suffixes in capitals."""
    submissions = tmp_path / "class"
    folder = submissions / "alice" if is_in_folder else submissions
    folder.mkdir(parents=True)
    (folder / name).write_text(content)
    (entry,) = discover([submissions]).entries
    (tmp_path / "into").mkdir()
    submission = take_in(entry, tmp_path / "into")
    assert (submission.root / submission.adapters).is_file()
    assert entry.name == ("alice" if is_in_folder else "work")


@pytest.mark.parametrize(
    "name",
    [
        "adapters (1).py",
        "Adapters.PY",
        "adapters_final.py",
        "Copy of adapters.py",
        "adapters.py.py",
    ],
)
@pytest.mark.parametrize("others", [(), ("model.py", "test_adapters.py", "data/x.txt")], ids=len)
def test_the_only_adapters_with_such_a_name_are_taken_and_noted(
    tmp_path: Path, name: str, others: tuple[str, ...]
) -> None:
    """Browsers and people rename a file that they save again."""
    folder = tmp_path / "alice/hw"
    for place in (name, *others):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(CODE if place == name else "import torch\n")
    submission = taken(tmp_path / "alice", tmp_path / "into")
    assert (submission.module, submission.adapters) == ("adapters", "adapters.py")
    (note,) = submission.notes
    assert note == f"There is no adapters.py: {name.replace('.PY', '.py')} was taken for it."


def test_a_lone_program_is_importable_under_any_name(tmp_path: Path) -> None:
    """A module of Python has no dot in its name."""
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice/hw1.v2.py").write_text(CODE)
    assert taken(tmp_path / "alice", tmp_path / "into").module == "adapters"


def test_of_several_renamed_adapters_none_is_taken(tmp_path: Path) -> None:
    """The sentence names what was handed in, and no name that the grader gave."""
    (tmp_path / "alice").mkdir()
    for name in ("adapters (1).py", "adapters (2).py"):
        (tmp_path / "alice" / name).write_text(CODE)
    with pytest.raises(Unreadable, match=r"more than one file .*\(1\)\.py, .*hand in one of them"):
        taken(tmp_path / "alice", tmp_path / "into")
    (tmp_path / "bob").mkdir()
    for name in ("Model.PY", "train.py"):
        (tmp_path / "bob" / name).write_text(CODE)
    with pytest.raises(Unreadable, match=r"it holds Model\.PY, train\.py$"):
        taken(tmp_path / "bob", tmp_path / "copy")


def test_a_folder_under_the_name_of_the_adapters_leaves_no_room_for_a_renamed_file(
    tmp_path: Path,
) -> None:
    """The sentence names what was handed in, and no path of this machine."""
    (tmp_path / "alice/adapters.py").mkdir(parents=True)
    (tmp_path / "alice/adapters.py/notes.txt").write_text("notes\n")
    (tmp_path / "alice/adapters_v2.py").write_text(CODE)
    with pytest.raises(Unreadable, match=r"it holds adapters\.py, adapters_v2\.py$"):
        taken(tmp_path / "alice", tmp_path / "into")


@pytest.mark.parametrize(("suffix", "content"), [(".py", CODE), (".ipynb", NOTEBOOK)])
def test_the_only_program_counts_once_where_macos_took_its_name_apart(
    tmp_path: Path, suffix: str, content: str
) -> None:
    """Under two names it would be two programs, and nobody would know which one counts."""
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / f"cafe\N{COMBINING ACUTE ACCENT}{suffix}").write_text(content)
    root = taken(tmp_path / "alice", tmp_path / "copy").root
    assert [one.name for one in root.glob(f"caf*{suffix}")] == [f"caf\xe9{suffix}"]


def test_adapters_are_found_under_a_name_that_macos_took_apart(tmp_path: Path) -> None:
    """Their path may come from the same disk as the submission."""
    wanted = "cafe\N{COMBINING ACUTE ACCENT}/work.py"
    for place in (wanted, "other/work.py"):
        (tmp_path / "alice" / place).parent.mkdir(parents=True)
        (tmp_path / "alice" / place).write_text(CODE)
    (tmp_path / "copy").mkdir()
    took = take_in(Entry("alice", tmp_path / "alice"), tmp_path / "copy", wanted)
    assert took.adapters == "caf\xe9/work.py"


def test_names_that_macos_took_apart_are_found_by_programs(tmp_path: Path) -> None:
    """Python composes the names that it imports, and macOS finds a file under both."""
    name = "cafe\N{COMBINING ACUTE ACCENT}"
    for place in (f"{name}.py", f"{name}s/{name}.py", f"{name}s/{name}.txt"):
        (tmp_path / "alice" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "alice" / place).write_text(CODE)
    (tmp_path / "alice" / "adapters.py").write_text(CODE)
    root = taken(tmp_path / "alice", tmp_path / "copy").root
    for place in ("caf\xe9.py", "caf\xe9s/caf\xe9.py", "caf\xe9s/caf\xe9.txt"):
        assert (root / place).read_text() == CODE


def test_data_files_keep_their_names(tmp_path: Path) -> None:
    """A program opens its files by their names."""
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / "adapters.py").write_text(CODE)
    (tmp_path / "alice" / "prompt.py.txt").write_text("text\n")
    (tmp_path / "alice" / "table.json").write_text('{"cells": []}')
    submission = taken(tmp_path / "alice", tmp_path / "into")
    names = {path.name for path in submission.root.iterdir()}
    assert {"adapters.py", "prompt.py.txt", "table.json"} <= names


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_an_archive_in_an_archive_is_opened(tmp_path: Path, depth: int) -> None:
    """An archive alone in a folder is opened too."""
    content = a_zip({"hw1/adapters.py": CODE})
    for _ in range(depth):
        content = a_zip({"hw1.zip": content, "__MACOSX/._hw1.zip": b"0"})
    (tmp_path / "alice.zip").write_bytes(content)
    submission = taken(tmp_path / "alice.zip", tmp_path / "into")
    assert (submission.root / submission.adapters).read_text() == CODE


def test_the_depth_of_nested_archives_is_limited(tmp_path: Path) -> None:
    """Each level has its limits, and so has the number of levels."""
    content = a_zip({"adapters.py": CODE})
    for _ in range(9):
        content = a_zip({"hw1.zip": content})
    (tmp_path / "alice.zip").write_bytes(content)
    with pytest.raises(Unreadable, match=r"no adapters\.py"):
        taken(tmp_path / "alice.zip", tmp_path / "into")


@pytest.mark.parametrize(
    ("name", "page", "said"),
    [
        ("doejane_7_text.html", "<p>I did it, see my mail</p>", "typed .*I did it"),
        ("doejane_7_link.html", "<a href='x'>https://example.org/a</a>", "a web address.*hand in"),
    ],
)
def test_typed_text_without_code_says_what_to_do(
    tmp_path: Path, name: str, page: str, said: str
) -> None:
    """Such text cannot be graded, and the grader follows no web address."""
    (tmp_path / name).write_text(page)
    (entry,) = discover([tmp_path]).entries
    (tmp_path / "into").mkdir()
    with pytest.raises(Unreadable, match=said):
        take_in(entry, tmp_path / "into")


@pytest.mark.parametrize(
    ("files", "adapters", "paths"),
    [
        (["hw1/tests/adapters.py", "hw1/mylm/a.py", "README.md"], "tests/adapters.py", "hw1"),
        (["a/b/adapters.py", "a/mylm/a.py", "c/d.txt"], "adapters.py", "a"),
        (["a/b/c/adapters.py", "a/src/mylm/a.py", "c/d.txt"], "adapters.py", "a/src"),
        (["w/a/b/adapters.py", "w/mylm/a.py", "x/y.txt"], "adapters.py", "w"),
    ],
)
@pytest.mark.parametrize("is_archive", [False, True], ids=["folder", "archive"])
def test_imports_are_searched_in_every_folder_above_the_adapters(
    tmp_path: Path, files: list[str], adapters: str, paths: str, is_archive: bool
) -> None:
    """The search goes up to the submission's root, and the nearest folder comes first."""
    content: dict[str, str | bytes] = {
        name: "from mylm.a import f\ndef run_x(): ...\n" if "adapters" in name else ""
        for name in files
    }
    if is_archive:
        (tmp_path / "alice.zip").write_bytes(a_zip({"hw.zip": a_zip(content)}))
    for name, text in content.items():
        place = tmp_path / "alice" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(str(text))
    (tmp_path / "into").mkdir()
    entry = Entry("alice", tmp_path / ("alice.zip" if is_archive else "alice"))
    submission = take_in(entry, tmp_path / "into", adapters)
    assert paths in submission.import_paths
    assert submission.import_paths[-1] in (".", "src")
