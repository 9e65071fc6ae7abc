"""The lines of a submission as its page shows them: coloured, escaped, whatever they hold."""

import re

import pytest

from grader.evidence import Excerpt
from grader.pages.of_submission.highlighting import highlighted
from tests.harness.pages_fixtures import SOURCE

pytestmark = pytest.mark.unit


def markup(*lines: str) -> list[str]:
    return [str(line.text) for line in highlighted(Excerpt("attention.py", 1, lines), 1)]


def coloured(*lines: str) -> dict[str, str]:
    """The colour of each text that has one."""
    found = re.findall('<i class="(.)">(.*?)</i>', "\n".join(markup(*lines)))
    return {text: colour for colour, text in found}


def test_what_a_line_is_made_of_is_told_by_colours():
    """Keywords, builtins, numbers, strings, comments, and what is defined."""
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


def test_a_method_that_is_called_like_a_builtin_is_none():
    """`scores.max()` is the submission's business."""
    assert coloured("max(scores.sum(), x1)") == {"max": "b"}


def test_a_text_over_several_lines_is_coloured_in_each():
    """A line is an element of its own, which no other one's ends."""
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
def test_whatever_the_lines_hold_each_is_there_and_harmless(lines):
    """An excerpt begins and ends anywhere, and may hold what is no Python at all."""
    shown = markup(*lines)
    assert [re.sub('<i class=".">|</i>', "", line) for line in shown] == [
        line.replace("'", "&#39;").replace('"', "&#34;").replace("<", "&lt;").replace(">", "&gt;")
        for line in lines
    ]


def test_a_line_of_any_length_is_coloured_at_once():
    """Each character is looked at a few times, however the line goes on."""
    for text in ('"', "'\\", "\\", "a.", "1_", "@a", " ", '"\\\\'):
        assert len(markup(text * 50_000)) == 1
