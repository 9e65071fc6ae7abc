"""Debian's Chromium, which opens pages from disk and records what they do."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 900}
# Colours and sizes of a page for different people; a sweep tries all of them.
LOOKS = [
    pytest.param("light", DESK, id="light-desk"),
    pytest.param("light", PHONE, id="light-phone", marks=pytest.mark.slow),
    pytest.param("dark", DESK, id="dark-desk", marks=pytest.mark.slow),
    pytest.param("dark", PHONE, id="dark-phone", marks=pytest.mark.slow),
]


def chromium_executable() -> str | None:
    """Returns the path of the machine's own Chromium; Playwright's is never downloaded."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


@contextlib.contextmanager
def running_chromium(executable: str) -> Iterator[Browser]:
    """Yields a browser, and closes it afterwards."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


@dataclass(slots=True)
class Opened:
    """A page, with forbidden events: complaints, dialogs and requests elsewhere."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    @property
    def is_quiet(self) -> bool:
        """Whether no forbidden event happened."""
        return not self.complaints and not self.elsewhere


@contextlib.contextmanager
def opened(browser: Browser, file: Path, **options: Any) -> Iterator[Opened]:
    """Yields a page that was opened from disk, with the options of a Playwright context."""
    context = browser.new_context(**{"viewport": DESK} | options)
    page = context.new_page()
    found = Opened(page)
    page.on("console", lambda message: found.complaints.append(message.text))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("dialog", lambda dialog: (found.complaints.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: _note(found, request.url))
    page.goto(file.as_uri())
    yield found
    context.close()


def _note(found: Opened, url: str) -> None:
    if not url.startswith(("file://", "data:")):
        found.elsewhere.append(url)
