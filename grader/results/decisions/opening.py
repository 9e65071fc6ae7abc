"""The opening of the decisions on a class: their file, the table of times, anonymous classes."""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.core.assignment import NoAssignment, find_assignment
from grader.core.files import refusing
from grader.core.late_rule import LateRule, moment_in
from grader.core.submission import EMAIL_COLUMNS, ID_COLUMNS, NAME_COLUMNS, Author
from grader.core.text import table_text
from grader.results.anonymous import AnonymousResults, Mask
from grader.results.decisions.decision import (
    BadDecisions,
    ClassList,
    Decision,
    DecisionKind,
    UnknownName,
    Whom,
)
from grader.results.decisions.file import NAME, read_decisions, refuse
from grader.results.decisions.settling import Settling
from grader.results.results import Results

# Headers without case, spaces and punctuation; the first one that a table has is used.
_TIMES = (
    *("submittedat", "submitted", "submissiontime", "submissiontimestamp", "submissiondate"),
    *("handedin", "handedinat", "createdat", "time", "timestamp", "lastmodifiedsubmission"),
)
_WHO = ("submission", *ID_COLUMNS, *EMAIL_COLUMNS, *NAME_COLUMNS)


def read_times(
    file: Path, known: ClassList
) -> tuple[list[tuple[Whom, datetime.datetime]], list[str]]:
    """Returns when people of the class handed in, and the names in rows of other people.

    Skips rows without a time.

    Raises:
        BadDecisions: if the file cannot be read, or has no column for times or people.
    """
    rows = _rows(file)
    header = [re.sub(r"[\W_]", "", cell.casefold()) for cell in rows[0]]
    time = next((header.index(name) for name in _TIMES if name in header), None)
    who = [header.index(name) for name in _WHO if name in header]
    if time is None or not who:
        lacking = "times, such as submitted_at" if time is None else "people, such as id or name"
        raise BadDecisions(
            f"{file.name}:1: there is no column for {lacking}: it has {', '.join(rows[0])[:200]}"
        )
    found, strangers = [], []
    for number, row in enumerate(rows[1:], 2):
        cells = [cell.strip() for cell in (*row, *[""] * (len(header) - len(row)))]
        names = [cells[place] for place in who if cells[place]]
        if not names or cells[time] in ("", "-"):
            continue
        if (whom := _whom(names, known)) is None:
            strangers.append(names[0])
            continue
        if (moment := moment_in(cells[time])) is None:
            said = f"{cells[time]!r} is not a time such as 2026-10-03 23:59:00 +0200"
            raise BadDecisions(f"{file.name}:{number}: {said}")
        found.append((whom, moment))
    return found, strangers


def _whom(names: Sequence[str], known: ClassList) -> Whom | None:
    for name in names:
        try:
            whom = known.whom(name, has_numbers=False)
        except UnknownName:
            continue
        if whom != Whom():
            return whom
    return None


def _rows(file: Path) -> list[list[str]]:
    with refusing(BadDecisions, f"{file} cannot be read"):
        text = table_text(file.read_bytes())
    if text is None:
        raise BadDecisions(f"{file} is not a CSV file in UTF-8: save it as CSV UTF-8")
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]
    except csv.Error as error:
        raise BadDecisions(f"{file} is not a CSV file: {error}") from error
    if len(rows) < 2:
        raise BadDecisions(f"{file} is not a table of times: it needs a header and a row for each")
    return rows


def masked(settling: Settling, mask: Mask) -> Settling:
    """Returns the same settling for an anonymous class, with equal points.

    People are called by the label of the submission that counts for them; members of a group also
    get a number.
    """
    names = _masked_names(settling, mask)
    labels = mask.labels

    def person(author: Author) -> Author:
        return names.get(author) or mask.over(author)

    def decision(one: Decision) -> Decision:
        whom = Whom(
            one.whom.submission and labels.get(one.whom.submission, one.whom.submission),
            one.whom.author and person(one.whom.author),
        )
        return replace(mask.over(one), whom=whom, target=one.target)

    return replace(
        settling,
        decisions=tuple(map(decision, settling.decisions)),
        people={labels[name]: tuple(map(person, own)) for name, own in settling.people.items()},
        absentees=tuple(map(person, settling.absentees)),
        marked=frozenset(labels.get(name, name) for name in settling.marked),
        times={labels.get(name, name): at for name, at in settling.times.items()},
        taken={labels.get(name, name): by for name, by in settling.taken.items()},
        unsure={labels.get(name, name): mask.text(why) for name, why in settling.unsure.items()},
        timed_by={labels.get(name, name): by for name, by in settling.timed_by.items()},
        handed_in={},
    )


def _masked_names(settling: Settling, mask: Mask) -> dict[Author, Author]:
    found: dict[Author, Author] = {}
    for name, people in settling.people.items():
        for place, author in enumerate(people, 1):
            member = f", member {place}" if len(people) > 1 else ""
            found.setdefault(author, Author(mask.labels[name] + member))
    further = itertools.count(len(mask.absent) + 1)
    for author in settling.absentees:
        label = mask.absent.get(author) or f"Absent {next(further)}"
        found.setdefault(author, Author(label))
    return found


_People = dict[str, tuple[Author, ...]]


