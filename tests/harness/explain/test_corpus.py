"""Programs as students write them: right ones, known mistakes, unknown ones."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from grader.core.assignment import Settings
from grader.core.verdict import Aspect, Grade, GradeStatus, Status
from grader.intake.entry import Entry
from solutions.mistakes import MISTAKES
from tests.harness.corpus.programs import STYLES, Slip, slips, stage, wrong_lines
from tests.harness.grading_jobs import GradingJob
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
SEED = 3
NAMED = 0.95
LINE_GIVEN = 0.75
LINE_WRONG = 0.09
# Mistakes that a style without layers of its own cannot make.
NEED_LAYERS = {"weights-not-loaded"}
TOLD = (Aspect.VALUES, Aspect.GENERALITY)


@dataclass(frozen=True)
class Judged:
    """A wrong program and its grade."""

    slip: Slip
    grade: Grade

    @property
    def caught(self) -> bool:
        """Returns whether any test fails."""
        return any(v.status in (Status.FAILED, Status.ERROR) for v in self.grade.tests)

    @property
    def names(self) -> set[str]:
        """Returns the mistakes that are named in any test."""
        return {v.diagnosis.mistake for v in self.grade.tests if v.diagnosis}

    @property
    def named_lines(self) -> list[set[tuple[str, int]]]:
        """Returns the named lines as file and number: one, or two candidates."""
        return [set(one.places) for one in self.grade.evidence.repairs if one.places]

    @property
    def exercises(self) -> dict[str, set[str]]:
        """Returns the named mistakes by exercise, for exercises with wrong answers."""
        found: dict[str, set[str]] = {}
        for verdict in self.grade.tests:
            if verdict.status is Status.FAILED and verdict.aspect in TOLD:
                found.setdefault(verdict.exercise, set())
            if verdict.diagnosis:
                found.setdefault(verdict.exercise, set()).add(verdict.diagnosis.mistake)
        return found


@dataclass
class Class:
    """Everything that was graded."""

    right: dict[str, Grade] = field(default_factory=dict)
    known: list[Judged] = field(default_factory=list)
    unknown: list[Judged] = field(default_factory=list)


def sampled_slips(part: int | None) -> list[Slip]:
    """Returns a quarter of all wrong programs, or for None a few, each in one style."""
    if part is not None:
        return list(slips())[part::4]
    made: dict[str, list[Slip]] = {}
    for slip in slips():
        made.setdefault(slip.mistake or "", []).append(slip)
    unknown = made.pop("")
    known = [ways[number % len(ways)] for number, ways in enumerate(made.values())]
    return unknown[::16] + known[::80]


@pytest.fixture(scope="module", params=rest_slow([None, 0, 1, 2, 3], [None]))
def graded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Class:
    """The grades of the right programs and of the drawn wrong ones, from real workers."""
    folder = tmp_path_factory.mktemp("corpus")
    settings = Settings(str(ROOT), SEED, (), "adapters.py", 120.0, 2048, "corpus")
    judge = GradingJob(settings)

    def grade(program: str | Slip) -> Grade:
        place = folder / "program"
        place.mkdir()
        style, edits = (program, ()) if isinstance(program, str) else (program.style, program.edits)
        try:
            return judge.grade(Entry(str(program), stage(style, edits, place)), "hash")
        finally:
            shutil.rmtree(place)

    right = STYLES[::2] if request.param is None else STYLES
    programs: Sequence[str | Slip] = [*right, *sampled_slips(request.param)]
    grades = [grade(program) for program in programs]
    judge.close()
    found = Class()
    for program, result in zip(programs, grades, strict=True):
        if isinstance(program, str):
            found.right[program] = result
        else:
            (found.known if program.mistake else found.unknown).append(Judged(program, result))
    return found


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)"


def names_a_wrong_line(judged: Judged) -> bool:
    """Returns whether a named line is one of the wrong lines."""
    return any(lines & wrong_lines(judged.slip) for lines in judged.named_lines)


def names_only_right_lines(judged: Judged) -> bool:
    """Returns whether an exercise names only lines that are not wrong."""
    return any(not lines & wrong_lines(judged.slip) for lines in judged.named_lines)


def names_its_mistake(judged: Judged) -> bool:
    return bool(judged.names & judged.slip.names)


# --- What is in it ------------------------------------------------------------------------------


@pytest.mark.unit
def test_every_known_mistake_is_made_in_four_styles_or_more():
    """Each is written as that style would write it."""
    made = {mistake.id: set() for mistake in MISTAKES}
    for slip in slips():
        if slip.mistake:
            made[slip.mistake].add(slip.style)
    assert {name for name, styles in made.items() if len(styles) < 4} == NEED_LAYERS


# --- The grades ---------------------------------------------------------------------------------


def test_the_corpus_figures_are_printed(graded, capsys):
    """The printed figures help you when you change tests, mistakes or diagnosis."""
    known = graded.known
    caught = sum(one.caught for one in (*known, *graded.unknown))
    exercises = [(one, names) for one in known for names in one.exercises.values()]
    named = sum(bool(names & one.slip.names) for one, names in exercises)
    with capsys.disabled():
        print()
        print(f"right programs that fail something: {len(failing(graded))} of {len(graded.right)}")
        print(f"wrong programs caught:  {share(caught, len(known) + len(graded.unknown))}")
        print(f"rightly named:          {share(sum(map(names_its_mistake, known)), len(known))}")
        print(f"  by wrong exercise:    {share(named, len(exercises))}")
        print(f"misnamed:               {len(misnamed(graded))}")
        print(f"right line given:       {share(sum(map(names_a_wrong_line, known)), len(known))}")
        print(
            f"wrong line given:       {share(sum(map(names_only_right_lines, known)), len(known))}"
        )


def failing(graded: Class) -> dict[str, list[str]]:
    found = {
        style: [v.id for v in grade.tests if v.status is not Status.PASSED]
        for style, grade in graded.right.items()
    }
    return {style: tests for style, tests in found.items() if tests}


def misnamed(graded: Class) -> dict[str, set[str]]:
    wrong = {str(one.slip): one.names - one.slip.names for one in (*graded.known, *graded.unknown)}
    return {name: names for name, names in wrong.items() if names}


def test_no_right_program_fails_anything(graded):
    """The style of a right program does not matter."""
    assert len(graded.right) >= 3
    assert failing(graded) == {}


def test_every_wrong_program_is_caught(graded):
    """Each wrong program is also graded to the end."""
    judged = (*graded.known, *graded.unknown)
    assert {str(one.slip) for one in judged if one.grade.status is not GradeStatus.GRADED} == set()
    assert {str(one.slip) for one in judged if not one.caught} == set()


def test_nearly_every_known_mistake_is_named(graded):
    """The student then reads what is wrong, and not only that something is."""
    unnamed = {str(one.slip) for one in graded.known if not names_its_mistake(one)}
    assert len(unnamed) <= (1 - NAMED) * len(graded.known), unnamed


def test_most_mistakes_are_reported_with_their_line(graded):
    """Several of these slips need changes of more than one line, so the share is not 1."""
    placed = sum(map(names_a_wrong_line, graded.known))
    assert placed >= LINE_GIVEN * len(graded.known)


def test_few_reported_lines_are_not_the_wrong_ones(graded):
    """A change of another line may fix the same error, or only one of two wrong lines is named."""
    wrong = {str(one.slip): one.named_lines for one in graded.known if names_only_right_lines(one)}
    assert len(wrong) < LINE_WRONG * len(graded.known), wrong


def test_no_program_is_given_the_name_of_another_mistake(graded):
    """No explanation is better than a misleading one."""
    assert len(graded.unknown) >= 3
    assert misnamed(graded) == {}
