"""Text that people read: harmless for a terminal, short, and as Python decodes it."""

from __future__ import annotations

import pytest

from grader.core.text import (
    first_line,
    gained_in_words,
    one_line,
    ordinal,
    plain,
    points,
    quantity,
    source_text,
    titled,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("place", "word"),
    [(0, "first"), (5, "sixth"), (6, "7th"), (11, "12th"), (20, "21st"), (102, "103rd")],
)
def test_a_place_has_an_ordinal(place: int, word: str) -> None:
    """Places are counted from 0, words from the first."""
    assert ordinal(place) == word


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("as it is", "as it is"),
        ("é 名 😀", "é 名 😀"),
        ("a\x07b", "ab"),
        ("a\tb\r\nc\u2028d\x85e\vf", "a   b\nc\nd\ne\nf"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07told\x1b]8;;x\x1b\\", "told"),
        ("\x1b(Bset", "set"),
        ("half \ud83d of a pair", "half \ufffd of a pair"),
        ("zero\u200bwidth \u202eback", "zerowidth back"),
        ("joined\u034f, filled\u3164, varied\ufe0f, blank\u2800", "joined, filled, varied, blank"),
        ("private\ue000 or unknown\u0378", "private or unknown"),
    ],
)
def test_plain_text_does_nothing_to_a_terminal(text: str, shown: str) -> None:
    """Escape sequences and characters that could hide text are dropped, and lines are kept."""
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("text", "longest", "line"),
    [
        ("a\n  b", 100, "a b"),
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcde fgh", 8, "abcde…"),
        ("abcd efgh", 8, "abcd ef…"),
        ("abcdefg hi", 8, "abcdefg…"),
        ("abcdef, hi", 8, "abcdef…"),
        ("a" + 50 * " " + "b", 3, "a…"),
        ("abc" + 50 * " " + "d", 3, "ab…"),
        ("abc" + 50 * " ", 3, "abc"),
        (50 * "\n" + "a", 3, "…"),
    ],
)
def test_a_line_is_cut_after_a_word_unless_that_word_is_most_of_it(
    text: str, longest: int, line: str
) -> None:
    """An ellipsis replaces the rest, and punctuation before it goes too."""
    assert one_line(text, longest) == line


def test_numbers_and_quantities_are_written_as_people_write_them() -> None:
    """Only one thing is singular, and points have two decimals at most."""
    assert [quantity(number, "test") for number in (0, 1, 2)] == ["0 tests", "1 test", "2 tests"]
    assert [points(number) for number in (12.5, 20.0, 1 / 3)] == ["12.5", "20", "0.33"]
    assert gained_in_words(6, is_full=True) == "full marks (+6 points)"
    assert gained_in_words(1, is_full=False) == "+1 point"
    assert gained_in_words(0.5, is_full=False) == "+0.5 points"


def test_the_first_line_of_no_message_is_empty() -> None:
    """A verdict may have no message."""
    assert first_line(None) == ""
    assert first_line("one\ntwo") == "one"


LATIN = "é".encode("latin-1")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"# coding: latin-1\n" + LATIN, "# coding: latin-1\né"),
        (b"\n# coding: latin-1\n" + LATIN, "\n# coding: latin-1\né"),
        (b"#!x\r\n# coding=latin-1\r" + LATIN, "#!x\n# coding=latin-1\né"),
        (b"x = 1\n# coding: latin-1\n" + LATIN, "x = 1\n# coding: latin-1\n\ufffd"),
        (b"\n\n# coding: latin-1\n" + LATIN, "\n\n# coding: latin-1\n\ufffd"),
        (b"\xef\xbb\xbf# coding: utf-7\n+AAo-", "# coding: utf-7\n+AAo-"),
        (b"# coding: utf-7\n+AAo-", "# coding: utf-7\n\n"),
        (b"# coding: utf-8-unix\n" + "é".encode(), "# coding: utf-8-unix\né"),
        (b"# coding: Latin-1-unix\n" + LATIN, "# coding: Latin-1-unix\né"),
        (b"# coding: utf_8_sig\n" + "é".encode(), "# coding: utf_8_sig\né"),
        (b"# coding: hex\n00", "# coding: hex\n00"),
        (b"# coding: nonsense\n" + LATIN, "# coding: nonsense\n\ufffd"),
        (b"# coding: ascii\n" + LATIN, "# coding: ascii\n\ufffd"),
        (b"", ""),
    ],
)
def test_source_is_decoded_as_it_declares(content: bytes, text: str) -> None:
    """Only a comment in the first two lines declares, and only text encodings decode."""
    assert source_text(content) == text


def test_plain_text_keeps_its_lines_and_loses_terminal_commands() -> None:
    """A message may have several lines, but no terminal commands."""
    assert plain("a\tb\r\nc\u2028d") == "a   b\nc\nd"
    assert plain("\x1b[1;31mred\x1b[0m \x1b(B\x1b7\x1bPq#0\x1b\\ok\x1b") == "red ok"
    assert (
        plain("half \ud83d a pair, zero\u200bwidth, é 名 😀") == "half � a pair, zerowidth, é 名 😀"
    )
    assert plain("\x1b]" * 100_000 + "x" * 100_000) == ""
    assert one_line("a\n  b " + "c" * 200, 20) == "a b " + "c" * 15 + "…"
    assert one_line("'a  b'\n\n \t'c   d'") == "'a  b' 'c   d'"
    assert [points(number) for number in (12.5, 20.0, 1 / 3, 0.1 + 0.2)] == [
        "12.5",
        "20",
        "0.33",
        "0.3",
    ]


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Every value is wrong.", "run_x: every value is wrong"),
        ("A mask is inverted", "run_x: a mask is inverted"),
        ("RoPE turns pairs", "run_x: RoPE turns pairs"),
        ("Exception", "run_x: Exception"),
        ("run_x must return None", "run_x must return None"),
        ("The positions 0, 1, ...", "run_x: the positions 0, 1, ..."),
    ],
)
def test_a_sentence_about_an_exercise_begins_small(sentence: str, said: str) -> None:
    """Names keep their capitals, and so does an exception that was raised without a message."""
    assert titled("run_x", sentence) == said
