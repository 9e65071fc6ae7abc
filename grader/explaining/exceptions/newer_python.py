"""Recognises code that is written for a newer Python than the one that grades."""

from __future__ import annotations

import re
import sys

from grader.wire.calls import Raised

Version = tuple[int, int]

# What's New in Python 3.12, 3.13 and 3.14: syntax that older versions refuse.
_SYNTAX: tuple[tuple[Version, re.Pattern[str]], ...] = (
    ((3, 12), re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\[")),
    ((3, 12), re.compile(r"^\s*type\s+\w+\s*(?:\[.*\])?\s*=")),
    ((3, 14), re.compile(r"^\s*except\*?\s+\w[\w.]*\s*,")),
    ((3, 14), re.compile(r"""(?:^|[^\w])t["']""")),
)
# The same of an f-string, by what the parser says of it: quotes within quotes, backslashes.
_F_STRINGS = re.compile(r"f-string(?:: expecting '}'| expression part cannot include)")
# Names that the standard library got later.
_NAMES: dict[tuple[str, str], Version] = {
    ("typing", "override"): (3, 12),
    ("typing", "TypeAliasType"): (3, 12),
    ("typing", "get_protocol_members"): (3, 13),
    ("typing", "NoDefault"): (3, 13),
    ("typing", "ReadOnly"): (3, 13),
    ("typing", "TypeIs"): (3, 13),
    ("itertools", "batched"): (3, 12),
    ("collections.abc", "Buffer"): (3, 12),
    ("warnings", "deprecated"): (3, 13),
    ("copy", "replace"): (3, 13),
}
_IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")


def wanted_python(raised: Raised) -> Version | None:
    """The Python that the code which raised this needs; None if this one may do."""
    needed = _by_syntax(raised) if raised.kind == "SyntaxError" else _by_import(raised)
    return needed if needed is not None and needed > sys.version_info[:2] else None


def _by_syntax(raised: Raised) -> Version | None:
    source = raised.frames[-1].source if raised.frames else ""
    found = [version for version, pattern in _SYNTAX if pattern.search(source)]
    if not found and _F_STRINGS.search(raised.message):
        found = [(3, 12)]
    return max(found, default=None)


def _by_import(raised: Raised) -> Version | None:
    match = _IMPORT.search(raised.message)
    return _NAMES.get((match[2], match[1])) if match else None
