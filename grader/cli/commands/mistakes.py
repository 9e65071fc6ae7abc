"""`grader mistakes`: groups of unrecognised wrong answers, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from grader.authoring.seen_mistakes import add_to_course
from grader.cli.options import RESULTS, assignment_option
from grader.core.assignment import find_assignment
from grader.core.verdict import Diagnosis
from grader.explain.mistakes.clusters import AnswerCluster, clusters_of
from grader.explain.mistakes.named_mistakes import (
    FILE,
    BadNames,
    NamedMistake,
    apply_names,
    checked_id,
    read_names,
    write_file,
)
from grader.reports.summary import heading, in_words, name_of
from grader.results.database import LINES
from grader.results.store import Store

_FOLDER = click.pass_obj


@click.group(
    short_help="List and name the mistakes that the grader does not know.",
    invoke_without_command=True,
)
@RESULTS
@click.pass_context
def mistakes(context: click.Context, folder: Path) -> None:
    """Lists groups of submissions with the same unrecognised mistake, and names them.

    \b
    Examples:
      grader mistakes results/
      grader mistakes results/ name 3f2a1c keys-not-transposed \\
          --sentence "Your keys are not transposed." --hint "Which axes does a product sum over?"
      grader mistakes results/ add keys-not-transposed
    """
    context.obj = folder
    if context.invoked_subcommand is None:
        context.invoke(list_groups)


@mistakes.command("list", short_help="List the groups of submissions that answer alike.")
@_FOLDER
def list_groups(folder: Path) -> None:
    """Lists the groups of submissions with the same wrong answers, whatever their code is.

    \b
    Example:
      grader mistakes results/ list

    Changes that you made in mistakes.toml take effect.
    """
    names = _applied(folder)
    unexplained = len(Store.read(folder).unexplained())
    for line in in_words(_groups(folder), names, folder, unexplained):
        click.echo(line)


@mistakes.command("name", short_help="Name a group: a mistake like any other.")
@_FOLDER
@click.argument("group", metavar="GROUP")
@click.argument("mistake", metavar="ID")
@click.option("--sentence", required=True, help='The mistake: "Your keys are not transposed."')
@click.option(
    "--hint", required=True, help='A question that leads on: "Which axes are summed over?"'
)
def name_group(folder: Path, group: str, mistake: str, sentence: str, hint: str) -> None:
    """Names the GROUP of submissions that answer alike.

    \b
    Example:
      grader mistakes results/ name 3f2a1c keys-not-transposed \\
          --sentence "Your keys are not transposed." --hint "Which axes does a product sum over?"

    From now on, reports and exports show the sentence and the hint to these submissions, and to
    later submissions with the same answers. The name is kept in mistakes.toml beside the results.
    """
    found = _chosen(_groups(folder), group)
    names = read_names(folder)
    diagnosis = Diagnosis(checked_id(mistake), _written(sentence), _written(hint))
    parts = [found, *found.also]
    kept = [one for one in names if one.diagnosis.mistake != mistake]
    own = next(filter(None, (name_of(part, kept) for part in parts)), None)
    named = [one for one in names if one not in kept]
    if own or not all(any(one.is_shown_by(part.answers) for part in parts) for one in named):
        said = f"this group is named {own}" if own else f"other answers are named {mistake}"
        raise BadNames(f"{said} already: change or remove that name in {folder / FILE}")
    write_file(folder / FILE, [*kept, *(NamedMistake(diagnosis, part.answers) for part in parts)])
    _applied(folder)
    click.echo(heading(found, mistake))
    click.echo(f"reports and exports say so from now on: grader report {folder}")


@mistakes.command("add", short_help="Take a named mistake over into the assignment.")
@_FOLDER
@click.argument("mistake", metavar="ID")
@assignment_option
def add_mistake(folder: Path, mistake: str, assignment_folder: Path) -> None:
    """Writes a stub for the mistake ID, which you named before, into the assignment's solutions.

    \b
    Example:
      grader mistakes results/ add keys-not-transposed

    The answers of the class are written there too. Complete the stub; then `grader verify` says
    whether it answers as the class did.
    """
    names = read_names(folder)
    found = [one for one in names if one.diagnosis.mistake == mistake]
    if not found:
        known = ", ".join(dict.fromkeys(one.diagnosis.mistake for one in names)) or "none yet"
        raise BadNames(f"no mistake of {folder} is named {mistake!r}: there is {known}")
    for file in add_to_course(find_assignment(assignment_folder).solutions, found):
        click.echo(f"written: {file}")
    click.echo("go on there, list the mistake in MISTAKES, then: grader verify")


def _groups(folder: Path) -> list[AnswerCluster]:
    return clusters_of(Store.read(folder).wrong_answers())


def _chosen(groups: Sequence[AnswerCluster], wanted: str) -> AnswerCluster:
    found = [group for group in groups if group.id.startswith(wanted)]
    if len(found) != 1:
        said = "several groups have" if found else "no group has"
        raise BadNames(f"{said} the id {wanted!r}: grader mistakes RESULTS lists them")
    return found[0]


def _written(text: str) -> str:
    """Returns the text on one line; raises BadNames if there is none."""
    if not text.strip():
        raise BadNames("a sentence and a hint need words: students read them")
    return " ".join(text.split())


def _applied(folder: Path) -> list[NamedMistake]:
    results = Store.read(folder)
    names = read_names(folder)
    with Store.open(folder, results.assignment) as store:
        apply_names(store)
        store.update_jsonl(folder / LINES)
    return names
