"""Scratch folders."""

from __future__ import annotations

import os

import pytest

from grader.core.folders import new_scratch

pytestmark = pytest.mark.unit


def test_a_scratch_folder_is_entered_and_not_listed_by_other_users(tmp_path):
    """Workers may run as another user."""
    before = os.umask(0o077)
    try:
        with new_scratch(tmp_path) as scratch:
            modes = [path.stat().st_mode & 0o777 for path in (scratch, scratch.parent)]
            assert modes == [0o711, 0o711]
    finally:
        os.umask(before)


def test_removing_scratch_folders_leaves_nothing(tmp_path):
    """Whatever was put into them goes too."""
    with new_scratch(tmp_path) as one, new_scratch(tmp_path):
        (one / "deep" / "deeper").mkdir(parents=True)
        assert len(list(tmp_path.iterdir())) == 2
    assert not list(tmp_path.iterdir())
