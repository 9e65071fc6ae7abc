"""Stubs for the names of an absent package: harmless until they are really used.

During the import of a submission every operation on a stub has no effect: attributes, decorators,
compiled patterns, loggers. Afterwards every operation raises.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from opcode import opmap
from types import FrameType, FunctionType, ModuleType
from typing import Any

_UNDONE = (
    *("call", "getitem", "setitem", "iter", "next", "len", "contains", "bool", "enter", "exit"),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "matmul", "truediv", "rtruediv", "neg", "pow"),
    *("lt", "le", "gt", "ge", "or", "ror", "and", "invert", "int", "float", "index", "await"),
)


_EXCEPTIONS = ("Error", "Exception", "Timeout", "Warning")


class Phase:
    """Whether the submission is still being imported: only then nothing comes of what is done."""

    def __init__(self) -> None:
        self.is_importing = True


class Stub:
    """A name of an absent package; `dotted` is the whole name."""

    def __init__(self, dotted: str, phase: Phase) -> None:
        vars(self).update(__name__=dotted, __qualname__=dotted, _phase=phase)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _used(self, f"{_name(self)}.{name}", lambda: _part(self, name))

    def __setattr__(self, name: str, value: object) -> None:
        _used(self, f"{_name(self)}.{name}", lambda: vars(self).__setitem__(name, value))

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        is_first = all(isinstance(base, Stub) for base in bases) and bases[0] is self
        return (type("Absent", (AbsentBase,), {"_stand_in": self}),) if is_first else ()

    def __instancecheck__(self, _instance: object) -> bool:
        return False

    def __subclasscheck__(self, _subclass: type) -> bool:
        return False

    def __format__(self, _form: str) -> str:
        said: str = _used(self, _name(self), lambda: "")
        return said

    def __repr__(self) -> str:
        return f"<{_name(self)}, which is not installed>"


class AbsentBase:
    """The base of a submission's class whose only bases are absent."""

    _stand_in: Stub

    def __init_subclass__(cls, **_: object) -> None:
        """Takes whatever the absent class would have taken."""
        super().__init_subclass__()

    def __init__(self, *args: object, **kwargs: object) -> None:
        if args or kwargs:
            _used(self._stand_in, _name(self._stand_in), lambda: None)


def _operator(operation: str) -> Callable[..., Any]:
    def operate(self: Stub, *args: Any, **kwargs: Any) -> Any:
        if operation == "iter":
            parts = _unpacked(sys._getframe(1))
            return _used(self, _name(self), lambda: iter([_result(self, "", (), {})] * parts))
        return _used(self, _name(self), lambda: _result(self, operation, args, kwargs))

    operate.__name__ = operate.__qualname__ = f"__{operation}__"
    return operate


for _operation in _UNDONE:
    setattr(Stub, f"__{_operation}__", _operator(_operation))


class StubModule(ModuleType):
    """An absent package, or a module of one, that can be imported; some names of it may work."""

    def __init__(self, name: str, phase: Phase, working: Mapping[str, Any]) -> None:
        super().__init__(name)
        vars(self).update(working)
        self.__path__: list[str] = []
        self.__all__: list[str] = []
        self.__version__ = "0.0.0"
        self._phase = phase

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        # To take a name is to use nothing yet: an import inside a function takes it then.
        dotted = f"{self.__name__}.{name}"
        return absent_exception(dotted) if names_exception(name) else Stub(dotted, self._phase)


def names_exception(name: str) -> bool:
    """Returns whether a name is called as exceptions are: `except` wants a class of these."""
    return name[:1].isupper() and name.endswith(_EXCEPTIONS)


@functools.cache
def absent_exception(dotted: str) -> type[Exception]:
    """Returns the exception of an absent package, which nobody raises but the submission itself."""
    package, _, name = dotted.rpartition(".")
    return type(name, (Exception,), {"__module__": package})


def _name(stand_in: Stub) -> str:
    return str(vars(stand_in)["__name__"])


def _part(stand_in: Stub, name: str) -> Stub | type[Exception]:
    if names_exception(name):
        return absent_exception(f"{_name(stand_in)}.{name}")
    return Stub(f"{_name(stand_in)}.{name}", vars(stand_in)["_phase"])


def _used(stand_in: Stub, what: str, harmlessly: Callable[[], Any]) -> Any:
    """Nothing much while the submission is imported.

    Raises:
        ModuleNotFoundError: afterwards; its name is that of the package.
    """
    if vars(stand_in)["_phase"].is_importing:
        return harmlessly()
    package = what.partition(".")[0]
    said = f"No module named {package!r}, neither handed in nor installed, and {what} is used here"
    raise ModuleNotFoundError(said, name=package)


def _unpacked(frame: FrameType) -> int:
    """Into how many names a frame unpacks what it just goes through; 0 if it does something else.

    `one, other = split(key)` wants two parts, a loop needs none.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if code[at] == opmap["UNPACK_SEQUENCE"] else 0


def _result(stand_in: Stub, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if operation == "next":
        return iter(())
    if operation in ("len", "int", "index", "exit", "contains", "bool"):
        return 0 if operation in ("len", "int", "index") else operation == "bool"
    if operation == "float":
        return 0.0
    is_decorating = operation == "call" and len(args) == 1 and not kwargs
    if is_decorating and isinstance(args[0], FunctionType | type | staticmethod | classmethod):
        return args[0]
    return Stub(_name(stand_in), vars(stand_in)["_phase"])
