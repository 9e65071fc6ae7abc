"""Messages about wrong results of methods: which call, both values, what stayed unchanged."""

from __future__ import annotations

import types
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch

from grader.explain.answers import InFull
from grader.home.bench import DirectCalls
from grader.testing.assertions import (
    assert_inputs_unchanged,
    assert_matches,
)
from grader.testing.contract import read_contract
from grader.testing.handles.handle import Student
from grader.testing.outcome import StudentFault, observing

pytestmark = pytest.mark.unit

CONTRACT = """
from collections.abc import Iterable
from typing import Protocol
import torch

class Tokenizer(Protocol):
    vocabulary: dict[int, bytes]
    def encode(self, text: str) -> list[int]: ...
    def decode(self, ids: list[int]) -> str: ...
    def size(self) -> int: ...

def get_tokenizer() -> Tokenizer: ...
def run_step(parameter: torch.nn.Parameter, lr: float) -> None: ...
def run_steps(parameters: Iterable[torch.nn.Parameter], lr: float) -> None: ...
"""


class Tokenizer:
    def __init__(self):
        self.vocabulary = {0: b"a", 1: b"b"}

    def encode(self, text):
        return [ord(letter) for letter in text]

    def decode(self, ids):
        return "".join(map(chr, ids))

    def size(self):
        return 3


def student(name, function, declared=CONTRACT):
    """Returns the handle of an adapter."""
    module = types.ModuleType("adapters")
    exec(compile(declared, "adapters.py", "exec", dont_inherit=True), vars(module))
    contract = read_contract(module)
    calls = DirectCalls(SimpleNamespace(**{name: function}), Path(__file__).parent)
    return Student(contract[name], calls, 1, lambda *_: None, InFull(), others=contract)


class Functions(NamedTuple):
    vocabulary: dict
    encode: Callable
    decode: Callable
    size: Callable


class Dictionary(dict, Tokenizer):
    pass


@pytest.mark.parametrize(
    "make",
    [
        lambda: Functions({0: b"a"}, lambda text: [*map(ord, text)], "".join, lambda: 3),
        Dictionary,
    ],
    ids=["named tuple", "dict"],
)
def test_an_object_may_be_of_a_class_that_inherits_from_plain_data(make):
    """Its methods count, not the data that it also is."""
    tokenizer = student("get_tokenizer", make)()
    assert tokenizer.encode("ab") == [97, 98]
    assert tokenizer.size() == 3


def test_assertions_take_an_object_that_is_also_plain_data():
    """They ask for the object itself, without a later call of its methods."""
    own = student("get_tokenizer", lambda: Functions({}, str, str, lambda: 3))
    assert_inputs_unchanged(own)
    assert own.count_lines() > 0
    own.count_work()


def test_plain_data_is_no_object():
    """It has none of the methods."""
    with observing(), pytest.raises(StudentFault, match="must return a Tokenizer"):
        student("get_tokenizer", lambda: {"encode": 1})()


def failure_of(do, expected, public=True):
    """Returns the failure when a tokenizer gives something else than expected."""
    tokenizer = student("get_tokenizer", Tokenizer)()
    with observing(shows_expected=public), pytest.raises(AssertionError) as raised:
        assert_matches(do(tokenizer), expected)
    return raised.value


def test_a_long_text_is_shown_around_its_first_difference():
    """If the text is wrong from its start, the message shows its beginning."""
    ids = [97] * 60
    at_the_end = str(failure_of(lambda own: own.decode(ids), "a" * 59 + "b"))
    around = f"around which it is '{'a' * 13}': '{'a' * 12}b' was expected"
    assert f"is right up to its character 59, {around}" in at_the_end
    at_once = str(failure_of(lambda own: own.decode(ids), "b" * 60))
    assert " begins with 'aaa" in at_once
    assert "right up to" not in at_once


