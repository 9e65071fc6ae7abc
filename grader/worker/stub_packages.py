"""Stubs for the names of absent packages, and working ones for joblib, progress bars, loggers.

During the import of a submission every operation on a stub has no effect: attributes, decorators,
compiled patterns, loggers. Afterwards every operation raises.
"""

from __future__ import annotations

import functools
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from opcode import opmap
from types import FrameType, FunctionType, ModuleType
from typing import Any

_OPERATORS = (
    *("call", "getitem", "setitem", "delitem", "delattr", "iter", "next", "len", "contains"),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "matmul", "rmatmul", "truediv", "rtruediv"),
    *("floordiv", "rfloordiv", "mod", "rmod", "divmod", "rdivmod", "pow", "rpow", "round"),
    *("and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift"),
    *("neg", "pos", "abs", "invert", "lt", "le", "gt", "ge", "bool", "int", "float", "index"),
    *("fspath", "enter", "exit", "await"),
)

_EXCEPTIONS = ("Error", "Exception", "Timeout", "Warning")


class Phase:
    """The phase of a submission: stubs accept every use only while it is imported."""

    def __init__(self) -> None:
        self.is_importing = True


class Stub:
    """A name of an absent package; `dotted` is the whole name.

    Its type has that name, since torch's messages name the type of a wrong argument.
    """

    _kind: type[Stub]

    def __new__(cls, dotted: str, *_: object) -> Any:
        return object.__new__(_type_of(dotted))

    def __init__(self, dotted: str, phase: Phase) -> None:
        vars(self).update(__name__=dotted, __qualname__=dotted, _phase=phase)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        dotted = f"{_name(self)}.{name}"
        return _used(self, dotted, lambda: _member(self._kind, dotted, vars(self)["_phase"]))

    def __setattr__(self, name: str, value: object) -> None:
        _used(self, f"{_name(self)}.{name}", lambda: vars(self).__setitem__(name, value))

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        is_first = all(isinstance(base, Stub) for base in bases) and bases[0] is self
        return (type("Absent", (AbsentBase,), {"_stub": self}),) if is_first else ()

    def __deepcopy__(self, _copied: object) -> Stub:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Stub, (_name(self), vars(self)["_phase"]), vars(self)

    def __instancecheck__(self, _instance: object) -> bool:
        return False

    __subclasscheck__ = __instancecheck__

    def __format__(self, _form: str) -> str:
        said: str = _used(self, _name(self), lambda: "")
        return said

    def __repr__(self) -> str:
        return f"<{_name(self)}, which is not installed>"


Stub._kind = Stub


@functools.cache
def _type_of(dotted: str) -> type[Stub]:
    return type(f"{dotted} (not installed)", (Stub,), {})


class AbsentBase:
    """The base of a submission's class whose only bases are absent."""

    _stub: Stub

    def __init_subclass__(cls, **_: object) -> None:
        """Accepts every argument that the absent class may accept."""
        super().__init_subclass__()

    def __init__(self, *args: object, **kwargs: object) -> None:
        if args or kwargs:
            _used(self._stub, _name(self._stub), lambda: None)

    def __call__(self, *_: object, **__: object) -> Any:
        return _used(self._stub, _name(self._stub), lambda: self._stub)

    def __getattr__(self, name: str) -> Any:
        has_none = f"{type(self).__name__!r} object has no attribute {name!r}"
        said = f"{has_none}; its base {_name(self._stub)} is not installed"
        raise AttributeError(said, name=name, obj=self)


def _operator(operation: str) -> Callable[..., Any]:
    def operate(self: Stub, *args: Any, **kwargs: Any) -> Any:
        if operation == "iter":
            parts = _unpacked(sys._getframe(1))
            return _used(self, _name(self), lambda: iter([_result(self, "", (), {})] * parts))
        return _used(self, _name(self), lambda: _result(self, operation, args, kwargs))

    operate.__name__ = operate.__qualname__ = f"__{operation}__"
    return operate


for _operation in _OPERATORS:
    setattr(Stub, f"__{_operation}__", _operator(_operation))


class StubModule(ModuleType):
    """An absent module with an object for each name; some names of it may work."""

    _kind = Stub

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
        # Taking a name is not a use: an import inside a function takes it when it runs.
        return _member(self._kind, f"{self.__name__}.{name}", self._phase)


def names_exception(name: str) -> bool:
    """Returns whether a name looks like that of an exception: `except` needs a class."""
    return name[:1].isupper() and name.endswith(_EXCEPTIONS)


@functools.cache
def absent_exception(dotted: str) -> type[Exception]:
    """Returns the exception of an absent package, which only the submission itself raises."""
    package, _, name = dotted.rpartition(".")
    return type(name, (Exception,), {"__module__": package})


def _name(stub: Stub) -> str:
    return str(vars(stub)["__name__"])


def _member(kind: type[Stub], dotted: str, phase: Phase) -> Stub | type[Exception]:
    is_exception = names_exception(dotted.rpartition(".")[2])
    return absent_exception(dotted) if is_exception else kind(dotted, phase)


