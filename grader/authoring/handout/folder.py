"""The folder that students get, with its README and the frozen contract."""

from __future__ import annotations

import ast
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from grader.authoring.handout import TEMPLATES
from grader.authoring.handout.freezing import freeze_public_tests
from grader.authoring.handout.installing import (
    ENVIRONMENT,
    PLACE,
    REQUIREMENTS,
    WORKFLOW,
    Installation,
    Platform,
    section,
)
from grader.authoring.handout.wheel import PYTHON, write_wheel
from grader.authoring.templates import filled
from grader.core.assignment import Assignment, BadAssignment
from grader.core.text import quantity
from grader.home.bench import CONTRACT
from grader.reports.package_needs import required_distributions
from grader.testing.cases import FIXTURES, remove_frozen
from grader.testing.course import in_building_order, load_foundations

_ABOUT = '"""Holds the types of the adapters, as they were handed out: leave this file as it is."""'
_STUDENTS = "assignment"


def frozen_contract(adapters: str) -> str:
    """Returns a module's adapters, with all that their annotations may need.

    The imports of a student's modules are left out, which may fail. Bodies never run; they tell
    which lines of a student's adapters were handed out.
    """
    kept = [one for one in ast.parse(adapters).body if not _is_left_out(one)]
    for function in kept:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            function.decorator_list = []
    return "\n\n".join([_ABOUT, *map(ast.unparse, kept)]) + "\n"


def _is_left_out(statement: ast.stmt) -> bool:
    """Returns whether a statement imports a student's module, or is the module's docstring."""
    match statement:
        case ast.Import(names=names):
            modules = [alias.name for alias in names]
        case ast.ImportFrom(module=str(module)):
            modules = [module]
        case _:
            return isinstance(statement, ast.Expr)
    return any(name.partition(".")[0] == _STUDENTS for name in modules)


PAGE = Path("docs/students.md")


def readme(name: str, page: str | None, installing: str, *last: str) -> str:
    """Returns the README; `page` is the author's text for students, if there is one.

    The installation comes before the first section of the page, and the `last` sections after it.
    """
    page = page or filled(TEMPLATES / "working.md.template", name=name)
    opening, heading, sections = page.partition("\n## ")
    parts = (opening, installing, f"## {sections}" if heading else "", *last)
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def rules(assignment: Assignment) -> str:
    """Returns the section on the due date and on forbidden functions; "" without either."""
    said = []
    if rule := assignment.late:
        zone = f" ({rule.zone})" if rule.zone else ""
        free = f", after {quantity(rule.days, 'free day')}" if rule.days else ""
        end = f"; after {rule.last:%Y-%m-%d %H:%M}, all of them" if rule.last else ""
        grace = f" You are in time until {rule.grace} minutes later." if rule.grace else ""
        due = f"- Due {rule.due:%Y-%m-%d %H:%M}{zone}.{grace}"
        said.append(f"{due} Later: minus {rule.price}{free}{end}.")
    for name, cost in assignment.forbidden.items():
        share = f"It costs {cost:g} % of the points of each exercise that calls it"
        said.append(f"- Write this by hand: `{name}`. {share if cost else 'Calling it is noted'}.")
    return "\n".join(["## Rules", "", *said]) if said else ""


_IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "*.egg-info")
_PARTS = ("adapters.py", _STUDENTS, "tests/conftest.py", "tests/public")
_CONSTRAINTS = "constraints.txt"
CONFTEST = filled(TEMPLATES / "conftest.py.template")


def lay_out(
    assignment: Assignment, folder: Path, platform: Platform | None, torch_index: str | None
) -> None:
    """Writes the handout into `folder`, which must not exist yet or be empty.

    Students hand in on `platform`; `torch_index` is the address of torch's builds for CPUs.

    Raises:
        BadAssignment: if the folder is in use or not writable, a part of the assignment is missing,
            or a reference fails a public test.
    """
    if folder.exists() and any(folder.iterdir()):
        raise BadAssignment(f"{folder} is not empty: name a new folder for the handout")
    try:
        _lay_out(assignment, folder, platform, torch_index)
    except OSError as error:
        raise BadAssignment(
            f"the handout cannot be made: {error.filename or folder}: {error.strerror or error}"
        ) from error


def _lay_out(
    assignment: Assignment, folder: Path, platform: Platform | None, torch_index: str | None
) -> None:
    root, tests = assignment.root, folder / "tests" / "public"
    packages = required_distributions(assignment, with_preload=False)
    with tempfile.TemporaryDirectory() as private:
        # `copytree` copies modes: a temporary folder's is private, but not that of a folder in it.
        frozen = Path(private, "public")
        frozen.mkdir()
        # Freeze first: if that fails, nothing has been written.
        freeze_public_tests(assignment, frozen)
        folder.mkdir(parents=True, exist_ok=True)
        for part in _PARTS:
            _copy(root / part, folder / part)
        remove_frozen(tests / FIXTURES)
        shutil.copytree(frozen, tests, dirs_exist_ok=True)
    wheel = write_wheel(folder)
    constraints = _CONSTRAINTS if (root / _CONSTRAINTS).is_file() else None
    if constraints:
        _copy(root / constraints, folder / constraints)
    installation = Installation(assignment.name, wheel, constraints, torch_index, packages)
    page = (root / PAGE).read_text(encoding="utf-8") if (root / PAGE).is_file() else None
    texts = {
        "README.md": readme(
            assignment.name, page, installation.section(), rules(assignment), section(platform)
        ),
        "pyproject.toml": _project(assignment),
        CONTRACT: frozen_contract((root / "adapters.py").read_text(encoding="utf-8")),
        REQUIREMENTS: installation.requirements(),
        ENVIRONMENT: installation.environment(),
        ".gitignore": filled(TEMPLATES / "gitignore.template"),
        "conftest.py": CONFTEST,
        PLACE: WORKFLOW,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=_IGNORED)
    else:
        shutil.copyfile(source, target)


def _project(assignment: Assignment) -> str:
    builds_on = load_foundations(assignment.root, [*assignment.points]).builds_on
    # In the template, uv must not manage the project: it would choose torch's build for GPUs.
    return filled(
        TEMPLATES / "pyproject.toml.template",
        distribution=re.sub("[^A-Za-z0-9]+", "-", assignment.name).strip("-") or "an",
        python=PYTHON,
        name=json.dumps(assignment.name, ensure_ascii=False),
        show_edits=json.dumps(assignment.show_edits),
        call_timeout=f"{assignment.call_timeout:g}",
        exercises=_lines(in_building_order(assignment.points, builds_on)),
        forbidden=_lines(assignment.forbidden),
    )


def _lines(numbers: Mapping[str, float]) -> str:
    # TOML takes no other key without quotes.
    bare = re.compile(r"[\w-]+", re.ASCII)
    return "\n".join(
        f"{name if bare.fullmatch(name) else json.dumps(name, ensure_ascii=False)} = {number:.12g}"
        for name, number in numbers.items()
    )
