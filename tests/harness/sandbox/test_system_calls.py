"""The system call filter: which calls a worker may make, and how the others fail."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from grader.core.assignment import find_assignment
from grader.core.folders import PASSABLE, new_scratch
from grader.core.processes import Allowance
from grader.core.submission import Submission
from grader.core.wire.calls import Call
from grader.grading.fingerprints import suite_hash
from grader.sandbox.fork_server import ForkServer, warm_zygote
from grader.sandbox.limits import Patience
from grader.sandbox.worker import Worker
from grader.worker.confinement.seccomp import (
    allowed_names,
    denied_names,
    listing,
    why_not_granted,
    why_not_listed,
)
from grader.worker.confinement.seccomp_program import FilterProgram, native_architecture, number_of
from tests.harness.conftest import RIGHT, ROOT, TINY, write_files
from tests.harness.marks import rest_slow

HERE = Path(__file__).parents[1]
X86_64, AARCH64 = 0xC000003E, 0xC00000B7
HIGH = (0, 1 << 32, 1 << 40)
NO_FILE = 0xFFFFFFFF
MEMORY, PATIENCE = 2 << 30, Patience(60.0, 120.0)

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        native_architecture() not in (X86_64, AARCH64),
        reason="the list is made for x86-64 and AArch64, and needs libseccomp",
    ),
]


class Confined:
    """A confined worker with a submission, which answers calls."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.isolation = worker.isolation

    def ask(self, adapter: str, **arguments: int) -> Any:
        """Returns an adapter's answer, or its exception as text."""
        answer = self._worker.ask(Call(adapter, arguments), PATIENCE)
        raised = answer.raised
        return answer.value.tolist() if raised is None else f"{raised.kind}: {raised.message}"

    def call(self, name: str, *arguments: int) -> int | str:
        """Returns the result of a system call, or the name of its `errno`."""
        number = number_of(name, native_architecture() or 0)
        names = ("one", "two", "three", "four", "five", "six")
        given = dict(zip(names, arguments, strict=False))
        result, error = self.ask("run_call", number=number, **given)
        return errno.errorcode[error] if error else result


@contextmanager
def confined(module: Path, granted: Sequence[str] = ()) -> Iterator[Confined]:
    """Starts a worker with a submission of one module."""
    with (
        new_scratch() as scratch,
        warm_zygote(granted=granted) as zygote,
        closing(ForkServer(zygote, scratch)) as server,
    ):
        folder = Path(tempfile.mkdtemp(dir=scratch))
        folder.chmod(PASSABLE)
        root = folder / "submission"
        root.mkdir()
        (root / "adapters.py").write_bytes(module.read_bytes())
        worker = Worker.in_new_folder(server, folder, Allowance(MEMORY))
        worker.load(Submission("calls", root, "adapters.py", "adapters"), PATIENCE)
        yield Confined(worker)
        worker.end()


@pytest.fixture(scope="module")
def worker() -> Iterator[Confined]:
    """A worker that makes any system call on request."""
    with confined(HERE / "system_call.py") as one:
        yield one


