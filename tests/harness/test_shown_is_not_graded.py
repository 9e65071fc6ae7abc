"""What is shown is never what was graded: a table of all that was ever shown gets 0."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.assignment import find_assignment
from grader.evidence import Evidence, Picture
from grader.home.bench import SEED, DirectCalls
from grader.store import Store
from grader.suite.suite import Suite
from grader.testing.bench import Bench
from grader.testing.cases import Case, fresh_case, seed_of
from grader.testing.wording import Plainly
from grader.verdict import Visibility
from grader.wire.calls import Answer, Call
from tests.harness.corpus.remembered.answers import inputs_of, shapes_of
from tests.harness.test_no_work import ANSWERS, PROGRAM, TRIVIAL

ROOT = Path(__file__).parents[2]
REMEMBERED = Path(__file__).parent / "corpus" / "remembered"
GRADED, OTHERWISE = 20, 21
# In training chance decides: nothing can be remembered of what is right.
BY_CHANCE = "run_attention_dropout"
# What a table is asked by first; all else follows.
ORDERS = {
    "by-inputs": ("inputs", "seed", "shapes", "turn"),
    "by-shapes": ("shapes", "seed", "inputs", "turn"),
    "by-turn": ("turn", "seed", "shapes", "inputs"),
}
REPLACING = """
import {module}

globals().update({module}.replaced(dict(globals())))
"""
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


@dataclasses.dataclass(frozen=True)
class Asked:
    """A call that a test makes in one draw, and what the reference answers."""

    test: str
    call: Call
    answer: torch.Tensor | int


@dataclasses.dataclass(frozen=True)
class Draw:
    """All that the tests draw, expect and ask with one seed."""

    cases: Mapping[str, Case]
    asked: Sequence[Asked]

    def numbers(self) -> Iterator[list[float]]:
        """The numbers of each tensor that was drawn or expected."""
        for case in self.cases.values():
            expected = itertools.chain.from_iterable(each.values() for each in case.expected)
            for tensor in (*case.drawn, *expected):
                if tensor.is_floating_point():
                    yield tensor.to(torch.float64).flatten().tolist()


def drawn(seed: int, visibility: Sequence[Visibility]) -> Draw:
    """What the tests of the bundled assignment ask with a seed, and the references' answers."""
    cases: dict[str, Case] = {}
    asked: list[Asked] = []

    def look(suite: Suite) -> None:
        answer = DirectCalls(importlib.import_module("solutions"), ROOT)
        for test in suite.tests.values():
            if test.visibility not in visibility:
                continue

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

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the suite sets it for good
        Suite(find_assignment(ROOT)).open(look)
    return Draw(cases, asked)


@dataclasses.dataclass(frozen=True)
class FirstRound:
    """Wrong submissions, graded: where their results are, and all that was written."""

    students: Path
    out: Path
    text: str


def with_module(folder: Path, handout: Path, module: str, text: str) -> Path:
    """A submission as it is handed out, but for the adapters, which a module replaces."""
    shutil.copytree(handout / "assignment", folder / "assignment")
    adapters = (handout / "adapters.py").read_text() + REPLACING.format(module=module)
    (folder / "adapters.py").write_text(adapters)
    (folder / f"{module}.py").write_text(text)
    return folder


