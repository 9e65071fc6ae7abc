"""The mutation test of an assignment: all small edits of its references, and their fates."""

from __future__ import annotations

import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.authoring.forked_tasks import in_children
from grader.authoring.mutants import (
    Candidate,
    Fate,
    MutantRunner,
    Reach,
    References,
    reach_of,
    statement_lines,
)
from grader.core.assignment import Assignment, BadAssignment
from grader.explain.rewriting.edit import Edit
from grader.explain.rewriting.generation import edits_of
from grader.explain.rewriting.slips import Slips, load_slips
from grader.grading.judge.judge import Judge
from grader.testing.cases import SEED
from grader.testing.suite import Suite

ARGUED = Path("solutions/edits.toml")
# The most that one edit may take.
_SECONDS = 100.0
# A fork takes as long as an edit. The end of a child frees the memory of the programs it loaded.
_PER_CHILD = 20
# Draws in addition to the tests' own: their calls also show whether an edit has an effect.
_FURTHER = (SEED + 1, SEED + 2)

Progress = Callable[[int, int], None]
# A file, a line before an edit, and the line after it.
LineChange = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class MutationTrial:
    """An edit of a reference: its lines before and after, and its fate."""

    file: str
    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    fate: Fate

    @property
    def changes(self) -> list[LineChange]:
        """Returns each line that changes, with its file, before and after."""
        return [(self.file, *pair) for pair in zip(self.before, self.after, strict=True)]


@dataclass(frozen=True, slots=True)
class Mutations:
    """The outcomes of all edits; `stale` are arguments about edits that the tests do not miss."""

    trials: tuple[MutationTrial, ...]
    stale: tuple[str, ...]

    @property
    def missed(self) -> list[MutationTrial]:
        """Returns the edits that no test catches, although they change answers."""
        return [trial for trial in self.trials if trial.fate is Fate.MISSED]

    @property
    def fates(self) -> Counter[Fate]:
        """Returns how many edits met each fate."""
        return Counter(trial.fate for trial in self.trials)

    @property
    def holds(self) -> bool:
        """Returns whether the tests miss no edit without an argument, and no argument is stale."""
        return not self.missed and not self.stale


def mutate(
    assignment: Assignment, jobs: int, progress: Progress, exercises: Collection[str] = ()
) -> Mutations:
    """Runs every edit of the references through the tests.

    With `exercises`, runs only edits that may change the answers of these exercises.

    Raises:
        BadAssignment: if the tests cannot be run, or `solutions/edits.toml` cannot be read.
    """
    arguments = _arguments(assignment.root)
    wanted = exercises or list(assignment.points)
    found = Suite(assignment).open(
        lambda suite: _mutations(suite, jobs, progress, arguments, wanted)
    )
    # Arguments about edits of other exercises are not stale: these edits were not run.
    return replace(found, stale=()) if exercises else found


def _mutations(
    suite: Suite,
    jobs: int,
    progress: Progress,
    arguments: frozenset[LineChange],
    exercises: Collection[str],
) -> Mutations:
    programs = References(suite.assignment.root)
    judge = Judge(suite, SEED)
    reach, right = reach_of(suite, programs, judge, _FURTHER, exercises)
    slips = load_slips(suite.assignment.root)
    candidates = list(_candidates(programs, reach, slips))
    runner = MutantRunner(suite, judge, programs, right, reach)
    fates: dict[int, Fate] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from edits that are wrong anyway
        examine, may_take = runner.examine, runner.may_take
        for number, came in in_children(examine, candidates, jobs, _SECONDS, may_take, _PER_CHILD):
            # Without a fate, the child died or was late.
            fates[number] = came if isinstance(came, Fate) else Fate.CAUGHT
            progress(len(fates), len(candidates))
    trials = [
        _trial(programs, candidate, fates[number], arguments)
        for number, candidate in enumerate(candidates)
    ]
    used = {change for one in trials if one.fate is Fate.ARGUED for change in one.changes}
    stale = sorted(f"{file}: {after}" for file, _, after in arguments - used)
    return Mutations(tuple(trials), tuple(stale))


def _candidates(programs: References, reach: Reach, slips: Slips) -> Iterator[Candidate]:
    """Yields the edits of all lines that run during calls, or during the import of modules."""
    everywhere = {one for lines in reach.lines.values() for own in lines.values() for one in own}
    for module in programs.files:
        source = programs.source(module)
        statements = statement_lines(source)
        for edit in edits_of(source, slips=slips):
            if not edit.in_function:
                exercises = everywhere
            else:
                lines = {other for line in edit.lines for other in statements.get(line, (line,))}
                exercises = reach.of(module, lines)
            if exercises:
                yield Candidate(module, edit, tuple(sorted(exercises)))


def _trial(
    programs: References,
    candidate: Candidate,
    fate: Fate,
    arguments: frozenset[LineChange],
) -> MutationTrial:
    edit, source = candidate.edit, programs.source(candidate.module)
    file = programs.place(candidate.module)
    before, after = _lines(source, edit), _lines(edit.applied(source), edit)
    trial = MutationTrial(file, edit.line, before, after, fate)
    is_argued = fate is Fate.MISSED and arguments.issuperset(trial.changes)
    return replace(trial, fate=Fate.ARGUED) if is_argued else trial


def _lines(source: str, edit: Edit) -> tuple[str, ...]:
    lines = source.split("\n")
    return tuple(lines[line - 1].strip() for line in edit.lines)


def _arguments(root: Path) -> frozenset[LineChange]:
    """Returns the lines of edits that tests need not catch; each row says why."""
    if not (root / ARGUED).is_file():
        return frozenset()
    try:
        rows = tomllib.loads((root / ARGUED).read_text(encoding="utf-8"))["edit"]
        return frozenset(
            (row["file"], row["before"], after)
            for row in rows
            for after in ([row["after"]] if isinstance(row["after"], str) else row["after"])
            if row["why"]
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as problem:
        raise BadAssignment(f"{ARGUED} cannot be read: {problem}") from problem


def in_words(mutations: Mutations) -> Iterator[str]:
    """Yields the lines that a terminal shows."""
    for trial in mutations.missed:
        yield from difference(trial)
        yield ""
    for edit in mutations.stale:
        yield f"{ARGUED} excuses an edit that is caught, equivalent or gone: {edit}"
    fates = mutations.fates
    yield (
        f"{len(mutations.trials)} edits: {fates[Fate.CAUGHT]} caught, "
        f"{fates[Fate.EQUIVALENT]} equivalent, {fates[Fate.ARGUED]} argued away, "
        f"{fates[Fate.MISSED]} missed"
    )


def difference(trial: MutationTrial) -> Iterator[str]:
    """Yields the lines that an edit changes, as a difference."""
    yield f"{trial.file}:{trial.line}"
    for before, after in zip(trial.before, trial.after, strict=True):
        yield f"- {before}"
        yield f"+ {after}"
