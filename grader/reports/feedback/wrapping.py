"""Feedback as a file of the form that its name promises; pages as PDF by a browser.

A platform that takes a file back shows it under the name of what was handed in: a page that is
called `attention.zip` could not be opened.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from grader.core.text import Refusal

_TIME = (1980, 1, 1, 0, 0, 0)
_PAGES = (".html", ".htm")
_TEXTS = (".txt", ".md", ".rst", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".log", ".tex")
_TARS = {".tar": "", ".tar.gz": "gz", ".tgz": "gz", ".tar.bz2": "bz2", ".tbz2": "bz2"}
_TARS |= {".tar.xz": "xz", ".txz": "xz"}


@dataclass(frozen=True, slots=True)
class Content:
    """The same feedback as a page, as text and, where there was a browser, as PDF."""

    page: str
    text: str
    pdf: bytes | None = None

    def files(self) -> dict[str, bytes]:
        """Returns its files, by their names."""
        found = {"feedback.html": self.page.encode(), "feedback.txt": self.text.encode()}
        return found | ({"feedback.pdf": self.pdf} if self.pdf else {})


def wrapped(content: Content, name: str) -> bytes | None:
    """Returns the feedback as the content of a file of this name.

    Returns None if it fits into none of its kind.
    """
    suffix, compression = f".{name.lower().rpartition('.')[2]}", _tar(name)
    if suffix == ".zip":
        return zipped(content.files())
    if compression is not None:
        return _tarred(content.files(), compression)
    if suffix == ".ipynb":
        return _notebook(content.text).encode()
    if suffix == ".py":
        return "".join(f"# {line}".rstrip() + "\n" for line in content.text.splitlines()).encode()
    if suffix in _PAGES:
        return content.page.encode()
    if suffix == ".pdf":
        return content.pdf
    return content.text.encode() if suffix in _TEXTS or "." not in name else None


def _tar(name: str) -> str | None:
    """Returns how a tar of this name is compressed; None if it is called like none."""
    return next((how for ends, how in _TARS.items() if name.lower().endswith(ends)), None)


def _tarred(files: dict[str, bytes], compression: str) -> bytes:
    """Returns a tar of these files."""
    buffer = io.BytesIO()
    with tarfile.open(mode="w", fileobj=buffer) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    packed = {"gz": lambda data: gzip.compress(data, mtime=0), "bz2": bz2.compress}
    packed |= {"xz": lzma.compress, "": bytes}
    return packed[compression](buffer.getvalue())


def zipped(files: dict[str, bytes]) -> bytes:
    """Returns a zip of these files, the same bytes for the same content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            add(archive, name, content)
    return buffer.getvalue()


def add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int = 0o644) -> None:
    """Adds a file to a zip, without the time at which that was."""
    info = zipfile.ZipInfo(name, _TIME)
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def _notebook(text: str) -> str:
    """Returns a notebook with one cell, in which nothing of the text is Markdown."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    cell = {
        "cell_type": "markdown",
        "id": "feedback",
        "metadata": {},
        "source": f"{fence}text\n{text}{fence}\n",
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = ("--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer")
_SECONDS = 60


class NoBrowser(Refusal):
    """There is no browser that prints, or it does not print; the text says what to do."""


class Printer:
    """Prints pages, one at a time.

    A page holds all it needs and loads nothing, so that the browser reaches no network for it.
    """

    def __init__(self) -> None:
        """Finds a browser.

        Raises:
            NoBrowser: if there is none.
        """
        found = next(filter(None, map(shutil.which, _BROWSERS)), None)
        if found is None:
            raise NoBrowser(
                "a PDF is printed by Chromium or Chrome, which this machine has not: install one, "
                "or leave out --pdf"
            )
        # A browser that root starts refuses to work in its own sandbox.
        self._command = [found, *_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]

    def printed(self, page: str) -> bytes:
        """Returns the page as PDF.

        Raises:
            NoBrowser: if the browser fails.
        """
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            source, target = folder / "page.html", folder / "page.pdf"
            source.write_text(page, encoding="utf-8")
            command = [
                *self._command,
                f"--user-data-dir={folder / 'profile'}",
                f"--print-to-pdf={target}",
                source.as_uri(),
            ]
            try:
                subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
                return target.read_bytes()
            except (OSError, subprocess.TimeoutExpired) as error:
                raise NoBrowser(
                    f"{self._command[0]} printed no PDF: leave out --pdf, or see what it says"
                ) from error
