"""Intake of folders: which files are copied, left out with a note, or never opened."""

from __future__ import annotations

import os
import resource
import socket
import stat
import zipfile
from pathlib import Path

import pytest

from grader.core.submission import Submission, Unreadable
from grader.intake.copying import CopyFailed
from grader.intake.entry import Entry
from grader.intake.handed_in import fingerprint
from grader.intake.limits import CopyLimits, FileAllowance
from grader.intake.process import take_in

pytestmark = pytest.mark.unit

ADAPTERS = "def run_softmax(in_features, dim): ...\n"
SMALL = CopyLimits(
    source=FileAllowance(4, 1000, 2000),
    notebooks=FileAllowance(1, 1000, 1000),
    data=FileAllowance(3, 100, 250),
    depth=3,
    entries=30,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "into").mkdir()
    home = tmp_path / "alice"
    home.mkdir()
    (home / "adapters.py").write_text(ADAPTERS)
    return home


def taken(home: Path, limits: CopyLimits = SMALL) -> Submission:
    return take_in(Entry(home.name, home), home.parent / "into", limits=limits)


def copied(submission: Submission) -> set[str]:
    paths = submission.root.rglob("*")
    return {str(path.relative_to(submission.root)) for path in paths if path.is_file()}


def test_a_folder_is_copied_and_found(home: Path) -> None:
    """Source, data and folders are copied, and the adapters are found."""
    (home / "assignment").mkdir()
    (home / "assignment/attention.py").write_bytes(b"# caf\xe9: not UTF-8\n")
    (home / "vocabulary.json").write_text("{}")
    submission = taken(home)
    assert copied(submission) == {"adapters.py", "assignment/attention.py", "vocabulary.json"}
    assert (submission.name, submission.adapters, submission.module) == (
        "alice",
        "adapters.py",
        "adapters",
    )
    assert submission.import_paths == (".",)
    assert submission.notes == ()


def test_the_copy_is_readable_for_another_user(home: Path) -> None:
    """Workers run as another user, whatever the file modes and the umask."""
    (home / "data").mkdir()
    (home / "data/private.py").write_text("")
    (home / "data/private.py").chmod(0o700)
    before = os.umask(0o077)
    try:
        submission = taken(home)
    finally:
        os.umask(before)
    for path in [submission.root.parent, submission.root, *submission.root.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o755 if path.is_dir() else 0o644), path


def test_files_made_by_tools_are_left_out_without_a_note(home: Path) -> None:
    """Environments, caches and histories belong to no submission."""
    for clutter in (
        ".git/config",
        ".venv/lib/x.py",
        "venv/x.py",
        "my-env/pyvenv.cfg",
        "my-env/lib/python3/x.py",
        "node_modules/x.py",
        "__pycache__/x.cpython-311.pyc",
        ".ipynb_checkpoints/x.py",
        "wandb/run-20240101/config.yaml",
        "alice.egg-info/PKG-INFO",
        "x.pyc",
        "._adapters.py",
        ".DS_Store",
    ):
        path = home / clutter
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    submission = taken(home)
    assert copied(submission) == {"adapters.py"}
    assert submission.notes == ()


def test_files_beyond_the_limits_are_left_out_and_listed(home: Path) -> None:
    """Size, number and depth are limited; code comes before data, and small files come first."""
    (home / "checkpoint.pt").write_bytes(b"x" * 101)
    (home / "generated.py").write_bytes(b"#" * 1001)
    for number in range(5):
        (home / f"table{number}.bin").write_bytes(b"x" * (60 + number))
    (home / "a/b/c").mkdir(parents=True)
    (home / "a/b/c/deep.py").write_text("")
    submission = taken(home)
    assert copied(submission) == {"adapters.py", "table0.bin", "table1.bin", "table2.bin"}
    notes = "\n".join(submission.notes)
    assert "checkpoint.pt (101 bytes)" in notes
    assert "generated.py" in notes
    assert "beyond the first 3 files): table3.bin, table4.bin" in notes
    assert "more than 3 folders deep): a/b/c/" in notes


def test_a_long_list_of_left_out_files_is_shortened(home: Path) -> None:
    """A note is a sentence, not a directory listing."""
    for number in range(20):
        (home / f"{number:02}.pt").write_bytes(b"x" * 101)
    (note,) = taken(home).notes
    assert note.endswith("04.pt (101 bytes) and 15 more.")


