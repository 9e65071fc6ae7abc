"""What two programs have in common that differ in comments and empty lines only."""

from __future__ import annotations

import hashlib
import io
import tokenize
from collections.abc import Mapping
from functools import cached_property

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class CodeLines:
    """The lines of a text that hold code, without the comments at their ends, by their numbers."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def lines(self) -> Mapping[int, str]:
        """The lines that hold code; all of them where the text is no Python."""
        rows = self._text.splitlines()
        found: dict[int, str] = {}
        ends: dict[int, int] = {}
        try:
            for token in tokenize.generate_tokens(io.StringIO(self._text).readline):
                if token.type == tokenize.COMMENT:
                    ends[token.start[0]] = token.start[1]
                elif token.type not in _NO_CODE:
                    for number in range(token.start[0], token.end[0] + 1):
                        found[number] = rows[number - 1] if number <= len(rows) else ""
        except (tokenize.TokenError, SyntaxError, IndexError):
            return dict(enumerate(rows, 1))
        return {number: row[: ends.get(number)].rstrip() for number, row in sorted(found.items())}

    def place_of(self, number: int) -> int:
        """The how-manieth line with code a line is; what the same code has in another text."""
        return list(self.lines).index(number)

    def line_at(self, place: int) -> int:
        """The number of the line with code that has this place."""
        return list(self.lines)[place]


def likeness(files: Mapping[str, CodeLines]) -> bytes:
    """Equal for programs whose files hold the same lines of code."""
    digest = hashlib.sha256()
    for name, code in sorted(files.items()):
        digest.update(f"{name}\0{len(code.lines)}\0".encode("utf-8", "surrogatepass"))
        digest.update("\n".join(code.lines.values()).encode("utf-8", "surrogatepass"))
    return digest.digest()
