"""Source lines with the colours of an editor."""

from __future__ import annotations

import builtins
import keyword
import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from grader.evidence import Excerpt
from grader.plain_text import plain

# What has a colour, by its class in a page's style; of words `_class` tells. An excerpt may begin
# and end anywhere and hold what is no Python: what is not closed goes to its end.
_TOKEN = re.compile(
    r"""
    (?P<c> \#[^\n]* )
    | (?P<s> (?<!\w) [bBfFrRuU]{0,2} (?:
        \"{3} (?: \\. | . )*? (?: \"{3} | \Z )
        | '{3} (?: \\. | . )*? (?: '{3} | \Z )
        | " (?: [^"\\\n] | \\. )* "?
        | ' (?: [^'\\\n] | \\. )* '?
    ) )
    | (?P<f> (?<= \bdef\s ) \w+ | (?<= \bclass\s ) \w+ | ^[ \t]* @ [\w.]+ )
    | (?P<word> [^\W\d] \w* )
    | (?P<n> 0[xXbBoO][\da-fA-F_]+ | (?: \d[\d_]*\.?[\d_]* | \.\d[\d_]* ) (?: [eE][+-]?\d+ )? j? )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_KEYWORDS = frozenset(keyword.kwlist)
_BUILTINS = frozenset({*dir(builtins), "self", "cls"})


@dataclass(frozen=True, slots=True)
class Line:
    """A line of source: its number, its text as escaped markup, and whether it is the one meant."""

    number: int
    text: Markup
    marked: bool


def highlighted(excerpt: Excerpt, marked: int) -> tuple[Line, ...]:
    """The lines of an excerpt, that with the number `marked` told from the others."""
    # A line break of another kind within a line would move every line after it.
    source = "\n".join(plain(line).replace("\n", " ") for line in excerpt.lines)
    return tuple(
        Line(number, text, number == marked)
        for number, text in enumerate(_coloured(source).split("\n"), excerpt.first)
    )


def _coloured(source: str) -> Markup:
    pieces: list[str] = []
    end = 0
    for token in _TOKEN.finditer(source):
        pieces += escape(source[end : token.start()]), _span(_class(token), token[0])
        end = token.end()
    return Markup("".join((*pieces, escape(source[end:]))))


def _span(css: str, text: str) -> str:
    """The text in its colour, in each of its lines anew."""
    escaped = str(escape(text))
    if not css:
        return escaped
    return "\n".join(f'<i class="{css}">{line}</i>' for line in escaped.split("\n"))


def _class(token: re.Match[str]) -> str:
    if token.lastgroup != "word":
        return token.lastgroup or ""
    if token[0] in _KEYWORDS:
        return "k"
    is_attribute = token.string.endswith(".", 0, token.start())
    return "b" if token[0] in _BUILTINS and not is_attribute else ""
