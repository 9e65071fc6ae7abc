"""Messages about code that raises: the exception, the line, its operands and the meaning."""

from __future__ import annotations

import random
import re
import textwrap

import pytest
import torch

from grader.core.wire.calls import Call, Frame, Operand, Raised
from grader.explain.exceptions.explanation import KINDS, explanation_of, fault_of
from grader.worker.performing import perform
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

MODULE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, size, heads=1):
        super().__init__()
        self.proj = nn.Linear(size, size, bias=False)
        self.register_buffer("table", torch.zeros(4))

    def forward(self, x, positions):
        return self.proj(x)
"""


def submission(body: str) -> str:
    """Returns a submission whose `run_double` has this body; its argument x is float32[2, 3]."""
    indented = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return f"{MODULE}\ndef run_double(x):\n{indented}\n\ndef run_count(x):\n    return x.numel()\n"


def message_of(grade, body: str, **files: str) -> str:
    """Returns the message of the first test for such a submission."""
    verdict = grade(submission(body), **files)["test_doubles"]
    assert verdict.status == "error", verdict.message
    return verdict.message


RAISED = [
    # Sizes.
    (
        "y = x[:1]\nreturn x @ y",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 1x3) (adapters.py:16)",
        "    return x @ y",
        "    with x = float32[2, 3], y = float32[1, 3]",
        "Here one is 3 long, the other 1. They fit if one is transposed: .transpose(-2, -1).",
        "The test called run_double(x=float32[2, 3]).",
    ),
    ("return Net(5)(x, None)", "of x and of the weight. Here one is 3 long, the other 5."),
    # Only the operation that raised counts; torch may report the transposed product.
    ("return nn.functional.linear(x, torch.ones(4, 3)) @ x", "one is 4 long, the other 2."),
    ("return nn.Parameter(x) @ torch.ones(7, 2, 4)", "one is 2 long, the other 3."),
    ("return x + torch.zeros(max(2, 5), max(3, 3))", "two axes that meet are 2 and 5 long."),
    ("s = (1, 2)\ns[0] = 3\nreturn x", "with s = (1, 2)"),
    (
        "q, k = x[None], x[None, :1]\nreturn q @ k",
        "with q = float32[1, 2, 3], k = float32[1, 1, 3]",
        "one is 3 long, the other 1.",
    ),
    (
        "table = torch.zeros(4)\nreturn x + table",
        "with x = float32[2, 3], table = float32[4]",
        "Here two axes that meet are 3 and 4 long.",
    ),
    (
        "heads = 2\nreturn x.view(2, heads, 3)",
        "with x = float32[2, 3], heads = 2",
        "[2, 2, 3] would be 12 values, and the tensor holds 6.",
    ),
    ("return x / x.sum(-1)", "with x = float32[2, 3]", "unless you pass keepdim=True."),
    ("d = 1\nreturn torch.exp(x) / torch.exp(x).sum(dim=d)", "unless you pass keepdim=True."),
    ("most = x.max(-1)\nreturn x - most", "max gives several tensors at once"),
    ("size = x.size\nreturn x / size", "Something there is a function that was not called"),
    ("return x.view(-1, 4)", "The tensor holds 6 values: 4 does not divide that."),
    ("return x.T.view(6)", ".reshape, or .contiguous() before .view"),
    (
        "batch, seq, d = x.shape\nreturn x",
        "ValueError: not enough values to unpack (expected 3, got 2)",
        "exactly 3 axes apart, and x has 2 here",
    ),
    ("return torch.einsum('bij->bji', x)", "names 3 axes of the first tensor, which has 2 here"),
    (
        "from einops import einsum\nreturn einsum(x, x.T, 'd_in d_out, d_in d_out -> d_out')",
        "an axis has one length under one name: one is 3 in the second tensor, and 2 before",
    ),
    ("return x.transpose(1, 2)", "A tensor of 2 axes has no axis 2; counted from the end"),
    ("return torch.bmm(x, x)", "@ (torch.matmul) takes any number of leading ones"),
    ("return x[:, 3]", "is 3 long and counts from 0: it has no index 3."),
    # Patterns.
    (
        "from einops import rearrange\nreturn rearrange(x, 'b t d -> b d t')",
        'EinopsError: "b t d -> b d t" does not fit a tensor of shape [2, 3]: Wrong shape: '
        "expected 3 dims. Received 2-dim tensor.",
        "The pattern names 3 axes. An ellipsis (...)",
    ),
    (
        "from einops import rearrange\nreturn rearrange(x, 'b (h d) -> b h d', h=2)",
        "with {'h': 2}: Shape mismatch, can't divide axis of length 3 in chunks of 2",
    ),
    # Names and truth.
    (
        "return x.softmaxx(-1)",
        "'Tensor' object has no attribute 'softmaxx'",
        "Did you mean softmax?",
    ),
    ("result = x\nreturn reslut", "name 'reslut' is not defined", "Did you mean result?"),
    (
        "if x is None:\n    y = x\nreturn y",
        "variable 'y'",
        "y has no value here. A name that a function assigns",
    ),
    ("return x * math.pi", "Is an import missing (import math)?"),
    ("return Net(3).prj", "'Net' object has no attribute 'prj'"),
    (
        "mask = None\nreturn x + mask",
        "with x = float32[2, 3], mask = None",
        "Something there is None: an argument that was left out",
    ),
    (
        "positions = None\nreturn positions.unsqueeze(0)",
        "with positions = None",
        "Something there is None: an argument that was left out",
    ),
    (
        "mask = None\ndef made(x, mask):\n    x + 1\nreturn made(x, mask) @ x",
        "or what a function without a return gives.",
    ),
    (
        "if x:\n    return x",
        "with x = float32[2, 3]",
        "To ask whether something was given, write is None.",
    ),
    ("mask = x > 0\nreturn mask or x", "with mask = bool[2, 3], x = float32[2, 3]"),
    # Arguments.
    (
        "return Net(3, device=x.device)(x)",
        "TypeError: Net.__init__() got an unexpected keyword argument 'device'",
    ),
    # Modules.
    (
        "class Late(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(2, 2)\nLate()",
        "call it first in the __init__ of a class that is derived from one of torch's",
    ),
    # dtypes, devices, autograd.
    ("return x @ torch.zeros(3, 3).double()", "One tensor is float32 and the other float64"),
    ("return x @ torch.zeros(3, 3).bfloat16()", "One tensor is float32 and the other bfloat16"),
    ("w = nn.Parameter(x)\nw += 1", "writes into a tensor that needs a gradient"),
    ("return nn.Parameter(x).numpy()", "numpy ends the gradient"),
    # The program.
    ("import sys\nsys.exit()", "SystemExit: the program was ended (adapters.py:16)"),
    ("sys = __import__('sys')\nsys.exit('stop')", "SystemExit: the program was ended with stop"),
    ("def f(n):\n    return f(n)\nreturn f(1)", "f calls itself too deeply for Python"),
    ("return open('weights.pt').read()", "There is no weights.pt here"),
    (
        "import my_layers\nreturn my_layers.double(x)",
        "Imports find neither a file my_layers.py nor an installed package of that name",
    ),
]


# A worker has no GPU, no terminal, and stands in for packages that are absent.
IN_A_WORKER = [
    ("return x.cuda()", "No GPU can be used here"),
    ("torch.cuda.nvtx.range_push('scores')", "No GPU can be used here"),
    ("return input()", "input() cannot be answered"),
    ("import tiktoken\nreturn tiktoken.double(x)", "The package tiktoken is not installed here"),
]


@pytest.mark.unit
@pytest.mark.parametrize(("body", "said"), [(body, said) for body, *said in RAISED])
def test_an_exception_is_explained(tmp_path, body, said):
    """Each row is one realistic failure, with the texts that its message must contain."""
    file, names = tmp_path / "adapters.py", {"__name__": "adapters"}
    file.write_text(submission(body))
    exec(compile(file.read_text(), file, "exec"), names)
    call = Call("run_double", {"x": torch.arange(6.0).reshape(2, 3)})
    raised = perform(names["run_double"], call, tmp_path).raised
    message = fault_of(raised, "run_double", call).message
    for text in said:
        assert text in message, message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        *((body, said) for body, *said in IN_A_WORKER),
        *rest_slow([(body, said) for body, *said in RAISED], 16, rows=True),
    ],
)
def test_an_exception_in_a_worker_is_explained_in_its_message(grade, body, said):
    """The judge tells a worker's exception as if the function had run here."""
    message = message_of(grade, body)
    for text in said:
        assert text in message, message


