"""Control groups as folders of files: bounds, members and names, read and written."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from grader.sandbox import cgroup_grounds, cgroups
from grader.sandbox.cgroup_grounds import (
    _hand_down,
    _is_delegated,
    _new_ground_v1,
    _new_ground_v2,
    _parents_v1,
    _require_systemd,
    _step_aside,
)
from grader.sandbox.cgroups import (
    Ground,
    Group,
    GroupBounds,
    Hierarchy,
    NoGround,
    entry,
    is_of_a_grader,
    members,
    new_name,
    number,
    words,
    write,
)

pytestmark = pytest.mark.unit


def folder_of(place: Path, **files: str) -> Path:
    """Makes a folder with control files; a dot in a name is written as two underscores."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name.replace("__", ".")).write_text(text)
    return place


def test_control_files_are_read_and_written_and_never_made(tmp_path):
    folder_of(tmp_path, a="12\n", b="max", c="oom 3\noom_kill 2\nodd", d="")
    assert (number(tmp_path / "a"), number(tmp_path / "b"), number(tmp_path / "d")) == (
        12,
        None,
        None,
    )
    assert (words(tmp_path / "absent"), number(tmp_path / "absent")) == ([], None)
    assert entry(tmp_path / "c", "oom_kill") == 2
    assert entry(tmp_path / "c", "other") == entry(tmp_path / "absent", "oom") == 0
    write(tmp_path / "d", 7)
    assert (tmp_path / "d").read_text() == "7"
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "absent", 1)


def test_members_out_of_sight_are_left_out(tmp_path):
    one = folder_of(tmp_path / "one", cgroup__procs="3\n0\n4\n")
    two = folder_of(tmp_path / "two", cgroup__procs="5\n")
    assert members([one, two, tmp_path / "absent"]) == {3, 4, 5}


def test_a_group_in_two_hierarchies_finds_the_folder_of_a_file(tmp_path):
    one = folder_of(tmp_path / "one", memory__max="0")
    two = folder_of(tmp_path / "two", pids__max="0")
    group = Group((one, two))
    assert group.file("pids.max") == two / "pids.max"
    assert group.file("absent") == one / "absent"
    group.limit(GroupBounds(memory=5 * mmap.PAGESIZE + 1, tasks=7))
    assert (one / "memory.max").read_text() == str(5 * mmap.PAGESIZE)
    assert (two / "pids.max").read_text() == "7"
    folder_of(one, cgroup__procs="")
    folder_of(two, cgroup__procs="")
    group.add(12)
    assert words(one / "cgroup.procs") == words(two / "cgroup.procs") == ["12"]
    for pid in (0, -1):
        with pytest.raises(ProcessLookupError):
            group.add(pid)


def test_bounds_that_the_kernel_changes_are_an_error(tmp_path):
    class Stubborn(Group):
        def limit_memory(self, _memory: int) -> Path:
            return self.file("memory.max")

    group = Stubborn((folder_of(tmp_path, memory__max="max", pids__max="0"),))
    with pytest.raises(OSError, match="the kernel keeps"):
        group.limit(GroupBounds(mmap.PAGESIZE, 3))


@pytest.mark.parametrize("with_swap", [True, False])
def test_memory_of_version_1_is_bounded_with_swap(tmp_path, with_swap):
    """Where swap is not accounted for, nothing is swapped."""
    names = {"memory.limit_in_bytes", "memory.swappiness"}
    names |= {"memory.memsw.limit_in_bytes"} if with_swap else set()
    folder_of(tmp_path, **dict.fromkeys(names, "60"))
    group = Group((tmp_path,))
    assert group.limit_memory(123) == tmp_path / "memory.limit_in_bytes"
    found = {name: (tmp_path / name).read_text() for name in names}
    swap = "memory.memsw.limit_in_bytes" if with_swap else "memory.swappiness"
    assert found.pop("memory.limit_in_bytes") == "123"
    assert found.pop(swap) == ("123" if with_swap else "00")
    assert set(found.values()) <= {"60"}


