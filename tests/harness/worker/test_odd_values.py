"""Odd values as they cross: their real content or a short description, never a broken exchange."""

from __future__ import annotations

import collections
import decimal
import enum
import itertools
import math
import weakref
from dataclasses import dataclass

import numpy
import pytest
import torch

from grader.core.wire.calls import Answer, decode_answer, encode_answer
from grader.core.wire.frames import received
from grader.core.wire.values import Elsewhere, Foreign, Named, Value
from grader.worker.marshalling import portable

pytestmark = pytest.mark.unit


class Pretender:
    """An object that claims another class."""

    def __init__(self, kind):
        self._kind = kind

    @property
    def __class__(self):
        return self._kind


class Text(str):
    def __str__(self):
        return "lies"

    def __len__(self):
        return 10**12

    def __eq__(self, _):
        return True

    __hash__ = str.__hash__


class Letters(bytes):
    def __bytes__(self):
        return b"lies"

    def __len__(self):
        return 10**12


class Whole(int):
    def __int__(self):
        return 7

    __index__ = __int__


class Real(float):
    def __float__(self):
        return 7.0

    def __repr__(self):
        return "not a number"


class Row(list):
    def __len__(self):
        return -1


class Short(tuple):
    """A tuple with more elements than fields."""

    _fields = ("first", "second")


class Table(dict):
    def items(self):
        return [("a", "lies")]

    def __len__(self):
        return 10**9


class Special(str, enum.Enum):  # noqa: UP042, its str() is not what it is
    END = "<|endoftext|>"


class Level(enum.IntEnum):
    HIGH = 3


class Color(enum.Enum):
    RED = 1


@dataclass
class Batch:
    """Two values in a student's own class."""

    x: torch.Tensor
    y: torch.Tensor


class Unspeakable:
    def __repr__(self):
        raise ValueError("no words")

    __str__ = __repr__


class Everything:
    def __getattr__(self, name):
        return self

    def __call__(self, *_, **__):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        return self


Pair = collections.namedtuple("Pair", "first second")
NESTED = Named("Pair", {"first": 2, "second": ()})
LOOP: list[object] = []
LOOP.append(LOOP)
KEY = object()


def as_received(value: object) -> Value:
    """Returns a result as the judge receives it."""
    return decode_answer(received(encode_answer(Answer(portable(value))))).value


