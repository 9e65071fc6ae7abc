"""The advice for each kind of exception of names and programs, and what tells it."""

from __future__ import annotations

import pytest

from grader.core.wire.calls import Frame, Operand, Raised
from grader.explain.exceptions.explanation import explanation_of
from grader.explain.exceptions.kinds import dtype_name, shape_of

pytestmark = pytest.mark.unit


def raised(text: str, source: str = "", **known: object) -> Raised:
    """Returns the exception `Kind: message` that a line raised, without a line if it is empty."""
    kind, _, message = text.partition(": ")
    frames = (Frame("a.py", 3, "f", source),) if source else ()
    return Raised(kind, message, **{"frames": frames, **known})


def sentence(text: str, source: str = "", **known: object) -> str | None:
    """Returns the sentence that explains an exception, or None."""
    explanation = explanation_of(raised(text, source, **known))
    return None if explanation is None else explanation.sentence


def test_words_for_dtypes_are_read_in_all_of_torchs_spellings():
    """Torch's messages spell one dtype in four ways."""
    words = ("Float", "c10::Half", "torch.DoubleTensor", "long int", "torch.bfloat16", "Byte")
    found = ["float32", "float16", "float64", "int64", "bfloat16", "uint8"]
    assert [*map(dtype_name, words)] == found


def test_only_a_tensor_has_a_shape():
    """The words of an operand tell both."""
    words = ("float32[2, 3]", "float32[]", "float32[4] on cuda", "None", "(1, 2)", "3")
    shapes = [shape_of(Operand("x", one)) for one in words]
    assert shapes == [[2, 3], [], [4], None, None, None]


NO_NAME = "NameError: name '{}' is not defined"
NO_VALUE = "UnboundLocalError: cannot access local variable 'y' where it has no value"
NO_ATTRIBUTE = "AttributeError: '{}' object has no attribute 'w'"
NO_MODULE = "ModuleNotFoundError: No module named '{}'"
NOTHING = (
    "Something there is None: an argument that was left out, say, or what a function without a "
    "return gives."
)
NAMED = [
    (NO_NAME.format("F"), {}, "Is an import missing (import torch.nn.functional as F)?"),
    (NO_NAME.format("reslut"), {"suggestion": "result"}, "Did you mean result?"),
    (NO_NAME.format("reslut"), {}, None),
    ("KeyError: 'fc.weigth'", {}, None),
    (NO_ATTRIBUTE.format("Net"), {"suggestion": "W"}, "Did you mean W?"),
    (NO_ATTRIBUTE.format("Net"), {"source": "return net.w"}, None),
    (
        "AttributeError: module 'torch' has no attribute 'softmaxx'",
        {"suggestion": "softmax"},
        "Did you mean softmax?",
    ),
    ("AttributeError: module 'torch' has no attribute 'softmaxx'", {}, None),
    *(
        (text, {}, NOTHING)
        for text in (
            NO_ATTRIBUTE.format("NoneType"),
            "TypeError: unsupported operand type(s) for +: 'NoneType' and 'Tensor'",
            "TypeError: linear(): argument 'input' must be Tensor, not NoneType",
            "TypeError: softmax(): argument 'dim' (position 2) must be int, not NoneType",
        )
    ),
    (
        "TypeError: unsupported operand type(s) for -: 'Tensor' and 'torch.return_types.max'",
        {},
        "max gives several tensors at once, as max along an axis gives values and indices: take "
        "one of them (.values), or unpack them.",
    ),
    (
        "TypeError: unsupported operand type(s) for /: 'Tensor' and 'method'",
        {},
        "Something there is a function that was not called: round brackets after its name call it "
        "(a @property needs none).",
    ),
    (
        "TypeError: 'Net' object is not callable",
        {},
        "Round brackets call what stands before them, here a value of type Net. Should they be "
        "square, is an operator missing, or does the name hide a function?",
    ),
    (
        "RuntimeError: Boolean value of Tensor with more than one value is ambiguous",
        {},
        "Only a tensor of one number is true or false. To combine booleans, write & | ~ for and, "
        "or, not. To ask whether something was given, write is None.",
    ),
]


