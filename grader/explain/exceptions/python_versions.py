"""Recognises code that is written for another Python version than the grader's."""

from __future__ import annotations

import re
import sys

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import source_of

Version = tuple[int, int]

# Python 2 code. `except A, B:` with two names of classes is Python 3.14 instead.
_PYTHON_2 = re.compile(
    r"^except\s+(?:\([\w., ]+\)|[\w.]+)\s*,\s*[a-z_]\w*\s*:|^raise\s+\w+\s*,\s*[\"'\w]"
)
# A definition or an alias with type parameters, which are short: a longer name may be a slip.
_TYPE_PARAMETERS = re.compile(
    r"^(?:(?:async\s+)?def|class)\s+\w+\s*\[\s*\*{0,2}[A-Z]\w?\s*[\],:]|^type\s+\w+\s*(?:\[.*\])?\s*="
)
# A field of an f-string that holds a text in the quotes of the f-string itself.
_SAME_QUOTES = re.compile(r"""[fF](["'])[^"'{]*\{[^{}"']*\1[^"']*\1[^{}]*\}""")
_BACKSLASH = "f-string expression part cannot include a backslash"
# Newer names of the standard library, and the version that added each.
_NAMES: dict[tuple[str, str], Version] = {
    ("typing", "override"): (3, 12),
    ("typing", "TypeAliasType"): (3, 12),
    ("typing", "ReadOnly"): (3, 13),
    ("typing", "TypeIs"): (3, 13),
    ("itertools", "batched"): (3, 12),
    ("collections.abc", "Buffer"): (3, 12),
    ("warnings", "deprecated"): (3, 13),
}
_IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")


def needed_python(raised: Raised) -> str:
    """Returns the Python version that the code needs, or "" if this one may suffice."""
    source = source_of(raised).strip()
    needed: Version | None = None
    if raised.kind != "SyntaxError":
        match = _IMPORT.search(raised.message)
        needed = _NAMES.get((match[2], match[1])) if match else None
    elif _PYTHON_2.search(source):
        return "Python 2"
    elif _TYPE_PARAMETERS.search(source) or _is_newer_string(source, raised.message):
        needed = 3, 12
    if needed is None or needed <= sys.version_info[:2]:
        return ""
    return f"Python {needed[0]}.{needed[1]} or newer"


def _is_newer_string(source: str, message: str) -> bool:
    is_quoted = message.startswith("f-string") and _SAME_QUOTES.search(source)
    return bool(is_quoted) or message.startswith(_BACKSLASH)
