"""`grader batch`: a folder of submissions in, grades out."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from grader.batch.coordinator import Coordinator, Task
from grader.batch.fingerprints import cache_key
from grader.cli.options import FOLDER, chosen_settings, grading_options
from grader.cli.progress import Progress
from grader.intake import Discovery, discover, fingerprint
from grader.judge.process import Settings
from grader.report.summary import print_summary
from grader.store import Store

_INTERRUPTED = 130


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=FOLDER, metavar="DIR", help="Where the results go.")
@click.option("--jobs", type=click.IntRange(1), default=None, help="How many at a time.")
@click.option("--fresh", is_flag=True, help="Grade everything anew.")
@grading_options
def batch(
    paths: tuple[Path, ...],
    out: Path,
    jobs: int | None,
    fresh: bool,
    assignment_folder: Path,
    seed: int | None,
    **chosen: Any,
) -> None:
    """Grades every submission in PATHS: folders whose entries are submissions.

    Results are kept in DIR as they arrive; run again over the same DIR, only what is new or
    changed is graded.

    \b
    Examples:
      grader batch submissions/ --out results/
      grader batch clones/ --out results/ --adapters tests/adapters.py --jobs 8
    """
    assignment, settings = chosen_settings(assignment_folder, seed, **chosen)
    discovery = discover(paths, settings.adapters)
    _say_what_was_found(discovery)
    with Store.open(out, assignment.name) as store:
        if fresh:
            store.clear()
        if seed is None and (earlier := store.seed()) is not None:
            settings = dataclasses.replace(settings, seed=earlier)
        store.set_seed(settings.seed)
        try:
            _grade(store, settings, discovery, jobs or _processors())
        except KeyboardInterrupt:
            click.echo("stopped: what was graded is kept; run it again to go on", err=True)
            sys.exit(_INTERRUPTED)
        finally:
            store.write_jsonl(out / "results.jsonl")
        complete = print_summary(store.grades(), Console())
        click.echo(f"\nresults: {out / 'results.jsonl'} and {out / 'results.sqlite'}")
    sys.exit(0 if complete else 1)


def _grade(store: Store, settings: Settings, discovery: Discovery, jobs: int) -> None:
    store.keep_only([entry.name for entry in discovery.entries])
    tasks = _tasks(store, settings, discovery)
    finished = len(discovery.entries) - len(tasks)
    if finished:
        click.echo(f"{finished} graded before and unchanged; {len(tasks)} to grade", err=True)
    elif store.finished():
        click.echo("nothing is as it was graded before: every grade is made anew", err=True)
    if not tasks:
        return
    with Progress(len(tasks)) as progress, Coordinator(settings, jobs) as coordinator:
        isolation: Mapping[str, str] = {}
        for graded in coordinator.grade(tasks):
            if not isolation and (isolation := graded.grade.isolation):
                click.echo(f"isolation: {_in_words(isolation)}", err=True)
            store.add(graded.grade, graded.task.key, graded.task.position)
            progress.advance(graded.grade)


def _tasks(store: Store, settings: Settings, discovery: Discovery) -> Sequence[Task]:
    """The submissions whose grades are not there yet, or depend on something that changed."""
    finished = store.finished()
    basis = dataclasses.asdict(settings)
    del basis["assignment"]  # where the course's folder lies changes no grade
    tasks = []
    for position, entry in enumerate(discovery.entries):
        digest = fingerprint(entry)
        key = cache_key(digest, settings.suite_hash, basis)
        if finished.get(entry.name) != key:
            tasks.append(Task(entry, position, digest, key))
    return tasks


def _in_words(isolation: Mapping[str, str]) -> str:
    return ", ".join(f"{layer} {reached}" for layer, reached in sorted(isolation.items()))


def _say_what_was_found(discovery: Discovery) -> None:
    for skipped in discovery.skipped:
        click.echo(f"skipped {skipped.path.name!r}: {skipped.reason}", err=True)
    for note in discovery.notes:
        click.echo(note, err=True)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
