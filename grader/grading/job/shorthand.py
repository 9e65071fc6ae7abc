"""The messages between a job and its coordinator: the job's role, and grades in a short form.

In a class nearly all verdicts repeat those of an earlier submission, except for the durations. Both
ends number the verdicts in the order in which they are first said. Each grade says how many
verdicts are known. If none are known, both ends begin anew.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.core.verdict import Grade, Verdict


class Role(enum.StrEnum):
    """The role of the process that answers a job's lines: judge or explainer."""

    JUDGE = "judge"
    EXPLAINER = "explainer"


_MOST = 4096


class ShorthandWriter:
    """The judge's end."""

    def __init__(self) -> None:
        self._numbers: dict[Verdict, int] = {}

    def written(self, grade: Grade) -> dict[str, Any]:
        """Returns the grade as plain data; what is remembered of it stays bounded."""
        if len(self._numbers) >= _MOST:
            self._numbers.clear()
        known = len(self._numbers)
        numbers = [
            self._numbers.setdefault(test._replace(duration_s=0.0), len(self._numbers))
            for test in grade.tests
        ]
        new = itertools.islice(self._numbers, known, None)
        tests = {
            "known": known,
            "new": [verdict.as_whole_json() for verdict in new],
            "numbers": numbers,
            "durations": [test.duration_s for test in grade.tests],
        }
        return replace(grade, tests=()).as_json(whole=True) | {"tests": tests}


class ShorthandReader:
    """The coordinator's end; it serves one judge after another."""

    def __init__(self) -> None:
        self._verdicts: dict[int, Verdict] = {}

    def read(self, row: Mapping[str, Any]) -> Grade:
        """Returns the grade that `ShorthandWriter.written` wrote.

        Raises:
            ValueError: if the writer counts otherwise: a line was left out, or is another's.
        """
        tests = row["tests"]
        if tests["known"] == 0:
            self._verdicts.clear()
        if tests["known"] != len(self._verdicts):
            known = len(self._verdicts)
            raise ValueError(f"{known} verdicts were said, the judge counts {tests['known']}")
        for number, verdict in enumerate(tests["new"], start=tests["known"]):
            self._verdicts[number] = Verdict.from_json(verdict)
        said = zip(tests["numbers"], tests["durations"], strict=True)
        verdicts = tuple(self._verdicts[number]._replace(duration_s=s) for number, s in said)
        return replace(Grade.from_json({**row, "tests": ()}), tests=verdicts)
