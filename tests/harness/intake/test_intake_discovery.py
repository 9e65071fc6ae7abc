"""Discovery: which submissions the instructor's paths hold."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from grader.core.submission import Unreadable
from grader.intake.discovery import discover, single
from grader.intake.entry import Entry, NothingToGrade, Skipped
from grader.intake.process import take_in

pytestmark = pytest.mark.unit


def a_folder(folder: Path, name: str = "adapters.py") -> Path:
    folder.mkdir(parents=True)
    (folder / name).write_text("def run_softmax(in_features, dim): ...\n")
    return folder


def test_folders_archives_notebooks_and_files_are_submissions(tmp_path: Path) -> None:
    """Each is named after its file, without the suffix."""
    a_folder(tmp_path / "alice")
    for name in (
        "bob.zip",
        "carol.tar.gz",
        "dave.TGZ",
        "eve.ipynb",
        "fay.py",
        "gil.tar",
        "hal.rar",
    ):
        (tmp_path / name).write_bytes(b"x")
    names = [entry.name for entry in discover([tmp_path]).entries]
    assert names == ["alice", "bob", "carol", "dave", "eve", "fay", "gil", "hal"]


def test_files_that_are_no_submission_are_skipped_with_a_reason(tmp_path: Path) -> None:
    """Nothing is lost silently, except for files that macOS adds everywhere."""
    a_folder(tmp_path / "alice")
    for name in ("README.txt", "grades.csv", ".hidden", ".DS_Store"):
        (tmp_path / name).write_text("x")
    (tmp_path / "__MACOSX").mkdir()
    found = discover([tmp_path])
    assert [entry.name for entry in found.entries] == ["alice"]
    reasons = {item.path.name: item.reason for item in found.skipped}
    assert reasons == {
        ".hidden": "hidden, or made by a tool",
        "README.txt": "neither a folder nor an archive, a notebook or a Python file",
        "grades.csv": "neither a folder nor an archive, a notebook or a Python file",
    }


def test_results_among_the_submissions_are_no_submission(tmp_path: Path) -> None:
    """The next run would give it 0 points."""
    a_folder(tmp_path / "class" / "ann")
    a_folder(tmp_path / "class" / "results")
    (tmp_path / "link").symlink_to("class/results")
    found = discover([tmp_path / "class"], out=tmp_path / "link")
    assert [entry.name for entry in found.entries] == ["ann"]
    results = tmp_path / "class" / "results"
    assert found.skipped == (Skipped(results, "the folder of the results"),)
    assert len(discover([tmp_path / "class"], out=tmp_path / "results").entries) == 2


def test_submissions_are_sorted_in_natural_order(tmp_path: Path) -> None:
    """The results have the same order on every machine."""
    for name in ("group10", "group2", "Group1", "7", "10"):
        a_folder(tmp_path / name)
    names = [entry.name for entry in discover([tmp_path]).entries]
    assert names == ["7", "10", "Group1", "group2", "group10"]


def test_equal_names_are_numbered_and_noted(tmp_path: Path) -> None:
    """A folder beside its own zip, or the same name in two classes, is graded too."""
    a_folder(tmp_path / "one/alice")
    (tmp_path / "one/alice.zip").write_bytes(b"x")
    a_folder(tmp_path / "one/alice-2")
    a_folder(tmp_path / "two/alice")
    a_folder(tmp_path / "two/bob")
    found = discover([tmp_path / "one", tmp_path / "two"])
    paths = {entry.name: str(entry.path.relative_to(tmp_path)) for entry in found.entries}
    assert paths == {
        "alice": "one/alice",
        "alice-2": "one/alice-2",
        "alice-3": "one/alice.zip",
        "alice-4": "two/alice",
        "bob": "two/bob",
    }
    assert len(found.notes) == 2
    assert "alice-3 for" in found.notes[0]
    assert "one/alice.zip" in found.notes[0]


def test_a_path_given_twice_is_graded_once(tmp_path: Path) -> None:
    """Shell patterns may overlap."""
    a_folder(tmp_path / "class/alice")
    a_folder(tmp_path / "class/bob")
    found = discover([tmp_path / "class", tmp_path / "class/../class", tmp_path / "class/alice"])
    assert [entry.name for entry in found.entries] == ["alice", "bob"]


def test_a_path_can_itself_be_a_submission(tmp_path: Path) -> None:
    """It is an archive, a file, or a folder with adapters at the path in `--adapters`."""
    (tmp_path / "alice.zip").write_bytes(b"x")
    bob = a_folder(tmp_path / "bob")
    carol = a_folder(tmp_path / "carol/tests").parent
    found = discover([tmp_path / "alice.zip", bob])
    assert [entry.name for entry in found.entries] == ["alice", "bob"]
    assert "graded as one submission" in found.notes[0]
    assert [e.name for e in discover([carol], "tests/adapters.py").entries] == ["carol"]


def test_a_stray_adapters_file_does_not_hide_the_class(tmp_path: Path) -> None:
    """An instructor may keep the template beside the submissions."""
    for name in ("alice", "bob"):
        a_folder(tmp_path / name)
    (tmp_path / "adapters.py").write_text("")
    names = [entry.name for entry in discover([tmp_path]).entries]
    assert names == ["adapters", "alice", "bob"]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("missing", "class does not exist: check the path"),
        ("a loop of links", "class cannot be read: Too many levels of symbolic links"),
        ("empty", "class is empty; it should hold a folder or file for each submission"),
        ("only a README", "class holds no submission, only README.txt"),
        ("a FIFO", "class is a FIFO, not a folder or file"),
        ("a CSV", "grades.csv is neither a folder nor an archive, a notebook or a Python file"),
    ],
)
def test_a_path_without_submissions_gives_one_sentence(
    tmp_path: Path, case: str, said: str
) -> None:
    """A wrong path must not look like a class with zero points."""
    path = tmp_path / "class"
    if case == "a FIFO":
        os.mkfifo(path)
    elif case == "a CSV":
        path = tmp_path / "grades.csv"
        path.write_text("x")
    elif case == "a loop of links":
        path.symlink_to(path)
    elif case != "missing":
        path.mkdir()
    if case == "only a README":
        (path / "README.txt").write_text("x")
    with pytest.raises(NothingToGrade) as caught:
        discover([path])
    assert str(caught.value) == f"{tmp_path}/{said}"


def test_an_item_that_looks_like_a_download_is_one_submission_with_a_note(tmp_path: Path) -> None:
    """The instructor may have meant it; beside other submissions it is none."""
    a_folder(tmp_path / "class/alice/doejane_1_2_x", "doejane_1_2_a.py")
    (tmp_path / "class/alice/doejane_1_2_a.py").touch()
    found = discover([tmp_path / "class"])
    (note,) = found.notes
    assert note.startswith("alice looks like a platform's download and is graded as one submission")
    assert note.endswith(f"give its path alone: {tmp_path}/class/alice.")
    a_folder(tmp_path / "class/bob")
    assert discover([tmp_path / "class"]).notes == ()


def test_a_path_beside_single_submissions_is_not_taken_for_a_download(tmp_path: Path) -> None:
    """In `submissions/*` a student's own folder could claim the work of others."""
    mine, other = a_folder(tmp_path / "mine", "doejane_1_2_a.py"), tmp_path / "other"
    (mine / "roejohn_3_4_a.py").touch()
    found = discover([a_folder(tmp_path / "alice"), mine])
    assert [(one.name, one.authors) for one in found.entries] == [("alice", ()), ("mine", ())]
    (*_, note) = found.notes
    assert note.startswith("mine looks like a platform's download and is graded as one submission")
    assert len(discover([mine, a_folder(other, "poejan_5_6_a.py")]).entries) == 3


