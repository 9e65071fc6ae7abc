"""Fork servers: their workers, groups and ends, and the ones that replace them."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.core.assignment import BadAssignment
from grader.core.folders import PASSABLE, new_scratch
from grader.core.processes import Allowance, is_alive
from grader.core.submission import Submission
from grader.core.verdict import Status
from grader.core.wire.calls import Call
from grader.sandbox import fork_server
from grader.sandbox.cgroups import GroupBounds
from grader.sandbox.fork_server import ForkServer, ForkServerLost, ForkServers, starting_zygote
from grader.sandbox.limits import Patience
from grader.sandbox.preparation import require_device
from grader.sandbox.worker import Worker, WorkerLost
from grader.sandbox.zygote import Zygote
from tests.harness.forking import in_a_fork
from tests.harness.waiting import until

pytestmark = pytest.mark.process

MB = 1 << 20
PATIENCE = Patience(60.0, 120.0)
PROGRAM = """
import os, sys
print("imported")
def run_double(x):
    print("doubling", end="")
    return 2 * x
def run_exit():
    os._exit(3)
def run_kill():
    os.abort()
def run_hang():
    while True:
        pass
def run_settings():
    import gc, jaxtyping
    return [gc.isenabled(), gc.get_freeze_count() > 1000, jaxtyping.config.jaxtyping_disable]
"""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    """A zygote that was asked to preload an absent module."""
    with starting_zygote() as own:
        own.warm_up(["absent_one", "colorsys"], ["inotify_init1"])
        yield own


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    """The folder in which workers write."""
    with new_scratch() as own:
        yield own


@pytest.fixture
def server(zygote, scratch) -> Iterator[ForkServer]:
    """A fork server in the zygote's ground."""
    with closing(ForkServer(zygote, scratch, ground=zygote.ground)) as own:
        yield own


