"""Parameters that a submission never uses: named where no edit of one line fixes an exercise."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from grader.core.verdict import Aspect
from grader.core.wire.calls import Call
from grader.explain.repair.ignored import ignored
from grader.explain.repair.questions import CheckedCall
from grader.explain.repair.sources import EditableSources
from grader.testing.outcome import Question

pytestmark = pytest.mark.unit

IN_A_FUNCTION = """
def attend(q, k, v, mask=None):
    scores = q @ k.mT
    return scores.softmax(-1) @ v
"""
IN_A_METHOD = """
class Attention:
    def forward(self, x, mask):
        return self.combine(self.project(x))
"""
A_RESULT = """
def attend(q, k, v, mask=None):
    scores = q @ k.mT
    scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ v
"""
OVERWRITTEN_BY_NOBODY = """
def attend(q, k, *, mask):
    def weights(scores):
        return scores.softmax(-1)
    return weights(q @ k.mT)
"""


def unused_in_words(
    folder: Path, text: str, file: str = "model.py", asked: tuple[CheckedCall, ...] = ()
):
    """Returns the words about a file whose lines were all run."""
    (folder / file).write_text(text)
    lines = {(file, line) for line in range(1, text.count("\n") + 1)}
    found = ignored(EditableSources.below(folder), lines, "adapters.py", asked)
    return None if found is None else found.in_words()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (IN_A_FUNCTION, "`mask` is never used in `attend` (model.py:2)."),
        (IN_A_METHOD, "`mask` is never used in `forward` (model.py:3)."),
        (A_RESULT, "The result of `masked_fill` is never used in `attend` (model.py:2)."),
        (OVERWRITTEN_BY_NOBODY, "`mask` is never used in `attend` (model.py:2)."),
    ],
)
def test_an_unused_parameter_or_result_is_named(tmp_path, text, said):
    assert unused_in_words(tmp_path, text) == said


@pytest.mark.parametrize(
    ("call", "is_named"),
    [
        ("Linear(4, 8)", False),
        ("Linear(4, 8, False)", True),
        ("Linear(4, 8, bias=False)", True),
        ("Linear(*sizes)", True),
        ("Linear(4, 8, **options)", True),
        ("partial(Linear, bias=True)(4, 8)", True),
        ("super().__init__(4, 8, False)", True),
        ("Other(4, 8, False)", False),
    ],
)
def test_an_unused_parameter_that_every_call_leaves_at_its_default_is_not_named(
    tmp_path, call, is_named
):
    """It changes no call: the wrong answer has another reason."""
    text = (
        "class Linear:\n    def __init__(self, rows, columns, bias=True):\n"
        "        self.weight = zeros(rows, columns)\n\n"
        "class Other:\n    def __init__(self, *_):\n        self.built = True\n\n"
        f"layer = Linear(4, 8)\nother = {call}\n"
    )
    said = "`bias` is never used in `__init__` (model.py:2)."
    assert unused_in_words(tmp_path, text) == (said if is_named else None)


def test_a_function_that_a_call_only_defines_is_not_named(tmp_path):
    """An import in the adapter runs the first line of each function of the module."""
    (tmp_path / "model.py").write_text(IN_A_METHOD)
    sources = EditableSources.below(tmp_path)
    assert ignored(sources, {("model.py", 2), ("model.py", 3)}, "adapters.py", ()) is None
    assert ignored(sources, {("model.py", 4)}, "adapters.py", ()) is not None


def test_two_unused_parameters_are_not_named(tmp_path):
    """It is unknown which of the two is at fault."""
    assert unused_in_words(tmp_path, IN_A_FUNCTION.replace("mask=None", "mask, scale")) is None


@pytest.mark.parametrize(
    "body",
    ["pass", "self.built = True", "return {}", "return None", "self.built, self.size = True, 0"],
)
def test_parameters_of_an_empty_function_are_not_named(tmp_path, body):
    """Such a function is a hook that others override."""
    assert unused_in_words(tmp_path, f"def hook(self, mask):\n    {body}\n") is None


def test_a_parameter_of_an_overridden_method_is_not_named(tmp_path):
    """The subclass's method may use the parameter."""
    derived = (
        "\nclass Masked(Attention):\n    def forward(self, x, mask):\n        return x * mask\n"
    )
    assert unused_in_words(tmp_path, IN_A_METHOD + derived) is None
    other = derived.replace("(Attention)", "(Module)")
    assert (
        unused_in_words(tmp_path, IN_A_METHOD + other)
        == "`mask` is never used in `forward` (model.py:3)."
    )


def checked_call(is_right: bool, **arguments: object) -> CheckedCall:
    question = Question("test", 0, Aspect.VALUES, Call("run_attention", arguments))
    return CheckedCall("run_attention", question, is_right)


