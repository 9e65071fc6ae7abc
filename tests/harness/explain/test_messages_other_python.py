"""Code for another Python version than the grader's: the message says so, and only then."""

from __future__ import annotations

import ast
import sys

import pytest

from grader.core.wire.calls import Frame, Raised
from grader.explain.exceptions.explanation import needed_python

pytestmark = pytest.mark.unit

OLDER = pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python takes it")
NEWER = {
    'print(f"the axis is {KNOWN["axis"]}")': "Python 3.12 or newer",
    """return f'{x['a']:.3f}' if x else f'{y}'""": "Python 3.12 or newer",
    'f"{", ".join(names)}"': "Python 3.12 or newer",
    'print(f"{d["a"]}", end="")': "Python 3.12 or newer",
    "f\"{'\\n'.join(x)}\"": "Python 3.12 or newer",
    "def softmax[T](x: T, dim):": "Python 3.12 or newer",
    "class Cache[K: str, *Vs]:": "Python 3.12 or newer",
    "type Pair[T] = tuple[T, T]": "Python 3.12 or newer",
}
PYTHON_2 = [
    "except ValueError, e:",
    "except (ValueError, TypeError), error:",
    'raise ValueError, "no"',
]
WRONG_ANYWHERE = [
    'f"{x"',
    'f"{x["a"]"',
    'f"{a b}"',
    'f"{{"a"}}"',
    "print(f\"{d['a']}\"",
    "print('I can't')",
    "print('he said 'it' ok')",
    "x = 'don't' + 'x'",
    "x = (' t' + 'x'",
    'x = 3 # f"{d["a"]}" (',
    "def softmax[x, dim]:",
    "class Attention[nn.Module]:",
    'print "x"',
    "except A, b, C:",
]


def version_for(source: str) -> str:
    """Returns the Python version that a line needs, found with the parser's message."""
    said = "invalid syntax"
    try:
        ast.parse(source)
    except SyntaxError as error:
        said = error.msg
    return needed_python(Raised("SyntaxError", said, (Frame("adapters.py", 1, "", source),)))


@OLDER
@pytest.mark.parametrize("source", NEWER)
def test_syntax_of_a_newer_python_names_its_version(source):
    """The f-string, the definition or the alias tells it."""
    assert version_for(source) == NEWER[source]


@pytest.mark.parametrize("source", PYTHON_2)
def test_python_2_syntax_is_recognised(source):
    """No Python 3 accepts a comma between an exception and a variable."""
    assert version_for(source) == "Python 2"


@pytest.mark.parametrize("source", WRONG_ANYWHERE)
def test_a_plain_syntax_error_names_no_other_python_version(source):
    """Mismatched quotes, wrong brackets and a forgotten parenthesis are wrong in every version."""
    assert version_for(source) == ""
