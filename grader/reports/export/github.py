"""A grade in GitHub's forms: annotations, a step's summary, Classroom's result.

Classroom adds up the tests' scores, but its reporter's table counts the tests that pass. An
exercise becomes a test for each point, or for several if there are more than a hundred. The two
numbers then differ only by points that are earned in part.

The source is GitHub's documentation, "Workflow commands for GitHub Actions". It allows ten
annotations of a kind in each step, and a summary of at most 1024 KiB.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from grader.core.causes import Cause
from grader.core.points import hundredths, points_of
from grader.core.text import enumerated, one_line, plain, points
from grader.core.verdict import Grade, GradeStatus, Status, Verdict, Where, by_exercise
from grader.reports.standing import (
    OUR_FAULT,
    ExerciseStanding,
    causes_of,
    cost,
    extent,
    feedback,
    fenced,
    is_of_values,
    notes_in_short,
    paragraph,
    shortened,
    standings,
    title,
)

_VERSION = 3
_POINT = hundredths(1)
_MOST_TESTS = 100
_LONGEST_MESSAGE = 500
# The reporter gets the result in a variable, which Linux bounds to 128 KiB: base64 takes a third
# more, and a character up to four bytes.
_ALL_MESSAGES = 40_000 // 4


def classroom_result(grade: Grade) -> dict[str, Any]:
    """Returns Classroom's result as an object.

    An ungraded submission gets a result worth 0 points, so that it loses none.
    """
    if not grade.is_complete or not grade.tests:
        reason = grade.message or "nothing was graded"
        test = _test("grading", "error", 0, f"not graded, {OUR_FAULT}: {reason}")
        return {"version": _VERSION, "status": "error", "max_score": 0, "tests": [test]}
    exercises = standings(grade)
    unit = max(_POINT, -(-hundredths(grade.max_score) // _MOST_TESTS))
    passes = _passes(exercises, unit)
    readable = grade.status is GradeStatus.GRADED
    found = causes_of(grade.tests)
    told = {name: feedback(own, found) for name, own in by_exercise(grade.tests).items()}
    tests: list[dict[str, Any]] = []
    for each in exercises:
        why = (told[each.exercise] if readable else grade.message) or ""
        why = one_line(why, min(_LONGEST_MESSAGE, _ALL_MESSAGES // len(exercises)))
        tests += _units(each, why, unit, passes[each.exercise])
    passed = all(test["status"] == "pass" for test in tests)
    status = "pass" if passed else "fail"
    return {"version": _VERSION, "status": status, "max_score": grade.max_score, "tests": tests}


def encoded(result: Mapping[str, Any]) -> str:
    """Returns the result as base64 of JSON, the form of a step's output `result`."""
    text = json.dumps(result, allow_nan=False, ensure_ascii=False)
    return base64.b64encode(text.encode("utf-8", "replace")).decode()


def _units(
    exercise: ExerciseStanding, reason: str, unit: int, passes: int
) -> Iterator[dict[str, Any]]:
    """Yields a test for each `unit` of an exercise's points; the first failed test says why."""
    number = _number(exercise, unit)
    left = hundredths(exercise.score)
    unit_name = "point" if unit == _POINT else "part"
    for place in range(1, number + 1):
        worth = min(unit, hundredths(exercise.max_score) - unit * (place - 1))
        score = left if place == number else min(worth, left)
        left -= score
        name = f"{exercise.exercise}, {unit_name} {place} of {number}"
        if place <= passes:
            yield _test(name, "pass", score)
        elif place == passes + 1:
            yield _test(name, "fail", score, reason, exercise.telling)
        else:
            yield _test(name, "fail", score)


