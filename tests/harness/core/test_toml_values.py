"""TOML that the grader writes is read back unchanged."""

import datetime
import tomllib

import pytest

from grader.core.text import Value, toml_value

pytestmark = pytest.mark.unit

TEXTS = ["", 'a "word"', "C:\\new", "two\nlines\r\n", "\x00\x1f\x7f", "'''", "é 名 😀", "# a"]
NUMBERS = [True, False, 0, -7, 0.1, -1e300, 1e16, float("inf"), float("-inf")]
MOMENT = datetime.datetime(2026, 10, 3, 23, 59, 0, 5, datetime.UTC)
LISTS = [[], [1.5, 2.0], ["a", 'b"'], [[1, 2], []]]


@pytest.mark.parametrize(
    "value", [*TEXTS, *NUMBERS, MOMENT, MOMENT.replace(tzinfo=None), *LISTS], ids=repr
)
def test_a_value_is_read_back_as_it_was(value: Value) -> None:
    """The values have quotes, characters that a TOML text must escape, and whole lists."""
    assert tomllib.loads(f"key = {toml_value(value)}\n") == {"key": value}
