"""A zip that Canvas takes back with *Re-Upload Submissions*.

Canvas knows whose a file is by its name, the one that it gave it in the download: of the parts
between underscores the first two that are whole numbers are the user's and the attachment's id
(`Assignment#infer_comment_context_from_filename` of canvas-lms). The file becomes an attachment of
a comment, under the name that the attachment was handed in with.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable

from grader.reports.feedback.letter import Letter
from grader.reports.feedback.wrapping import Content, add, wrapped

FILE = "canvas.zip"
HOW = (
    "In Canvas, open the assignment, choose *Re-Upload Submissions* on the right and give it "
    f"{FILE}, zipped as it is. Each student finds a comment with a file that has the name of "
    "their submission. A zip holds a page and a text, a notebook a cell of text, a Python file "
    "lines of comments."
)
_NUMBER = re.compile(r"[0-9]+")
_DOWNLOADED = re.compile(r".+?(?:_LATE)?_(?P<user>\d+)_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL)
# Of several files that were handed in, the one in whose form there is most room.
_LIKED = (".zip", ".html", ".pdf", ".gz", ".tgz", ".tar", ".ipynb", ".txt", ".md", ".py")


def add_letter(archive: zipfile.ZipFile, letter: Letter, content: Content) -> str:
    """Adds a submission's feedback; why that cannot be, if so."""
    names = [name for name in letter.downloaded_as if _DOWNLOADED.fullmatch(name)]
    if not names:
        return "no file that was downloaded from Canvas, or of an anonymous assignment"
    taken = [name for name in names if _is_understood(name)]
    if not taken:
        return "its name has numbers before the user's, so that Canvas takes it for another's"
    name = _best(taken)
    held = wrapped(content, name)
    if held is None:
        suffix = name.rpartition(".")[2]
        printed = ": --pdf prints it" if suffix.lower() == "pdf" else ""
        return f"handed in as .{suffix}, a kind of file that feedback is not written in{printed}"
    add(archive, name, held)
    return ""


def _is_understood(name: str) -> bool:
    """Returns whether Canvas reads off a name what it wrote into it."""
    found = _DOWNLOADED.fullmatch(name)
    numbers = [part for part in name.split("_") if _NUMBER.fullmatch(part)]
    return found is not None and numbers[:2] == [found["user"], found["attachment"]]


def _best(names: Iterable[str]) -> str:
    ranks = {suffix: rank for rank, suffix in enumerate(_LIKED)}
    return min(names, key=lambda name: ranks.get(f".{name.lower().rpartition('.')[2]}", len(ranks)))
