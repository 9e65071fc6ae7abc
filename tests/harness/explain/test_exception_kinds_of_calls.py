"""The advice for each kind of exception of calls: arguments and modules."""

from __future__ import annotations

import pytest
import torch

from grader.core.wire.calls import Frame, Operand, Raised
from grader.explain.exceptions.explanation import explanation_of
from grader.worker.stub_packages import Phase, Stub

pytestmark = pytest.mark.unit


def raised(text: str, source: str = "", accepts: str = "") -> Raised:
    """Returns the exception `Kind: message` that a line raised, without a line if it is empty."""
    kind, _, message = text.partition(": ")
    frames = (Frame("a.py", 3, "f", source),) if source else ()
    return Raised(kind, message, frames, accepts=accepts)


def sentence(text: str, source: str = "", accepts: str = "") -> str | None:
    """Returns the sentence that explains an exception, or None."""
    explanation = explanation_of(raised(text, source, accepts))
    return None if explanation is None else explanation.sentence


UNEXPECTED = "TypeError: run() got an unexpected keyword argument 'd'"
ACCEPTS = {"accepts": "run(x, size=1) in a.py:7"}
ARGUMENTS = [
    (UNEXPECTED, {}, "run has no parameter d."),
    (
        UNEXPECTED,
        {"source": "return run(d=1)", **ACCEPTS},
        "run has no parameter d: it is run(x, size=1) in a.py:7.",
    ),
    (
        UNEXPECTED,
        ACCEPTS,
        "The tests call it with d, by the names of the parameters in the assignment's "
        "adapters.py; yours is run(x, size=1) in a.py:7.",
    ),
    (
        "TypeError: run() missing 2 required positional arguments: 'x' and 'size'",
        ACCEPTS,
        "The tests call it without x and size, by the names of the parameters in the "
        "assignment's adapters.py; yours is run(x, size=1) in a.py:7.",
    ),
    (
        "TypeError: run() missing 1 required keyword-only argument: what",
        {},
        "run also needs what.",
    ),
    (
        "TypeError: run() takes 2 positional arguments but 3 were given",
        {"source": "return run(1, 2, 3)", **ACCEPTS},
        "run was given more than it takes: it is run(x, size=1) in a.py:7.",
    ),
    (
        "TypeError: Net.__init__() takes 2 positional arguments but 3 were given",
        {"source": "net = Net(1, 2)", "accepts": "Net.__init__(self, width) in a.py:7"},
        "Net.__init__ was given more than it takes: it is Net.__init__(self, width) in a.py:7.",
    ),
    (
        "TypeError: masked_fill() received an invalid combination of arguments - got (Tensor, "
        "Tensor), but expected one of:\n * (Tensor input, Tensor mask, Tensor value)\n * (Tensor "
        "input, Tensor mask, Number value)\n",
        {},
        "masked_fill also needs value.",
    ),
    *(
        (
            f"TypeError: where() received an invalid combination of arguments - got ({got}), but "
            f"expected one of:\n * (Tensor condition)\n * (Tensor condition, Number self, {one} "
            "other)\n",
            {},
            None,
        )
        for got, one in (("Tensor, Tensor", "Tensor"), ("Tensor, x=int", "Tensor"))
    ),
    (
        "RuntimeError: Tensor must have a last dimension with stride 1",
        {},
        "The numbers of the last axis do not lie side by side in memory, as after x[..., ::2]; "
        ".contiguous() before this call copies them.",
    ),
    (
        "TypeError: Got unsupported ScalarType BFloat16",
        {},
        "numpy has no bfloat16: stay with torch operations.",
    ),
    (
        "TypeError: cat() takes 1 positional argument but 2 were given",
        {},
        "torch.cat takes its tensors in one list or tuple: torch.cat([a, b], dim=-1).",
    ),
    # A function of the submission has the same name.
    (
        "TypeError: cat() takes 1 positional argument but 2 were given",
        {"source": "cat(x, y)", "accepts": "cat(x) in a.py:7"},
        "cat was given more than it takes: it is cat(x) in a.py:7.",
    ),
]


@pytest.mark.parametrize(("text", "known", "said"), ARGUMENTS)
def test_wrong_arguments_are_explained_by_the_functions_parameters(text, known, said):
    """A call by the tests has no line of the submission."""
    assert sentence(text, **known) == said


WRONG_TYPE = "TypeError: {}(): argument 'x' (position 1) must be {}, not {}"


