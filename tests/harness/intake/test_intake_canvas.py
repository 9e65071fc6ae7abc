"""Files of a Canvas download: which of a person's files are their submission."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.intake.discovery import discover
from tests.harness.intake_batches import laid_out

pytestmark = pytest.mark.unit


def test_text_typed_beside_files_on_canvas_is_left_to_the_instructor(tmp_path: Path) -> None:
    """A student may have typed a comment; it is skipped with its reason."""
    names = ("doejane_1_text.html", "doejane_1_2_a.py", "roe_3_link.html", "roe_3_text.html")
    found = discover([laid_out(tmp_path / "d", dict.fromkeys(names, b"x"))])
    pieces = {entry.name: [piece.name for piece in entry.pieces] for entry in found.entries}
    assert pieces == {"doejane_1": ["a.py"], "roe_3": ["web address.html", "text entry.html"]}
    assert [skipped.path.name for skipped in found.skipped] == ["doejane_1_text.html"]


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["a_1_2_x.py", "a_1_3_x-1.py"], {"x.py": "a_1_3_x-1.py"}),
        (["a_1_9_x.py", "a_1_3_x-1.py"], {"x.py": "a_1_3_x-1.py"}),
        (["a_1_2_x-1.py", "a_1_3_x-10.py", "a_1_4_x-2.py"], {"x.py": "a_1_3_x-10.py"}),
        (["a_1_2_x-1.txt", "a_1_3_y.py"], {"x-1.txt": "a_1_2_x-1.txt", "y.py": "a_1_3_y.py"}),
        (["a_1_2_x-1234.py"], {"x-1234.py": "a_1_2_x-1234.py"}),
        (["a_1_2_x-1.tar.gz", "a_1_1_y.zip"], {"x.tar.gz": "a_1_2_x-1.tar.gz"}),
        (["a_1_2_x.zip", "a_1_3_y.tar"], {"y.tar": "a_1_3_y.tar"}),
        (["a_1_3_y.tar", "a_1_4_z.py"], {"y.tar": "a_1_3_y.tar", "z.py": "a_1_4_z.py"}),
        (["a_LATE_1_2_x.py", "a_1_3_y.py"], {"x.py": "a_LATE_1_2_x.py"}),
    ],
)
def test_the_last_file_of_each_name_and_the_last_archive_count(
    tmp_path: Path, names: list[str], kept: dict[str, str]
) -> None:
    """Canvas numbers code files that are handed in again; the larger number is later."""
    folder = laid_out(tmp_path / "d", dict.fromkeys([*names, "b_2_3_x.py"], b"x"))
    entry = next(one for one in discover([folder]).entries if one.name == "a_1")
    assert {piece.name: piece.place for piece in entry.pieces} == kept
    assert entry.order == max(int(place.split("_")[-2]) for place in kept.values())
    assert entry.late is ("LATE" in names[0])