@pytest.mark.parametrize(("text", "known", "said"), NAMED)
def test_an_exception_of_a_name_is_explained_by_what_is_known(text, known, said):
    """The suggestion, the line and its operands decide between the sentences of one kind."""
    assert sentence(text, **known) == said


def test_a_local_name_without_a_value_may_be_another_one():
    """The sentence says what an assignment means."""
    said = sentence(NO_VALUE, "return y", suggestion="x")
    assert said.startswith("y has no value here. A name that a function assigns is local")
    assert said.endswith("Did you mean x?")
    assert "Did you mean" not in sentence(NO_VALUE, "return y")


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tiktoken'", "The package tiktoken is not installed here; the assignment does without"),
        ("tiktoken.load'", "Your own tiktoken is here, and has no tiktoken.load"),
        ("parts.heads'", "Your own parts is here, and has no parts.heads: was a file left out"),
        ("my_layers'", "Imports find neither a file my_layers.py nor an installed package"),
    ],
)
def test_a_failed_import_says_where_the_module_should_be(text, said):
    """A file, a folder, the standard library or a package lacks the module."""
    assert sentence(f"ModuleNotFoundError: No module named '{text}").startswith(said)


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize("name", ["asyncio.nothing", "numpy.nothing"])
def test_a_module_that_a_package_does_not_have_needs_no_other_words(name):
    """Python's own name the module."""
    assert sentence(NO_MODULE.format(name)) is None


def test_a_missing_file_is_looked_up_from_the_top():
    """Nothing is said of a path from the root of a machine, or of a file that a test made."""
    text = "FileNotFoundError: [Errno 2] No such file or directory: '{}'"
    said = "There is no data/w.pt here: a relative path starts at the top folder"
    assert sentence(text.format("data/w.pt")).startswith(said)
    assert {sentence(text.format(path)) for path in ("/home/w.pt", "…/out.pt")} == {None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("None", "the program was ended"),
        ("0", "the program was ended"),
        ("1", "the program was ended with 1"),
        (" stop ", "the program was ended with stop"),
    ],
)
def test_an_exit_tells_its_code_unless_that_is_zero(text, message):
    """`sys.exit()` has the code None."""
    explanation = explanation_of(raised(f"SystemExit: {text}"))
    assert explanation.message == message
    assert explanation.sentence.startswith("sys.exit(), exit() and quit() end the whole program")


@pytest.mark.parametrize(
    ("functions", "said"),
    [("gfff", "f calls itself"), ("fff", "f calls itself"), ("fgf", "Functions call each other"),
     ("ff", "Functions call each other")],
)  # fmt: skip
def test_a_recursion_names_the_function_that_fills_the_stack(functions, said):
    """Three equal frames at the end of a stack that was cut show it."""
    frames = tuple(Frame("a.py", 3, name, "") for name in functions)
    assert sentence("RecursionError: maximum depth", frames=frames).startswith(said)


@pytest.mark.parametrize("functions", ["", "f", "fg"])
def test_a_recursion_of_no_function_of_the_program_gets_no_cause(functions):
    """The compiler recurses into a long sum, and `deepcopy` or `repr` into a nested list."""
    frames = tuple(Frame("a.py", 3, name, "") for name in functions)
    message = "RecursionError: maximum recursion depth exceeded during compilation"
    assert sentence(message, frames=frames) is None


def test_modules_within_modules_are_no_recursion():
    """Each has a `forward`, and the innermost calls the library that recursed."""
    frames = tuple(Frame("a.py", line, "forward", "") for line in (30, 20, 10))
    assert sentence("RecursionError: maximum depth", frames=frames) is None


STDIN_OF_PYTEST = "pytest: reading from stdin while output is captured!  Consider using `-s`."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("EOFError: EOF when reading a line", "Nobody is there to type: input()"),
        (f"OSError: {STDIN_OF_PYTEST}", "Nobody is there to type: input()"),
        ("BdbQuit: ", "Nobody is there to type into a debugger"),
    ],
)
def test_exceptions_of_a_program_without_a_reader_are_explained(text, said):
    """Nobody reads or types while tests run."""
    assert sentence(text).startswith(said)
