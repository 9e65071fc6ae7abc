"""Feedback never shows graded inputs or answers: a table of everything shown gets 0 points."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import re
import shutil
import sqlite3
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.cli.api import grade
from grader.core.assignment import BadAssignment, find_assignment
from grader.core.evidence import Evidence, Picture
from grader.core.verdict import Aspect, Grade, Status, Verdict, Visibility
from grader.core.wire.calls import Answer, Call
from grader.home.bench import DirectCalls
from grader.results.store import Store
from grader.testing.cases import SEED, Case, fresh_case, seed_of
from grader.testing.handles.bench import Bench
from grader.testing.outcome import Plainly
from grader.testing.suite import Suite
from tests.harness.conftest import RIGHT
from tests.harness.corpus.remembered.answers import inputs_of, shapes_of
from tests.harness.grading.test_no_work import ANSWERS, PROGRAM, TRIVIAL
from tests.harness.marks import asked_for, rest_slow

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
JONAS = ROOT / "examples" / "class" / "jonas-berg"
REMEMBERED = Path(__file__).parents[1] / "corpus" / "remembered"
# With both, the submissions fail the same tests: large scores tell some mistakes only by chance.
GRADED, OTHERWISE = 22, 23
# Dropout in training is random, so that no right answer can be remembered.
BY_CHANCE = "run_attention_dropout"
# For each resubmission, the order in which it looks up the kinds of keys in its table.
ORDERS = {
    "zeros": ("inputs", "seed", "shapes", "turn"),
    "shouting": ("shapes", "seed", "inputs", "turn"),
    "mistaken": ("turn", "seed", "shapes", "inputs"),
}
# The handout's adapters keep their annotations, but other functions replace their code.
REPLACING = """
import {module}

globals().update({module}.replaced(dict(globals())))
"""
ANSWERING = """
import functools
import {module}

def replaced(adapters):
    named = [(name, value) for name, value in adapters.items() if name.startswith("run_")]
    return {{name: functools.wraps(old)(getattr({module}, name)) for name, old in named}}
"""
EXPORTS = ("csv", "json", "junit")
FORMATS = ("text", "gradescope", "github", "junit", "prairielearn")
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


Triple = tuple[str, str, str]


@dataclasses.dataclass(frozen=True)
class Asked:
    """A call that a test makes in one draw, and the reference's answer."""

    test: str
    call: Call
    answer: torch.Tensor | int


@dataclasses.dataclass(frozen=True)
class Draw:
    """All values, expected answers and calls of the tests with one seed."""

    cases: Mapping[str, Case]
    asked: Sequence[Asked]
    values: frozenset[str]

    def triples(self) -> set[Triple]:
        """Returns three neighbouring values of drawn or expected tensors, with four digits."""
        found: set[Triple] = set()
        for case in self.cases.values():
            expected = itertools.chain.from_iterable(each.values() for each in case.expected)
            for tensor in (*case.drawn, *expected):
                if torch.is_tensor(tensor) and tensor.is_floating_point():
                    found |= triples_in(tensor.double().flatten().tolist())
        return found


def drawn(seed: int, visibility: Sequence[Visibility]) -> Draw:
    """Returns the calls of the bundled assignment's tests, with the references' answers."""
    cases: dict[str, Case] = {}
    asked: list[Asked] = []
    values: list[str] = []

    def look(suite: Suite) -> None:
        answer = DirectCalls(importlib.import_module("solutions"), ROOT)
        for test in suite.tests.values():
            if test.visibility not in visibility:
                continue

            values.extend([test.id] if test.aspect is Aspect.VALUES else [])

            def ask(call: Call, test: str = test.id) -> Answer:
                answered = answer(call)
                usual = call.device == "cpu" and not call.wrt and not call.count_work
                if usual and isinstance(answered.value, torch.Tensor | int):
                    asked.append(Asked(test, call, answered.value))
                return answered

            cases[test.id] = fresh_case(seed, test.id)
            case_of = cases.__getitem__
            bench = Bench(suite.contract, ask, suite.references, case_of, seed, Plainly())
            assert suite.run(test.id, bench).raised is None, test.id

    Suite(find_assignment(ROOT)).open(look)
    return Draw(cases, asked, frozenset(values))