def _passes(exercises: Sequence[ExerciseStanding], unit: int) -> dict[str, int]:
    """Returns how many tests of each exercise pass: together, the points that are reached.

    The last test of an exercise without full points never passes.
    """
    passes: dict[str, int] = {}
    reached = 0
    for each in exercises:
        score, worth = hundredths(each.score), hundredths(each.max_score)
        reached += score
        number, due = _number(each, unit), reached // unit - sum(passes.values())
        is_full = score >= worth and (worth > 0 or each.telling is None)
        most = min(number - 1, -(-score // unit))
        passes[each.exercise] = number if is_full else max(min(due, most), 0)
    return passes


def _number(exercise: ExerciseStanding, unit: int) -> int:
    return max(1, -(-hundredths(exercise.max_score) // unit))


def _test(
    name: str, status: str, score: int, message: str = "", telling: Verdict | None = None
) -> dict[str, Any]:
    where = telling.where if telling else None
    return {
        "name": _without_commands(name),
        "status": status,
        "message": _without_commands(message, _LONGEST_MESSAGE),
        "test_code": "",
        "task_id": 0,
        "filename": _without_commands(where.file) if where else "",
        "line_no": where.line if where else 0,
        "duration": 0.0,
        "score": points_of(score),
        "output": "",
    }


def _without_commands(text: str, longest: int = 200) -> str:
    """Returns the text on one line, without the marks by which a runner recognises commands."""
    return re.sub(":(?=:)", ": ", one_line(text, longest)).replace("##[", "## [")


_MOST_OF_A_KIND = 10
_SUMMARY_BYTES = 1000 << 10
_LONGEST_TITLE, _LONGEST_SENTENCE = 200, 150
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


Place = tuple[str | None, int | None]


@dataclass(frozen=True, slots=True)
class Annotation:
    """A message of one `kind` (error, warning or notice), at a line if that is known."""

    kind: str
    title: str
    message: str
    file: str | None = None
    line: int | None = None

    @property
    def command(self) -> str:
        """Returns the workflow command that makes the annotation; always a single line."""
        properties = {"file": self.file, "line": self.line, "title": self.title}
        listed = ",".join(
            f"{name}={_escaped_property(str(value))}"
            for name, value in properties.items()
            if value is not None
        )
        return f"::{self.kind} {listed}::{_escaped(plain(self.message))}"


@dataclass(frozen=True, slots=True)
class SourcePaths:
    """The path of a graded submission, and of its repository."""

    submission: Path
    repository: Path

    def place(self, where: Where | None) -> Place:
        """Returns the file relative to the repository, and the line; None for an unknown part.

        A file in an archive is not in the repository, and a notebook's cell has no line.
        """
        with contextlib.suppress(OSError, ValueError):  # names that no file can have
            if where is not None and (file := self._file(where.file)) is not None:
                relative = file.relative_to(self.repository.resolve()).as_posix()
                is_line = file.suffix == ".py" and where.line > 0
                return relative, where.line if is_line else None
        return None, None

    def _file(self, name: str) -> Path | None:
        """Returns the repository's file for a name in the submission, with links resolved."""
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or parts[0] == "/":
            return None
        # `parts[:-1]`: a cell is named notebook/cell. `parts[1:]`: the root is itself the package.
        names = [wanted for wanted in (parts, parts[:-1], parts[1:]) if wanted]
        candidates = [self.submission.joinpath(*wanted) for wanted in names]
        if self.submission.is_file():
            candidates = [self.submission] * (self.submission.suffix in (".py", ".ipynb"))
        found = next((file.resolve() for file in candidates if file.is_file()), None)
        inside = found is not None and found.is_relative_to(self.repository.resolve())
        return found if inside else None


def annotated(grade: Grade, sources: SourcePaths) -> list[Annotation]:
    """Returns at most ten annotations of each kind, the worst first."""
    if grade.status is not GradeStatus.GRADED or not grade.is_complete:
        return [_of_the_whole(grade, sources)]
    # Causes with a line come first, then known mistakes, then the costliest.
    worst = sorted(_written(grade), key=lambda one: (not one.places, not one.mistake, -one.lost))
    found = [_of_cause(cause, sources) for cause in worst]
    for note, verdicts in notes_in_short(grade.tests).items():
        if verdicts:
            names = enumerated([*dict.fromkeys(verdict.exercise for verdict in verdicts)])
            found.append(Annotation("notice", one_line(names, _LONGEST_TITLE), shortened(note)))
    return [
        annotation
        for kind in ("error", "warning", "notice")
        for annotation in [each for each in found if each.kind == kind][:_MOST_OF_A_KIND]
    ]


def step_summary(grade: Grade) -> str:
    """Returns the grade as GitHub's Markdown, cut to a size that GitHub shows."""
    parts = [f"## {_headline(grade)}\n"]
    if grade.message:
        parts.append(f"{fenced(shortened(plain(grade.message)))}\n")
    if grade.status is not GradeStatus.UNREADABLE and grade.tests:
        parts += _sections(grade)
    size = 0
    for number, part in enumerate(parts):
        size += len(part.encode("utf-8", "replace")) + 1
        if size > _SUMMARY_BYTES:
            return "\n".join([*parts[:number], "(The rest is too long to be shown here.)\n"])
    return "\n".join(parts)


def _headline(grade: Grade) -> str:
    name = _escaped_markdown(one_line(grade.submission))
    if not grade.is_complete:
        return f"{name}: not graded, {OUR_FAULT}"
    return f"{name}: {points(grade.score)} of {points(grade.max_score)} points"


def _sections(grade: Grade) -> Iterator[str]:
    for cause in _written(grade):
        # Show exception text only as code: elsewhere GitHub turns addresses into links.
        heading, above = (title(cause), []) if cause.id else (cause.exercises[0], [title(cause)])
        said = "\n".join(map(shortened, [*above, *paragraph(cause), extent(cause)]))
        heading = _escaped_markdown(f"{one_line(heading, _LONGEST_TITLE)} {cost(cause)}".rstrip())
        yield f"### {heading}\n\n{fenced(said)}\n"
    rows = [
        f"| {_escaped_markdown(one_line(each.exercise))} | {points(each.score)} / "
        f"{points(each.max_score)} | {each.passed} of {each.tests} | {each.words} |\n"
        for each in standings(grade)
    ]
    yield "".join(["| exercise | points | passed | |\n| --- | ---: | ---: | --- |\n", *rows])


def _written(grade: Grade) -> list[Cause]:
    found = causes_of(grade.tests)
    return [cause for cause in found if cause.shown.status is not Status.MISSING]


def _of_cause(cause: Cause, sources: SourcePaths) -> Annotation:
    where = Where(*cause.places[0]) if cause.places else None
    file, line = sources.place(where)
    return Annotation(
        "error" if is_of_values(cause) else "warning",
        one_line(f"{title(cause, _LONGEST_SENTENCE)} {cost(cause)}", _LONGEST_TITLE),
        "\n".join(map(shortened, [*paragraph(cause, _LONGEST_SENTENCE), extent(cause)])),
        file,
        line,
    )


def _of_the_whole(grade: Grade, sources: SourcePaths) -> Annotation:
    title = "nothing could be graded" if grade.is_complete else f"not graded, {OUR_FAULT}"
    where = next((verdict.where for verdict in grade.tests if verdict.where), None)
    file, line = sources.place(where if grade.is_complete else None)
    return Annotation("error", title, shortened(grade.message or title), file, line)


def _escaped_markdown(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", text)


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(plain(text)).replace(":", "%3A").replace(",", "%2C")