# Refused calls, with the index of the argument that decides; its bits above the 32nd are ignored.
BY_ARGUMENT = {
    "clear the parent-death signal": ("prctl", (1, 0), 0),
    "become undumpable": ("prctl", (4, 0), 0),
    "become a subreaper": ("prctl", (36, 1), 0),
    "name a tracer": ("prctl", (0x59616D61, 1), 0),
    "change the memory layout": ("prctl", (35, 0), 0),
    "choose a scheduling core": ("prctl", (62, 0), 0),
    "set the priority of a user": ("setpriority", (2, 0, 19), 0),
    "set the priority of a group": ("setpriority", (1, 0, 19), 0),
    "set the priority of a process": ("setpriority", (0, 1, 19), 1),
    "limit another process": ("prlimit64", (1, 7, 0, 0), 0),
    "signal another process": ("kill", (1, 0), 0),
    "signal a foreign thread": ("tgkill", (1, 1, 0), 0),
    "signal a thread by its id alone": ("tkill", (1, 0), 0),
    "watch a folder": ("fcntl", (0, 1026, 1), 1),
    "lease a file": ("fcntl", (0, 1024, 0), 1),
    "send signals of a file": ("fcntl", (0, 8, 1), 1),
    "grow a pipe": ("fcntl", (1, 1031, 1 << 20), 1),
    "type into a terminal": ("ioctl", (0, 0x5412, 0), 1),
    "paste into a console": ("ioctl", (0, 0x541C, 0), 1),
    "set flags of a file": ("ioctl", (0, 0x40086602, 0), 1),
    "map anonymous shared memory": ("mmap", (0, 4096, 3, 0x21, NO_FILE, 0), 3),
    "map validated shared memory": ("mmap", (0, 4096, 3, 0x23, NO_FILE, 0), 3),
    "map memory that grows downwards": ("mmap", (0, 4096, 3, 0x122, NO_FILE, 0), 3),
    "clone a process": ("clone", (17, 0, 0, 0, 0), 0),
    "clone a process with this memory": ("clone", (0x4111, 0, 0, 0, 0), 0),
    "clone a thread with its own files": ("clone", (0x10900, 0, 0, 0, 0), 0),
    "clone into a new namespace": ("clone", (0x10F00 | 0x20000, 0, 0, 0, 0), 0),
    "unshare the descriptor table": ("close_range", (200, 201, 2), 2),
    "empty a file that may be read": ("openat", (0, 0, 0o1000), 2),
    "empty a file without a right": ("openat", (0, 0, 0o1003), 2),
    "send to a named socket": ("sendto", (0, 0, 0, 0, 0, 16), 5),
}


@pytest.mark.parametrize("refused", BY_ARGUMENT)
def test_bits_above_the_32nd_do_not_bypass_a_refusal(worker, refused):
    """The kernel reads 32 bits of these arguments, so comparing more could be bypassed."""
    name, arguments, decisive = BY_ARGUMENT[refused]
    for bit in HIGH:
        given = [*arguments]
        given[decisive] |= bit
        assert worker.call(name, *given) == "EPERM", hex(bit)


def test_denied_system_calls_fail_with_eperm(worker):
    """Python raises PermissionError, whatever the arguments."""
    here = [name for name in denied_names() if number_of(name, native_architecture())]
    assert {name: worker.call(name) for name in here} == dict.fromkeys(here, "EPERM")


# sync and similar calls slow down all workers; the others reveal or hold too much.
ABSENT = (
    "inotify_init1 inotify_add_watch fanotify_mark seccomp landlock_create_ruleset mincore "
    "readahead io_setup io_submit sync syncfs remap_file_pages set_mempolicy setsockopt "
    "get_robust_list setsid setuid capset ioprio_get clone3 openat2"
)


def test_unlisted_system_calls_fail_with_enosys(worker):
    """ENOSYS is also an older kernel's answer, after which C libraries use another call."""
    came = {name: worker.call(name) for name in ABSENT.split()}
    assert came == dict.fromkeys(ABSENT.split(), "ENOSYS")


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("prctl", (39,), 1),
        ("prctl", (39 | 1 << 32,), 1),
        ("setpriority", (0, 0, 5), 0),
        ("prlimit64", (0, 7, 0, 0), 0),
        ("fcntl", (1, 1), 0),
        ("fallocate", (1, 0, 0, 4096), "ENOTSUP"),
        ("ioctl", (1, 0x40049409, 0), "ENOTSUP"),
        ("madvise", (0, 0, 102), "EINVAL"),
        ("mmap", (0, 1 << 21, 3, 0x40022, NO_FILE, 0), "ENOMEM"),
        ("fadvise64", (1, 0, 0, 4), 0),
        ("preadv2", (0, 0, 0, 0, 0, 8), "ENOTSUP"),
    ],
)
def test_partly_allowed_system_calls_give_answers_that_libraries_can_handle(
    worker, name, arguments, result
):
    """Libraries get the same answers from other file systems and kernels, and know a fallback."""
    assert worker.call(name, *arguments) == result


