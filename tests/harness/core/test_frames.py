"""Frames between judge and worker: a value arrives unchanged, and a forged frame is refused."""

from __future__ import annotations

import itertools
import json
import struct
from typing import Any

import numpy
import pytest
import torch

from grader.core.wire.calls import Answer, encode_answer
from grader.core.wire.frames import ANSWER, Received, decode, encode, receive, received
from grader.core.wire.records import BadFrame
from grader.core.wire.tensors import DTYPES
from grader.core.wire.value_tree import ARRAY_DTYPES, MAX_TEXT
from grader.core.wire.values import Elsewhere, Foreign, Named, Value

pytestmark = pytest.mark.unit


def round_trip(value: Value, trusted: bool = False) -> Value:
    """Returns a value after its way through a frame."""
    return decode(received(encode({}, {"value": value})), trusted)[1]["value"]


def forged(described: Any, payload: bytes = b"") -> Received:
    """Returns a frame with this description of its one value."""
    text = json.dumps({"value": described}).encode()
    sizes = 2, len(text), len(payload)
    return received(struct.pack(">4sIIQ", b"GRDR", *sizes) + b"{}" + text + payload)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (1,) * 32], ids=str)
def test_tensors_arrive_as_they_were(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """Every dtype that may cross is tried, with scalars and empty tensors."""
    tensor = torch.randint(0, 2, shape).to(dtype)
    arrived = round_trip(tensor)
    assert isinstance(arrived, torch.Tensor)
    assert arrived.dtype == dtype
    assert torch.equal(arrived, tensor)


def test_strides_survive_from_judge_to_worker() -> None:
    """A test that passes a transposed matrix really tests with one."""
    tensor = torch.arange(6.0).view(2, 3).mT
    arrived = round_trip(tensor, trusted=True)
    assert isinstance(arrived, torch.Tensor)
    assert torch.equal(arrived, tensor)
    assert arrived.stride() == tensor.stride()


@pytest.mark.parametrize(
    "value",
    [None, True, 7, -0.5, "text", Foreign("a module"), Elsewhere("float32", (2,), "meta")],
    ids=repr,
)
def test_plain_values_and_descriptions_arrive_as_they_were(value: Value) -> None:
    """Numbers keep their type; a foreign object is replaced by its description."""
    arrived = round_trip(value)
    assert arrived == value
    assert type(arrived) is type(value)


NESTED = [
    [],
    (),
    {},
    set(),
    [1, 2.5, "three", b"four", None, True],
    list(range(-50, 50)),
    [0.5] * 20,
    ("x" * 1000, b"y" * 1000, ("nested", ["deeper", {"deepest": ()}])),
    {1: "int", "s": "str", b"b": "bytes", None: "None", (1, b"m"): "tuple", 0.5: "float"},
    {"set": {1, 2}, "frozen": frozenset({b"a"})},
    Named("Split", {"train": [1, 2], "rest": ()}),
    [torch.float16, torch.device("cuda:1")],
    [Foreign("a module"), Elsewhere("float32", (2,), "meta")],
    "\ud800 alone, and \N{PILE OF POO}",
]


@pytest.mark.parametrize("value", NESTED, ids=lambda value: repr(value)[:40])
def test_nested_values_arrive_as_they_were(value: Value) -> None:
    """Lists stay lists and tuples tuples, keys keep their type, and numbers their order."""
    arrived = round_trip(value)
    assert arrived == value
    assert repr(arrived) == repr(value)


def test_names_arrive_on_one_line() -> None:
    """A submission chooses them, and a line of its own would look like the grader's."""
    arrived = round_trip(
        [Foreign("a\nb"), Elsewhere("c\nd", (), "e\nf"), Named("g\nh", {"i\n": 1})]
    )
    assert arrived == [Foreign("a b"), Elsewhere("c d", (), "e f"), Named("g h", {"i": 1})]


@pytest.mark.parametrize("dtype", sorted(ARRAY_DTYPES))
def test_arrays_arrive_as_they_were(dtype: str) -> None:
    """All of numpy's dtypes cross, even those that torch does not have, in a dict with tensors."""
    array = numpy.arange(6).reshape(2, 3).astype(dtype)
    arrived = round_trip({"array": array, "tensor": torch.ones(2)})
    assert isinstance(arrived, dict)
    assert str(arrived["array"].dtype) == dtype
    assert numpy.array_equal(arrived["array"], array)
    assert torch.equal(arrived["tensor"], torch.ones(2))


def test_too_deeply_nested_values_are_neither_sent_nor_read() -> None:
    """Collections contain themselves, and others are forgeries with many levels."""
    endless: list[Value] = []
    endless.append(endless)
    looped: dict[str, Value] = {}
    looped["x"] = looped
    for value in (endless, looped, Named("x", {"x": endless})):
        with pytest.raises(BadFrame, match="parts or levels"):
            encode({}, {"value": value})
    for inside in (
        lambda value: [value],
        lambda value: (value,),
        lambda value: {1: value},
        lambda value: Named("x", {"x": value}),
    ):
        nested: Value = 1
        for _ in range(32):
            nested = inside(nested)
        assert round_trip(nested) == nested
        with pytest.raises(BadFrame, match="parts or levels"):
            encode({}, {"value": inside(nested)})
    for level in (
        lambda deep: {"list": [deep]},
        lambda deep: {"dict": [[1, deep]]},
        lambda deep: {"named": ["x", [["x", deep]]]},
    ):
        deep: Any = 1
        for _ in range(32):
            deep = level(deep)
        decode(forged(deep))
        with pytest.raises(BadFrame, match="parts or levels"):
            decode(forged(level(deep)))


def test_tensors_share_no_memory() -> None:
    """A submission that writes into one argument does not change another."""
    both = encode({}, {"one": torch.zeros(4), "other": torch.zeros(4)})
    values = decode(received(both))[1]
    one, other = values["one"], values["other"]
    assert isinstance(one, torch.Tensor)
    assert isinstance(other, torch.Tensor)
    one += 1
    assert torch.equal(other, torch.zeros(4))


@pytest.mark.parametrize(
    ("described", "payload", "says"),
    [
        (["float32", [5]], bytes(16), "fewer bytes"),
        (["float32", [3]], bytes(16), "more bytes"),
        (["float32", [2, 3], [0, 0]], bytes(4), "strides"),
        (["float32", [2**40]], bytes(16), "sizes"),
        (["float32", [2**20, 2**20]], bytes(16), "more elements"),
        (["float32", [0, 2**28, 2**28]], b"", "more elements"),
        (["float32", [True, 4]], bytes(16), "sizes"),
        (["float32", [1] * 33], bytes(4), "sizes"),
        (["qint8", [4]], bytes(4), "dtype"),
        ([["float32"], [4]], bytes(16), "dtype"),
        (["float32"], b"", "no dtype or no shape"),
        (2**63, b"", "64 bits"),
        ({"elsewhere": {"dtype": 7}}, b"", "no dtype"),
        ({"elsewhere": {"dtype": "int8", "shape": [1], "device": ["cpu"]}}, b"", "no device"),
        ({"elsewhere": {"dtype": "int8", "shape": 1, "device": "cpu"}}, b"", "sizes"),
        ({"foreign": ["an object"]}, b"", "unknown kind"),
        ({"dtype": "qint8"}, b"", "unknown kind"),
        ({"device": "moon"}, b"", "no such device"),
        ({"object": 1}, b"", "unknown kind"),
        ({"list": [], "tuple": []}, b"", "not of one kind"),
        ({"list": 3}, b"", "not a list"),
        ({"dict": [[1]]}, b"", "not a pair"),
        ({"dict": [[{"list": []}, 1]]}, b"", "unhashable key"),
        ({"dict": [[n * (2**61 - 1), 1] for n in range(4)] * 5}, b"", "too much alike"),
        ({"set": [{"dict": []}]}, b"", "unhashable key"),
        ({"bytes": 5}, bytes(4), "fewer bytes"),
        ({"bytes": -1}, b"", "a size is missing"),
        ({"text": 2}, b"\xff\xfe", "not encoded"),
        ({"text": MAX_TEXT + 1}, bytes(8), "texts are longer"),
        ({"list": [{"text": MAX_TEXT}] * 2}, bytes(MAX_TEXT), "texts are longer"),
        ({"array": ["object", [1]]}, bytes(8), "dtype"),
        ({"array": ["int64", [2**20, 2**20]]}, bytes(8), "more elements"),
        ({"named": [1, []]}, b"", "no names"),
        ({"list": [0] * (2**18)}, b"", "too many parts or levels"),
    ],
)
def test_a_forged_frame_is_refused(described: Any, payload: bytes, says: str) -> None:
    """The refusal comes first: no memory is taken that the bytes do not fill."""
    with pytest.raises(BadFrame, match=says):
        decode(forged(described, payload))


@pytest.mark.parametrize(
    "sizes", [((256 << 10) + 1, 2, 0), (2, (4 << 20) + 1, 0), (2, 2, 66 << 20)]
)
def test_an_answer_announced_as_larger_than_the_limit_is_not_read(sizes: tuple[int, ...]) -> None:
    """An announced size alone takes no memory."""
    read = [bytearray(struct.pack(">4sIIQ", b"GRDR", *sizes))]
    with pytest.raises(BadFrame, match="larger than any answer"):
        receive(lambda _: read.pop(), ANSWER)


@pytest.mark.parametrize("value", [1 << 63, [1 << 63] * 20, {"key": -(1 << 63) - 1}], ids=str)
def test_an_integer_of_more_than_64_bits_is_not_sent(value: Value) -> None:
    """The other end could not read it."""
    with pytest.raises(BadFrame, match="does not fit 64 bits"):
        encode({}, {"value": value})


def test_only_equal_frames_have_equal_digests() -> None:
    """The digest also covers the border between header and payload."""
    one = Received(struct.pack(">4sIIQ", b"GRDR", 2, 0, 6), bytearray(8))
    other = Received(struct.pack(">4sIIQ", b"GRDR", 6, 0, 2), bytearray(8))
    assert one.digest != other.digest
    assert one.digest == Received(one.prefix, bytearray(8)).digest


def test_a_long_text_is_sent_to_a_worker_but_not_back() -> None:
    """A course may pass a long text to a submission. The worker refuses so long an answer."""
    text = "a" * (MAX_TEXT + 1)
    assert round_trip(text, trusted=True) == text
    with pytest.raises(BadFrame, match="larger than allowed"):
        encode_answer(Answer(value=text))


# In a dict, these numbers have the same first places.
COLLIDING = [number << 40 for number in range(1, 20_001)]


@pytest.mark.parametrize(
    "keys",
    [COLLIDING, [(key, 1) for key in COLLIDING], [*range(20_000), *COLLIDING], [0.5, *COLLIDING]],
    ids=["numbers", "pairs", "beside ids", "fractions"],
)
def test_keys_that_can_be_chosen_to_collide_are_bounded(keys: list[Any]) -> None:
    """Hashes of numbers are known beforehand, and need not be equal to fill a dict slowly."""
    for value in (set(keys), dict.fromkeys(keys)):
        with pytest.raises(BadFrame, match="more than 16384 scattered numbers as keys"):
            round_trip(value)
        assert round_trip(value, trusted=True) == value


def test_a_large_vocabulary_arrives_in_either_direction() -> None:
    """Ids count from 0, and nobody can choose the hash of a text."""
    tokens = [b"%d" % number for number in range(50_000)]
    for value in (
        dict(enumerate(tokens)),
        {token: number for number, token in enumerate(tokens)},
        set(itertools.pairwise(tokens)),
        dict.fromkeys(COLLIDING[:16_384]),
    ):
        assert round_trip(value) == value
