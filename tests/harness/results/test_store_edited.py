"""A store that is damaged: a sentence says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.results.database import ForeignStore, StoreError
from grader.results.store import Store
from tests.harness.results.test_store import RIGHT, a_grade
from tests.harness.storing import add

pytestmark = pytest.mark.unit


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
