"""Text for people: short, on one line, and numbers as they write them."""

from __future__ import annotations

from grader.core.plain_text import plain


def one_line(text: str, longest: int = 100) -> str:
    """The plain text on one line, cut off after `longest` characters."""
    line = " ".join(plain(text[: 10 * longest]).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def first_line(text: str | None) -> str:
    """The first line of a message, which is whole in itself; the others say more."""
    return (text or "").partition("\n")[0]


def points(number: float) -> str:
    """Points as people write them: two decimals at most."""
    return f"{round(number, 2):.10g}"
