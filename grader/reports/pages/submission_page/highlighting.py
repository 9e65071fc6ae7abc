"""Source lines with the colours of an editor."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup, escape
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from grader.core.evidence import Excerpt
from grader.core.plain_text import plain

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
    """The lines of an excerpt, that with the number `marked` told from the others."""
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
