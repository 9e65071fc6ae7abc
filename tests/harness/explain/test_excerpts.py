"""Excerpts: the lines around a place, and the whole function around it or of a name."""

from __future__ import annotations

import pytest

from grader.core.verdict import Where
from grader.explain.excerpts import excerpts, function_at, lines_of

pytestmark = pytest.mark.unit

PROGRAM = '''\
import torch

def first(
    x,
):
    return x

SIZE = 3


class Net:
    async def second(self):

        if self:
            return 1
        def inner():
            return 2
        return 3

    def third(self): return """
  4
"""
'''


@pytest.fixture(name="root")
def _root(tmp_path):
    (tmp_path / "a.py").write_text(PROGRAM)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "b.py").write_text("x = 1\ndef fourth(): pass\ndef fourth_one(): pass\n")
    (tmp_path / "parts" / "c").mkdir()
    (tmp_path / "parts" / "c" / "d.py").write_text("def deep(): pass\n")
    return tmp_path


def lines(found):
    """Returns the first line's number and the last one's, of an excerpt."""
    return None if found is None else (found.first, found.first + len(found.lines) - 1)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (3, (3, 6)),
        (4, (3, 6)),
        (6, (3, 6)),
        (8, (4, 12)),
        (12, (12, 18)),
        (15, (12, 18)),
        (17, (16, 17)),
        (18, (12, 18)),
        (20, (20, 22)),
    ],
)
def test_the_function_around_a_line_is_shown_from_its_definition(root, line, shown):
    """Outside of any, the lines around it are. A bracket closes a signature."""
    assert lines(function_at(root, Where("a.py", line), "first")) == shown


@pytest.mark.parametrize(
    ("name", "file", "shown"),
    [
        ("first", "a.py", (3, 6)),
        ("third", "a.py", (20, 22)),
        ("fourth", "parts/b.py", (2, 2)),
        ("fourth_one", "parts/b.py", (3, 3)),
        ("deep", None, None),
        ("fo", None, None),
    ],
)
def test_without_a_place_a_function_is_found_by_its_name(root, name, file, shown):
    """The top folder and those directly below it are searched."""
    found = function_at(root, None, name)
    assert lines(found) == shown
    assert (found.file if found else None) == file


@pytest.mark.parametrize("place", [Where("a.py", 0), Where("a.py", 99), Where("b.py", 1)])
def test_a_place_that_a_worker_invented_is_no_place(root, place):
    """The function is looked for by its name then."""
    assert lines(function_at(root, place, "first")) == (3, 6)


def test_a_long_function_is_cut(root):
    """It ends after 48 lines, or with its last line of code."""
    body = "".join(f"    x = {number}\n" for number in range(47))
    (root / "e.py").write_text(f"def f():\n{body}\n\n\n")
    assert lines(function_at(root, Where("e.py", 2), "")) == (1, 48)
    (root / "e.py").write_text(f"def f():\n{body}    return x\n")
    assert lines(function_at(root, Where("e.py", 2), "")) == (1, 48)
    (root / "e.py").write_text("def f(): ...\n\n\n")
    assert lines(function_at(root, Where("e.py", 1), "")) == (1, 1)


@pytest.mark.parametrize(
    ("line", "shown"), [(2, (1, 2)), (4, (1, 8)), (7, (5, 9)), (8, (5, 9)), (9, (5, 9))]
)
def test_a_function_that_ended_before_a_line_is_not_around_it(root, line, shown):
    """A class may follow a function, and a block an inner function; text may begin anywhere."""
    quotes = 3 * '"'
    program = [
        *("def f(x):", "    return x", "", "class Net:", "    def forward(self):"),
        *("        def inner(): ...", "        text = " + quotes),
        *("at the margin" + quotes, "        return text"),
    ]
    (root / "f.py").write_text("\n".join(program))
    assert lines(function_at(root, Where("f.py", line), "")) == shown


def test_four_lines_are_shown_on_either_side_of_a_place(root):
    """Places are in order within a file, each of them once."""
    (root / "f.py").write_text("".join(f"x = {number}\n" for number in range(1, 13)))
    places = [Where("f.py", 9), None, Where("f.py", 2), Where("f.py", 9), Where("f.py", 13)]
    assert [lines(one) for one in excerpts(root, places)] == [(1, 6), (5, 12)]
    assert [one.lines[0] for one in excerpts(root, places)] == ["x = 1", "x = 5"]
    assert excerpts(root, [Where("f.py", 0)]) == ()
    assert lines(*excerpts(root, [Where("f.py", 1)])) == (1, 5)
    assert lines(*excerpts(root, [Where("f.py", 12)])) == (8, 12)


def test_an_excerpt_inside_a_string_says_how_it_opened(root):
    """The reader colours it as a string."""
    (root / "g.py").write_text('a = 1\n# "\nb = r"""\n1\n2\n3\n4\n5\n6\n"""\nc = "it\'s"\nd = 2\n')
    openings = {line: excerpts(root, [Where("g.py", line)])[0].opening for line in (3, 7, 8, 12)}
    assert openings == {3: "", 7: "", 8: 'r"""', 12: 'r"""'}


def test_an_unterminated_string_is_read_once(root):
    """A last backslash closes nothing, and each further opening would be read to the end again."""
    (root / "i.py").write_text('\\"""\n' * 150_000 + "x\n\\")
    assert excerpts(root, [Where("i.py", 150_001)])[0].opening == '"""'


def test_lines_are_cut_and_printable(root):
    """A line of 300 characters is long enough to be recognised."""
    (root / "h.py").write_text("x" * 400 + "\n\x1b[31m\n")
    first, second = excerpts(root, [Where("h.py", 1)])[0].lines
    assert len(first) == 300
    assert "\x1b" not in second


def test_only_files_below_the_root_are_read(root):
    """A worker may name any file."""
    assert lines_of(root, "parts/b.py")[0] == "x = 1"
    assert lines_of(root / "parts", "../a.py") == []
    assert lines_of(root, "parts") == []
    assert lines_of(root, "a\0.py") == []
    (root / "i.py").write_text("a\nb")
    assert lines_of(root, "i.py") == ["a", "b"]
