"""What GitHub Actions shows of a grade: annotations on lines, and a step's summary.

The commands and their limits are those of GitHub's "Workflow commands for GitHub Actions": ten
annotations of a kind for each step, and a summary of at most 1024 KiB.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.core.causes import Cause
from grader.core.plain_text import plain
from grader.core.text import one_line, points
from grader.core.verdict import Grade, GradeStatus, Status, Verdict, Where
from grader.reports.account import causes_of, cost, extent, is_of_values, paragraph, title
from grader.reports.exercise_feedback import shortened
from grader.reports.notes import notes_in_short
from grader.reports.standing import enumerated, standings

_OF_A_KIND = 10
_SUMMARY_BYTES = 1000 << 10
_TITLE, _SENTENCE = 200, 150
_NESTED = 4
_LARGEST_SOURCE = 1 << 20
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
        """The workflow command that makes the annotation; always a single line."""
        properties = {"file": self.file, "line": self.line, "title": self.title}
        listed = ",".join(
            f"{name}={_escaped_property(str(value))}"
            for name, value in properties.items()
            if value is not None
        )
        return f"::{self.kind} {listed}::{_escaped(plain(self.message))}"


@dataclass(frozen=True, slots=True)
class SourcePaths:
    """Where the files of a submission lie: the path that was graded, its adapters, its repository.

    `adapters` are relative to the submission's root, as `--adapters` says.
    """

    submission: Path
    adapters: str
    repository: Path

    def place(self, where: Where | None, exercise: str) -> Place:
        """The file relative to the repository, and the line; None for what is not there.

        Where nothing is known, it is the adapter of the exercise. What is inside an archive has no
        file in the repository, a notebook's cells have no line.
        """
        with contextlib.suppress(OSError, ValueError):  # names that no file can have
            file, line = (self._file(where.file), where.line) if where else self._adapter(exercise)
            if file is not None:
                relative = file.relative_to(self.repository.resolve()).as_posix()
                return relative, line if file.suffix == ".py" and line > 0 else None
        return None, None

    def _adapter(self, exercise: str) -> tuple[Path | None, int]:
        file = self._file(self.adapters)
        if file is not None and file.stat().st_size <= _LARGEST_SOURCE:
            lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
            starts = [n for n, text in enumerate(lines, 1) if text.startswith(f"def {exercise}(")]
            if len(starts) == 1:
                return file, starts[0]
        return None, 0

    def _file(self, name: str) -> Path | None:
        """The file in the repository that a submission calls so, links followed."""
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or parts[0] == "/":
            return None
        # A cell is called like a file in its notebook; a root that is a package is its own folder.
        names = [wanted for wanted in (parts, parts[:-1], parts[1:]) if wanted]
        candidates = [top.joinpath(*wanted) for top in _tops(self.submission) for wanted in names]
        if self.submission.is_file():
            candidates = [self.submission] * (self.submission.suffix in (".py", ".ipynb"))
        found = next((file.resolve() for file in candidates if file.is_file()), None)
        inside = found is not None and found.is_relative_to(self.repository.resolve())
        return found if inside else None


def annotated(grade: Grade, sources: SourcePaths) -> list[Annotation]:
    """The best of what can be said on lines of code: at most ten of each kind, worst first."""
    if grade.status is not GradeStatus.GRADED or not grade.is_complete:
        return [_of_the_whole(grade, sources)]
    found = [_of_cause(cause, sources) for cause in sorted(_written(grade), key=_rank)]
    remarks = notes_in_short(grade.tests).items()
    found += [_of_note(note, verdicts) for note, verdicts in remarks if verdicts]
    kinds = ("error", "warning", "notice")
    return [
        annotation
        for kind in kinds
        for annotation in [each for each in found if each.kind == kind][:_OF_A_KIND]
    ]


def step_summary(grade: Grade) -> str:
    """The grade as GitHub's Markdown, small enough to be shown."""
    parts = [f"## {_headline(grade)}\n"]
    if grade.message:
        parts.append(f"{_fenced(shortened(plain(grade.message)))}\n")
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
        return f"{name}: not graded, by the machine's fault or the grader's"
    return f"{name}: {points(grade.score)} of {points(grade.max_score)} points"


def _sections(grade: Grade) -> Iterator[str]:
    for cause in _written(grade):
        # What the submission raised is shown as code alone: GitHub makes links of addresses.
        heading, above = (title(cause), []) if cause.id else (cause.exercises[0], [title(cause)])
        said = "\n".join(map(shortened, [*above, *paragraph(cause), extent(cause)]))
        heading = _escaped_markdown(f"{one_line(heading, _TITLE)} {cost(cause)}".rstrip())
        yield f"### {heading}\n\n{_fenced(said)}\n"
    rows = [
        f"| {_escaped_markdown(one_line(each.exercise))} | {points(each.score)} / "
        f"{points(each.max_score)} | {each.passed} of {each.tests} | {each.words} |\n"
        for each in standings(grade)
    ]
    yield "".join(["| exercise | points | passed | |\n| --- | ---: | ---: | --- |\n", *rows])


def _written(grade: Grade) -> list[Cause]:
    """The causes, without what is not written yet: that has no line to look at."""
    found = causes_of(grade.tests)
    return [cause for cause in found if cause.shown.status is not Status.MISSING]


def _rank(cause: Cause) -> tuple[bool, bool, float]:
    """First what helps and costs most."""
    return not cause.places, cause.mistake is None, -cause.lost


def _of_cause(cause: Cause, sources: SourcePaths) -> Annotation:
    where = Where(*cause.places[0]) if cause.places else None
    file, line = sources.place(where, cause.exercises[0])
    return Annotation(
        "error" if is_of_values(cause) else "warning",
        one_line(f"{title(cause, _SENTENCE)} {cost(cause)}", _TITLE),
        "\n".join(map(shortened, [*paragraph(cause), extent(cause)])),
        file,
        line,
    )


def _of_note(note: str, verdicts: Sequence[Verdict]) -> Annotation:
    names = enumerated(list(dict.fromkeys(verdict.exercise for verdict in verdicts)))
    return Annotation("notice", one_line(names, _TITLE), shortened(note))


def _of_the_whole(grade: Grade, sources: SourcePaths) -> Annotation:
    title = _headline_of_none(grade)
    where = next((verdict.where for verdict in grade.tests if verdict.where), None)
    file, line = sources.place(where, "") if where and grade.is_complete else (None, None)
    return Annotation("error", title, shortened(grade.message or title), file, line)


def _headline_of_none(grade: Grade) -> str:
    if grade.is_complete:
        return "nothing could be graded"
    return "not graded, by the machine's fault or the grader's"


def _tops(folder: Path) -> Iterator[Path]:
    """A folder, then the one folder in it, as the intake looks for a submission."""
    yield folder
    for _ in range(_NESTED):
        if not folder.is_dir():
            return
        inside = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
        if len(inside) != 1 or not inside[0].is_dir():
            return
        folder = inside[0]
        yield folder


def _fenced(text: str) -> str:
    """The text as a block of code that it cannot close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _escaped_markdown(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", text)


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(plain(text)).replace(":", "%3A").replace(",", "%2C")
