"""Handles of objects, iterators, files and optimizers, on both sides."""

from __future__ import annotations

import pytest
import torch

from grader.core.wire.scripts import Doing
from grader.testing.handles import objects
from grader.testing.handles.makers import checked_name
from grader.testing.handles.scripts import BadThing
from grader.testing.outcome import StudentFault
from tests.harness.handle_fixtures import Asked, reference, student

pytestmark = pytest.mark.unit

BOTH = pytest.mark.parametrize("make", [student, reference])


# --- Objects ------------------------------------------------------------------------------------


@BOTH
def test_an_object_offers_what_the_contract_declares(make):
    """Methods, attributes, calls and lengths; anything else is the author's slip."""
    box = make("get_box")()
    assert (box.size, len(box), box(3)) == (0, 0, 3)
    box.put("a")
    box.size = 5
    assert (box.size, len(box), box(more=1), box.all()) == (5, 1, 6, ["a"])
    with pytest.raises(AttributeError, match="declares no held of a Box"):
        box.held  # noqa: B018
    with pytest.raises(AttributeError, match="declares no attribute put of a Box"):
        box.put = 1
    with pytest.raises(TypeError, match="more must be an int"):
        box("a")


@BOTH
def test_a_class_makes_objects(make):
    """A class that declares no `__init__` takes any arguments."""
    box = make("get_class")()(4)
    assert box.size == 4
    with pytest.raises(TypeError, match="start must be an int"):
        make("get_class")()("a")
    assert make("get_plain")()(1, 2, more=3).put(4) == 10


@BOTH
def test_objects_can_be_handed_to_each_other(make):
    """Their scripts are joined; what they hold stays where it was made."""
    handle = make("get_box")
    one, other = handle(), handle()
    other.put("inner")
    one.put([1, {"a": 2}])
    other.size = 3
    one.put(other.size)
    assert one.all() == [[1, {"a": 2}], 3]
    assert other.all() == ["inner"]
    assert [*other.each()] == [0, 1, 2]


def test_a_parameter_that_came_back_has_numbers_and_a_gradient():
    own = student("get_parameter")()
    assert own.value.tolist() == reference("get_parameter")().value.tolist() == [1.0, 1.0]
    assert own.grad is None
    own.grad = torch.ones(2)
    assert own.grad.tolist() == [1.0, 1.0]


# --- Iterators ----------------------------------------------------------------------------------


@BOTH
def test_items_are_asked_for_only_when_they_are_needed(make):
    """At the end, the steps ask for no more items than there are."""
    numbers = make("get_numbers")(4)
    assert [next(numbers), next(numbers)] == [0, 1]
    assert [*numbers] == [2, 3]
    assert [*numbers] == []
    assert [*make("get_numbers")(0)] == []


def test_steps_of_an_iterator_are_counted_not_repeated():
    """Other steps in between are kept in their order."""
    asked = Asked()
    box = student("get_box", asked)()
    box.size = 3
    items = box.each()
    assert [next(items), next(items)] == [0, 1]
    assert asked.calls[-1].then[-1].times == 2
    box.put(1)
    assert next(items) == 2
    assert [step.times for step in asked.calls[-1].then if step.doing is Doing.NEXT] == [2, 1]
    assert [*items] == []
    assert len(box) == 1
    own = [step for step in asked.calls[-1].then if step.doing is Doing.NEXT]
    assert [step.times for step in own] == [2, 1], "the one that found the end is taken back"


def test_an_endless_iterator_ends_the_test(monkeypatch):
    monkeypatch.setattr(objects, "_MOST_ITEMS", 3)
    with pytest.raises(StudentFault, match="get_numbers gave 3 items, and had not ended even then"):
        [*student("get_numbers")(9)]
    assert [*student("get_numbers")(2)] == [0, 1]


# --- Files and optimizers -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.txt", "a/b.txt", ".a"])
def test_a_file_may_have_any_name_below_its_folder(name):
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", "/a", "../a", "a/../b", "..", "a\0b", "."])
def test_a_file_must_stay_below_its_folder(name):
    with pytest.raises(BadThing, match="is not a name of a file"):
        checked_name(name)


@BOTH
def test_an_optimizer_takes_parameters_by_name_or_class(make):
    own = make("get_box")
    weight = own.parameter(torch.ones(2), torch.ones(2))
    optimizer = own.optimizer("SGD", [weight], lr=0.5)
    optimizer.step()
    assert weight.value.tolist() == [0.5, 0.5]
    optimizer.zero_grad()
    assert weight.grad is None
    optimizer.step()
    assert weight.value.tolist() == [0.5, 0.5]
    for kind in ("lr_scheduler", "SGDs", "Optimizer", "sgd"):
        with pytest.raises(BadThing, match=f"torch.optim has no optimizer {kind}"):
            own.optimizer(kind, [weight])
