"""The people on a course's roster, and which submissions are theirs."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.files import refusing
from grader.core.names import printable, several
from grader.core.submission import EMAIL_COLUMNS, ID_COLUMNS, NAME_COLUMNS, Author
from grader.core.text import Refusal, table_text
from grader.intake.entry import Discovery, Entry, names_of, normalised
from grader.intake.limits import MIB
from grader.intake.open_folder import read_bounded

_LARGEST = 16 * MIB
_DELIMITERS = ",;\t|"
_HEADER_WITHIN = 10  # rows; some tables have a title above
_FIRST_NAMES = ("firstname", "givenname", "givennames", "forename", "first", "vorname")
_LAST_NAMES = ("lastname", "surname", "familyname", "last", "nachname")
_KNOWN = {*NAME_COLUMNS, *_FIRST_NAMES, *_LAST_NAMES, *EMAIL_COLUMNS, *ID_COLUMNS}
_STAFF = re.compile(r"instructor|teacher|assistant|\bta\b|reader|observer|designer|staff|grader")
_NUMBERED = re.compile(r"\D+\s(\d{1,18})")  # Moodle's `Participant 1234`, in any language


class BadRoster(Refusal, ValueError):
    """The roster cannot be used; the text is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Person:
    """Someone on the roster; `ids` are pairs of column and id, the preferred ones first."""

    name: str
    email: str
    ids: tuple[tuple[str, str], ...]

    def as_author(self, column: str | None = None) -> Author:
        """Returns the person with the id from a column, or else with the first one."""
        first = next((value for _, value in self.ids), "")
        return Author(self.name, dict(self.ids).get(column or "", first), self.email)


def read_roster(path: Path) -> tuple[Person, ...]:
    """Returns the people in a CSV file, each once.

    Leaves out rows that platforms add to their exports. Accepts many spellings of headers; commas,
    semicolons, tabs or bars between cells; UTF-8, UTF-16 and Windows' own encoding.

    Raises:
        BadRoster: if the file cannot be read, has no known column, has a row that is wider than
            the header, or lists no people.
    """
    rows = _rows(path)
    known = [_known_columns(row) for row in rows[:_HEADER_WITHIN]]
    header = known.index(max(known))  # a title above may be a known word too
    if not known[header]:
        there = several([cell for cell in rows[0] if cell])
        raise BadRoster(
            f"{_shown(path)} has no column for names, e-mail addresses or ids, only {there}: call "
            "one of its columns name, email or id"
        )
    columns = {name: place for place, name in reversed([*enumerate(map(_column, rows[header]))])}
    wide = next((row for row in rows[header + 1 :] if any(row[len(rows[header]) :])), None)
    if wide is not None:
        raise BadRoster(
            f"{_shown(path)} has more cells than its header in the row {several(wide)}: put a "
            "name that contains a comma in quotes"
        )
    people = [_person(row, columns) for row in rows[header + 1 :]]
    unique = tuple(dict.fromkeys(person for person in people if person is not None))
    if not unique:
        raise BadRoster(f"{_shown(path)} has a header and no rows")
    return unique


def _column(header: str) -> str:
    """Returns a header as it is compared: without case, spaces and punctuation."""
    return re.sub(r"[\W_]", "", header.casefold())


def _rows(path: Path) -> list[list[str]]:
    text = _text(path)
    try:
        tables = (_table(text, delimiter) for delimiter in _DELIMITERS)
        rows = max(
            tables, key=lambda rows: max(map(_known_columns, rows[:_HEADER_WITHIN]), default=0)
        )
    except csv.Error as error:
        raise BadRoster(f"{_shown(path)} is not a CSV file: {error}") from error
    if not rows:
        raise BadRoster(f"{_shown(path)} is empty: a roster has a row for each person")
    return rows


