"""The intake process: its limits, and the fate of its callers."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from grader.core.submission import Unreadable
from grader.intake.client import IntakeClient
from grader.intake.copying import CopyFailed
from grader.intake.entry import Entry
from grader.intake.limits import MIB, Bounds
from grader.intake.process import take_in
from tests.harness.waiting import until

pytestmark = pytest.mark.process

ADAPTERS = "def run_softmax(in_features, dim): ...\n"
# Enough for honest submissions, but soon used up by the hostile ones here.
TIGHT = Bounds(memory=96 * MIB, processor_seconds=2, seconds=300)


@pytest.fixture
def client() -> Iterator[IntakeClient]:
    with IntakeClient(TIGHT) as client:
        yield client


@pytest.fixture
def alice(tmp_path: Path) -> Entry:
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice/adapters.py").write_text(ADAPTERS)
    return Entry("alice", tmp_path / "alice")


@pytest.fixture
def slow(tmp_path: Path) -> Entry:
    """A submission that takes a minute: each of many possible adapters must be parsed."""
    source = "x = (1, 2, 3, 4)\n" * 14_000 + ADAPTERS
    for number in range(200):
        folder = tmp_path / "slow" / f"part{number}"
        folder.mkdir(parents=True)
        (folder / "adapters.py").write_text(source)
    return Entry("slow", tmp_path / "slow")


@pytest.fixture
def large(tmp_path: Path) -> Entry:
    """A notebook of 15 MB that takes 500 MB when it is parsed."""
    (tmp_path / "large.ipynb").write_text('{"cells":[' + ",".join(["{}"] * 5_000_000) + "]}")
    return Entry("large", tmp_path / "large.ipynb")


def new_folder(tmp_path: Path, name: str = "into") -> Path:
    into = tmp_path / name
    into.mkdir()
    return into


def assert_serves(client: IntakeClient, alice: Entry, tmp_path: Path) -> None:
    """Asserts that the next submission is taken in, whatever happened to the last one."""
    submission = client.take_in(alice, new_folder(tmp_path, "next"), "adapters.py")
    assert (submission.root / "adapters.py").read_text() == ADAPTERS


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_the_intake_process_returns_the_same_submission_as_a_direct_call(
    client: IntakeClient, alice: Entry, tmp_path: Path
) -> None:
    """Notes, import paths and names of any bytes survive the transfer."""
    home = alice.path
    (home / "src").mkdir()
    (home / os.fsdecode(b"caf\xe9.py")).touch()
    (home / "link").symlink_to("/etc")
    own = take_in(alice, new_folder(tmp_path, "own"))
    theirs = client.take_in(alice, new_folder(tmp_path, "theirs"), "adapters.py")
    assert own.notes
    assert dataclasses.replace(theirs, root=own.root) == own
    assert (theirs.root / os.fsdecode(b"caf\xe9.py")).exists()


def test_the_intake_process_survives_an_unreadable_submission(
    client: IntakeClient, tmp_path: Path
) -> None:
    """The process goes on, because most unreadable submissions are honest."""
    (tmp_path / "empty").mkdir()
    pid = client.pid
    with pytest.raises(Unreadable, match="it is empty, or holds nothing that the grader reads"):
        client.take_in(Entry("bob", tmp_path / "empty"), new_folder(tmp_path), "adapters.py")
    assert client.pid == pid


def test_a_full_disk_in_the_intake_process_is_not_the_submissions_fault(
    alice: Entry, tmp_path: Path
) -> None:
    """The submission is not graded, rather than unreadable. A limit on file sizes simulates it."""
    alice.path.joinpath("adapters.py").write_text(ADAPTERS * 100)
    with (
        IntakeClient(dataclasses.replace(TIGHT, file=1000)) as client,
        pytest.raises(CopyFailed, match="cannot write the private copy"),
    ):
        client.take_in(alice, new_folder(tmp_path), "adapters.py")


@pytest.mark.skipif(sys.platform != "linux", reason="no other system keeps limits on memory")
def test_a_submission_that_takes_too_much_memory_is_unreadable(
    client: IntakeClient, alice: Entry, large: Entry, tmp_path: Path
) -> None:
    """The machine has more memory, and the batch goes on."""
    wanted = "taking it in took more than 96 MB of memory: hand in the source code without data"
    with pytest.raises(Unreadable, match=wanted):
        client.take_in(large, new_folder(tmp_path), "adapters.py")
    assert_serves(client, alice, tmp_path)


def test_a_submission_that_takes_too_much_processor_time_is_unreadable(
    client: IntakeClient, alice: Entry, slow: Entry, tmp_path: Path
) -> None:
    """CPU time counts, so that a busy machine makes no difference."""
    with pytest.raises(Unreadable, match="took more than 2 seconds of processor time"):
        client.take_in(slow, new_folder(tmp_path), "adapters.py")
    assert_serves(client, alice, tmp_path)


def test_processor_time_is_counted_separately_for_each_submission(
    client: IntakeClient, alice: Entry, tmp_path: Path
) -> None:
    """One process takes in many submissions, which together exceed the limit of one."""
    source = "x = (1, 2, 3, 4)\n" * 14_000 + ADAPTERS
    alice.path.joinpath("adapters.py").write_text(source)
    pid = client.pid
    used = 0.0
    for number in range(60):
        client.take_in(alice, new_folder(tmp_path, str(number)), "adapters.py")
        used = client.processor_seconds()
        if used > 3:
            break
    assert used > TIGHT.processor_seconds
    assert client.pid == pid


@pytest.mark.parametrize(
    ("sent", "raised", "said"),
    [
        (signal.SIGSEGV, Unreadable, "was lost"),
        (signal.SIGSTOP, Unreadable, "longer than 8 seconds"),
        (signal.SIGKILL, CopyFailed, "was killed, as where memory is short"),
    ],
)
def test_a_process_that_ends_or_stops_midway_costs_its_submission_only(
    alice: Entry,
    slow: Entry,
    tmp_path: Path,
    sent: signal.Signals,
    raised: type[Exception],
    said: str,
) -> None:
    """The caller does not wait forever. Only the machine kills: this costs no points."""
    into = new_folder(tmp_path)
    with IntakeClient(dataclasses.replace(TIGHT, processor_seconds=60, seconds=8)) as client:
        pid = client.pid

        def interrupt() -> None:
            until((into / "submission").exists, "it is being taken in")
            os.kill(pid, sent)

        interrupter = threading.Thread(target=interrupt)
        interrupter.start()
        with pytest.raises(raised, match=said):
            client.take_in(slow, into, "adapters.py")
        interrupter.join()
        assert_serves(client, alice, tmp_path)
        assert client.pid != pid
        assert not is_running(pid)


def test_a_process_that_was_lost_between_two_submissions_costs_neither(
    client: IntakeClient, alice: Entry, tmp_path: Path
) -> None:
    """Neither submission caused the loss."""
    os.kill(client.pid, signal.SIGKILL)
    assert_serves(client, alice, tmp_path)


BEGINS = """
import json, socket, sys, time
channel = socket.socket(fileno=int(sys.argv[2]))
order = json.loads(channel.makefile().readline())["id"]
channel.sendall(json.dumps({"begun": order}).encode() + b"\\n")
"""


@pytest.mark.parametrize(
    "answers",
    [
        "channel.sendall(b'no JSON' + bytes([10]))",
        "channel.sendall(b'[' * 100_000 + bytes([10]))",
        "channel.sendall(b'[1, 2]' + bytes([10]))",
        'channel.sendall(b\'{"number": 1, "subm\')',
        "channel.sendall(json.dumps({'id': 7, 'submission': {}}).encode() + bytes([10]))",
        "channel.sendall(json.dumps({'id': order, 'submission': {}}).encode() + bytes([10]))",
        "channel.sendall(json.dumps({'id': order, 'submission': 3}).encode() + bytes([10]))",
        "channel.sendall(json.dumps({'id': order}).encode() + bytes([10]))",
        "[channel.sendall(b'x' * 65536) for _ in range(1 << 20)]",
        "[(channel.sendall(b'x'), time.sleep(0.01)) for _ in range(1 << 20)]",
        "time.sleep(600)",
    ],
)
def test_an_invalid_answer_of_intake_makes_the_submission_unreadable(
    alice: Entry, tmp_path: Path, answers: str
) -> None:
    """An answer may be cut off, endless, slow, absent, forged or not JSON: none is believed."""

    class Odd(IntakeClient):
        boot: ClassVar[str] = BEGINS + answers

    with Odd(dataclasses.replace(TIGHT, seconds=2)) as client, pytest.raises(Unreadable):
        client.take_in(alice, new_folder(tmp_path), "adapters.py")


def test_the_time_in_which_a_caller_of_intake_is_stopped_does_not_count(
    alice: Entry, tmp_path: Path
) -> None:
    """The clock goes on while a container is paused. The process has two seconds."""

    begun = tmp_path / "begun"

    class Late(IntakeClient):
        boot: ClassVar[str] = BEGINS + (
            f"open({str(begun)!r}, 'w').close(); time.sleep(1)\n"
            "channel.sendall(json.dumps({'id': order, 'failed': 'late'}).encode() + bytes([10]))"
        )

    with Late(dataclasses.replace(TIGHT, seconds=2)) as client:
        caller = os.fork()
        if caller == 0:
            code = 1
            try:
                client.take_in(alice, new_folder(tmp_path), "adapters.py")
            except CopyFailed:
                code = 0
            finally:
                os._exit(code)
        until(begun.exists, "it is being taken in")
        time.sleep(0.3)
        os.kill(caller, signal.SIGSTOP)
        time.sleep(4)
        os.kill(caller, signal.SIGCONT)
        assert os.waitstatus_to_exitcode(os.waitpid(caller, 0)[1]) == 0


def test_an_intake_process_that_does_not_start_costs_no_points(
    alice: Entry, tmp_path: Path
) -> None:
    """The process ended before it saw the submission, so the submission is not graded."""

    class Broken(IntakeClient):
        boot: ClassVar[str] = "raise SystemExit"

    with Broken(TIGHT) as client, pytest.raises(CopyFailed, match="does not start"):
        client.take_in(alice, new_folder(tmp_path), "adapters.py")


def test_a_forked_caller_of_intake_may_die_during_its_request(
    client: IntakeClient, alice: Entry, slow: Entry, tmp_path: Path
) -> None:
    """A killed judge leaves no late answer that its explainer could take for its own."""
    into = new_folder(tmp_path)
    pid = os.fork()
    if pid == 0:
        try:
            client.take_in(alice, new_folder(tmp_path, "first"), "adapters.py")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert (tmp_path / "first/submission/adapters.py").exists()
    pid = os.fork()
    if pid == 0:
        try:
            client.take_in(slow, into, "adapters.py")
        finally:
            os._exit(0)
    until((into / "submission").exists, "it is being taken in")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert_serves(client, alice, tmp_path)


def test_the_intake_process_ends_by_itself_if_its_judge_is_stopped(
    client: IntakeClient, slow: Entry, tmp_path: Path
) -> None:
    """A stopped judge cannot enforce the limit, but the kernel can."""
    into, intake = new_folder(tmp_path), client.pid
    judge = os.fork()
    if judge == 0:
        try:
            client.take_in(slow, into, "adapters.py")
        finally:
            os._exit(0)
    try:
        until((into / "submission").exists, "it is being taken in")
        os.kill(judge, signal.SIGSTOP)
        until(lambda: not is_running(intake), "the intake process has ended")
    finally:
        os.kill(judge, signal.SIGKILL)
        os.waitpid(judge, 0)


HOLDER = """
import sys
from pathlib import Path
from grader.intake.entry import Entry
from grader.intake.client import IntakeClient
client = IntakeClient()
print(client.pid, flush=True)
client.take_in(Entry("slow", Path(sys.argv[1])), Path(sys.argv[2]), "adapters.py")
"""


def test_the_intake_process_ends_with_the_job_that_started_it(slow: Entry, tmp_path: Path) -> None:
    """This also holds for a killed job, in the middle of a submission."""
    into = new_folder(tmp_path)
    command = [sys.executable, "-c", HOLDER, str(slow.path), str(into)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        pid = int(holder.stdout.readline())
        until((into / "submission").exists, "it is being taken in")
        assert is_running(pid)
        holder.kill()
    until(lambda: not is_running(pid), "the intake process has ended")


def test_an_intake_process_that_took_much_memory_is_not_kept(tmp_path: Path, large: Entry) -> None:
    """Memory of one submission must not burden the next."""
    with IntakeClient() as client:
        pid = client.pid
        with pytest.raises(Unreadable, match="no code cells"):
            client.take_in(large, new_folder(tmp_path), "adapters.py")
        until(lambda: not is_running(pid), "the intake process has ended")


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells a process's limits")
def test_the_intake_process_keeps_its_limits(
    client: IntakeClient, alice: Entry, tmp_path: Path
) -> None:
    """It writes no core dumps, opens few files, and leaves Ctrl-C to its caller."""
    client.take_in(alice, new_folder(tmp_path), "adapters.py")
    told = Path(f"/proc/{client.pid}/limits").read_text().splitlines()[1:]
    soft = {line[:25].strip(): line[26:46].strip() for line in told}
    assert soft["Max core file size"] == "0"
    assert soft["Max open files"] == "256"
    assert soft["Max file size"] == str(TIGHT.file)
    for name in ("Max address space", "Max data size"):
        assert int(soft[name]) > TIGHT.memory  # not "unlimited"
    status = Path(f"/proc/{client.pid}/status").read_text()
    ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
    assert ignored & 1 << (signal.SIGINT - 1)


def test_a_survey_returns_the_needs_of_a_submission(
    client: IntakeClient, alice: Entry, tmp_path: Path
) -> None:
    """The same process takes submissions in and surveys them."""
    (alice.path / "adapters.py").write_text(f"import einx\n{ADAPTERS}")
    needs = client.survey(alice, new_folder(tmp_path), "adapters.py")
    assert needs == {"einx"}
    assert client.take_in(alice, new_folder(tmp_path, "again"), "adapters.py").name == "alice"
    with pytest.raises(CopyFailed, match="inside a submission"):
        client.survey(alice, new_folder(tmp_path, "out"), "../adapters.py")


def test_the_intake_process_ends_with_its_context() -> None:
    """Only the process that started it ends it."""
    with IntakeClient(TIGHT) as client:
        child = os.fork()
        if child == 0:
            client.close_own()
            os._exit(0)
        os.waitpid(child, 0)
        assert is_running(client.pid)
    assert not is_running(client.pid)


def test_the_intake_process_does_not_load_torch(
    client: IntakeClient, alice: Entry, tmp_path: Path
) -> None:
    """Each job has one beside its judge, so it must be small."""
    client.take_in(alice, new_folder(tmp_path), "adapters.py")
    assert "torch" not in Path(f"/proc/{client.pid}/maps").read_text()


def test_cells_are_counted_before_they_are_parsed(tmp_path: Path, client: IntakeClient) -> None:
    """900,000 cells would take 1.4 GB; the largest real notebooks have hundreds."""
    cell = '{"cell_type":"code","source":""}'
    path = tmp_path / "many.ipynb"
    path.write_text('{"nbformat":4,"cells":[' + ",".join([cell] * 600_000) + "]}")
    pid = client.pid
    with pytest.raises(Unreadable, match="the notebook holds more than 10,000 cells"):
        client.take_in(Entry("many", path), new_folder(tmp_path), "adapters.py")
    assert client.pid == pid


def test_cells_quoted_in_the_output_of_a_notebook_do_not_count(
    tmp_path: Path, client: IntakeClient
) -> None:
    shown = json.dumps([{"cell_type": "code"}] * 20_000)
    cell = {"cell_type": "code", "source": ADAPTERS, "metadata": {}, "outputs": [shown]}
    path = tmp_path / "shows.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "cells": [cell]}))
    client.take_in(Entry("shows", path), new_folder(tmp_path), "adapters.py")


def test_a_zip_of_zeros_is_unpacked_within_its_limits(tmp_path: Path, client: IntakeClient) -> None:
    """Members that are too large are left out, and the rest is graded."""
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("adapters.py", ADAPTERS)
        for number in range(8):
            archive.writestr(f"{number}.bin", b"\0" * (16 * MIB))
    entry = Entry("bomb", tmp_path / "bomb.zip")
    (note,) = client.take_in(entry, new_folder(tmp_path), "adapters.py").notes
    assert "0.bin (16 MB)" in note
