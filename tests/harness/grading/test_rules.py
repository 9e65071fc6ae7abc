"""Forbidden names: found in the source, noticed at calls, and deducted from points."""

import copy
import inspect
import json
import shutil
import textwrap
from io import StringIO
from pathlib import Path

import pytest
import torch
from rich.console import Console
from torch import nn

from grader.core.assignment import BadAssignment, Settings, find_assignment
from grader.core.wire.calls import Use
from grader.grading.judge.deductions import summary
from grader.intake.entry import Entry
from grader.reports.single import print_grade
from grader.reports.standing import complaints
from grader.sandbox.claims import Uses
from grader.testing.outcome import uses_in_words
from grader.worker.observing.watching import CallWatch
from tests.harness.grading_jobs import GradingJob
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

FORBIDDEN = """
[tool.grader.forbidden]
torch.add = 50
"aten::scaled_dot_product_attention" = 50
"aten::_native_multi_head_attention" = 50
"aten::no_such_operation" = 50
"aten::cumsum" = 50
"torch.nn.Linear" = 0
"torch.nn.functional.scaled_dot_product_attention" = 0
"torch.nn.functional.softmax" = 100
"torch.nn.TransformerEncoderLayer" = 0
"torch.nn.MultiheadAttention" = 0
"not.installed.anywhere" = 10
"builtins.str.join" = 10
"""
ROOT = Path(__file__).parents[3]
COUNT = "\ndef run_count(x):\n    return x.numel()\n"
SDPA = "torch.nn.functional.scaled_dot_product_attention"


