"""The clones of GitHub Classroom: a folder `<assignment>-<user>` for each student or team."""

from __future__ import annotations

from itertools import takewhile

from grader.core.submission import Author
from grader.intake.downloads import Download, DownloadItem
from grader.intake.entry import Discovery, Entry
from grader.intake.names import printable

_FOLDER_SUFFIX = "-submissions"  # what `gh classroom clone student-repos` adds to the assignment


def classroom_clones(download: Download) -> Discovery | None:
    """Returns the submissions of a folder of clones, or None if this is no such folder.

    A submission keeps its folder's name; its author's id is the user's name on GitHub.
    """
    folders = [item for item in download.items if item.is_folder]
    prefix = _common_prefix(download, folders)
    if not prefix or 2 * sum(item.has_git for item in folders) <= len(folders):
        return None
    entries = [_clone(download, item, prefix) for item in folders]
    skipped = download.others({*folders}, "not a clone")
    kind = f"GitHub Classroom clones of {printable(prefix[:-1])}"
    return Discovery(tuple(entries), tuple(skipped), kinds=(kind,))


def _common_prefix(download: Download, folders: list[DownloadItem]) -> str:
    """Returns the common prefix of the clones' names, with its hyphen; empty if there is none.

    Users may have hyphens in their names: a folder named by Classroom's own command counts more
    than the common beginning of the clones' names.
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


def _clone(download: Download, item: DownloadItem, prefix: str) -> Entry:
    author = Author(id=printable(item.name.removeprefix(prefix)))
    return download.entry(item, printable(item.name), (author,))
