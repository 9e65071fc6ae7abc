"""Control groups limit memory and tasks, tested with real groups."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.sandbox.cgroup_grounds import find_ground, parents_v2
from grader.sandbox.cgroups import Ground, Group, GroupBounds, Hierarchy, NoGround, hierarchies
from tests.harness.waiting import PATIENCE, until

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
MB = 1 << 20
BOUNDS = GroupBounds(memory=64 * MB, tasks=50)
# A member waits for a line on standard input, so that its work starts inside the group.
BEGIN = "import mmap, os, resource, sys, threading; sys.stdin.readline()\n"


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    """The place where this machine lets the tests create groups."""
    try:
        found = find_ground()
    except NoGround as none:
        pytest.skip(f"no control groups here: {none}")
    yield found
    assert found.close(), f"left behind: {found.folders}"


@pytest.fixture
def new_group(ground) -> Iterator[Callable[..., Group]]:
    """A function that creates groups, which are removed after the test."""
    groups: list[Group] = []

    def new(bounds: GroupBounds = BOUNDS) -> Group:
        groups.append(ground.new(f"test-{len(groups)}", bounds))
        return groups[-1]

    yield new
    for group in groups:
        assert group.kill()
        assert group.remove()


@contextlib.contextmanager
def member(group: Group, script: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a process that runs a whole script inside a group."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-I", "-S", "-c", BEGIN + script, *args]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            group.add(process.pid)
            process.stdin.write("begin\n")
            process.stdin.flush()
            yield process
        finally:
            group.kill()
            process.kill()


def exit_code_and_output(group: Group, script: str, *args: str) -> tuple[int, str]:
    """Returns a member's exit code and output."""
    with member(group, script, *args) as process:
        printed, complaints = process.communicate(timeout=PATIENCE)
    return process.returncode, printed + complaints


def charged_bytes(group: Group) -> int:
    """Returns the bytes that the kernel charges to a group."""
    names = ("memory.current", "memory.usage_in_bytes")
    (told,) = [
        file for folder in group.folders for name in names if (file := folder / name).exists()
    ]
    return int(told.read_text())


def refused_a_task(group: Group) -> bool:
    """Returns whether the kernel refused a member a process or thread."""
    told = [file for folder in group.folders if (file := folder / "pids.events").exists()]
    return any("max 0" not in file.read_text() for file in told)


HONEST = """
held = bytearray(20 << 20)
threads = [threading.Thread(target=sum, args=(range(100_000),)) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("done")
"""


def test_a_process_within_its_bounds_is_not_limited(new_group):
    """The memory is counted, and neither limit is reached."""
    group = new_group()
    assert exit_code_and_output(group, HONEST) == (0, "done\n")
    assert group.killed_for_memory() == 0
    assert not refused_a_task(group)
    assert charged_bytes(group) <= 64 * MB


# Each takes at most 256 MB, even if no limit stops it.
PRIVATE = "held = bytearray(os.urandom(1 << 20) * 256)"
SHARED_AND_UNMAPPED = """
held = mmap.mmap(-1, 256 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
for start in range(0, 256 << 20, 1 << 20):
    held[start : start + (1 << 20)] = bytes([1]) * (1 << 20)
    held.madvise(mmap.MADV_DONTNEED, start, 1 << 20)
"""
# Needs a page of page tables for every 2 MB of addresses. In a worker RLIMIT_AS limits these too.
PAGE_TABLES = """
size = 40 << 30
resource.setrlimit(resource.RLIMIT_AS, (2 * size, 2 * size))
flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
held = mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ)
held.madvise(mmap.MADV_NOHUGEPAGE)
for start in range(0, size, 2 << 20):
    held[start]
"""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(PRIVATE, id="private"),
        pytest.param(SHARED_AND_UNMAPPED, id="shared and unmapped"),
        pytest.param(PAGE_TABLES, id="page tables"),
    ],
)
def test_a_process_that_takes_too_much_memory_is_killed(new_group, script):
    """Page tables and unmapped shared pages count too, and the group records the kill."""
    group = new_group()
    code, printed = exit_code_and_output(group, script)
    assert code == -signal.SIGKILL, printed
    assert group.killed_for_memory() == 1
    assert charged_bytes(group) <= 64 * MB


WRITES_A_FILE = """
with open(sys.argv[1], "wb") as file:
    for _ in range(40):
        file.write(bytes(1 << 20))
print("written")
"""


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no tmpfs at /dev/shm")
def test_files_in_memory_are_charged_to_the_group_that_wrote_them(new_group):
    """A file in a tmpfs counts until it is removed, also after its writer has ended."""
    group = new_group()
    file = Path(f"/dev/shm/grader-test-{os.getpid()}")
    try:
        assert exit_code_and_output(group, WRITES_A_FILE, str(file)) == (0, "written\n")
        assert charged_bytes(group) >= 40 * MB
    finally:
        file.unlink(missing_ok=True)
    assert charged_bytes(group) < 40 * MB


