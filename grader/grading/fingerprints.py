"""Hashes of all that a grade depends on, so that no submission is graded twice without need."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import platform
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grader
from grader.core.assignment import Assignment, Settings

_MARK = "exercise"
_WORD = re.compile(r"\w+")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | ast.ClassDef


@dataclass(frozen=True, slots=True)
class WrittenTest:
    """A test in its source: its name with those of its classes, its exercise, its content.

    The content is the function with its marks, without comments and layout. Each test may also
    depend on the rest of its file.
    """

    name: str
    exercise: str
    content: str


@dataclass(frozen=True, slots=True)
class TestFile:
    """A file that certainly holds these tests and no others, and on which no other test depends."""

    tests: tuple[WrittenTest, ...]
    rest: str


def files_of_tests(files: Collection[Path], others: Collection[Path]) -> Mapping[Path, TestFile]:
    """Returns those of `files` on which only their own tests depend.

    All tests may depend on the files that are left out. A file is returned only if there is no
    doubt. Each of its tests needs a mark with the exercise's name written out. None of its tests
    comes from elsewhere. Neither another file nor one of `others` mentions the file.
    """
    texts = {file: _text(file) for file in (*files, *others)}
    found = {file: _taken_apart(texts[file]) for file in files if file.suffix == ".py"}
    names_in = functools.cache(_mentioned)
    return {
        file: parts
        for file, parts in found.items()
        if parts is not None
        and not any(
            file.stem in text and file.stem in names_in(text)
            for other, text in texts.items()
            if other != file
        )
    }


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.suffix == ".py" else ""


def _mentioned(text: str) -> frozenset[str]:
    """Returns the names that occur, except in definitions of functions of that name."""
    return frozenset(word[0] for word in _WORD.finditer(text) if not _is_defined(text, word))


def _is_defined(text: str, word: re.Match[str]) -> bool:
    start, end = word.span()
    return text.startswith("(", end) and text.endswith("def ", 0, start)


def _taken_apart(source: str) -> TestFile | None:
    """Returns a file's tests and the rest; None if a test or its exercise is uncertain."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    nodes = [*ast.walk(tree)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    marks = {id(call.func): call for call in calls if _is_mark(call)}
    if not marks or any(_is_doubtful(node, marks) for node in nodes):
        return None
    found = dict(_tests(tree))
    used = {id(getattr(one, "func", None)) for it in found.values() for one in it.decorator_list}
    if not found or not marks.keys() <= used:  # pytest may be told to collect other names
        return None
    if len(found) != sum(isinstance(node, Function) and _is_test(node.name) for node in nodes):
        return None
    exercises = {name: _exercise(test) for name, test in found.items()}
    known = {name: exercise for name, exercise in exercises.items() if exercise is not None}
    if len(known) != len(found):
        return None
    return _cut_out(source, tree, found, known)


def _cut_out(
    source: str, tree: ast.Module, tests: Mapping[str, Function], exercises: Mapping[str, str]
) -> TestFile:
    """Returns the tests, and the rest of their file, from which they are removed.

    If the file mentions one of the tests elsewhere, all of the file counts as the rest.
    """
    own = {name: ast.unparse(test) for name, test in tests.items()}
    for scope in _scopes(tree):
        scope.body = [one for one in scope.body if one not in tests.values()]
    rest = ast.unparse(tree)
    mentioned = _mentioned("\n".join([rest, *own.values()]))
    if any(test.name in mentioned for test in tests.values()):
        own, rest = dict.fromkeys(own, ""), ast.unparse(ast.parse(source))
    written = tuple(WrittenTest(name, exercises[name], own[name]) for name in tests)
    return TestFile(written, rest)


def _is_mark(node: ast.AST) -> bool:
    """Returns whether a node is a call of `exercise("…")`, by itself or from a module."""
    called = node.func if isinstance(node, ast.Call) and _name(node) is not None else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
    return name == _MARK


