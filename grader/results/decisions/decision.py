"""Decisions of an instructor about grades, and the people, submissions and tests that they name.

Each decision knows its line in the file.
"""

from __future__ import annotations

import datetime
import enum
import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.core.names import nearest
from grader.core.submission import Author
from grader.core.text import Refusal
from grader.results.anonymous import label_of
from grader.results.results import Results

EVERYBODY = "everybody"


class BadDecisions(Refusal):
    """Decisions that cannot be used; the text has a line for each fault in the file."""


class DecisionKind(enum.StrEnum):
    """The kinds of decisions, by the names of their tables."""

    POINTS = "points"
    COMMENT = "comment"
    EXCUSED = "excused"
    EXTENSION = "extension"
    TAKEN_OUT = "taken_out"
    BONUS = "bonus"
    TAKEN_INSTEAD = "taken_instead"
    WHOSE = "whose"
    LATE_DAYS = "late_days"
    HANDED_IN = "handed_in"
    TIMES = "times"


@dataclass(frozen=True, slots=True)
class Whom:
    """The people that a decision is about: everybody, all of one submission, or one person.

    One person is meant in all of his or her submissions.
    """

    submission: str | None = None
    author: Author | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision: its kind, its place in the file, and the values of its keys that are given.

    `line` is where its table begins. `to` and `by` are hundredths. In the class, it is about
    `whom`, in the exercise `target`, or in some of its `tests`.
    """

    kind: DecisionKind
    file: str
    line: int
    reason: str = ""
    who: str = ""
    when: datetime.datetime | None = None
    person: str = ""
    submission: str = ""
    exercise: str = ""
    test: str = ""
    text: str = ""
    table: str = ""
    to: int | None = None
    by: int | None = None
    until: datetime.datetime | None = None
    at: datetime.datetime | None = None
    days: int | None = None
    left: int | None = None
    whom: Whom = Whom()
    target: str = ""
    tests: frozenset[str] = frozenset()

    @property
    def source(self) -> str:
        """Returns the place of the decision: "decisions.toml:12"."""
        return f"{self.file}:{self.line}"

    @property
    def because(self) -> str:
        """Returns the reason after a colon; "" if none is given."""
        return f": {self.reason}" if self.reason else ""


_MOST_NAMES = 10_000


class UnknownName(BadDecisions):
    """A name that fits nothing in this class, or several; the text says what to write."""


def ways_to_mean(submission: str, author: Author) -> Iterator[Whom]:
    """Yields all ways in which a decision may be about an author of a submission.

    If only the author's name is known, it may also stand as a submission's name.
    """
    yield Whom()
    yield Whom(author=author)
    yield Whom(submission)
    if author.name != submission and author == Author(name=author.name):
        yield Whom(author.name)


class ClassList:
    """The people, submissions, exercises and tests of a class, found by name.

    People are found by their own name, id or address, or by a submission's name or number.
    """

    def __init__(self, results: Results) -> None:
        people = results.people
        self.submissions = tuple(results.submissions())
        self._numbers = {
            _key(said): name
            for name, number in results.numbers().items()
            if name in self.submissions
            for said in (str(number), label_of(number))
        }
        self._authors = people.authors
        self._tests = results.tests()
        self._people: dict[str, dict[Author, None]] = defaultdict(dict)
        everyone = [*(one for own in people.authors.values() for one in own), *people.absentees]
        for author in everyone:
            names = {author.name, _surname_last(author.name), author.id, author.email}
            for text in names - {""}:
                self._people[_key(text)][author] = None
        self._shown = [*self.submissions, *(one.name for one in everyone if one.name)]

    def by_number(self, person: str) -> str | None:
        """Returns the submission with this number in an anonymous class, if nobody has it as id."""
        return None if _key(person) in self._people else self._numbers.get(_key(person))

    def whom(self, person: str, has_numbers: bool = True) -> Whom:
        """Returns the people that a decision names; without `has_numbers`, numbers are ids alone.

        Raises:
            UnknownName: if the name fits no person, or several.
        """
        key = _key(person)
        if key == EVERYBODY:
            return Whom()
        if has_numbers and (labelled := self._labelled(key)):
            return Whom(submission=labelled)
        people = [*self._people.get(key, ())]
        if named := self._submission(person):
            own = self._authors.get(named, ())
            if people and not any(one in own for one in people):
                raise UnknownName(
                    f"{person!r} is a submission, and somebody else's name or id: give the id or "
                    f"address of whom you mean ({_known(people)}, or {_known(own)})"
                )
            # One person's other submissions are meant as well.
            is_theirs = len(people) == 1 and people == [*own]
            return Whom(author=people[0]) if is_theirs else Whom(submission=named)
        if has_numbers and key in self._numbers:
            if people:
                raise UnknownName(
                    f"{person!r} is a submission's number in an anonymous report, and somebody's "
                    "name or id: give another name, id or number"
                )
            return Whom(submission=self._numbers[key])
        people = people or [*self._people.get(_key(_surname_last(person)), ())]
        if len(people) == 1:
            return Whom(author=people[0])
        if people:
            raise UnknownName(
                f"{len(people)} people are called {person!r}: give the id ({_known(people)})"
            )
        raise UnknownName(f"{person!r} is nobody of this class: {_meant(person, self._shown)}")

    def submission(self, name: str) -> str:
        """Returns the submission with a name or number.

        Raises:
            UnknownName: if there is none.
        """
        key = _key(name)
        if found := self._labelled(key) or self._submission(name) or self._numbers.get(key):
            return found
        raise UnknownName(f"no submission is called {name!r}: {_meant(name, self.submissions)}")

    def _submission(self, name: str) -> str | None:
        """Returns the submission with a name; its case matters only if two differ in nothing else.

        A name in another case, which fits two, is nobody's.
        """
        if name in self.submissions:
            return name
        alike = [one for one in self.submissions if _key(one) == _key(name)]
        return alike[0] if len(alike) == 1 else None

    def _labelled(self, key: str) -> str | None:
        """Returns the submission whose label this is; decisions by a number are kept under it."""
        return None if key.isdecimal() else self._numbers.get(key)

    @property
    def exercises(self) -> tuple[str, ...]:
        """Returns the exercises that were graded."""
        return tuple(dict.fromkeys(self._tests.values()))

    def exercise(self, name: str) -> str:
        """Returns the exercise with a name.

        Raises:
            UnknownName: if there is none.
        """
        if name not in self.exercises:
            raise UnknownName(f"no exercise is called {name!r}: {_meant(name, self.exercises)}")
        return name

    def tests(self, name: str) -> tuple[str, ...]:
        """Returns the ids of a test, or of all tests of a function, with or without the file.

        Raises:
            UnknownName: if there is none.
        """
        found = tuple(test for test in self._tests if _is_called(test, name))
        if not found:
            known = dict.fromkeys(short for test in self._tests for short in _names(test)[2:])
            raise UnknownName(f"no test is called {name!r}: {_meant(name, known)}")
        return found

    def exercise_of(self, test: str) -> str:
        """Returns the exercise of a test, which is given by its whole id."""
        return self._tests[test]


def _is_called(test: str, name: str) -> bool:
    whole, bare, *_ = names = _names(test)
    return name in names or whole.endswith(f"/{name}") or bare.endswith(f"/{name}")


def _names(test: str) -> tuple[str, str, str, str]:
    """Returns the possible names of a test: its id, with or without its file and its parameters."""
    _, _, function = test.partition("::")
    return test, test.partition("[")[0], function, function.partition("[")[0]


def _key(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split())).casefold()


def _surname_last(name: str) -> str:
    """Returns "Jane Doe" for "Doe, Jane"; a name without a comma as it is."""
    surname, comma, first = name.partition(",")
    return f"{first} {surname}" if comma else name


def _known(people: Iterable[Author]) -> str:
    return ", ".join(one.id or one.email or one.name for one in people)


def _meant(name: str, known: Iterable[str]) -> str:
    """Returns a suggestion for an unknown name: the nearest, or one that it is a part of."""
    names = [*itertools.islice(dict.fromkeys(known), _MOST_NAMES)]
    parts = (one for one in names if _key(name) and _key(name) in _key(one))
    near = nearest(name, names) or next(parts, "")
    return f"did you mean {near}?" if near else "check the name"