def test_a_worker_may_signal_and_limit_only_itself(worker):
    """The filter knows the worker's process id, although it is written before the worker starts."""
    own, parent = worker.ask("run_pids")
    assert worker.call("kill", own, 0) == 0
    assert worker.call("kill", own | 1 << 32, 0) == 0
    assert worker.call("prlimit64", own, 7, 0, 0) == 0
    assert worker.call("kill", parent, 0) == worker.call("prlimit64", parent, 7) == "EPERM"


def test_file_locks_succeed_without_effect(worker):
    """Workers must not signal each other by locks on shared files, so no lock is real."""
    assert worker.ask("run_hold") == 0
    with Path(os.__file__).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for command in (6, 7, 37, 38):
        assert worker.call("fcntl", 1, command, 0) == 0


def test_dev_zero_cannot_be_opened(worker):
    """A shared mapping of /dev/zero would keep memory that no process maps."""
    assert worker.ask("run_open", kind=0) == 0
    assert worker.ask("run_open", kind=1) in (errno.EACCES, errno.ENOENT)


# Results that differ inside a worker; all others are as outside.
REFUSED = {
    "run_change_of_mode": "EPERM",
    "run_other_programs": "['PermissionError', 'PermissionError', 'refused']",
    "run_sockets": "PermissionError",
}


@pytest.mark.parametrize("what", rest_slow(["run_", "get_"], ["run_"]))
def test_ordinary_code_has_the_same_results_in_a_worker_as_outside(tmp_path, what):
    """A list that omits a needed call would fail honest work."""
    module = HERE / "ordinary_uses.py"
    done = subprocess.run(
        [sys.executable, module, what],
        env=os.environ | {"TMPDIR": str(tmp_path), "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=300,
        check=True,
    )
    outside = json.loads(done.stdout.splitlines()[-1])
    with confined(module) as one:
        inside = {name: one.ask(name) for name in outside}
    said = {name: bytes(it).decode() if isinstance(it, list) else it for name, it in inside.items()}
    # A stand-in for an absent package appends a remark to Python's message.
    told = {name: one.partition(", neither handed in")[0] for name, one in said.items()}
    refused = {name: why for name, why in REFUSED.items() if name in outside}
    assert told == outside | refused


def test_the_isolation_report_names_seccomp(worker):
    """Without the list, `isolation` names the reason."""
    assert worker.isolation["syscalls"] == "seccomp"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("architecture", "libc", "uses_device", "why"),
    [
        (X86_64, "glibc 2.36", False, None),
        (AARCH64, "glibc 2.43", False, None),
        (X86_64, "", False, None),
        (X86_64, "glibc 2.99", False, "the list is made for glibc up to 2.43"),
        (X86_64, "glibc 3.0.1", False, "the list is made for glibc up to 2.43"),
        (0xC00000F3, "glibc 2.36", False, "the list is made for x86-64 and AArch64"),
        (X86_64, "glibc 2.36", True, "the driver of a device has calls of its own"),
    ],
)
def test_the_list_is_not_used_where_it_may_be_incomplete(architecture, libc, uses_device, why):
    """A list that might refuse an unknown but needed call could spoil grades."""
    assert why_not_listed(architecture, libc, uses_device) == why


BY_WHAT_IS_DENIED = """
import ctypes, mmap, socket
from grader.worker.confinement.seccomp_program import native_architecture, number_of
from grader.worker.confinement.seccomp import restrict_system_calls
calls = {name: number_of(name, native_architecture()) for name in ("inotify_init1", "prctl")}
libc = ctypes.CDLL(None, use_errno=True)
print(restrict_system_calls(uses_device=True)["syscalls"])
print(libc.syscall(calls["inotify_init1"], 0) >= 0, len(mmap.mmap(-1, 4096)))
libc.syscall(calls["prctl"], ctypes.c_ulong(1 << 32 | 1), ctypes.c_ulong(0))
print(ctypes.get_errno())
try:
    socket.socket()
except PermissionError:
    print("no socket")
"""


