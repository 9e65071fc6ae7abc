"""The points of each person of a class, without the tests, and the remarks about an export.

The points of a whole class fit in memory at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.core.files import replaced
from grader.core.points import points_of
from grader.core.submission import Author
from grader.core.text import Refusal, one_line, unstopped
from grader.explain.mistakes.named_mistakes import FILE as NAMES
from grader.reports.standing import complaints
from grader.results.database import FILE, LINES
from grader.results.decisions.file import NAME
from grader.results.decisions.settlement import Settlement, in_words
from grader.results.decisions.settling import Settling
from grader.results.results import Results


@dataclass(frozen=True, slots=True)
class Score:
    """The points of some people for a submission; an incomplete grade has no points.

    `words` are the causes in words; `suite` is the hash of the tests that judged the submission.
    """

    settlement: Settlement
    words: str
    suite: str

    @property
    def submission(self) -> str:
        """Returns the submission's name."""
        return self.settlement.submission

    @property
    def people(self) -> tuple[Author, ...]:
        """Returns the people who get the points; if unknown, one named like the submission."""
        return self.settlement.people

    @property
    def feedback(self) -> str:
        """Returns the feedback for the people: the comments, the changes, and the causes."""
        comments = [unstopped(one) for one in self.settlement.comments]
        changed = [in_words(change) for change in self.settlement.changes]
        return "; ".join([*comments, *changed, self.words])


@dataclass(frozen=True, slots=True)
class ClassScores:
    """The scores of a class, in its order, and the roster's people who handed in nothing.

    `excused` maps each excused absentee to the reason. `unsure` maps each submission of an
    uncertain author to the reason. Nobody knows whether those of `untimed` are late.
    """

    assignment: str
    scores: tuple[Score, ...]
    absentees: tuple[Author, ...] = ()
    excused: Mapping[Author, str] = field(default_factory=dict)
    unsure: Mapping[str, str] = field(default_factory=dict)
    untimed: frozenset[str] = frozenset()

    @property
    def max_score(self) -> float | None:
        """Returns the maximum points of the assignment; None if no submission has points."""
        settled = [score.settlement for score in self.scores]
        return max((points_of(own.worth) for own in settled if own.has_points), default=None)

    @property
    def exercises(self) -> dict[str, float]:
        """Returns the points that each exercise is worth, in the order of the tests."""
        worth: dict[str, float] = {}
        for score in self.scores:
            for name, each in score.settlement.exercises.items():
                worth[name] = max(points_of(each.worth), worth.get(name, 0.0))
        return worth


def class_scores(results: Results, settling: Settling) -> ClassScores:
    """Returns the scores of all grades in a folder, its absentees and uncertain submissions.

    A grade has several scores if its people get different points.
    """
    scores = []
    for grade in results.grades():
        words = complaints(grade)
        scores += [Score(own, words, grade.suite_hash) for own in settling.settle(grade)]
    reasons = {person: settling.excused(person) for person in settling.absentees}
    excused = {person: why for person, why in reasons.items() if why}
    absentees, unsure = settling.absentees, settling.unsure
    untimed = frozenset(settling.untimed)
    return ClassScores(results.assignment, tuple(scores), absentees, excused, unsure, untimed)


class ExportRefused(Refusal):
    """The error that nothing can be exported; its text is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence, and the people it is about; `lost` if their points are not in the export."""

    text: str
    about: tuple[str, ...] = ()
    lost: bool = False

    def __str__(self) -> str:
        lines = [f"{self.text}: {len(self.about)}" if self.about else self.text]
        return "\n".join([*lines, *(f"  {one_line(who, 300)}" for who in self.about)])


@dataclass(frozen=True, slots=True)
class Export:
    """The text of an export, and remarks about it."""

    text: str
    remarks: tuple[Remark, ...] = ()


def remarks_on(scores: ClassScores, absent_zero: bool) -> tuple[Remark, ...]:
    """Returns the remarks on a class that hold in every format."""
    absent = [described(person) for person in scores.absentees if person not in scores.excused]
    suites = {score.suite for score in scores.scores if score.settlement.has_points}
    remarks = (
        Remark(
            "submissions of an uncertain author: type `grader decide RESULTS whose SUBMISSION "
            "PERSON` to give somebody their points",
            _told(scores, lambda one: scores.unsure.get(one.submission)),
            lost=True,
        ),
        Remark(
            "not graded, by no fault of the submissions, and without points here "
            "(run `grader batch` again)",
            _told(scores, lambda one: None if _is_settled(one.settlement) else one.words),
            lost=True,
        ),
        Remark(
            "late, but nothing is taken off until you decide",
            _told(scores, lambda one: one.settlement.undecided or None),
        ),
        Remark(
            "on the roster, but handed in nothing, "
            + ("with 0 points" if absent_zero else "left blank"),
            tuple(absent),
        ),
    )
    said = [remark for remark in remarks if remark.about]
    if absent_zero and not absent:
        none = "nobody gets 0 points: no roster names a person who handed in nothing"
        said.append(Remark(none))
    if len(suites) > 1:
        mixed = f"these grades are of {len(suites)} versions of the tests"
        said.append(Remark(f"{mixed}: run `grader batch` again before you hand them on"))
    return tuple(said)


def _is_settled(own: Settlement) -> bool:
    return own.has_points or own.excused


def _told(scores: ClassScores, what: Callable[[Score], str | None]) -> tuple[str, ...]:
    """Returns the people with something to tell about their submission, and that."""
    return tuple(
        f"{handed_in(person, score.submission)}: {said}"
        for score in scores.scores
        if (said := what(score)) is not None
        for person in score.people or (Author(),)
    )


def described(person: Author) -> str:
    """Returns a person's known name, id and address: "Jane Doe (123, jane@uni.example)"."""
    known = [text for text in (person.name, person.id, person.email) if text]
    first, *others = known or ["somebody without a name"]
    return f"{first} ({', '.join(others)})" if others else first


def handed_in(person: Author, submission: str) -> str:
    """Returns a person, with the submission's name unless both are the same text."""
    who = described(person)
    return who if submission == who else f"{who}, submission {submission}"


def write_whole(file: Path, content: str | bytes) -> None:
    """Writes `content`, text as UTF-8, to a partial file, then renames that to `file`.

    Creates missing parent folders.

    Raises:
        ExportRefused: if the file cannot be written, or belongs to a batch's results.
    """
    refuse_results(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replaced(file) as partial:
            partial.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise ExportRefused(
            f"{file} cannot be written ({error.strerror}): name a file in a folder of yours"
        ) from error


_OF_A_BATCH = (FILE, LINES, NAME, NAMES)


def refuse_results(file: Path) -> None:
    """Refuses a file of grades, decisions or names of mistakes: nothing could bring it back.

    Raises:
        ExportRefused: if the file is one of these, or a link to it.
    """
    for place in (file.absolute(), Path(os.path.realpath(file))):
        if place.name in _OF_A_BATCH and os.path.lexists(place.with_name(FILE)):
            raise ExportRefused(f"{file} belongs to a batch's results: name another file")
