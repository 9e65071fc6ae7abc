"""The verbs of the command line for Python programs, which find them in `grader`."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from grader.core.assignment import Assignment, find_assignment
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
    assignment: StrPath | None = None,
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
    """Grades a submission (folder, archive, notebook or Python file), as `grader run` does.

    Args:
        submission: the path of the submission.
        assignment: the assignment's folder, or one below it; by default the current folder.
        seed: the seed of the tests' inputs; by default a new one.
        exercises: the names of the exercises to grade; by default all.
        adapters: the path of the adapters in the submission.
        timeout: the seconds that the submission may take.
        memory_mb: the megabytes of memory that the submission may use.
        device: the device on which its functions are called, `cpu` or `cuda`.
        explain: whether to explain what is wrong, and where.
        explain_timeout: the seconds that the explanation may take.
        require_isolation: whether to refuse on a machine where a layer of isolation is missing.

    Raises:
        BadAssignment: if the assignment or the device cannot be used.
        NothingToGrade: if no submission lies there.
        NotIsolated: if isolation is required and does not hold.
    """
    if require_isolation:
        require_every_layer()
    options = Options(
        seed, _names(exercises), adapters, timeout, memory_mb, device, explain_timeout
    )
    course = _assignment(assignment, [Path(submission)])
    return graded_alone(single(Path(submission)), course, options, explain)


def _assignment(folder: StrPath | None, submissions: Sequence[Path]) -> Assignment:
    """Returns the assignment in a folder, or else the current one, if that is no submission's."""
    return find_assignment(Path(folder or "."), () if folder else submissions)


def _names(exercises: str | Iterable[str]) -> tuple[str, ...]:
    """Returns the names of exercises; a text is one name."""
    return (exercises,) if isinstance(exercises, str) else tuple(exercises)


def batch(
    submissions: StrPath | Iterable[StrPath],
    out: StrPath,
    *,
    assignment: StrPath | None = None,
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
    """Grades a class into the folder `out`, as `grader batch` does.

    A second batch into the same folder grades only new or changed submissions. Each grade is stored
    as it arrives, so that it is kept if the batch stops.

    Args:
        submissions: folders whose entries are submissions, or a platform's export; one or several.
        out: the folder for `results.sqlite` and `results.jsonl`.
        roster: a CSV file of the course's people, who become authors and absentees in the results.
        jobs: how many submissions are graded at a time; by default one for each processor.
        scheduler: the address of a Dask scheduler whose workers grade; by default this machine
            grades.
        fresh: whether to forget the grades in `out` and grade everything again.
        on_grade: called with every new grade as it arrives.
        assignment, seed, exercises, adapters, timeout, memory_mb, device, explain, explain_timeout,
            require_isolation: as in `grade`. Explanations are added when all grades are stored.
            Without `seed`, the seed of an earlier batch into `out` is kept.

    Returns the grades in `out`: `grades()` goes through them in the order of the class.

    Raises:
        BadAssignment: if the assignment or the device cannot be used.
        BadRoster: if the roster cannot be used.
        NothingToGrade: if a path is missing or holds no submission.
        StoreError: if `out` cannot be written, or holds content that would be lost.
        NoCluster: if the scheduler does not answer, or none of its workers may grade.
        NotIsolated: if isolation is required and does not hold. On a cluster, only the workers
            without isolation are refused.
    """
    paths = [submissions] if isinstance(submissions, str | os.PathLike) else submissions
    options = Options(
        seed, _names(exercises), adapters, timeout, memory_mb, device, explain_timeout
    )
    places = [Path(path) for path in paths]
    course = _assignment(assignment, places)
    people = None if roster is None else read_roster(Path(roster))
    discovery = discover(places, adapters, Path(out))
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
    """Yields settlements: the tests' points after decisions and deductions for lateness.

    A submission has one settlement, whose `final` holds the points. A group whose members get
    different points has several. A submission has none if another one is taken instead.

    Args:
        out: the folder of a batch's results, with `decisions.toml` if there are decisions.
        assignment: the assignment's folder, or one below it, for its rule on lateness. For the
            folder of another assignment, the rule from the time of the batch is used.

    Raises:
        BadDecisions: if the decisions cannot be used.
        StoreError: if `out` holds no results.
    """
    results = Store.read(Path(out))
    settling = open_settling(results, start=Path(assignment))
    for grade in results.grades():
        yield from settling.settle(grade)
