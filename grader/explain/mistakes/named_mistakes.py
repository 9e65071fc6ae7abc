"""The mistakes that an instructor named, in `mistakes.toml`: their wrong answers and words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.core.explanation import WrongAnswer, WrongAnswers
from grader.core.files import replaced
from grader.core.text import Refusal, toml_value
from grader.core.verdict import Diagnosis
from grader.explain.mistakes.clusters import LENIENCY
from grader.results.store import Store

FILE = "mistakes.toml"
_HEAD = (
    "# Mistakes of this class, named by hand, each with the answers by which it is known.\n"
    "# `grader mistakes` reads it, and writes it; sentences and hints may be changed here.\n"
)
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9_]+)*")
_TEXTS = ("id", "exercise", "sentence", "hint")


class BadNames(Refusal):
    """The file of names cannot be used; the message says why, and where."""


@dataclass(frozen=True, slots=True)
class NamedMistake:
    """A mistake that an instructor named, and the wrong answers to its exercise that show it."""

    diagnosis: Diagnosis
    answers: WrongAnswers

    @property
    def exercise(self) -> str:
        """Returns the exercise whose answers show the mistake."""
        return self.answers.exercise

    def is_shown_by(self, answers: WrongAnswers) -> bool:
        """Returns whether a submission's wrong answers match those of the mistake."""
        return answers.exercise == self.exercise and self.answers.is_like(answers, LENIENCY)


def read_names(folder: Path) -> list[NamedMistake]:
    """Returns the mistakes that are named in a folder of results; none if there is no file.

    Raises:
        BadNames: if the file cannot be read or is invalid.
    """
    file = folder / FILE
    return read_file(file) if file.exists() else []


def read_file(file: Path) -> list[NamedMistake]:
    """Returns the mistakes in a file.

    Raises:
        BadNames: if the file cannot be read or is invalid.
    """
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
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
    found: dict[tuple[str, str], NamedMistake] = {}
    for number, table in enumerate(tables, 1):
        named = _read_mistake(table, f"{file}, mistake {number}")
        key = named.diagnosis.mistake, named.exercise
        if key in found:
            raise BadNames(f"{file}, mistake {number}: {key[0]!r} is there twice for {key[1]}")
        found[key] = named
    return list(found.values())


def write_file(file: Path, names: Iterable[NamedMistake]) -> None:
    """Writes mistakes to a file atomically.

    Raises:
        BadNames: if the file cannot be written.
    """
    try:
        with replaced(file) as partial:
            partial.write_text("\n".join([_HEAD, *map(_in_toml, names)]), encoding="utf-8")
    except OSError as error:
        raise BadNames(f"{file} cannot be written: {error.strerror}") from error
    except UnicodeEncodeError as error:
        raise BadNames("a text of this mistake is not UTF-8: set a UTF-8 locale") from error


def named(
    names: Sequence[NamedMistake], wrong: Mapping[str, Sequence[WrongAnswers]]
) -> list[tuple[str, str, Diagnosis]]:
    """Returns (submission, exercise, diagnosis) for all wrong answers that show a named mistake."""
    return [
        (submission, answers.exercise, one.diagnosis)
        for submission, own in wrong.items()
        for answers in own
        for one in names
        if one.is_shown_by(answers)
    ]


def apply_names(store: Store) -> list[tuple[str, str, Diagnosis]]:
    """Stores the diagnosis of each submission whose answers show a named mistake.

    Raises:
        BadNames: if the file of names cannot be used.
        StoreError: if the results cannot be written.
    """
    names = read_names(store.folder)
    given = named(names, store.wrong_answers()) if names else []
    store.set_names(given)
    return given


def checked_id(text: str) -> str:
    """Returns the text if it is a valid id of a mistake.

    Raises:
        BadNames: if it is not.
    """
    if not _ID.fullmatch(text):
        raise BadNames(f"{text!r} is not an id of a mistake: write words and hyphens, as no-scale")
    return text


def _read_mistake(table: Mapping[str, Any], place: str) -> NamedMistake:
    if not isinstance(table, dict):
        raise BadNames(f"{place}: a mistake must be a table")
    unknown = sorted(set(table) - {*_TEXTS, "answer"})
    if unknown:
        raise BadNames(f"{place}: a mistake has no {unknown[0]!r}: there is {', '.join(_TEXTS)}")
    for key in _TEXTS:
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise BadNames(f'{place}: this mistake needs {key} = "…"')
    if not table["exercise"].isidentifier():  # it becomes a part of a program
        raise BadNames(f"{place}: {table['exercise']!r} is not a name of an exercise")
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


def _in_toml(one: NamedMistake) -> str:
    said = one.diagnosis
    texts = zip(_TEXTS, (said.mistake, one.exercise, said.explanation, said.hint), strict=True)
    lines = ["[[mistake]]", *(f"{key} = {toml_value(value)}" for key, value in texts)]
    for answer in one.answers.answers:
        lines += ["", "[[mistake.answer]]"]
        lines += [f"{key} = {toml_value(value)}" for key, value in answer.as_json().items()]
    return "\n".join(lines) + "\n"
