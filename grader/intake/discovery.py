"""The discovery of submissions: one for each entry of the folders that an instructor names."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from grader.core.files import refusing
from grader.core.names import natural_order, printable, several
from grader.core.text import quantity
from grader.intake.archives import ARCHIVES, READABLE
from grader.intake.downloads import (
    canvas_download,
    classroom_clones,
    downloads_at,
    latest_of_each,
    moodle_download,
)
from grader.intake.entry import Discovery, Entry, NothingToGrade, Skipped
from grader.intake.gradescope import gradescope_export
from grader.intake.limits import CODE, is_clutter_item
from grader.intake.open_folder import is_file_at, kind_in_words

_SUFFIXES = tuple(sorted((*ARCHIVES, *CODE), key=len, reverse=True))
_PLATFORMS = (gradescope_export, moodle_download, canvas_download, classroom_clones)


def discover(
    paths: Sequence[Path], adapters: str = "adapters.py", out: Path | None = None
) -> Discovery:
    """Finds the submissions in `paths`: downloads, folders of submissions, or submissions.

    `out` is the folder of a batch's results, which may lie among the submissions.

    Each person's latest submission counts. Names are unique: if two submissions have the same
    name, the second one gets a number, and a note says so. Among paths that are no downloads, one
    that looks like a download is a single submission: a student may have made it so.

    Raises:
        NothingToGrade: if a path is missing or holds no submission.
    """
    results = Path(os.path.realpath(out)) if out else None
    downloads = [_download(path, results) for path in paths]
    are_known = all(download is not None for download in downloads) or len(paths) == 1
    found = [
        _in_a_line(_recognise(path, adapters, download, are_known, results))
        for path, download in zip(paths, downloads, strict=True)
    ]
    unique = {(entry.path, entry.pieces): entry for one in found for entry in one.entries}
    latest = latest_of_each(list(unique.values()))
    entries, notes = _named_apart(latest.entries)
    return Discovery(
        tuple(sorted(entries, key=lambda entry: (natural_order(entry.name), entry.name))),
        (*(skipped for one in found for skipped in one.skipped), *latest.skipped),
        (*(note for one in found for note in one.notes), *latest.notes, *notes),
        tuple(kind for one in found for kind in one.kinds),
    )


def single(path: Path) -> Entry:
    """Returns the submission at `path`, which is a folder or a file.

    Raises:
        NothingToGrade: if there is none.
    """
    mode = _mode(path)
    if not stat.S_ISDIR(mode) and not _is_submission_file(path.name, mode):
        raise NothingToGrade(f"{_shown(path)} is {_no_submission(mode)}")
    resolved = path.resolve()
    named = path if path.name not in ("", "..") else resolved
    return Entry(_name(named.name, mode), resolved)


def _recognise(
    path: Path, adapters: str, download: Discovery | None, is_known: bool, results: Path | None
) -> Discovery:
    """Returns the submissions of a download, of a single one's file or folder, or of a folder.

    A `download` that is not known to be the platform's is a single submission.
    """
    is_folder = stat.S_ISDIR(_mode(path))
    if download is not None:
        return download if is_known else Discovery((single(path),), notes=(_as_download(path),))
    if not is_folder:
        return Discovery((single(path),))
    return _one_folder(path, adapters) or _folder_of_submissions(path, results)


def _in_a_line(found: Discovery) -> Discovery:
    """Returns a discovery with each person's latest submission, and a line on its kind, if any."""
    latest = latest_of_each(found.entries)
    skipped = (*found.skipped, *latest.skipped)
    number, late = len(latest.entries), sum(entry.late for entry in latest.entries)
    again = len({item.later for item in skipped if item.later})
    said = quantity(number, "submission")
    said += f", {late} late" if late else ""
    said += f", {again} resubmitted: latest taken" if again else ""
    lines = tuple(f"{kind}, {said}" for kind in found.kinds)
    return Discovery(latest.entries, skipped, (*found.notes, *latest.notes), lines)


def _download(path: Path, results: Path | None = None) -> Discovery | None:
    """Returns the submissions of a platform's download, which is a folder or still zipped.

    Students name files as other platforms do: the platform that names the most items counts.
    """
    for download in downloads_at(path, results):
        read = (platform(download) for platform in _PLATFORMS)
        if found := [one for one in read if one is not None and one.entries]:
            return min(found, key=lambda one: sum(not item.later for item in one.skipped))
    return None


