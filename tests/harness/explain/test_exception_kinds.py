"""The advice for each kind of exception of names and programs, and what tells it."""

from __future__ import annotations

import pytest

from grader.core.wire.calls import Frame, Operand, Raised
from grader.explain.exceptions.explanation import explanation_of
from grader.explain.exceptions.kinds import dtype_name, names_in_words, shape_of

pytestmark = pytest.mark.unit


def raised(text: str, source: str = "", **known: object) -> Raised:
    """Returns the exception `Kind: message` that a line raised, without a line if it is empty."""
    kind, _, message = text.partition(": ")
    frames = (Frame("a.py", 3, "f", source),) if source else ()
    return Raised(kind, message, **{"frames": frames, **known})


COMBINED = " To combine booleans, write & | ~ for and, or, not. To ask for None, write is None."


def sentence(text: str, source: str = "", **known: object) -> str | None:
    """Returns the sentence that explains an exception, or None."""
    explanation = explanation_of(raised(text, source, **known))
    return None if explanation is None else explanation.sentence


def test_long_lists_of_names_are_cut_after_six():
    """The rest is counted."""
    names = "abcdefgh"
    assert [names_in_words(names[:count]) for count in (0, 1, 2, 6, 7)] == [
        "nothing",
        "a",
        "a and b",
        "a, b, c, d, e and f",
        "a, b, c, d, e, f and 1 more",
    ]
    assert names_in_words(names, 2) == "a, b and 6 more"


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
OF_NOTHING = "TypeError: unsupported operand type(s) for +: 'NoneType' and 'Tensor'"
OF_A_COMBINATION = (
    "TypeError: where() received an invalid combination of arguments - got ({}), but expected one "
    "of:\n * (Tensor condition)\n * (Tensor condition, Tensor input, Tensor other)\n"
)
TRUTH = "RuntimeError: Boolean value of Tensor with more than one value is ambiguous"
PAIR = "TypeError: unsupported operand type(s) for -: 'Tensor' and 'torch.return_types.{}'"
MASK = (Operand("mask", "None"),)
X = Operand("x", "float32[2, 3]")
NOT_IN_SLOTS = "Does the class list its attributes in __slots__ (or by slots=True), without w?"
NAMED = [
    (NO_NAME.format("F"), {}, "Is an import missing (import torch.nn.functional as F)?"),
    (
        NO_NAME.format("split"),
        {"suggestion": "from datasets.load import *"},
        "datasets is not installed here: from datasets.load import * makes no names.",
    ),
    (
        NO_NAME.format("split"),
        {"suggestion": "from heads import split"},
        "Is an import missing (from heads import split)?",
    ),
    (
        NO_NAME.format("heads"),
        {"suggestion": "import heads"},
        "Is an import missing (import heads)?",
    ),
    (
        NO_NAME.format("proj"),
        {"suggestion": "self.proj"},
        "The object has one: is self.proj meant?",
    ),
    (NO_NAME.format("reslut"), {"suggestion": "result"}, "Did you mean result?"),
    (NO_NAME.format("reslut"), {}, None),
    ("KeyError: 'fc.weigth'", {"suggestion": "fc.weight"}, "Did you mean fc.weight?"),
    ("KeyError: 'fc.weigth'", {}, None),
    (NO_ATTRIBUTE.format("Net"), {"suggestion": "W"}, "Did you mean W?"),
    (
        NO_ATTRIBUTE.format("Net"),
        {"source": "return self.w"},
        "Is self.w set in __init__ under another name, or only later?",
    ),
    *(
        (NO_ATTRIBUTE.format("Net"), {"source": source}, NOT_IN_SLOTS)
        for source in ("self.w = 0.0", "self.w: float = 0.0", "self.v, self.w = v, 0.0")
    ),
    (NO_ATTRIBUTE.format("Net"), {"source": "self.w = other.w"}, None),
    *(
        (
            NO_ATTRIBUTE.format("Net"),
            {"source": source},
            "Is self.w set in __init__ under another name, or only later?",
        )
        for source in (
            "out[self.w] = x",
            "self.v[self.w] = x",
            "for p in self.w: total = p",
            "if self.w: self.v = 0.0",
            "sizes: dict[self.w] = {}",
        )
    ),
    (NO_ATTRIBUTE.format("Net"), {"source": "node.w = 0.0"}, None),
    (
        NO_ATTRIBUTE.format("Net"),
        {"source": "self.w += 1"},
        "Is self.w set in __init__ under another name, or only later?",
    ),
    (
        NO_ATTRIBUTE.format("Net"),
        {"source": "total = self.w"},
        "Is self.w set in __init__ under another name, or only later?",
    ),
    (
        NO_ATTRIBUTE.format("Net"),
        {"source": "return self.w(x)"},
        "Is self.w defined in this class, or set in __init__, under another name?",
    ),
    (NO_ATTRIBUTE.format("Net"), {"source": "return net.w"}, None),
    (
        "AttributeError: module 'torch' has no attribute 'softmaxx'",
        {"suggestion": "softmax"},
        "Did you mean softmax?",
    ),
    ("AttributeError: module 'torch' has no attribute 'softmaxx'", {}, None),
    (
        NO_ATTRIBUTE.format("NoneType"),
        {"operands": MASK, "source": "return mask.w"},
        "mask is None there, as is an argument that was left out, or what a function without a "
        "return gives.",
    ),
    (
        NO_ATTRIBUTE.format("NoneType"),
        {"operands": (*MASK, X, Operand("bias", "None"))},
        "mask and bias are None there, as is an argument that was left out, or what a function "
        "without a return gives.",
    ),
    (
        NO_ATTRIBUTE.format("NoneType"),
        {"source": "return weight.grad.w"},
        "Something there is None. A gradient is None where none reached that tensor: skip it, "
        "or ask whether the parameter itself was given.",
    ),
    (
        NO_ATTRIBUTE.format("NoneType"),
        {"source": "return made(x).w"},
        "Something there is None, as is what a function without a return gives.",
    ),
    # + acts on the call's result, not on the mask that is its argument.
    (
        OF_NOTHING,
        {"operands": MASK, "source": "return made(inner(x), mask) + x"},
        "Something there is None, as is what a function without a return gives.",
    ),
    (
        OF_NOTHING,
        {"operands": MASK, "source": "return made(mask) + mask"},
        "mask is None there, as is an argument that was left out, or what a function without a "
        "return gives.",
    ),
    *(
        (
            f"TypeError: {text}, not NoneType",
            {"operands": MASK, "source": "return made(mask)"},
            "mask is None there, as is an argument that was left out, or what a function without a "
            "return gives.",
        )
        for text in (
            "linear(): argument 'input' must be Tensor",
            "exp(): argument 'input' (position 1) must be Tensor",
            "softmax(): argument 'dim' (position 2) must be int",
        )
    ),
    *(
        (
            OF_A_COMBINATION.format(types),
            {"operands": MASK, "source": "return made(mask)"},
            "mask is None there, as is an argument that was left out, or what a function without "
            "a return gives.",
        )
        for types in ("NoneType, Tensor, Tensor", "Tensor, NoneType, float", "NoneType, float")
    ),
    # The integer may be what does not fit: an axis may be None here.
    (OF_A_COMBINATION.format("Tensor, NoneType, int"), {"operands": MASK, "source": "x"}, None),
    (
        PAIR.format("max"),
        {"operands": (X, Operand("most", "(float32[2], int64[2])"))},
        "max along an axis gives two tensors, values and indices: take most.values, or unpack "
        "the two.",
    ),
    (
        PAIR.format("sort"),
        {"operands": (Operand("a", "(1, 2)"), Operand("b", "(1, 2)"))},
        "sort along an axis gives two tensors, values and indices: take x.sort(dim=...).values, "
        "or unpack the two.",
    ),
    (
        PAIR.format("qr"),
        {},
        "qr gives several tensors at once: take one of them, or unpack them.",
    ),
    (
        "TypeError: unsupported operand type(s) for /: 'Tensor' and 'method'",
        {"operands": (X, Operand("x.size", "the function size"))},
        "x.size is a function that was not called: round brackets after it call it (a @property "
        "needs none).",
    ),
    (
        "TypeError: unsupported operand type(s) for /: 'Tensor' and 'function'",
        {"operands": (X,)},
        "Something there is a function that was not called: round brackets after it call it (a "
        "@property needs none).",
    ),
    (
        "TypeError: 'Net' object is not callable",
        {},
        "Round brackets call what stands before them, here a value of type Net. Should they be "
        "square, is an operator missing, or does the name hide a function?",
    ),
    (
        'TypeError: can only concatenate list (not "tuple") to list',
        {},
        "+ joins two values of one type; here one is of type list, the other of type tuple.",
    ),
    (
        "TypeError: Net() takes no arguments",
        {},
        "Net has no __init__ that takes arguments: check its name, with two underscores on each "
        "side.",
    ),
]


