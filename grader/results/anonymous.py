"""The grades in a folder without names, for readers who must not know the people.

Each submission has a number, drawn at random when it is first asked for, and kept. Neither its size
nor its order reveals anything, and it is the same in every report of the folder.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import enum
import itertools
import json
import keyword
import re
import secrets
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from grader.core.explanation import WrongAnswers
from grader.core.submission import Author
from grader.core.verdict import Grade
from grader.results.database import connect, saying, set_value, transaction, value_of
from grader.results.results import People, Results

_SMALLEST = 100
_WORD = re.compile(r"[\w'’-]+")
# The characters between the words of a name or the parts of an address; never code or a line end.
_SEPARATED = re.compile(r"(?:[^\S\r\n]|[,.@])*")
_LONGEST = 8  # words of a name, at most
_JOINED, _SHORTEST_JOINED = 3, 6  # words joined to one, at most, and its characters, at least
_SHORTEST, _SHORTEST_NUMBER = 3, 4  # characters of a name that stands alone, at least
# The platform's prefix in the name of a downloaded file.
_BEFORE_A_FILE = re.compile(r".*?_\d+_\d+_|.*?_assignsubmission_[a-z]+_", re.DOTALL)
_ADAPTERS = "adapters.py"
# Any other suffix may be a word, and a file's name a sentence that others' messages hold as well.
_SUFFIXES = frozenset({
    "py", "ipynb", "txt", "md", "pdf", "html", "doc", "docx", "odt", "json", "toml", "csv", "zip",
    "tar", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar"
})  # fmt: skip
# In code and in messages these words are never names, although some people have them.
_NO_NAMES = frozenset({*dir(builtins), *keyword.kwlist, *keyword.softkwlist})
_LONGEST_ID = 19
_Value = TypeVar("_Value")


def label_of(number: int) -> str:
    """Returns the label of the submission with this number."""
    return f"Submission {number}"


def numbered(results: Results) -> dict[str, int]:
    """Returns the number of each submission.

    New numbers are drawn and kept.

    Raises:
        StoreError: if numbers cannot be read, or new ones cannot be kept.
    """
    wanted = results.submissions()
    known = results.numbers()
    if all(name in known for name in wanted):
        return known
    with (
        saying(results.file, "written"),
        contextlib.closing(connect(results.file)) as database,
        transaction(database),
    ):
        known = dict(json.loads(value_of(database, "numbers") or "{}"))
        new = [name for name in wanted if name not in known]
        taken = {*known.values(), *_ids(results.people, wanted)}
        known |= zip(new, _drawn(len(new), taken), strict=True)
        set_value(database, "numbers", json.dumps(known))
    return known


def _ids(people: People, submissions: Iterable[str]) -> Iterator[int]:
    """Returns the numbers that are people's ids or end a submission's name.

    No submission's number may be one of them.
    """
    everyone = [*(one for own in people.authors.values() for one in own), *people.absentees]
    texts = [*(one.id for one in everyone), *(name.rpartition(" ")[2] for name in submissions)]
    return (int(text) for text in texts if text.isdecimal() and len(text) < _LONGEST_ID)


def _drawn(count: int, taken: set[int]) -> list[int]:
    """Returns free numbers, with enough digits that most numbers stay free."""
    top = _SMALLEST
    while top < 4 * (count + len(taken) + _SMALLEST):
        top *= 10
    free = [number for number in range(_SMALLEST, top) if number not in taken]
    return secrets.SystemRandom().sample(free, count)


class Mask:
    """A mask for the names of submissions and people, also within texts."""

    def __init__(self, numbers: Mapping[str, int], people: People) -> None:
        self.labels = {name: label_of(number) for name, number in numbers.items()}
        self.names = {label: name for name, label in self.labels.items()}
        self._known: dict[tuple[str, ...], str] = {}
        self._firsts: set[str] = set()
        self._ordinary: dict[tuple[str, ...], str] = {}
        # Names that a platform wrote as one word, as Canvas does: "doejane".
        self._joined: dict[str, str] = {}
        for name, label in self.labels.items():
            self.add(name, people.authors.get(name, ()), label)
        self.absent = {who: f"Absent {place}" for place, who in enumerate(people.absentees, 1)}
        for person, label in self.absent.items():
            self.add("", (person,), label)

    def add_files(self, results: Results) -> None:
        """Adds the names of files that people handed in: many contain the people's own names."""
        for file in itertools.chain.from_iterable(results.downloads().values()):
            own = _BEFORE_A_FILE.sub("", file, count=1)
            suffix = own.rpartition(".")[2].casefold()
            if suffix in _SUFFIXES and own != _ADAPTERS:
                self.add(own, (), f"handed-in.{suffix}")

    def add(self, name: str, people: Sequence[Author], label: str) -> None:
        """Adds a submission and its people; `label` replaces all their names.

        A submission's name may be an ordinary word, which others' messages hold as well. If nobody
        is known to have handed it in, the label replaces it only where it is a name for certain.
        """
        for person in people:
            if len(person.name) >= _SHORTEST_JOINED and _WORD.fullmatch(person.name):
                self._joined.setdefault(_as_compared(person.name), label)
        texts = [text for one in people for text in (one.name, one.id, one.email)]
        is_ordinary = name.isascii() and name.isalpha() and not people
        for text in (name, *texts):
            words = _words(text)
            names = self._ordinary if is_ordinary and text == name else self._known
            for known in (words, (*words[1:], *words[:1]), (*words[-1:], *words[:-1])):
                # The short words of "Bo Li" are a name if they are known to be one.
                if _is_telling(known) or (len(known) > 1 and text in texts):
                    names.setdefault(known, label)
                    self._firsts.add(known[0])

    def text(self, text: str) -> str:
        """Returns a text in which labels replace the names, ids and addresses of this class."""
        text = unicodedata.normalize("NFC", text)
        found = [*_WORD.finditer(text)]
        words = [_as_compared(match[0]) for match in found]
        if self._firsts.isdisjoint(words) and not self._joined:
            return text
        starts = [*(match.start() for match in found), len(text)]
        ends = [0, *(match.end() for match in found)]
        gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        pieces: list[str] = []
        end, place = 0, 0
        while place < len(words):
            length, label = self._found(words, gaps, place)
            if length:
                pieces += [text[end : found[place].start()], label]
                end = found[place + length - 1].end()
                place += length - 1
            place += 1
        return "".join([*pieces, text[end:]])

    def _found(self, words: Sequence[str], gaps: Sequence[str], place: int) -> tuple[int, str]:
        """Returns how many words from a place on are a name, and its label; 0 if they are none.

        The text before a word is the gap at its place.
        """
        ahead = gaps[place + 1 : min(place + _LONGEST, len(words))]
        longest = 1 + sum(1 for _ in itertools.takewhile(_SEPARATED.fullmatch, ahead))
        if words[place] in self._firsts:
            for length in range(longest, 0, -1):
                if label := self._known.get(tuple(words[place : place + length])):
                    return length, label
            label = self._ordinary.get((words[place],), "")
            if label and _is_surely_named(words, gaps, place):
                return 1, label
        if self._joined:
            for length in range(2, min(_JOINED, longest) + 1):
                first, *rest = here = words[place : place + length]
                last = "".join([here[-1], *here[:-1]])
                for joined in ("".join(here), "".join([*rest, first]), last):
                    if label := self._joined.get(joined):
                        return length, label
        return 0, ""

    def over(self, value: _Value) -> _Value:
        """Returns a value of plain data with all of its texts masked."""
        masked: Any = value
        if isinstance(value, enum.Enum):
            return value
        if isinstance(value, str):
            masked = self.text(value)
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            masked = type(value)(*map(self.over, value))
        elif isinstance(value, tuple):
            masked = (
                value if value and isinstance(value[0], float) else tuple(map(self.over, value))
            )
        elif isinstance(value, Mapping):
            masked = {key: self.over(inner) for key, inner in value.items()}
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [field.name for field in dataclasses.fields(value) if field.init]
            changed = {name: self.over(getattr(value, name)) for name in fields}
            masked = dataclasses.replace(value, **changed)
        return masked  # type: ignore[no-any-return]


