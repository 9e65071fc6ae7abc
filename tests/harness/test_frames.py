"""What crosses the border between judge and worker arrives as it was, and a lie is refused."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import pytest
import torch

from grader.wire.frames import (
    DTYPES,
    BadFrame,
    Elsewhere,
    Foreign,
    Received,
    Value,
    decode,
    encode,
    receive,
)


def received(frame: bytes) -> Received:
    """A frame, as it comes out of a channel."""
    stream = io.BytesIO(frame)
    return receive(lambda size: bytearray(stream.read(size)))


def sent(value: Value, trusted: bool = False) -> Value:
    """What becomes of a value on its way."""
    return decode(received(encode({}, {"value": value})), trusted)[1]["value"]


def forged(described: Any, payload: bytes = b"") -> Received:
    """A frame with this description of its one value."""
    text = json.dumps([{}, {"value": described}]).encode()
    return received(struct.pack(">4sIQ", b"GRDR", len(text), len(payload)) + text + payload)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)], ids=str)
def test_tensors_arrive_as_they_were(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """Of every dtype that may cross, scalars and empty ones too."""
    tensor = torch.randint(0, 2, shape).to(dtype)
    arrived = sent(tensor)
    assert isinstance(arrived, torch.Tensor)
    assert arrived.dtype == dtype
    assert torch.equal(arrived, tensor)


def test_strides_survive_from_judge_to_worker() -> None:
    """A test that hands over a transposed matrix tests with one."""
    tensor = torch.arange(6.0).view(2, 3).mT
    arrived = sent(tensor, trusted=True)
    assert isinstance(arrived, torch.Tensor)
    assert torch.equal(arrived, tensor)
    assert arrived.stride() == tensor.stride()


@pytest.mark.parametrize(
    "value",
    [None, True, 7, -0.5, "text", Foreign("a tuple", (Elsewhere("float32", (2,), "meta"), None))],
    ids=repr,
)
def test_plain_values_and_descriptions_arrive_as_they_were(value: Value) -> None:
    """Numbers stay numbers of their kind; of what cannot cross its description does."""
    arrived = sent(value)
    assert arrived == value
    assert type(arrived) is type(value)


def test_tensors_share_no_memory() -> None:
    """A submission that writes into one argument changes no other."""
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
        ({"dtype": 7}, b"", "no dtype"),
        ({"foreign": "x", "elements": 3}, b"", "not a list"),
    ],
)
def test_a_lie_is_refused(described: Any, payload: bytes, says: str) -> None:
    """Before anything is made of it: no memory is taken that the bytes do not fill."""
    with pytest.raises(BadFrame, match=says):
        decode(forged(described, payload))


def test_equal_digests_are_equal_frames() -> None:
    """Header and payload are one stretch of bytes: where one ends belongs to the digest."""
    one = Received(struct.pack(">4sIQ", b"GRDR", 2, 6), bytearray(8))
    other = Received(struct.pack(">4sIQ", b"GRDR", 6, 2), bytearray(8))
    assert one.digest() != other.digest()
    assert one.digest() == Received(one.prefix, bytearray(8)).digest()
