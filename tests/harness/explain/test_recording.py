"""Records of a call's steps: their content, and what the judge makes of true and false ones."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

from grader.core.wire.calls import (
    MAX_NUMBERS,
    MAX_TOGETHER,
    Answer,
    Call,
    Record,
    decode_answer,
    encode_answer,
    records_as_json,
    records_from_json,
    values_of,
)
from grader.core.wire.frames import receive
from grader.core.wire.records import BadFrame, Line
from grader.explain.step_comparison import first_strange, steps_seen
from grader.worker.performing import perform

pytestmark = pytest.mark.unit


def test_records_reach_the_judge_with_values_and_lines(tmp_path):
    """The judge receives the result of each operation and function, and the lines behind it."""
    records = records_of(
        tmp_path,
        {"x": torch.arange(3.0)},
        inner="def twice(x):\n    return 2 * x\n",
        outer="def run(x):\n    return twice(x) + 0\n",
    )
    lines = [[(line.file, line.line) for line in record.stack] for record in records]
    inside, outside = [("outer.py", 2), ("inner.py", 2)], [("outer.py", 2)]
    assert [record.value.tolist() for record in records] == [[0, 2, 4]] * 4
    assert lines == [inside, inside, outside, outside]
    assert records[-1].stack[-1].source == "return twice(x) + 0"


def test_integers_are_recorded_in_a_call_without_tensors(tmp_path):
    """Counting uses no torch operations, so returned values are recorded."""
    source = "def run(n):\n    total = 3 * n\n    if n:\n        total += 1\n    return total\n"
    records = records_of(tmp_path, {"n": 1 << 40}, outer=source)
    total = 3 << 40
    seen = [(int(record.value), record.stack[-1].line) for record in records]
    assert seen == [(total + 1, 5)]


def test_complex_numbers_are_recorded_as_pairs(tmp_path):
    """Code that rotates pairs with complex numbers has its steps in them."""
    source = "import torch\ndef run(x):\n    return torch.complex(x, -x).conj()\n"
    *_, last = records_of(tmp_path, {"x": torch.tensor([1.0, 2.0])}, outer=source)
    assert last.value.tolist() == [[1, 1], [2, 2]]


def test_uninitialised_memory_is_zero_in_a_recorded_call(tmp_path):
    """Old content of that memory would look like computed values."""
    source = "import torch\ndef run(x):\n    y = torch.empty(2000)\n    y[::2] = 1\n    return y\n"
    *_, last = records_of(tmp_path, {"x": torch.ones(1)}, outer=source)
    assert set(last.value.tolist()) == {0, 1}


def test_a_recorded_call_restores_the_previous_trace_function(tmp_path):
    """At home a debugger or a coverage tool may already have set a trace function."""
    before = sys.gettrace()
    seen: list[str] = []

    def follow(_frame: FrameType, event: str, _argument: object) -> None:
        seen.append(event)

    sys.settrace(follow)
    try:
        records_of(tmp_path, {"x": torch.ones(1)}, outer="def run(x):\n    return x\n")
        assert sys.gettrace() is follow
    finally:
        sys.settrace(before)


LINES = tuple(Line("adapters.py", number, "x = y") for number in (1, 2))
CLAIMS = [
    torch.arange(6.0).reshape(2, 3),
    torch.full((2, 3), torch.nan),
    torch.zeros(0, 3),
    torch.tensor(40.0, dtype=torch.float64),
    torch.tensor(torch.nan),
    torch.ones(1, 1, 1, 1, 1, 1, 1, 2),
    torch.tensor([True, False]),
    torch.arange(5, dtype=torch.int64) - 2,
]


@pytest.mark.parametrize("stack", [(), LINES[:1], LINES])
def test_invented_records_never_make_step_comparison_raise(stack):
    """A worker may invent its records, and an exception would cost the explainer."""
    numbers = {"first": [torch.tensor(40.0)], "second": [torch.tensor(50.0)]}
    tensors = {"first": [CLAIMS[0]], "second": [CLAIMS[0].exp()]}
    known = [numbers | {"result": [torch.tensor(90.0)]}, tensors | {"result": [CLAIMS[0].sin()]}]
    for claimed in itertools.permutations(CLAIMS, 2):
        records = [Record(value, stack) for value in claimed]
        for right in known:
            seen = steps_seen(records, right)
            assert seen == () or [step.right for step in seen].count(False) == 1
        first_strange(records)


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        ("torch.nn.functional.linear(x, w)", (2, 7, 8)),
        ("x.reshape(14, 4) @ w.T", (14, 8)),
        ("torch.einsum('bsd,od->sbo', x, w)", (7, 2, 8)),
        ("(x @ w.T).view(2, 7, 8).transpose(0, 1)", (7, 2, 8)),
    ],
)
def test_steps_show_the_shapes_of_the_submissions_own_tensors(tmp_path, source, shape):
    """torch multiplies a batch of matrices as one large matrix; the student wrote no such shape."""
    x, w = torch.randn(2, 7, 4), torch.randn(8, 4)
    code = f"import torch\n\ndef run(x, w):\n    y = {source}\n    return y.sum()\n"
    records = records_of(tmp_path, {"x": x, "w": w}, attention=code)
    queries, *_ = steps_seen(records, {"queries": [x @ w.T], "result": [torch.randn(3)]})
    assert (queries.shape, queries.own_shape) == ((2, 7, 8), shape)


@pytest.mark.parametrize(
    ("count", "numbers"), [(1, MAX_NUMBERS + 1), (MAX_TOGETHER // MAX_NUMBERS + 1, MAX_NUMBERS)]
)
def test_records_with_too_many_numbers_are_refused(count, numbers):
    """The judge reads each record many times, so their size has a limit."""
    records = [Record(torch.zeros(numbers), LINES)] * count
    with pytest.raises(BadFrame, match="more numbers than they may"):
        records_from_json(records_as_json(records), values_of(records))


def test_a_large_tensor_of_a_class_that_takes_no_slices_is_recorded(tmp_path):
    """To look at a program must not change what it does."""
    source = (
        "import torch\n\nclass Own(torch.Tensor):\n"
        "    def __getitem__(self, key):\n        raise ValueError\n\n"
        "def large(size):\n    return torch.ones(size, 2).as_subclass(Own)\n\n"
        "def run(size):\n    return large(size).size(0)\n"
    )
    answer = answer_of(tmp_path, {"size": 300_000}, mine=source)
    assert answer.raised is None
    assert answer.value == 300_000


def records_of(folder: Path, arguments: dict[str, Any], **sources: str) -> tuple[Record, ...]:
    """Returns the decoded records of a call of `run`; the files share one namespace."""
    return answer_of(folder, arguments, **sources).records


def answer_of(folder: Path, arguments: dict[str, Any], **sources: str) -> Answer:
    """Returns the decoded answer of a recorded call of `run`; the files share one namespace."""
    space: dict[str, Any] = {}
    for name, source in sources.items():
        file = folder / f"{name}.py"
        file.write_text(source)
        exec(compile(source, str(file), "exec"), space)
    sent = encode_answer(perform(space["run"], Call("run", arguments, record=True), folder))
    return decode_answer(receive(_reader(sent)))


def _reader(data: bytes) -> Callable[[int], bytearray]:
    view = iter(data)
    return lambda size: bytearray(next(view) for _ in range(size))


def record(value: torch.Tensor, line: int = 1) -> Record:
    """Returns a record of a value that a line of a submission computed."""
    return Record(value, (Line("mine.py", line, ""),))


def test_a_transposed_or_flipped_square_step_is_not_recognised():
    """Axes of one length cannot identify a layout, so another order of them is another step."""
    mask = torch.ones(7, 7).tril() * torch.rand(7, 7)
    wrong = {"mask": [mask], "result": [torch.randn(3)]}
    for other in (mask.T, mask.flip(0), mask.flip(0, 1)):
        assert steps_seen([record(other)], wrong) == ()
    assert [one.right for one in steps_seen([record(mask)], wrong)] == [True, False]


def test_a_step_counts_when_all_its_slices_were_computed():
    """Code that loops over heads never has the whole step, and one slice is not the step."""
    heads = torch.randn(3, 4, 5)
    wrong = {"scores": [heads], "result": [torch.randn(3)]}
    rows = [record(head, line) for line, head in enumerate(heads)]
    assert steps_seen(rows[:2], wrong) == ()
    assert [one.right for one in steps_seen(rows, wrong)] == [True, False]


def test_a_step_equal_to_an_earlier_one_is_left_out():
    """Scaling by 1 changes no score, so equal scores do not prove that the program scales."""
    scores = torch.randn(4, 5)
    wrong = {"scores": [scores], "scaled": [scores.clone()], "weights": [scores.softmax(-1)]}
    told = {one.name: one.right for one in steps_seen([record(scores)], wrong)}
    assert told == {"scores": True, "weights": False}
