"""A store that somebody edited by hand, or that is damaged: a sentence says so."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.results.database import ForeignStore, StoreError, set_value
from grader.results.results import Results
from grader.results.store import Store
from tests.harness.results.test_store import RIGHT, a_grade
from tests.harness.storing import add

pytestmark = pytest.mark.unit

SAYS = r"results\.sqlite holds a value that no batch wrote"


def store_of_alice(folder: Path) -> Path:
    """Makes a store with one grade, and returns its file."""
    with Store.open(folder, "attention") as store:
        add(store, a_grade("alice", RIGHT), "k", 0)
    return folder / "results.sqlite"


def test_a_damaged_store_is_not_called_foreign(tmp_path: Path) -> None:
    """Its grades are not to be moved away, but restored from a copy."""
    file = store_of_alice(tmp_path)
    os.truncate(file, file.stat().st_size // 2)
    for opened in (Store.read, lambda folder: Store.open(folder, "attention")):
        with pytest.raises(StoreError, match="malformed") as raised:
            opened(tmp_path)
        assert not isinstance(raised.value, ForeignStore)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE test SET aspect = 'beauty'",
        "UPDATE submission SET status = 'lovely'",
        "UPDATE submission SET isolation = '{'",
        "UPDATE verdict SET status = 'lovely'",
        "UPDATE verdict SET test = 99",
        "UPDATE verdict SET wrong = 1, worst = '{'",
    ],
)
def test_a_value_that_no_batch_wrote_is_told_in_a_sentence(tmp_path: Path, edit: str) -> None:
    with contextlib.closing(sqlite3.connect(store_of_alice(tmp_path))) as database:
        database.execute(edit)
        database.commit()
    with pytest.raises(StoreError, match=SAYS):
        list(Store.read(tmp_path).grades())


@pytest.mark.parametrize(
    ("key", "value", "look"),
    [
        ("options", "[1]", Results.options),
        ("paths", "{", Results.paths),
        ("downloads", "3", Results.downloads),
        ("numbers", "[1]", Results.numbers),
    ],
)
def test_an_edited_value_of_the_batch_is_told_in_a_sentence(
    tmp_path: Path, key: str, value: str, look: Callable[[Results], object]
) -> None:
    with Store.open(tmp_path, "attention") as store:
        with store._change() as database:
            set_value(database, key, value)
        with pytest.raises(StoreError, match=SAYS):
            look(store)