def loaded(server: ForkServer, scratch: Path, memory: int = 1 << 30) -> Worker:
    """Returns a worker that has imported the program."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    folder.chmod(PASSABLE)
    root = folder / "submission"
    root.mkdir()
    (root / "adapters.py").write_text(PROGRAM)
    worker = Worker.in_new_folder(server, folder, Allowance(memory, threads=100))
    report = worker.load(Submission("own", root, "adapters.py", "adapters"), PATIENCE, ["a.b"])
    assert len(report.adapters) == 5
    return worker


def test_a_worker_is_forked_and_ended_with_its_exit_code(server):
    """The fork server knows it by another number if it has a namespace of its own."""
    one, other = server.spawn(), server.spawn()
    assert is_alive(one.pid)
    assert is_alive(other.pid)
    assert one.pid != other.pid
    codes = server.end_workers()
    assert codes == {one.number: -signal.SIGKILL, other.number: -signal.SIGKILL}
    assert not is_alive(one.pid)
    assert server.end_workers() == {}
    for spawned in (one, other):
        assert spawned.channel.recv(10) == b""
        assert os.read(spawned.printed, 10) == b""
        spawned.channel.close()
        os.close(spawned.printed)
    assert not server.has_ended


def test_a_fork_server_knows_what_was_not_preloaded(server, zygote):
    server.wait_until_ready()
    assert server.preload == zygote.preload == ("absent_one", "colorsys")
    assert zygote.granted == ("inotify_init1",)
    assert set(server.not_preloaded) == {"absent_one"}
    assert server.groups == (zygote.ground.version if zygote.ground else "")


def test_a_closed_fork_server_has_ended_with_its_workers(zygote, scratch):
    own = ForkServer(zygote, scratch)
    spawned = own.spawn()
    assert own.group(GroupBounds(64 * MB, 9)) is None
    assert own.groups == ""
    own.close()
    assert own.has_ended
    assert own.is_lost
    until(lambda: not is_alive(spawned.pid), "the worker has ended")
    until(lambda: not Path(f"/proc/{own._reaper}").exists(), "the zygote waits for its reaper")
    own.close()
    assert not zygote.has_ended


def test_bounds_are_those_of_a_group_which_is_used_again(server, zygote):
    if zygote.ground is None:
        pytest.skip("no control groups here")
    group = server.group(GroupBounds(640 * MB, 90))
    assert group is not None
    assert server.group(GroupBounds(640 * MB, 90)) is group
    other = server.group(GroupBounds(650 * MB, 90))
    assert other.folders != group.folders
    again = server.group(GroupBounds(640 * MB, 90))
    assert again.folders == group.folders
    pids = {int(pid) for pid in (again.folders[0] / "cgroup.procs").read_text().split()}
    assert server._pid in pids
    tasks = int(group.file("pids.max").read_text())
    assert 91 <= tasks < 150


def test_a_killed_fork_server_is_lost_and_another_one_replaces_it(zygote, scratch):
    with ForkServers(zygote, scratch) as servers:
        first = servers.current()
        first.wait_until_ready()
        assert servers.current() is first
        os.kill(first._pid, signal.SIGKILL)
        until(lambda: first.has_ended, "the fork server has ended")
        lost = r"the fork server was lost: it forked no worker \(.+\): it was ended by SIGKILL"
        with pytest.raises(ForkServerLost, match=lost):
            first.spawn()
        second = servers.current()
        assert second is not first
        assert is_alive(second.spawn().pid)
        servers.give_up()
        assert second.has_ended
        assert servers.current() not in (first, second)


@pytest.mark.parametrize(
    ("stopped", "why"),
    [(("_pid",), "it was ended by SIGKILL"), (("_pid", "_reaper"), "nothing more is known")],
)
def test_a_fork_server_that_does_not_obey_is_ended_by_force(
    zygote, scratch, monkeypatch, stopped, why
):
    """Its reaper kills it, or is killed with it."""
    monkeypatch.setattr(fork_server, "_ORDER_SECONDS", 0.05)
    own = ForkServer(zygote, scratch)
    own.wait_until_ready()
    if "_reaper" in stopped:
        monkeypatch.setattr(fork_server, "_SECONDS_TO_END", 0.05)
    for name in stopped:
        os.kill(getattr(own, name), signal.SIGSTOP)
    with pytest.raises(ForkServerLost, match=rf"no worker \(it does not answer\): {why}"):
        own.end_workers()
    until(lambda: not is_alive(own._pid), "the fork server has ended")
    assert own.has_ended


def test_an_error_in_a_fork_server_is_told(zygote, scratch):
    """The order is wrong here: system calls must be a list."""
    order = SimpleNamespace(preload=(), granted=5, leaves_no_marks=False, fork=zygote.fork)
    with pytest.raises(ForkServerLost, match="TypeError: 'int' object is not iterable"):
        ForkServer(order, scratch).spawn()


def test_a_forked_process_ends_the_fork_server_that_it_started_and_no_other(zygote):
    """The scratch folder of its parent stays, although the fork server knows it."""
    with new_scratch() as own, ForkServers(zygote, own) as servers:
        first = servers.current()
        first.wait_until_ready()
        in_a_fork(servers.close_own)
        assert not first.has_ended
        first.close()

        def replaced() -> int:
            servers.current().wait_until_ready()
            servers.close_own()
            return servers._server._pid

        assert not is_alive(in_a_fork(replaced))
        assert own.is_dir()


def test_a_zygote_is_terminated_unless_it_was_asked_for_a_fork_server(scratch):
    """Whoever was forked meanwhile leaves it alone."""
    idle = Zygote()
    in_a_fork(idle.close_own)
    assert not idle.has_ended
    idle.close_own()
    assert idle._process.returncode == -signal.SIGTERM
    assert not idle._home.exists()
    with starting_zygote() as asked:
        asked.warm_up()
        with closing(ForkServer(asked, scratch)) as server:
            server.wait_until_ready()
    assert asked._process.returncode == 0


def test_a_killed_zygote_is_replaced_with_the_same_modules(scratch):
    with starting_zygote() as own:
        own.warm_up(["absent_one"], leaves_no_marks=True)
        with ForkServers(own, scratch) as servers:
            servers.current().wait_until_ready()
            os.kill(own._process.pid, signal.SIGKILL)
            until(lambda: own.has_ended, "the zygote has ended")
            servers.current().close()
            server = servers.current()
            server.wait_until_ready()
            assert set(server.not_preloaded) == {"absent_one"}
            assert servers._zygote is not own
            assert servers._zygote.leaves_no_marks
            assert servers._zygote.temporary == own.temporary


def test_a_worker_tells_its_isolation_output_and_answers(server, scratch, zygote):
    worker = loaded(server, scratch)
    assert worker.printed == "imported\n"
    how = f"control group {zygote.ground.version}" if zygote.ground else "watched"
    assert worker.isolation["memory"] == f"1024 MB, {how}"
    assert worker.isolation["threads"].startswith("100, ")
    assert worker.isolation["disk"] in ("256 MB, watched", "256 MB, kept by the kernel")
    call = Call("run_double", {"x": 4})
    answer = worker.ask(call, PATIENCE)
    assert (answer.value, worker.printed) == (8, "doubling")
    assert not worker.hoards
    assert worker.taken.wall > 0
    settings = worker.ask(Call("run_settings", {}), PATIENCE).value
    assert settings == [True, True, True], (
        "cycles of its own are collected, annotations are not read"
    )
    assert "serving.py" in worker.stack_dump()
    worker.end()
    assert not is_alive(worker._pid)


def test_the_files_of_a_worker_vanish_with_it(server, scratch):
    """A submission may lose dozens of workers, which together may not fill the disk."""
    before = {*scratch.rglob("*")}
    worker = loaded(server, scratch)
    (own,) = {one for one in scratch.glob("*/*") if one.name != "submission"} - before
    (own / "deep").mkdir()
    (own / "deep" / "file").write_text("left")
    worker.end()
    assert not own.exists()


@pytest.mark.parametrize(
    ("adapter", "patience", "status", "says"),
    [
        ("run_exit", PATIENCE, Status.CRASHED, "run_exit(...) ended its process (exit code 3)"),
        ("run_kill", PATIENCE, Status.CRASHED, "run_kill(...) ended its process (SIGABRT)"),
        ("run_hang", Patience(0.2, 60.0), Status.TIMEOUT,
         "run_hang(...) took longer than 0.2 seconds of processor time and was stopped"),
    ],
)  # fmt: skip
def test_a_lost_worker_says_why(server, scratch, adapter, patience, status, says):
    worker = loaded(server, scratch)
    with pytest.raises(WorkerLost) as lost:
        worker.ask(Call(adapter, {}), patience)
    assert lost.value.status is status
    assert lost.value.message in (says, says.replace(" of processor time", ""))
    worker.end()


def test_a_device_is_tried_before_any_submission_is_graded_on_it(server, scratch):
    """The CPU under another name works; a device without numbers gives no result."""
    require_device(server, scratch, "cpu")
    before = os.umask(0o077)
    try:
        require_device(server, scratch, "cpu:0")
    finally:
        os.umask(before)
    with pytest.raises(BadAssignment, match=r"--device meta: .* \(another result came back\)"):
        require_device(server, scratch, "meta")
    assert server.end_workers() == {}
