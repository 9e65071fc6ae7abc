"""Text: harmless, short for people, as Python reads it, as TOML and JSON."""

from __future__ import annotations

import codecs
import datetime
import io
import json
import re
import tokenize
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Self

from grader.core.names import INVISIBLE
from grader.core.wire.records import read, written


class Refusal(Exception):
    """An input of the user's that cannot be used; the text is one sentence that says why."""


_ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]?"
)
_DROPPED = {"Cc", "Cf", "Co", "Cn"}
_NEWLINE = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")


def plain(text: str) -> str:
    """Returns the text without escape sequences and control characters; its lines are kept.

    Characters that turn the direction of writing or have no width go too: they can hide text.
    """
    if text.isascii() and text.isprintable():
        return text
    text = INVISIBLE.sub("", text)
    lines = _NEWLINE.sub("\n", _ESCAPE_SEQUENCE.sub("", text)).expandtabs(4)
    return "".join(map(_shown, lines))


def _shown(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cs":
        return "\ufffd"
    return "" if category in _DROPPED and char != "\n" else char


_LINE_BREAK = re.compile(r"[^\S ]+")


def one_line(text: str, longest: int = 100) -> str:
    """Returns the plain text on one line, of `longest` characters at most.

    A longer text ends after a word, unless that word is most of it. Blanks stay, since a quoted
    text may hold several.
    """
    parts = (part.strip(" ") for part in _LINE_BREAK.split(plain(text[: 10 * longest])))
    line = " ".join(filter(None, parts))
    if len(line) <= longest and not text[10 * longest :].strip():
        return line
    cut = line[: longest - 1]
    words = cut if line[longest - 1 : longest] in " " else cut.rpartition(" ")[0]
    return (words if 2 * len(words) > longest else cut).rstrip(" ,;:…") + "…"


def first_line(text: str | None) -> str:
    """Returns the first line of a message, which is a whole sentence; the others add to it."""
    return (text or "").partition("\n")[0]


def points(number: float) -> str:
    """Returns points as people write them: two decimals at most."""
    return f"{round(number, 2):.10g}"


def enumerated(names: Sequence[str]) -> str:
    """Returns the names as in a sentence: "a, b and c"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def quantity(number: int, noun: str) -> str:
    """Returns a number of things, in words: "1 test", "2 tests"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def ordinal(place: int) -> str:
    """Returns the word for a place that is counted from 0: `first` for 0, `22nd` for 21."""
    if place < len(_ORDINALS):
        return _ORDINALS[place]
    number = place + 1
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def gained_in_words(number: float, is_full: bool) -> str:
    """Returns points that an exercise gets back: "full marks (+6 points)", or "+6 points"."""
    more = f"+{points(number)} point{'' if points(number) == '1' else 's'}"
    return f"full marks ({more})" if is_full else more


def unstopped(sentence: str) -> str:
    """Returns the sentence without its full stop; an ellipsis at its end stays."""
    return sentence if sentence.endswith("..") else sentence.removesuffix(".")


def titled(exercise: str, sentence: str) -> str:
    """Returns an exercise and a sentence about it: "run_rope: every value is wrong"."""
    said = unstopped(sentence)
    if not exercise or re.match(rf"{re.escape(exercise)}\b", said):
        return said
    return f"{exercise}: {begun_small(said)}"


def begun_small(sentence: str) -> str:
    """Returns the sentence as it stands after a colon; names and symbols keep their capitals."""
    first, space, _ = sentence.partition(" ")
    # A single word is the name of an exception: `raise Exception`.
    is_word = space and first.isalpha() and (first[1:].islower() or first == "A")
    return sentence[:1].lower() + sentence[1:] if is_word else sentence


def source_text(content: bytes) -> str:
    """Returns the text that Python reads; bytes that it cannot read are marked as such."""
    content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        # A file may declare its encoding (PEP 263).
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return content.decode(encoding)
    except (SyntaxError, LookupError, ValueError):
        return content.decode("utf-8-sig", "replace")


def table_text(content: bytes) -> str | None:
    """Returns a CSV file's text, in UTF-8, UTF-16 or Windows' own encoding; None if it has none."""
    is_wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if is_wide else ("utf-8-sig", "cp1252"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    return None


Value = str | bool | int | float | datetime.datetime | Sequence["Value"]


def toml_value(value: Value) -> str:
    """Returns the right side of `key = value`, for a text, a number, a moment or a list."""
    if isinstance(value, str):
        # A basic string has the escapes of JSON, and one more character that needs them.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float):
        return repr(value)  # JSON has other words for infinity and NaN
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, Sequence):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(value)


class PlainData:
    """A dataclass that crosses between processes, or is stored, as an object of its fields."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """Returns the fields as an object of JSON, with NaN and infinities as texts."""
        row: dict[str, Any] = written(self)
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Returns what `as_json` wrote; a field that is missing has its default.

        Raises:
            BadFrame: if the row is anything else.
        """
        return read(cls, row)