def write_files(folder, files):
    """Writes files (dedented) below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


@pytest.fixture(scope="module")
def strict_judge(tiny, tmp_path_factory):
    """A judge of the tiny assignment, with forbidden names."""
    folder = tmp_path_factory.mktemp("strict") / "assignment"
    shutil.copytree(tiny, folder)
    with (folder / "pyproject.toml").open("a") as project:
        project.write(FORBIDDEN)
    client = GradingJob(Settings(str(folder), 1, (), "adapters.py", 20.0, 1024, "suite"))
    yield client
    client.close()


@pytest.fixture
def grade(strict_judge, tmp_path):
    """A function that grades a submission, given its files by path."""

    def grade_files(files):
        folder = write_files(tmp_path / "submission", files)
        return strict_judge.grade(Entry("submission", folder), "hash")

    return grade_files


@pytest.fixture
def double(grade):
    """A function that grades a `run_double` with its body in line 5, after an import in line 2."""

    def grade_double(body, imports="import torch", **files):
        lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
        adapters = f"\n{imports}\n\ndef run_double(x):\n{lines}\n{COUNT}"
        return grade({"adapters.py": adapters, **files})

    return grade_double


def verdicts(grade):
    """Returns the verdicts by test name."""
    return {verdict.id.partition("::")[2]: verdict for verdict in grade.tests}


def messages_of(grade):
    """Returns the messages of the verdicts."""
    return [verdict.message for verdict in grade.tests if verdict.message]


# --- Deductions ---------------------------------------------------------------------------------


def test_a_submission_without_forbidden_calls_gets_no_note(double):
    """The rule is mentioned only to those who break it."""
    graded = double("return x + x")
    assert graded.message is None
    assert graded.score == 5.0
    assert messages_of(graded) == []


def test_a_forbidden_call_costs_its_percentage_and_the_message_says_why(double):
    """Every test of the exercise earns half; other exercises and all maximum scores stay."""
    graded = double("return torch.add(x, x)")
    assert (graded.score, graded.max_score) == (3.0, 5.0)
    assert {str(v.status) for v in graded.tests} == {"passed"}
    for verdict in graded.tests:
        share = 0.5 if verdict.exercise == "run_double" else 1.0
        assert verdict.score == pytest.approx(share * verdict.max_score, abs=0.01)
    assert verdicts(graded)["test_doubles"].message == (
        "The submission uses torch.add (adapters.py:5), which must be written by hand in this "
        "assignment: 50% of this exercise's points are taken off"
    )
    assert verdicts(graded)["test_counts"].message is None
    assert graded.message == (
        "it uses torch.add (adapters.py:5), which must be written by hand in this assignment"
    )


def test_a_forbidden_call_that_costs_nothing_is_one_note(double):
    """One test of the exercise has the note, and the others do not repeat it."""
    graded = double(
        """
        layer = torch.nn.Linear(1, 1)
        return x + x
        """
    )
    assert graded.score == 5.0
    assert messages_of(graded) == [
        "The submission uses torch.nn.Linear (adapters.py:5), which must be written by hand in "
        "this assignment (this costs no points)"
    ]


def test_only_the_most_expensive_of_several_forbidden_calls_is_deducted(double):
    """Deductions for two rules in one exercise are not added up."""
    graded = double(
        """
        torch.nn.Linear(1, 1)
        torch.nn.functional.softmax(x, -1)
        return torch.add(x, x)
        """
    )
    assert {str(v.status) for v in graded.tests} == {"passed"}
    assert sum(v.score for v in graded.tests if v.exercise == "run_double") == 0
    assert graded.score == 1.0


def test_a_wrong_exercise_keeps_its_message_and_gets_the_note_once(double):
    """The message about the wrong answer comes first."""
    graded = double("return torch.add(x, x) + 1")
    told = [text for text in messages_of(graded) if "The submission uses torch.add" in text]
    assert len(told) == 1
    assert "values in the result are wrong" in verdicts(graded)["test_doubles"].message


# --- Calls --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("imports", "body"),
    [
        ("import torch as t", "return t.add(x, x)"),
        ("from torch import add", "return add(x, x)"),
        ("from torch import add as plus", "return plus(x, x)"),
        ("from torch import *", "return add(x, x)"),
        ("import torch; plus = torch.add", "return plus(x, x)"),
        ("import torch", "return getattr(torch, 'add')(x, x)"),
        ("import torch", "return getattr(torch, 'a' + 'dd')(x, x)"),
        ("import functools, torch", "return functools.partial(torch.add, x)(x)"),
        ("import torch", "return torch.vmap(torch.add)(x, x)"),
        ("import torch", "return eval('torch.add(x, x)')"),
    ],
)
def test_a_forbidden_call_is_noticed_under_any_name(double, imports, body):
    """The function is watched, not its name."""
    graded = double(body, imports)
    assert graded.score == 3.0
    assert (
        "The submission uses torch.add (adapters.py:5)" in verdicts(graded)["test_doubles"].message
    )


ATTENDED = "x.new_zeros(1, 1, 2, 4)"
BY_OTHER_NAMES = {
    "operation": "torch._C._jit_get_operation('aten::scaled_dot_product_attention')[0](q, q, q)",
    "split": "getattr(torch._C._nn, 'scaled_dot' + '_product_attention')(q, q, q)",
    "ops": "torch.ops.aten.scaled_dot_product_attention(q, q, q)",
    "native": "torch._native_multi_head_attention(*3 * [q[0]], 4, 1, q.new_zeros(12, 4), "
    "q.new_zeros(12), q.new_zeros(4, 4), q.new_zeros(4))",
}


@pytest.mark.parametrize("call", rest_slow(BY_OTHER_NAMES.values(), 2), ids=BY_OTHER_NAMES)
def test_a_forbidden_operation_is_noticed_when_it_runs(double, call):
    """torch's dispatcher is watched, so it does not matter how the code got the operation."""
    graded = double(f"q = {ATTENDED}\n{call}\nreturn x + x")
    assert graded.score == 3.0
    name = "_native_multi_head" if "native" in call else "scaled_dot_product"
    remark = f"uses aten::{name}_attention (adapters.py:6)"
    assert remark in verdicts(graded)["test_doubles"].message


def test_the_parts_of_a_forbidden_operation_may_be_used(double):
    """Hand-written attention multiplies matrices and takes a softmax."""
    graded = double(f"q = {ATTENDED}\n(torch.softmax(q @ q.mT, -1) @ q).sum()\nreturn x + x")
    assert (graded.score, messages_of(graded)) == (5.0, [])


ELSEWHERE = {
    4: "own = threading.Thread(target=torch.cumsum, args=(x, 0)); own.start(); own.join()",
    5: "multiprocessing.Pool().starmap(torch.cumsum, [(x, 0)])",
}


@pytest.mark.parametrize(("line", "work"), ELSEWHERE.items(), ids=["thread", "processes"])
def test_forbidden_calls_in_threads_and_pools_count_for_the_adapter(double, line, work):
    """A thread's stack has no line of the submission; a pool runs its calls in the worker."""
    graded = double(f"{work}\nreturn x + x", "import multiprocessing, threading, torch")
    assert graded.score == 3.0
    assert f"uses aten::cumsum (adapters.py:{line})" in graded.message


