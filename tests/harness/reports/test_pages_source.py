"""The lines of a submission on its page, whatever they hold."""

import pytest

from grader.core.verdict import Where
from grader.explain.excerpts import excerpts
from grader.explain.repair.sources import EditableSources

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("char", ["\f", "\x85", "\u2028", "\v"])
def test_lines_of_an_excerpt_are_split_like_python_lines(tmp_path, char):
    """Form feeds and Unicode's separators do not end a line, so that line numbers stay right."""
    (tmp_path / "mine.py").write_text(f"a = '{char}'\nb = 2\r\nc = 3\n", "utf-8")
    (excerpt,) = excerpts(tmp_path, [Where("mine.py", 3)])
    assert excerpt.lines == ("a = ' '", "b = 2", "c = 3")
    sources = EditableSources.of(tmp_path, [tmp_path / "mine.py"])
    assert sources.line("mine.py", 2) == "b = 2"
