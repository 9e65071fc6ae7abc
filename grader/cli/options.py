"""Options and arguments that several commands share, and `say`, which prints on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from grader.core.assignment import Assignment, find_assignment
from grader.grading.options import SEEDS, Options
from grader.reports.export.gradescope import VisibleWhen

Command = TypeVar("Command", bound=Callable[..., Any])

FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
PATH = click.Path(path_type=Path)
INTERRUPTED = 130
# The folder of a report's pages within a batch's results.
REPORT = "report"
# The folder of a batch's results, right after the command's name.
RESULTS = click.argument("folder", metavar="RESULTS", type=FOLDER)


def say(sentence: str) -> None:
    """Prints a sentence on stderr."""
    click.echo(sentence, err=True)


def isolation_in_words(isolation: Mapping[str, str]) -> str:
    """Returns which layers of isolation are missing, if any."""
    missing = sorted(layer for layer, reached in isolation.items() if reached == "none")
    return f"not here: {', '.join(missing)} (grader doctor)" if missing else "every layer holds"


details_option = click.option(
    "--details", is_flag=True, help="Print all that went wrong, and the tests that may be faulty."
)


assignment_option = click.option(
    "--assignment",
    "assignment_folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="FOLDER",
    help="Folder of the assignment (default: the one that holds the current folder).",
)


def jobs_option(help_text: str) -> Callable[[Command], Command]:
    """Adds `--jobs N`."""
    return click.option(
        "--jobs",
        type=click.IntRange(1),
        metavar="N",
        show_default="one for each processor",
        help=help_text,
    )


torch_index_option = click.option(
    "--torch-index",
    metavar="URL",
    help="Where pip finds torch's builds for CPUs: the address that PyTorch's installation "
    "page gives for pip and CPU.",
)


def display_options(command: Command) -> Command:
    """Adds the options on how Gradescope shows results."""
    leaderboard = click.option(
        "--leaderboard", is_flag=True, help="gradescope: show the points on a leaderboard."
    )
    hidden_tests = click.option(
        "--hidden-tests",
        type=click.Choice([str(shown) for shown in VisibleWhen]),
        default=str(VisibleWhen.VISIBLE),
        show_default=True,
        help="gradescope: when students see the results of hidden tests; unless that is "
        "always, they see no total.",
    )
    return hidden_tests(leaderboard(command))


# A million seconds are more than eleven days.
SECONDS = click.FloatRange(0, 1e6, min_open=True)


def grading_options(command: Command) -> Command:
    """Adds `--assignment`, and the options of grading and explaining."""
    for option in reversed(
        (
            click.option(
                "--seed",
                type=click.IntRange(1, SEEDS),
                metavar="N",
                help="Draws the tests' inputs (default: a new one).",
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
                type=SECONDS,
                default=120,
                metavar="SECONDS",
                help="Time for one submission; waiting for a busy machine does not count.",
                show_default=True,
            ),
            click.option(
                "--memory",
                "memory_mb",
                type=click.IntRange(64),
                default=2048,
                metavar="MB",
                help="Memory for one submission.",
                show_default=True,
            ),
            click.option(
                "--device",
                type=click.Choice(["cpu", "cuda"]),
                default="cpu",
                show_default=True,
                help="Where the submissions' functions are called (docs/gpu.md).",
            ),
            click.option(
                "--explain-timeout",
                "explain_seconds",
                type=SECONDS,
                default=20,
                metavar="SECONDS",
                help="Time for explaining one submission.",
                show_default=True,
            ),
            click.option(
                "--no-explain",
                is_flag=True,
                help="Grade only; `grader explain` adds explanations.",
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


def chosen_options(
    assignment_folder: Path, submissions: Iterable[Path], **chosen: Any
) -> tuple[Assignment, Options]:
    """Returns the assignment, and the choices among `grading_options` that are `Options`.

    An assignment that nobody named may not be part of the submissions.

    Raises:
        BadAssignment: if there is no usable assignment.
    """
    source = click.get_current_context().get_parameter_source("assignment_folder")
    judged = submissions if source is ParameterSource.DEFAULT else ()
    return find_assignment(assignment_folder, judged), Options(**chosen)
