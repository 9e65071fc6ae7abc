"""`grader decide`: an instructor's decisions about grades, kept in a file beside them."""

from __future__ import annotations

import datetime
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from grader.cli.options import REPORT, RESULTS
from grader.core.names import several
from grader.core.text import quantity
from grader.results.anonymous import AnonymousResults
from grader.results.decisions.decision import BadDecisions, ClassList, DecisionKind, UnknownName
from grader.results.decisions.file import (
    NAME,
    append_decision,
    complaints,
    decision_of,
    read_decisions,
    remove_decision,
)
from grader.results.decisions.opening import aim, late_rule, open_settling, read_times
from grader.results.decisions.settling import effects
from grader.results.store import Store

_MOMENT = click.DateTime(["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M%z"])
_FOLDER = click.pass_obj
_PERSON = click.argument("person")
_SUBMISSION = click.argument("submission")
_PART = click.argument("what", metavar="TEST_OR_EXERCISE")
_BY = click.option("--by", "who", metavar="NAME", help="Your name, for the file.")
_WHY = "The reason, for the student to read."
_TOLD = (_BY, click.option("--reason", metavar="TEXT", required=True, help=_WHY))
_TELLABLE = (_BY, click.option("--reason", metavar="TEXT", help=_WHY))
_NOTE = "The reason, for you: it stays in the file of decisions."
_NOTED = (_BY, click.option("--reason", metavar="TEXT", help=_NOTE))
_Parameter = Callable[[Callable[..., None]], Callable[..., None]]


@click.group(short_help="Change grades, with a reason.", invoke_without_command=True)
@RESULTS
@click.pass_context
def decide(context: click.Context, folder: Path) -> None:
    """Writes decisions about the grades in RESULTS into RESULTS/decisions.toml.

    \b
    Examples:
      grader decide results/ points alice run_rope 2 --reason "the docstring was wrong"
      grader decide results/ extension alice --until 2026-10-05T23:59
      grader decide results/

    Without a command, lists the decisions. Each command has the name of the table that it writes.
    Grading never changes that file. Reports and exports read it, and show the tests' points and
    your decisions separately. PERSON is a submission's name, or a person's name, id or e-mail
    address. PERSON may also be a number of `grader report --anonymous`; then no name is shown. You
    can also write the file by hand: docs/instructors.md.

    The help of a command: grader decide results/ points --help
    """
    context.obj = folder
    if context.invoked_subcommand is None:
        context.invoke(list_decisions)


@decide.command(
    short_help="Points in a test, an exercise or as a whole.",
    context_settings={"ignore_unknown_options": True},
)
@_FOLDER
@_PERSON
@click.argument("what", metavar="[TEST_OR_EXERCISE]", nargs=-1)
@click.argument("number", metavar="POINTS")
@_TOLD[0]
@_TOLD[1]
def points(folder: Path, /, what: tuple[str, ...], number: str, **told: Any) -> None:
    """Gives PERSON, or `everybody`, POINTS; with a sign, as in +1.5 or -1, changes their points.

    \b
    Examples:
      grader decide results/ points alice run_rope 2 --reason "the docstring was wrong"
      grader decide results/ points alice +1.5 --reason "found a bug in the tests"

    Without a test or exercise, the points are for the whole grade. Such a decision comes last, and
    lateness takes nothing from it.
    """
    if len(what) > 1:
        raise click.UsageError(f"one test or exercise at a time, not {', '.join(what)}")
    try:
        amount = float(number.replace("−", "-"))
    except ValueError:
        said = f"the points must be a number such as 2, +1.5 or -1, not {number!r}"
        raise click.UsageError(said) from None
    key = "by" if number[:1] in "+-−" else "to"
    told[key] = int(amount) if amount.is_integer() else amount
    _write(folder, DecisionKind.POINTS, what[0] if what else None, **told)


