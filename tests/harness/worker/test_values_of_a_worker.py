"""Values, files, words and records: what crosses from a worker, and what a workplace holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from grader.core.wire.calls import MAX_NUMBERS
from grader.core.wire.values import Elsewhere, Foreign, Named
from grader.worker import marshalling
from grader.worker.marshalling import (
    ABSENT,
    ANEW,
    IRREGULAR,
    MAX_VALUES,
    TOO_LARGE,
    ScriptFiles,
    arrived,
    copied,
    differing,
    portable,
    same_values,
)
from grader.worker.observing.expression import (
    in_words,
    not_called_in_words,
    signature_in_words,
)
from grader.worker.observing.recording import Recorder
from grader.worker.workplace import WorkplaceFinder, make_workplace

pytestmark = pytest.mark.unit

X = torch.tensor([1.0, 2.0])


# --- Values --------------------------------------------------------------------------------------


def test_values_arrive_on_the_device_with_named_fields():
    got = arrived([X, {"a": (Named("Pair", {"x": X, "y": [1]}),)}], "meta")
    pair = got[1]["a"][0]
    assert (got[0].device.type, pair.x.device.type, pair.y) == ("meta", "meta", [1])
    assert type(pair).__name__ == "Pair"
    assert arrived(X) is X


def test_a_result_on_another_device_is_told_and_not_sent():
    assert portable(X, "meta") == Elsewhere("float32", (2,), "cpu")
    assert portable(X, "meta", may_be_on_cpu=True) is not None
    assert torch.equal(portable(X, "meta", may_be_on_cpu=True), X)
    assert portable(torch.empty(2, device="meta"), "meta") == Elsewhere("float32", (2,), "meta")
    assert torch.equal(portable(X, "cpu:0"), X)


def test_a_result_of_too_many_values_is_described():
    row = [0] * (MAX_VALUES - 1)
    assert portable(row) == row
    row.append(0)
    said = f"a list of more than {MAX_VALUES} values, too large to be an answer"
    assert portable(row) == Foreign(said)


def test_a_result_of_too_many_bytes_is_described(monkeypatch):
    """All texts, arrays and tensors of a result count together."""
    monkeypatch.setattr(marshalling, "MAX_PAYLOAD", 16)
    assert portable("x" * 16) == "x" * 16
    assert portable("x" * 17) == Foreign("text of length 17, too large to be an answer")
    assert portable(b"x" * 17) == Foreign("bytes of length 17, too large to be an answer")
    assert portable(["x" * 9, "x" * 8])[1] == Foreign("text of length 8, too large to be an answer")
    assert torch.equal(portable(torch.ones(4)), torch.ones(4))
    assert "too large" in portable(torch.ones(5)).description
    assert portable(numpy.ones(2)).tolist() == [1, 1]
    assert isinstance(portable(numpy.ones(3)), Foreign)
    assert isinstance(portable(torch.ones(0, 5)), Foreign)


SAME = [
    (X, X.clone(), True),
    (X, X + 1, False),
    (X, X.double(), False),
    (X, X[None], False),
    (torch.tensor([torch.nan]), torch.tensor([torch.nan]), True),
    (torch.tensor([torch.nan]), torch.tensor([1.0]), False),
    (numpy.ones(2), numpy.ones(2), True),
    (numpy.ones(2), numpy.ones((2, 1)), False),
    (numpy.ones(2), numpy.zeros(2), False),
    (Named("A", {"x": X}), Named("A", {"x": X.clone()}), True),
    (Named("A", {"x": X}), Named("B", {"x": X}), False),
    (Named("A", {"x": X}), Named("A", {"x": X + 1}), False),
    ({"a": X}, {"a": X.clone()}, True),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
    ({"a": X}, {"a": X + 1}, False),
    ([X, 1], [X.clone(), 1], True),
    ([1, 1], [1], False),
    ([1, 2], [1, 3], False),
    ([1], (1,), False),
    (1, True, False),
    (float("nan"), float("nan"), True),
]


@pytest.mark.parametrize(("before", "after", "is_same"), SAME)
def test_values_are_the_same_if_every_element_is(before, after, is_same):
    assert same_values(before, after) is is_same
    assert differing({"x": before}, {"x": after}) == (() if is_same else ("x",))


def test_a_copy_shares_no_tensor_array_or_list():
    value = [X, numpy.ones(1), {"a": [1]}]
    twin: Any = copied(value)
    twin[0].add_(1)
    twin[1][0] = 5
    twin[2]["a"].append(2)
    assert (X.tolist(), value[1].tolist(), value[2]) == ([1, 2], [1], {"a": [1]})


@pytest.mark.parametrize(
    "value",
    [
        torch.arange(12.0).view(3, 4)[:, ::2],
        torch.arange(3.0)[:, None].expand(3, 4),
        torch.arange(6.0).view(2, 3).T,
        torch.zeros(0, 4)[:, ::2],
    ],
    ids=["gaps", "repetitions", "transposed", "empty"],
)
def test_a_copy_lies_in_memory_as_the_value_does(value):
    twin = copied(value)
    assert twin.stride() == value.stride()
    assert torch.equal(twin, value)
    assert twin.numel() == 0 or twin.data_ptr() != value.data_ptr()


# --- Files of a script ---------------------------------------------------------------------------


@pytest.fixture
def shop(tmp_path, monkeypatch) -> Any:
    """The files of a script, in this test's folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    files = ScriptFiles()
    yield files
    files.close()
    assert list(tmp_path.iterdir()) == []


