"""The remarks for an instructor about an export, and the function that writes its file whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.core.submission import Author
from grader.core.text import Refusal, one_line
from grader.reports.export.scores import ClassScores


class ExportRefused(Refusal):
    """Nothing can be exported; the text is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence, and whom it is about; `lost` if points of theirs are not in the export."""

    text: str
    about: tuple[str, ...] = ()
    lost: bool = False

    def __str__(self) -> str:
        lines = [f"{self.text}: {len(self.about)}" if self.about else self.text]
        return "\n".join([*lines, *(f"  {one_line(who, 300)}" for who in self.about)])


@dataclass(frozen=True, slots=True)
class Export:
    """The text of an export, and what is to be said about it."""

    text: str
    remarks: tuple[Remark, ...] = ()


def remarks_on(scores: ClassScores, absent_zero: bool = False) -> tuple[Remark, ...]:
    """Returns the remarks on a class that hold in every format."""
    said = (
        _unsure(scores),
        _not_graded(scores),
        _undecided(scores),
        _absent(scores, absent_zero),
        _mixed(scores),
    )
    return tuple(remark for remarks in said for remark in remarks)


def described(person: Author) -> str:
    """Returns a person as far as known: "Jane Doe (123, jane@uni.example)"."""
    known = [text for text in (person.name, person.id, person.email) if text]
    first, *others = known or ["somebody without a name"]
    return f"{first} ({', '.join(others)})" if others else first


def handed_in(person: Author, submission: str) -> str:
    """Returns a person and the submission that speaks for them, if its name says more."""
    who = described(person)
    return who if submission == who else f"{who}, submission {submission}"


def _unsure(scores: ClassScores) -> Iterable[Remark]:
    about = {
        f"{handed_in(person, score.submission)}: {scores.unsure[score.submission]}": None
        for score in scores.scores
        if score.submission in scores.unsure
        for person in score.people or (Author(),)
    }
    if about:
        how = "type `grader decide RESULTS whose SUBMISSION PERSON` to give somebody their points"
        yield Remark(f"submissions of an uncertain author: {how}", (*about,), lost=True)


def _not_graded(scores: ClassScores) -> Iterable[Remark]:
    without = [
        f"{handed_in(person, score.submission)}: {score.words}"
        for score in scores.scores
        if score.total is None and not score.settlement.excused
        for person in score.people
    ]
    if without:
        why = "not graded, by the machine's fault or the grader's, and without points here"
        yield Remark(f"{why} (run `grader batch` again)", tuple(without), lost=True)


def _undecided(scores: ClassScores) -> Iterable[Remark]:
    about = [
        f"{handed_in(person, score.submission)}: {score.settlement.undecided}"
        for score in scores.scores
        if score.settlement.undecided
        for person in score.people
    ]
    if about:
        yield Remark("late, but nothing is taken off until you decide", tuple(about))


def _absent(scores: ClassScores, zero: bool) -> Iterable[Remark]:
    absent = [person for person in scores.absentees if person not in scores.excused]
    if absent:
        what = "with 0 points" if zero else "left blank"
        names = tuple(map(described, absent))
        yield Remark(f"on the roster, but handed in nothing, {what}", names)
    elif zero:
        yield Remark("nobody gets 0 points: no roster told of anybody who handed in nothing")


def _mixed(scores: ClassScores) -> Iterable[Remark]:
    suites = {score.suite for score in scores.scores if score.total}
    if len(suites) > 1:
        yield Remark(
            f"these grades are of {len(suites)} versions of the tests: "
            "run `grader batch` again before you hand them on"
        )


def write_whole(file: Path, content: str | bytes) -> None:
    """Writes `content`, text as UTF-8, beside `file`, then puts it in its place.

    Folders on the way are made.

    Raises:
        ExportRefused: if it cannot be written.
    """
    partial = file.with_name(f".{file.name}.partial")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        partial.replace(file)
    except OSError as error:
        raise ExportRefused(
            f"{file} cannot be written ({error.strerror}): name a file in a folder of yours"
        ) from error