def _table(text: str, delimiter: str) -> list[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    cells = ([printable(cell.strip()) for cell in row] for row in rows)
    return [row for row in cells if any(row)]


def _known_columns(row: Sequence[str]) -> int:
    return len({*map(_column, row)} & _KNOWN)


def _text(path: Path) -> str:
    with refusing(BadRoster, f"{_shown(path)} cannot be read"):
        content = read_bounded(path.resolve(), _LARGEST + 1)
    if len(content) > _LARGEST:
        raise BadRoster(f"{_shown(path)} is larger than {_LARGEST // MIB} MB, and no roster")
    if content.startswith(b"PK"):
        raise BadRoster(f"{_shown(path)} is a spreadsheet or a zip: save the roster as CSV")
    if (text := table_text(content)) is None:
        raise BadRoster(f"{_shown(path)} is not text: save the roster as CSV in UTF-8")
    return text


def _person(row: Sequence[str], columns: Mapping[str, int]) -> Person | None:
    """Returns the person in a row; None for staff, empty rows and rows that Canvas adds."""

    def cell(names: Sequence[str]) -> str:
        places = (columns[name] for name in names if name in columns)
        return next((row[place] for place in places if place < len(row) and row[place]), "")

    if "points possible" in row[0].casefold() or _STAFF.search(cell(("role", "roles")).casefold()):
        return None
    ids = tuple((name, _id(value)) for name in ID_COLUMNS if (value := cell((name,))))
    first, last = cell(_FIRST_NAMES), cell(_LAST_NAMES)
    if columns.keys().isdisjoint(_LAST_NAMES):  # German tables call the last name "Name"
        last = cell(NAME_COLUMNS)
        is_whole = "name" not in columns or {*_words(first)} <= {*_words(last)}
        first = "" if last and is_whole else first
    name = " ".join(filter(None, (first, last))) or cell(NAME_COLUMNS)
    email = cell(EMAIL_COLUMNS) or next((value for _, value in ids if "@" in value), "")
    if name in ("Student, Test", "Test Student") or not (name or email or ids):
        return None
    return Person(name, email, ids)


def _id(value: str) -> str:
    numbered = _NUMBERED.fullmatch(value)
    return numbered[1] if numbered else value


def _shown(path: Path) -> str:
    return printable(str(path))


_People = dict[Author, Person | None]


@dataclass(frozen=True, slots=True)
class Attribution:
    """The entries with their authors completed from the roster, and the result of the comparison.

    `people` is the number of people on the roster; `absentees` handed in nothing. `strangers` are
    names of submissions without an author on the roster. `doubts` are other names, each with the
    reason why its author is not certain. `notes` are sentences on unclear cases.
    """

    entries: tuple[Entry, ...]
    people: int
    absentees: tuple[Author, ...] = ()
    strangers: tuple[str, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def applied_to(self, discovery: Discovery) -> Discovery:
        """Returns the discovery with its submissions matched to the people of the roster."""
        unsure = tuple((name, "by nobody who is surely on the roster") for name in self.strangers)
        return dataclasses.replace(
            discovery,
            entries=self.entries,
            absentees=self.absentees,
            unsure=(*discovery.unsure, *unsure, *self.doubts),
        )


def attribute(entries: Sequence[Entry], people: Sequence[Person]) -> Attribution:
    """Finds each submission's people on the roster, by e-mail address, id or name.

    If the platform names no authors, looks for the submission's name. A submission that fits
    several people, or one by id and another by name, gets no author: no grade goes to a stranger.
    """
    directory = _Directory(people)
    claimed = [directory.authors_of(entry) for entry in entries]
    columns = Counter(
        column
        for own in claimed
        for author, person in own.items()
        if person is not None and (column := _id_column(author, person)) is not None
    )
    column = next((name for name, _ in columns.most_common(1)), "")
    claimed = [directory.without_namesakes(own, column) for own in claimed]
    found, doubts = _strongest(entries, claimed, directory)
    known = {person for own in found for person in own.values() if person is not None}
    attributed = tuple(
        dataclasses.replace(entry, authors=_authors(own, column), named_only=not entry.authors)
        for entry, own in zip(entries, found, strict=True)
    )
    strangers = tuple(
        entry.name for entry, own in zip(entries, claimed, strict=True) if not any(own.values())
    )
    notes = (*_sentences(entries, found), *(f"{name} is {why}." for name, why in doubts.items()))
    absent = [person for person in people if person not in known] if known else []
    absentees = tuple(person.as_author(column) for person in absent)
    told = tuple(doubts.items())
    return Attribution(attributed, len(people), absentees, strangers, told, notes)


def _strongest(
    entries: Sequence[Entry], claimed: Sequence[_People], directory: _Directory
) -> tuple[list[_People], dict[str, str]]:
    """Returns each submission's people by the strongest identifier, and doubts about others."""
    best: dict[Person, tuple[int, str]] = {}
    for entry, own in zip(entries, claimed, strict=True):
        for author, person in own.items():
            if person is not None:
                claim = directory.strength(author), entry.name
                best[person] = max(best.get(person, claim), claim, key=lambda one: one[0])
    found: list[_People] = []
    doubts: defaultdict[str, list[str]] = defaultdict(list)
    for entry, own in zip(entries, claimed, strict=True):
        left = dict(own)
        for author, person in own.items():
            if person is not None and directory.strength(author) < best[person][0]:
                left[author] = None
                doubts[entry.name].append(
                    f"from {names_of((person.as_author(),))}, who handed in {best[person][1]}"
                )
        found.append(
            {author: person for author, person in left.items() if author != Author() or person}
        )
    return found, {
        name: f"by its name alone {', and '.join(people)}" for name, people in doubts.items()
    }


class _Directory:
    """The people of a roster by each of their identifiers, which may fit several people."""

    def __init__(self, people: Sequence[Person]) -> None:
        self._found: defaultdict[tuple[str, str], list[Person]] = defaultdict(list)
        has_accounts = any(_is_account(column) for person in people for column, _ in person.ids)
        for person in people:
            keys = {("name", name) for name in _rotations(person.name)}
            if email := normalised(person.email):
                keys |= {("email", email), ("account", email.partition("@")[0])}
            for column, value in person.ids:
                keys.add(("id", normalised(value)))
                # A GitHub account is chosen freely: it may equal another person's number.
                if _is_account(column) or not has_accounts:
                    keys.add(("user", normalised(value)))
            for key in keys:
                self._found[key].append(person)

    def _with(self, kind: str, key: str) -> list[Person]:
        return self._found.get((kind, key), []) if key else []

    def authors_of(self, entry: Entry) -> _People:
        """Returns the authors, each with the person on the roster, if that is certain."""
        if not entry.authors:
            person = self._by_label(entry.name)
            return {} if person is None else {Author(): person}
        if _is_clone(entry):
            (author,) = entry.authors
            return {author: _only(self._with("user", normalised(author.id)))}
        return {author: self._by_author(author) for author in entry.authors}

    def _by_author(self, author: Author) -> Person | None:
        """Returns the person with the strongest identifier, if no weaker one contradicts it.

        An address that is not on the roster rules out each person with an address.
        """
        by_email = self._with("email", normalised(author.email))
        by_id = self._with("id", normalised(author.id))
        by_name = self._with("name", _squashed(author.name))
        person = _only_in_all(by_email, by_id, by_name)
        is_contradicted = person is not None and author.email and person.email and not by_email
        return None if is_contradicted else person

    def without_namesakes(self, own: _People, column: str) -> _People:
        """Returns the authors; nobody by name alone, if `column` has another id of the platform."""
        return {
            author: None
            if person and self.strength(author) == 1 and author.id and column in dict(person.ids)
            else person
            for author, person in own.items()
        }

    def strength(self, author: Author) -> int:
        """Returns 2 for an id or an address, 1 for a person's name, 0 for the submission's name."""
        if author == Author():
            return 0
        by_id = self._with("id", normalised(author.id))
        return 2 if by_id or self._with("email", normalised(author.email)) else 1

    def _by_label(self, label: str) -> Person | None:
        """Returns the person whose id, address, account or name is the submission's name.

        If it is one person's id and another person's name, returns nobody.
        """
        by_exact = [self._with(kind, normalised(label)) for kind in ("id", "email", "account")]
        is_no_name = any(by_exact) and any(map(str.isdecimal, label))
        by_name = [] if is_no_name else self._with("name", _squashed(label))
        return _only_in_all(*by_exact, by_name)


def _is_account(column: str) -> bool:
    return column.startswith("github")


def _is_clone(entry: Entry) -> bool:
    """Returns whether only an author's id is known, which ends the name after a hyphen."""
    authors = entry.authors
    only_id = len(authors) == 1 and authors[0] == Author(id=authors[0].id)
    return only_id and entry.name.endswith(f"-{authors[0].id}")


def _only(people: Sequence[Person]) -> Person | None:
    return people[0] if len(people) == 1 else None


def _only_in_all(*found: Sequence[Person]) -> Person | None:
    """Returns the only person who is in every sequence that is not empty."""
    first, *others = [people for people in found if people] or [()]
    return _only([person for person in first if all(person in people for people in others)])


def _authors(own: _People, column: str) -> tuple[Author, ...]:
    return tuple(
        author if person is None else _completed(author, person.as_author(column))
        for author, person in own.items()
    )


def _completed(author: Author, listed: Author) -> Author:
    return Author(listed.name or author.name, author.id or listed.id, listed.email or author.email)


def _id_column(author: Author, person: Person) -> str | None:
    """Returns the roster's column that holds the platform's id of a person."""
    same = (name for name, value in person.ids if normalised(value) == normalised(author.id))
    return next(same, None)


def _sentences(entries: Sequence[Entry], found: Sequence[_People]) -> Iterator[str]:
    """Yields doubts for an instructor: groups known in part, and people with two submissions."""
    submissions: defaultdict[Person, list[str]] = defaultdict(list)
    for entry, own in zip(entries, found, strict=True):
        unknown = [names_of((author,)) for author in own if own[author] is None]
        if unknown and len(unknown) < len(own):
            yield f"Not on the roster: {several(unknown)}, of {entry.name}."
        for person in own.values():
            if person is not None:
                submissions[person].append(entry.name)
    for person, names in submissions.items():
        if len(names) > 1:
            yield f"{names_of((person.as_author(),))} has several submissions: {several(names)}."


def _rotations(name: str) -> Iterator[str]:
    """Yields the name squashed, starting at each word: platforms order the words differently."""
    words = _words(name)
    for first in range(len(words)):
        yield "".join((*words[first:], *words[:first]))


def _squashed(name: str) -> str:
    return "".join(_words(name))


def _words(name: str) -> list[str]:
    """Returns the words in small letters, without accents, punctuation and numbers.

    Marks of other scripts than Latin, Greek and Cyrillic are vowels or other letters, and stay.
    """
    letters, base = "", ""
    for char in unicodedata.normalize("NFKD", name).casefold():
        is_mark = unicodedata.category(char).startswith("M")
        if not is_mark:
            base = char
        if char not in "'’" and not (is_mark and unicodedata.name(base, "").startswith(_ACCENTED)):
            letters += char if is_mark or char.isalpha() else " "
    return unicodedata.normalize("NFC", letters).split()


_ACCENTED = ("LATIN", "GREEK", "CYRILLIC")