def triples_in(numbers: Iterable[float]) -> set[Triple]:
    """Returns triples of consecutive numbers with four digits, without likely coincidences."""
    told = [f"{number:.4g}" for number in numbers]
    return {
        triple
        for triple in zip(told, told[1:], told[2:], strict=False)
        if all(len(number.strip("-0.")) >= 4 for number in triple) and len(set(triple)) == 3
    }


def submission(folder: Path, handout: Path, files: Mapping[str, str]) -> Path:
    """Writes a submission of the handout's files, whose adapters the first module replaces."""
    shutil.copytree(handout / "assignment", folder / "assignment")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    adapters = (handout / "adapters.py").read_text() + REPLACING.format(module=next(iter(files)))
    (folder / "adapters.py").write_text(adapters)
    return folder


@pytest.fixture(scope="module")
def handout(attention_handout, tmp_path_factory) -> Path:
    """The files that students have at home."""
    folder = tmp_path_factory.mktemp("handout") / "attention"
    return Path(shutil.copytree(attention_handout, folder))


@pytest.fixture(scope="module")
def students(request, handout, tmp_path_factory) -> Path:
    """Wrong submissions that provoke much feedback; the third only if a test asks for it."""
    folder = tmp_path_factory.mktemp("first") / "class"
    zeros = {
        "zeros": ANSWERING.format(module="trivial"),
        "trivial": (TRIVIAL / "attention.py").read_text(),
        "answer": PROGRAM.format(ANSWERS["zeros"]),
    }
    submission(folder / "zeros", handout, zeros)
    shouting = {"shouting": (REMEMBERED / "shouting.py").read_text()}
    submission(folder / "shouting", handout, shouting)
    asked = [*asked_for(request, "name"), *itertools.chain(*asked_for(request, "tables"))]
    if "mistaken" not in asked:
        return folder
    mistaken = {
        "mistaken": ANSWERING.format(module="jonas"),
        "jonas": (JONAS / "adapters.py").read_text(),
    }
    submission(folder / "mistaken", handout, mistaken)
    shutil.copytree(JONAS / "model", folder / "mistaken" / "model")
    return folder


def graded(grader, students: Path, out: Path, seed: int, *options: str) -> Batch:
    """Grades the submissions with `grader batch`."""
    done = grader("batch", students, "--out", out, "--seed", seed, "--jobs", 2, *options)
    assert done.returncode == 0, done.stderr
    return Batch(students, out, done.stdout + done.stderr)


@dataclasses.dataclass(frozen=True)
class Batch:
    """Graded submissions: their folder, their results, and the command's output."""

    students: Path
    out: Path
    printed: str

    def __getitem__(self, name: str) -> Grade:
        """Returns the grade of a submission, with its whole evidence."""
        (found,) = Store.read(self.out).grades_of([name], whole=True)
        return found

    @property
    def lacking(self) -> list[object]:
        """Returns the packages that the store lists as missing."""
        return [*Store.read(self.out).lacking_packages()]


@pytest.fixture(scope="module")
def first_round(grader, students) -> Batch:
    """The results of `students`, before anybody resubmits."""
    return graded(grader, students, students.parent / "results", GRADED)


def written(out: Path) -> Iterator[str]:
    """Yields every file in a results folder, and every row of the store."""
    for file in sorted(out.rglob("*")):
        if file.is_file():
            yield file.read_text(errors="replace")
    with sqlite3.connect(out / "results.sqlite") as store:
        tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master")]
        for table in tables:
            if table.startswith("sqlite_") or "_in_" in table:
                continue
            for row in store.execute(f'SELECT * FROM "{table}"'):
                yield " ".join(map(_unpacked, row))


def _unpacked(field: object) -> str:
    return str(Evidence.unpacked(field) if isinstance(field, bytes) else field)


@pytest.fixture(scope="module")
def graded_draw() -> Draw:
    """The draw on which the submissions were graded."""
    return drawn(GRADED, tuple(Visibility))


