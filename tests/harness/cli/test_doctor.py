"""`grader doctor` prints every layer and attempt, and exits with 1 if one is not as it must be."""

from __future__ import annotations

import pytest

from grader.sandbox.probe import Attempt, ProbeResult
from tests.harness.own_command import grader_here

pytestmark = pytest.mark.unit

REFUSED = Attempt("files", "read a file", False, False, "")
STOPPED = Attempt("files", "fill the disk", False, False, "", stopped=True)
GRANTED = Attempt("files", "write a file", True, True, "")
SUCCEEDED = Attempt("network", "connect", True, False, "it\ngot through")
IGNORED = Attempt("network", "list names", True, False, "unseen", promised=False)
LAYERS = {"network": "denied", "filesystem": "landlock"}


def printed(
    monkeypatch: pytest.MonkeyPatch, layers: dict[str, str], *attempts: Attempt
) -> tuple[int, list[str]]:
    """Returns the exit code and the lines for a machine with these layers and attempts."""
    result = ProbeResult(layers, attempts)
    monkeypatch.setattr("grader.sandbox.probe.examine_confinement", lambda: result)
    done = grader_here("doctor")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    return done.returncode, lines


def test_a_machine_whose_layers_hold_exits_with_zero(monkeypatch):
    """Layers are sorted, and the attempts follow."""
    other = Attempt("network", "listen", False, False, "unseen")
    code, lines = printed(monkeypatch, LAYERS, REFUSED, STOPPED, GRANTED, other)
    assert code == 0
    assert lines[-1] == "every layer holds"
    assert lines.index("filesystem landlock") < lines.index("network denied")
    rows = [
        "files read a file refused as it must be",
        "files fill the disk stopped as it must be",
        "files write a file done as it must be",
        "network listen refused as it must be",
    ]
    at = [lines.index(row) for row in rows]
    assert at == [at[0], at[0] + 1, at[0] + 2, at[0] + 3]
    assert not [line for line in lines if "not promised" in line or "unseen" in line]


def test_an_attempt_that_succeeds_exits_with_one_and_shows_what_it_got(monkeypatch):
    """The detail stands on one line below the attempt."""
    code, lines = printed(monkeypatch, LAYERS, REFUSED, SUCCEEDED)
    assert code == 1
    at = lines.index("network connect done NOT as it must be")
    assert lines[at + 1] == "it got through"
    assert "every layer holds" not in lines
    assert " ".join(lines).endswith("where all layers hold")


def test_a_missing_layer_exits_with_one(monkeypatch):
    """No attempt need have succeeded."""
    code, lines = printed(monkeypatch, LAYERS | {"memory": "none"}, REFUSED)
    assert code == 1
    assert "memory none" in lines


def test_a_guarantee_that_the_machine_does_not_give_is_printed(monkeypatch):
    """The machine still holds: nobody was promised anything."""
    code, lines = printed(monkeypatch, LAYERS, REFUSED, IGNORED)
    assert code == 0
    assert "network list names done not promised here" in lines
    assert "not promised here: this machine grants workers no file tree" in " ".join(lines)
    assert "unseen" not in lines


def test_no_reading_is_ruled_out_where_files_can_be_read(monkeypatch):
    """Without Landlock and without a file tree, workers read what their user may read."""
    read = Attempt("filesystem", "read /etc/passwd", True, False, "")
    _, lines = printed(monkeypatch, LAYERS | {"filesystem": "none"}, read, IGNORED)
    assert "filesystem read /etc/passwd done NOT as it must be" in lines
    assert "not read" not in " ".join(lines)