def test_an_unused_adapter_parameter_is_named_only_if_it_decides_the_answer(tmp_path):
    """The assignment names the parameters, and a right program need not use all of them."""
    adapter = IN_A_FUNCTION.replace("attend", "run_attention")
    decides = (checked_call(True, mask=None), checked_call(False, mask=True))
    assert unused_in_words(tmp_path, adapter, "adapters.py", decides) == (
        "`mask` is never used in `run_attention` (adapters.py:2)."
    )
    assert (
        unused_in_words(
            tmp_path, adapter, "adapters.py", (*decides, checked_call(False, mask=None))
        )
        is None
    )


@pytest.mark.parametrize("wrong", [True, False])
def test_an_unused_flag_is_named_if_only_one_of_its_values_has_right_answers(tmp_path, wrong):
    """The code behaves as with the other value always. A mask that no wrong call has is no flag."""
    adapter = "def run_attention(q, is_causal):\n    return attend(q)\n"
    decides = (checked_call(not wrong, is_causal=False), checked_call(wrong, is_causal=True))
    assert unused_in_words(tmp_path, adapter, "adapters.py", decides) == (
        "`is_causal` is never used in `run_attention` (adapters.py:1)."
    )
    both = (*decides, checked_call(False, is_causal=wrong))
    assert unused_in_words(tmp_path, adapter, "adapters.py", both) is None
    masked = IN_A_FUNCTION.replace("attend", "run_attention")
    of_none = (checked_call(False, mask=None), checked_call(True, mask=True))
    assert unused_in_words(tmp_path, masked, "adapters.py", of_none) is None


def test_a_method_overridden_by_a_later_generation_is_not_named(tmp_path):
    """The class between them has no such method."""
    derived = (
        "\nclass Between(Attention):\n    pass\n\nclass Masked(Between):\n"
        "    def forward(self, x, mask):\n        return x * mask\n"
    )
    assert unused_in_words(tmp_path, IN_A_METHOD + derived) is None
    other = derived.replace("def forward", "def backward")
    assert unused_in_words(tmp_path, IN_A_METHOD + other) is not None


@pytest.mark.parametrize(
    "body",
    [
        "return x * mask",
        "return x, locals()",
        "x = eval('mask')\n    return x",
        "torch.clamp(mask, 0)\n    return x",
        "return x if _ else mask",
    ],
)
def test_a_parameter_that_may_be_read_is_not_named(tmp_path, body):
    """Some functions read every variable."""
    assert unused_in_words(tmp_path, f"def attend(x, mask):\n    {body}\n") is None


@pytest.mark.parametrize("name", ["_mask", "self", "cls", "dtype", "device"])
def test_a_parameter_that_is_never_read_on_purpose_is_not_named(tmp_path, name):
    """An underscore says so. A dtype or device changes no value."""
    assert unused_in_words(tmp_path, f"def attend({name}, x):\n    return x.sum()\n") is None


@pytest.mark.parametrize(
    ("line", "is_named"),
    [
        ("x.softmax(-1)", True),
        ("torch.softmax(x, -1)", False),
        ("self.softmax(x)", False),
        ("x.fill_(0)", False),
        ("x = x.softmax(-1)", False),
    ],
)
def test_a_discarded_result_is_that_of_a_tensors_method(tmp_path, line, is_named):
    """Other calls may do something."""
    text = f"def attend(x):\n    {line}\n    return x.sum()\n"
    said = "The result of `softmax` is never used in `attend` (model.py:1)."
    assert unused_in_words(tmp_path, text) == (said if is_named else None)


@pytest.mark.parametrize(
    ("right", "wrong", "is_named"),
    [
        (None, True, True),
        (False, True, True),
        (None, False, False),
        (None, None, False),
        (True, True, False),
    ],
)
def test_a_parameter_decides_if_only_wrong_calls_pass_it(tmp_path, right, wrong, is_named):
    """False counts as not passed."""
    asked = (checked_call(True, mask=right), checked_call(False, mask=wrong))
    said = unused_in_words(tmp_path, IN_A_FUNCTION, "model.py", asked)
    assert (said is not None) is is_named


def test_a_function_of_thousands_of_lines_takes_no_longer_than_it_is(tmp_path):
    """Each function is looked through once, not once for each of its lines."""
    body = "".join(f"    v{number} = x + {number}\n" for number in range(3000))
    began = time.process_time()
    said = unused_in_words(tmp_path, f"def attend(x, mask):\n{body}    return x\n")
    assert said == "`mask` is never used in `attend` (model.py:1)."
    assert time.process_time() - began < 10
