"""The assignment as it travels to other machines, and what must be the same on all of them."""

from __future__ import annotations

import io
import platform
import tarfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import grader
from grader.core.assignment import Assignment, BadAssignment, find_assignment
from grader.core.settings import Settings
from grader.grading.fingerprints import SUITE, source_files
from grader.grading.options import Options
from grader.intake.bundle import Bundle
from grader.intake.copying.private_copy import PrivateCopy
from grader.intake.naming import size_in_words

_LARGEST = 256 << 20
_SUITE = "suite"


def packed_assignment(assignment: Assignment) -> bytes:
    """The parts of an assignment that its grades depend on, as a compressed tar.

    Raises:
        BadAssignment: if they are too large to travel.
    """
    root, size = assignment.root, 0
    with Bundle() as bundle:
        for part in SUITE:
            for file in source_files(root / part):
                content = file.read_bytes()
                size += len(content)
                if size > _LARGEST:
                    raise BadAssignment(
                        f"{root} is too large to be sent to other machines (more than "
                        f"{size_in_words(_LARGEST)} in {', '.join(SUITE)}): what its tests do not "
                        "need belongs elsewhere"
                    )
                bundle.add(file.relative_to(root).parts, content)
    return bundle.content


def unpacked_assignment(luggage: bytes, folder: Path, settings: Settings) -> Settings:
    """Lays an assignment into a new folder; the settings for judges of it there.

    Raises:
        BadAssignment: if it cannot be used there.
        CopyFailed: if it cannot be written.
    """
    copy = PrivateCopy(folder)
    with tarfile.open(fileobj=io.BytesIO(luggage), mode="r:gz") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                copy.write(member.name.split("/"), [content.read()])
    chosen = Options(
        settings.seed,
        settings.exercises,
        settings.adapters,
        settings.timeout,
        settings.memory_mb,
        settings.device,
        settings.explain_seconds,
    )
    return chosen.settings(find_assignment(folder))


def versions(settings: Settings) -> dict[str, str]:
    """What grades depend on and every machine has for itself, in a stable order."""
    return {
        "grader": grader.__version__,
        "torch": version("torch"),
        "Python": platform.python_version(),
        _SUITE: settings.suite_hash,
    }


def difference(there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """In words, what of another machine differs from this one; empty if nothing does."""
    named = [
        f"{what} {there.get(what, 'unknown')} and not {here[what]}"
        for what in here
        if what != _SUITE and there.get(what) != here[what]
    ]
    if named:
        return f"it has {', '.join(named)}"
    if there.get(_SUITE) != here[_SUITE]:
        return f"the files of its grader {here['grader']} are not the same as here"
    return ""
