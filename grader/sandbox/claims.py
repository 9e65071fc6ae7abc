"""A worker's claims as others read them: exceptions and uses of forbidden names.

Exceptions lose the paths of this machine, and refusals get an explanation. Uses are bounded and
checked, but not for security: code that tries to hide a call can.
"""

from __future__ import annotations

import dataclasses
import os
import re
import site
import sys
import sysconfig
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from grader.core.names import several
from grader.core.wire.calls import MAX_USES, Raised, Use
from grader.core.wire.scripts import GIVEN
from grader.worker.workplace import WORKPLACE


class Uses:
    """The uses that one submission's worker reports; `root` holds the submission's files.

    `at_import` holds the uses during the import, which belong to no exercise. `called` holds those
    during calls of each exercise's adapter.
    """

    def __init__(self, forbidden: Collection[str], root: Path) -> None:
        self.forbidden = forbidden
        self._root = root
        self.at_import: dict[Use, None] = {}
        self.called: dict[str, dict[Use, None]] = {}

    def note_import(self, uses: Iterable[Use]) -> None:
        """Keeps the uses during the submission's import."""
        self._keep(self.at_import, uses)

    def note_call(self, exercise: str, uses: Iterable[Use]) -> None:
        """Keeps the uses while a test calls an exercise's adapter."""
        kept = self.called.setdefault(exercise, {})
        self._keep(kept, uses)
        if not kept:
            del self.called[exercise]

    def _keep(self, kept: dict[Use, None], uses: Iterable[Use]) -> None:
        """Adds the uses that can be true: a forbidden name, in a file of the submission."""
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


_RULE = (
    " (while it is graded, a submission reads its own files, writes to its temporary folder, and "
    "starts no other program and no connection)"
)
_NO_NETWORK = " (there is no network while a submission is graded: hand in what it needs)"
_UNREACHED = re.compile(
    r"name resolution|Name or service not known|nodename nor servname|Failed to resolve"
    r"|Network is unreachable|getaddrinfo failed|Max retries exceeded|[Cc]ouldn't connect to '?http"
)
# The folder of a file that a test made (`grader/worker/marshalling.py`). Tried only where a path
# may begin: elsewhere, the time would grow with the square of the text.
_GIVEN = re.compile(rf"(?<![^\s'\"=])[^\s'\"=]*{GIVEN}\w+/\d+/")
_ENGINE = Path(__file__).resolve().parents[2]


def redacted(raised: Raised, root: Path, scratch: Path) -> Raised:
    """Returns the exception without this machine's paths; a refusal by the grader says so."""
    rule = _RULE if _is_refusal(raised) else ""
    rule = rule or (_NO_NETWORK if _UNREACHED.search(raised.message) else "")
    operands = tuple(
        dataclasses.replace(operand, words=without_places(operand.words, root, scratch))
        for operand in raised.operands
    )
    return dataclasses.replace(
        raised,
        message=without_places(raised.message + rule, root, scratch),
        operands=operands,
        printed=without_places(raised.printed, root, scratch),
    )


def without_places(text: str, root: Path, scratch: Path) -> str:
    """Returns the text without this machine's paths.

    A path below `root` becomes relative to it, one below `scratch` begins with "scratch/". Packages
    and the standard library lose their folder; files that a test made keep only their name.
    """
    names = _names(root, scratch)
    for folder in sorted(names, key=len, reverse=True):
        text = text.replace(f"{folder}/", names[folder]).replace(folder, names[folder] or ".")
    return _GIVEN.sub("…/", _without_beginning(text, scratch))


def _without_beginning(text: str, folder: Path) -> str:
    """Returns a text without the beginnings of a folder's path at which something was cut off.

    An ellipsis may follow such a beginning: a list shows several texts that were cut.
    """
    shortest = len(str(Path(*folder.parts[:3])))
    for length in range(len(str(folder)), shortest - 1, -1):
        beginning = str(folder)[:length]
        if text.endswith(beginning):
            text = f"{text}…"
        text = text.replace(f"{beginning}…", "…")
    return text


def _is_refusal(raised: Raised) -> bool:
    """Returns whether the exception looks like a refusal by the confinement."""
    kinds = ("PermissionError", "AccessDenied")  # Python's own, and psutil's
    refusals = ("Operation not permitted", "Read-only file system")
    return raised.kind in kinds or any(one in raised.message for one in refusals)


def _names(root: Path, scratch: Path) -> Mapping[str, str]:
    """Returns the text that stands for each folder, by the folder's path."""
    paths = sysconfig.get_paths()
    names = {str(_ENGINE): "grader/", sys.prefix: "", sys.base_prefix: ""}
    home = os.path.expanduser("~")  # noqa: PTH111  Path.home() raises where there is none
    names |= {home: "~/"} if home not in ("~", "/") else {}  # a container's user may have none
    names |= dict.fromkeys((*site.getsitepackages(), paths["stdlib"], paths["platstdlib"]), "")
    return names | {str(scratch): "scratch/", str(scratch / WORKPLACE): "", str(root): ""}


_ABSENCES = ("NameError", "ModuleNotFoundError", "ImportError", "FileNotFoundError", "KeyError")
_SHOWN = 3


def with_what_was_not_run(raised: Raised, not_run: Sequence[str]) -> Raised:
    """Returns the exception, with the skipped commands that may define what is missing."""
    is_absent = raised.kind in _ABSENCES or (raised.missing and not raised.frames)
    if not not_run or not is_absent:
        return raised
    said = f"Not run while it is graded: {several(not_run, shown=_SHOWN)}."
    return dataclasses.replace(raised, not_run=said)