@pytest.mark.parametrize(
    ("peak", "swapped", "killed"),
    [
        ("1000000", "0", 2),
        ("0", "1000000", 2),
        ("500000", "0", 0),
        ("737857", "0", 2),
        ("737856", "0", 0),
    ],
)
def test_kills_of_version_1_count_only_if_the_bound_was_reached(tmp_path, peak, swapped, killed):
    """A member may die because the whole machine has no memory; refused requests are no peak."""
    assert 64 * mmap.PAGESIZE == 262144
    folder_of(
        tmp_path,
        memory__max_usage_in_bytes=peak,
        memory__memsw__max_usage_in_bytes=swapped,
        memory__limit_in_bytes="1000000",
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
    )
    assert Group((tmp_path,)).killed_for_memory() == killed


def test_memory_of_version_2_is_bounded_without_swap(tmp_path):
    folder_of(tmp_path, memory__max="max", memory__swap__max="9")
    group = Group((tmp_path,))
    assert group.limit_memory(123) == tmp_path / "memory.max"
    assert (tmp_path / "memory.max").read_text() == "123"
    assert (tmp_path / "memory.swap.max").read_text() == "0"
    (tmp_path / "memory.swap.max").unlink()
    group.limit_memory(4)


@pytest.mark.parametrize(("oom", "killed"), [(0, 0), (1, 3)])
def test_kills_of_version_2_count_only_if_the_group_was_full(tmp_path, oom, killed):
    folder_of(tmp_path, memory__events=f"oom {oom}\noom_kill 3\n")
    assert Group((tmp_path,)).killed_for_memory() == killed


# --- Grounds -------------------------------------------------------------------------------------


@pytest.fixture
def free(monkeypatch) -> None:
    """Groups that have no files to write."""

    def limit(_: Group, bounds: GroupBounds) -> None:
        if not bounds.tasks:
            raise OSError("no")

    monkeypatch.setattr(Group, "limit", limit)


@pytest.mark.usefixtures("free")
def test_groups_of_a_ground_have_its_prefix_and_are_made_whole_or_not_at_all(tmp_path):
    folders = tuple(folder_of(tmp_path / name) for name in "ab")
    ground = Ground("v1", folders)
    part = ground.part("7")
    group: Group = part.new("one", GroupBounds(1, 1))
    assert group.folders == tuple(folder / "7-one" for folder in folders)
    assert part.get("one").folders == group.folders
    assert part.get("two") is ground.get("one") is None
    with pytest.raises(OSError, match="no"):
        part.new("two", GroupBounds(1, 0))
    assert not (tmp_path / "a" / "7-two").exists()
    (tmp_path / "b" / "7-three").mkdir()
    with pytest.raises(FileExistsError):
        part.new("three", GroupBounds(1, 1))
    assert not (tmp_path / "a" / "7-three").exists()
    assert part.get("three") is None


@pytest.mark.usefixtures("free")
def test_a_part_of_a_ground_clears_only_its_own_groups(tmp_path):
    """Files are no groups; inner groups go with their outer ones."""
    place = folder_of(tmp_path / "ground")
    ground = Ground("v2", (place,))
    (place / "7-one" / "inner").mkdir(parents=True)
    (place / "8-one").mkdir()
    assert ground.part("7").clear()
    assert [one.name for one in place.iterdir()] == ["8-one"]
    (place / "7-file").touch()
    assert ground.part("7").clear()
    (place / "7-file").unlink()
    assert ground.close()
    assert not place.exists()


def test_a_ground_with_files_is_not_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(cgroups, "_SECONDS", 0.01)
    ground = Ground("v2", (folder_of(tmp_path / "ground", kept="x"),))
    assert not ground.close()


def test_a_name_tells_whether_a_grader_gave_it():
    own = new_name()
    assert own.startswith(f"grader-{os.getpid()}-")
    assert is_of_a_grader(own)
    assert is_of_a_grader(f"{own}.scope")
    assert not is_of_a_grader(f"{own}.slice")
    assert not is_of_a_grader("grader-1")


def hierarchy_v1(place: Path, *controllers: str) -> Hierarchy:
    return Hierarchy(1, frozenset(controllers), place, folder_of(place / "own"))


