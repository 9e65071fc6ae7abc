"""Makes the fixture tensors of the public tests, from the references."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from grader.assignment import Assignment, BadAssignment
from grader.home.bench import SEED, DirectCalls
from grader.home.fixtures import FIXTURES, FrozenTest, fixture_file, freeze
from grader.judge.session import Judge
from grader.testing.course import make_importable
from grader.verdict import Status, Verdict, Visibility
from grader.wire.calls import Answer, Call


class ReferencesAsSubmission:
    """Answers as a student would who handed in the references."""

    def __init__(self, root: Path) -> None:
        make_importable(root)
        self._calls = DirectCalls(importlib.import_module("solutions"), root)

    def ask(self, call: Call) -> Answer:
        """The reference's answer to a call, on the inputs as they are."""
        return self._calls(call)

    def close(self) -> None:
        """Nothing is running."""


def freeze_public_tests(assignment: Assignment, into: Path) -> list[Path]:
    """Writes the fixture tensors of every public test below `into` (a `tests/public` folder).

    Raises:
        BadAssignment: if a reference does not pass a public test.
    """
    verdicts: list[Verdict] = []

    def examine(judge: Judge) -> None:
        verdicts.extend(judge.grade(ReferencesAsSubmission(assignment.root)))

    judge = Judge(assignment, SEED, (), examine)
    judge.run()
    public = [verdict for verdict in verdicts if verdict.visibility is Visibility.PUBLIC]
    for verdict in public:
        if verdict.status is not Status.PASSED:
            raise BadAssignment(f"the reference fails {verdict.id}: {verdict.message}")
    return _write(assignment, judge, public, into)


def _write(
    assignment: Assignment, judge: Judge, verdicts: Sequence[Verdict], into: Path
) -> list[Path]:
    modules: dict[str, dict[str, FrozenTest]] = defaultdict(dict)
    for verdict in verdicts:
        module, _, name = verdict.id.partition("::")
        modules[module][name] = FrozenTest(judge.case(verdict.id), verdict.max_score)
    for old in (into / FIXTURES).glob("*.safetensors"):
        old.unlink()
    written = []
    for module, tests in modules.items():
        place = (assignment.root / module).relative_to(assignment.public_tests)
        file = fixture_file(into / place)
        freeze(file, tests)
        written.append(file)
    return written
