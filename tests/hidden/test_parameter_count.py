"""The parameter count: what the grade looks at beyond the public tests."""

import pytest

from grader.testing import assert_matches, exercise


@exercise("run_parameter_count")
@pytest.mark.parametrize("narrowest", [64, 512])
def test_parameter_count_of_one_width(student, reference, draw, narrowest):
    """As many features out as in, without biases for queries, keys and values."""
    for out_bias in (False, True):
        width = int(draw.integers(narrowest, 4 * narrowest))
        sizes = {"d_in": width, "d_out": width, "qkv_bias": False, "out_bias": out_bias}
        what = f"the count for one width with out_bias={out_bias}"
        assert_matches(student(**sizes), reference(**sizes), what=what)


@exercise("run_parameter_count")
@pytest.mark.parametrize(("d_in", "d_out", "qkv_bias"), [(5, 2, False), (1, 7, True)], ids=str)
def test_parameter_count_of_two_widths(student, reference, draw, d_in, d_out, qkv_bias):
    """More or fewer features out than in."""
    some = int(draw.integers(1, 100))
    sizes = {"d_in": d_in * some, "d_out": d_out * some, "qkv_bias": qkv_bias, "out_bias": False}
    what = f"the count for {d_out} features out for every {d_in} in, qkv_bias={qkv_bias}"
    assert_matches(student(**sizes), reference(**sizes), what=what)
