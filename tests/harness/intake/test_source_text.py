"""Declared encodings: the grader shows and compares the text that Python runs."""

from __future__ import annotations

import ast

import pytest

from grader.core.text import source_text
from grader.explain.excerpts import lines_of
from grader.intake.entry import Entry
from grader.intake.process import take_in
from grader.worker.notebook import Cells

pytestmark = pytest.mark.unit

CODE = "def run_double(x):\n    return 'é' + x\n"
HIDDEN = {
    "utf-7": b"# coding: utf-7\n# a comment +AAo-run_double = abs\n",
    "unicode_escape": b"# coding: unicode_escape\n# a comment \\nrun_double = abs\n",
    "raw_unicode_escape": b"\r# coding=raw_unicode_escape\r# \\u000arun_double = abs\r",
    "utf_7": b"#!/usr/bin/env python\r\n# -*- coding: utf_7 -*-\r\n#+AAo-run_double = abs\r\n",
    "hz": b"# coding=hz\nrun_double = abs\n",
}


def declared(encoding: str) -> bytes:
    return f"# -*- coding: {encoding} -*-\n{CODE}".encode(encoding)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "latin-1", "cp1252", "iso-8859-15", "gbk", "mac-roman"]
)
def test_encodings_of_editors_are_read_as_python_reads_them(tmp_path, encoding):
    """A comment may hold a name in any of these encodings."""
    content = declared(encoding)
    assert source_text(content).endswith(CODE)
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / "adapters.py").write_bytes(content)
    submission = take_in(Entry("alice", tmp_path / "alice"), _new(tmp_path / "copy"))
    assert lines_of(submission.root, submission.adapters)[1:] == CODE.splitlines()


@pytest.mark.parametrize("encoding", HIDDEN)
def test_code_that_an_encoding_hides_in_a_comment_is_shown(encoding):
    """The grader decodes the text as Python does."""
    content = HIDDEN[encoding]
    assert ast.dump(ast.parse(source_text(content))) == ast.dump(ast.parse(content))


@pytest.mark.parametrize(
    "content",
    [
        b"x = 1  # coding: utf-7\n",
        b"x = 1\n# coding: utf-7\n",
        b"\n\n# coding: utf-7\n",
        b"\xef\xbb\xbf# coding: utf-8\nx = 1\n",
        b"# \xe9 is no UTF-8\n",
    ],
)
def test_a_file_without_a_declared_encoding_is_read_as_utf_8(content):
    """A declaration must be a separate comment in the first two lines."""
    assert source_text(content) == content.decode("utf-8-sig", "replace")


def test_an_encoding_declared_in_a_cell_is_ignored(tmp_path):
    """A notebook runs exactly the text that it shows."""
    (tmp_path / "work.ipynb").mkdir()
    cell = tmp_path / "work.ipynb" / "cell 1"
    cell.write_bytes(HIDDEN["utf-7"] + b"def run_count(x): pass\n")
    names: dict[str, object] = {}
    Cells(60).run(names, tmp_path / "work.ipynb")
    assert "run_count" in names
    assert "run_double" not in names


def test_lines_are_counted_as_python_counts_them(tmp_path):
    """Neither a form feed nor a Unicode line separator ends a line."""
    (tmp_path / "a.py").write_text("# one \x0c\u2028\x85 still one\nx = 2\n", encoding="utf-8")
    assert lines_of(tmp_path, "a.py")[1] == "x = 2"


def _new(folder):
    folder.mkdir()
    return folder
