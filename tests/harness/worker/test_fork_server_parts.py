"""The parts of a fork server and a zygote: they reap, move, remove and forget."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.worker import fork_server, zygote
from tests.harness.forking import folder_for_everybody, in_a_fork, refusal

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="a worker is confined on Linux"),
]
MB = 1 << 20


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with folder_for_everybody() as made:
        yield made


# --- The fork server and the zygote --------------------------------------------------------------


def test_all_descendants_are_killed_and_their_exit_codes_told():
    """Orphans of a child come to this process, which then ends them too."""

    def ended() -> Any:
        fork_server.prctl(fork_server._PR_SET_CHILD_SUBREAPER, 1)
        pids = []
        for code in (None, 7):
            pid = os.fork()
            if pid == 0:
                if code is not None and os.fork():
                    os._exit(code)
                time.sleep(100)
            pids.append(pid)
        os.waitid(os.P_PID, pids[1], os.WEXITED | os.WNOWAIT)
        codes = fork_server.end_descendants()
        return [codes.pop(pid) for pid in pids], list(codes.values()), fork_server._children()

    assert in_a_fork(ended) == [[-9, 7], [-9], []]


@pytest.mark.unit
def test_only_packages_stay_importable(monkeypatch, tmp_path):
    """The grader may be installed in place, beside the references."""

    class Finder:
        pass

    Finder.__module__ = "__editable___grader_finder"
    packages = sysconfig.get_paths()["purelib"]
    own = [
        str(tmp_path),
        packages,
        "/x/python311.zip",
        "/x/lib-dynload",
        sysconfig.get_paths()["stdlib"],
    ]
    monkeypatch.setattr(sys, "path", own.copy())
    plain, editable = object(), Finder()
    monkeypatch.setattr(sys, "meta_path", [plain, editable])
    monkeypatch.setattr(sys, "path_hooks", [Finder, len])
    monkeypatch.setattr(sys, "path_importer_cache", {"x": None})
    fork_server.forget_the_project()
    assert sys.path == own[1:]
    assert sys.meta_path == [plain]
    assert sys.path_hooks == [len]
    assert sys.path_importer_cache == {}
    names = fork_server.engine_modules()
    assert "grader.worker.fork_server" in names
    assert all(name.partition(".")[0] == "grader" for name in names)


@pytest.mark.unit
def test_a_pipe_without_a_farewell_means_that_its_holders_were_killed(monkeypatch):
    """A holder that lives on has not closed its end."""
    monkeypatch.setattr(zygote, "_SECONDS_TO_END", 0.01)
    for said, closes, were_killed in ((b"", False, False), (b".", True, False), (b"", True, True)):
        reading, writing = os.pipe()
        os.write(writing, said)
        if closes:
            os.close(writing)
        assert zygote._were_killed(reading) is were_killed
        os.close(reading)
        if not closes:
            os.close(writing)


@pytest.mark.unit
def test_empty_groups_are_removed_with_their_inner_ones(tmp_path):
    for name in ("a/b/c", "d", "e"):
        (tmp_path / name).mkdir(parents=True)
    scratch = tmp_path / "d" / "scratch"
    scratch.mkdir()
    (scratch / "file").touch()
    for name in ("a", "d", "absent"):
        zygote._remove_group(tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"d", "e"}
    zygote._remove_what_is_left(str(scratch), [tmp_path / "e"])
    assert list(tmp_path.iterdir()) == []


def test_a_fork_server_moves_to_a_home_of_its_own(folder):
    """Variables that name the old home are dropped."""

    def moved() -> Any:
        os.environ.update(OLD="/old/home/x", OTHER="kept", HOME="/old/home", TMPDIR="/old/home")
        zygote._move("/old/home", str(folder))
        names = ("OLD", "OTHER", "HOME", "TMPDIR")
        return str(Path.cwd()), [os.environ.get(name) for name in names], tempfile.gettempdir()

    assert in_a_fork(moved) == [str(folder), [None, "kept", str(folder), str(folder)], str(folder)]


def test_children_that_have_ended_are_reaped():
    def reaped() -> Any:
        zygote._reap(os.WNOHANG)
        pid = os.fork()
        if pid == 0:
            os._exit(3)
        zygote._reap()
        zygote._kill(pid)
        return refusal(lambda: os.waitpid(-1, 0))

    assert in_a_fork(reaped) == "ChildProcessError"