@pytest.mark.parametrize(
    ("value", "is_really"),
    [
        (Text("the"), "the"),
        (Special.END, "<|endoftext|>"),
        ("\ud800\x1b[2J\x00", "\ud800\x1b[2J\x00"),
        (Letters(b"the"), b"the"),
        (Whole(4), 4),
        (Level.HIGH, 3),
        (True, True),
        (numpy.True_, True),
        (Real(0.5), 0.5),
        (-0.0, -0.0),
        (numpy.float32(0.5), 0.5),
        (numpy.str_("a"), "a"),
        (Row([1, 2]), [1, 2]),
        (Table(a=1), {"a": 1}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (collections.OrderedDict(a=()), {"a": ()}),
        ({Text("a"): Whole(1)}, {"a": 1}),
        ({None: 1, 1.5: 2, (1, "a"): 3}, {None: 1, 1.5: 2, (1, "a"): 3}),
        (Pair(1, [Pair(2, ())]), Named("Pair", {"first": 1, "second": [NESTED]})),
        (Short((1, 2, 3)), (1, 2, 3)),
        ([[], (), {}, set(), frozenset(), "", b""], [[], (), {}, set(), frozenset(), "", b""]),
        (torch.float16, torch.float16),
        (torch.device("cuda:1"), torch.device("cuda:1")),
        (torch.empty(2, 3, device="meta"), Elsewhere("float32", (2, 3), "meta")),
    ],
    ids=repr,
)  # fmt: skip
def test_a_subclass_of_a_plain_type_crosses_as_the_plain_value(value, is_really):
    """An enum's member crosses as its text or number, and its own methods are not used."""
    came = as_received(value)
    assert type(came) is type(is_really)
    assert came == is_really
    assert repr(came) == repr(is_really)  # -0.0 is not 0.0


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Batch(torch.ones(1), torch.ones(1)), "an object of type Batch"),
        (Color.RED, "an object of type Color"),
        (Unspeakable(), "an object of type Unspeakable"),
        (Everything(), "an iterator of type Everything"),
        (1 + 2j, "an object of type complex"),
        (decimal.Decimal(1), "an object of type Decimal"),
        (1 << 64, "an int of more than 64 bits"),
        (itertools.count(), "an iterator of type count"),
        (range(3), "an object of type range"),
        (collections.deque([1]), "an object of type deque"),
        (memoryview(b"ab"), "an object of type memoryview"),
        (bytearray(b"ab"), "an object of type bytearray"),
        (weakref.proxy(Everything), "ProxyType"),
        (torch.nn.Linear(1, 1), "a module of type Linear"),
        (torch.ones(2).to_sparse(), "a tensor of layout torch.sparse_coo"),
        (torch.ones(2, dtype=torch.complex64), "a tensor of dtype torch.complex64"),
        (torch.ones([1] * 40), "a tensor of 40 axes"),
        (torch.empty([1] * 40, device="meta"), "a tensor of 40 axes"),
        (torch.empty(1 << 40, device="meta"), "a tensor of shape [1099511627776], on meta"),
        (torch.ones(()).expand(1 << 31, 1 << 31), "too large to be an answer"),
        (torch.complex128, "an object of type dtype"),
        (numpy.array([None]), "a numpy array[1]"),
        (numpy.zeros(2, [("a", "i4")]), "a numpy array[2]"),
        (numpy.array(["a"]), "a numpy array[1]"),
        (numpy.datetime64("2001-01-01"), "an object of type date"),
        *((Pretender(kind), "Pretender") for kind in (
            *(bool, int, float, str, bytes, type(None), list, tuple, dict, set, numpy.generic),
            *(torch.Tensor, torch.device, torch.dtype, torch.nn.Module, numpy.ndarray, type),
        )),
    ],
    ids=lambda one: "" if isinstance(one, str) else type(one).__name__,
)  # fmt: skip
def test_a_value_that_cannot_cross_is_replaced_by_a_description(value, words):
    """The value may stand anywhere in a result, for example in a list or a dict."""
    for holder in (value, [value], (value,), {"a": value}, {1: [value]}):
        came = as_received(holder)
        while not isinstance(came, Foreign):
            (came,) = came.values() if isinstance(came, dict) else came
        assert words in came.description


@pytest.mark.parametrize(
    "key",
    [KEY, (1, KEY), frozenset([KEY]), Color.RED],
    ids=["object", "in a tuple", "in a set", "enum"],
)
def test_a_dict_key_that_cannot_cross_keeps_its_value(key):
    """The value beside the key still crosses."""
    came = as_received({key: [1, 2]})
    assert [*came.values()] == [[1, 2]]  # type: ignore[union-attr]


def test_a_recursive_value_is_cut_at_the_maximum_depth():
    """A recursive value crosses to the maximum depth, with a short description of the rest."""
    assert "more than 32 others" in repr(as_received(LOOP))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).view(2, 3).T,
        torch.ones(1).expand(2, 3),
        torch.ones(2, requires_grad=True) * 2,
        torch.nn.Parameter(torch.ones(2)),
        torch._neg_view(torch.ones(2)),
        torch.complex(torch.ones(2), torch.ones(2)).conj().imag,
        torch.ones(2).to(torch.bfloat16),
        torch.zeros(0, 3),
        torch.tensor([math.nan, math.inf, -math.inf, -0.0]),
    ],
    ids=lambda tensor: str(list(tensor.shape)),
)
def test_a_tensor_crosses_with_its_values(tensor):
    """Its layout in memory and its attributes do not matter."""
    came = as_received([tensor])[0]  # type: ignore[index]
    assert came.dtype == tensor.dtype
    assert torch.equal(came.nan_to_num(9.5), tensor.detach().nan_to_num(9.5))


def test_an_array_crosses_with_its_values():
    """Views, masked arrays and arrays without axes cross as their values."""
    for array in (
        numpy.arange(6)[::-2],
        numpy.ma.array([1, 2]),
        numpy.array(3),
        numpy.ones((2, 0)),
    ):
        came = as_received(array)
        assert isinstance(came, numpy.ndarray)
        assert came.shape == array.shape
        assert (came == array).all()
