"""The walls of a worker, each built in a process of its own, which then tries them."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import resource
import socket
import stat
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.core.processes import Allowance
from grader.worker.confinement import file_tree, identity, layers
from grader.worker.confinement.layers import InheritedState
from grader.worker.confinement.seccomp import prepare_filter, restrict_system_calls
from grader.worker.confinement.seccomp_program import native_architecture, number_of
from tests.harness.forking import folder_for_everybody, in_a_fork, refusal

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="a worker is confined on Linux"),
]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

MB = 1 << 20
LIMITS = Allowance(1 << 30, 8 * MB, 20, 5 * MB, 50, 77, "cpu")
INHERITED = InheritedState(61200, (), (), 100 * MB, 1 << 30, ())


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with folder_for_everybody() as made:
        yield made


def is_open(descriptor: int) -> bool:
    return not refusal(lambda: os.fstat(descriptor))


# --- Limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_each_limit_is_set_to_its_bound(device):
    """A GPU maps far more addresses than any bound."""

    def limited() -> Any:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MB, MB))
        before = resource.getrlimit(resource.RLIMIT_AS)
        kept = layers.limit_resources(
            Allowance(1 << 30, 8 * MB, 20, 5 * MB, 50, 77, device), INHERITED
        )
        names = ("CORE", "NOFILE", "FSIZE", "CPU", "DATA", "NPROC", "AS")
        found = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in names}
        return kept, found, before

    kept, found, before = in_a_fork(limited)
    addresses = (1 << 30) + (1 << 30) + (24 << 30)
    assert kept == ["threads"]
    assert found == {
        "CORE": [0, 0],
        "NOFILE": [256, 256],
        "FSIZE": [MB, MB],
        "CPU": [77, 77],
        "DATA": [100 * MB + (1 << 30)] * 2,
        "NPROC": [50, 50],
        "AS": [addresses] * 2 if device == "cpu" else before,
    }


@pytest.mark.unit
@pytest.mark.parametrize(
    ("user", "namespaces", "own", "release", "is_so"),
    [
        (61200, (), 0, "5.4.0", True),
        (None, (), 1000, "6.1.0", False),
        (None, ("users",), 1000, "6.1.0", True),
        (None, ("users",), 1000, "5.14.0-x", True),
        (None, ("users",), 1000, "5.13.9", False),
        (None, ("users",), 0, "6.1.0", False),
    ],
)
def test_threads_are_limited_only_where_no_other_process_counts(
    monkeypatch, user, namespaces, own, release, is_so
):
    monkeypatch.setattr(os, "geteuid", lambda: own)
    monkeypatch.setattr(platform, "release", lambda: release)
    assert layers._are_counted_apart(InheritedState(user, namespaces, (), 0, 0, ())) is is_so


def test_all_descriptors_but_one_are_closed():
    def closed() -> Any:
        kept = [os.open(os.devnull, os.O_RDONLY) for _ in range(5)][2]
        reply = os.dup(1)
        os.close(reply)
        layers.close_descriptors(kept)
        return [number for number in range(100) if is_open(number)], kept

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        open_now, kept = closed()
        os.write(1, json.dumps([open_now, kept]).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    open_now, kept = json.loads(os.read(reading, 4096))
    os.close(reading)
    assert open_now == [0, 1, 2, kept]


@pytest.mark.unit
def test_the_mapped_memory_is_told_in_bytes():
    data, addresses = layers.mapped()
    assert 10 * MB < data < addresses < 1 << 46


@pytest.mark.unit
def test_access_times_are_closed_once_for_each_outermost_place(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "ab").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    places = [tmp_path / name for name in ("a", "a/b", "ab", "link")]
    assert sorted(layers._outermost(places)) == [str(tmp_path / "a"), str(tmp_path / "ab")]
    seen = {path for path, _ in layers._below(str(tmp_path))}
    assert seen == {str(tmp_path), *(str(tmp_path / name) for name in ("a", "a/b", "ab", "link"))}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("read_hours", "changed_hours", "writes", "reads"),
    [(13, 20, True, False), (11, 20, False, False), (25, 30, False, True), (5, 3, False, True)],
)
def test_an_access_time_is_renewed_only_if_reading_would_renew_it(
    tmp_path, monkeypatch, read_hours, changed_hours, writes, reads
):
    """Linux notes an access that is older than the last change, or a day old."""
    done: list[str] = []
    (tmp_path / "file").touch()
    monkeypatch.setattr(layers, "_read", lambda *_: done.append("read"))
    monkeypatch.setattr(os, "utime", lambda *_, **__: done.append("written"))
    fields, now = list(os.lstat(tmp_path / "file")), time.time()
    fields[stat.ST_ATIME] = int(now - 3600 * read_hours)
    fields[stat.ST_MTIME] = fields[stat.ST_CTIME] = int(now - 3600 * changed_hours)
    layers.renew(str(tmp_path / "file"), os.stat_result(fields))
    assert done == ["written"] * writes + ["read"] * reads


# --- Identity and namespaces ---------------------------------------------------------------------


def status_of(*names: str) -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    told = dict(line.split(":", 1) for line in lines)
    return {name: told[name].strip() for name in names}


def got(option: int) -> int:
    """Returns an attribute of this process (prctl(2))."""
    found = ctypes.c_int()
    result = ctypes.CDLL(None).prctl(option, ctypes.byref(found) if option == 2 else 0, 0, 0, 0)
    return found.value if option == 2 else int(result)


@as_root
def test_a_worker_takes_on_a_user_without_rights():
    """It sees its own open files, ends with its parent, and can gain no rights."""

    def dropped() -> Any:
        name = identity.drop_privileges(61234)
        told = status_of("CapEff", "CapPrm")
        return name, os.getresuid(), os.getresgid(), os.getgroups(), told, got(3), got(39), got(2)

    name, users, groups, others, told, is_dumpable, no_new, at_death = in_a_fork(dropped)
    assert (name, users, groups, others) == ("unprivileged user", [61234] * 3, [61234] * 3, [])
    assert {int(rights, 16) for rights in told.values()} == {0}
    assert (is_dumpable, no_new, at_death) == (1, 1, 9)


@as_root
def test_root_without_a_user_for_workers_loses_its_capabilities():
    def dropped() -> Any:
        name = identity.drop_privileges(None)
        return name, status_of("CapEff", "CapPrm", "CapBnd", "CapInh"), os.getuid(), got(39)

    name, told, user, no_new = in_a_fork(dropped)
    assert (name, user, no_new) == ("root without capabilities", 0, 1)
    assert {int(rights, 16) for rights in told.values()} == {0}


@as_root
def test_an_ordinary_user_stays_the_same():
    def dropped() -> Any:
        os.setresuid(65534, 65534, 65534)
        return identity.drop_privileges(61234), os.getuid(), identity.unprivileged_user(3)

    assert in_a_fork(dropped) == ["ordinary user", 65534, None]


@as_root
def test_the_user_of_a_worker_follows_from_a_number():
    """There is none where that user could not read packages."""
    users = [identity.unprivileged_user(number) for number in (5, 4005)]
    assert users in ([61189, 61189], [None, None])


def namespaces() -> dict[str, str]:
    return {path.name: str(path.readlink()) for path in Path("/proc/self/ns").iterdir()}


def test_other_namespaces_are_entered_as_far_as_they_are_granted():
    def entered() -> Any:
        before = namespaces()
        return identity.enter_other_namespaces(), before, namespaces()

    names, before, after = in_a_fork(entered)
    changed = {name for name in before if before[name] != after[name]}
    kinds = {"network": "net", "ipc": "ipc", "host name": "uts"}
    assert changed == {kinds[name] for name in names}


def test_processes_in_a_namespace_of_their_own_begin_at_one():
    def entered() -> Any:
        names = identity.enter_process_namespace()
        return names, in_a_fork(os.getpid)

    names, number = in_a_fork(entered)
    assert names in ([], ["process ids"], ["users", "process ids"])
    assert (number == 1) is bool(names)


# --- Files ---------------------------------------------------------------------------------------


def test_only_allowed_files_are_read_and_written(folder):
    """Landlock lets a worker read the submission and packages, and write to its scratch folder."""
    root, scratch, device = folder / "root", folder / "scratch", folder / "device"
    for place in (root, scratch):
        place.mkdir()
        (place / "file").write_text("text")
    for name in ("device", "other"):
        (folder / name).write_text("text")

    def tried() -> Any:
        layer = file_tree.restrict_files([root, folder / "absent"], scratch, [device])
        return layer, {
            "read": refusal((root / "file").read_text),
            "list": refusal(lambda: list(root.iterdir())),
            "packages": refusal(Path(os.__file__).read_text),
            "write": refusal(lambda: (root / "file").write_text("x")),
            "make": refusal((root / "new").touch),
            "other": refusal((folder / "other").read_text),
            "system": refusal(Path("/etc/passwd").read_text),
            "read device": refusal(device.read_text),
            "write device": refusal(lambda: os.close(os.open(device, os.O_WRONLY))),
            "nowhere": refusal(lambda: Path("/dev/null").write_text("x")),
            "random": refusal(lambda: Path("/dev/urandom").open("rb").read(1)),
            "make own": refusal((scratch / "new").touch),
            "write own": refusal(lambda: (scratch / "file").write_text("x")),
            "folder": refusal((scratch / "inner").mkdir),
            "move": refusal(lambda: (scratch / "new").rename(scratch / "inner" / "new")),
            "link": refusal(lambda: (scratch / "link").symlink_to("x")),
            "remove": refusal((scratch / "link").unlink),
            "list own": refusal(lambda: list(scratch.iterdir())),
        }

    layer, found = in_a_fork(tried)
    if layer == "none":
        pytest.skip("this machine has no Landlock")
    assert layer.startswith("landlock ")
    refused = {"write", "make", "other", "system"}
    assert {name for name, error in found.items() if error} == refused
    assert {found[name] for name in refused} == {"PermissionError"}


def test_a_file_tree_of_its_own_hides_all_other_files(folder):
    """Packages and the scratch folder are at their old paths, and nothing can be written."""
    (folder / "scratch").mkdir()
    (folder / "scratch" / "file").write_text("text")
    (folder / "other").write_text("text")
    libraries = [path for path in ("/lib", "/usr/lib", "/dev/urandom") if Path(path).exists()]
    links = {path: str(Path(path).readlink()) for path in libraries if Path(path).is_symlink()}

    def entered() -> Any:
        if not file_tree.enter_file_tree(folder / "scratch"):
            return None
        return {
            "others": [str(one) for one in (Path("/etc/passwd"), folder / "other") if one.exists()],
            "package": Path(os.__file__).is_file(),
            "site": Path(sysconfig.get_paths()["purelib"]).is_dir(),
            "own": (folder / "scratch" / "file").read_text(),
            "libraries": [path for path in libraries if not Path(path).exists()],
            "links": {path: str(Path(path).readlink()) for path in links},
            "self": Path("/proc/self/status").exists(),
            "write": refusal(lambda: (folder / "scratch" / "new").touch()),
            "root": refusal(Path("/new").mkdir),
            "here": str(Path.cwd()),
        }

    found = in_a_fork(entered)
    if found is None:
        pytest.skip("this machine grants no mounts")
    assert (found["package"], found["site"], found["own"]) == (True, True, "text")
    assert found["libraries"] == []
    assert found["links"] == links
    assert found["others"] == []
    assert (found["write"], found["root"], found["here"]) == ("OSError", "OSError", "/")
    assert (folder / "scratch" / "root").is_dir()
    assert list((folder / "scratch" / "root").iterdir()) == []


def test_links_on_the_way_to_a_file_are_made_below_a_root(folder):
    """A link may lead to another one, or to a folder beside itself."""
    real, root = folder / "real", folder / "root"
    (real / "deep").mkdir(parents=True)
    (folder / "one").symlink_to("two/../two")
    (folder / "two").symlink_to(real)
    (real / "up").symlink_to("../real/deep")
    place = in_a_fork(lambda: str(file_tree._behind_links(root, folder / "one" / "up")))
    assert place == str(real / "deep")
    made = root / folder.relative_to("/")
    targets = [str((made / name).readlink()) for name in ("one", "two")]
    assert targets == ["two/../two", str(real)]
    assert str((made / "real" / "up").readlink()) == "../real/deep"


def test_a_scratch_folder_in_memory_is_bounded_and_private(folder):
    def entered() -> Any:
        if not file_tree.enter_own_scratch(folder, 2 * MB, 10):
            return None
        (folder / "file").write_bytes(b"x" * MB)
        files = 0
        with contextlib.suppress(OSError):
            for files in range(30):
                (folder / str(files)).touch()
        for number in range(files):
            (folder / str(number)).unlink()
        return {
            "mode": stat.S_IMODE(folder.stat().st_mode),
            "owner": folder.stat().st_uid,
            "files": files,
            "too much": refusal(lambda: (folder / "more").write_bytes(b"x" * 2 * MB)),
        }

    found = in_a_fork(entered)
    if found is None:
        pytest.skip("this machine grants no mounts")
    assert found == {"mode": 0o700, "owner": os.geteuid(), "files": 8, "too much": "OSError"}
    assert list(folder.iterdir()) == []


# --- System calls, and all layers together -------------------------------------------------------


@pytest.mark.skipif(native_architecture() is None, reason="there is no libseccomp")
def test_system_calls_are_restricted_for_good():
    """A granted call is made, and an unlisted one does not exist."""

    def restricted(granted: tuple[str, ...]) -> Any:
        prepare_filter(granted)
        told = restrict_system_calls(granted)
        number = number_of("inotify_init1", native_architecture() or 0)
        result = ctypes.CDLL(None, use_errno=True).syscall(number, 0)
        return told, result >= 0, refusal(socket.socket), got(39)

    for granted in ((), ("inotify_init1",)):
        told, is_made, socket_refused, no_new = in_a_fork(
            lambda granted=granted: restricted(granted)
        )
        assert told["syscalls"].startswith("seccomp")
        assert (told["network"], told["processes"]) == ("denied", "denied")
        assert (socket_refused, no_new) == ("PermissionError", 1)
        assert is_made is bool(granted) or "what is denied" in told["syscalls"]


def test_all_layers_are_applied_and_told(folder):
    (folder / "root").mkdir()
    (folder / "scratch").mkdir()
    names = ("process ids", "files")

    def confined() -> Any:
        own = layers.mapped()
        inherited = InheritedState(None, names, (), *own, ())
        told = layers.confine(folder / "root", folder / "scratch", LIMITS, inherited)
        limit = resource.getrlimit(resource.RLIMIT_CPU)[0]
        writes = refusal(lambda: (folder / "scratch" / "x").touch())
        return told, limit, writes, refusal(socket.socket)

    told, limit, writes, socket_refused = in_a_fork(confined)
    isolation = told["isolation"]
    assert set(isolation) == {
        *("identity", "filesystem", "syscalls", "network", "processes", "namespaces"),
    }
    assert isolation["namespaces"] == "process ids, files"
    assert (limit, writes) == (77, "")
    assert (isolation["network"] == "denied") is (socket_refused == "PermissionError")
    assert set(told["kept"]) <= {"disk", "threads"}
    if os.geteuid() == 0 and in_a_fork(lambda: file_tree.enter_own_scratch(folder, MB, 9)):
        assert told["kept"] == ["disk"]
