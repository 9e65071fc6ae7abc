"""Where this process may make control groups, or why it may not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from grader.sandbox.cgroups.group import Group, GroupBounds
from grader.sandbox.cgroups.tree import kill_all, remove_all


@dataclass(frozen=True, slots=True)
class NoGround:
    """This machine grants no groups; `because` is half a sentence for people."""

    because: str


@dataclass(frozen=True, slots=True)
class Ground:
    """The folders, one in each hierarchy, in which a process makes its groups.

    `version` says for people whose groups these are: "v1", "v2", "v2, scope of systemd". The names
    of its groups begin with `prefix`.
    """

    version: str
    folders: tuple[Path, ...]
    kind: Callable[[tuple[Path, ...]], Group]
    prefix: str = ""

    def part(self, name: str) -> Ground:
        """The same ground for one of those who share it: what it clears is its own."""
        return replace(self, prefix=f"{name}-")

    def new(self, name: str, bounds: GroupBounds) -> Group:
        """A group that nobody is in.

        Raises:
            OSError: if there is one of that name, or the kernel grants none.
        """
        group = self._named(name)
        made: list[Path] = []
        try:
            for folder in group.folders:
                folder.mkdir()
                made.append(folder)
            group.limit(bounds)
        except OSError:
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
        return group

    def get(self, name: str) -> Group | None:
        """The group of that name that was made before, by whomever; None if there is none."""
        group = self._named(name)
        return group if all(folder.is_dir() for folder in group.folders) else None

    def clear(self) -> bool:
        """Kills who is in its groups and removes these; whether all are gone."""
        own = [one for folder in self.folders for one in folder.glob(f"{self.prefix}*")]
        inner = [one for one in own if one.is_dir()]
        return kill_all(inner) and remove_all(inner)

    def close(self) -> bool:
        """Kills who is in its groups and removes these and itself; whether all is gone."""
        return kill_all(self.folders) and remove_all(self.folders)

    def _named(self, name: str) -> Group:
        return self.kind(tuple(folder / f"{self.prefix}{name}" for folder in self.folders))