@pytest.mark.parametrize(
    "body",
    [
        "w = torch.ones(7, 2)\ny = x.sum(-1)\nreturn y @ w",
        "w = torch.ones(7, 2)\nreturn x.sum(0) @ w.mT",
        "w = torch.ones(4, 5)\ny = x.sum(-1)\nreturn y + w",
    ],
)
def test_an_axis_that_helps_nothing_is_not_to_be_kept(grade, body):
    """With keepdim=True the shapes would still not fit."""
    message = message_of(grade, body)
    assert "RuntimeError" in message
    assert "keepdim" not in message


def test_a_slice_of_a_shape_is_not_taken_for_the_whole_shape(grade):
    """`x.shape[1:]` has one entry, though x has two axes: the message gives no count of axes."""
    message = message_of(grade, "seq, d = x.shape[1:]\nreturn x")
    assert "not enough values to unpack (expected 2, got 1)" in message
    assert "apart" not in message


def test_a_message_shows_the_call_with_input_shapes(grade):
    """The message gives the shapes of the inputs, because their values explain nothing."""
    assert message_of(grade, "return x.nothing").endswith(
        "The test called run_double(x=float32[2, 3])."
    )


def test_the_first_line_names_the_exception_its_text_and_its_place(grade):
    """Summaries show this line alone, so it names the exception, its text and its place."""
    first, *_ = message_of(grade, "return x.reshape(7)").splitlines()
    assert first == ("RuntimeError: shape '[7]' is invalid for input of size 6 (adapters.py:15)")


