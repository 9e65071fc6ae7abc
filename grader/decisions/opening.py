"""Opens what is decided of a class: the file of decisions, held against the class and its times."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.decisions.class_list import ClassList, Unknown, Whom
from grader.decisions.decision import (
    EVERYBODY,
    BadDecisions,
    Decision,
    Decisions,
    HandedIn,
    PointsChanged,
    TakenInstead,
)
from grader.decisions.file import NAME, read_decisions, refuse
from grader.decisions.settling import Aimed, Settling, Target
from grader.late_rule import LateRule
from grader.store import Results
from grader.submission import Author

_People = dict[str, tuple[Author, ...]]


def open_settling(
    results: Results, rule: LateRule | None = None, file: Path | None = None
) -> Settling:
    """Settles the grades of a class by the decisions in a file, by default the one beside them.

    Raises:
        BadDecisions: if something in the file is wrong, or speaks of what is not in this class.
        StoreError: if the results cannot be read.
    """
    if file is not None and not file.is_file():
        raise BadDecisions(f"{file} cannot be found: name the file of decisions")
    decisions = read_decisions(file or results.folder / NAME)
    known = ClassList.of(results)
    aimed = _aimed(decisions, known)
    return Settling(
        aimed=aimed,
        rule=rule,
        people=_people(aimed, known, results.authors),
        absentees=results.absentees,
        marked=results.late,
        times=_times(aimed, results.authors, rule),
    )


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
            yield Aimed(decision, Target(whom, exercise, frozenset(tests)))
        return
    exercise = getattr(decision, "exercise", "")
    yield Aimed(decision, Target(whom, known.exercise(exercise) if exercise else ""))


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


def _times(
    aimed: tuple[Aimed, ...], authors: Mapping[str, tuple[Author, ...]], rule: LateRule | None
) -> dict[str, datetime.datetime]:
    """When each submission was handed in, by what was decided."""
    times: dict[str, datetime.datetime] = {}
    for one in aimed:
        if isinstance(one.decision, HandedIn):
            at = one.decision.at
            moment = rule.local(at) if rule else at
            whom = one.target.whom
            own = [whom.submission] if whom.submission else []
            own += [name for name, there in authors.items() if whom.author in there]
            times |= {name: moment for name in own if name}
    return times
