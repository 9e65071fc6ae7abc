"""Stubs for the names of absent packages, and working ones for progress bars.

During the import of a submission every operation on a stub has no effect: attributes, decorators,
compiled patterns. Afterwards every operation raises, except on a *silent* stub: a logger, a run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

_OPERATORS = (
    *("call", "getitem", "setitem", "delitem", "delattr", "iter", "next", "len", "contains"),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "matmul", "rmatmul", "truediv", "rtruediv"),
    *("floordiv", "rfloordiv", "mod", "rmod", "divmod", "rdivmod", "pow", "rpow", "round"),
    *("and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift"),
    *("neg", "pos", "abs", "invert", "lt", "le", "gt", "ge", "bool", "int", "float", "index"),
    *("format", "fspath", "enter", "exit"),
)
# The results of operations for which Python demands a certain type.
_RESULTS: Mapping[str, Callable[[], Any]] = {
    **dict.fromkeys(("len", "int", "index"), int),
    **dict.fromkeys(("contains", "exit"), bool),
    **dict.fromkeys(("format", "fspath"), str),
    "float": float,
    "iter": lambda: iter(()),
}


@dataclass(slots=True)
class Phase:
    """The phase of a submission: its stubs accept every use only while it is imported.

    Silent stubs accept every use at any time, and are not true: `if wandb.run:` skips a block.
    """

    is_importing: bool = True
    is_silent: bool = False


class Stub:
    """A name of an absent package; `dotted` is the whole name."""

    def __init__(self, dotted: str, phase: Phase) -> None:
        vars(self).update(__name__=dotted, __qualname__=dotted, _phase=phase)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        dotted = f"{_name(self)}.{name}"
        return _used(self, dotted, lambda: Stub(dotted, _phase(self)))

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        is_first = all(isinstance(base, Stub) for base in bases) and bases[0] is self
        return (type("Absent", (StubBase,), {"_stub": self}),) if is_first else ()

    def __deepcopy__(self, _copied: object) -> Stub:
        return self

    __copy__ = __enter__ = lambda self: self

    def __reduce__(self) -> tuple[type, tuple[()]]:
        # A program that loads it need not have this class; `torch.load` accepts OrderedDict.
        return OrderedDict, ()

    def __instancecheck__(self, _instance: object) -> bool:
        return False

    __subclasscheck__ = __instancecheck__

    def __repr__(self) -> str:
        what = "does nothing here" if _phase(self).is_silent else "is not installed"
        return f"<{_name(self)}, which {what}>"


# Torch's messages name the type of a wrong argument.
Stub.__name__ = "NotInstalled"


class StubBase:
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
        if _phase(self._stub).is_silent:
            return getattr(self._stub, name)
        has_none = f"{type(self).__name__!r} object has no attribute {name!r}"
        said = f"{has_none}; its base {_name(self._stub)} is not installed"
        raise AttributeError(said, name=name, obj=self)


def _operator(operation: str) -> Callable[..., Any]:
    def operate(self: Stub, *args: Any, **kwargs: Any) -> Any:
        return _used(self, _name(self), lambda: _result(self, operation, args, kwargs))

    operate.__name__ = operate.__qualname__ = f"__{operation}__"
    return operate


for _operation in _OPERATORS:
    if f"__{_operation}__" not in vars(Stub):
        setattr(Stub, f"__{_operation}__", _operator(_operation))


class StubModule(ModuleType):
    """An absent module with an object for each name; some names of it may work."""

    def __init__(self, name: str, phase: Phase, working: Mapping[str, Any] | None = None) -> None:
        super().__init__(name)
        vars(self).update(working or {})
        self.__path__: list[str] = []
        self.__all__: list[str] = []
        self.__version__ = "0.0.0"
        self._phase = phase

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        # Taking a name is not a use: an import inside a function takes it when it runs.
        return Stub(f"{self.__name__}.{name}", self._phase)


def _name(stub: Stub) -> str:
    return str(vars(stub)["__name__"])


def _phase(stub: Stub) -> Phase:
    phase: Phase = vars(stub)["_phase"]
    return phase


def _used(stub: Stub, what: str, harmlessly: Callable[[], Any]) -> Any:
    """Calls `harmlessly` while the submission is imported.

    Raises:
        ModuleNotFoundError: afterwards; its name is that of the package.
    """
    if _phase(stub).is_importing:
        return harmlessly()
    package = what.partition(".")[0]
    said = f"No module named {package!r}, neither handed in nor installed, and {what} is used here"
    raise ModuleNotFoundError(said, name=package)


def _result(stub: Stub, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if operation in _RESULTS:
        return _RESULTS[operation]()
    if operation == "bool":
        return not _phase(stub).is_silent
    is_decorating = operation == "call" and len(args) == 1 and not kwargs
    if is_decorating and isinstance(args[0], FunctionType | type | staticmethod | classmethod):
        return args[0]
    return stub


def _nothing(*_: object, **__: object) -> None:
    return None


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


_PROGRESS: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("tqdm", "tqdm_notebook"), Progress),
    **dict.fromkeys(("trange", "tnrange"), lambda *bounds, **own: Progress(range(*bounds), **own)),
}
_SILENT = Phase(is_silent=True)


def silent_stub() -> Stub:
    """Returns an object that accepts every use and does nothing."""
    return Stub("stub", _SILENT)


def silent_module(name: str) -> StubModule:
    """Returns a module whose names do nothing, except progress bars, which pass their items on."""
    return StubModule(name, _SILENT, _PROGRESS)