def _add(kind: DecisionKind, short_help: str, text: str, *parameters: _Parameter) -> None:
    """Adds a command that writes its parameters into a table of a kind."""

    def write(folder: Path, /, **told: Any) -> None:
        _write(folder, kind, **told)

    command: Callable[..., None] = write
    for parameter in reversed(parameters):
        command = parameter(command)
    name = kind.replace("_", "-")
    decide.command(name, short_help=short_help, help=text)(_FOLDER(command))


_add(
    DecisionKind.COMMENT,
    "A comment for a student.",
    """Writes TEXT into the feedback of PERSON.

    \b
    Example:
      grader decide results/ comment alice "Well argued in your mail."
    """,
    *(_PERSON, click.argument("text"), _BY),
)
_add(
    DecisionKind.EXCUSED,
    "Excuse somebody.",
    """Excuses PERSON from an exercise, or from everything.

    \b
    Examples:
      grader decide results/ excused bob run_rope --reason "ill"
      grader decide results/ excused bob --reason "ill"

    An excused exercise gives the same share of its points as the person's other exercises.
    """,
    *(_PERSON, click.argument("exercise", required=False), *_TELLABLE),
)
_add(
    DecisionKind.EXTENSION,
    "More time for somebody.",
    """Gives PERSON more time, and with PERSON the whole group.

    \b
    Examples:
      grader decide results/ extension bob --until 2026-10-05T23:59
      grader decide results/ extension bob --days 2
    """,
    _PERSON,
    click.option("--until", type=_MOMENT, help="The new due date, on the assignment's clock."),
    click.option("--days", type=click.IntRange(1), help="The number of days more."),
    *_TELLABLE,
)
_add(
    DecisionKind.TAKEN_OUT,
    "Take a test or exercise out for everybody.",
    """Takes a test or an exercise out for everybody.

    \b
    Example:
      grader decide results/ taken-out test_run_rope.py::test_values --reason "asked for too much"

    A test's points go to the other tests of its exercise. An exercise's points are removed.
    """,
    *(_PART, *_TOLD),
)
_add(
    DecisionKind.BONUS,
    "Make a test or exercise a bonus.",
    """Makes a test or an exercise a bonus: its points are added for people who earn them.

    \b
    Example:
      grader decide results/ bonus run_rope --reason "was not in the lecture"
    """,
    *(_PART, *_TOLD),
)
_add(
    DecisionKind.TAKEN_INSTEAD,
    "Which submission counts.",
    """Gives PERSON the grade of a SUBMISSION in place of any other.

    \b
    Example:
      grader decide results/ taken-instead alice alice-second-try
    """,
    *(_PERSON, _SUBMISSION, *_NOTED),
)
_add(
    DecisionKind.WHOSE,
    "Say whose a submission is.",
    """Says that a SUBMISSION is PERSON's, even if another person seems to have handed it in.

    \b
    Examples:
      grader decide results/ whose guest_7 jane@school.example
      grader decide results/ whose submission_5-2 submission_5-2

    Use it for submissions that the report lists as of an uncertain author. PERSON may be the
    submission's own name: then it belongs to the people whom the submission itself names.
    """,
    *(_SUBMISSION, _PERSON, *_NOTED),
)
_add(
    DecisionKind.LATE_DAYS,
    "How many late days are left.",
    """Sets the number of late days that PERSON has left.

    \b
    Example:
      grader decide results/ late-days alice 2
    """,
    *(_PERSON, click.argument("left", type=click.IntRange(0)), *_NOTED),
)
_add(
    DecisionKind.HANDED_IN,
    "When somebody handed in.",
    """Says when PERSON handed in, if the platform does not say or another time counts.

    \b
    Example:
      grader decide results/ handed-in alice 2026-10-03T23:59
    """,
    *(_PERSON, click.argument("at", type=_MOMENT), *_NOTED),
)


