"""Source lines in an editor's colours, and tensors for the page's script to draw."""

from __future__ import annotations

import array
import base64
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup, escape
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from grader.core.evidence import Excerpt, Picture
from grader.core.text import one_line, plain
from grader.reports.pages.rendering import as_json

# The classes of a page's style, by the kind of token; a kind without one is like its parent.
_CLASSES: Mapping[_TokenType, str] = {
    Comment: "c",
    Keyword: "k",
    Operator.Word: "k",
    Name.Builtin: "b",
    Name.Function: "f",
    Name.Class: "f",
    Name.Decorator: "f",
    Number: "n",
    String: "s",
}
_LEXER = PythonLexer(stripnl=False, ensurenl=False)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of source: its number, its text as escaped markup, and whether it is the one meant."""

    number: int
    text: Markup
    marked: bool


def highlighted(excerpt: Excerpt, marked: int) -> tuple[SourceLine, ...]:
    """Returns the lines of an excerpt, that with the number `marked` told from the others."""
    # A line break of another kind within a line would move every line after it.
    lines = [plain(line).replace("\n", " ") for line in excerpt.lines]
    if not excerpt.opening:
        coloured = _lines("\n".join(lines))
    else:
        coloured = itertools.islice(_lines("\n".join([excerpt.opening, *lines])), 1, None)
    return tuple(
        SourceLine(number, text, number == marked)
        for number, text in enumerate(coloured, excerpt.first)
    )


def _lines(source: str) -> Iterator[Markup]:
    line: list[str] = []
    for css, texts in itertools.groupby(_LEXER.get_tokens(source), lambda token: _class(token[0])):
        first, *others = "".join(text for _, text in texts).split("\n")
        line.append(_span(css, first))
        for text in others:
            yield Markup("".join(line))
            line = [_span(css, text)]
    yield Markup("".join(line))


def _span(css: str, text: str) -> str:
    escaped = str(escape(text))
    return f'<i class="{css}">{escaped}</i>' if css and text else escaped


@cache
def _class(kind: _TokenType) -> str:
    while kind.parent is not None:
        if kind in _CLASSES:
            return _CLASSES[kind]
        kind = kind.parent
    return ""


# What a page has room for: a class of thousands must fit on a disk, and a page in a mail.
_NUMBERS = 3072
_EACH = 3


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture on a page: its caption, and its data as JSON for a script element."""

    caption: str
    shape: str
    data: Markup


class Album:
    """The pictures of one submission that its page has room for."""

    def __init__(self, pictures: Iterable[Picture], public: frozenset[str]) -> None:
        """Pictures of tests that are not among `public` are passed over, whoever made them."""
        self._pictures = {p.test: p for p in pictures if p.test in public and _is_sound(p)}
        self._room = _NUMBERS

    def of(self, tests: Sequence[str]) -> tuple[Drawing, ...]:
        """Returns the pictures of a few of the tests, which are then no longer there."""
        found: list[Drawing] = []
        for test in tests:
            picture = self._pictures.get(test)
            if picture is None or len(found) == _EACH or len(picture.got) > self._room:
                continue
            del self._pictures[test]
            self._room -= len(picture.got)
            found.append(_drawing(picture))
        return tuple(found)


def _is_sound(picture: Picture) -> bool:
    count = 1
    for size in picture.shape:
        count *= size
    return count == len(picture.expected) == len(picture.got) > 0


def _drawing(picture: Picture) -> Drawing:
    names = [one_line(name, 60) or f"axis {place}" for place, name in enumerate(picture.axes)]
    names += [f"axis {place}" for place in range(len(names), len(picture.shape))]
    data = {
        "axes": names[: len(picture.shape)],
        "shape": picture.shape,
        "expected": _packed(picture.expected),
        "got": _packed(picture.got),
    }
    shape = " × ".join(map(str, picture.shape)) or "one number"
    test = one_line(picture.test.partition("::")[2] or picture.test, 120)
    return Drawing(f"{test}: {one_line(picture.what, 120)}", shape, as_json(data))


def _packed(numbers: Sequence[float]) -> str:
    """Returns the numbers as little-endian float32 in base64; larger ones become infinite."""
    packed = array.array("f", numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return base64.b64encode(packed.tobytes()).decode()
