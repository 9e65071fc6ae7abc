"""Finds stubs for packages that a submission imports and that are not installed.

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
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType, ModuleType

from grader.core.names import KNOWN_PACKAGES, SILENT, expects_absence
from grader.worker.observing.lines import own_file
from grader.worker.packages import Folders, Spec
from grader.worker.stub_packages import Phase, StubModule, silent_module

_MISSPELT = 0.8
_LARGEST_SOURCE = 1 << 20


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The finder of stubs for one submission, whose files lie below `root`.

    `names` are the packages that got stubs, in the order in which they were imported.
    """

    def __init__(self, root: Path, own_names: Iterable[str]) -> None:
        self._root = root
        self._own_names = [*own_names]
        self._phase = Phase()
        self.names: dict[str, None] = {}

    def begin_use(self) -> None:
        """Makes every operation on a stub raise from now on."""
        self._phase.is_importing = False

    def find_spec(self, fullname: str, _path: Folders, _target: object = None) -> Spec:
        """Returns the spec of a stub, if the package gets one."""
        top = fullname.partition(".")[0]
        if top not in self.names and not self._is_wanted(top):
            return None
        self.names[top] = None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Returns the stub, which is complete without execution."""
        top = spec.name.partition(".")[0]
        return silent_module(spec.name) if top in SILENT else StubModule(spec.name, self._phase)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: there is nothing to execute."""

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


class SilentFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder of silent modules, which replace those of these names and all modules in them."""

    def __init__(self, *names: str) -> None:
        self._names = tuple(f"{name}." for name in names)

    def find_spec(self, fullname: str, _path: Folders, _target: object = None) -> Spec:
        """Returns the spec of a silent module, whether or not the package is installed."""
        if not f"{fullname}.".startswith(self._names):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Returns a module whose names do nothing."""
        return silent_module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: there is nothing to execute."""


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