@decide.command(short_help="When everybody handed in, from a table.")
@_FOLDER
@click.argument("table", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_BY
def times(folder: Path, table: Path, who: str | None) -> None:
    """Takes the times when people handed in from a CSV file, at every report and export.

    \b
    Example:
      grader decide results/ times times.csv

    The file has a header, a column for times (submitted_at, Submission Time, …: ISO 8601), and
    columns for people (submission, id, email, name, …). It is not copied: keep it beside the
    decisions.
    """
    place = os.path.relpath(table.resolve(), folder.resolve())
    _write(folder, DecisionKind.TIMES, who=who, table=place)


@decide.command("list", short_help="List the decisions and their effects.")
@_FOLDER
@click.option("--anonymous", is_flag=True, default=False, help="Numbers in place of names.")
def list_decisions(folder: Path, anonymous: bool) -> None:
    """Lists the decisions by number, each with everything that it changed.

    \b
    Examples:
      grader decide results/ list
      grader decide results/ list --anonymous
    """
    results = Store.read(folder)
    results = AnonymousResults.of(results) if anonymous else results
    found = effects(results, open_settling(results))
    for number, effect in enumerate(found, 1):
        click.echo(f"{number:3}  {effect.decision.source}  {effect.words}")
        for line in effect.in_short():
            click.echo(f"     {line}")
    if not found:
        click.echo(f"nothing is decided in {folder / NAME}")


@decide.command(short_help="Take a decision back.")
@_FOLDER
@click.argument("number", type=click.IntRange(1))
def undo(folder: Path, number: int) -> None:
    """Removes the decision with the NUMBER that `list` shows from the file.

    \b
    Example:
      grader decide results/ undo 8
    """
    file = folder / NAME
    decisions = read_decisions(file)
    if number > len(decisions):
        count = quantity(len(decisions), "decision")
        raise BadDecisions(f"{file} holds {count}, and none with the number {number}")
    remove_decision(file, decisions[number - 1].line)
    click.echo(f"taken back: {decisions[number - 1].source}")


def _part(known: ClassList, what: str) -> dict[str, str]:
    """Returns the part of a table that names an exercise or a test of the class."""
    if what in known.exercises:
        return {"exercise": what}
    try:
        known.tests(what)
    except UnknownName:
        if not ("::" in what or what.startswith("test")):
            known.exercise(what)
        raise
    return {"test": what}


def _write(
    folder: Path, kind: DecisionKind, what: str | None = None, who: str | None = None, **table: Any
) -> None:
    """Writes a decision with these keys, except those that are None; `what` is a test or exercise.

    Raises:
        BadDecisions: if it is incomplete, or does not fit this class.
    """
    named = results = Store.read(folder)
    known, file = ClassList(named), folder / NAME
    for key in ("person", "submission"):
        if key in table and (submission := known.by_number(table[key])):
            # A decision by an anonymous number shows no name, neither here nor in the file. The
            # label of a number is no later submission's name.
            results = anonymous = AnonymousResults.of(named)
            table[key] = anonymous.mask.labels[submission]
    table |= _part(known, what) if what else {}
    found = {key: value for key, value in table.items() if value is not None}
    if wrong := [*complaints(kind, found)]:
        raise BadDecisions("; ".join(wrong))
    decision = decision_of(kind, found, file.name, 0)
    [*aim(decision, known)]
    until, rule = decision.until, late_rule(named, Path())
    if until and rule and rule.local(until) <= (due := rule.local(rule.due)):
        raise BadDecisions(f"until must be after the due date, {due:%Y-%m-%dT%H:%M %Z}")
    # A table that cannot be read would stop every command.
    _, strangers = read_times(folder / decision.table, known) if decision.table else ((), [])
    now = datetime.datetime.now().astimezone()
    line = append_decision(file, kind, {**found, "who": who, "when": now})
    click.echo(f"{file}:{line}: written")
    settling = open_settling(results)
    for effect in effects(results, settling):
        for told in effect.in_short() if effect.decision.line == line else ():
            click.echo(f"  {told}")
    if strangers:
        click.echo(f"  nobody of this class: {several(strangers)}")
    if decision.table and settling.untimed:
        click.echo(f"  still without a time: {several(list(settling.untimed))}")
    if (folder / REPORT).is_dir():
        click.echo(f"  the pages show it after grader report {shlex.quote(str(folder))}")
