"""Messages about an answer of the wrong type, shape or value."""

from __future__ import annotations

import pytest
import torch

from grader.testing.assertions import WrongNumbers, assert_matches
from grader.testing.comparison import FLOAT32, compare
from grader.testing.contract import Adapter, axis_names
from grader.testing.differences import difference_in_words, headline, worst_in_a_table
from grader.testing.kinds import TensorType
from grader.testing.structure import wrong_shape

pytestmark = pytest.mark.unit

Q, K, V = torch.zeros(2, 5, 8), torch.zeros(2, 7, 8), torch.zeros(2, 7, 6)
FLOAT = "floating-point"


def tensor_type(axes: str) -> TensorType:
    return TensorType(FLOAT, tuple(axes.split()))


ATTENTION = Adapter(
    "run_attention",
    {
        "Q": tensor_type("... queries d_k"),
        "K": tensor_type("... keys d_k"),
        "V": tensor_type("... keys d_v"),
    },
    tensor_type("... queries d_v"),
)


def attention_shape_message(*got: int, q=Q, k=K, v=V) -> str:
    """Returns the message for attention that returns this shape."""
    arguments = {"Q": q, "K": k, "V": v}
    shape = ATTENTION.expected_shape(arguments)
    return wrong_shape(ATTENTION, ATTENTION.result, arguments, shape, got)


def test_small_errors_in_half_precision_get_advice_on_the_dtype():
    """The advice says its condition: it is true whatever the cause is."""
    got = torch.tensor([1.0, 2.0, 2.25], dtype=torch.bfloat16)
    with pytest.raises(WrongNumbers) as raised:
        assert_matches(got, torch.tensor([1.0, 2.0, 2.5]))
    assert "bfloat16 holds 2 digits: if the same is right in float32" in raised.value.words


def test_a_wrong_shape_message_names_the_expected_axes():
    """The message gives the expected axes with their sizes, and the shape that was returned."""
    assert attention_shape_message(2, 9, 9) == (
        "run_attention must return shape (... queries d_v), which is [2, 5, 6] with queries=5, "
        "d_v=6, not [2, 9, 9]"
    )


@pytest.mark.process
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return None", ["not None", "This line returns None: return None"]),
        (
            "return 2 * x, x.sum()",
            [
                "must return a floating-point tensor (... n), not a tuple of 2: float32[2, 3], "
                "float32[]",
            ],
        ),
        (
            "return (2 * x).numpy()",
            ["not a numpy array of shape [2, 3]", "numpy ends the gradient"],
        ),
        ("return [row for row in x]", ["a list of 2: float32[3], float32[3]"]),
        ("print(2 * x)", ["not None (adapters.py:3)", "The function ends there without a return"]),
        ("return x.tolist()", ["a list of 2", "(adapters.py:3)"]),
        ("return torch.nn.Linear(3, 3)", ["a module of type Linear"]),
        ("return x.sum", ["a function (sum)"]),
        ("return 2.0", ["not the float 2.0"]),
        ("return {'out': x}", ["a dict of 1: 'out': float32[2, 3]"]),
        ("return x.long()", ["not one of dtype int64"]),
        ("return x[:, :1]", ["not [2, 1]"]),
        ("return x.T", ["not [3, 2]", "The test called run_double(x=float32[2, 3])."]),
    ],
)
def test_an_answer_of_the_wrong_type_or_shape_is_described(grade, body, said):
    """The message says what came instead, and where to look next."""
    count = "def run_count(x):\n    return x.numel()\n"
    message = grade(f"import torch\ndef run_double(x):\n    {body}\n{count}")[
        "test_doubles"
    ].message
    for text in said:
        assert text in message, message


@pytest.mark.process
def test_the_first_nan_is_told_for_the_test_whose_call_has_it(grade):
    """Two tests become NaN at two lines; either line is wrong for the other test."""
    graded = grade(
        """
def run_double(x):
    nothing = x - x
    if x.ndim == 1:
        return 2 * x + nothing / nothing
    return 2 * x * (nothing / nothing)

def run_count(x):
    return x.numel()
"""
    )
    for test, line in (("test_doubles", 6), ("test_doubles_any_shape[(4,)]", 5)):
        assert f"The first NaN or positive infinity appears in adapters.py:{line}:" in (
            graded[test].message
        )


