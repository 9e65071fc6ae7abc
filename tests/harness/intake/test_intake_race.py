"""Intake while somebody changes the files: no file outside the submission is ever read."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.core.folders import removed_afterwards
from grader.core.submission import Unreadable
from grader.intake.entry import Entry
from grader.intake.handed_in import fingerprint, pack
from grader.intake.process import take_in

pytestmark = pytest.mark.process

ADAPTERS = "def run_softmax(in_features, dim): ...\n"
SECRET = b"what only the grader may read"
# As long as the secret, so that a check of sizes notices no swap.
OWN = b"what everybody here can read."
COPIES = 300
# A fingerprint takes less time, in which fewer swaps happen.
FINGERPRINTS = 1000
SWAPPED_MEANWHILE = 10

# Swaps two names until it is killed, and prints a line when it begins.
SWAPPER = """
import ctypes, os, sys
one, other = (os.fsencode(path) for path in sys.argv[1:])
exchange = getattr(ctypes.CDLL(None), "renameat2", None)
def by_three_names():
    for source, target in ((one, one + b"~"), (other, one), (one + b"~", other)):
        os.rename(source, target)
def swap():
    if exchange is None or exchange(-100, one, -100, other, 2) != 0:
        by_three_names()
print("begun", flush=True)
while True:
    swap()
"""


@contextlib.contextmanager
def swapping_continuously(one: Path, other: Path) -> Iterator[None]:
    command = [sys.executable, "-c", SWAPPER, str(one), str(other)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
        try:
            assert swapper.stdout is not None
            swapper.stdout.readline()
            yield
        finally:
            swapper.kill()


@pytest.fixture
def alice(tmp_path: Path) -> Path:
    """A submission whose folder `sub` has the same file names as a secret folder."""
    for folder, content in (("alice/sub", OWN), ("secret", SECRET)):
        (tmp_path / folder).mkdir(parents=True)
        for number in range(8):
            (tmp_path / folder / f"notes{number}.txt").write_bytes(content)
        (tmp_path / folder / "deeper").mkdir()
        (tmp_path / folder / "deeper/notes.txt").write_bytes(content)
    (tmp_path / "alice/adapters.py").write_text(ADAPTERS)
    (tmp_path / "link").symlink_to("../secret")
    return tmp_path / "alice"


def holds_the_secret(folder: Path) -> bool:
    files = (path for path in folder.rglob("*") if path.is_file())
    return any(SECRET in path.read_bytes() for path in files)


def test_a_copy_never_holds_the_target_of_a_momentary_link(alice: Path, tmp_path: Path) -> None:
    """A listed folder becomes a link before it is read. The grader may read more than Alice."""
    without = 0
    with swapping_continuously(alice / "sub", tmp_path / "link"):
        for _ in range(COPIES):
            with removed_afterwards(tmp_path / "into") as into:
                into.mkdir()
                root = take_in(Entry("alice", alice), into).root
                assert not holds_the_secret(into)
                without += not (root / "sub").exists()
    assert SWAPPED_MEANWHILE < without < COPIES - SWAPPED_MEANWHILE


def test_a_fingerprint_never_depends_on_the_target_of_a_momentary_link(
    alice: Path, tmp_path: Path
) -> None:
    """Otherwise a student could check guesses about a secret file's content."""
    told = Entry("alice", tmp_path / "told")
    with swapping_continuously(alice / "sub", tmp_path / "link"):
        seen = {fingerprint(Entry("alice", alice)) for _ in range(FINGERPRINTS)}
    assert len(seen) > 1
    (tmp_path / "told").mkdir()
    (tmp_path / "told/adapters.py").write_text(ADAPTERS)
    (tmp_path / "secret").rename(tmp_path / "told/sub")
    assert fingerprint(told) not in seen


def test_a_package_never_holds_the_target_of_a_momentary_link(alice: Path, tmp_path: Path) -> None:
    """Packages for other machines are copied in the same way."""
    with swapping_continuously(alice / "sub", tmp_path / "link"):
        for _ in range(COPIES):
            with tarfile.open(fileobj=io.BytesIO(pack(Entry("alice", alice)).content)) as tar:
                files = [tar.extractfile(member) for member in tar if member.isfile()]
                assert all(file is not None and SECRET not in file.read() for file in files)


def test_an_archive_behind_a_momentary_link_is_never_unpacked(tmp_path: Path) -> None:
    """An archive alone in a folder is found first, and opened later."""
    for place, content in (("alice/sub", OWN), ("secret", SECRET)):
        (tmp_path / place).mkdir(parents=True)
        with tarfile.open(tmp_path / place / "work.tar", "w") as tar:
            for name, data in (("adapters.py", ADAPTERS.encode()), ("notes.txt", content)):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    (tmp_path / "link").symlink_to("../secret")
    taken = 0
    with swapping_continuously(tmp_path / "alice/sub", tmp_path / "link"):
        for _ in range(COPIES):
            with removed_afterwards(tmp_path / "into") as into:
                into.mkdir()
                with contextlib.suppress(Unreadable):
                    take_in(Entry("alice", tmp_path / "alice"), into)
                    taken += 1
                assert not holds_the_secret(into)
    assert SWAPPED_MEANWHILE < taken < COPIES


def test_a_submission_that_becomes_a_link_is_not_followed(alice: Path, tmp_path: Path) -> None:
    """This also holds for the submission's own folder."""
    (tmp_path / "secret/adapters.py").write_text(ADAPTERS)
    (tmp_path / "top").symlink_to("secret")
    with swapping_continuously(alice, tmp_path / "top"):
        for _ in range(COPIES // 2):
            with removed_afterwards(tmp_path / "into") as into:
                into.mkdir()
                with contextlib.suppress(Unreadable):
                    take_in(Entry("alice", alice), into)
                assert not holds_the_secret(into)
