"""GitHub Classroom's clones: one checkout for each student or team, `<assignment>-<user>`."""

from __future__ import annotations

from itertools import takewhile

from grader.core.submission import Author
from grader.intake.copying.names import printable
from grader.intake.entry import Discovery, Entry, Piece, Skipped
from grader.intake.platforms.download import Download, DownloadItem

_FOLDER_SUFFIX = "-submissions"  # what `gh classroom clone student-repos` adds to the assignment


def classroom_clones(download: Download) -> Discovery | None:
    """Returns the submissions of a folder of clones, or None if the folder is none.

    A submission keeps its folder's name; its author's id is the user's name on GitHub.
    """
    folders = [item for item in download.items if item.is_folder]
    prefix = _prefix(download, folders)
    if not prefix or 2 * sum(item.has_git for item in folders) <= len(folders):
        return None
    entries = [_entry(download, item, prefix) for item in folders]
    skipped = [
        Skipped(download.path / item.name, "not a clone")
        for item in download.items
        if not item.is_folder
    ]
    kind = f"GitHub Classroom clones of {printable(prefix[:-1])}"
    return Discovery(tuple(entries), tuple(skipped), kinds=(kind,))


def _prefix(download: Download, folders: list[DownloadItem]) -> str:
    """Returns the common prefix of the clones' names, with its hyphen; empty if there is none.

    Users may have hyphens in their names: the folder that Classroom's own command makes is
    believed rather than what the names have in common.
    """
    names = [item.name for item in folders]
    above = (download.top or download.path.name).removesuffix("/")
    assignment = f"{above.removesuffix(_FOLDER_SUFFIX)}-"
    if above.endswith(_FOLDER_SUFFIX) and all(name.startswith(assignment) for name in names):
        return assignment
    if len(names) < 2:
        return ""
    pairs = zip(min(names), max(names), strict=False)
    common = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return common[: common.rfind("-") + 1]


def _entry(download: Download, item: DownloadItem, prefix: str) -> Entry:
    author = Author(id=printable(item.name.removeprefix(prefix)))
    name = printable(item.name)
    if download.is_zip:
        pieces = (Piece(download.place(item), ""),)
        return Entry(name, download.path, pieces, (author,))
    return Entry(name, download.path / item.name, authors=(author,))
