"""Grades as lines of `results.jsonl`."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from grader.core.verdict import Grade
from grader.results.rows import Test, verdict_of

_MOST = 4096
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_BREAKS_LINES = re.compile("[\x80-\x9f\u2028\u2029]")
# Quotes within a text are escaped: in an object's JSON this is the field and nothing else.
_UNTIMED = '"duration_s": 0.0'


class GradeLines:
    """Writes grades as lines, given the tests by their numbers.

    In a class nearly all verdicts are those of an earlier submission but for their durations: their
    JSON is remembered.
    """

    def __init__(self, tests: Mapping[int, Test]) -> None:
        self._tests = tests
        self._around = functools.lru_cache(maxsize=_MOST)(self._around_the_duration)

    def line(self, grade: Grade, verdicts: Iterable[tuple[Any, ...]]) -> str:
        """The line of a grade, whose verdicts are given as rows of `VERDICTS`."""
        rows = list(verdicts)
        durations = _ENCODER.encode([row[-1] for row in rows])[1:-1].split(", ")
        tests = [
            duration.join(self._around(row[:-1]))
            for row, duration in zip(rows, durations, strict=False)
        ]
        bare = _ENCODER.encode(grade.as_json()).removesuffix("[]}")
        return _in_one_line(f"{bare}[{', '.join(tests)}]}}")

    def _around_the_duration(self, untimed: tuple[Any, ...]) -> tuple[str, str]:
        """What is written before and after the duration of a verdict."""
        fields = verdict_of(self._tests, (*untimed, 0.0)).as_json()
        before, field, after = _ENCODER.encode(fields).partition(_UNTIMED)
        return before + field.removesuffix("0.0"), after


def _in_one_line(text: str) -> str:
    """The JSON, for readers that split at any kind of line break as well."""
    if text.isascii():
        return text
    return _BREAKS_LINES.sub(lambda char: f"\\u{ord(char[0]):04x}", text)