def test_one_folder_beside_adapters_is_part_of_a_submission(tmp_path: Path) -> None:
    """Two folders or archives with adapters of their own are two submissions."""
    alice = a_folder(tmp_path / "alice")
    a_folder(alice / "tests")
    assert [entry.name for entry in discover([alice]).entries] == ["alice"]
    (alice / "old.zip").write_bytes(b"x")
    assert [entry.name for entry in discover([alice]).entries] == ["adapters", "old", "tests"]
    (alice / "old.zip").unlink()
    (alice / "old.zip").mkdir()
    assert [entry.name for entry in discover([alice]).entries] == ["alice"]


def test_names_are_fit_to_print(tmp_path: Path) -> None:
    """A file name may hold any bytes; terminals and databases get printable text."""
    a_folder(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")))
    a_folder(tmp_path / "red\x1b[31m")
    a_folder(tmp_path / "abc\u202etxt")
    a_folder(tmp_path / "<b>Zoë</b>".replace("/", "|"))
    found = discover([tmp_path])
    names = [entry.name for entry in found.entries]
    assert names == ["<b>Zoë<|b>", "abc\\u202etxt", "caf\\xe9", "red\\x1b[31m"]
    for number, entry in enumerate(found.entries):
        (into := tmp_path.parent / f"{tmp_path.name}-{number}").mkdir()
        assert take_in(entry, into).name == entry.name


@pytest.mark.parametrize("kind", ["FIFO", "socket", "link"])
def test_special_entries_get_a_row_and_are_never_opened(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a FIFO blocks forever, and a link may lead to another student's work."""
    (tmp_path / "class").mkdir()
    monkeypatch.chdir(tmp_path / "class")  # a socket's path must be short
    if kind == "FIFO":
        os.mkfifo("odd")
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind("odd")
    else:
        Path("odd").symlink_to(a_folder(tmp_path / "elsewhere"))
    (entry,) = discover([tmp_path / "class"]).entries
    (tmp_path / "into").mkdir()
    with pytest.raises(Unreadable, match=f"it is a {kind}"):
        take_in(entry, tmp_path / "into")


def test_a_link_that_the_instructor_gives_is_followed(tmp_path: Path) -> None:
    """The instructor's own paths are trusted, and the submission has the link's name."""
    (tmp_path / "link").symlink_to(a_folder(tmp_path / "alice"))
    assert single(tmp_path / "link") == Entry("link", tmp_path.resolve() / "alice")


def test_single_takes_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A student runs `grader run .` inside a submission."""
    monkeypatch.chdir(a_folder(tmp_path / "alice", "other.py"))
    assert single(Path()).name == "alice"