def _is_surely_named(words: Sequence[str], gaps: Sequence[str], place: int) -> bool:
    """Returns whether a word is all of a text, or quoted, or part of a path or an address."""
    before, after = gaps[place], gaps[place + 1]
    is_file = after == "." and not _SUFFIXES.isdisjoint(words[place + 1 : place + 2])
    is_quoted = before.endswith('"') and after.startswith('"')
    return is_file or is_quoted or after.startswith(("/", "\\", "@")) or not any((*gaps, words[1:]))


class AnonymousResults(Results):
    """Results with numbers in place of the names of submissions, in the order of the numbers."""

    def __init__(self, named: Results, mask: Mask) -> None:
        people = People(
            absentees=tuple(map(Author, mask.absent.values()))
        )  # all else is settled in the named results
        super().__init__(named.file, named.assignment, people)
        self.named = named
        self.mask = mask

    @classmethod
    def of(cls, results: Results) -> AnonymousResults:
        """Returns these results, with numbers in place of names.

        Raises:
            StoreError: if numbers cannot be read, or new ones cannot be kept.
        """
        mask = Mask(numbered(results), results.people)
        mask.add_files(results)
        return cls(results, mask)

    def submissions(self) -> list[str]:
        """Returns the labels of the submissions, in the order of their numbers."""
        labels, names = self.mask.labels, self.named.submissions()
        # Later submissions have no number yet.
        return sorted((labels[name] for name in names if name in labels), key=_number)

    def grades(self) -> Iterator[Grade]:
        """Returns the grades in the order of their numbers."""
        return self.grades_of(self.submissions())

    def grades_of(self, submissions: Iterable[str], whole: bool = False) -> Iterator[Grade]:
        """Yields the grades of some submissions, in their order."""
        names = (self.mask.names.get(label, label) for label in submissions)
        for grade in self.named.grades_of(names, whole):
            label = self.mask.labels[grade.submission]
            yield dataclasses.replace(self.mask.over(grade), submission=label)

    def wrong_answers(self) -> dict[str, list[WrongAnswers]]:
        """Returns each submission's answers that no known mistake explains, in number order."""
        found = self.named.wrong_answers()
        labels = self.mask.labels
        known = {labels[name]: own for name, own in found.items() if name in labels}
        masked = {label: self.mask.over(tuple(own)) for label, own in known.items()}
        return {label: [*masked[label]] for label in sorted(masked, key=_number)}


def _number(label: str) -> int:
    return int(label.rpartition(" ")[2])


def _words(text: str) -> tuple[str, ...]:
    return tuple(map(_as_compared, _WORD.findall(unicodedata.normalize("NFC", text))))


def _as_compared(word: str) -> str:
    return unicodedata.normalize("NFC", word.casefold())


def _is_telling(words: Sequence[str]) -> bool:
    """Returns whether these words are certainly a name, and not ordinary words or numbers."""
    letters = sum(char.isalpha() for word in words for char in word)
    is_long = len(words) > 1 and letters >= _SHORTEST_JOINED
    return is_long or any(map(_is_telling_alone, words))


def _is_telling_alone(word: str) -> bool:
    least = _SHORTEST_NUMBER if word.isdecimal() else _SHORTEST
    return len(word) >= least and word not in _NO_NAMES