MANY_THREADS = """
done = threading.Event()
threads = [threading.Thread(target=done.wait) for _ in range(100)]
started = 1
try:
    for thread in threads:
        thread.start()
        started += 1
except RuntimeError as error:
    print(started, error)
done.set()
"""


def test_threads_beyond_the_bound_do_not_start(new_group):
    """The submission gets a RuntimeError and goes on."""
    group = new_group(GroupBounds(memory=64 * MB, tasks=10))
    assert exit_code_and_output(group, MANY_THREADS) == (0, "10 can't start new thread\n")
    assert refused_a_task(group)


FORK_BOMB = """
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def test_a_fork_bomb_is_killed_as_a_whole(new_group):
    """No process escapes because it starts while others are killed."""
    group = new_group()
    with member(group, FORK_BOMB) as process:
        until(lambda: refused_a_task(group), "a task is refused")
        assert group.kill()
        assert process.wait(PATIENCE) == -signal.SIGKILL
    assert group.remove()
    assert not any(folder.exists() for folder in group.folders)


def test_killing_one_group_does_not_affect_another(new_group):
    """One submission's end does not affect another."""
    greedy, honest = new_group(), new_group()
    with member(honest, "sys.stdin.readline(); print('still here')") as process:
        assert exit_code_and_output(greedy, PRIVATE)[0] == -signal.SIGKILL
        assert greedy.kill()
        assert process.communicate("go on\n", timeout=PATIENCE)[0] == "still here\n"
    assert honest.killed_for_memory() == 0


def test_a_group_with_members_is_not_removed(ground, monkeypatch):
    """The grader must not wait forever for a process that cannot be killed."""
    monkeypatch.setattr("grader.sandbox.cgroups._SECONDS", 0.1)
    group = ground.new("occupied", BOUNDS)
    with member(group, "sys.stdin.readline()"):
        assert not group.remove()
    monkeypatch.undo()
    assert group.remove()


def test_a_group_name_can_be_used_only_once(ground):
    """An existing group keeps its bounds and members."""
    group = ground.new("once", BOUNDS)
    with pytest.raises(FileExistsError):
        ground.new("once", BOUNDS)
    assert all(folder.exists() for folder in group.folders)
    assert group.remove()


def test_an_ended_process_cannot_be_added_to_a_group(new_group):
    """The judge learns that its worker ended before it started work."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", ""]) as process:
        process.wait(PATIENCE)
    for gone in (process.pid, 0, -1):
        with pytest.raises(ProcessLookupError):
            new_group().add(gone)


AS_NOBODY = """
import os
from grader.sandbox.cgroup_grounds import NoGround, find_ground
os.setuid(65534)
try:
    find_ground()
except NoGround as none:
    print(repr(none))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_user_without_control_groups_is_refused_a_ground():
    """Without groups the other limits remain."""
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("NoGround("), done.stderr


@pytest.mark.unit
@pytest.mark.parametrize(
    ("own", "free"),
    [
        ("", [""]),
        ("pods/pod-1", ["pods/pod-1", "pods", ""]),
        ("user.slice/user-1000.slice/session-3.scope", []),
        ("system.slice/docker-f00.scope/inner", []),
    ],
)
def test_groups_that_systemd_manages_are_left_alone(tmp_path, own, free):
    """systemd may change its groups at any time, and remove those that others create there."""
    (tmp_path / own).mkdir(parents=True, exist_ok=True)
    found = parents_v2(Hierarchy(2, frozenset(), tmp_path, tmp_path / own))
    assert list(found) == [tmp_path / folder for folder in free]


@pytest.mark.unit
def test_group_hierarchies_are_read_from_the_mount_table(tmp_path):
    """A container sees its own group, not the path to it, and spaces in paths are escaped."""
    process, folder = tmp_path / "process", tmp_path / "with space"
    for path in (process, folder / "memory", folder / "cpu" / "jobs", folder / "unified"):
        path.mkdir(parents=True)
    (process / "cgroup").write_text(
        "5:memory:/docker/f00\n4:cpu,cpuacct:/jobs\n3:pids:/elsewhere\n1:name=systemd:/\n0::/\n"
    )
    escaped = str(folder).replace(" ", r"\040")
    (process / "mountinfo").write_text(
        f"30 1 0:1 / / rw - ext4 /dev/vda rw\n"
        f"31 30 0:2 /docker/f00 {escaped}/memory rw shared:1 - cgroup cgroup rw,memory\n"
        f"32 30 0:3 / {escaped}/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        f"33 30 0:4 /docker/f00 {escaped}/pids rw - cgroup cgroup rw,pids\n"
        f"34 30 0:5 / {escaped}/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
    )
    assert hierarchies(process) == [
        Hierarchy(1, frozenset({"memory"}), folder / "memory", folder / "memory"),
        Hierarchy(1, frozenset({"cpu", "cpuacct"}), folder / "cpu", folder / "cpu" / "jobs"),
        Hierarchy(2, frozenset(), folder / "unified", folder / "unified"),
    ]
