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


def _shown(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cs":
        return "\ufffd"
    return "" if category in _DROPPED and char != "\n" else char