def test_version_1_needs_memory_and_tasks_and_takes_the_processor_if_it_can(tmp_path):
    memory, pids = hierarchy_v1(tmp_path / "m", "memory"), hierarchy_v1(tmp_path / "p", "pids")
    cpu = hierarchy_v1(tmp_path / "c", "cpu", "cpuacct")
    both = hierarchy_v1(tmp_path / "b", "memory", "pids")
    assert _parents_v1([cpu, memory, pids]) == [memory.own, pids.own, cpu.own]
    assert _parents_v1([both]) == [both.own]
    assert _parents_v1([memory, pids, both]) == [memory.own, pids.own]
    with pytest.raises(NoGround, match="no hierarchy of control groups"):
        _parents_v1([cpu])
    with pytest.raises(NoGround, match="no hierarchy of control groups"):
        _parents_v1([cpu, memory])
    ground = _new_ground_v1([memory, pids], "name")
    assert ground.folders == (memory.own / "name", pids.own / "name")
    assert all(folder.is_dir() for folder in ground.folders)
    (pids.own / "again").mkdir()
    with pytest.raises(NoGround, match="no control group may be made"):
        _new_ground_v1([memory, pids], "again")
    assert not (memory.own / "again").exists()


def test_controllers_are_handed_down_unless_they_are_there_already(tmp_path):
    """A needed one that cannot be enabled is an error, and any other is not."""
    folder_of(tmp_path, cgroup__subtree_control="memory pids cpu")
    _hand_down(tmp_path)
    assert words(tmp_path / "cgroup.subtree_control") == ["memory", "pids", "cpu"]
    folder_of(tmp_path, cgroup__subtree_control="")
    _hand_down(tmp_path)
    assert "+" in (tmp_path / "cgroup.subtree_control").read_text()
    (tmp_path / "cgroup.subtree_control").unlink()
    with pytest.raises(FileNotFoundError):
        _hand_down(tmp_path)


def test_a_ground_of_version_2_lies_in_the_nearest_group_that_may_be_divided(tmp_path, monkeypatch):
    own = folder_of(tmp_path / "outer" / "own")
    hierarchy = Hierarchy(2, frozenset(), tmp_path, own)
    with pytest.raises(NoGround, match="another's to divide"):
        _new_ground_v2(hierarchy, "name")
    handed = []
    monkeypatch.setattr(cgroup_grounds, "_hand_down", handed.append)
    ground = _new_ground_v2(hierarchy, "name", "v2, other")
    assert (ground.version, ground.folders) == ("v2, other", (own / "name",))
    assert handed == [own, own / "name"]
    (own / "again").mkdir()
    (own / "again" / "file").touch()
    monkeypatch.setattr(cgroups, "_SECONDS", 0.01)
    assert _new_ground_v2(hierarchy, "again").folders == (own.parent / "again",)
    unit = folder_of(tmp_path / "system.slice" / "x.service")
    with pytest.raises(NoGround, match="another's to divide"):
        _new_ground_v2(Hierarchy(2, frozenset(), tmp_path, unit), "name")


def test_a_graders_own_scope_counts_as_delegated(tmp_path):
    assert _is_delegated(tmp_path / f"{new_name()}.scope")
    assert not _is_delegated(folder_of(tmp_path / "x.service"))


def test_systemd_is_asked_only_where_it_made_the_own_group(monkeypatch):
    """A container may reach its host's systemd, which would misread its process ids."""
    user = f"user-{os.geteuid()}.slice"
    own = ("user.slice", user, "session-3.scope")
    monkeypatch.setattr(cgroup_grounds, "words", lambda _file: ["bash"])
    with pytest.raises(NoGround, match="there is no systemd"):
        _require_systemd(own)
    monkeypatch.setattr(cgroup_grounds, "words", lambda _file: ["systemd"])
    _require_systemd(own)
    with pytest.raises(NoGround, match="there is no systemd"):
        _require_systemd(("user.slice", "pod"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoGround, match="there is no systemd"):
        _require_systemd(("system.slice", "x.service"))
    _require_systemd(("user.slice", "user-1000.slice", "x.scope"))


def test_this_process_steps_aside_into_an_inner_group(tmp_path):
    here = Hierarchy(2, frozenset(), tmp_path, folder_of(tmp_path / "own"))
    with pytest.raises(NoGround, match="may not be divided"):
        _step_aside(here)
