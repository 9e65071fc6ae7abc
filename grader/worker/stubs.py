"""Stubs for packages that a submission imports and that are not installed.

During the import of a submission every operation on a stub has no effect: attributes, decorators,
compiled patterns. Afterwards every operation raises, except on a *silent* stub: a logger, a run.
Stubs of progress bars work.

The finder comes last, and answers only imports in the submission's own code that do not handle the
package's absence. An import in a `try` that catches ImportError, or a look-up, finds the package
absent.
"""

from __future__ import annotations

import ast
import difflib
import functools
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

from grader.core.names import KNOWN_PACKAGES, SILENT, expects_absence
from grader.worker.observing.lines import own_file
from grader.worker.packages import Folders, Spec

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

    __name__: str
    _phase: Phase

    def __init__(self, dotted: str, phase: Phase) -> None:
        vars(self).update(__name__=dotted, __qualname__=dotted, _phase=phase)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        dotted = f"{self.__name__}.{name}"
        return _used(self, dotted, lambda: Stub(dotted, self._phase))

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
        what = "does nothing here" if self._phase.is_silent else "is not installed"
        return f"<{self.__name__}, which {what}>"


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
            _used(self._stub, self._stub.__name__, lambda: None)

    def __call__(self, *_: object, **__: object) -> Any:
        return _used(self._stub, self._stub.__name__, lambda: self._stub)

    def __getattr__(self, name: str) -> Any:
        if self._stub._phase.is_silent:
            return getattr(self._stub, name)
        has_none = f"{type(self).__name__!r} object has no attribute {name!r}"
        said = f"{has_none}; its base {self._stub.__name__} is not installed"
        raise AttributeError(said, name=name, obj=self)


def _operator(operation: str) -> Callable[..., Any]:
    def operate(self: Stub, *args: Any, **kwargs: Any) -> Any:
        return _used(self, self.__name__, lambda: _result(self, operation, args, kwargs))

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


def _used(stub: Stub, what: str, harmlessly: Callable[[], Any]) -> Any:
    """Calls `harmlessly` while the submission is imported.

    Raises:
        ModuleNotFoundError: afterwards; its name is that of the package.
    """
    if stub._phase.is_importing:
        return harmlessly()
    package = what.partition(".")[0]
    said = f"No module named {package!r}, neither handed in nor installed, and {what} is used here"
    raise ModuleNotFoundError(said, name=package)


def _result(stub: Stub, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if operation in _RESULTS:
        return _RESULTS[operation]()
    if operation == "bool":
        return not stub._phase.is_silent
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


_MISSPELT = 0.8
_LARGEST_SOURCE = 1 << 20


class SilentFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder of silent modules, which replace those of these names and all modules in them."""

    def __init__(self, *names: str) -> None:
        self._names = tuple(f"{name}." for name in names)

    def find_spec(self, fullname: str, _path: Folders, _target: object = None) -> Spec:
        """Returns the spec of a module, whether or not the package is installed."""
        if not f"{fullname}.".startswith(self._names):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Returns the module, which is complete without execution."""
        return silent_module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: there is nothing to execute."""


class StubFinder(SilentFinder):
    """The finder of stubs for one submission, whose files lie below `root`.

    `names` are the packages that got stubs, in the order in which they were imported.
    """

    def __init__(self, root: Path, own_names: Iterable[str]) -> None:
        super().__init__()
        self._root = root
        self._own_names = [*own_names]
        self._phase = Phase()
        self.names: dict[str, None] = {}

    def begin_use(self) -> None:
        """Makes every operation on a stub raise from now on."""
        self._phase.is_importing = False

    def find_spec(self, fullname: str, path: Folders, target: object = None) -> Spec:
        """Returns the spec of a stub, if the package gets one."""
        top = fullname.partition(".")[0]
        if top not in self.names and self._is_wanted(top):
            self.names[top] = None
            self._names += (f"{top}.",)
        return super().find_spec(fullname, path, target)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Returns the stub, which is silent for packages that only report."""
        is_silent = spec.name.partition(".")[0] in SILENT
        return super().create_module(spec) if is_silent else StubModule(spec.name, self._phase)

    def _is_wanted(self, top: str) -> bool:
        if top == "grader" or top in sys.stdlib_module_names or top in self._own_names:
            return False
        if top in sys.modules or importlib.machinery.PathFinder.find_spec(top) is not None:
            return False  # a module that an installed package does not have
        if top not in KNOWN_PACKAGES and difflib.get_close_matches(
            top, self._own_names, 1, _MISSPELT
        ):
            return False
        importer = _importer(sys._getframe(1))
        if importer is None or own_file(importer.f_code.co_filename, self._root) is None:
            return False
        return importer.f_lineno not in _plain_lines(importer.f_code.co_filename)


def find_versions_of(own_names: Iterable[str]) -> None:
    """Gives the submission's own packages, which were installed with pip at home, version 0."""
    own = {_normalised(name) for name in own_names}
    installed = importlib.metadata.version

    def version(distribution_name: str) -> str:
        try:
            return installed(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            if _normalised(distribution_name) not in own:
                raise
            return "0"

    importlib.metadata.version = version


def _normalised(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _importer(frame: FrameType | None) -> FrameType | None:
    """Returns the frame of an import statement; None if code only looks for a module."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name == "importlib.util":
            return None
        is_machinery = name in (__name__, "importlib", "importlib._bootstrap")
        if not is_machinery and "importlib" not in frame.f_code.co_filename:
            return frame
        frame = frame.f_back
    return None


@functools.cache
def _plain_lines(file: str) -> frozenset[int]:
    """Returns the lines of a file where an import of an absent package must fail as usual.

    There the code handles the absence, or imports all names (`*`) of what may be an own module:
    a stub has no names. A known package is seldom imported for a name that an exercise needs.
    """
    try:
        source = Path(file).read_bytes()[:_LARGEST_SOURCE]  # parsed in the declared encoding
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (OSError, ValueError, SyntaxError, RecursionError):
        return frozenset()
    return frozenset(
        line
        for statement in _plain_statements(tree)
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    )


def _plain_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Try | ast.With) and expects_absence(node):
            yield from node.body
        elif isinstance(node, ast.ImportFrom) and any(one.name == "*" for one in node.names):
            package = (node.module or "").partition(".")[0]
            yield from () if package in KNOWN_PACKAGES else (node,)
