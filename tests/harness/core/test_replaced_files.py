"""Files that are replaced at once."""

from __future__ import annotations

import os
import stat

import pytest

from grader.core import files as module
from grader.core.files import replaced

pytestmark = pytest.mark.unit


def test_a_device_or_a_pipe_is_written_to_and_not_replaced(tmp_path, monkeypatch):
    """A file in its place would break the machine: `grader run . --out /dev/null` as root."""
    pipe, link, devices = tmp_path / "pipe", tmp_path / "link", tmp_path / "devices"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for place in (pipe, link):
        with replaced(place) as given:
            assert given == place
    assert stat.S_ISFIFO(link.stat().st_mode)
    devices.mkdir()
    (tmp_path / "output").touch()
    (devices / "stdout").symlink_to(tmp_path / "output")
    monkeypatch.setattr(module, "_DEVICES", devices)
    with replaced(devices / "stdout") as given:
        given.write_text("told")
    assert (devices / "stdout").is_symlink()
    assert (tmp_path / "output").read_text() == "told"
    with replaced(tmp_path / "output") as given:
        given.write_text("new")
        assert (tmp_path / "output").read_text() == "told"
    assert (tmp_path / "output").read_text() == "new"
