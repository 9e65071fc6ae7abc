"""Pages as PDF, by the browser that this machine has, if it has one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from grader.core.refusal import Refusal

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
        """The page as PDF.

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
