"""Finds stubs for packages that a submission imports and that are not installed.

It is asked last, and only answers where the submission's own code imports, and does not provide for
the package's absence itself: what is tried, or looked for, is told to be absent as it is.

Functions and modules that `torch.compile` was asked to compile run as they are. A worker may start
no compiler, and needs none: the numbers are the same, and what is looked at while they are made
(operations, lines, gradients) is there to be seen.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.metadata
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import torch

from grader.core.names import KNOWN_PACKAGES, SILENT
from grader.worker.observing.lines import own_file
from grader.worker.stub_packages import WORKING, Phase, SilentModule, StubModule

ANNOTATING = {
    "jax": {"Array": type("Array", (), {"__module__": "jax"})},
    "jax.typing": {"ArrayLike": type("ArrayLike", (), {"__module__": "jax.typing"})},
}
"""Names that annotate, by their module: jaxtyping makes types of these, and needs classes."""

_WRITER = "torch.utils.tensorboard"
_CAUGHT = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
# It asks for jax where a name of it is taken that annotates.
_ASKING = ("jaxtyping", "jaxtyping._pytree_type")
_MISSPELT = 0.8
_LARGEST_SOURCE = 1 << 20


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The finder of stand-ins for one submission, whose files lie below `root`.

    `names` are the packages that were stood in for, in the order in which they were imported.
    """

    def __init__(self, root: Path, own_names: Iterable[str], engine: str = "grader") -> None:
        self._root = root
        self._own_names = [*own_names]
        self._engine = engine
        self._phase = Phase()
        self.names: dict[str, None] = {}

    def begin_use(self) -> None:
        """Has what is done with a stand-in raise from now on."""
        self._phase.is_importing = False

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns the spec of a stand-in, if there is to be one."""
        del target
        top = fullname.partition(".")[0]
        if top not in self.names and not self._is_wanted(top):
            return None
        self.names[top] = None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Returns the stand-in; nothing is to be executed in it."""
        top = spec.name.partition(".")[0]
        if top in SILENT:
            return SilentModule(spec.name)
        working = WORKING if top == "joblib" else ANNOTATING.get(spec.name, {})
        return StubModule(spec.name, self._phase, working)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: there is nothing to execute."""

    def _is_wanted(self, top: str) -> bool:
        if top == self._engine or top in sys.stdlib_module_names or top in self._own_names:
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


class SilentWriters(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """torch's own door to tensorboard, where that is absent: a writer that writes nothing."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns the spec of the silent module in place of torch's."""
        del target
        is_writer = fullname == _WRITER or fullname.startswith(f"{_WRITER}.")
        if not is_writer or importlib.machinery.PathFinder.find_spec("tensorboard"):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Returns a module whose names do nothing."""
        return SilentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: there is nothing to execute."""


class OwnDistributions(importlib.metadata.DistributionFinder):
    """Tells `importlib.metadata` of a submission's own packages without metadata: version 0."""

    def __init__(self, own_names: Iterable[str]) -> None:
        self._own_names = {_normalised(name) for name in own_names}

    def find_spec(self, *_: object, **__: object) -> None:
        """Finds no modules."""

    def find_distributions(  # type: ignore[override]
        self, context: importlib.metadata.DistributionFinder.Context
    ) -> Iterator[importlib.metadata.Distribution]:
        """Yields the distribution of that name, if a module of the submission is called so."""
        if context.name and _normalised(context.name) in self._own_names:
            yield _WithoutMetadata(context.name)


class _WithoutMetadata(importlib.metadata.Distribution):
    def __init__(self, name: str) -> None:
        self._distribution = name

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: {self._distribution}\nVersion: 0\n"

    def locate_file(self, path: object) -> Path:
        return Path(str(path))


def _normalised(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _importer(frame: FrameType | None) -> FrameType | None:
    """Returns the frame of an import statement; None if it is only asked whether one could."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name == "importlib.util":
            return None
        is_machinery = name in (__name__, "importlib", "importlib._bootstrap")
        is_machinery |= name in _ASKING
        if not is_machinery and "importlib" not in frame.f_code.co_filename:
            return frame
        frame = frame.f_back
    return None


@functools.cache
def _plain_lines(file: str) -> frozenset[int]:
    """Returns the lines of a file where an import is to fail as it does.

    Its absence is provided for, or all names are taken of what has none.
    """
    try:
        source = Path(file).read_text("utf-8")[:_LARGEST_SOURCE]
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
        if isinstance(node, ast.Try) and any(map(_catches_absence, node.handlers)):
            yield from node.body
        elif isinstance(node, ast.ImportFrom) and any(one.name == "*" for one in node.names):
            yield node


def _catches_absence(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [one.id if isinstance(one, ast.Name) else None for one in caught]
    return handler.type is None or any(name in _CAUGHT for name in names)


_INNER = "_orig_mod"


class Compiled(torch.nn.Module):
    """A module in the place of another one, as `torch.compile` returns it.

    It has the other one as `_orig_mod`, and so has each name in its state dict. In all else it is
    like the other one: what is read, called or set is the other one's.
    """

    _orig_mod: Any

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self._orig_mod = module

    @property
    def training(self) -> bool:
        """Returns the mode of the other module."""
        return bool(self.__dict__["_modules"][_INNER].training)

    @training.setter
    def training(self, is_so: bool) -> None:
        # torch sets it before there are modules.
        for inner in self.__dict__.get("_modules", {}).values():
            inner.training = is_so

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Calls the other module."""
        return self._orig_mod(*inputs, **named)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("_modules", {}).get(_INNER)
        return inner if name == _INNER else getattr(inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == _INNER or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)


def load_no_compiler() -> None:
    """Has torch call as they are the functions that it keeps from being compiled.

    The first call of one loads `torch._dynamo`, which takes a second: steps of optimizers, and
    most operations on the meta device (`torch/_compile.py`).
    """
    # Where another torch does it otherwise, that is loaded, and nothing else is different.
    with contextlib.suppress(ImportError, KeyError):
        from torch._compile import _disable_dynamo

        code = _disable_dynamo(lambda: None).__code__
        for one in gc.get_objects():
            if type(one) is FunctionType and one.__code__ is code:
                function = inspect.getclosurevars(one).nonlocals["fn"]
                function.__dynamo_disable = function


def do_without_compiling() -> None:
    """Has `torch.compile`, and a module's `compile`, run what they are given as it is."""
    torch.compile = _as_it_is


def _as_it_is(model: Callable[..., Any] | None = None, **_options: Any) -> Any:
    """Stands for `torch.compile`, which is called, or a decorator with options or without."""
    if model is None:
        return _as_it_is
    return Compiled(model) if isinstance(model, torch.nn.Module) else model
