"""Errors at intake: a submission's content makes only that submission unreadable."""

from __future__ import annotations

import errno
import json
import resource
import subprocess
import sys
import zipfile

import pytest

from grader.core.names import natural_order
from grader.core.submission import Unreadable
from grader.intake.copying import CopyFailed
from grader.intake.entry import Entry
from grader.intake.handed_in import fingerprint, pack
from grader.intake.process import take_in

pytestmark = pytest.mark.unit


def taken_in(path, tmp_path):
    into = tmp_path / "into"
    into.mkdir()
    return take_in(Entry("alice", path), into)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "handed-in"
    place.mkdir()
    (place / "adapters.py").write_text("def run_softmax(in_features, dim): ...\n")
    return place


@pytest.mark.parametrize(
    "problem",
    [RuntimeError("x" * 10_000), RecursionError(), KeyError("\udcff"), StopIteration(),
     OSError(errno.ENAMETOOLONG, "long"), UnicodeError(), AssertionError()],
)  # fmt: skip
def test_any_error_from_the_content_makes_a_submission_unreadable(
    folder, tmp_path, monkeypatch, problem
):
    """Nobody can foresee all content, so any exception counts against the submission."""
    monkeypatch.setattr("grader.intake.programs.source_facts.read_facts", _raising(problem))
    with pytest.raises(Unreadable, match="it holds something that the grader cannot read") as said:
        taken_in(folder, tmp_path)
    assert len(str(said.value)) < 300
    assert str(said.value).isprintable()


@pytest.mark.parametrize(
    "problem",
    [OSError(errno.ENOSPC, "full"), OSError(errno.EMFILE, "files"), OSError(errno.EIO, "disk"),
     MemoryError()],
)  # fmt: skip
def test_an_error_of_the_machine_is_not_the_fault_of_the_submission(
    folder, tmp_path, monkeypatch, problem
):
    """A full disk costs no points."""
    monkeypatch.setattr("grader.intake.programs.source_facts.read_facts", _raising(problem))
    with pytest.raises(CopyFailed):
        taken_in(folder, tmp_path)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("alice.py", "grader.intake.handed_in.open_file"),
        ("alice.zip", "grader.intake.handed_in.open_file"),
        ("alice.zip", "grader.intake.archives._BoundedReads.read"),
    ],
)
def test_a_file_that_the_disk_does_not_read_costs_no_points(tmp_path, monkeypatch, name, place):
    """`zipfile` calls every error of the disk a damaged file."""
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("adapters.py", "def run_softmax(in_features, dim): ...\n")
    monkeypatch.setattr(place, _raising(OSError(errno.EIO, "disk")))
    with pytest.raises(CopyFailed, match=r"(disk|the machine's fault)$"):
        taken_in(tmp_path / name, tmp_path)


@pytest.mark.parametrize("place", ["handed_in.open_file", "handed_in.chunks"])
def test_a_file_that_the_disk_does_not_read_is_not_sent_to_another_machine(
    tmp_path, monkeypatch, place
):
    """A package that says `refused` would make the submission unreadable there."""
    (tmp_path / "alice.py").touch()
    monkeypatch.setattr(f"grader.intake.{place}", _raising(OSError(errno.EIO, "disk")))
    with pytest.raises(CopyFailed):
        pack(Entry("alice", tmp_path / "alice.py"))


def test_a_notebook_without_a_free_module_name_is_unreadable(tmp_path):
    """The module that runs the cells needs a free file name."""
    folder = tmp_path / "handed-in"
    folder.mkdir()
    cell = {"cell_type": "code", "source": "def run_softmax(in_features, dim): ...",
            "metadata": {}, "outputs": [], "execution_count": None}  # fmt: skip
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "work.ipynb").write_text(json.dumps(notebook))
    (folder / "adapters.py").mkdir()
    for place in ("adapters.py/a.txt", *(f"notebook_{number}.py" for number in range(1, 100))):
        (folder / place).touch()
    with pytest.raises(Unreadable):
        taken_in(folder, tmp_path)


def test_a_submission_that_cannot_be_read_has_a_fingerprint(folder, monkeypatch):
    """An exception while hashing would end the whole batch."""
    known = fingerprint(Entry("alice", folder))
    module = sys.modules["grader.intake.handed_in"]
    monkeypatch.setattr(module, "survey", _raising(RecursionError()))
    assert len(fingerprint(Entry("alice", folder))) == len(known) == 64


MEMORY = """
import resource, sys
from grader.intake.programs.source_facts import read_facts
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
facts = read_facts([sys.stdin.buffer.read()])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, len(facts.imports))
"""


@pytest.mark.process
def test_long_names_take_no_memory():
    """`from m import a, b, …` must not repeat the name of `m` for each import."""
    names = ", ".join(f"a{number}" for number in range(15_000))
    source = f"from {'m' * 100_000} import {names}\nimport torch.nn\n".encode()
    bound = (resource.RLIMIT_DATA, (1 << 30, 1 << 30))
    done = subprocess.run(
        [sys.executable, "-c", MEMORY],
        input=source,
        capture_output=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(*bound),
    )
    kilobytes, imports = map(int, done.stdout.split())
    assert kilobytes < 100_000
    assert imports == 1


def test_names_with_thousands_of_digits_are_sorted():
    """A zip may hold such names, and sorting comes before any other check."""
    names = ["a" + "9" * 5000, "a10", "a2", "b", "a02", "a" + "9" * 4999]
    assert sorted(names, key=lambda name: (natural_order(name), name)) == [
        "a02", "a2", "a10", "a" + "9" * 4999, "a" + "9" * 5000, "b"
    ]  # fmt: skip


def _raising(problem):
    def raise_it(*_):
        raise problem

    return raise_it