@pytest.fixture(scope="module")
def handout(grader, tmp_path_factory) -> Path:
    """What students have at home."""
    folder = tmp_path_factory.mktemp("handout") / "attention"
    done = grader("handout", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def first_round(grader, handout, tmp_path_factory) -> FirstRound:
    """Submissions that make as much as possible be shown, and all that is written of them."""
    folder = tmp_path_factory.mktemp("first")
    students, out = folder / "class", folder / "results"
    (students / "zeros").mkdir(parents=True)
    (students / "zeros" / "answer.py").write_text(PROGRAM.format(ANSWERS["zeros"]))
    shutil.copy(TRIVIAL / "attention.py", students / "zeros" / "adapters.py")
    text = (REMEMBERED / "shouting.py").read_text()
    with_module(students / "shouting", handout, "shouting", text)
    batch = grader("batch", students, "--out", out, "--seed", GRADED, "--jobs", 2)
    assert batch.returncode == 0, batch.stderr
    printed = [batch]
    for form in ("csv", "canvas", "json", "junit"):
        printed.append(grader("export", out, "--format", form))
    for form in ("text", "gradescope", "github", "junit", "prairielearn"):
        shouting = students / "shouting"
        printed.append(grader("run", shouting, "--format", form, "--seed", GRADED))
    assert all(done.stdout for done in printed)
    text = "\n".join([*(done.stdout + done.stderr for done in printed), *written(out)])
    return FirstRound(students, out, text)


def written(out: Path) -> Iterator[str]:
    """Every file in a folder of results; of the store, every field."""
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
    """What the submissions were graded on."""
    return drawn(GRADED, tuple(Visibility))


@pytest.fixture(scope="module")
def home_draw() -> Draw:
    """What students have at home: the public tests' calls, and what is right."""
    return drawn(SEED, (Visibility.PUBLIC,))


def table_of(home: Draw, pictures: Sequence[Picture]) -> dict[str, Any]:
    """For each adapter, the answers that may be remembered, by all that a call tells."""
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
            # Every call of the batch has this one.
            "seed": f"{seed_of(GRADED, 'call')} {shapes}",
            "shapes": shapes,
            "turn": str(turns[call.adapter]),
        }
        known = table.setdefault(call.adapter, {kind: {} for kind in keys})
        for kind, key in keys.items():
            # What was shown comes first, unless these are the very inputs of home.
            answers = [right] if kind == "inputs" else [*shown, right]
            known[kind].setdefault(key, []).extend(answers)
    return table


def as_returned(answer: torch.Tensor | int) -> torch.Tensor | int:
    """An answer in the dtype that an adapter returns."""
    is_exact = isinstance(answer, torch.Tensor) and answer.dtype is torch.float64
    return answer.float() if is_exact else answer


@pytest.fixture(scope="module")
def tables(first_round, home_draw, handout, tmp_path_factory) -> Path:
    """Submissions made of all that was shown, each with a table and an order to look in it."""
    folder = tmp_path_factory.mktemp("tables")
    (zeros,) = Store.read(first_round.out).grades_of(["zeros"], whole=True)
    table = table_of(home_draw, zeros.evidence.pictures)
    assert len(zeros.evidence.pictures) > 20
    text = (REMEMBERED / "answers.py").read_text()
    for name, order in ORDERS.items():
        with_module(folder / name, handout, "answers", f"{text}\nORDER = {order!r}\n")
        torch.save(table, folder / name / "table.pt")
    return folder


def test_a_table_of_all_that_was_shown_gets_nothing(grader, first_round, tables):
    """Resubmitted into the same results, with the same seed, in every exercise."""
    for folder in tables.iterdir():
        shutil.copytree(folder, first_round.students / folder.name)
    done = grader("batch", first_round.students, "--out", first_round.out, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    grades = list(Store.read(first_round.out).grades_of(ORDERS))
    assert {(grade.submission, grade.seed) for grade in grades} == {(n, GRADED) for n in ORDERS}
    earned = {
        (grade.submission, test.id): test.score
        for grade in grades
        for test in grade.tests
        if test.score
    }
    assert earned == {}


def test_the_table_is_good_at_home(tables, handout, tmp_path):
    """Of what it was made of it knows everything: it fails for nothing but the draw."""
    mine = shutil.copytree(handout, tmp_path / "mine")
    shutil.copytree(tables / "by-inputs", mine, dirs_exist_ok=True)
    done = pytest_at_home(mine, "-k", "values or worked or batch")
    passed = dict(re.findall(r"^(run_\w+) +(\d+) of", pytest_at_home(mine).stdout, re.MULTILINE))
    assert done.returncode in (0, 1)
    assert passed == {}


def pytest_at_home(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What pytest says in a student's copy."""
    environment = {name: v for name, v in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env=environment | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