def _used(stub: Stub, what: str, harmlessly: Callable[[], Any]) -> Any:
    """Calls `harmlessly` while the submission is imported.

    Raises:
        ModuleNotFoundError: afterwards; its name is that of the package.
    """
    if vars(stub)["_phase"].is_importing:
        return harmlessly()
    package = what.partition(".")[0]
    said = f"No module named {package!r}, neither handed in nor installed, and {what} is used here"
    raise ModuleNotFoundError(said, name=package)


def _unpacked(frame: FrameType) -> int:
    """Returns how many parts a frame needs of an iterable that it unpacks; 0 if it does not.

    `one, other = split(key)` and `one, *rest, last = split(key)` need two, a loop needs none.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    if code[at] not in (opmap["UNPACK_SEQUENCE"], opmap["UNPACK_EX"]):
        return 0
    # Before UNPACK_EX, an EXTENDED_ARG counts the names after the starred one.
    return code[at + 1] + (code[at - 1] if code[at - 2] == opmap["EXTENDED_ARG"] else 0)


def _result(stub: Stub, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if operation == "await":  # what it gives must end
        return iter(())
    if operation in ("len", "int", "index", "exit", "contains", "bool"):
        return 0 if operation in ("len", "int", "index") else operation == "bool"
    if operation == "float":
        return 0.0
    if operation == "fspath":
        return repr(stub)
    is_decorating = operation == "call" and len(args) == 1 and not kwargs
    if is_decorating and isinstance(args[0], FunctionType | type | staticmethod | classmethod):
        return args[0]
    return stub._kind(_name(stub), vars(stub)["_phase"])


Delayed = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def delayed(function: Callable[..., Any]) -> Callable[..., Delayed]:
    """Returns a function that notes its calls, as `joblib.delayed` does."""

    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Delayed:
        return function, args, kwargs

    return noted


class Parallel:
    """A stub of `joblib.Parallel`, which runs noted calls one after another."""

    def __init__(self, n_jobs: int | None = None, *_: Any, **options: Any) -> None:
        self.n_jobs = n_jobs
        self._gives = options.get("return_as", "list")

    def __call__(self, iterable: Iterable[Delayed]) -> Any:
        results = (function(*args, **kwargs) for function, args, kwargs in iterable)
        return list(results) if self._gives == "list" else results

    def __enter__(self) -> Parallel:
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing: there is nothing to end."""


def _nothing(*_: object, **__: object) -> None:
    return None


# `tqdm.auto.tqdm` iterates over its items, whether or not `tqdm.auto` was imported.
_MODULES_OF_BARS = ("asyncio", "auto", "autonotebook", "concurrent", "contrib", "notebook", "std")


class Progress:
    """A stub of `tqdm.tqdm`, which iterates over its items and shows nothing."""

    def __init__(self, iterable: Iterable[Any] | None = None, *_: Any, **options: Any) -> None:
        self.iterable = iterable
        self.n: float = 0
        own = len(iterable) if isinstance(iterable, Sized) else None
        self.total = options.get("total", own)

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable if self.iterable is not None else ():
            yield item
            self.n += 1

    def __len__(self) -> int:
        return len(self.iterable) if isinstance(self.iterable, Sized) else self.total or 0

    def __enter__(self) -> Progress:
        return self

    __exit__ = _nothing

    def update(self, n: float = 1) -> None:
        """Counts, and shows nothing."""
        self.n += n

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing

    write = pandas = staticmethod(_nothing)


class Silent(Stub):
    """A stub that accepts every use at any time, and is not true: a logger, a run, a writer.

    Saved, it is an empty mapping.
    """

    def __new__(cls, *_: object) -> Any:
        return object.__new__(cls)

    def __init__(self, dotted: str = "stub", phase: Phase | None = None) -> None:
        super().__init__(dotted, phase or Phase())

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<{_name(self)}, which does nothing here>"

    def __enter__(self) -> Silent:
        return self

    __copy__ = __enter__

    def __mro_entries__(self, _bases: tuple[object, ...]) -> tuple[type, ...]:
        return (SilentBase,)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        # A program that loads it need not have this class; `torch.load` accepts OrderedDict.
        return OrderedDict, ()


Silent._kind = Silent


class SilentBase:
    """The base of a submission's class that derives from a class of an absent package."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Silent()


WORKING: Mapping[str, Any] = {
    "Parallel": Parallel,
    "delayed": delayed,
    "cpu_count": lambda *_, **__: os.cpu_count() or 1,
}
"""The names of joblib that work."""


class SilentModule(StubModule):
    """A package whose names do nothing, except progress bars, which iterate over their items."""

    _kind = Silent

    def __init__(self, name: str) -> None:
        super().__init__(name, Phase(), _PROGRESS)

    def __getattr__(self, name: str) -> Any:
        if name in _MODULES_OF_BARS:
            return SilentModule(f"{self.__name__}.{name}")
        return super().__getattr__(name)


_PROGRESS: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("tqdm", "tqdm_notebook"), Progress),
    **dict.fromkeys(("trange", "tnrange"), lambda *bounds, **own: Progress(range(*bounds), **own)),
    **dict.fromkeys(
        ("process_map", "thread_map"),
        lambda function, *iterables, **_: [*map(function, *iterables)],
    ),
}
