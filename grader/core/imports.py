"""What a submission imports of installed packages, and which of them are not there: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Imports:
    """What one submission needs of the course's environment.

    `seconds` are those that modules of installed packages took to be imported, by their names, as
    the worker claims: good for advice alone. `lacking` are packages that are not installed;
    `not_preloaded` says, while a batch runs, why modules could not be loaded ahead.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()
    not_preloaded: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The imports as an object of JSON."""
        return {
            "seconds": dict(self.seconds),
            "lacking": list(self.lacking),
            "not_preloaded": dict(self.not_preloaded),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Imports:
        """The imports that `as_json` wrote."""
        return cls(row["seconds"], tuple(row["lacking"]), row["not_preloaded"])


@dataclass(frozen=True, slots=True)
class Needs:
    """What one submission's files say that it needs, read and not run.

    `imported` are packages by the names that imports have, `declared` distributions by theirs.
    """

    imported: frozenset[str] = frozenset()
    declared: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, Any]:
        """The needs as an object of JSON."""
        return {"imported": sorted(self.imported), "declared": sorted(self.declared)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Needs:
        """The needs that `as_json` wrote.

        Raises:
            LookupError, TypeError, ValueError: if it did not.
        """
        return cls(*(frozenset(map(str, row[name])) for name in ("imported", "declared")))


@dataclass(frozen=True, slots=True)
class ClassNeeds:
    """How many submissions import and declare which package."""

    imported: Mapping[str, int] = field(default_factory=dict)
    declared: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClassImports:
    """What a class needs: by name, how many submissions, and the seconds that it cost them all."""

    imported: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    lacking: Mapping[str, int] = field(default_factory=dict)
