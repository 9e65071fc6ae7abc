"""The verbs of the command line for Python programs; `import grader` is all that they need."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from grader.core.assignment import find_assignment
from grader.core.verdict import Grade
from grader.grading.batch import open_batch
from grader.grading.cluster.connection import chosen_pools
from grader.grading.coordinator import graded_alone
from grader.grading.options import Options
from grader.grading.options import require_isolation as require_every_layer
from grader.intake.discovery import discover, single
from grader.intake.people import attribute, read_roster
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settlement import Settlement
from grader.results.results import Results
from grader.results.store import Store

StrPath = str | os.PathLike[str]


def grade(
    submission: StrPath,
    *,
    assignment: StrPath = ".",
    seed: int | None = None,
    exercises: Iterable[str] = (),
    adapters: str = "adapters.py",
    timeout: float = 120,
    memory_mb: int = 2048,
    device: str = "cpu",
    explain: bool = True,
    explain_timeout: float = 20,
    require_isolation: bool = False,
) -> Grade:
    """Grades one submission: a folder, an archive, a notebook or a Python file; as `grader run`.

    Args:
        submission: where it lies.
        assignment: a folder of the assignment, or one below it.
        seed: draws the tests' inputs; by default a new one.
        exercises: the names of those to grade; by default all.
        adapters: where in the submission its adapters lie.
        timeout: the seconds that the submission may take.
        memory_mb: the megabytes of memory that it may use.
        device: where its functions are called, `cpu` or `cuda`.
        explain: whether to say what is wrong, and where, beside that it is.
        explain_timeout: the seconds that saying so may take.
        require_isolation: whether to refuse on a machine where a layer of isolation is missing.

    Raises:
        BadAssignment: if the assignment or the device cannot be used.
        NothingToGrade: if no submission lies there.
        NotIsolated: if isolation is required and does not hold.
    """
    if require_isolation:
        require_every_layer()
    options = Options(seed, tuple(exercises), adapters, timeout, memory_mb, device, explain_timeout)
    course = find_assignment(Path(assignment))
    return graded_alone(single(Path(submission)), course, options, explain)


def batch(
    submissions: StrPath | Iterable[StrPath],
    out: StrPath,
    *,
    assignment: StrPath = ".",
    roster: StrPath | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    seed: int | None = None,
    exercises: Iterable[str] = (),
    adapters: str = "adapters.py",
    timeout: float = 120,
    memory_mb: int = 2048,
    device: str = "cpu",
    explain: bool = True,
    explain_timeout: float = 20,
    require_isolation: bool = False,
    on_grade: Callable[[Grade], None] | None = None,
) -> Results:
    """Grades a class into the folder `out`; as `grader batch`.

    Over the same folder again, only what is new or changed is graded. Each grade is stored as it
    arrives: whatever stops the batch, what was graded is kept.

    Args:
        submissions: folders whose entries are submissions, or a platform's export; one or several.
        out: the folder for `results.sqlite` and `results.jsonl`.
        roster: a CSV file of the course's people; the results know them as authors and absentees.
        jobs: how many submissions are graded at a time; by default one for each processor.
        scheduler: the address of a Dask scheduler, on whose workers they are graded; by default
            they are graded on this machine.
        fresh: whether to forget the grades in `out` and grade everything anew.
        on_grade: called with every new grade as it arrives.
        assignment, seed, exercises, adapters, timeout, memory_mb, device, explain, explain_timeout,
            require_isolation: as in `grade`; words are added when all grades are stored. Without a
            seed, an earlier batch's over the same folder is kept.

    Returns the grades in `out`: `grades()` goes through them in the order of the class.

    Raises:
        BadAssignment: if the assignment or the device cannot be used.
        BadRoster: if the roster cannot be used.
        NothingToGrade: if a path is missing or holds no submission.
        StoreError: if `out` cannot be written, or holds what would be lost.
        NoCluster: if the scheduler does not answer, or none of its workers may grade.
        NotIsolated: if isolation is required and does not hold; on a cluster, the workers where it
            does not are refused.
    """
    paths = [submissions] if isinstance(submissions, str | os.PathLike) else submissions
    options = Options(seed, tuple(exercises), adapters, timeout, memory_mb, device, explain_timeout)
    course = find_assignment(Path(assignment))
    people = None if roster is None else read_roster(Path(roster))
    places = [Path(path) for path in paths]
    discovery = discover(places, adapters)
    if people is not None:
        discovery = attribute(discovery.entries, people).applied_to(discovery)
    with (
        chosen_pools(scheduler, jobs, warnings.warn, require_isolation) as pools,
        open_batch(discovery, places, Path(out), course, options, fresh) as opened,
        contextlib.closing(opened.results(pools, explain)) as results,
    ):
        for arrived in results:
            if on_grade is not None and isinstance(arrived, Grade):
                on_grade(arrived)
    return Store.read(Path(out))


def settle(out: StrPath, *, assignment: StrPath = ".") -> Iterator[Settlement]:
    """Returns final points: the tests' points, each decision, and what lateness costs.

    There is one settlement for each submission. A group whose members get different points has
    several; a submission in whose place another one counts has none. `final` are the points.

    Args:
        out: the folder that a batch left, with `decisions.toml` in it, if there are decisions.
        assignment: a folder of the assignment, or one below it, whose rule for lateness holds;
            where it is another one, the rule is taken that held when the batch ran.

    Raises:
        BadDecisions: if the decisions cannot be used.
        StoreError: if `out` holds no results.
    """
    results = Store.read(Path(out))
    settling = open_settling(results, start=Path(assignment))
    for grade in results.grades():
        yield from settling.settle(grade)
