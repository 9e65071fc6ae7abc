"""The parameter count: the tests that you have at home."""

from grader.testing import assert_matches, exercise


@exercise("run_parameter_count")
def test_parameter_count_of_gpt2_small(student, reference, draw):
    """As many features out as in, 768 and others; a bias in the output projection or none."""
    for out_bias, expected in ((True, 2_360_064), (False, 2_359_296)):
        count = student(d_in=768, d_out=768, qkv_bias=False, out_bias=out_bias)
        assert count == expected, (
            f"the count for d_in=768, d_out=768, out_bias={out_bias} is {count}: {expected} was "
            "expected"
        )
        width = int(draw.integers(100, 1000))
        sizes = {"d_in": width, "d_out": width, "qkv_bias": False, "out_bias": out_bias}
        what = f"the count for d_in={width}, d_out={width}, out_bias={out_bias}"
        assert_matches(student(**sizes), reference(**sizes), what=what)


@exercise("run_parameter_count")
def test_parameter_count_with_two_widths(student, reference, draw):
    """More output features than input features, and biases everywhere."""
    some = int(draw.integers(1, 100))
    sizes = {"d_in": 3 * some, "d_out": 8 * some, "qkv_bias": True, "out_bias": True}
    what = f"the count for d_in={3 * some}, d_out={8 * some} with all biases"
    assert_matches(student(**sizes), reference(**sizes), what=what)