def test_files_are_made_and_read(shop):
    path = shop.make("file", ["a.txt", b"text"], {})
    empty = shop.make("file", ["a.txt", None], {})
    assert path != empty
    assert shop.make("content", [path], {}) == b"text"
    assert shop.make("content", [empty], {}) == ABSENT
    assert (shop.make("exists", [path], {}), shop.make("exists", [empty], {})) == (True, False)
    assert shop.make("as_str", [path], {}) == str(path)
    twin = shop.make(ANEW, [path, "a.txt"], {})
    assert twin != path
    assert shop.make("content", [twin], {}) == b"text"
    assert not shop.make(ANEW, [empty, "a.txt"], {}).exists()


def test_odd_things_in_the_place_of_a_file_are_told(shop, monkeypatch):
    """No link is followed, and no writer of a pipe is waited for."""
    import os

    path = shop.make("file", ["a", None], {})
    path.mkdir()
    assert shop.make("content", [path], {}) == IRREGULAR
    os.mkfifo(path / "pipe")
    assert shop.make("content", [path / "pipe"], {}) == IRREGULAR
    (path / "link").symlink_to("/etc/hostname")
    assert shop.make("content", [path / "link"], {}) == IRREGULAR
    monkeypatch.setattr(marshalling, "MAX_FILE", 3)
    for text, seen in ((b"abc", b"abc"), (b"abcd", TOO_LARGE)):
        (path / "text").write_bytes(text)
        assert shop.make("content", [path / "text"], {}) == seen


def test_streams_are_flushed_before_their_file_is_read(shop):
    path = shop.make("file", ["a", b"abc"], {})
    stream = shop.make("as_stream", [path], {})
    stream.write(b"X")
    assert shop.make("content", [path], {}) == b"Xbc"
    new = shop.make("as_stream", [path.with_name("b")], {})
    new.write(b"new")
    assert shop.make("content", [path.with_name("b")], {}) == b"new"
    assert shop.make("as_text", [path], {}).read() == "Xbc"
    shop.close()
    assert stream.closed
    assert new.closed


def test_a_parameter_is_made_of_copies(shop):
    parameter = shop.make("parameter", [X, X + 1, True], {})
    assert (parameter.tolist(), parameter.grad.tolist(), parameter.requires_grad) == (
        [1, 2],
        [2, 3],
        True,
    )
    frozen = shop.make("parameter", [X, None, False], {})
    assert (frozen.grad, frozen.requires_grad) == (None, False)
    parameter.data.add_(1)
    assert X.tolist() == [1, 2]


# --- Words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (X, "float32[2]"),
        (torch.empty(2, device="meta"), "float32[2] on meta"),
        (None, "None"),
        (True, "True"),
        ("a" * 38, f"'{'a' * 38}'"),
        ("a" * 39, f"'{'a' * 38}…"),
        (-(10**38), f"-1{'0' * 38}"),
        (10**40, None),
        pytest.param(10**5000, None, id="digits"),
        ([1, 2], "[1, 2]"),
        ((1,), "(1,)"),
        ((1, 2, 3, 4), "(1, 2, 3, 4)"),
        ((1, 2, 3, 4, 5), "(1, 2, 3, 4, …)"),
        ([1, object()], None),
        ([1, 2, 3, 4, object()], "[1, 2, 3, 4, …]"),
        (torch.nn.Linear(2, 1), "Linear(weight float32[1, 2], bias float32[1])"),
        (torch.nn.Linear(2, 1, bias=False), "Linear(weight float32[1, 2])"),
        (numpy.ones((2, 3)), "numpy array[2, 3]"),
        (object(), None),
        ({}, None),
        (len, None),
    ],
)
def test_a_value_is_told_in_few_words(value, words):
    assert in_words(value) == words


class Counter:
    """An object that can be called."""

    def __init__(self, start: int) -> None:
        self.number = start

    def __call__(self, more: int) -> int:
        return self.number + more


def test_functions_and_classes_that_were_not_called_are_told():
    assert not_called_in_words(len) == "the function len"
    assert not_called_in_words(X.numel) == "the function numel"
    assert not_called_in_words(copied) == "the function copied"
    assert not_called_in_words(Counter) == "the class Counter"
    assert not_called_in_words(3) is None


