"""The language-model course cuts texts into words as its stub tells students to: by `regex`."""

import runpy
import unicodedata
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

COURSE = Path(__file__).parents[3] / "examples" / "language_model"
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def test_the_reference_finds_the_words_of_the_pattern():
    """The reference has no `regex`, which students use: the words must be the same.

    The characters are those of alphabets, symbols and spaces, before the ideographs.
    """
    regex = pytest.importorskip("regex", reason="the pattern needs it")
    words = runpy.run_path(str(COURSE / "solutions" / "pretokens.py"))["words"]
    assert PATTERN in (COURSE / "assignment" / "tokenizer.py").read_text()
    for one in filter(_is_assigned, map(chr, range(0x3100))):
        text = f"a{one}1 {one}{one}b {one} \n{one}"
        assert words(text) == regex.findall(PATTERN, text), f"U+{ord(one):04X}"


def _is_assigned(character: str) -> bool:
    """Returns whether Python's version of Unicode has the character."""
    return unicodedata.category(character) != "Cn"