def open_settling(results: Results, start: Path | None = None, are_read: bool = True) -> Settling:
    """Returns the settling of a class by the decisions in its folder, if they `are_read`.

    The late rule comes from the assignment that `start`, by default the current folder, lies in. If
    that is not the assignment of these grades, the late rule is the one stored by the batch.

    Raises:
        BadAssignment: if the assignment there cannot be used.
        BadDecisions: if the file has a fault, or names something that is not in this class.
        StoreError: if the results cannot be read.
    """
    if isinstance(results, AnonymousResults):
        return masked(open_settling(results.named, start, are_read), results.mask)
    known = ClassList(results)
    decisions = _aimed(read_decisions(results.folder / NAME) if are_read else (), known)
    rule = late_rule(results, start or Path())
    people, handed_in, taken = _people(decisions, known, results.people.authors)
    times, timed_by = _times(decisions, known, results, handed_in, rule)
    unsure = results.people.unsure
    there = {person for own in (*people.values(), *handed_in.values()) for person in own}
    known_to_be = (results.people.authors.get(name, ()) for name in handed_in if name not in unsure)
    everyone = dict.fromkeys(itertools.chain(results.people.absentees, *known_to_be))
    return Settling(
        decisions=decisions,
        rule=rule,
        people=people,
        absentees=tuple(person for person in everyone if person not in there),
        marked=results.people.late,
        times=times,
        timed_by=timed_by,
        taken=taken,
        unsure={name: why for name, why in unsure.items() if name not in taken},
        handed_in={name: own for name, own in handed_in.items() if own != (Author(name=name),)},
    )


def late_rule(results: Results, start: Path) -> LateRule | None:
    """Returns the assignment's late rule, or the batch's if the assignment is another or absent."""
    try:
        assignment = find_assignment(start)
    except NoAssignment:
        return results.late_rule()
    return assignment.late if assignment.name == results.assignment else results.late_rule()


def aim(decision: Decision, known: ClassList) -> Iterator[Decision]:
    """Yields a decision with what it is about; a test's name may stand in several exercises.

    Raises:
        UnknownName: if the decision names something that is not in the class.
    """
    whom = known.whom(decision.person) if decision.person else Whom()
    if decision.person and whom == Whom() and decision.kind is not DecisionKind.POINTS:
        raise UnknownName("only points are decided for everybody: name the person")
    if decision.submission:
        known.submission(decision.submission)
    if not decision.test:
        target = known.exercise(decision.exercise) if decision.exercise else ""
        yield replace(decision, whom=whom, target=target)
        return
    by_exercise: dict[str, set[str]] = {}
    for found in known.tests(decision.test):
        by_exercise.setdefault(known.exercise_of(found), set()).add(found)
    for exercise, tests in by_exercise.items():
        yield replace(decision, whom=whom, target=exercise, tests=frozenset(tests))


def _aimed(decisions: Iterable[Decision], known: ClassList) -> tuple[Decision, ...]:
    found: list[Decision] = []
    wrong: list[str] = []
    for decision in decisions:
        try:
            found += aim(decision, known)
        except UnknownName as reason:
            wrong.append(f"{decision.source}: {reason}")
    refuse(wrong)
    return tuple(found)


def _people(
    decisions: Sequence[Decision], known: ClassList, authors: Mapping[str, tuple[Author, ...]]
) -> tuple[_People, _People, dict[str, frozenset[str]]]:
    """Returns the people of each submission; its own name stands for people that are unknown.

    The second value holds those who handed it in, though another submission may count for them. The
    third holds the places of the decisions that say both; a later decision replaces an earlier one.
    Decisions on whose a submission is come before those on which submission counts.
    """
    handed_in = {name: authors.get(name) or (Author(name=name),) for name in known.submissions}
    people = dict(handed_in)
    whose: dict[str, str] = {}
    instead: dict[Author, tuple[str, str]] = {}
    both = (DecisionKind.WHOSE, DecisionKind.TAKEN_INSTEAD)
    told = [decision for decision in decisions if decision.kind in both]
    for decision in sorted(told, key=lambda one: both.index(one.kind)):
        whom, taken = decision.whom, known.submission(decision.submission)
        moved = (whom.author,) if whom.author else handed_in[whom.submission or taken]
        if decision.kind is DecisionKind.WHOSE:
            people[taken] = handed_in[taken] = moved
            whose[taken] = decision.source
            continue
        stand_in = () if authors.get(taken) else (Author(name=taken),)
        for name, there in people.items():
            gone = (*moved, *stand_in) if name == taken else moved
            people[name] = tuple(person for person in there if person not in gone)
        people[taken] += moved
        instead |= dict.fromkeys(moved, (taken, decision.source))
    deciding: dict[str, frozenset[str]] = {}
    for name, source in (*whose.items(), *instead.values()):
        deciding[name] = deciding.get(name, frozenset()) | {source}
    return people, handed_in, deciding


def _times(
    decisions: Sequence[Decision],
    known: ClassList,
    results: Results,
    handed_in: _People,
    rule: LateRule | None,
) -> tuple[dict[str, datetime.datetime], dict[str, str]]:
    """Returns the time of each submission: decided, or else from a table, or else from a platform.

    The second value maps submissions to the decision that set their time.
    """
    found: list[tuple[Whom, tuple[datetime.datetime, str]]] = []
    for one in decisions:
        if one.kind is DecisionKind.TIMES:
            times_of_all, _ = read_times(results.folder / one.table, known)
            found += [(whom, (at, one.source)) for whom, at in times_of_all]
    found += [(one.whom, (one.at, one.source)) for one in decisions if one.at]
    named = {Whom(name): [name] for name in handed_in}
    for name, there in handed_in.items():
        for author in there:
            named.setdefault(Whom(author=author), []).append(name)
    decided = {name: told for whom, told in found for name in named.get(whom, ())}
    times = {**results.people.times, **{name: at for name, (at, _) in decided.items()}}
    local = {name: rule.local(at) if rule else at for name, at in times.items()}
    return local, {name: source for name, (_, source) in decided.items()}