@pytest.fixture(scope="module")
def home_draw() -> Draw:
    """The draw that students have at home: the public tests' calls and right answers."""
    return drawn(SEED, (Visibility.PUBLIC,))


def table_of(home: Draw, pictures: Sequence[Picture]) -> dict[str, Any]:
    """Returns, for each adapter, the answers to remember by all that a call reveals."""
    table: dict[str, Any] = {}
    turns = Counter[str]()
    for asked in home.asked:
        call, right = asked.call, as_returned(asked.answer)
        turns[call.adapter] += 1
        shapes = shapes_of(call.arguments)
        shown = [
            torch.tensor(picture.expected).reshape(picture.shape).to(torch.as_tensor(right).dtype)
            for picture in pictures
            if (picture.test, picture.shape) == (asked.test, torch.as_tensor(right).shape)
        ]
        keys = {
            "inputs": inputs_of(call.arguments),
            # All calls of a batch share this seed.
            "seed": f"{seed_of(GRADED, 'call')} {shapes}",
            "shapes": shapes,
            "turn": str(turns[call.adapter]),
        }
        known = table.setdefault(call.adapter, {kind: {} for kind in keys})
        for kind, key in keys.items():
            # Shown answers come first, except for the exact inputs of home.
            answers = [right] if kind == "inputs" else [*shown, right]
            known[kind].setdefault(key, []).extend(answers)
    return table


def as_returned(answer: torch.Tensor | int) -> torch.Tensor | int:
    """Returns an answer in the dtype that an adapter returns."""
    is_exact = isinstance(answer, torch.Tensor) and answer.dtype is torch.float64
    return answer.float() if is_exact else answer


@pytest.fixture(scope="module", params=rest_slow([(*ORDERS,)[:1], (*ORDERS,)], 2), ids=len)
def tables(request, first_round, home_draw, handout, tmp_path_factory) -> Path:
    """Resubmissions made of all that was shown, each with a table and an order of look-up."""
    folder = tmp_path_factory.mktemp("tables")
    pictures = first_round["zeros"].evidence.pictures
    assert len(pictures) > 20
    text = (REMEMBERED / "answers.py").read_text()
    for name in request.param:
        answers = f"{text}\nORDER = {ORDERS[name]!r}\n"
        submission(folder / name, handout, {"answers": answers})
        torch.save(table_of(home_draw, pictures), folder / name / "table.pt")
    return folder


def test_a_resubmission_made_of_all_feedback_earns_no_points(grader, first_round, tables):
    """It is resubmitted into the same results with the same seed, for every exercise."""
    out = shutil.copytree(first_round.out, tables.parent / "results")
    again = graded(grader, tables, Path(out), GRADED, "--no-explain")
    names = [folder.name for folder in tables.iterdir()]
    assert all(again[name].submission_hash != first_round[name].submission_hash for name in names)
    earned = {
        (name, test.id): test.score for name in names for test in again[name].tests if test.score
    }
    assert earned == {}


def test_a_resubmission_made_of_all_feedback_passes_at_home(
    tables, home_draw, handout, home_pytest, tmp_path
):
    """The table passes the value tests at home, so in class only the new draw defeats it."""
    mine = shutil.copytree(handout, tmp_path / "mine")
    shutil.copytree(tables / "zeros", mine, dirs_exist_ok=True)
    printed = home_pytest(mine, "-v").stdout
    passed = set(re.findall(r"^(tests/\S+) PASSED", printed, re.MULTILINE))
    assert {test for test in home_draw.values if BY_CHANCE not in test} <= passed


@pytest.mark.parametrize("formats", rest_slow([[*FORMATS[:1]], [*FORMATS]], 2), ids=len)
def test_no_graded_input_or_answer_is_written_anywhere(
    grader, first_round, graded_draw, home_draw, formats
):
    """No input and no right answer is in results, pages, exports or printed output."""
    printed = [first_round.printed]
    for form in EXPORTS:
        printed.append(grader("export", first_round.out, "--format", form).stdout)
    for form in formats:
        shouting = ("run", first_round.students / "shouting", "--seed", GRADED)
        done = grader(*shouting, "--format", form, "--exercise", "run_rope")
        printed.append(done.stdout + done.stderr)
    assert all(printed)
    text = "\n".join([*printed, *written(first_round.out)])
    told = triples_in(map(float, NUMBER.findall(text)))
    assert len(told & home_draw.triples()) > 100
    assert told & (graded_draw.triples() - home_draw.triples()) == set()