def test_a_forbidden_call_is_reported_at_the_innermost_submission_line(double):
    """The student must look at that line; lines inside torch do not help."""
    part = "import torch\n\n\ndef twice(x):\n    return torch.vmap(\n        torch.add)(x, x)\n"
    graded = double("return twice(x)", "from parts.sums import twice", **{"parts/sums.py": part})
    assert (
        "The submission uses torch.add (parts/sums.py:5)"
        in verdicts(graded)["test_doubles"].message
    )


def test_calls_inside_a_forbidden_call_are_not_counted_again(double):
    """A student who builds one layer did not write torch's calls inside it."""
    graded = double(
        """
        layer = torch.nn.TransformerEncoderLayer(4, 1, 4, 0.0)
        layer(torch.zeros(2, 4))
        return x + x
        """
    )
    (note,) = messages_of(graded)
    assert "torch.nn.TransformerEncoderLayer (adapters.py:5, adapters.py:6)" in note
    assert "Linear" not in note
    assert "Multihead" not in note


def test_a_layer_built_at_import_is_noticed_when_an_exercise_calls_it(double):
    """The import belongs to no exercise, so the exercise that calls the layer gets the note."""
    imports = "import torch; layer = torch.nn.Linear(1, 1)"
    graded = double("layer(torch.zeros(1))\nreturn x + x", imports)
    assert (
        "The submission uses torch.nn.Linear (adapters.py:5)"
        in verdicts(graded)["test_doubles"].message
    )
    assert "it uses torch.nn.Linear (adapters.py:2, adapters.py:5)" in graded.message


def test_a_forbidden_call_at_import_is_noted_and_costs_nothing(double):
    """No exercise made the call, so only the submission's message names it."""
    graded = double("return x + x", "import torch; one = torch.add(torch.ones(1), 0)")
    assert graded.score == 5.0
    assert messages_of(graded) == []
    said = "it calls torch.add (adapters.py:2) while it is imported, and in no exercise"
    assert f"{said} (this costs no points)" in graded.message


