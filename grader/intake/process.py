"""The intake process, which unpacks and parses hostile submissions.

`IntakeClient` starts it with one end of a socket. An order is a line of JSON: id, entry, folder for
the copy, path of the adapters, and whether to return only the needs. Two lines answer an order:
that it has begun, and its result. The cost of an order is bounded. A process that exceeds the bound
dies or says so, and the next order goes to a new process.
"""

from __future__ import annotations

import json
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from grader.core.folders import remove
from grader.core.names import several, shortened
from grader.core.processes import end_with_parent, limit_memory_growth
from grader.core.submission import Submission, Unreadable
from grader.intake.archives import ARCHIVES, unpack
from grader.intake.copying import Admission, CopyFailed, PrivateCopy, copy_folder, is_of_the_machine
from grader.intake.entry import Entry
from grader.intake.handed_in import HandedIn, archive_alone, handed_in, opened_archive, read_whole
from grader.intake.limits import DEFAULT_LIMITS, MIB, Bounds, CopyLimits, name_as_written
from grader.intake.open_folder import OpenFolder, read_bounded
from grader.intake.programs.import_plan import ImportPlan, composed, plan_imports, put_as_written
from grader.intake.programs.notebook import unfold, write_files, write_runner
from grader.intake.programs.source_facts import (
    Located,
    locate,
    names_no_adapter,
    read_facts,
    read_needs,
)

_COPY = "submission"
_ADAPTERS = "adapters.py"
_NESTED = 4  # archives that hold nothing but one archive
_SHELL = "get_ipython("


def take_in(
    entry: Entry, into: Path, adapters: str = _ADAPTERS, limits: CopyLimits = DEFAULT_LIMITS
) -> Submission:
    """Copies a submission into the empty folder `into` and finds its adapters, running nothing.

    `adapters` is a path inside a submission.

    Raises:
        ValueError: if `adapters` leads out of a submission.
        Unreadable: if nothing in it can be graded, for any reason: the content may be hostile.
        CopyFailed: if the copy could not be written.
    """
    wanted = PurePosixPath(adapters)
    if wanted.is_absolute() or ".." in wanted.parts or not wanted.name:
        raise ValueError(f"the adapters must be a file inside a submission, not {adapters!r}")
    try:
        return _taken_in(entry, into, wanted, limits)
    except (Unreadable, CopyFailed):
        raise
    except MemoryError as problem:
        raise CopyFailed("there is no memory left to read a submission") from problem
    except Exception as problem:
        why = shortened(f"{type(problem).__name__}: {problem}")
        if is_of_the_machine(problem):
            raise CopyFailed(f"cannot make the private copy: {why}") from problem
        raise Unreadable(f"it holds something that the grader cannot read ({why})") from problem


def copied(entry: Entry, into: Path) -> Path:
    """Returns the folder below `into` with a copy of what was handed in.

    Raises:
        Unreadable: if the submission cannot be read.
        CopyFailed: if the copy could not be written.
    """
    _copied(entry, into, _ADAPTERS, DEFAULT_LIMITS)
    return into / _COPY


def _copied(
    entry: Entry, into: Path, adapters: str, limits: CopyLimits
) -> tuple[str, str, bool, tuple[str, ...]]:
    """Copies what was handed in.

    Returns the path of its adapters and the name of its folder on its author's machine, as far as
    is known. Then whether a single file of another name became the adapters, and notes on files
    left out.
    """
    if entry.refused:
        raise Unreadable(entry.refused)
    copy = PrivateCopy(into / _COPY)
    with handed_in(entry, into) as handed:
        adapters, left_out = _copy(handed, copy, adapters, limits)
    is_folder = isinstance(handed.source, OpenFolder)
    home_name = handed.name if is_folder else handed.name.split(".")[0]
    left_out += _unpacked_within(into / _COPY, limits)
    put_as_written(into / _COPY, limits)
    is_renamed = handed.name.endswith(".py") and not is_folder and handed.name != _ADAPTERS
    notes = (*entry.left_out, *handed.left_out, *left_out)
    return composed(adapters), composed(home_name), is_renamed, notes


