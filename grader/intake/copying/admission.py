"""Which files of a submission are copied: the limits, applied file by file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from grader.intake.copying.limits import CopyLimits, FileKind, is_clutter, kind_of
from grader.intake.naming import several, size_in_words

_SHOWN = 5
_LONGEST_NAME = 255  # bytes, on every file system in use


class Admission:
    """Counts what is let in against the limits, and remembers what was left out and why.

    A file is let in with the size that it is said to have; whoever copies it must not copy more.
    """

    def __init__(self, limits: CopyLimits) -> None:
        self._limits = limits
        self._files: Counter[FileKind] = Counter()
        self._bytes: Counter[FileKind] = Counter()
        self._folders: set[tuple[str, ...]] = {()}
        self._left_out: dict[str, list[str]] = {}
        self._how_many: Counter[str] = Counter()

    def admits(self, parts: Sequence[str], size: int) -> bool:
        """Whether this file is copied; clutter is left out without a word."""
        if is_clutter(parts):
            return False
        path = "/".join(parts)
        kind = kind_of(path)
        allowance = self._limits.allowance(kind)
        if len(parts) > self._limits.depth:
            self.leave_out(f"more than {self._limits.depth} folders deep", path)
        elif not _can_be_named(parts):
            self.leave_out("names that this machine cannot hold", path)
        elif size > allowance.bytes_each:
            reason = f"larger than {size_in_words(allowance.bytes_each)}"
            self.leave_out(reason, f"{path} ({size_in_words(size)})")
        elif self._bytes[kind] + size > allowance.bytes_total:
            self.leave_out(f"beyond {size_in_words(allowance.bytes_total)} in all", path)
        elif self._files[kind] >= allowance.files:
            self.leave_out(f"beyond the first {allowance.files} files", path)
        elif len(self._folders) + len(folders := self._new_folders(parts)) > self._limits.folders:
            self.leave_out(f"beyond the first {self._limits.folders} folders", path)
        else:
            self._folders.update(folders)
            self._files[kind] += 1
            self._bytes[kind] += size
            return True
        return False

    def _new_folders(self, parts: Sequence[str]) -> list[tuple[str, ...]]:
        """The folders above a file that no file lies in yet."""
        above = (tuple(parts[:depth]) for depth in range(len(parts) - 1, 0, -1))
        return list(takewhile(lambda folder: folder not in self._folders, above))

    def leave_out(self, reason: str, path: str) -> None:
        """Remember that `path` is not copied."""
        self._how_many[reason] += 1
        names = self._left_out.setdefault(reason, [])
        if len(names) < _SHOWN:
            names.append(path)

    def notes(self) -> tuple[str, ...]:
        """One sentence for each reason why something was left out."""
        return tuple(
            f"Left out ({reason}): {several(names, self._how_many[reason])}."
            for reason, names in self._left_out.items()
        )


def _can_be_named(parts: Sequence[str]) -> bool:
    try:
        encoded = [os.fsencode(part) for part in parts]
    except UnicodeEncodeError:
        return False
    return all(len(name) <= _LONGEST_NAME and b"\0" not in name for name in encoded)
