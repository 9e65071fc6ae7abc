"""What of a class waits for somebody to decide it: the top of its page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.core.text import one_line
from grader.core.verdict import GradeStatus
from grader.reports.pages.class_page.class_data import ClassData, ClassEntry
from grader.reports.pages.class_page.nameless import UnknownCluster
from grader.reports.weak_tests import complaints


@dataclass(frozen=True, slots=True)
class OpenDecision:
    """Something to decide: what, how, and about which submissions, each with a few words.

    `key` is for the page's own links; an `alarm` keeps somebody's points from being known; `lines`
    are of no submission.
    """

    key: str
    title: str
    advice: str
    about: tuple[tuple[ClassEntry, str], ...] = ()
    command: str = ""
    alarm: bool = False
    lines: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How much there is to decide."""
        return len(self.about) or len(self.lines)


def needs(
    found: ClassData, unsure: Mapping[str, str], groups: Sequence[UnknownCluster] = ()
) -> list[OpenDecision]:
    """All that is to be decided, the most pressing first.

    `unsure` says of submissions, by their names, why it is not certain whose they are; `groups`
    are those of wrong answers.
    """
    return [need for need in _all(found, unsure, groups) if need.count]


def _all(
    found: ClassData, unsure: Mapping[str, str], groups: Sequence[UnknownCluster]
) -> Iterator[OpenDecision]:
    yield OpenDecision(
        "not-graded",
        "NOT GRADED",
        "This is the machine’s fault or the grader’s, and costs nobody points: run the same "
        "command again to grade what is left.",
        _with_status(found, GradeStatus.NOT_GRADED),
        alarm=True,
    )
    yield OpenDecision(
        "contested",
        "in one person’s name with others",
        "Exports put down none of them until you say which one counts.",
        tuple(_contested(found)),
        "grader decide DIR take PERSON SUBMISSION",
    )
    by_name = {entry.submission: entry for entry in found.entries}
    yield OpenDecision(
        "unsure",
        "whose author is not certain",
        "Their points go to nobody on the roster: mend the roster and run the batch again, or say "
        "whose they are.",
        tuple(
            (by_name[name], one_line(why, 300))
            for name, why in unsure.items()
            if name in by_name and not by_name[name].is_settled
        ),
        "grader decide DIR take PERSON SUBMISSION",
    )
    yield OpenDecision(
        "late",
        "late, and nothing says what that costs",
        "Nothing is taken off until you write the rule, [tool.grader.late], say when they handed "
        "in, or give them more time.",
        tuple((entry, entry.undecided) for entry in found.entries if entry.undecided),
        "grader decide DIR times FILE.csv",
    )
    yield OpenDecision(
        "unreadable",
        "unreadable",
        "Nothing of these could be imported: they have 0 points, and are counted neither as wrong "
        "nor as missing. Ask for another file, or decide what they get.",
        tuple(
            (entry, words)
            for entry, words in _with_status(found, GradeStatus.UNREADABLE)
            if not entry.is_settled
        ),
        "grader decide DIR points PERSON POINTS --reason …",
    )
    yield OpenDecision(
        "weak",
        "said of tests: they tell nobody apart, or fail for those who are right",
        "Mend such a test and run the batch again, which asks that test alone, or take it out.",
        command="grader decide DIR drop TEST --reason …",
        lines=tuple(weak(found)),
    )
    yield OpenDecision(
        "groups",
        "without a name among wrong answers that several gave",
        "Say what is wrong and what to think about: all members read it at once.",
        tuple(
            (one.members[0], f"and {len(one.members) - 1} more in {one.said}")
            for one in groups
            if not one.named and one.members
        ),
        "grader mistakes DIR",
    )


def weak(found: ClassData) -> Iterator[str]:
    """What speaks against tests, each with its exercise."""
    for one in found.exercise_tests():
        for said in complaints(one):
            yield f"{one_line(one.name)}: {said}"


def _with_status(found: ClassData, status: GradeStatus) -> tuple[tuple[ClassEntry, str], ...]:
    return tuple(
        (entry, entry.words) for entry in found.entries if entry.status is status and entry.counts
    )


def _contested(found: ClassData) -> Iterator[tuple[ClassEntry, str]]:
    """The submissions of people who have several that count."""
    own: dict[object, list[ClassEntry]] = defaultdict(list)
    for entry in found.entries:
        for key in entry.keys if entry.counts else ():
            own[key].append(entry)
    told: set[str] = set()
    for entries in own.values():
        for entry in entries if len(entries) > 1 else ():
            if entry.submission not in told:
                told.add(entry.submission)
                others = ", ".join(o.name for o in entries if o is not entry)
                yield entry, f"{entry.people}: also {others}"