def test_a_forbidden_call_in_a_notebook_is_reported_by_cell_and_line(grade):
    """Cells share their names, and each cell has its own line numbers."""
    cells = ["import torch.nn.functional as F", f"def run_double(x):\n    F.softmax(x, -1){COUNT}"]
    source = [{"cell_type": "code", "source": cell} for cell in cells]
    notebook = json.dumps({"cells": source, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    graded = grade({"attention.ipynb": notebook})
    assert "torch.nn.functional.softmax (attention.ipynb/cell 2:2)" in graded.message


def test_the_output_shows_a_deduction_although_every_test_passes(double):
    """Every test passes, but points are deducted."""
    graded = double("return torch.add(x, x)")
    assert complaints(graded).startswith("it uses torch.add")
    shown = StringIO()
    print_grade(graded, Console(file=shown, width=200))
    assert "50% of this exercise's points are taken off" in shown.getvalue()
    assert "cost nothing" not in shown.getvalue()


# --- Claims of a worker -------------------------------------------------------------------------


@pytest.mark.unit
@pytest.mark.parametrize(
    "forged",
    [
        Use("torch.mul", "adapters.py", 1),
        Use("torch.add", "/etc/passwd", 1),
        Use("torch.add", "../beside.py", 1),
        Use("torch.add", "a secret that was read elsewhere", 1),
        Use("torch.add", "nul\0", 1),
        Use("torch.add", "long" * 70 + ".py", 1),
    ],
)
def test_an_impossible_use_is_not_believed(tmp_path, forged):
    """A worker can claim anything; only forbidden names in the submission's files are repeated."""
    write_files(tmp_path, {"beside.py": "", "submission/adapters.py": "pass"})
    uses = Uses({"torch.add"}, tmp_path / "submission")
    uses.note_call("run_double", [forged])
    uses.note_import([forged])
    assert summary(uses, {}) is None


@pytest.mark.unit
def test_the_message_stays_short_for_any_number_of_uses():
    """A submission may call a forbidden name on each of its lines."""
    many = [Use(f"torch.f{n % 9}", f"file{n % 50}.py", n) for n in range(5000)]
    assert len(uses_in_words(many)) < 1500
    assert uses_in_words(many).endswith("and 4 more")


# --- Watched functions behave as before ---------------------------------------------------------


@pytest.fixture
def watch(monkeypatch, tmp_path):
    """A watch on this process, removed after the test."""
    functional = nn.functional
    monkeypatch.setattr(
        functional, "scaled_dot_product_attention", torch._C._nn.scaled_dot_product_attention
    )
    monkeypatch.setattr(functional, "softmax", functional.softmax)
    for kind in (nn.Linear, nn.MultiheadAttention):
        monkeypatch.setattr(kind, "__init__", kind.__init__)
        monkeypatch.setattr(kind, "__call__", kind.__call__)
    names = [SDPA, "torch.nn.functional.softmax", "torch.nn.Linear", "torch.nn.MultiheadAttention"]
    return CallWatch(names, tmp_path)


class Narrow(nn.Linear):
    """A subclass of a watched class."""

    def __init__(self, width: int) -> None:
        super().__init__(width, 1, bias=False)


@pytest.mark.unit
def test_watched_classes_behave_as_before(watch):
    """Instances, subclasses, signatures and outputs are as before."""
    layer = Narrow(3)
    assert isinstance(layer, nn.Linear)
    assert type(nn.Linear(2, 2)) is nn.Linear
    assert next(iter(inspect.signature(nn.Linear).parameters)) == "in_features"
    assert torch.equal(copy.deepcopy(layer)(torch.ones(3)), layer(torch.ones(3)))
    assert layer(torch.ones(2, 3)).shape == (2, 1)
    heads = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    x = torch.ones(1, 3, 4)
    assert torch.equal(heads(x, x, x)[0], torch.jit.script(heads)(x, x, x)[0])
    assert watch.take() == ()  # no line of a submission


@pytest.mark.unit
@pytest.mark.usefixtures("watch")
def test_watched_functions_still_trace_script_and_differentiate():
    """TorchScript, torch.fx, vmap and tensor subclasses handle them as before."""
    functional = nn.functional
    assert hasattr(functional.scaled_dot_product_attention, "__wrapped__")

    def attend(q: torch.Tensor) -> torch.Tensor:
        return functional.softmax(functional.scaled_dot_product_attention(q, q, q), dim=-1)

    class Plain(torch.Tensor):
        pass

    q = torch.randn(2, 3, 4, requires_grad=True)
    expected = attend(q)
    assert torch.equal(torch.jit.script(attend)(q), expected)
    assert torch.equal(torch.jit.trace(attend, q)(q), expected)
    assert torch.equal(torch.fx.symbolic_trace(attend)(q), expected)
    assert torch.allclose(torch.vmap(attend)(q), expected)
    assert type(attend(q.as_subclass(Plain))) is Plain
    expected.sum().backward()
    assert q.grad is not None
    assert functional.scaled_dot_product_attention.__name__ == "scaled_dot_product_attention"


# --- The attention assignment -------------------------------------------------------------------


BY_TORCH = """
import torch.nn.functional as F

def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
"""


def test_attention_by_the_function_of_torch_gets_full_marks_and_a_note(tmp_path):
    """By default a forbidden name costs nothing, and the course decides what to do."""
    exercise = "run_scaled_dot_product_attention"
    submission = write_files(tmp_path / "submission", {"adapters.py": BY_TORCH})
    client = GradingJob(Settings(str(ROOT), 1, (exercise,), "adapters.py", 60.0, 2048, "suite"))
    try:
        graded = client.grade(Entry("submission", submission), "hash")
    finally:
        client.close()
    assert graded.score == graded.max_score
    assert f"it uses {SDPA} (adapters.py:5)" in graded.message
    assert [note for note in messages_of(graded) if SDPA in note] == [
        f"The submission uses {SDPA} (adapters.py:5), "
        "which must be written by hand in this assignment (this costs no points)"
    ]


# --- The author's table -------------------------------------------------------------------------


def assignment_with(folder, forbidden):
    project = "[tool.grader.exercises]\nrun_double = 1\n" + forbidden
    return find_assignment(write_files(folder, {"pyproject.toml": project}))


@pytest.mark.unit
def test_names_may_be_quoted_or_not(tmp_path):
    """In TOML, each dot of an unquoted name opens a nested table."""
    table = '[tool.grader.forbidden]\n"torch.add" = 5\ntorch.nn.Linear = 0\n'
    forbidden = assignment_with(tmp_path, table).forbidden
    assert forbidden == {"torch.add": 5.0, "torch.nn.Linear": 0.0}


@pytest.mark.unit
def test_nothing_is_forbidden_without_a_table(tmp_path):
    """The engine itself forbids no name."""
    assert assignment_with(tmp_path, "").forbidden == {}


@pytest.mark.unit
@pytest.mark.parametrize("cost", ["-1", "101", "'all'", "true"])
def test_a_cost_that_is_no_percentage_is_refused(tmp_path, cost):
    """The message names the forbidden name with the bad cost."""
    with pytest.raises(BadAssignment, match=r"torch\.add"):
        assignment_with(tmp_path, f'[tool.grader.forbidden]\n"torch.add" = {cost}\n')
