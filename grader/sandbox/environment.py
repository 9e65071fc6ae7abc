"""The course's environment as one submission finds it: the packages that are missing."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.core.assignment import Assignment
from grader.core.verdict import Status, Verdict
from grader.core.wire.calls import Raised
from grader.testing.outcome import StudentFault
from grader.worker.packages import is_installed

_MOST = 20
_LONGEST = 60
_TOLD = 3


class Environment:
    """A check of the packages that a worker reports as missing.

    `lacking` holds those that are really not installed, and are not modules of the assignment or of
    the submission in `root`.
    """

    def __init__(self, assignment: Assignment, root: Path) -> None:
        self._assignment = assignment
        self._root = root
        self._is_known_lacking = functools.cache(self._is_lacking)
        self.lacking: dict[str, None] = {}
        self._absent: list[str] = []
        self._has_adapters = True

    def checked(self, raised: Raised, asked: bool = False) -> Raised:
        """Returns the exception; drops the package that it calls missing unless it really is.

        After the first call (`asked`), a package's name might reveal the call's inputs. From then
        on, `lacking` keeps only packages that the assignment lists.
        """
        if not raised.lacks:
            return raised
        lacks = raised.lacks if self._is_known_lacking(raised.lacks) else ""
        kept = not asked or lacks in self._assignment.packages
        if lacks and kept and len(self.lacking) < _MOST:
            self.lacking[lacks] = None
        return dataclasses.replace(raised, lacks=lacks)

    def note_absent(self, names: Iterable[str], has_adapters: bool = True) -> None:
        """Keeps the packages that are really not installed.

        A submission without adapters may have intended to import them from these packages.
        """
        self._has_adapters = has_adapters
        for name in names:
            self.checked(Raised("ModuleNotFoundError", "", lacks=name))
            self._absent += [name] if self._is_absent(name) else []

    def fault(self, raised: Raised) -> StudentFault | None:
        """Returns the fault if a package that submissions may import is missing, or None."""
        if raised.lacks not in self._assignment.packages:
            return None
        return StudentFault(Status.NOT_GRADED, in_words(raised.lacks))

    def leaves_nothing_of(self, tests: Sequence[Verdict]) -> bool:
        """Returns whether no test ran, because of the packages that are absent."""
        statuses = {test.status for test in tests}
        wanting = (t for t in tests if t.status is Status.ERROR)
        is_error = Status.ERROR in statuses or not self._has_adapters
        is_nothing = is_error and statuses <= {Status.ERROR, Status.MISSING}
        return (
            bool(self._absent)
            and is_nothing
            and all((test.message or "").endswith("raised ModuleNotFoundError") for test in wanting)
        )

    @property
    def absence(self) -> str:
        """Returns a message in Python's words that names the absent modules."""
        names = " and ".join(repr(name) for name in self._absent[:_TOLD])
        return f"ModuleNotFoundError: No module named {names}: neither handed in nor installed"

    def spared(
        self, tests: tuple[Verdict, ...], cell_errors: Iterable[Raised]
    ) -> tuple[Verdict, ...]:
        """Returns the verdicts.

        If a cell needs an allowed package that is missing, only passed tests keep their verdict.
        """
        faults = (self.fault(raised) for raised in cell_errors)
        fault = next((fault for fault in faults if fault is not None), None)
        if fault is None:
            return tests
        return tuple(
            test
            if test.status is Status.PASSED
            else test._replace(
                status=Status.NOT_GRADED, message=fault.message, diagnosis=None, where=None
            )
            for test in tests
        )

    def _is_lacking(self, name: str) -> bool:
        own = (self._assignment.root / one for one in (name, f"{name}.py"))
        return self._is_absent(name) and not any(path.exists() for path in own)

    def _is_absent(self, name: str) -> bool:
        if len(name) > _LONGEST or not name.isidentifier() or name == "grader":
            return False
        if name in sys.stdlib_module_names or is_installed(name):
            return False
        return self._own_names.isdisjoint((name, f"{name}.py"))

    @functools.cached_property
    def _own_names(self) -> set[str]:
        """Returns the names of the submission's files and folders, cached as any call may ask."""
        return {name for _, folders, files in os.walk(self._root) for name in (*folders, *files)}


def in_words(package: str) -> str:
    """Returns advice on a missing package that submissions may import."""
    return (
        f"{package}, which submissions may import, is missing in the course's environment: "
        "install it where the grader is installed"
    )