def _taken_in(entry: Entry, into: Path, wanted: PurePosixPath, limits: CopyLimits) -> Submission:
    into.chmod(0o755)
    adapters, home_name, is_renamed, left_out = _copied(entry, into, str(wanted), limits)
    alone = into / _COPY / _ADAPTERS
    is_program = is_renamed and alone.is_file()  # and not a notebook by another name
    if is_program and names_no_adapter(read_bounded(alone, limits.source.bytes_each)):
        raise Unreadable(
            "its only file names no adapter (run_… or get_…): hand in the adapters as well"
        )
    try:
        located = locate(into / _COPY, adapters, limits)
    except Unreadable as error:
        raise Unreadable(" ".join((f"{error}.", *left_out)).removesuffix(".")) from error
    home_name = home_name if located.root == into / _COPY else located.root.name
    located, has_shell = _ready_to_run(located, limits)
    notes = left_out if located.note is None else (*left_out, located.note)
    return _submission(entry.name, located, home_name, notes, has_shell)


def _copy(
    handed: HandedIn, copy: PrivateCopy, adapters: str, limits: CopyLimits
) -> tuple[str, tuple[str, ...]]:
    """Copies a submission; returns the path of its adapters, and notes on files left out."""
    source, name = handed.source, name_as_written(handed.name)
    if isinstance(source, OpenFolder):
        return adapters, copy_folder(source, copy, limits).notes()
    if name.endswith(".py"):
        copy.write([_ADAPTERS], [read_whole(source, limits.source.bytes_each)])
        return _ADAPTERS, ()
    if name.endswith(".ipynb"):
        copy.write([name], [read_whole(source, limits.notebooks.bytes_each)])
        return name, ()
    if not name.lower().endswith(ARCHIVES):
        raise Unreadable("it is neither a folder nor an archive, a notebook or a Python file")
    admission: Admission = unpack(source, copy, limits)
    return adapters, admission.notes()


def _unpacked_within(folder: Path, limits: CopyLimits) -> tuple[str, ...]:
    """Replaces a copy that is nothing but an archive by the archive's content."""
    notes: tuple[str, ...] = ()
    for depth in range(_NESTED):
        with OpenFolder(folder) as copy:
            place, others = archive_alone(copy)
            if not place:
                break
            if others:
                notes = (*notes, f"Left out (beside {shortened(place[-1])}): {several(others)}.")
            with opened_archive(copy, place) as archive:
                inner = folder.with_name(f"{folder.name}-{depth}")
                notes = (*notes, *unpack(archive, PrivateCopy(inner), limits).notes())
        remove(folder)
        inner.rename(folder)
    return notes


def _ready_to_run(located: Located, limits: CopyLimits) -> tuple[Located, bool]:
    """Unfolds a notebook of adapters; returns these, and whether they need a notebook's shell."""
    root, notebook = located.root, located.notebook
    place = root / located.file
    if notebook is None:
        return located, any(_SHELL in _text(file, limits) for file in root.rglob("*.py"))
    unfold(place, notebook)
    written = write_files(root, place.parent, notebook.files)
    if not read_facts(cell.encode("utf-8", "replace") for cell in notebook.cells).adapters:
        by_name = sorted(written, key=lambda file: file.name != _ADAPTERS)
        for file in by_name:
            facts = read_facts([_text(file, limits).encode("utf-8", "replace")])
            if facts.adapters:
                return Located(root, PurePosixPath(file.relative_to(root)), facts), True
    module = write_runner(
        place, (_ADAPTERS, *(f"notebook_{number}.py" for number in range(1, 100)))
    )
    return replace(located, file=located.file.with_name(module.name)), True


def _text(file: Path, limits: CopyLimits) -> str:
    if not file.is_file():
        return ""
    return read_bounded(file, limits.source.bytes_each).decode("utf-8", "replace")