def _name(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    name = first.value if isinstance(first, ast.Constant) else None
    return name if isinstance(name, str) else None


def _is_doubtful(node: ast.AST, marks: Mapping[int, ast.Call]) -> bool:
    """Returns whether a node may bring tests, or their exercises, that the source does not show."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [(alias.name, alias.asname or alias.name) for alias in node.names]
        return any(
            name == "*" or _is_test(bound) or (name == _MARK) != (bound == _MARK)
            for name, bound in names
        )
    if isinstance(node, ast.ClassDef):
        return bool(node.bases or node.keywords)
    if isinstance(node, ast.Name):
        made = isinstance(node.ctx, ast.Store) and (_is_test(node.id) or node.id == _MARK)
        return made or (node.id == _MARK and id(node) not in marks)
    if isinstance(node, ast.Attribute):
        return node.attr == _MARK and id(node) not in marks
    if isinstance(node, ast.Constant):
        return node.value == _MARK
    return isinstance(node, Function) and (node.name == _MARK or node.name.startswith("pytest_"))


def _is_test(name: str) -> bool:
    return name.lower().startswith("test")


def _tests(scope: Scope, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yields the test functions of a module and of its classes, each as pytest names it."""
    for node in scope.body:
        if isinstance(node, Function) and _is_test(node.name):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _tests(node, f"{prefix}{node.name}::")


def _scopes(scope: Scope) -> Iterator[Scope]:
    """Yields a module, its classes, and the classes in these."""
    yield scope
    for node in scope.body:
        if isinstance(node, ast.ClassDef):
            yield from _scopes(node)


def _exercise(test: Function) -> str | None:
    """Returns the exercise that a test is marked with; None unless it has exactly one mark."""
    marks = [mark for mark in test.decorator_list if isinstance(mark, ast.Call) and _is_mark(mark)]
    return _name(marks[0]) if len(marks) == 1 else None


# The parts of an assignment that its grades depend on.
SUITE = (
    "adapters.py",
    "pyproject.toml",
    "tests/*.py",
    "tests/public",
    "tests/hidden",
    "solutions",
    "assignment",
)
SHARED = ""
# Verdicts do not depend on points or days, nor grades on modules that are loaded ahead.
_NOT_SHARED = ("exercises", "preload", "late")


def hashes_by_test(assignment: Assignment, exercises: Collection[str] = ()) -> dict[str, str]:
    """Returns, by test, a hash of all that verdicts depend on except the submission and options.

    A test is named by its file and its function. Its hash covers that function, the rest of the
    file, and the parts that all tests share. These are the contract, the references, other files
    beside the tests, and the grader itself. `SHARED` has the hash of the shared parts. It applies
    to tests whose sources do not show their other dependencies.

    If `exercises` are given, only their tests have a hash. Points are left out, because verdicts do
    not depend on them.
    """
    from importlib.metadata import version  # only a batch needs it, which takes longer

    root, engine = assignment.root, Path(grader.__file__).parent
    files = suite_files(root)
    tests = _files_of_tests(assignment, files)
    # No judge's verdict depends on the fixture files for students.
    frozen = {file.parent / "fixtures" / f"{file.stem}.safetensors" for file in tests}
    frozen.add(assignment.public_tests / "fixtures" / "slips.json")
    shared = hashlib.sha256()
    for file in files:
        if file not in tests and file not in frozen and file != root / "pyproject.toml":
            _add(shared, root, file)
    for file in source_files(engine):
        _add(shared, engine, file)
    shared.update(json.dumps(_settings(root), sort_keys=True, default=str).encode())
    shared.update(f"{version('torch')} {platform.python_version()}".encode())
    hashes = {SHARED: shared.hexdigest()}
    for file, written in tests.items():
        place = file.relative_to(root).as_posix()
        for test in written.tests:
            if not exercises or test.exercise in exercises:
                digest = shared.copy()
                digest.update(json.dumps([place, written.rest, test.content]).encode())
                hashes[f"{place}::{test.name}"] = digest.hexdigest()
    return hashes


def without_parameters(test: str) -> str:
    """Returns a test's id as in `hashes_by_test`, the same for all parameters of a function."""
    return test.partition("[")[0]


def suite_hash(
    assignment: Assignment, hashes: Mapping[str, str], exercises: Collection[str] = ()
) -> str:
    """Returns a hash of all that the grades of a batch share, from the tests' hashes."""
    points = [item for item in assignment.points.items() if not exercises or item[0] in exercises]
    return hashlib.sha256(json.dumps([[*hashes.items()], points]).encode()).hexdigest()


def grade_key(settings: Settings, submission_hash: str, suite: str | None = None) -> str:
    """Returns a hash of all that a submission's grade depends on.

    If given, `suite` replaces the suite's hash in the settings. The folder of the assignment is
    left out, because its location changes no grade.
    """
    limits = [settings.timeout, settings.memory_mb]
    options = [settings.seed, settings.adapters, *limits, settings.device]
    text = json.dumps([submission_hash, suite or settings.suite_hash, options])
    return hashlib.sha256(text.encode()).hexdigest()


def _files_of_tests(assignment: Assignment, files: Sequence[Path]) -> Mapping[Path, TestFile]:
    """Returns the modules of tests on which only their own tests depend."""
    folders = (assignment.public_tests, assignment.hidden_tests)
    modules = [file for file in files if any(file.is_relative_to(it) for it in folders)]
    others = [file for file in files if file not in modules]
    return {
        file: written
        for file, written in files_of_tests(modules, others).items()
        if {test.exercise for test in written.tests} <= {*assignment.points}
    }


def _settings(root: Path) -> dict[str, Any]:
    """Returns the assignment's `pyproject.toml` without keys that no verdict depends on."""
    content = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    table = content["tool"]["grader"]
    for name in _NOT_SHARED:
        table.pop(name, None)
    return content


def _add(digest: Any, root: Path, file: Path) -> None:
    content = file.read_bytes()
    digest.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode())
    digest.update(content)


def suite_files(root: Path) -> Sequence[Path]:
    """Returns the files of an assignment that its grades depend on, in a stable order."""
    return [file for part in SUITE for path in sorted(root.glob(part)) for file in _files(path)]


def source_files(path: Path) -> Sequence[Path]:
    """Returns the files of a folder except hidden and compiled ones, in a stable order.

    Files of linked folders are among them: pytest collects their tests as well.
    """
    return sorted(_files_below(path))


def _files_below(folder: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    real = folder.resolve()
    for path in folder.glob("*") if real not in above else ():
        if not path.name.startswith(".") and path.name != "__pycache__":
            if path.is_dir():
                yield from _files_below(path, (*above, real))
            elif path.is_file():
                yield path


def _files(path: Path) -> Sequence[Path]:
    return [path] if path.is_file() else source_files(path)
