"""A misspelt name finds the intended one, and never an unlike one."""

from __future__ import annotations

import pytest

from grader.core.names import nearest

pytestmark = pytest.mark.unit

EXERCISES = (
    "run_softmax",
    "run_rope",
    "run_causal_mask",
    "run_multihead_self_attention",
    "run_silu",
)


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("run_rop", EXERCISES, "run_rope"),
        ("run_duoble", ("run_double", "run_count"), "run_double"),
        ("run_SoftMax", EXERCISES, "run_softmax"),
        ("softmax", ("softmax", "rope"), "softmax"),
        ("tekst", ("text", "person"), "text"),
        ("run_mha", EXERCISES, ""),
        ("run_gelu", EXERCISES, ""),
        ("run_gqa", ("run_mha",), ""),
        ("evans", ("adams", "Bell, Ada", "young"), ""),
        ("", EXERCISES, ""),
        ("x", (), ""),
        ("", ("a",), ""),
        ("ab", ("ab", "xy"), "ab"),
        ("abdc", ("abcd",), "abcd"),
        ("abcde", ("abcdx",), "abcdx"),
        ("abcde", ("abcxy",), ""),
        ("abc", ("abcde",), "abcde"),
        ("abc", ("abcdefgh",), ""),
        ("abcdefgh", ("abcdefxx", "abcdefgx"), "abcdefgx"),
        ("rope", ("ropes", "roped"), "ropes"),
    ],
)
def test_a_misspelt_name_finds_the_nearest_known_name_or_none(name, known, found):
    """A common prefix of all names does not make two of them alike."""
    assert nearest(name, known) == found
