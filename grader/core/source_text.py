"""Source files as text: what is shown and compared is what Python runs.

A file may declare its encoding in its first two lines (PEP 263). In some encodings a comment that
an editor shows is code to Python, and the other way round.
"""

from __future__ import annotations

import codecs
import re

_DECLARED = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK_OR_COMMENT = re.compile(rb"[ \t\f]*(?:#|$)")
# Those in which ASCII is ASCII: the text that an editor shows is the text that Python reads.
_PAGES = (437, 850, 852, 866, 874, 932, 936, 949, 950, *range(1250, 1259))
_OF_EDITORS = frozenset(
    [
        *("utf-8", "ascii", "koi8-r", "koi8-u", "tis-620"),
        *("mac-roman", "mac-cyrillic", "mac-greek"),
        *("gb2312", "gbk", "gb18030", "big5", "big5hkscs", "shift_jis", "euc_jp", "euc_kr"),
        *(f"iso8859-{part}" for part in range(1, 17)),
        *(f"cp{page}" for page in _PAGES),
    ]
)


def source_text(content: bytes) -> str:
    """Returns the text that Python reads; bytes that it cannot read are marked as such."""
    content = _with_plain_line_ends(content)
    name = _declared(content) or "utf-8-sig"
    try:
        return codecs.decode(content, name) if _is_of_text(name) else _as_utf8(content)
    except (LookupError, ValueError):
        return _as_utf8(content)


def unusual_encoding(content: bytes) -> str | None:
    """Returns the encoding that a file declares if no editor offers it."""
    name = _declared(_with_plain_line_ends(content))
    if name is None:
        return None
    try:
        return None if codecs.lookup(name).name in _OF_EDITORS else name
    except (LookupError, ValueError):
        return name


def _with_plain_line_ends(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _declared(content: bytes) -> str | None:
    """The encoding that the first two lines name, unless they begin with UTF-8's mark."""
    if content.startswith(codecs.BOM_UTF8):
        return None
    first, _, rest = content.partition(b"\n")
    lines = [first, rest.partition(b"\n")[0]] if _BLANK_OR_COMMENT.match(first) else [first]
    found = next(filter(None, map(_DECLARED.match, lines)), None)
    return None if found is None else found[1].decode("ascii", "replace")


def _is_of_text(name: str) -> bool:
    return isinstance(codecs.decode(b"", name), str)


def _as_utf8(content: bytes) -> str:
    return content.decode("utf-8-sig", "replace")
