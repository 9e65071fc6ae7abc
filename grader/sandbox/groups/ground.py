"""Where this process may make control groups, or why it may not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.groups.group import Bounds, Group
from grader.sandbox.groups.tree import kill_all, remove_all


@dataclass(frozen=True, slots=True)
class NoGround:
    """This machine grants no groups; `because` is half a sentence for people."""

    because: str


@dataclass(frozen=True, slots=True)
class Ground:
    """The folders, one in each hierarchy, in which a process makes its groups.

    `version` says for people whose groups these are: "v1", "v2", "v2, scope of systemd".
    """

    version: str
    folders: tuple[Path, ...]
    kind: Callable[[tuple[Path, ...]], Group]

    def new(self, name: str, bounds: Bounds) -> Group:
        """A group that nobody is in.

        Raises:
            OSError: if there is one of that name, or the kernel grants none.
        """
        group = self.kind(tuple(folder / name for folder in self.folders))
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
        group = self.kind(tuple(folder / name for folder in self.folders))
        return group if all(folder.is_dir() for folder in group.folders) else None

    def clear(self) -> bool:
        """Kills who is in its groups and removes these; whether all are gone."""
        inner = [one for folder in self.folders for one in folder.iterdir() if one.is_dir()]
        return kill_all(inner) and remove_all(inner)

    def close(self) -> bool:
        """Kills who is in its groups and removes these and itself; whether all is gone."""
        return kill_all(self.folders) and remove_all(self.folders)
