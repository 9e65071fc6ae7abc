"""The pages of similar pairs: which lines are marked, left out and redacted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from grader.reports.similarity.comparison import (
    Compared,
    SideBySide,
    SimilarPairs,
    pair_page,
    write_alike,
)
from grader.reports.similarity.sources import ComparedFile, ComparedSources, Pair

pytestmark = pytest.mark.unit

NONE = np.empty(0, np.int64)
LINE = re.compile(r'<span(?: class="(\w+)")?><b>(\d+)</b>(.*)\n')


def a_file(name: str, text: str) -> ComparedFile:
    return ComparedFile(name, "", NONE, NONE, NONE, text)


def a_pair(
    one: ComparedSources,
    other: ComparedSources,
    *shared: set[tuple[int, int]],
    origin: str = "last-year",
) -> SideBySide:
    pair = Pair(0, 1, 0.62, 0.75, 0.5)
    compared = Compared("ann", "", one), Compared("zoe", origin, other)
    left, right = map(frozenset, shared or (set(), set()))
    return SideBySide(pair, *compared, (left, right))


PAIR = a_pair(
    ComparedSources((a_file("ann/a.py", "x = 1\ny = 2\nz = 3"), a_file("b.py", "ann"))),
    ComparedSources((a_file("c.py", "p = 1\nq = 2"),)),
    {(0, 1), (0, 2), (0, 3)},
    {(0, 2)},
)


def test_lines_in_common_are_marked_on_both_sides():
    """The page says how much of each is in the other."""
    page = pair_page("attention", PAIR, str)
    left, right = page.split('<section aria-labelledby="side-b">')
    assert LINE.findall(left) == [
        ("shared", "1", "x = 1"),
        ("shared", "2", "y = 2"),
        ("shared", "3", "z = 3"),
        ("", "1", "ann"),
    ]
    assert LINE.findall(right) == [("", "1", "p = 1"), ("shared", "2", "q = 2")]
    assert re.findall("<h3>(.*?)</h3>", page) == ["ann/a.py", "b.py", "c.py"]
    assert re.findall('<h2 id="side-.">(.*?)</h2>', page) == ["ann", "zoe"]
    said = "Similarity 62 %: 75 % of the first is in the second, 50 % of the second in the first."
    assert said in page
    assert "more lines" not in page


def test_a_line_with_a_form_feed_stays_one_line():
    """Python does not end a line there, and neither do the numbers of lines."""
    sources = ComparedSources((a_file("a.py", "x = 1\n\x0cy = 2\nz = 3"),))
    page = pair_page("attention", a_pair(sources, sources), str)
    assert [line[1:] for line in LINE.findall(page)] == [
        ("1", "x = 1"), ("2", " y = 2"), ("3", "z = 3"),
    ] * 2  # fmt: skip


def test_texts_and_file_names_of_an_anonymous_pair_are_redacted():
    """A file may be called after its author."""
    page = pair_page("attention", PAIR, lambda text: text.replace("ann", "No. 7"))
    assert LINE.findall(page)[3] == ("", "1", "No. 7")
    assert re.findall("<h3>(.*?)</h3>", page) == ["No. 7/a.py", "b.py", "c.py"]


def test_code_beyond_four_thousand_lines_is_counted_and_not_shown():
    """A page must open in a browser."""
    long = a_file("long.py", "\n".join(f"x{number}" for number in range(4001)))
    left = ComparedSources((long, a_file("rest.py", "y\nz")))
    right = ComparedSources((a_file("half.py", "\n" * 2999), a_file("all.py", "\n" * 999)))
    page = pair_page("attention", a_pair(left, right), str)
    assert "and 3 more lines" in page
    assert page.count("more lines") == 1
    assert "x3999\n" in page
    assert "x4000\n" not in page
    assert re.findall("<h3>(.*?)</h3>", page) == ["long.py", "half.py", "all.py"]


def test_the_list_of_pairs_links_each_page(tmp_path: Path):
    """It says how much code is shared, and which submissions could not be compared."""
    plain = a_pair(PAIR.one.sources, PAIR.other.sources, origin="")
    found = SimilarPairs((PAIR, plain), 0.3, 12, 1, ("gone: bob",))
    place = write_alike("attention", found, tmp_path / "alike", str.upper)
    index = place.read_text("utf-8")
    assert re.findall('<a href="(pairs/.*?)">', index) == ["pairs/001.html", "pairs/002.html"]
    assert re.findall('<td class="number">(.*?)</td>', index) == [
        "<strong>62 %</strong>", "3", "<strong>62 %</strong>", "0",
    ]  # fmt: skip
    assert index.count('<span class="badge">last-year</span>') == 1
    assert "12 submissions of the class were compared with each other and with 1 from" in index
    assert "share 30% or more" in index
    assert "<li>gone: bob</li>" in index
    pages = [(tmp_path / "alike" / "pairs" / f"00{n}.html").read_text("utf-8") for n in (1, 2)]
    assert [LINE.findall(page)[0][2] for page in pages] == ["X = 1", "X = 1"]
    assert ['class="shared"' in page for page in pages] == [True, False]
    alone = SimilarPairs((), 0.0, 1, 0)
    index = write_alike("attention", alone, tmp_path / "alone").read_text()
    assert "1 submission of the class was compared with each other. Code" in index
    assert "No two submissions share code that was not handed out." in index