OF_TORCH = """
from collections.abc import Iterable, Iterator
from typing import Any, Protocol
import torch

class Optimizer(Protocol):
    param_groups: list[dict[str, Any]]
    def __init__(self, params: Iterable[torch.nn.Parameter], lr: float = 0.1) -> None: ...
    def step(self) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...
    def add_param_group(self, param_group: dict[str, Any]) -> None: ...

class Reader(Protocol):
    def letters(self, texts: Iterable[str]) -> Iterator[str]: ...

def get_optimizer_class() -> type[Optimizer]: ...
def get_reader() -> Reader: ...
"""


class Own(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for one in group["params"]:
                one -= group["lr"] * one.grad


def test_a_test_can_use_what_an_optimizer_inherits_from_torch():
    """The test uses groups with their own rates, loaded rates, and gradients that stay."""
    handle = student("get_optimizer_class", lambda: Own, OF_TORCH)
    weight, other = (handle.parameter(torch.ones(2), grad=torch.ones(2)) for _ in range(2))
    optimizer = handle()([weight])
    assert optimizer.param_groups[0]["lr"] == 0.1
    optimizer.add_param_group({"params": [other], "lr": 0.5})
    optimizer.step()
    assert_matches([weight.value, other.value], [torch.full((2,), 0.9), torch.full((2,), 0.5)])
    state = optimizer.state_dict()
    state["param_groups"][1]["lr"] = 0.25
    optimizer.load_state_dict(state)
    optimizer.step()
    assert_matches(other.value, torch.full((2,), 0.25))
    assert_matches(weight.grad, torch.ones(2))


class Reader:
    def letters(self, texts):
        return (letter for text in texts for letter in text)


class Eager:
    def letters(self, texts):
        return iter([letter for text in list(texts) for letter in text])


def first_letters(reader):
    """Returns the first letters of a file whose last byte is not valid text."""
    handle = student("get_reader", reader, OF_TORCH)
    file = handle.file(b"ab\n" * 20_000 + b"\xff")
    return [*islice(handle().letters(file.as_text), 4)]


def test_a_broken_last_byte_reveals_a_program_that_reads_the_whole_file():
    """Nothing else in an answer shows that the program read all before the first item."""
    assert first_letters(Reader) == ["a", "b", "\n", "a"]
    with pytest.raises(StudentFault, match="UnicodeDecodeError"):
        first_letters(Eager)


OF_LISTS = "def run_split(text: str) -> list[str]: ...\ndef run_half(of: int) -> int: ...\n"


def test_a_list_of_several_answers_is_not_taken_for_one_answer():
    """The student's function returned one list, and not a list of two."""
    split = student("run_split", lambda text: text.split(), OF_LISTS)
    with observing(), pytest.raises(AssertionError) as raised:
        assert_matches([split("a b"), split("c d")], [["a", "b"], ["c", "e"]])
    assert str(raised.value) == "[1] of the second compared value is 'd': 'e' was expected"
    with observing(), pytest.raises(AssertionError) as raised:
        assert_matches(split("c d"), ["c", "e"])
    assert str(raised.value) == "result[1] is 'd': 'e' was expected"


def test_answers_in_another_kind_of_collection_than_expected_are_wrong():
    """Their names are words of a message, and decide no verdict."""
    half = student("run_half", lambda of: of // 2, OF_LISTS)
    with observing():
        assert_matches([half(4), half(6)], [2, 3])
    for answers, expected in (((4, 6), [2, 3]), ([4, 6], [2])):
        with observing(), pytest.raises(AssertionError):
            assert_matches(type(answers)(map(half, answers)), expected)


def test_an_index_stands_apart_from_a_name_of_several_words():
    """The last words of the name must not look like the indexed value."""
    with pytest.raises(
        AssertionError, match=r"^\[0\] of the tokens of 'a_b' is 'a_b': 'a' was exp"
    ):
        assert_matches(["a_b"], ["a"], what="the tokens of 'a_b'")
