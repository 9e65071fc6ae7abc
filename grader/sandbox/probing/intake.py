"""Tries what submissions attempt before anything of them runs: while they are taken in."""

from __future__ import annotations

import contextlib
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from grader.core.removal import removed_afterwards
from grader.core.submission import Unreadable
from grader.intake.client import IntakeClient
from grader.intake.entry import Entry

_ADAPTERS = "def run_nothing(): ...\n"
_CELLS, _KEYS = 100_000, 16_000
_INTAKE_SECONDS = 3.0
_COPIES = 100
_SECRET = "what only the grader may read"
_OWN = "what everybody here can read."


def tried_while_taken_in(scratch: Path) -> Iterator[tuple[str, bool]]:
    """Each attempt in words, and whether it succeeded."""
    with IntakeClient() as client, removed_afterwards(Path(tempfile.mkdtemp(dir=scratch))) as here:
        yield "have a file read by swapping links", _is_led_astray(client, here)
        yield "have a notebook cost seconds", _costs_much(client, here, _notebook(here))
        yield "have settings cost seconds", _costs_much(client, here, _settings(here))


def _is_led_astray(client: IntakeClient, here: Path) -> bool:
    """Whether a copy holds a file of another folder, which links to it while it is copied."""
    handed_in, secret = here / "handed-in", here / "secret"
    for folder, text in ((handed_in / "sub", _OWN), (secret, _SECRET)):
        folder.mkdir(parents=True)
        (folder / "file.txt").write_text(text)
    (handed_in / "adapters.py").write_text(_ADAPTERS)
    (here / "link").symlink_to(secret)
    ended = threading.Event()
    swapping = threading.Thread(target=_swap, args=(handed_in / "sub", here / "link", ended))
    swapping.start()
    try:
        return any(_holds_secret(client, here, handed_in) for _ in range(_COPIES))
    finally:
        ended.set()
        swapping.join()


def _swap(one: Path, other: Path, ended: threading.Event) -> None:
    aside = one.with_name("aside")
    while not ended.is_set():
        for source, target in ((one, aside), (other, one), (aside, other)):
            source.rename(target)
        time.sleep(0)


def _holds_secret(client: IntakeClient, here: Path, handed_in: Path) -> bool:
    with removed_afterwards(Path(tempfile.mkdtemp(dir=here))) as into:
        with contextlib.suppress(Unreadable):
            client.take_in(Entry("probe", handed_in), into, "adapters.py")
        return any(file.read_text() == _SECRET for file in into.rglob("file.txt"))


def _costs_much(client: IntakeClient, here: Path, handed_in: Path) -> bool:
    """Tells whether taking it in, or refusing it, takes more processor time than it may."""
    before = client.processor_seconds()
    own = removed_afterwards(Path(tempfile.mkdtemp(dir=here)))
    with own as into, contextlib.suppress(Unreadable):
        client.take_in(Entry("probe", handed_in), into, "adapters.py")
    used = client.processor_seconds() - before
    return used < 0 or used > _INTAKE_SECONDS  # it was ended, and tells nothing any more


def _notebook(here: Path) -> Path:
    file = here / "many-cells.ipynb"
    file.write_text(json.dumps({"nbformat": 4, "cells": [{"cell_type": "code"}] * _CELLS}))
    return file


def _settings(here: Path) -> Path:
    folder = here / "dotted-keys"
    folder.mkdir()
    (folder / "adapters.py").write_text(_ADAPTERS)
    (folder / "pyproject.toml").write_text("a." * _KEYS + "a = 1\n")
    return folder
