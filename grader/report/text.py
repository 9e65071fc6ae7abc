"""Text that a submission had a hand in, made harmless for a terminal."""

from __future__ import annotations

import re
import unicodedata

_ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]?"
)
_DROPPED = {"Cc", "Cf", "Co", "Cn"}
_NEWLINE = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")


def plain(text: str) -> str:
    """The text without escape sequences and control characters; its lines are kept.

    Characters that turn the direction of writing or have no width go too: they can hide text.
    """
    if text.isascii() and text.isprintable():
        return text
    lines = _NEWLINE.sub("\n", _ESCAPE_SEQUENCE.sub("", text)).expandtabs(4)
    return "".join(map(_shown, lines))


def one_line(text: str, longest: int = 100) -> str:
    """The plain text on one line, cut off after `longest` characters."""
    line = " ".join(plain(text[: 10 * longest]).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def points(number: float) -> str:
    """Points as people write them: two decimals at most."""
    return f"{round(number, 2):.10g}"


def _shown(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cs":
        return "\ufffd"
    return "" if category in _DROPPED and char != "\n" else char
