"""Excerpts: the lines around a place."""

from __future__ import annotations

import pytest

from grader.core.verdict import Where
from grader.explain.excerpts import excerpts, lines_of

pytestmark = pytest.mark.unit


@pytest.fixture(name="root")
def _root(tmp_path):
    (tmp_path / "a.py").write_text("import torch\n")
    return tmp_path


def lines(found):
    """Returns the first line's number and the last one's, of an excerpt."""
    return None if found is None else (found.first, found.first + len(found.lines) - 1)


def test_four_lines_are_shown_on_either_side_of_a_place(root):
    """Places are in order within a file, each of them once."""
    (root / "f.py").write_text("".join(f"x = {number}\n" for number in range(1, 13)))
    places = [Where("f.py", 9), None, Where("f.py", 2), Where("f.py", 9), Where("f.py", 13)]
    assert [lines(one) for one in excerpts(root, places)] == [(1, 6), (5, 12)]
    assert [one.lines[0] for one in excerpts(root, places)] == ["x = 1", "x = 5"]
    assert excerpts(root, [Where("f.py", 0)]) == ()
    assert lines(*excerpts(root, [Where("f.py", 1)])) == (1, 5)
    assert lines(*excerpts(root, [Where("f.py", 12)])) == (8, 12)


def test_lines_are_cut_and_printable(root):
    """A line of 300 characters is long enough to be recognised."""
    (root / "h.py").write_text("x" * 400 + "\n\x1b[31m\n")
    first, second = excerpts(root, [Where("h.py", 1)])[0].lines
    assert len(first) == 300
    assert "\x1b" not in second


def test_only_files_below_the_root_are_read(root):
    """A worker may name any file."""
    assert lines_of(root, "a.py")[0] == "import torch"
    assert lines_of(root / "parts", "../a.py") == []
    assert lines_of(root, "parts") == []
    assert lines_of(root, "a\0.py") == []
    (root / "i.py").write_text("a\nb")
    assert lines_of(root, "i.py") == ["a", "b"]
