"""Forbidden names that a submission uses, as its worker reports them: bounded and checked.

The check is no matter of security: code that wants to hide a call can.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

from grader.core.wire.calls import MAX_USES, Use


class Uses:
    """The uses that one submission's worker told of; `root` holds the submission's files.

    `at_import` are those of its import, which is no exercise's doing; `called` those of the calls
    of each exercise's adapter.
    """

    def __init__(self, forbidden: Collection[str], root: Path) -> None:
        self.forbidden = forbidden
        self._root = root
        self.at_import: dict[Use, None] = {}
        self.called: dict[str, dict[Use, None]] = {}

    def note_import(self, uses: Iterable[Use]) -> None:
        """Keeps what was used while the submission was imported."""
        self._keep(self.at_import, uses)

    def note_call(self, exercise: str, uses: Iterable[Use]) -> None:
        """Keeps what was used while a test called an exercise's adapter."""
        kept = self.called.setdefault(exercise, {})
        self._keep(kept, uses)
        if not kept:
            del self.called[exercise]

    def _keep(self, kept: dict[Use, None], uses: Iterable[Use]) -> None:
        """Adds what can be true: a forbidden name, in a file of the submission."""
        for use in uses:
            if len(kept) < MAX_USES and use.name in self.forbidden and self._is_own(use.file):
                kept[use] = None

    def _is_own(self, file: str) -> bool:
        path = PurePosixPath(file)
        if path.is_absolute() or ".." in path.parts:
            return False
        try:
            return (self._root / path).is_file()
        except (OSError, ValueError):  # a name that no file can have
            return False
