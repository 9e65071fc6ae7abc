"""Gives the files of a private copy the names and kinds that programs know.

`work.ipynb.json` and `adapters.PY` are there as `work.ipynb` and `adapters.py` as well. A notebook
called `.py` is a notebook, and text typed into a platform's text field is a file.
"""

from __future__ import annotations

import contextlib
import html.parser
import os
import re
from pathlib import Path

from grader.core.submission import Unreadable
from grader.intake.copying.limits import CopyLimits
from grader.intake.copying.names import name_as_written, shortened
from grader.intake.copying.open_folder import read_bounded
from grader.intake.programs.source_facts import read_facts

_NOTEBOOK = re.compile(rb'\s*\{.*"(?:cells|worksheets)"', re.DOTALL)
# What was typed into Canvas and Moodle, and a web address.
_TYPED = ("text entry.html", "onlinetext.html")
_ADDRESS = "web address.html"
_LINES = {"p", "div", "br", "li", "tr", "pre", "h1", "h2", "h3", "h4", "blockquote"}
_SHOWN = 60


def put_as_written(copy: Path, limits: CopyLimits) -> None:
    """Adds the names that files of a copy have for programs.

    Raises:
        Unreadable: if there is nothing but typed text, and no adapter in it.
    """
    for file in sorted(path for path in copy.rglob("*") if path.is_file()):
        name = name_as_written(file.name)
        if name != file.name:
            with contextlib.suppress(OSError):
                os.link(file, file.with_name(name))
                file = file.with_name(name)
        if name.endswith(".py") and _is_notebook(file, limits):
            with contextlib.suppress(OSError):
                os.link(file, file.with_suffix(".ipynb"))
                file.unlink()
    files = [path for path in copy.rglob("*") if path.is_file()]
    if len(files) == 1:
        _put_typed(files[0], limits)


def _is_notebook(file: Path, limits: CopyLimits) -> bool:
    beginning = read_bounded(file, limits.source.bytes_each)
    return _NOTEBOOK.match(beginning) is not None and not read_facts([beginning]).adapters


def _put_typed(file: Path, limits: CopyLimits) -> None:
    """Lays what was typed beside itself as `adapters.py`, if it is all that there is."""
    if file.name not in (*_TYPED, _ADDRESS):
        return
    text = typed_text(read_bounded(file, limits.source.bytes_each).decode("utf-8", "replace"))
    said = shortened(" ".join(text.split())[:_SHOWN]) or "it is empty"
    if file.name == _ADDRESS:
        raise Unreadable(f"it is a web address, which is not opened ({said}): hand in the files")
    if not read_facts([text.encode("utf-8", "replace")]).adapters:
        raise Unreadable(
            f"it is text that was typed into the platform, and defines no adapter ({said}): "
            "hand in a file"
        )
    module = file.with_name("adapters.py")
    module.write_text(text, "utf-8")
    module.chmod(0o644)


def typed_text(page: str) -> str:
    """Returns the text of a page from a platform's editor, in the lines that were typed."""
    reader = _Typed()
    reader.feed(page)
    reader.close()
    lines = "".join(reader.pieces).replace("\xa0", " ").splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"


class _Typed(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._is_plain = False
        self._is_unseen = False

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        self._is_plain = self._is_plain or tag == "pre"
        self._is_unseen = self._is_unseen or tag in ("style", "script", "title")
        if (tag in _LINES and self.pieces and not self.pieces[-1].endswith("\n")) or tag == "br":
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._is_plain = self._is_plain and tag != "pre"
        self._is_unseen = self._is_unseen and tag not in ("style", "script", "title")
        if tag in _LINES and self.pieces and not self.pieces[-1].endswith("\n"):
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if self._is_unseen:
            return
        begins_line = not self.pieces or self.pieces[-1].endswith("\n")
        text = data if self._is_plain else data.replace("\r", "").strip("\n").replace("\n", " ")
        if not self._is_plain and begins_line:
            text = text.lstrip(" ")  # but not what an editor keeps as spaces that do not break
        self.pieces.append(text)