def _one_folder(path: Path, adapters: str) -> Discovery | None:
    """Returns the folder of a single submission: one whose adapters lie in it directly."""
    if not is_file_at(path / adapters):
        return None
    others = [
        is_file_at(Path(entry.path, adapters))
        or (entry.name.lower().endswith(READABLE) and entry.is_file())
        for entry in _listed(path)
    ]
    if sum(others) > 1:
        return None
    note = f"{_shown(path)} has {adapters} in it and is graded as one submission."
    return Discovery((single(path),), notes=(note,))


def _folder_of_submissions(path: Path, results: Path | None) -> Discovery:
    """Returns the entries of a folder whose every entry is a submission or is skipped."""
    folder = path.resolve()
    entries: list[Entry] = []
    skipped: list[Skipped] = []
    for item in _listed(folder):
        place = folder / item.name
        try:
            mode = item.stat(follow_symlinks=False).st_mode
        except FileNotFoundError:  # removed meanwhile
            continue
        except OSError as error:
            raise NothingToGrade(f"{_shown(place)} cannot be read: {error.strerror}") from error
        if is_clutter_item(item.name):
            if item.name not in (".DS_Store", "__MACOSX"):
                skipped.append(Skipped(place, "hidden, or made by a tool"))
        elif place == results:
            skipped.append(Skipped(place, "the folder of the results"))
        elif stat.S_ISREG(mode) and not _is_submission_file(item.name, mode):
            skipped.append(Skipped(place, _no_submission(mode)))
        else:  # links and special files too: intake says why it does not read them
            entries.append(Entry(_name(item.name, mode), place))
    if not entries:
        there = several([item.path.name for item in skipped])
        raise NothingToGrade(
            f"{_shown(path)} holds no submission, only {there}"
            if there
            else f"{_shown(path)} is empty; it should hold a folder or file for each submission"
        )
    notes: tuple[str, ...] = ()
    first, *more = entries
    if not more and _download(first.path) is not None:
        notes = (_as_download(first.path),)
    return Discovery(tuple(entries), tuple(skipped), notes, kinds=("folder",))


def _as_download(path: Path) -> str:
    return (
        f"{_name(path.name, _mode(path))} looks like a platform's download and is graded as one "
        f"submission; if it is a download, give its path alone: {_shown(path)}."
    )


def _named_apart(entries: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """Returns the entries under unique names, and a note on each renamed one."""
    taken = Counter(entry.name for entry in entries)
    first: dict[str, Entry] = {}
    named: list[Entry] = []
    notes: list[str] = []
    for entry in entries:
        if entry.name not in first:
            first[entry.name] = entry
            named.append(entry)
            continue
        number = 2
        while (name := f"{entry.name}-{number}") in taken:
            number += 1
        taken[name] += 1
        named.append(dataclasses.replace(entry, name=name))
        notes.append(
            f"The name {entry.name} was handed in more than once: it stands for "
            f"{_shown(first[entry.name].path)}, and {name} for {_shown(entry.path)}."
        )
    return named, notes


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    said = f"{_shown(folder)} cannot be read"
    with refusing(NothingToGrade, said), os.scandir(folder) as scan:
        return sorted(scan, key=lambda entry: (natural_order(entry.name), entry.name))


def _mode(path: Path) -> int:
    """Returns the mode of what lies at a path that the instructor gave, links followed."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise NothingToGrade(f"{_shown(path)} does not exist: check the path") from error
    except OSError as error:
        raise NothingToGrade(f"{_shown(path)} cannot be read: {error.strerror}") from error


def _is_submission_file(name: str, mode: int) -> bool:
    return stat.S_ISREG(mode) and name.lower().endswith(_SUFFIXES)


def _no_submission(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "neither a folder nor an archive, a notebook or a Python file"
    return f"{kind_in_words(mode)}, not a folder or file"


def _name(file_name: str, mode: int) -> str:
    """Returns a submission's name: that of its folder or file, without the format's suffix."""
    if not stat.S_ISDIR(mode):
        for suffix in _SUFFIXES:
            if file_name.lower().endswith(suffix) and len(file_name) > len(suffix):
                return printable(file_name[: -len(suffix)])
    return printable(file_name)


def _shown(path: Path) -> str:
    return printable(os.fspath(path))
