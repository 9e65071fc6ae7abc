"""Parameters that a submission never uses: named where no edit of one line fixes an exercise."""

from __future__ import annotations

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