def test_a_signature_leaves_out_self_and_names_its_place():
    here = Path(__file__)
    assert signature_in_words(Counter.__init__, Path("/nowhere")) == "Counter.__init__(start)"
    line = Counter.__init__.__code__.co_firstlineno
    # At home, packages lie elsewhere; this file is one of the engine's folder.
    assert signature_in_words(Counter(1).__call__, here.parent).startswith("Counter.__call__(more)")
    assert line > 1


# --- The workplace -------------------------------------------------------------------------------


def test_a_workplace_copies_small_files_and_links_source_and_large_ones(tmp_path):
    root = tmp_path / "root"
    (root / "lib").mkdir(parents=True)
    for name, size in {
        "a.txt": 10,
        "b.py": 10,
        "c.ipynb": 10,
        "d": 1 << 16,
        "e": (1 << 16) + 1,
    }.items():
        (root / name).write_bytes(b"x" * size)
    (root / "lib" / "deep.txt").write_text("deep")
    (tmp_path / "scratch").mkdir()
    place = make_workplace(root, tmp_path / "scratch")
    assert place == tmp_path / "scratch" / "submission"
    linked = {path.name for path in place.iterdir() if path.is_symlink()}
    assert linked == {"b.py", "c.ipynb", "e"}
    assert (place / "lib").is_dir()
    assert not (place / "lib").is_symlink()
    (place / "lib" / "deep.txt").write_text("changed")
    assert (root / "lib" / "deep.txt").read_text() == "deep"


def test_a_folder_that_cannot_be_copied_is_its_own_workplace(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "full").touch()
    assert make_workplace(tmp_path / "root", tmp_path / "full") == tmp_path / "root"


def test_modules_of_the_workplace_are_the_handed_in_ones(tmp_path, monkeypatch):
    root, place = tmp_path / "root", tmp_path / "place"
    for folder in (root, place):
        (folder / "lib").mkdir(parents=True)
        (folder / "lib" / "of_it.py").write_text("")
    finder = WorkplaceFinder(root, place)
    monkeypatch.chdir(place)
    wanted = str(root / "lib" / "of_it.py")
    assert finder.find_spec("of_it", [str(place / "lib")]).origin == wanted
    assert finder.find_spec("of_it", ["lib"]).origin == wanted
    assert finder.find_spec("of_it", ["lib/../lib"]).origin == wanted
    assert finder.find_spec("of_it", [str(root / "lib")]) is None
    monkeypatch.setattr(sys, "path", [str(place / "lib")])
    assert finder.find_spec("of_it", None).origin == wanted
    assert finder.find_spec("absent_one", None) is None


# --- Records -------------------------------------------------------------------------------------


def test_values_that_are_too_large_or_without_numbers_are_not_recorded():
    recorder = Recorder(Path("/nowhere"), follow_numbers=True)
    beside_inputs = Recorder(Path("/nowhere"), follow_numbers=False)
    for numbers, dtype in ((MAX_NUMBERS, torch.float32), (MAX_NUMBERS // 2, torch.complex64)):
        for size, is_kept in ((numbers, True), (numbers + 1, False)):
            before = len(beside_inputs.records)
            beside_inputs.keep(torch.ones(size, dtype=dtype), None)
            assert (len(beside_inputs.records) > before) is is_kept, dtype
    for value, is_kept in (
        (torch.ones(1, MAX_NUMBERS + 1), False),
        (torch.ones(MAX_NUMBERS, 2).to_sparse(), False),
        (torch.ones(0), False),
        (torch.empty(2, device="meta"), False),
        (torch.ones(2).to_sparse(), False),
        (3, True),
        (1 << 53, False),
        (-(1 << 53) + 1, True),
        (True, False),
        ("text", False),
    ):
        before = len(recorder.records)
        recorder.keep(value, None)
        assert (len(recorder.records) > before) is is_kept, value
    assert [one.value.dtype for one in recorder.records[-2:]] == [torch.float64] * 2


def test_the_first_rows_of_a_large_table_are_recorded_where_no_tensor_is_passed():
    """Code keeps thousands of positions, and returns the few that were asked for."""
    recorder = Recorder(Path("/nowhere"), follow_numbers=True)
    table = torch.arange(2.0 * MAX_NUMBERS).reshape(-1, 64)
    recorder.keep(table, None)
    (kept,) = recorder.records
    assert kept.value.shape == (256, 64)
    assert kept.value.equal(table[:256])


def test_records_share_a_bounded_number_of_elements():
    recorder = Recorder(Path("/nowhere"), follow_numbers=True)
    recorder._left = 3
    recorder.keep(torch.ones(2), None)
    recorder.keep(torch.ones(2), None)
    recorder.keep(5, None)
    recorder.keep(6, None)
    assert [one.value.numel() for one in recorder.records] == [2, 1]
    assert recorder._left == 0