def test_more_entries_than_the_limit_stop_the_walk(home: Path) -> None:
    """A folder with a million empty files takes no longer than the limit."""
    (home / "many").mkdir()
    for number in range(60):
        (home / "many" / f"{number}.txt").touch()
    assert any("the rest of many" in note for note in taken(home).notes)


def test_more_folders_than_the_limit_are_not_made(home: Path) -> None:
    """Each folder must be made and removed: 2,000 files could lie in 48,000 folders."""
    for number in range(8):
        (home / f"{number}/a/b").mkdir(parents=True)
        (home / f"{number}/a/b/data.bin").write_bytes(b"x")
        (home / f"{number}/a/b/more.bin").write_bytes(b"xx")
    limits = CopyLimits(depth=4, folders=7)
    submission = taken(home, limits)
    assert copied(submission) == {
        "adapters.py",
        *(f"{number}/a/b/{name}.bin" for number in range(2) for name in ("data", "more")),
    }
    assert "beyond the first 7 folders): 2/a/b/data.bin, " in submission.notes[0]


def test_links_in_a_submission_are_not_followed(home: Path) -> None:
    """The grader can read what a student may not: other submissions, answers, passwords."""
    (home.parent / "secret.py").write_text("secret = 1\n")
    (home.parent / "alice-secret").mkdir()
    (home / "real.py").write_text("x = 1\n")
    (home / "inside.py").symlink_to("real.py")
    (home / "outside.py").symlink_to("../secret.py")
    (home / "absolute.txt").symlink_to("/etc/passwd")
    (home / "neighbour").symlink_to("../alice-secret")
    (home / "loop").symlink_to(".")
    (home / "self").symlink_to("self")
    (home / "twice.py").symlink_to("outside.py")
    submission = taken(home)
    assert copied(submission) == {"adapters.py", "real.py"}
    assert "inside.py (a link)" in submission.notes[0]


def test_the_reason_names_adapters_that_are_a_link_out_of_the_submission(home: Path) -> None:
    """ "No adapters.py" alone would puzzle a student who sees that file."""
    (home / "adapters.py").rename(home.parent / "elsewhere.py")
    (home / "adapters.py").symlink_to("../elsewhere.py")
    (home / "model.py").touch()
    with pytest.raises(Unreadable, match=r"no adapters\.py.* it holds model\.py.*link.*adapters"):
        taken(home)


def a_file(home: Path, source: str, name: str = "attention.py") -> Submission:
    file = home.parent / name
    file.write_text(source)
    return take_in(Entry("alice", file), home.parent / "into", limits=SMALL)


def test_a_lone_file_that_names_no_adapter_is_unreadable(home: Path) -> None:
    """Who resubmits one of two files on Canvas reads which one is missing."""
    with pytest.raises(Unreadable, match=r"^its only file names no adapter"):
        a_file(home, "def softmax(x, dim): ...\n")


@pytest.mark.parametrize(
    "source",
    [
        "def run_softmax(x, dim): ...",
        "globals()['run_' + 'softmax'] = len",
        "from lib import *",
        "(",
    ],
)
def test_a_lone_file_that_may_define_adapters_is_taken(home: Path, source: str) -> None:
    """Its import says what else is wrong, such as an error of syntax."""
    assert a_file(home, source).adapters == "adapters.py"


def test_a_lone_adapters_file_is_taken_whatever_it_holds(home: Path) -> None:
    """Its import may end in another way, and its exercises are missing."""
    assert a_file(home, "while True: pass\n", "adapters.py").adapters == "adapters.py"


