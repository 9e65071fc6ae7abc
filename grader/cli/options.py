"""Options that several commands share."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from grader.assignment import Assignment, BadAssignment, find_assignment
from grader.batch.fingerprints import suite_hash
from grader.judge.probe import examine_confinement
from grader.judge.process import Settings


class NotIsolated(Exception):
    """This machine does not grant every layer of isolation; the text says which."""


Command = TypeVar("Command", bound=Callable[..., Any])

FOLDER = click.Path(file_okay=False, path_type=Path)
_SEEDS = 1 << 31


def assignment_option(command: Command) -> Command:
    """`--assignment DIR`."""
    return click.option(
        "--assignment",
        "assignment_folder",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=Path(),
        help="Folder of the assignment (default: the one that holds the current folder).",
    )(command)


def grading_options(command: Command) -> Command:
    """What a grade depends on beside the submission and the assignment."""
    for option in reversed(
        (
            click.option(
                "--seed",
                type=click.IntRange(0, _SEEDS),
                help="Draws the tests' inputs (default: a new one for each batch).",
            ),
            click.option(
                "--exercise",
                "exercises",
                multiple=True,
                metavar="NAME",
                help="Grade this exercise only; may be repeated.",
            ),
            click.option(
                "--adapters",
                default="adapters.py",
                metavar="REL/PATH.py",
                help="Where in a submission the adapters lie.",
                show_default=True,
            ),
            click.option(
                "--timeout",
                type=click.FloatRange(0, min_open=True),
                default=120,
                metavar="SECONDS",
                help="What one submission may take.",
                show_default=True,
            ),
            click.option(
                "--memory",
                type=click.IntRange(64),
                default=2048,
                metavar="MB",
                help="What one submission may use.",
                show_default=True,
            ),
            click.option(
                "--require-isolation",
                is_flag=True,
                help="Refuse to grade where a layer of isolation does not hold (grader doctor).",
            ),
        )
    ):
        command = option(command)
    return assignment_option(command)


def chosen_settings(
    assignment_folder: Path,
    seed: int | None,
    exercises: Sequence[str],
    adapters: str,
    timeout: float,
    memory: int,
    require_isolation: bool,
) -> tuple[Assignment, Settings]:
    """The assignment, and the settings for its judges.

    Raises:
        BadAssignment: if there is no usable assignment, or an exercise is not one of its own.
        NotIsolated: if isolation is required, and some layer of it does not hold.
    """
    if require_isolation:
        _require_isolation()
    assignment = find_assignment(assignment_folder)
    for exercise in exercises:
        if exercise not in assignment.points:
            known = ", ".join(assignment.points)
            raise BadAssignment(f"{exercise} is no exercise of {assignment.name}; it has {known}")
    return assignment, Settings(
        assignment=str(assignment.root),
        seed=secrets.randbelow(_SEEDS) if seed is None else seed,
        exercises=tuple(sorted(set(exercises))),
        adapters=adapters,
        timeout=timeout,
        memory_mb=memory,
        suite_hash=suite_hash(assignment),
    )


def _require_isolation() -> None:
    examination = examine_confinement()
    missing = [layer for layer, reached in examination.isolation.items() if reached == "none"]
    missing += [attempt.what for attempt in examination.attempts if not attempt.ok]
    if missing:
        raise NotIsolated(
            f"isolation is required and does not hold here ({', '.join(missing)}): "
            "see `grader doctor`, or grade without --require-isolation"
        )