@pytest.mark.parametrize(("text", "known", "said"), NAMED)
def test_an_exception_of_a_name_is_explained_by_what_is_known(text, known, said):
    """The suggestion, the line and its operands decide between the sentences of one kind."""
    assert sentence(text, **known) == said


@pytest.mark.parametrize(
    ("source", "suggestion", "begins", "meant"),
    [
        ("y = y + 1", "", "This line reads y before anything set it", False),
        ("y += 1", "", "This line reads y before anything set it", False),
        ("y **= 2", "x", "This line reads y before anything set it", True),
        ("y == 2", "", "y has no value here.", False),
        ("return y", "x", "y has no value here.", True),
    ],
)
def test_a_local_name_without_a_value_is_read_before_or_elsewhere(
    source, suggestion, begins, meant
):
    """A line that sets the name reads it first; otherwise another line would have set it."""
    said = sentence(NO_VALUE, source, suggestion=suggestion)
    assert said.startswith(begins)
    assert ("Did you mean x?" in said) is meant


@pytest.mark.parametrize(
    ("source", "expression", "advice"),
    [
        ("if x in seen:", "x in seen", " in compares with ==, which gives a tensor of booleans"),
        ("if x not in seen:", "x not in seen", " in compares with ==, which gives a tensor"),
        ("y = max(x, z)", "max(x, z)", " Python's max compares tensors as a whole; torch.maximum"),
        ("y = min(x, z)", "min(x, z)", " Python's min compares tensors as a whole; torch.minimum"),
        ("y = any(x)", "any(x)", COMBINED),
        ("if x > 1:", "x > 1", " .all() or .any() turns a comparison into one truth value."),
        ("if x:", "", " To ask whether it was given, write x is None or x is not None."),
        ("while not x.y:", "", " To ask whether it was given, write x.y is None or x.y is not"),
        ("y = x or z", "x or z", " To ask whether it was given, write x is None or x is not None."),
        ("y = x and z", "", COMBINED),
        ("if x or z:", "", COMBINED),
    ],
)
def test_the_truth_of_a_tensor_is_explained_by_what_asked_for_it(source, expression, advice):
    """`in`, `max` and `if` ask for it, and each has another remedy."""
    said = sentence(TRUTH, source, expression=expression, operands=(X,))
    assert said.startswith(f"Only a tensor of one number is true or false.{advice}")


