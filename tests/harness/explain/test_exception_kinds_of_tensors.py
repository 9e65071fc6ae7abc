"""The advice for each kind of exception of shapes, dtypes, patterns and weights."""

from __future__ import annotations

import pytest

from grader.core.wire.calls import Frame, Operand, Raised
from grader.explain.exceptions.explanation import explanation_of

pytestmark = pytest.mark.unit


def told(text: str, source: str = "return y", **shapes: str) -> str | None:
    """Returns the sentence about `Kind: message` of a line, whose names have these words."""
    kind, _, message = text.partition(": ")
    operands = [Operand(name.replace("__", "."), words) for name, words in shapes.items()]
    frames = (Frame("a.py", 3, "f", source),) if source else ()
    raised = Raised(kind, message, frames, operands=tuple(operands))
    explanation = explanation_of(raised)
    return None if explanation is None else explanation.sentence


PRODUCT = "RuntimeError: mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})"
BATCHES = (
    "RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but "
    "got: [{}, {}]."
)


def test_a_product_names_the_two_lengths_that_differ():
    """A transposed factor is advised only if it would fit."""
    said = told(PRODUCT.format(2, 3, 5, 1)) or ""
    assert said.startswith("A product sums over one axis of each tensor")
    assert said.endswith("Here one is 3 long, the other 5.")
    said = told(PRODUCT.format(2, 3, 5, 3)) or ""
    assert said.endswith("5. They fit if one is transposed: .transpose(-2, -1).")


def test_leading_axes_of_a_product_that_differ_are_told_first():
    """The batches must agree before the matrices do."""
    said = told(BATCHES.format(2, 3, 4, 5))
    assert said == "The leading axes of the two do not agree: they hold 2 and 4."
    assert "one is 3 long, the other 5" in told(BATCHES.format(2, 3, 2, 5))


BROADCAST = (
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
    "dimension 1"
)
REDUCED = [
    ("return x / x.sum(-1)", "sum"),
    ("return x / torch.amax(x, 1)", "amax"),
    ("return x / x.exp().sum(dim=-1)", "sum"),
    ("return x / x.sum(-1, keepdim=True)", None),
    ("return x / x.sum()", None),
    ("return x / x.prod(-1)", None),
]


@pytest.mark.parametrize(("source", "reduction"), REDUCED)
def test_a_reduction_in_a_line_whose_shapes_do_not_fit_is_told(source, reduction):
    """A reduction of a whole tensor, and one that keeps its axis, is not the reason."""
    advice = f" {reduction} drops its axis, unless you pass keepdim=True." if reduction else ""
    assert (told(BROADCAST, source) or "").endswith(
        f"Here two axes that meet are 3 and 4 long.{advice}"
    )


AXES = "RuntimeError: Dimension out of range (expected to be in range of [{}, {}], but got {})"
SIZES = [
    (AXES.format(-2, 1, 2), "A tensor of 2 axes has no axis 2; counted from the end (-1, -2)"),
    (AXES.format(-1, 0, 0), "A tensor of at most 1 axis has no axis 0; counted"),
    (AXES.format(-2, 1, -3), "A tensor of 2 axes has no axis -3."),
    (
        "RuntimeError: shape '[2, -1, 4]' is invalid for input of size 6",
        "The tensor holds 6 values: 8 does not divide that.",
    ),
    (
        "RuntimeError: shape '[2, 4]' is invalid for input of size 6",
        "[2, 4] would be 8 values, and the tensor holds 6.",
    ),
    (
        "RuntimeError: einsum(): the number of subscripts in the equation (3) does not match the "
        "number of dimensions (2) for operand 5",
        "The equation names 3 axes of the sixth tensor, which has 2 here.",
    ),
    (
        "RuntimeError: einsum(): the number of subscripts in the equation (3) does not match the "
        "number of dimensions (2) for operand 4",
        "The equation names 3 axes of the fifth tensor, which has 2 here.",
    ),
    ("RuntimeError: view size is not compatible with input tensor's size", "The numbers do not"),
]


@pytest.mark.parametrize(("text", "said"), SIZES)
def test_sizes_and_axes_in_a_message_are_told_in_words(text, said):
    """The numbers of torch's message come in the order of a sentence."""
    assert told(text).startswith(said)


@pytest.mark.parametrize(
    ("source", "shapes", "said"),
    [
        ("b, s = x.shape", {"x": "float32[4]"}, "exactly 2 axes apart, and x has 1 here. The"),
        ("b, s = x.size()  # both", {"x": "float32[4]"}, "exactly 2 axes apart, and x has 1"),
        ("b, s = x.shape", {"x": "float32[4]", "y": "float32[]"}, "exactly 2 axes apart. The"),
        ("b, s = x.shape[1:]", {"x": "float32[4]"}, None),
        ("b, s = x", {"x": "float32[4]"}, None),
    ],
)
def test_a_shape_that_is_taken_apart_needs_its_number_of_axes(source, shapes, said):
    """A part of a shape, or a tensor, tells nothing of this."""
    found = told("ValueError: not enough values to unpack (expected 2, got 1)", source, **shapes)
    assert (found is None) is (said is None)
    assert said is None or said in found


DTYPES = [
    ("RuntimeError: expected scalar type Half but found Float",
     "One tensor is float16 and the other float32: make new tensors"),
    ("RuntimeError: expected scalar type Long but found Float",
     "One tensor is int64 and the other float32, and torch needs one dtype here"),
    ("RuntimeError: expected m1 and m2 to have the same dtype, but got: float != long int",
     "One tensor is float32 and the other int64, and torch needs one dtype here"),
    ("RuntimeError: dot : expected both vectors to have same dtype, but found Half and Float",
     "One tensor is float16 and the other float32: make new tensors"),
    ("RuntimeError: addmv input tensors must have the same dtype, but got Float, Long, and Float",
     "One tensor is float32 and the other int64, and torch needs one dtype here"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), DTYPES)
def test_dtypes_in_a_message_are_told_by_their_names(text, said):
    """Floating dtypes can be converted to each other; others must be meant."""
    assert told(text).startswith(said)


EINOPS = (
    'EinopsError:  Error while processing rearrange-reduction pattern "{}".\n Input tensor shape: '
    "torch.Size([2, 3]). Additional info: {}.\n {}"
)
PATTERNS = [
    ("b t d -> b d t", "{}", "expected 3 dims", "The pattern names 3 axes. An ellipsis (...)"),
    ("... t d -> ... d t", "{}", "expected 3 dims", ""),
    (
        "b (h d) -> b h d",
        "{'h': 2}",
        "can't divide axis of length 3 in chunks of 2",
        "A group in brackets must multiply to the length of its axis.",
    ),
    ("i -> j", "{}", "Identifiers only on one side", ""),
]


@pytest.mark.parametrize(("pattern", "sizes", "reason", "said"), PATTERNS)
def test_an_einops_pattern_is_told_with_the_shape_that_it_does_not_fit(
    pattern, sizes, reason, said
):
    """Sizes that were passed are told; without any, nothing is."""
    text = EINOPS.format(pattern, sizes, reason)
    explanation = explanation_of(Raised("EinopsError", text.partition(":")[2]))
    given = "" if sizes == "{}" else f" with {sizes}"
    message = f'"{pattern}" does not fit a tensor of shape [2, 3]{given}: {reason}'
    assert explanation.message == message
    assert explanation.sentence.startswith(said)
    assert bool(explanation.sentence) is bool(said)