@pytest.mark.slow
def test_feedback_does_not_depend_on_the_graded_draw(grader, first_round, tmp_path):
    """With another seed, a student who fails the same tests reads exactly the same text."""
    other = graded(grader, first_round.students, tmp_path / "results", OTHERWISE)
    for name in (folder.name for folder in first_round.students.iterdir()):
        assert shown(other[name]) == shown(first_round[name])
    assert other.lacking == first_round.lacking


def shown(grade: Grade) -> tuple[object, ...]:
    """Returns everything in a grade that a student may read.

    The errors of passed tests, all durations, and the counts of the repair search are left out.
    """
    tests = [
        test._replace(duration_s=0.0, measurement=None if passed(test) else test.measurement)
        for test in grade.tests
    ]
    repairs = tuple(
        dataclasses.replace(repair, edits=0, seconds=0.0) for repair in grade.evidence.repairs
    )
    evidence = dataclasses.replace(grade.evidence, repairs=repairs)
    return tests, grade.message, grade.notes, evidence, grade.score


def passed(test: Verdict) -> bool:
    """Returns whether a test passed."""
    return test.status is Status.PASSED


@pytest.mark.parametrize("name", rest_slow(["zeros", "mistaken"], 2))
def test_a_public_failure_reads_as_pytest_prints_it_at_home(
    first_round, handout, home_pytest, tmp_path, name
):
    """Every number is the same, also in the table of the worst values."""
    mine = shutil.copytree(handout, tmp_path / "mine")
    shutil.copytree(first_round.students / name, mine, dirs_exist_ok=True)
    printed = home_pytest(mine, "-v").stdout
    public = [test for test in first_round[name].tests if test.visibility is Visibility.PUBLIC]
    wrong = [test for test in public if not passed(test)]
    assert len(wrong) > 10
    for test in wrong:
        # pytest may print known mistakes in between. The last line names the line to fix, or says
        # how far the answer is right: it depends on the time for the search, which differs.
        message = str(test.message).splitlines()[: None if test.where is None else -1]
        message = [line for line in message if not line.startswith("Right so far")]
        left = iter(paragraph(printed, test.id.partition("::")[2]))
        assert [line for line in message if line not in left] == []


def paragraph(printed: str, test: str) -> list[str]:
    """Returns the lines below a failed test's heading, without the test's description."""
    lines = printed.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip("_ ") == test)
    end = next(i for i in range(start + 1, len(lines)) if lines[i].startswith(("__", "==")))
    return lines[start + 2 : end]


def test_the_seed_of_the_public_tests_is_refused_for_grading(grader, tiny, tmp_path):
    """The command and the API both refuse the seed of the public tests."""
    (tmp_path / "right.py").write_text(RIGHT)
    done = grader("run", tmp_path / "right.py", "--seed", SEED, cwd=tiny)
    assert (done.returncode, "1<=x" in done.stderr) == (2, True)
    with pytest.raises(BadAssignment, match="the tests that students have at home"):
        grade(tmp_path / "right.py", assignment=tiny, seed=SEED)


def test_the_seed_of_a_call_reveals_nothing_about_its_test(tiny, tmp_path):
    """All calls of a batch have the same seed."""
    text = """
    import torch

    seeds, chances = set(), set()

    def noted(result):
        seeds.add(torch.initial_seed())
        chances.add(torch.rand(()).item())
        assert len(seeds) == len(chances) == 1
        return result

    def run_double(x):
        return noted(2 * x)

    def run_count(x):
        return noted(x.numel())
    """
    (tmp_path / "own.py").write_text(textwrap.dedent(text))
    own = grade(tmp_path / "own.py", assignment=tiny, seed=GRADED)
    assert {test.status for test in own.tests if test.aspect is Aspect.VALUES} == {Status.PASSED}
    assert own.score == own.max_score