def test_denied_system_calls_are_refused_and_reported_without_the_list():
    """Drivers, other processors and newer C libraries get more calls, but no denied one."""
    done = subprocess.run(
        [sys.executable, "-c", BY_WHAT_IS_DENIED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "seccomp, by what is denied (the driver of a device has calls of its own)",
        "True 4096",
        str(errno.EPERM),
        "no socket",
    ], done.stderr


def filter_decision(program: FilterProgram, architecture: int, number: int, *arguments: int) -> int:
    """Returns the kernel's decision on a call, from a second interpreter of the filter."""
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, architecture, 0, *words)
    loaded, place = 0, 0
    while True:
        code, yes, no, value = struct.unpack_from("=HBBI", program.instructions, place * 8)
        place += 1
        match code:
            case 0x20:
                (loaded,) = struct.unpack_from("<I", data, value)
            case 0x54:
                loaded &= value
            case 0x05:
                place += value
            case 0x15:
                place += yes if loaded == value else no
            case 0x35:
                place += yes if loaded >= value else no
            case 0x06:
                return value


ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x50001, 0x50026


@pytest.mark.unit
@pytest.mark.parametrize("architecture", [X86_64, AARCH64])
def test_each_architecture_has_its_own_numbers(architecture):
    """A call that an architecture does not have (open on AArch64) has no number there."""
    program = listing(architecture)
    wanted = {number_of(name, architecture): ALLOW for name in allowed_names()}
    wanted |= {number_of(name, architecture): EPERM for name in denied_names()}
    for number in range(600):
        came = filter_decision(program, architecture, number)
        assert came == wanted.get(number, came)
        if came == ENOSYS:
            assert number not in wanted


@pytest.mark.unit
@pytest.mark.parametrize(("number", "architecture"), [(39, 0x40000003), (0x40000027, X86_64)])
def test_a_call_of_a_foreign_architecture_ends_the_process(number, architecture):
    """The numbers of 32-bit and x32 calls on x86-64 mean other calls."""
    assert filter_decision(listing(X86_64), architecture, number) == KILL
    assert filter_decision(listing(X86_64), X86_64, 39) == ALLOW


def test_an_assignment_can_grant_a_system_call_to_submissions(tiny_with, grader):
    """The assignment names the call, and the grant reaches the submission's worker."""
    folder = tiny_with('system_calls = ["inotify_init1"]')
    number = number_of("inotify_init1", native_architecture())
    watching = f"import ctypes\nassert ctypes.CDLL(None).syscall({number}, 0) >= 0\n{RIGHT}"
    (folder / "alice.py").write_text(watching)
    done = grader("run", folder / "alice.py", "--format", "json", cwd=folder)
    assert json.loads(done.stdout)["score"] == 5.0, done.stdout + done.stderr


@pytest.mark.unit
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ptrace", "ptrace is never granted: it is refused for what it reaches (other processes)"),
        ("prctl", "prctl is never granted: its arguments decide whether it is allowed"),
        ("inotfy_init", "libseccomp knows no system call 'inotfy_init'"),
        ("inotify_init1", None),
        ("read", None),
    ],
)
def test_an_impossible_grant_is_refused_with_a_reason(name, why):
    """An assignment must not be able to open the whole filter."""
    assert why_not_granted(name) == why


def test_grading_with_an_impossible_grant_is_refused(tiny_with, grader):
    """No submission is graded under a filter that the author does not expect."""
    folder = tiny_with('system_calls = ["ptrace"]')
    (folder / "alice.py").write_text(RIGHT)
    done = grader("run", folder / "alice.py", cwd=folder)
    assert done.returncode != 0
    assert "[tool.grader] system_calls: ptrace is never granted" in done.stderr + done.stdout


@pytest.mark.unit
def test_a_granted_system_call_changes_the_hash_of_the_suite(tiny_with):
    """With another filter, a submission may get another grade."""
    plain, granting = tiny_with(""), tiny_with('system_calls = ["inotify_init1"]')
    assert suite_hash(find_assignment(plain)) != suite_hash(find_assignment(granting))


@pytest.fixture
def tiny_with(tmp_path_factory):
    """A function that writes the tiny assignment with one more line in its table."""

    def lay_out(line: str) -> Path:
        pyproject = TINY["pyproject.toml"].replace(
            'name = "tiny"', f'name = "tiny"\n        {line}', 1
        )
        folder = tmp_path_factory.mktemp("granting")
        return write_files(folder, TINY | {"pyproject.toml": pyproject})

    return lay_out
