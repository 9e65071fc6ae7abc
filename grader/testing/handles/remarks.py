"""Says what was amiss where a test asked something that stays in the worker, and it raised."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grader.core.wire.calls import Raised
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.values import Foreign, Value
from grader.testing.contract.kinds import Kind, with_article
from grader.testing.contract.object_kinds import ClassType, ObjectType

_ASKING = (Doing.CALL, Doing.READ)
_CLASSES, _OBJECTS = ("a class (",), ("an object of ", "a module of ", "an iterator of ")
_FUNCTIONS = ("a function (",)


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a step and stays in the worker: who gave it, of which kind it must be."""

    giver: str
    kind: Kind
    value: Value


def remarked(raised: Raised, step: Step | None, came: Came | None) -> Raised:
    """What was raised in a step on what had come, with what that tells of it."""
    if step is None or came is None or step.doing not in _ASKING or raised.frames:
        return raised
    if raised.kind not in ("AttributeError", "TypeError"):
        return raised
    advice = _mistaken(came)
    if advice:
        assert isinstance(came.value, Foreign)
        said = f"{came.giver} must return {came.kind}, not {came.value.description}"
        return replace(raised, headline=said, remark=advice, suggestion="", accepts="")
    if isinstance(came.kind, ObjectType) and raised.kind == "AttributeError":
        return _lacking(raised, step.name, came.kind)
    return raised


def _mistaken(came: Came) -> str:
    """What to do where a class came for an object, or an object for a class."""
    words = came.value.description if isinstance(came.value, Foreign) else ""
    if isinstance(came.kind, ClassType) and words.startswith(_OBJECTS):
        return "The class itself is wanted: leave out the round brackets that make an object of it."
    if isinstance(came.kind, ObjectType) and words.startswith(_CLASSES):
        return "An object of it is wanted: round brackets after the name of a class make one."
    if isinstance(came.kind, ObjectType) and words.startswith(_FUNCTIONS):
        return "Was the function not called?"
    return ""


def _lacking(raised: Raised, name: str, kind: ObjectType) -> Raised:
    """Of a method or attribute that is not there, that adapters.py declares it."""
    if f"no attribute '{name}'" not in raised.message:
        return raised
    declared = {*kind.methods, *kind.attributes}
    brackets = "()" if name in kind.methods else ""
    owner = with_article(kind.name)
    said = f"adapters.py declares {name}{brackets} of {owner}: it has to be there, by that name."
    meant = "" if raised.suggestion in declared else raised.suggestion
    if meant:
        said += f" Is it what you called {meant}?"
    return replace(raised, remark=said, suggestion="")
