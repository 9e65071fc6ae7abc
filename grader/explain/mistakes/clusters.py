"""Clusters of wrong answers that match no known mistake, and their names in `mistakes.toml`."""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.core.explanation import WrongAnswer, WrongAnswers
from grader.core.files import replaced
from grader.core.text import Refusal, toml_value
from grader.core.verdict import Diagnosis
from grader.results.store import Store

# Summing in another order moves values slightly; a mistake may magnify that.
LENIENCY = 5


@dataclass(slots=True)
class AnswerCluster:
    """Submissions with the same wrong answers to an exercise; `answers` are those of the first.

    `members` holds the submissions' names, in the order of the class. `also` holds clusters of the
    same submissions in other exercises, with the same suspected line.
    """

    exercise: str
    answers: WrongAnswers
    members: list[str] = field(default_factory=list)
    also: list[AnswerCluster] = field(default_factory=list)
    _suspicions: Counter[str] = field(default_factory=Counter)

    def add(self, submission: str, answers: WrongAnswers) -> None:
        """Adds a submission with the same answers."""
        self.members.append(submission)
        if answers.suspicion:
            self._suspicions[answers.suspicion] += 1

    @property
    def id(self) -> str:
        """Returns a short hash of the rounded answers, which seldom differs from class to class."""
        told = [self.exercise, *(_rounded(one) for one in self.answers.answers)]
        return hashlib.sha256(repr(told).encode()).hexdigest()[:6]

    @property
    def tests(self) -> list[str]:
        """Returns the tests in which the answers are wrong."""
        return list(dict.fromkeys(one.test for one in self.answers.answers))

    @property
    def smallest(self) -> WrongAnswer:
        """Returns the wrong answer to the smallest inputs."""
        return min(self.answers.answers, key=lambda one: one.size)

    @property
    def suspicion(self) -> str | None:
        """Returns the most frequent suspicion among the members, or None."""
        return next((said for said, _ in self._suspicions.most_common(1)), None)


def clusters_of(wrong: Mapping[str, Sequence[WrongAnswers]]) -> list[AnswerCluster]:
    """Returns the clusters of a class, the largest first.

    A submission with answers that no other gave is a cluster of one.
    """
    by_exercise: dict[str, list[AnswerCluster]] = {}
    place = {submission: number for number, submission in enumerate(wrong)}
    for submission, own in wrong.items():
        for answers in own:
            clusters = by_exercise.setdefault(answers.exercise, [])
            cluster = next((it for it in clusters if it.answers.is_like(answers, LENIENCY)), None)
            if cluster is None:
                cluster = AnswerCluster(answers.exercise, answers)
                clusters.append(cluster)
            cluster.add(submission, answers)
    found = [cluster for clusters in by_exercise.values() for cluster in clusters]

    def order(cluster: AnswerCluster) -> tuple[int, int, int]:
        """Returns the sorting key: size, first member, place of the exercise in the assignment."""
        first = cluster.members[0]
        exercises = [one.exercise for one in wrong[first]]
        return -len(cluster.members), place[first], exercises.index(cluster.exercise)

    return _together(sorted(found, key=order))


def _together(clusters: Sequence[AnswerCluster]) -> list[AnswerCluster]:
    """Returns the clusters, with later ones of the same cause moved into the first's `also`."""
    firsts: list[AnswerCluster] = []
    suspected: dict[str, list[AnswerCluster]] = defaultdict(list)
    for cluster in clusters:
        alike = suspected[cluster.suspicion] if cluster.suspicion is not None else []
        first = next((one for one in alike if _is_of_one_cause(cluster, one)), None)
        if first is None:
            firsts.append(cluster)
            alike.append(cluster)
        else:
            first.also.append(cluster)
    return firsts


def _is_of_one_cause(cluster: AnswerCluster, first: AnswerCluster) -> bool:
    """Returns whether a cluster with the same suspicion belongs to a larger one."""
    other_exercise = cluster.exercise not in {one.exercise for one in (first, *first.also)}
    return other_exercise and {*cluster.members} <= {*first.members}


def _rounded(answer: WrongAnswer) -> object:
    """Returns an answer with rounded values, which other summation orders rarely change."""
    rounded = [f"{one:.1e}" if math.isfinite(one) else str(one) for one in answer.numbers]
    return (*answer.key, answer.shape, rounded)


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