AXES = ("the leading axis", "queries", "d_v")
RIGHT = torch.arange(24.0).reshape(2, 4, 3) / 10
ABOVE_0 = RIGHT + 1


def message_of(answer: torch.Tensor, shows_expected: bool = True) -> list[str]:
    """Returns the message for an answer where `RIGHT` is expected."""
    comparison = compare(answer, RIGHT, FLOAT32)
    words = difference_in_words("the result", comparison, AXES)
    return [*words, *worst_in_a_table(comparison, shows_expected)]


def test_wrong_values_are_counted_and_the_worst_are_shown():
    """The message gives their number, the largest error with its index, and a small table."""
    answer = RIGHT.clone()
    answer[0, 1, 2] += 0.5
    answer[1, 3, 0] -= 0.25
    answer[1, 0, 1] -= 0.125
    assert message_of(answer) == [
        "some values are wrong",
        "3 of 24 values in the result are wrong; "
        "the worst by tolerance is at index [0, 1, 2]: off by 0.5, "
        "46,948 times the tolerance",
        "    index      expected    got  off by",
        "    [0, 1, 2]       0.5      1     0.5",
        "    [1, 3, 0]       2.1   1.85    0.25",
        "    [1, 0, 1]       1.3  1.175   0.125",
    ]


def test_negative_zero_is_shown_as_zero():
    """A product with a negative value may be -0.0, which is shown as 0."""
    answer = RIGHT.clone()
    answer[1, 3, 0] = -0.0
    assert message_of(answer)[-1].split() == ["[1,", "3,", "0]", "2.1", "0", "2.1"]


def test_a_hidden_test_shows_no_expected_values():
    """Students read its messages, and its inputs may be used again."""
    header, *rows = message_of(RIGHT + 1, shows_expected=False)[2:]
    assert header.split() == ["index", "got", "off", "by"]
    assert len(rows) == 5


@pytest.mark.parametrize(
    ("part", "where"),
    [
        (
            (slice(None), 0),
            "All of them are at queries = 0 (of 4); the rest is as expected.",
        ),
        ((slice(None), slice(1, 4)), "All of them are at queries = 1 to 3 (of 4); the rest"),
        ((slice(None), slice(1, 4, 2)), "All of them are at queries = 1, 3 (of 4); the rest"),
        ((1, 2), "All of them are at the leading axis = 1 (of 2), queries = 2 (of 4); the rest"),
    ],
)
def test_wrong_values_in_one_part_are_located_by_its_index(part, where):
    """The wrong tokens, heads or features tell the student where to look."""
    answer = RIGHT.clone()
    answer[part] += 1
    assert any(line.startswith(where) for line in message_of(answer))


def test_nan_rows_are_counted_as_rows():
    """The message counts the rows, names their axis and the first one, and lists usual causes."""
    answer = RIGHT.clone()
    answer[:, 2] = float("nan")
    assert message_of(answer) == [
        "some values are NaN",
        "6 of 24 values in the result are wrong: 6 are NaN, the first at index [0, 2, 0]",
        "2 whole rows are NaN, all along d_v, the first at index [0, 2].",
        "NaN can come from 0/0, inf/inf, inf-inf, 0*inf, the root or logarithm of negative "
        "numbers, or softmax over only -inf. A tensor of torch.empty also holds such values until "
        "you fill it.",
        "All of them are at queries = 2 (of 4); the rest is as expected.",
    ]


