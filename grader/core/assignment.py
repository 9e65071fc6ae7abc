"""The assignment of a course: its folders, the points of each exercise, and a batch's settings."""

from __future__ import annotations

import keyword
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.core.late_rule import BadRule, LateRule, read_rule
from grader.core.names import CPU, meant
from grader.core.points import MOST_POINTS
from grader.core.text import PlainData, Refusal
from grader.core.verdict import Aspect

# On a busy machine, a submission may take this many times its seconds of wall-clock time.
WALL_FACTOR = 5
# The same for an explanation; smaller, because an instructor waits for it.
EXPLAINING_WALL_FACTOR = 3


@dataclass(frozen=True, slots=True)
class Settings(PlainData):
    """The values, beside the submissions, on which the grades of a batch depend.

    `assignment` is the assignment's folder; `exercises` are the exercises to grade (none: all).
    `adapters` is the path of the adapters in a submission. `timeout` (seconds) and `memory_mb`
    limit one submission; seconds in which the machine keeps it waiting do not count.
    `explain_seconds` limits its explanation. `device` is where its functions are called, as torch
    names it. `reuses_seed` is whether this seed may grade further submissions after students have
    read explanations. `suite_hash` is a hash of the tests, the references and the grader.
    """

    assignment: str
    seed: int
    exercises: tuple[str, ...]
    adapters: str
    timeout: float
    memory_mb: int
    suite_hash: str
    device: str = CPU
    explain_seconds: float = 20.0
    reuses_seed: bool = False


_ASPECTS = {
    Aspect.VALUES: 60.0,
    Aspect.GENERALITY: 15.0,
    Aspect.NUMERICS: 10.0,
    Aspect.GRADIENTS: 5.0,
    Aspect.DISCIPLINE: 5.0,
    Aspect.EFFICIENCY: 5.0,
}
_KEYS = (
    *("name", "exercises", "aspects", "call_timeout", "forbidden", "packages", "preload"),
    *("system_calls", "show_edits", "late", "carry_over"),
)


class BadAssignment(Refusal):
    """An assignment that cannot be used; the text is one sentence that says why."""


class NoAssignment(BadAssignment):
    """A folder that is not in any assignment."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The settings in the `[tool.grader]` table of the `pyproject.toml` in `root`.

    `points` holds the points of each exercise, by the name of its adapter; `aspects` are the shares
    of an exercise's points. `call_timeout` is the time for one call, in seconds. `forbidden` maps
    dotted names of functions and classes to percentages. An exercise that calls one loses that
    percentage of its points; 0 only notes the call.

    Submissions may import `packages`. `preload` lists modules of installed packages, which are
    loaded before the first submission. `system_calls` names the system calls that submissions may
    make beyond those of ordinary code. `show_edits` is whether students see the corrected line.
    `late` is the rule for late submissions. `carry_over` is the percentage of points that comes
    back if they were lost to a mistake in another exercise.
    """

    root: Path
    name: str
    points: Mapping[str, float]
    aspects: Mapping[Aspect, float]
    call_timeout: float
    forbidden: Mapping[str, float]
    packages: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    system_calls: tuple[str, ...] = ()
    show_edits: bool = False
    late: LateRule | None = None
    carry_over: float = 100.0

    @property
    def public_tests(self) -> Path:
        """Returns the tests that students hold, with their fixture tensors."""
        return self.root / "tests" / "public"

    @property
    def hidden_tests(self) -> Path:
        """Returns the tests that only the judge holds."""
        return self.root / "tests" / "hidden"

    @property
    def solutions(self) -> Path:
        """Returns the package of references; students never see it."""
        return self.root / "solutions"