def test_a_message_shows_no_traceback(grade):
    """The message shows only the submission's innermost line, however deep torch raised."""
    message = message_of(grade, "return nn.Sequential(nn.Linear(5, 5))(x)")
    assert "site-packages" not in message
    assert "Traceback" not in message
    assert len(message.splitlines()) < 8


def test_a_forgotten_breakpoint_is_reported(grade):
    """Nobody is there to type."""
    message = grade(submission("y = x\nbreakpoint()\nreturn y"))["test_doubles"].message
    assert "leave breakpoint() out of what you hand in" in message


def test_wrong_adapter_parameters_show_the_adapters_signature(grade):
    """No code of the submission ran, so the message shows the adapter's signature, not a line."""
    code = "def run_double(inputs, scale=2):\n    return scale * inputs\n"
    message = grade(code)["test_doubles"].message
    assert "TypeError: run_double() got an unexpected keyword argument 'x'" in message
    assert "yours is run_double(inputs, scale=2) in adapters.py:1." in message


def test_a_message_quotes_the_output_before_an_exception(grade):
    """The message quotes the last lines that this call printed, without control codes."""
    message = message_of(
        grade,
        r"""
        if x.ndim == 2:
            print("\x1b[31mshape", x.shape)
            print("done", end="")
        raise ValueError("no")
        """,
    )
    tail = message.partition("Printed just before:\n")[2].splitlines()
    assert tail == ["    | shape torch.Size([2, 3])", "    | done"]


def test_a_message_quotes_no_output_of_another_call(grade):
    """A message quotes the output of its own call, and nothing if that call printed nothing."""
    graded = grade(submission("if x.ndim == 2:\n    print('mine')\nraise ValueError('no')"))
    assert "| mine" in graded["test_doubles"].message
    assert "Printed" not in graded["test_doubles_any_shape[(4,)]"].message