def test_a_tensor_of_booleans_may_be_meant_for_a_combination():
    """A tensor of numbers before `or` asks whether it was given."""
    flags = (Operand("x", "bool[3]"),)
    assert sentence(TRUTH, "y = x or z", expression="x or z", operands=flags).endswith(COMBINED)


@pytest.mark.parametrize(("words", "is_tensor"), [("float32[2]", True), ("'ij->i'", False)])
def test_einsum_takes_its_equation_first(words, is_tensor):
    """The advice is given only if the first argument is a tensor."""
    said = sentence(TRUTH, "torch.einsum(x, 'ij->i')", operands=(Operand("x", words),))
    assert (said == "torch's einsum takes the equation first, then the tensors.") is is_tensor


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("heads.split'; 'heads' is not a package", "heads is a single file here, and no folder"),
        ("asyncio.nothing'", "The standard library of this Python has no asyncio.nothing."),
        ("numpy.nothing'", "The package numpy is installed here, and has no numpy.nothing"),
        ("tiktoken'", "The package tiktoken is not installed here; the assignment does without"),
        ("tiktoken.load'", "Your own tiktoken is here, and has no tiktoken.load"),
        ("parts.heads'", "Your own parts is here, and has no parts.heads: was a file left out"),
        ("my_layers'", "Imports find neither a file my_layers.py nor an installed package"),
    ],
)
def test_a_failed_import_says_where_the_module_should_be(text, said):
    """A file, a folder, the standard library or a package lacks the module."""
    assert sentence(f"ModuleNotFoundError: No module named '{text}").startswith(said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("grader", "The grader is not there while it grades: leave that import out."),
        ("grader.heads", "Your own grader is here, and has no grader.heads: was a file left out"),
    ],
)
def test_the_grader_is_no_installed_package_for_a_submission(name, said):
    """Only a `grader` of its own can be imported."""
    assert sentence(NO_MODULE.format(name)).startswith(said)