def find_assignment(start: Path, submissions: Iterable[Path] = ()) -> Assignment:
    """Returns the assignment whose folder is `start` or the nearest one above it.

    Raises:
        BadAssignment: if there is none, its table is wrong, or it is part of one of `submissions`:
            a student's own tests would decide there, and run as trusted code.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        table = _table(folder / "pyproject.toml")
        if table is not None:
            for path in submissions:
                if folder.is_relative_to(path.resolve()):
                    raise BadAssignment(
                        f"{path} holds the tests that would grade it, in {folder}: name the "
                        "course's assignment with --assignment FOLDER"
                    )
            return _assignment(folder, table)
    raise NoAssignment(
        f"no pyproject.toml with a [tool.grader] table is in {start.resolve()} or above it: "
        "run the command inside an assignment's folder, or name that with --assignment"
    )


def _table(file: Path) -> Mapping[str, Any] | None:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadAssignment(f"{file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadAssignment(f"{file} is not TOML: {error}") from error
    tools = content.get("tool")
    table = tools.get("grader") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise BadAssignment(f"{file}: [tool.grader] must be a table, not {table!r}")
    return table


def _assignment(root: Path, table: Mapping[str, Any]) -> Assignment:
    unknown = sorted(set(table) - {*_KEYS})
    if unknown:
        raise BadAssignment(f"[tool.grader] knows no {unknown[0]!r}: {meant(unknown[0], _KEYS)}")
    points = _numbers(table.get("exercises", {}), "exercises")
    if not points:
        raise BadAssignment("[tool.grader.exercises] lists no exercise: give each one its points")
    for exercise, worth in points.items():
        if worth != round(worth, 2):
            raise BadAssignment(
                f"[tool.grader.exercises] {exercise} must be worth whole hundredths of a point, as "
                f"{round(worth, 2)}, not {worth!r}"
            )
    aspects = _numbers(table.get("aspects", {}), "aspects")
    strange = sorted(set(aspects) - set(Aspect))
    if strange:
        raise BadAssignment(
            f"[tool.grader] aspects knows no {strange[0]!r}: {meant(strange[0], Aspect)}"
        )
    shares = {Aspect(name): share for name, share in aspects.items()} or dict(_ASPECTS)
    timeout = table.get("call_timeout", 10)
    if not _is_number(timeout) or not timeout:
        raise BadAssignment(f"[tool.grader] call_timeout must be above 0, not {timeout!r}")
    name = str(table.get("name", root.name))
    forbidden = _forbidden(table.get("forbidden", {}))
    packages = _names(table, "packages", '["numpy", "pandas"]')
    preload = _names(table, "preload", '["numpy", "scipy.stats"]')
    dotted = next((package for package in packages if "." in package), None)
    if dotted:
        top = dotted.partition(".")[0]
        raise BadAssignment(f"[tool.grader] packages: write {top!r} for {dotted!r}, the package")
    # A job checks which of them can be granted.
    calls = _names(table, "system_calls", '["inotify_init1"]')
    show_edits = table.get("show_edits", False)
    if not isinstance(show_edits, bool):
        raise BadAssignment(f"[tool.grader] show_edits must be true or false, not {show_edits!r}")
    carry_over = _percent(table.get("carry_over", 100), "carry_over must be")
    return Assignment(
        root, name, points, shares, timeout, forbidden, packages, preload, calls, show_edits,
        _late(table.get("late")), carry_over,
    )  # fmt: skip


def _late(table: object) -> LateRule | None:
    try:
        return None if table is None else read_rule(table)
    except BadRule as wrong:
        raise BadAssignment(f"[tool.grader.late] {wrong}") from None


def _forbidden(table: object, above: str = "") -> dict[str, float]:
    """Returns the percentages by name; TOML reads an unquoted dotted name as nested tables."""
    if not isinstance(table, dict):
        raise BadAssignment("[tool.grader] forbidden must be a table of dotted names")
    costs: dict[str, float] = {}
    for key, entry in table.items():
        name = f"{above}{key}"
        if isinstance(entry, dict):
            costs |= _forbidden(entry, f"{name}.")
        else:
            costs[name] = _percent(entry, f"forbidden: {name} must cost")
    return costs


def _names(table: Mapping[str, Any], key: str, example: str) -> tuple[str, ...]:
    """Returns a list of names, each as often as once, in which each part is an identifier."""
    names = table.get(key, [])
    if not isinstance(names, list):
        raise BadAssignment(f"[tool.grader] {key} must be a list of names, as {example}")
    for name in names:
        parts = name.split(".") if isinstance(name, str) else [""]
        if not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
            raise BadAssignment(f"[tool.grader] {key}: {name!r} is not such a name as {example}")
        if parts[0] == "grader":
            raise BadAssignment(f"[tool.grader] {key}: {name} is out of a submission's reach")
    return tuple(dict.fromkeys(names))


def _numbers(table: object, where: str) -> dict[str, float]:
    if not isinstance(table, dict):
        raise BadAssignment(f"[tool.grader] {where} must be a table of numbers")
    for name, number in table.items():
        if not _is_number(number):
            raise BadAssignment(
                f"[tool.grader] {where}: {name} must be a number from 0 on, not {number!r}"
            )
    return {name: float(number) for name, number in table.items()}


def _percent(value: Any, must: str) -> float:
    if not _is_number(value) or value > 100:
        raise BadAssignment(f"[tool.grader] {must} 0 to 100 percent, not {value!r}")
    return float(value)


def _is_number(value: object) -> bool:
    """Returns whether a value is a number from 0 on, with which points can be counted."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < MOST_POINTS