@pytest.mark.parametrize(
    ("end", "status"), [("import os; os._exit(3)", "crashed"), ("while True: pass", "timeout")]
)
def test_a_message_quotes_the_output_before_a_crash_or_timeout(grade, end, status):
    """The output is often the only evidence of how far the code got."""
    verdict = grade(submission(f"print('step 1')\n{end}"))["test_doubles"]
    assert verdict.status == status
    assert verdict.message.endswith("Printed just before:\n    | step 1")


def test_long_output_is_shortened_in_a_message(grade):
    """The message keeps the last lines of the output and the beginning of each long line."""
    message = message_of(grade, "print('x' * 500)\nprint('y\\n' * 5000)\nraise ValueError('no')")
    assert len(message) < 1000
    assert message.count("    | y") == 10


def test_a_message_names_no_folder_of_this_machine(grade):
    """Neither the exception's text nor the quoted output names a folder of this machine."""
    message = message_of(
        grade, "print(__file__)\nname = __file__\nraise ValueError(name + str(len(name)))"
    )
    assert "| adapters.py" in message
    assert "/tmp" not in message
    assert "/home" not in message


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "def run_double(x):\n    return (x\n",
            ["'(' was never closed", "return (x"],
        ),
        ("def run_double(x):\nreturn x\n", ["IndentationError: expected an indented block"]),
        ("def run_double(x):\n    y = x\n\treturn y\n", ["TabError: inconsistent use of tabs"]),
        ("x = 1 +* 2\n", ["SyntaxError: invalid syntax (adapters.py:1)", "x = 1 +* 2"]),
    ],
)
def test_a_syntax_error_shows_its_line(grade, code, said):
    """The message shows the wrong source line."""
    message = grade(code).grade.message
    for text in said:
        assert text in message, message


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("from parts.heads import split\n", "Your own parts is here, and has no parts.heads"),
        ("from parts import nothing\n", "parts has no nothing"),
        ("import parts.inner.deep\n", "has no parts.inner"),
        ("import numpy.nothing\n", "No module named 'numpy.nothing'"),
    ],
)
def test_an_import_that_fails_says_whether_a_file_or_a_package_is_missing(grade, code, said):
    """A module of the student's own that was not handed in is not called a missing package."""
    message = grade(code, parts____init___py="a = 1\n").grade.message
    assert said in message, message


@pytest.mark.unit
def test_a_missing_temporary_file_has_no_advice_on_relative_paths():
    """The worker's temporary folder is shown as `scratch/`, whatever path the program used."""
    missing = "[Errno 2] No such file or directory: '{}'"
    given = explanation_of(Raised("FileNotFoundError", missing.format("data/merges.txt")))
    assert "starts at the top folder" in given.sentence
    assert explanation_of(Raised("FileNotFoundError", missing.format("scratch/kept.json"))) is None


def hostile_texts() -> list[str]:
    """Returns texts of words from the patterns, repeated to provoke slow matching."""
    generator = random.Random(0)
    pieces = {
        word
        for kind in KINDS
        for word in re.findall(r"[A-Za-z_' ]{4,}", kind.pattern.pattern.replace("\\", ""))
    }
    pieces |= {"[", "]", "(", ")", "{", "}", '"', "\n", "9" * 30, "-1", ", ", "torch.Size([", "'x'"}
    pool = sorted(pieces)
    return ["".join(generator.choice(pool) for _ in range(800))[:4000] for _ in range(150)] + [
        piece * (4000 // len(piece)) for piece in pool
    ]


@pytest.mark.process(takes="a second")
def test_hostile_exception_texts_are_explained_or_ignored():
    """Whatever an exception's text says, the judge returns an explanation or None without delay."""
    for text in hostile_texts():
        for name in ("RuntimeError", "TypeError", "EinopsError", "TypeCheckError", text[:100]):
            frames = (Frame(text[:300], 1, text[:100], text[:300]),)
            operands = (Operand("x", text[:200]), Operand("y", "float32[2]"))
            raised = Raised(name, text, frames, operands=operands, accepts=text[:500])
            explanation = explanation_of(raised)
            assert explanation is None or isinstance(explanation.sentence, str)