def _submission(
    name: str, located: Located, home_name: str, notes: tuple[str, ...], has_shell: bool
) -> Submission:
    root, file = located.root, located.file
    plan = plan_imports(root, home_name, file, located.facts)
    _mark_as_packages(root, file, plan)
    import_paths = plan.import_paths
    if plan.package is not None:
        root.rename(root.with_name(plan.package))
        import_paths = (*(str(PurePosixPath(plan.package, path)) for path in import_paths), ".")
        root, file = root.parent, PurePosixPath(plan.package, file)
    return Submission(name, root, str(file), plan.module, import_paths, notes, has_shell)


def _mark_as_packages(root: Path, file: PurePosixPath, plan: ImportPlan) -> None:
    """Makes regular packages of the folders in the plan's module name.

    Otherwise another package of that name on the worker's path (many are called `tests`) would be
    found first.
    """
    folders = plan.module.count(".") - (plan.package is not None)
    packages = [root.joinpath(*file.parts[: depth + 1]) for depth in range(folders)]
    if plan.package is not None:
        packages.append(root)
    for package in packages:
        init = package / "__init__.py"
        if not init.exists():
            init.touch()
            init.chmod(0o644)


_MOST_KEPT = 256 * MIB  # memory; a process that held more is replaced, and most need a tenth


def main(descriptor: int, parent: int, bounds: Bounds) -> None:
    """Takes submissions in until the client hangs up or the process held too much memory."""
    serve(descriptor, parent, bounds, _outcome)


def serve(
    descriptor: int,
    parent: int,
    bounds: Bounds,
    outcome: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> None:
    """Answers orders by `outcome` until the client hangs up or the process held too much."""
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _bound(bounds)
    with socket.socket(fileno=descriptor) as channel, channel.makefile("rb") as orders:
        for line in orders:
            order = json.loads(line)
            # The timer counts by ticks, which run ahead on virtual machines that share processors.
            signal.setitimer(signal.ITIMER_PROF, 2 * bounds.processor_seconds)
            try:
                channel.sendall(_as_line({"begun": order["id"]}))
                channel.sendall(_as_line({"id": order["id"]} | _answered(order, outcome)))
            except ConnectionError:
                return
            if _most_held() > _MOST_KEPT:
                return


def _answered(
    order: Mapping[str, Any], outcome: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Returns the outcome of an order, or the reason why there is none."""
    try:
        return outcome(order)
    except Unreadable as problem:
        return {"unreadable": str(problem)}
    except (CopyFailed, MemoryError) as problem:
        # Memory runs out at the process's own bound first: the submission is too large.
        is_bound = any(isinstance(one, MemoryError) for one in (problem, problem.__cause__))
        return {"too large": True} if is_bound else {"failed": str(problem)}


def _outcome(order: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the submission, or its needs as far as its files can be read."""
    entry, into = Entry.from_json(order["entry"]), Path(order["into"])
    try:
        submission = take_in(entry, into, order["adapters"])
    except ValueError as problem:  # on the path of the adapters, which is not from the submission
        raise CopyFailed(str(problem)) from problem
    if not order["survey"]:
        return {"submission": submission.as_json()}
    try:
        return {"needs": sorted(read_needs(submission))}
    except MemoryError:
        raise
    except Exception as problem:  # all of it may be hostile
        raise Unreadable("what it imports cannot be read") from problem


def _as_line(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer).encode() + b"\n"


def _bound(bounds: Bounds) -> None:
    """Bounds memory, files and core dumps, except where an inherited bound is tighter."""
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, bounds.file)
    _set_limit(resource.RLIMIT_NOFILE, 256)
    if sys.platform == "linux":
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _set_limit(resource.RLIMIT_AS, mapped + bounds.memory)
        limit_memory_growth(bounds.memory)


def _set_limit(which: int, value: int) -> None:
    """Sets a soft limit, at most the hard limit, which stays."""
    most = resource.getrlimit(which)[1]
    resource.setrlimit(which, (value if most < 0 else min(value, most), most))


def _most_held() -> int:
    """Returns the peak memory of this process in bytes (Linux; elsewhere 0)."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)
