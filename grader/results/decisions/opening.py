"""Opens what is decided of a class: the file of decisions, held against the class and its times."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.core.assignment import NoAssignment, find_assignment
from grader.core.late_rule import LateRule
from grader.core.submission import Author
from grader.results.anonymous import AnonymousResults
from grader.results.decisions.anonymous import masked
from grader.results.decisions.class_list import ClassList, Unknown, Whom
from grader.results.decisions.decision import (
    EVERYBODY,
    BadDecisions,
    Decision,
    Decisions,
    HandInTime,
    PointsChanged,
    TakenInstead,
    Times,
)
from grader.results.decisions.file import NAME, read_decisions, refuse
from grader.results.decisions.settling import Aimed, DecisionTarget, Settling
from grader.results.decisions.times import of_submissions, read_times
from grader.results.results import Results

_People = dict[str, tuple[Author, ...]]


def open_settling(
    results: Results, file: Path | None = None, start: Path | None = None
) -> Settling:
    """Settles the grades of a class by the decisions in a file, by default the one beside them.

    What handing in late costs is as the assignment says that `start`, by default the current
    folder, lies in; if it lies in no such assignment, as it was when the batch ran.

    Raises:
        BadAssignment: if the assignment there cannot be used.
        BadDecisions: if something in the file is wrong, or speaks of what is not in this class.
        StoreError: if the results cannot be read.
    """
    if isinstance(results, AnonymousResults):
        return masked(open_settling(results.named, file, start), results.mask)
    if file is not None and not file.is_file():
        raise BadDecisions(f"{file} cannot be found: name the file of decisions")
    decisions = read_decisions(file or results.folder / NAME)
    known = ClassList.of(results)
    aimed = _aimed(decisions, known)
    rule = late_rule(results, start or Path())
    beside = (file or results.folder / NAME).parent
    times, timed_by = _times(aimed, known, results, rule, beside)
    return Settling(
        aimed=aimed,
        rule=rule,
        people=_people(aimed, known, results.authors),
        absentees=results.absentees,
        marked=results.late,
        times=times,
        timed_by=timed_by,
        taken=_taken(aimed, known),
    )


def late_rule(results: Results, start: Path) -> LateRule | None:
    """What handing in late costs."""
    try:
        assignment = find_assignment(start)
    except NoAssignment:
        return results.late_rule()
    return assignment.late if assignment.name == results.assignment else results.late_rule()


def aim(decision: Decision, known: ClassList) -> Iterator[Aimed]:
    """What a decision is about: a test's name may stand for tests of several exercises.

    Raises:
        Unknown: if it speaks of what is not in the class.
    """
    person = getattr(decision, "person", EVERYBODY)
    whom = known.whom(person)
    if whom == Whom() and not (person is EVERYBODY or isinstance(decision, PointsChanged)):
        raise Unknown("only points are decided for everybody: name the person")
    if isinstance(decision, TakenInstead):
        known.submission(decision.submission)
    if test := getattr(decision, "test", ""):
        by_exercise: dict[str, set[str]] = {}
        for found in known.tests(test):
            by_exercise.setdefault(known.exercise_of(found), set()).add(found)
        for exercise, tests in by_exercise.items():
            yield Aimed(decision, DecisionTarget(whom, exercise, frozenset(tests)))
        return
    exercise = getattr(decision, "exercise", "")
    yield Aimed(decision, DecisionTarget(whom, known.exercise(exercise) if exercise else ""))


def _aimed(decisions: Decisions, known: ClassList) -> tuple[Aimed, ...]:
    found: list[Aimed] = []
    wrong: list[str] = []
    for decision in decisions.all:
        try:
            found += aim(decision, known)
        except Unknown as reason:
            wrong.append(f"{decision.source}: {reason}")
    refuse(wrong)
    return tuple(found)


def _people(
    aimed: tuple[Aimed, ...], known: ClassList, authors: Mapping[str, tuple[Author, ...]]
) -> _People:
    """Whom each submission counts for; where nobody is known, its name stands for them."""
    handed_in = {
        name: authors.get(name) or (Author(name=name),) for name in known.submissions.values()
    }
    people = dict(handed_in)
    for one in aimed:
        if not isinstance(one.decision, TakenInstead):
            continue
        whom, taken = one.target.whom, known.submission(one.decision.submission)
        moved = (whom.author,) if whom.author else handed_in[whom.submission or taken]
        for name, there in people.items():
            people[name] = tuple(person for person in there if person not in moved)
        if not authors.get(taken):
            people[taken] = ()
        people[taken] += moved
    return people


def _taken(aimed: tuple[Aimed, ...], known: ClassList) -> dict[str, frozenset[str]]:
    """By the submissions that count in place of others, the decisions that say so."""
    found: dict[str, frozenset[str]] = {}
    for one in aimed:
        if isinstance(one.decision, TakenInstead):
            name = known.submission(one.decision.submission)
            found[name] = found.get(name, frozenset()) | {one.decision.source}
    return found


def _times(
    aimed: tuple[Aimed, ...],
    known: ClassList,
    results: Results,
    rule: LateRule | None,
    beside: Path,
) -> tuple[dict[str, datetime.datetime], dict[str, str]]:
    """When each submission was handed in: as decided, as tables say, or as a platform told.

    And which decision told it, if one did.
    """
    found: list[tuple[Whom, tuple[datetime.datetime, str]]] = []
    for one in aimed:
        if isinstance(one.decision, Times):
            source, table = one.decision.source, beside / one.decision.table
            found += [(whom, (at, source)) for whom, at in read_times(table, known)]
    for one in aimed:
        if isinstance(one.decision, HandInTime):
            found.append((one.target.whom, (one.decision.at, one.decision.source)))
    decided = of_submissions(found, results.authors)
    times = {**results.times, **{name: at for name, (at, _) in decided.items()}}
    local = {name: rule.local(at) if rule else at for name, at in times.items()}
    return local, {name: source for name, (_, source) in decided.items()}