def test_an_all_nan_result_gets_a_short_headline():
    """If every row is NaN, the first one says nothing."""
    assert message_of(RIGHT * float("nan"))[0] == "every value is NaN"


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        (float("nan"), float("inf"), ": 1 is NaN, at index [0, 1]"),
        (float("-inf"), float("inf"), ": 1 is infinite, at index [0, 1]"),
        (-10.0, float("-inf"), ""),
    ],
)
def test_no_error_is_measured_where_no_number_is_expected(got, want, said):
    """A difference of infinities is no size, but the values themselves tell something."""
    numbers = torch.tensor([[1.0, got], [2.0, 3.0]]), torch.tensor([[1.0, want], [2.0, 3.0]])
    comparison = compare(*numbers, FLOAT32)
    words = difference_in_words("the result", comparison, ("seq", "d"))
    assert words[1] == f"1 of 4 values in the result are wrong{said}"
    header, row = worst_in_a_table(comparison, shows_expected=True)
    assert header.split() == ["index", "expected", "got"]
    assert row.split() == ["[0,", "1]", str(want), f"{got:g}"]


def test_the_part_of_a_named_answer_that_is_wrong_makes_a_sentence():
    """A test's author may name several things: "the outputs before the changed token"."""
    answer = RIGHT.clone()
    answer[:, 1:] += 1
    said = headline("the outputs", compare(answer, RIGHT, FLOAT32), AXES)
    assert said == "some values of the outputs are wrong from index 1 of queries on"


def test_infinite_values_are_distinguished_from_nan():
    """Infinite values have other causes."""
    answer = RIGHT.clone()
    answer[0, 0, 0] = float("inf")
    assert "1 is infinite, at index [0, 0, 0]" in message_of(answer)[1]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (3 * ABOVE_0, "every value is too large by the same factor"),
        (ABOVE_0 / 3, "every value is too small by the same factor"),
        (ABOVE_0 * (1 - ABOVE_0 / 1000), "every value is wrong"),
        (ABOVE_0 + 1, "every value is wrong"),
        (ABOVE_0.sin() + 5, "every value is wrong"),
    ],
)
def test_the_headline_describes_the_error_without_numbers(answer, said):
    """The headline is the same for every case, and true of every value it speaks of."""
    comparison = compare(answer, ABOVE_0, FLOAT32)
    assert headline("the result", comparison, ("batch", "queries", "d_v")) == said


def test_the_headline_names_the_index_where_wrong_values_begin():
    """Shifted positions typically show up this way."""
    answer = RIGHT.clone()
    answer[:, 1:] = answer[:, 1:].sin() + 5
    assert message_of(answer)[0] == "wrong from index 1 of queries on"
    answer[:, 1] = RIGHT[:, 1]
    assert message_of(answer)[0] == "some values are wrong"


def test_no_place_is_named_if_the_rest_is_barely_within_tolerance():
    """All values stray alike; which of them are beyond it is the tolerance's doing."""
    answer = RIGHT.clone()
    answer[:, 1:] += 5e-5
    answer[:, 0] += 5e-6
    assert message_of(answer)[0] == "some values are wrong"
    assert not any("the rest is as expected" in line for line in message_of(answer))


def test_several_leading_axes_are_numbered():
    """The batch axis and the heads axis have no names of their own in `...`."""
    assert axis_names(tensor_type("... seq d"), 4) == (
        "the first leading axis", "the second leading axis", "seq", "d",
    )  # fmt: skip


@pytest.mark.process
def test_public_tests_show_expected_values_and_hidden_ones_do_not(grade):
    """The judge itself grades the submission here."""
    code = "def run_double(x):\n    return 3 * x\n\ndef run_count(x):\n    return x.numel()\n"
    graded = grade(code)
    assert "expected" in graded["test_doubles"].message
    assert "expected" not in graded["test_doubles_any_shape[(4,)]"].message
    assert "got  off by" in graded["test_doubles_any_shape[(4,)]"].message


@pytest.mark.process
def test_every_comparison_counts_wrong_values_and_keeps_the_worst(grade):
    """Also for a right answer, the measurement counts wrong values, all values and the worst."""
    right = grade()["test_doubles"].measurement
    assert (right.wrong, right.total, len(right.worst)) == (0, 6, 2)
    code = "def run_double(x):\n    y = 2 * x\n    y[..., -1] += 1\n    return y\n"
    wrong = grade(code)["test_doubles"].measurement
    assert (wrong.wrong, wrong.total, wrong.worst[-1]) == (2, 6, 2)