def test_a_name_missing_in_a_module_may_have_another_name_there():
    """A similar name is better than a guess."""
    text = "ImportError: cannot import name 'splt' from 'heads' (heads.py)"
    assert sentence(text, suggestion="split") == "heads has no splt: did you mean split?"
    assert sentence(text).startswith("heads has no splt: does it have another name there")
    circle = "ImportError: cannot import name 'a' from partially initialized module 'b'"
    assert sentence(circle).startswith("b is not finished when a is imported from it.")


@pytest.mark.parametrize(
    ("source", "written"),
    [("from .heads import a", "from heads import …"), ("from . import a", "from module import …")],
)
def test_a_relative_import_is_written_without_its_dot(source, written):
    """The line shows which module is meant."""
    text = "ImportError: attempted relative import with no known parent package"
    said = f"The file is not part of a package: write {written}, without the dot."
    assert sentence(text, source) == said


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/tmp/grader-given-ab/2/out/w.pt", "There is no out/w.pt in the folder of the tests'"),
        ("…/out.pt", "There is no out.pt in the folder of the tests' files. A later call"),
        ("/home/me/w.pt", "There is no /home/me/w.pt on the machine that runs the tests."),
        ("data/w.pt", "There is no data/w.pt here: a path that begins with a name"),
    ],
)
def test_a_missing_file_is_explained_by_the_kind_of_its_path(path, said):
    """Below or beside the path that was passed, on another machine, or in what was handed in."""
    text = f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'"
    assert sentence(text).startswith(said)


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


def test_only_an_assertion_of_the_line_is_the_students_own():
    """An assertion of a library would not be."""
    own = "This assert is your own, and does not hold here."
    assert sentence("AssertionError: ", "assert x > 1") == own
    assert sentence("AssertionError: ", "check(x)") is None


def test_a_tensor_without_room_tells_its_size_in_gibibytes():
    """3 * 2**30 bytes are 3 GiB."""
    text = (
        "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate {} bytes"
    )
    explanation = explanation_of(raised(text.format(3 << 30)))
    assert explanation.message == "not enough memory for a tensor of 3 GiB"


@pytest.mark.parametrize(
    ("source", "column", "said"),
    [
        ("if x = 1:", 6, "One = sets a name; == compares."),
        ("return x = 1", 10, "One = sets a name; == compares."),
        ("if x == = 1:", 6, None),
        ("if x = 1:", 4, None),
        ("if x = 1:", 0, None),
        ("y = x = ]", 3, None),
    ],
)
def test_one_equals_sign_in_a_condition_is_explained(source, column, said):
    """The column of the error is that of the sign."""
    assert sentence("SyntaxError: invalid syntax", source, column=column) == said


@pytest.mark.parametrize("source", ["% )", "% b", "!= )", "!= c d:"])
def test_a_continued_line_is_none_of_a_notebook(source):
    """Formatters begin continued lines with operators."""
    assert sentence("SyntaxError: invalid syntax", source, column=3) is None


@pytest.mark.parametrize(
    "source", ["%matplotlib inline", "%%time", "!pip install einops", "! ./run.sh"]
)
def test_a_line_of_a_notebook_in_a_file_is_explained(source):
    """Students copy whole cells out of notebooks into files."""
    assert "is for notebooks" in sentence("SyntaxError: invalid syntax", source, column=1)
    assert sentence("SyntaxError: invalid syntax", "x = %y", column=5) is None


STDIN_OF_PYTEST = "pytest: reading from stdin while output is captured!  Consider using `-s`."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("TabError: inconsistent use of tabs and spaces", "Indent with spaces alone"),
        ("EOFError: EOF when reading a line", "Nobody is there to type: input()"),
        (f"OSError: {STDIN_OF_PYTEST}", "Nobody is there to type: input()"),
        ("BdbQuit: ", "Nobody is there to type into a debugger"),
        ("KeyboardInterrupt: ", ""),
    ],
)
def test_exceptions_of_a_program_without_a_reader_are_explained(text, said):
    """Nobody reads or types while tests run."""
    assert sentence(text).startswith(said)


def test_the_advice_of_pytest_to_turn_capturing_off_is_not_told():
    """With `-s` a student can type, and then fails in class."""
    said = explanation_of(raised(f"OSError: {STDIN_OF_PYTEST}")).message
    assert said == "the program reads from the keyboard"
