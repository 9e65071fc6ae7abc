"""The open decisions of a class, for instructors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.core.text import one_line
from grader.core.verdict import GradeStatus
from grader.explain.mistakes.clusters import AnswerCluster, clusters_of, read_names
from grader.reports.pages.class_data import ClassData, ClassEntry
from grader.reports.suite_quality import complaints
from grader.reports.summary import AT_LEAST, name_of, suspected
from grader.results.decisions.settlement import RULE
from grader.results.decisions.settling import Settling
from grader.results.results import Results


def unnamed_clusters(results: Results) -> list[AnswerCluster]:
    """Returns the clusters with two members or more and without a name, the largest first.

    Raises:
        BadNames: if the instructor's names of mistakes cannot be read.
        StoreError: if the results cannot be read.
    """
    names = read_names(results.folder)
    return [
        one
        for one in clusters_of(results.wrong_answers())
        if len(one.members) >= AT_LEAST and name_of(one, names) is None
    ]


@dataclass(frozen=True, slots=True)
class OpenDecision:
    """A decision to take: its title, advice, and the submissions concerned, with a few words.

    `key` is for the page's own links. An `alarm` means that the points of a person are unknown.
    `lines` belong to no submission; in a terminal the command `shown_by` prints them.
    """

    key: str
    title: str
    advice: str
    about: tuple[tuple[ClassEntry, str], ...] = ()
    command: str = ""
    alarm: bool = False
    lines: tuple[str, ...] = ()
    shown_by: str = ""

    @property
    def in_short(self) -> tuple[str, str]:
        """Returns the count and the title, and the command to type next or ""."""
        return f"{self.count} {self.title}", self.shown_by or self.command

    @property
    def by_words(self) -> dict[str, list[ClassEntry]]:
        """Returns each text about submissions, with the submissions that it is about."""
        return by_words(self.about)

    @property
    def count(self) -> int:
        """Returns the number of submissions or lines to decide about."""
        return len(self.about) or len(self.lines)


def by_words(told: Iterable[tuple[ClassEntry, str]]) -> dict[str, list[ClassEntry]]:
    """Returns each text once, with the entries that it is about."""
    found: dict[str, list[ClassEntry]] = {}
    for entry, words in told:
        found.setdefault(words, []).append(entry)
    return found


def open_decisions(
    found: ClassData, settling: Settling, clusters: Sequence[AnswerCluster] = ()
) -> list[OpenDecision]:
    """Returns the open decisions, the most urgent first; `clusters` have no name yet."""
    return [one for one in _every_decision(found, settling, clusters) if one.count]


def _every_decision(
    found: ClassData, settling: Settling, clusters: Sequence[AnswerCluster]
) -> Iterator[OpenDecision]:
    yield OpenDecision(
        "not-graded",
        "NOT GRADED",
        "This is not the submissions' fault, and costs nobody points: run the same "
        "command again to grade what is left.",
        _with_status(found, GradeStatus.NOT_GRADED),
        alarm=True,
    )
    yield OpenDecision(
        "contested",
        "that share an author with another",
        "Exports leave all of them out until you say which one counts.",
        tuple(_contested(found)),
        "grader decide RESULTS taken-instead PERSON SUBMISSION",
    )
    by_name = {entry.submission: entry for entry in found.entries}
    yield OpenDecision(
        "unsure",
        "of an uncertain author",
        "Exports give nobody their points: say whose they are, or fix the roster and run the batch "
        "again.",
        tuple(
            (by_name[name], one_line(why, 300))
            for name, why in settling.unsure.items()
            if name in by_name
        ),
        "grader decide RESULTS whose SUBMISSION PERSON",
    )
    rule = settling.rule
    to_do = "say when they handed in" if rule else f"write the rule, {RULE}, and give the times"
    yield OpenDecision(
        "late",
        "late, and no time says by how much" if rule else "late, and nothing says what that costs",
        f"Nothing is taken off until you {to_do}, or give them more time.",
        tuple((entry, entry.undecided) for entry in found.entries if entry.undecided),
        "grader decide RESULTS times FILE.csv",
    )
    yield OpenDecision(
        "untimed",
        "without a time, although there is a late rule",
        "They count as handed in on time, and nothing is marked as late. If you know better, say "
        "when they handed in.",
        tuple((by_name[name], "no time is known") for name in settling.untimed if name in by_name),
        "grader decide RESULTS times FILE.csv",
    )
    yield OpenDecision(
        "unreadable",
        "unreadable",
        "None of these could be imported: their tests earn nothing, and count neither as wrong nor "
        "as missing. Ask for another file, or decide what they get.",
        tuple(
            (entry, words)
            for entry, words in _with_status(found, GradeStatus.UNREADABLE)
            if not entry.is_settled
        ),
        "grader decide RESULTS points PERSON POINTS --reason …",
    )
    yield OpenDecision(
        "weak",
        ("exercise has" if len(lines := [*doubted(found)]) == 1 else "exercises have")
        + " tests that may be faulty",
        "Everyone fails them, or otherwise correct submissions do. If such a test is wrong, fix "
        "it and run the batch again, or take it out.",
        command="grader decide RESULTS taken-out TEST --reason …",
        lines=tuple(lines),
        shown_by="grader report RESULTS --details",
    )
    yield OpenDecision(
        "groups",
        ("group" if len(clusters) == 1 else "groups")
        + " of students made the same unrecognised mistake",
        "Name it, with one sentence and a hint: all members of the group read them.",
        tuple(
            (by_name[one.members[0]], f"and {len(one.members) - 1} more in {suspected(one, None)}")
            for one in clusters
        ),
        "grader mistakes RESULTS",
    )


def doubted(found: ClassData) -> Iterator[str]:
    """Yields the complaints about each exercise's tests, in one line, if there are some."""
    for one in found.suite.values():
        if said := [*complaints(one)]:
            yield f"{one_line(one.name)}: {'; '.join(said)}"


def _with_status(found: ClassData, status: GradeStatus) -> tuple[tuple[ClassEntry, str], ...]:
    return tuple(
        (entry, entry.words) for entry in found.entries if entry.status is status and entry.counts
    )


def _contested(found: ClassData) -> Iterator[tuple[ClassEntry, str]]:
    """Yields the submissions of people who have several that count."""
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
