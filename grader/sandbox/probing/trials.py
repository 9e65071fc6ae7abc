"""What the probe has a confined process attempt: every way out that is known, harmlessly sized."""

from __future__ import annotations

from dataclasses import dataclass

from grader.sandbox.allowance import Allowance, Patience

_MEGABYTE = 1 << 20
ALLOWED = Allowance(256 * _MEGABYTE, disk=48 * _MEGABYTE, files=500, cpu_seconds=4)
# As much again as is allowed, and what measuring may miss; without control groups, what the
# kernel holds for a process comes on top of its own.
_TOO_MUCH_MEMORY = 2 * ALLOWED.memory + 64 * _MEGABYTE
_TOO_MUCH_OF_THE_KERNEL = ALLOWED.memory + 64 * _MEGABYTE
_TOO_MUCH_DISK = 2 * ALLOWED.disk + 32 * _MEGABYTE
_TOO_MANY_FILES, _TOO_MANY_THREADS, _TOO_MANY_SECONDS = 2 * ALLOWED.files, 1000, 12
_PATIENCE = Patience(30.0, 90.0)


@dataclass(frozen=True, slots=True)
class ProbeTrial:
    """An attempt that is to be made: the layer that it tries, in words, by an adapter of a module.

    `most` is what would be too much. `needs` is the namespace without which nobody promises that it
    is refused. `after` is what another worker does first, who then lives on. `wanted` are those
    that must succeed, and `patience` the time that it has.
    """

    layer: str
    what: str
    adapter: str
    module: str = "system"
    most: int | None = None
    needs: str = ""
    after: str = ""
    wanted: bool = False
    patience: Patience = _PATIENCE


def _at_limit(layer: str, module: str, most: int, **attempts: str) -> list[ProbeTrial]:
    return [ProbeTrial(layer, what, f"run_{name}", module, most) for name, what in attempts.items()]


def _at_others(layer: str, needs: str = "", after: str = "", **attempts: str) -> list[ProbeTrial]:
    return [
        ProbeTrial(layer, what, f"run_{name}", "others", needs=needs, after=after)
        for name, what in attempts.items()
    ]


TRIALS = (
    ProbeTrial("filesystem", "read /etc/passwd", "run_read_the_system"),
    ProbeTrial("filesystem", "read a file beside its own folder", "run_read_beside"),
    ProbeTrial("filesystem", "write into its own source folder", "run_write_elsewhere"),
    ProbeTrial("scratch", "write into its scratch folder", "run_write_scratch", wanted=True),
    ProbeTrial("scratch", "write where it runs", "run_write_where_it_runs", wanted=True),
    ProbeTrial("processes", "start a process", "run_fork"),
    ProbeTrial("processes", "execute a program", "run_execute"),
    ProbeTrial("network", "open an internet socket", "run_internet"),
    ProbeTrial("network", "open a local socket", "run_unix"),
    ProbeTrial("syscalls", "signal its parent", "run_signal_parent"),
    ProbeTrial("syscalls", "trace its parent", "run_trace_parent"),
    ProbeTrial("syscalls", "change a file's mode", "run_change_mode"),
    *_at_others(
        "syscalls",
        outlive_its_parent="live on when its parent dies",
        priority_of_its_user="lower all of its user's processes",
        priority_of_its_parent="change its parent's priority",
        turns_at_the_disk="change its user's turns at disks",
        limits_of_its_parent="read its parent's limits",
        watch="watch a shared folder (inotify)",
        notify="watch a shared folder (dnotify)",
        lease="lease a file that workers share",
    ),
    *_at_others("syscalls", after="run_hold_locks", see_locks="see what another worker locks"),
    ProbeTrial("identity", "find the user's environment", "run_environment"),
    ProbeTrial("identity", "become another user", "run_privileges"),
    *_at_others(
        "namespaces",
        needs="files",
        size_of_a_file_elsewhere="ask the size of a file elsewhere",
        place_of_a_file_elsewhere="ask if a file is there elsewhere",
    ),
    *_at_others(
        "namespaces", needs="process ids", other_processes="find other processes by number"
    ),
    *_at_limit(
        "memory",
        "memory",
        _TOO_MUCH_MEMORY,
        memory="take twice its memory",
        memory_at_once="take it in a single call",
        memory_forgotten="hold shared memory out of sight",
        memory_by_a_page="hold shared memory by one page",
        memory_mapped_twice="hold shared memory mapped twice",
        memory_read_only="hold memory that is read-only",
        memory_while_it_drips="take it while an answer drips",
    ),
    *_at_limit(
        "memory",
        "memory",
        _TOO_MUCH_OF_THE_KERNEL,
        memory_of_page_tables="have page tables take it",
        memory_in_sockets="have pipes and sockets take it",
    ),
    *_at_limit(
        "disk",
        "disk",
        _TOO_MUCH_DISK,
        disk="write twice what it may",
        disk_unlinked="hold files without a name",
        disk_never_named="hold files that never had one",
        disk_mapped="hold files by mappings alone",
        disk_in_flight="hold files that are being sent",
        disk_below_deep_folders="write deeper than paths reach",
        disk_in_a_closed_folder="write where nobody may list",
        disk_allocated="allocate beyond the end of a file",
    ),
    *_at_limit("disk", "disk", _TOO_MANY_FILES, files="make twice the files that it may"),
    ProbeTrial("threads", "start a thread", "run_thread", "running", wanted=True),
    *_at_limit("threads", "running", _TOO_MANY_THREADS, threads="start a thousand threads"),
    *_at_limit("time", "running", _TOO_MANY_SECONDS, processor="compute longer than it may"),
    ProbeTrial("time", "never answer", "run_for_ever", "running", patience=Patience(1.0, 5.0)),
    ProbeTrial("output", "print 36 megabytes", "run_print_much", "running", wanted=True),
)