@pytest.mark.parametrize(
    ("name", "wanted", "got", "advice"),
    [
        ("stack", "tuple of Tensors", "Tensor", None),
        ("dstack", "tuple of Tensors", "Tensor", None),
        ("split", "int", "float", ": // divides whole numbers to a whole one, int(...) makes one "
                                  "of a float."),
        ("sqrt", "Tensor", "int", ": of a plain number, math.sqrt gives the same."),
        ("sqrt", "Tensor", "float", ": of a plain number, math.sqrt gives the same."),
        ("softmax", "Tensor", "int", "."),
        ("sqrt", "Tensor", "str", "."),
        ("sin", "Tensor", "tuple", ": does a function of yours return more than the one tensor?"),
        ("sum", "Size", "tuple", "."),
        ("sin", "Tensor", "list", ": torch.stack makes one tensor of several, torch.tensor one of "
                                  "numbers."),
        ("sum", "Size", "list", "."),
        ("sin", "Tensor", "method", ": round brackets after its name call it."),
        ("cat", "tuple of Tensors", "int", "."),
        ("exp", "Tensor", "numpy.ndarray", ": torch.from_numpy makes a tensor of it, without a "
                                           "gradient."),
        ("ones", "tuple of ints", "numpy.ndarray", "."),
        ("exp", "Tensor", "torch.Size", "."),
        ("exp", "Tensor", "OrderedDict", "."),
    ],
)  # fmt: skip
def test_an_argument_of_the_wrong_type_gets_the_advice_for_both_types(name, wanted, got, advice):
    """Only if both types are those of a common case, there is advice."""
    first, second = (f"a{'n' * (kind[0] in 'iO')} {kind}" for kind in (wanted, got))
    said = f"torch's {name} expects {first} there, and gets {second}{advice}"
    if advice is None:
        with_axis = f"{name}([a, b]{', dim=-1' if name == 'stack' else ''})"
        said = f"torch.{name} takes its tensors in one list or tuple: torch.{with_axis}."
    assert sentence(WRONG_TYPE.format(name, wanted, got)) == said


@pytest.mark.parametrize(
    "use", [lambda one: torch.softmax(one, -1), lambda one: torch.stack([one])]
)
def test_the_type_of_an_absent_name_says_that_it_is_not_installed(use):
    """A type called Stub would tell a student nothing, and needs no advice on types."""
    with pytest.raises(TypeError) as caught:
        use(Stub("tools.make", Phase())(3))
    assert str(caught.value).endswith(" tools.make (not installed)")
    assert sentence(f"TypeError: {caught.value}") is None


@pytest.mark.parametrize(
    "wrong", [lambda pair: torch.exp(pair), lambda pair: torch.cat([pair, pair])]
)
def test_the_pair_of_a_maximum_is_told_wherever_a_tensor_belongs(wrong):
    """torch's message names the type in full, which begins with torch."""
    with pytest.raises(TypeError) as caught:
        wrong(torch.ones(2, 2).max(-1))
    said = "max along an axis gives two tensors, values and indices: take x.max(dim=...).values, "
    assert sentence(f"TypeError: {caught.value}") == f"{said}or unpack the two."


@pytest.mark.parametrize("name", ["cat", "concatenate", "stack", "hstack", "column_stack"])
def test_a_list_of_tensors_is_advised_in_a_call_that_runs(name):
    """Those that are named after an axis take no dim."""
    with pytest.raises(TypeError) as caught:
        getattr(torch, name)(torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2))
    said, _, call = sentence(f"TypeError: {caught.value}").partition(": ")
    assert said == f"torch.{name} takes its tensors in one list or tuple"
    known = {"torch": torch, "a": torch.ones(2, 2), "b": torch.ones(2, 2)}
    assert eval(call.rstrip("."), known).numel() == 8


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("n, d = x.shape[1], x.shape[2]", "A tensor of 2 axes has no axis 2; counted from the end"),
        ("n = self.w.size()[1]  # keys", "A tensor of 1 axis has no axis 1; counted from the end"),
        ("n = x.shape[-3]", "A tensor of 2 axes has no axis -3."),
        ("n = x.shape[1] + sizes[3]", None),
        ("n = sizes.shape[3]", None),
    ],
)
def test_a_size_of_an_axis_that_is_not_there_is_told_as_an_axis(source, said):
    """Only a shape in the line that is known to be shorter tells which index is wrong."""
    known = (Operand("x", "float32[2, 3]"), Operand("self.w", "float32[4]"))
    line = (Frame("a.py", 3, "f", source),)
    text = "tuple index out of range"
    explanation = explanation_of(Raised("IndexError", text, line, operands=known))
    assert (explanation is None) is (said is None)
    assert said is None or explanation.sentence.startswith(said)


@pytest.mark.parametrize(("shape", "asked"), [((), 1), ((), -2), ((4,), 1)])
def test_a_number_and_a_vector_are_not_told_apart_by_the_range_of_their_axes(shape, asked):
    """torch counts one axis for a tensor without any."""
    with pytest.raises(IndexError) as caught:
        torch.ones(shape).softmax(asked)
    said = f"A tensor of at most 1 axis has no axis {asked}"
    assert sentence(f"IndexError: {caught.value}").startswith(said)


@pytest.mark.parametrize("kind", [torch.Tensor, torch.LongTensor])
def test_a_constructor_of_the_cpu_alone_is_named_with_the_one_for_all_devices(kind):
    """The message calls it legacy, and tells of no other way."""
    with pytest.raises(RuntimeError) as refused:
        kind([1], device="meta")
    assert sentence(f"RuntimeError: {refused.value}") == (
        "torch.Tensor(…), torch.LongTensor(…) and their like make tensors on the CPU only: "
        "torch.tensor(…, device=…) takes any device."
    )
