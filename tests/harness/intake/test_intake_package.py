"""A submission sent to another machine is taken in there exactly as it would be here."""

from __future__ import annotations

import io
import json
import os
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.core.submission import Unreadable
from grader.grading.cluster.bundle import RemoteRequest
from grader.grading.options import Task
from grader.intake.entry import Entry, Piece
from grader.intake.handed_in import SubmissionPackage, pack, unpack
from grader.intake.process import take_in

pytestmark = pytest.mark.unit

ADAPTERS = "def run_softmax(in_features, dim): ...\n"


def a_folder(place: Path) -> Entry:
    folder = place / "Work of Ann"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "adapters.py").write_text(ADAPTERS)
    (folder / "src" / "deep" / "weights.bin").write_bytes(bytes(range(256)) * 99)
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("clutter")
    return Entry("ann", folder)


def with_things_left_out(place: Path) -> Entry:
    folder = place / "work"
    folder.mkdir()
    (folder / "adapters.py").write_text(ADAPTERS)
    (folder / "large.py").write_text("#" * 3_000_000)
    (folder / "link.py").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    return Entry("ann", folder)


def without_adapters_and_with_things_left_out(place: Path) -> Entry:
    folder = place / "work"
    folder.mkdir()
    (folder / "adapters.py").write_text("#" * 3_000_000)
    return Entry("ann", folder)


def with_odd_names(place: Path) -> Entry:
    folder = place / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "adapters.py").write_text(ADAPTERS)
    (folder / os.fsdecode(b"na\xefve.py")).write_text("")
    (folder / ("n" * 200 + ".py")).write_text("")
    return Entry("cafe", folder)


def an_archive(place: Path) -> Entry:
    with zipfile.ZipFile(place / "ann.zip", "w") as archive:
        archive.writestr("ann/adapters.py", ADAPTERS)
        archive.writestr("ann/large.py", "#" * 3_000_000)
    return Entry("ann", place / "ann.zip")


def an_archive_in_a_folder(place: Path) -> Entry:
    folder = place / "ann_1"
    folder.mkdir()
    (folder / "letter.pdf").write_bytes(b"%PDF")
    with tarfile.open(folder / "work.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("adapters.py")
        member.size = len(ADAPTERS)
        archive.addfile(member, io.BytesIO(ADAPTERS.encode()))
    return Entry("ann", folder)


def pieces_of_a_download(place: Path) -> Entry:
    (place / "download").mkdir()
    (place / "download" / "ann_1_adapters-2.py").write_text(ADAPTERS)
    (place / "download" / "ann_1_more.py").write_text("x = 1\n")
    pieces = (Piece("ann_1_adapters-2.py", "adapters.py"), Piece("ann_1_more.py", "more.py"))
    return Entry("ann", place / "download", pieces)


def pieces_that_are_gone(place: Path) -> Entry:
    (place / "download").mkdir()
    return Entry("ann", place / "download", (Piece("ann_1.py", "adapters.py"),))


def a_single_file(place: Path) -> Entry:
    (place / "ann.py").write_text(ADAPTERS)
    return Entry("ann", place / "ann.py")


def a_notebook(place: Path) -> Entry:
    cell = {"cell_type": "code", "source": ADAPTERS, "outputs": [], "metadata": {}}
    book = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]}
    (place / "ann.ipynb").write_text(json.dumps(book))
    return Entry("ann", place / "ann.ipynb")


def a_broken_archive(place: Path) -> Entry:
    (place / "ann.zip").write_bytes(b"PK\x03\x04 and no more")
    return Entry("ann", place / "ann.zip")


def an_empty_folder(place: Path) -> Entry:
    (place / "ann").mkdir()
    return Entry("ann", place / "ann")


def a_pipe(place: Path) -> Entry:
    os.mkfifo(place / "ann.py")
    return Entry("ann", place / "ann.py")


def a_link(place: Path) -> Entry:
    (place / "ann").symlink_to("/etc")
    return Entry("ann", place / "ann")


def nothing(place: Path) -> Entry:
    return Entry("ann", place / "gone")


def taken_in(entry: Entry, into: Path) -> tuple[object, ...]:
    """Returns everything known of a submission after its intake, except its folder."""
    into.mkdir()
    try:
        taken = take_in(entry, into)
    except Unreadable as problem:
        return (str(problem),)
    files = {
        file.relative_to(taken.root): file.read_bytes()
        for file in taken.root.rglob("*")
        if file.is_file()
    }
    return (
        taken.name,
        taken.adapters,
        taken.module,
        taken.import_paths,
        taken.notes,
        files,
    )


@pytest.mark.parametrize(
    "hand_in",
    [
        a_folder,
        with_things_left_out,
        without_adapters_and_with_things_left_out,
        with_odd_names,
        an_archive,
        an_archive_in_a_folder,
        pieces_of_a_download,
        pieces_that_are_gone,
        a_single_file,
        a_notebook,
        a_broken_archive,
        an_empty_folder,
        a_pipe,
        a_link,
        nothing,
    ],
)
def test_a_packed_submission_is_taken_in_as_on_the_sending_machine(
    tmp_path: Path, hand_in: Callable[[Path], Entry]
) -> None:
    """Files, imports and messages are equal, even for an unreadable submission."""
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    entry = hand_in(home)
    request = RemoteRequest.of(Task(entry, 0, "hash", "key"), pack(entry))
    arrived = pickle.loads(pickle.dumps(request))
    assert arrived == request
    there = unpack(arrived.package, arrived.name, away)
    assert Entry.from_json(there.as_json()) == there
    assert taken_in(there, tmp_path / "there") == taken_in(entry, tmp_path / "here")


def test_file_names_that_could_escape_on_another_system_are_left_out_everywhere(
    tmp_path: Path,
) -> None:
    """A folder may hold file names that an archive must not hold."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "adapters.py").write_text(ADAPTERS)
    (tmp_path / "work" / "C:\\evil.py").write_text("x = 1\n")
    (tmp_path / "work" / "D:evil.py").write_text("x = 1\n")
    (tmp_path / "work" / "..\\evil.py").write_text("x = 1\n")
    said = ("Left out (names with a backslash or a drive): ..\\evil.py, C:\\evil.py, D:evil.py.",)
    entry = Entry("ann", tmp_path / "work")
    assert pack(entry).left_out == said
    (tmp_path / "here").mkdir()
    assert take_in(entry, tmp_path / "here").notes == said


def test_a_damaged_package_is_unreadable(tmp_path: Path) -> None:
    """Only this submission is affected."""
    there = unpack(SubmissionPackage("work", is_folder=True, content=b"no tar"), "ann", tmp_path)
    assert "damaged" in there.refused
