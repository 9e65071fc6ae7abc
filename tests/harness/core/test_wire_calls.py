"""Calls and answers: their parts arrive, and a script crosses as the steps that are new."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from grader.core.wire.calls import (
    Answer,
    Call,
    CallDecoder,
    CallEncoder,
    Raised,
    Record,
    Use,
    Work,
    call_in,
    decode_answer,
    encode_answer,
    encode_call,
    records_as_json,
    records_from_json,
    values_of,
)
from grader.core.wire.frames import decode, received
from grader.core.wire.records import BadFrame, Line
from grader.core.wire.scripts import Doing, Step

pytestmark = pytest.mark.unit

FIRST, SECOND, THIRD = (Step(0, Doing.CALL, name) for name in ("one", "two", "three"))
NEXT = Step(0, Doing.NEXT)


@pytest.mark.parametrize(
    ("fields", "is_plain", "counts"),
    [
        ({}, True, False),
        ({"seed": 3, "record": True, "device": "meta"}, True, False),
        ({"wrt": ("x",)}, False, False),
        ({"count_work": True}, False, True),
        ({"count_lines": True}, False, True),
        ({"watch_inputs": True}, False, False),
        ({"trace": True}, False, False),
        ({"default_device": True}, False, False),
    ],
)
def test_a_plain_call_asks_for_its_result_alone(
    fields: dict[str, Any], is_plain: bool, counts: bool
) -> None:
    """Anything else that is observed makes another question of it."""
    call = Call("run_x", {}, **fields)
    assert (call.is_plain, call.counts) == (is_plain, counts)


@pytest.mark.parametrize(
    ("call", "last", "asks_for_an_item"),
    [
        (Call("run_x", {}), None, False),
        (Call("run_x", {}, before=(FIRST,)), None, False),
        (Call("", {}, before=(FIRST, SECOND)), SECOND, False),
        (Call("", {}, before=(NEXT,)), NEXT, True),
        (Call("run_x", {}, before=(FIRST,), then=(SECOND, NEXT)), NEXT, True),
        (Call("run_x", {}, then=(NEXT, FIRST)), FIRST, False),
    ],
)
def test_the_last_step_gives_the_answer(
    call: Call, last: Step | None, asks_for_an_item: bool
) -> None:
    """Without steps after it, that is the call itself."""
    assert call.last is last
    assert call.asks_for_an_item is asks_for_an_item
    assert call.is_script is bool(call.before or call.then)


def test_a_call_arrives_with_all_that_it_asks_for() -> None:
    """The exercise does not cross, and is empty."""
    call = Call(
        "run_x",
        {"n": 3},
        seed=5,
        wrt=("x", "y"),
        cotangent=torch.ones(2),
        part="loss",
        device="meta",
        default_device=True,
        count_work=True,
        count_lines=True,
        watch_inputs=True,
        record=True,
        before=(FIRST,),
        then=(SECOND,),
        trace=True,
        exercise="run_y",
    )
    arrived = call_in(*decode(received(encode_call(call)), trusted=True))
    assert torch.equal(arrived.cotangent, torch.ones(2))
    assert arrived.exercise == ""
    assert dataclasses.replace(arrived, cotangent=None) == dataclasses.replace(call, cotangent=None)
    plain = Call("run_x", {"n": 3})
    header, values = decode(received(encode_call(plain)))
    assert (header, values) == ({"adapter": "run_x", "seed": 0}, {"n": 3})
    assert call_in(header, values) == plain


def test_one_tensor_in_two_arguments_stays_one_tensor() -> None:
    """Gradients are asked for each argument: with those, each has a tensor of its own."""
    x, y = torch.ones(2, 3), torch.ones(2, 3)
    call = Call("run_x", {"query": x, "key": x, "other": y, "value": x})
    given = call_in(*decode(received(encode_call(call)), trusted=True)).arguments
    assert given["query"] is given["key"] is given["value"]
    assert given["other"] is not given["query"]
    assert all(torch.equal(own, x) for own in given.values())
    asked = dataclasses.replace(call, wrt=("query", "key"))
    apart = call_in(*decode(received(encode_call(asked)), trusted=True)).arguments
    assert len({id(own) for own in apart.values()}) == 4


def test_a_call_that_was_encoded_before_is_not_encoded_again() -> None:
    """Only its new steps are, if a worker knows the others."""
    call = Call("run_x", {}, then=(FIRST, SECOND), frame=b"as before")
    assert encode_call(call) == b"as before"
    header, _ = decode(received(encode_call(call, known=1)))
    assert header["known"] == 1


ARGUMENTS = {"n": 3}
SCRIPT = Call("run_x", ARGUMENTS, before=(FIRST,), then=(FIRST, SECOND))


@pytest.mark.parametrize(
    ("call", "known"),
    [
        (dataclasses.replace(SCRIPT, then=(FIRST, SECOND, THIRD)), 2),
        (SCRIPT, 2),
        (dataclasses.replace(SCRIPT, then=(FIRST,)), 0),
        (dataclasses.replace(SCRIPT, then=(FIRST, THIRD, SECOND)), 0),
        (dataclasses.replace(SCRIPT, before=()), 0),
        (dataclasses.replace(SCRIPT, before=(SECOND,)), 0),
        (dataclasses.replace(SCRIPT, adapter="run_y"), 0),
        (dataclasses.replace(SCRIPT, arguments={"n": 3}), 0),
    ],
)
def test_a_call_that_extends_the_last_one_crosses_as_its_new_steps(call: Call, known: int) -> None:
    """The same steps are the same objects: equal ones may hold other tensors."""
    encoder, decoder = CallEncoder(), CallDecoder()
    assert decoder.call(received(encoder.frame(SCRIPT))) == SCRIPT
    frame = encoder.frame(call)
    header, values = decode(received(frame), trusted=True)
    assert header.get("known", 0) == known
    assert len(values.get("then.", ())) == len(call.then) - known
    assert decoder.call(received(frame)) == call


@pytest.mark.parametrize(
    "asked", [{"record": True}, {"trace": True}, {"seed": 9}, {"device": "cuda"}]
)
def test_a_call_whose_steps_are_all_taken_again_is_sent_whole(asked: dict[str, Any]) -> None:
    """Steps may change their arguments in place; the next call needs new ones, too."""
    encoder, other = CallEncoder(), dataclasses.replace(SCRIPT, **asked)
    for call in (SCRIPT, other, SCRIPT):
        assert encoder.frame(call) == encode_call(call)
    assert encoder.frame(SCRIPT) != encode_call(SCRIPT)


def test_a_call_without_steps_is_sent_whole_again() -> None:
    """Nothing of it is known to the worker by steps."""
    encoder, call = CallEncoder(), Call("run_x", ARGUMENTS)
    assert encoder.frame(call) == encoder.frame(call) == encode_call(call)


def test_an_answer_arrives_with_all_that_was_observed() -> None:
    """Records cross with their tensors, and each value under its name."""
    line = Line("a.py", 3, "x = 1")
    answer = Answer(
        value=[1, "two"],
        raised=Raised("ValueError", "no"),
        gradients={"x": torch.ones(2)},
        changed_inputs=("y",),
        work=Work(3, 4, 5),
        uses=(Use("torch.f", "a.py", 3),),
        records=(Record(torch.zeros(2), (line, line)), Record(torch.ones(1), (line,))),
        origin=line,
    )
    frame = received(encode_answer(answer))
    arrived = decode_answer(frame)
    assert (arrived.digest, arrived.size) == (frame.digest, frame.size)
    for name in ("value", "raised", "changed_inputs", "work", "uses", "origin"):
        assert getattr(arrived, name) == getattr(answer, name)
    assert arrived.gradients["x"].tolist() == [1, 1]
    assert [record.value.tolist() for record in arrived.records] == [[0, 0], [1]]
    assert [record.stack for record in arrived.records] == [(line, line), (line,)]
    assert decode_answer(received(encode_answer(Answer(3)))).records == ()


PLACED = records_as_json([Record(torch.zeros(2), (Line("a.py", 3, "x = 1"),))])
ZEROS = values_of([Record(torch.zeros(2), ())])


@pytest.mark.parametrize(
    ("entry", "values", "said"),
    [
        ([], {}, "not described by an object"),
        (PLACED, {}, "not a tensor"),
        (PLACED, {"record.0": 3}, "not a tensor"),
        (PLACED | {"places": [1]}, ZEROS, "at a place that is not there"),
        (PLACED | {"places": [-1]}, ZEROS, "not below"),
        (PLACED | {"stacks": None}, ZEROS, "not the list"),
    ],
)
def test_forged_records_are_refused(entry: object, values: dict[str, Any], said: str) -> None:
    """A worker may invent its records."""
    with pytest.raises(BadFrame, match=said):
        records_from_json(entry, values)


def test_records_of_one_line_share_its_description() -> None:
    """A loop records hundreds of values at one line."""
    line, other = lines = [Line("a.py", number, "x") for number in (1, 2)]
    records = [Record(torch.ones(1), stack) for stack in ((line,), (other,), (line,))]
    assert records_as_json(records) == {
        "stacks": [[dataclasses.asdict(one)] for one in lines],
        "places": [0, 1, 0],
    }
    assert records_from_json(None, {}) == ()