def test_fifos_and_sockets_inside_are_never_opened(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a FIFO would block the batch until somebody writes to it."""
    monkeypatch.chdir(home)
    os.mkfifo("pipe.py")
    socket.socket(socket.AF_UNIX).bind("door")
    Path("to-pipe.py").symlink_to("pipe.py")
    before = fingerprint(Entry("alice", home))
    submission = taken(home)
    assert copied(submission) == {"adapters.py"}
    assert "pipe.py (a FIFO)" in " ".join(submission.notes)
    Path("pipe.py").unlink()
    assert fingerprint(Entry("alice", home)) == before


def test_devices_inside_are_never_opened(home: Path) -> None:
    """Reading /dev/zero never ends."""
    try:
        os.mknod(home / "zero.py", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")
    assert copied(taken(home)) == {"adapters.py"}


def test_a_file_without_permission_is_left_out_and_noted(home: Path) -> None:
    """One unreadable file must not make the submission unreadable."""
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (home / "private.py").touch()
    (home / "private.py").chmod(0)
    submission = taken(home)
    assert copied(submission) == {"adapters.py"}
    assert "private.py" in submission.notes[0]


def test_file_names_may_be_any_bytes(home: Path) -> None:
    """The copy keeps the bytes, and notes escape unprintable ones."""
    (home / os.fsdecode(b"caf\xe9.py")).write_text("x = 1\n")
    (home / os.fsdecode(b"\xe9.pt")).write_bytes(b"x" * 101)
    submission = taken(home)
    assert os.fsdecode(b"caf\xe9.py") in copied(submission)
    assert r"\xe9.pt" in submission.notes[0]
    submission.notes[0].encode("utf-8")


@pytest.mark.parametrize("content", ["nothing", "only clutter"])
def test_an_empty_folder_is_unreadable(home: Path, content: str) -> None:
    """The message says that it is empty."""
    (home / "adapters.py").unlink()
    if content == "only clutter":
        (home / ".git").mkdir()
    with pytest.raises(Unreadable, match="empty"):
        taken(home)


def test_a_submission_that_is_gone_is_unreadable(home: Path) -> None:
    """Somebody may remove it between listing and grading."""
    with pytest.raises(Unreadable, match="cannot be opened"):
        take_in(Entry("bob", home.parent / "bob"), home.parent / "into")


def test_a_full_disk_is_not_the_submissions_fault(home: Path) -> None:
    """The submission is not graded, and loses no points. A limit on file sizes simulates this."""
    content = ADAPTERS * 100
    (home / "adapters.py").write_text(content)
    with zipfile.ZipFile(home.parent / "alice.zip", "w") as archive:
        archive.writestr("adapters.py", content)
    (home.parent / "again").mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(CopyFailed, match="cannot write the private copy"):
            take_in(Entry("alice", home), home.parent / "into")
        with pytest.raises(CopyFailed, match="cannot write the private copy"):
            take_in(Entry("alice", home.parent / "alice.zip"), home.parent / "again")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_adapters_outside_the_submission_are_refused(home: Path) -> None:
    """`--adapters` is a path inside a submission."""
    with pytest.raises(ValueError, match="inside a submission"):
        take_in(Entry("alice", home), home.parent / "into", "../bob/adapters.py")


def test_the_fingerprint_changes_only_with_copied_files(home: Path) -> None:
    """A resumed batch grades exactly the changed submissions again."""
    entry = Entry("alice", home)
    first = fingerprint(entry)
    os.utime(home / "adapters.py", (0, 0))
    (home / "__pycache__").mkdir()
    (home / "__pycache__/adapters.cpython-311.pyc").write_bytes(b"x")
    assert fingerprint(entry) == first
    assert fingerprint(Entry("another name", home)) == first
    (home / "adapters.py").write_text(ADAPTERS + "\n")
    second = fingerprint(entry)
    assert second != first
    (home / "adapters.py").rename(home / "solution.py")
    assert fingerprint(entry) not in (first, second)


def test_the_fingerprint_has_the_name_under_which_a_file_is_copied(tmp_path: Path) -> None:
    """Equal notebooks of two people share no words, because these name the notebook."""

    def kept(name: str) -> str:
        (tmp_path / name).write_bytes(b"{}")
        return fingerprint(Entry("one", tmp_path / name))

    assert kept("alice.ipynb") != kept("bob.ipynb")
    assert kept("alice.ipynb") == kept("alice.ipynb.json")
    assert kept("alice.py") == kept("bob.py"), "both are copied as adapters.py"


def test_unreadable_submissions_have_different_fingerprints(tmp_path: Path) -> None:
    """Hashing neither raises nor blocks."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "alice.zip").write_bytes(b"x")
    (tmp_path / "alice.py").write_bytes(b"x")
    names = ("fifo", "link", "missing", "alice.zip", "alice.py")
    prints = [fingerprint(Entry(name, tmp_path / name)) for name in names]
    assert all(len(print_) == 64 for print_ in prints)
    assert len(set(prints)) == len(names)
