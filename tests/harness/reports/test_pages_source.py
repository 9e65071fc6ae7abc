"""The lines of a submission on its page: coloured and escaped, whatever they hold."""

import re

import pytest

from grader.core.evidence import Excerpt
from grader.core.verdict import Where
from grader.explain.excerpts import excerpts
from grader.explain.repair.sources import EditableSources
from grader.reports.pages.submission_page import highlighted
from tests.harness.pages_fixtures import SOURCE

pytestmark = pytest.mark.unit


def markup(*lines: str) -> list[str]:
    return [*map(str, highlighted(Excerpt("attention.py", 1, lines)))]


def coloured(*lines: str) -> dict[str, str]:
    """Returns the colour of each text that has one."""
    found = re.findall('<i class="(.)">(.*?)</i>', "\n".join(markup(*lines)))
    return {text: colour for colour, text in found}


def test_each_kind_of_token_has_its_own_colour():
    """Keywords, builtins, numbers, strings, comments and definitions have their own colours."""
    lines = ("@jaxtyped", SOURCE[0], SOURCE[5], "if len(x) > 1e-5: s = rb'a'")
    assert coloured(*lines) == {
        "@jaxtyped": "f",
        "def": "k",
        "attention": "f",
        "None": "k",
        "1": "n",
        "# over the keys": "c",
        "if": "k",
        "len": "b",
        "1e-5": "n",
        "rb&#39;a&#39;": "s",
    }


def test_a_method_named_like_a_builtin_is_not_coloured():
    """`scores.max()` calls a method, not the builtin."""
    assert coloured("max(scores.sum(), x1)") == {"max": "b"}


def test_a_multiline_string_is_coloured_on_each_line():
    """Each line is an element of its own and closes its own tags."""
    first, second, third = markup('x = """All', "  # of it", '""" + y')
    assert first == 'x = <i class="s">&#34;&#34;&#34;All</i>'
    assert second == '<i class="s">  # of it</i>'
    assert third == '<i class="s">&#34;&#34;&#34;</i> + y'


@pytest.mark.parametrize(
    "lines",
    [
        ("x = '<b>", "def f():"),
        ("'''never closed", "<script>", "\\"),
        ("\\", '"\\', "0x", "@", "1e", "é = 'ü'"),
        ("", "", ""),
    ],
    ids=["a string not closed", "a text not closed", "no Python", "nothing"],
)
def test_any_excerpt_is_shown_completely_and_escaped(lines):
    """An excerpt begins and ends anywhere, and may not be Python at all."""
    shown = markup(*lines)
    assert [re.sub('<i class=".">|</i>', "", line) for line in shown] == [
        line.replace("'", "&#39;").replace('"', "&#34;").replace("<", "&lt;").replace(">", "&gt;")
        for line in lines
    ]


@pytest.mark.process(takes="a second")
def test_a_very_long_line_is_coloured_in_linear_time():
    """The pattern looks at each character only a few times, even on a very long line."""
    for text in ('"', "'\\", "\\", "a.", "1_", "@a", " ", '"\\\\'):
        assert len(markup(text * 20_000)) == 1


def test_code_after_a_docstring_that_began_above_is_coloured_as_code(tmp_path):
    """The excerpt begins inside a string, and the whole file says so."""
    text = [
        *("# it's", "s = '''", "a", "'''", "def f():", '    r"""Adds', "    what isn't"),
        *"bcd",
    ]
    text += ['    end"""', "    return 1"]
    (tmp_path / "mine.py").write_text("\n".join(text))
    (excerpt,) = excerpts(tmp_path, [Where("mine.py", 11)])
    assert (excerpt.first, excerpt.opening) == (7, 'r"""')
    *docstring, last = map(str, highlighted(excerpt))
    assert [line[:16] for line in docstring[:2]] == ['<i class="s">   ', '<i class="s">b</']
    assert last == '    <i class="k">return</i> <i class="n">1</i>'
    (code,) = excerpts(tmp_path, [Where("mine.py", 2)])
    assert (code.first, code.opening) == (1, "")


@pytest.mark.parametrize("char", ["\f", "\x85", "\u2028", "\v"])
def test_lines_of_an_excerpt_are_split_like_python_lines(tmp_path, char):
    """Form feeds and Unicode's separators do not end a line, so that line numbers stay right."""
    (tmp_path / "mine.py").write_text(f"a = '{char}'\nb = 2\r\nc = 3\n", "utf-8")
    (excerpt,) = excerpts(tmp_path, [Where("mine.py", 3)])
    assert excerpt.lines == ("a = ' '", "b = 2", "c = 3")
    sources = EditableSources.of(tmp_path, [tmp_path / "mine.py"])
    assert sources.line("mine.py", 2) == "b = 2"
    assert sources.count("mine.py", "c = 3") == 1
