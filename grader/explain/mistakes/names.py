"""`mistakes.toml`: what an instructor calls groups of wrong answers, beside the results."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.core.refusal import Refusal
from grader.core.toml_values import toml_value
from grader.core.verdict import Diagnosis
from grader.core.wrong_answers import WrongAnswer, WrongAnswers
from grader.explain.mistakes.grouping import LENIENCY
from grader.results.store import Store

FILE = "mistakes.toml"
_HEAD = (
    "# Mistakes of this class, named by hand, each with the answers by which it is known.\n"
    "# `grader mistakes` reads it, and writes it; sentences and hints may be changed here.\n"
)
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9_]+)*")
_TEXTS = ("id", "exercise", "sentence", "hint")


class BadNames(Refusal):
    """The file of names cannot be used; the text is one sentence that says why, and where."""


@dataclass(frozen=True, slots=True)
class NamedMistake:
    """A mistake that an instructor named, and the wrong answers to its exercise that show it."""

    diagnosis: Diagnosis
    answers: WrongAnswers

    @property
    def exercise(self) -> str:
        """Where it was seen."""
        return self.answers.exercise

    def is_shown_by(self, answers: WrongAnswers) -> bool:
        """Whether a submission's answers are those by which the mistake is known."""
        return answers.exercise == self.exercise and self.answers.is_like(answers, LENIENCY)


def read_names(folder: Path) -> list[NamedMistake]:
    """The mistakes that are named in a folder of results; none if there is no file.

    Raises:
        BadNames: if the file cannot be read, or holds something else.
    """
    file = folder / FILE
    return read_file(file) if file.exists() else []


def read_file(file: Path) -> list[NamedMistake]:
    """The mistakes in a file.

    Raises:
        BadNames: if it cannot be read, or holds something else.
    """
    try:
        text = file.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise BadNames(f"{file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadNames(f"{file} is not TOML: {error}") from error
    unknown = sorted(set(content) - {"mistake"})
    if unknown:
        raise BadNames(f"{file} knows no {unknown[0]!r}: there is [[mistake]]")
    tables = content.get("mistake", [])
    if not isinstance(tables, list):
        raise BadNames(f"{file}: write [[mistake]] for each mistake, in two brackets")
    lines = _lines_of(text)
    found: list[NamedMistake] = []
    for table, line in zip(tables, lines, strict=False):
        named = _named(table, f"{file}, line {line}")
        if any(_are_twins(one, named) for one in found):
            raise BadNames(
                f"{file}, line {line}: {named.diagnosis.mistake!r} is there twice for "
                f"{named.exercise}"
            )
        found.append(named)
    return found


def write_names(folder: Path, names: Iterable[NamedMistake]) -> None:
    """Writes the names in place of the earlier ones, as a whole.

    Raises:
        BadNames: if the file cannot be written.
    """
    try:
        write_file(folder / FILE, names)
    except OSError as error:
        raise BadNames(f"{folder / FILE} cannot be written: {error.strerror}") from error


def write_file(file: Path, names: Iterable[NamedMistake]) -> None:
    """Writes mistakes to a file, as a whole; raises OSError if that fails."""
    partial = file.with_name(f".{file.name}.partial")
    partial.write_text("\n".join([_HEAD, *map(_in_toml, names)]), encoding="utf-8")
    partial.replace(file)


def named(
    names: Sequence[NamedMistake], wrong: Mapping[str, Sequence[WrongAnswers]]
) -> list[tuple[str, str, Diagnosis]]:
    """By submission and exercise, the mistake that was named of such answers."""
    return [
        (submission, answers.exercise, one.diagnosis)
        for submission, own in wrong.items()
        for answers in own
        for one in names
        if one.is_shown_by(answers)
    ]


def apply_names(store: Store) -> list[tuple[str, str, Diagnosis]]:
    """Has every submission with such answers told the mistake that they are called by now.

    Raises:
        BadNames: if the file of names cannot be used.
        StoreError: if the results cannot be written.
    """
    names = read_names(store.folder)
    given = named(names, store.wrong_answers()) if names else []
    store.set_names(given)
    return given


def checked_id(text: str) -> str:
    """The id of a mistake.

    Raises:
        BadNames: if it is none.
    """
    if not _ID.fullmatch(text):
        raise BadNames(f"{text!r} is no id of a mistake: write words and hyphens, as no-scale")
    return text


def _named(table: Mapping[str, Any], place: str) -> NamedMistake:
    if not isinstance(table, dict):
        raise BadNames(f"{place}: a mistake must be a table")
    unknown = sorted(set(table) - {*_TEXTS, "answer"})
    if unknown:
        raise BadNames(f"{place}: a mistake has no {unknown[0]!r}: there is {', '.join(_TEXTS)}")
    for key in _TEXTS:
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise BadNames(f'{place}: this mistake wants {key} = "…"')
    try:
        checked_id(table["id"])
    except BadNames as problem:
        raise BadNames(f"{place}: {problem}") from None
    try:
        answers = tuple(map(WrongAnswer.from_json, table.get("answer", ())))
    except (KeyError, TypeError, ValueError) as error:
        raise BadNames(f"{place}: an answer of this mistake is damaged: {error}") from None
    if not answers:
        raise BadNames(f"{place}: this mistake has no answers by which it could be known")
    diagnosis = Diagnosis(table["id"], table["sentence"], table["hint"])
    return NamedMistake(diagnosis, WrongAnswers(table["exercise"], answers))


def _are_twins(one: NamedMistake, other: NamedMistake) -> bool:
    return (one.diagnosis.mistake, one.exercise) == (other.diagnosis.mistake, other.exercise)


def _lines_of(text: str) -> list[int]:
    """The numbers of the lines in which mistakes begin."""
    lines = enumerate(text.splitlines(), start=1)
    return [number for number, line in lines if re.match(r"\s*\[\[\s*mistake\s*\]\]", line)]


def _in_toml(one: NamedMistake) -> str:
    said = one.diagnosis
    texts = zip(_TEXTS, (said.mistake, one.exercise, said.explanation, said.hint), strict=True)
    lines = ["[[mistake]]", *(f"{key} = {toml_value(value)}" for key, value in texts)]
    for answer in one.answers.answers:
        lines += ["", "[[mistake.answer]]"]
        lines += [f"{key} = {toml_value(value)}" for key, value in answer.as_json().items()]
    return "\n".join(lines) + "\n"
