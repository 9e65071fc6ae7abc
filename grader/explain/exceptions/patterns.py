"""Explains patterns of einops and einx that do not fit."""

from __future__ import annotations

import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, Explanation, kind

_ELLIPSIS = "An ellipsis (...) on both sides stands for any leading axes."
_REPEATED = (
    r"expression contains duplicate dimension \"(\w+)\""
    r"|output subscript (\w) appears more than once"
)


def _einops(match: re.Match[str], raised: Raised) -> Explanation:
    pattern, shape, sizes, reason = (" ".join(part.split()) for part in match.groups())
    given = f" with {sizes}" if sizes != "{}" else ""
    message = f'"{pattern}" does not fit a tensor of shape {shape}{given}: {reason}'
    axes = re.search(r"expected (\d+) dims", reason)
    if axes and "..." not in pattern:
        return Explanation(f"The pattern names {axes[1]} axes. {_ELLIPSIS}", message)
    if "can't divide axis" in reason:
        return Explanation("A group in brackets must multiply to the length of its axis.", message)
    repeated = re.search(_REPEATED, reason)
    return Explanation(_repeated(repeated, raised) if repeated else "", message)


def _repeated(match: re.Match[str], _: Raised) -> str:
    return (
        f"Each axis of a tensor has a name of its own, and {match[1] or match[2]} names two: call "
        "one of them otherwise."
    )


def _einx(match: re.Match[str], raised: Raised) -> Explanation:
    equations = re.search(r"equations?.*?:\n((?:    .*\n?){1,6})", raised.message)
    told = ", ".join(line.strip() for line in equations[1].splitlines()) if equations else ""
    sentence = f"It would have to hold that {told}." if told else ""
    return Explanation(f"{sentence} {_ELLIPSIS}".strip(), match[1])


PATTERNS: tuple[ExceptionKind, ...] = (
    kind(
        r"^EinopsError:\s+Error while processing \S+ pattern \"([^\"]*)\"\.\s+Input tensor shape: "
        r"torch\.Size\(([^)]*)\)\. Additional info: (\{[^}]*\})\.\s+(.*)",
        _einops,
    ),
    kind(_REPEATED, _repeated),
    kind(r"^(?:RankError|AxisSizeError): ([^\n]*\.)\n.*equation", _einx),
)
