"""The report: a folder of pages, written whole or not at all, and the page of the class in it.

The page of the class, with the open decisions, is for instructors only.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import grader
from grader.core.points import hundredths
from grader.core.text import one_line
from grader.core.verdict import GradeStatus
from grader.explain.mistakes.clusters import AnswerCluster, clusters_of
from grader.explain.mistakes.named_mistakes import FILE as NAMES
from grader.explain.mistakes.named_mistakes import read_names
from grader.reports.package_needs import missing_in_words
from grader.reports.pages.changes import Changes, changes_page
from grader.reports.pages.class_data import ClassData, ClassEntry, Graded, ranked
from grader.reports.pages.rendering import (
    HEAD,
    INDEX,
    as_json,
    assets,
    render,
    whole_folder,
    write_page,
)
from grader.reports.pages.submission_page import submission_page
from grader.reports.suite_quality import complaints
from grader.reports.summary import AT_LEAST, absent_in_words, name_of, suspected
from grader.results.decisions.file import NAME as DECISIONS
from grader.results.decisions.opening import open_settling
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


_STYLES = ("vendor/uPlot.min.css", "assets/page.css", "assets/class.css")
_SCRIPTS = (
    "vendor/uPlot.iife.min.js",
    "assets/theme.js",
    "assets/drawing.js",
    "assets/list.js",
    "assets/plots.js",
    "assets/class.js",
)

_BINS = 20


def class_page(
    results: Results,
    settling: Settling,
    found: ClassData,
    decisions: Sequence[OpenDecision],
    made_of: str,
    compared: bool,
) -> str:
    """Returns the page of a class, with a hash of all that the report is `made_of`.

    A report that `compared` two batches has another page.
    """
    mistakes = ranked(found.counts.mistakes.values())
    others = ranked(found.counts.others.values())
    remarks = ranked(found.counts.remarks.values())
    kinds = [*mistakes, *others, *remarks]
    statuses = Counter(entry.status for entry in found.entries)
    most = max((entry.max_score for entry in found.entries), default=0.0)
    histogram = _histogram(found.scores, most)
    return render(
        "class.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(results.assignment),
        written=datetime.datetime.now().astimezone(),
        made_of=made_of,
        compared=compared,
        entries=found.entries,
        lacking=missing_in_words(results.lacking_packages()),
        decisions=decisions,
        folder=one_line(str(results.folder)),
        not_graded=statuses[GradeStatus.NOT_GRADED],
        unreadable=statuses[GradeStatus.UNREADABLE],
        changed=any(entry.changed or entry.marks for entry in found.entries),
        late=any(entry.late for entry in found.entries),
        notes=by_words((found.entries[place], note) for place, note in found.notes),
        failed_tests=found.failed_tests(),
        absentees=absent_in_words(settling),
        most=most,
        spread=_spread(found.scores, most),
        histogram=histogram[:_BINS],
        above=sum(histogram[_BINS:]),
        exercises=list(found.exercises.values()),
        mistakes=mistakes,
        others=others,
        remarks=remarks,
        data=as_json(found.columns(kinds) | {"histogram": histogram, "bins": _BINS}),
    )


def _spread(scores: Sequence[float], most: float) -> dict[str, float]:
    """Returns the scores of a class in a few numbers; none if there are no scores."""
    if not scores:
        return {}
    return {
        "mean": statistics.fmean(scores),
        "median": statistics.median(scores),
        "full": sum(score >= most for score in scores),
    }


def _histogram(scores: Iterable[float], most: float) -> list[int]:
    """Returns how many scores lie in each of `_BINS` equal parts; the last includes full scores.

    A further part holds the scores above the maximum, if there are any.
    """
    counts, whole = [0] * (_BINS + 1), hundredths(most)
    for reached in map(hundredths, scores):
        place = min(reached * _BINS // whole, _BINS - 1) if whole else 0
        counts[_BINS if reached > whole else place] += 1
    return counts if counts[_BINS] else counts[:_BINS]


CHANGES = "changes.html"
SUBMISSIONS = "submissions"
# Read a few grades at a time, so that a writer to the store never waits for a whole report.
_READ_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Report:
    """A written report: its first page, and the changes if two batches were compared.

    `decisions` are the open ones in words, each with the command that decides it.
    """

    index: Path
    decisions: Sequence[tuple[str, str]] = ()
    changes: Changes | None = None


def current_report(results: Results, found: ClassData, folder: Path) -> Report | None:
    """Returns the report in `folder`, if this grader wrote it of these very results.

    `found` is the class that the results hold.

    Raises:
        BadDecisions: if the decisions about these grades cannot be used.
        StoreError: if results cannot be read.
    """
    settling = open_settling(results)
    made_of = _made_of(results, settling)
    try:
        with (folder / INDEX).open("rb") as page:
            is_ours = f'content="{made_of}"'.encode() in page.read(HEAD)
        pages = sum(1 for _ in (folder / SUBMISSIONS).iterdir())
    except OSError:
        return None
    if not made_of or not is_ours or pages != len(found.entries):
        return None
    decisions = open_decisions(found, settling, unnamed_clusters(results))
    return Report(folder / INDEX, [one.in_short for one in decisions])


def _made_of(results: Results, settling: Settling) -> str:
    """Returns a hash of all that a report is made of; "" if the state of the results is unknown."""
    if not (state := results.state):
        return ""
    for name in (DECISIONS, NAMES):
        with contextlib.suppress(FileNotFoundError):
            state += (results.folder / name).read_text(encoding="utf-8", errors="replace")
    told = (state, settling.rule, str(results.folder), grader.__version__)
    return hashlib.sha256(repr(told).encode("utf-8", "surrogatepass")).hexdigest()


def write_report(results: Results, folder: Path, against: Results | None = None) -> Report:
    """Writes the pages of a batch in place of an earlier report in `folder`.

    With `against`, another batch over the same class, one page shows the changes since then. Only
    `folder` is written to.

    Raises:
        BadDecisions: if the decisions about these grades cannot be used.
        NotWritten: if `folder` holds anything but a report, or the disk refuses.
        StoreError: if results cannot be read.
    """
    settling, names = open_settling(results), results.submissions()
    made_of = "" if against else _made_of(results, settling)  # before grades that may still change
    found, changes = ClassData(), Changes() if against else None
    with whole_folder(folder) as partial:
        pages = partial / SUBMISSIONS
        pages.mkdir()
        for first in range(0, len(names), _READ_AT_ONCE):
            part = names[first : first + _READ_AT_ONCE]
            earlier = {one.submission: one for one in against.grades_of(part)} if against else {}
            for grade in results.grades_of(part, whole=True):
                name, graded = grade.submission, Graded.of(grade)
                settled = settling.settle(grade)
                content = submission_page(results.assignment, graded, grade.evidence, settled)
                write_page(pages / graded.page, content)
                found.add(graded, settling.handed_in.get(name, ()), settled)
                if changes is not None:
                    changes.add(graded, earlier.get(name))
        if changes is not None and against is not None:
            still = frozenset(names)
            changes.add_gone(name for name in against.submissions() if name not in still)
            write_page(partial / CHANGES, changes_page(results.assignment, changes))
        decisions = open_decisions(found, settling, unnamed_clusters(results))
        content = class_page(results, settling, found, decisions, made_of, bool(changes))
        write_page(partial / INDEX, content)
    return Report(folder / INDEX, [one.in_short for one in decisions], changes)
