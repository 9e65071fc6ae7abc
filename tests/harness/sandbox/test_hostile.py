"""A class full of hostile submissions, graded by one real `grader batch`."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.core.wire.calls import decode_answer
from grader.core.wire.frames import received
from tests.harness.hostile import odd_files
from tests.harness.hostile.batch import TIMEOUT, Outcome, graded
from tests.harness.hostile.ranks import rank
from tests.harness.hostile.staging import (
    ALLOWED,
    HERE,
    MEMORY,
    RIGHT,
    WRONG,
    expectations,
    sample_files,
)
from tests.harness.marks import rest_slow

RANKS = ("root", "an ordinary user", "root of a container without rights")
OWN_RANK = RANKS[0] if os.geteuid() == 0 else RANKS[1]
A_TWELFTH = f"a twelfth of the corpus as {OWN_RANK}"
# Spies that fail only inside a namespace of their own, with the kind that they need.
OF_A_TREE_OF_ITS_OWN = {
    "paths_of_hidden_files": "files",
    "processes_by_their_numbers": "process ids",
}

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="the corpus is made for Linux"),
]


@pytest.fixture(scope="module", params=rest_slow([A_TWELFTH, *RANKS], [A_TWELFTH]))
def outcome(request: pytest.FixtureRequest, hasty: Path) -> Iterator[Outcome]:
    """The outcome of the corpus: a twelfth of it by lot as this user, or all of it at one rank.

    Root also grades the most telling parts at other ranks. Explanations take most of the time, so
    that only the other ranks search for them.
    """
    root = Path(tempfile.mkdtemp(prefix="corpus-"))
    root.chmod(0o755)
    try:
        if request.param == A_TWELFTH:
            yield graded(
                root, hasty, replace(rank(OWN_RANK, root), wanted=random_twelfth().__contains__)
            )
        else:
            yield graded(root, hasty, rank(request.param, root))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def random_twelfth() -> list[str]:
    """Returns every twelfth sample of each kind, from a random start.

    The endless ones are sorted together: there are more than twelve, so that one is always drawn.
    """
    by_kind = sorted(expectations(), key=lambda name: (expectations()[name].kind, is_endless(name)))
    return by_kind[secrets.randbelow(12) :: 12]


def is_endless(name: str) -> bool:
    """Returns whether a sample only passes tests or runs into their time limit."""
    return expectations()[name].tests <= {"passed", "timeout"}


def test_the_batch_succeeds_and_grades_every_hostile_submission(outcome):
    """No submission stops the batch, and each one has a grade."""
    assert outcome.code == 0, outcome.output[-3000:]
    assert set(outcome.rows) == set(outcome.stage.samples)
    assert {row["status"] for row in outcome.rows.values()} <= {"graded", "unreadable"}
    assert "Traceback" not in outcome.output


def test_every_sample_gets_its_expected_statuses_and_points(outcome):
    """No trick earns points without work."""
    outcome.skip_without("filesystem", "syscalls")
    problems = []
    for name, row in outcome.rows_of(["forgeries", "nuisances", "spies", "odd"]):
        wanted = expectations()[outcome.stage.samples[name]]
        statuses = {test["status"] for test in row["tests"]}
        said = {test["message"] for test in row["tests"]}
        if row["status"] not in wanted.status:
            problems.append(f"{name} is {row['status']}: {row['message']}")
        if not wanted.at_least - 1e-6 <= row["score"] <= wanted.at_most + 1e-6:
            problems.append(f"{name} has {row['score']} points: {said}")
        if not statuses <= wanted.tests | {"timeout"}:
            problems.append(f"{name} has tests that {statuses - wanted.tests}: {said}"[:1000])
    assert not problems, "\n".join(problems)


def test_honest_submissions_are_graded_as_if_they_were_alone(outcome):
    """Hostile neighbours change neither points nor messages of honest submissions."""
    for name, sample in outcome.stage.samples.items():
        if sample in RIGHT:
            assert name in outcome.rows
            assert outcome.rows[name]["score"] == outcome.rows[name]["max_score"] == 5.0
        if sample in RIGHT or sample in WRONG:
            assert _verdicts(outcome.rows[name]) == _verdicts(outcome.undisturbed[sample])
    assert {_score(outcome, sample) for sample in WRONG} != {5.0}


def test_no_spy_reads_a_secret(outcome):
    """A spy is given the places of the secrets, and its messages say what it could read."""
    outcome.skip_without("filesystem", "syscalls")
    held = outcome.isolation.get("namespaces", "")
    told = {
        name: message
        for name, message in outcome.reported_finds(["spies"])
        if OF_A_TREE_OF_ITS_OWN.get(outcome.stage.samples[name], "") in held
    }
    assert not told, "\n".join(f"{name}: {message[:400]}" for name, message in told.items())


def test_every_nuisance_that_exceeds_a_limit_is_stopped(outcome):
    """A hoarder answers rightly, or says so, only if it held too much and was not stopped."""
    outcome.skip_without("filesystem", "syscalls")
    unstopped = dict(outcome.reported_finds(["nuisances"]))
    for name, row in outcome.rows_of(["nuisances"]):
        if row["score"] > expectations()[outcome.stage.samples[name]].at_most + 1e-6:
            unstopped[name] = f"it has {row['score']} points"
    assert not unstopped, "\n".join(f"{it}: {said[:400]}" for it, said in unstopped.items())


def test_no_secret_is_in_any_result(outcome):
    """Secrets are in the environment, the siblings, the solutions and the judge's files."""
    outcome.skip_without("filesystem", "syscalls")
    assert not outcome.canaries


def test_no_submission_reaches_a_listener_on_the_network(outcome):
    """No submission reaches a network, not even the loopback interface."""
    outcome.skip_without("network")
    assert not outcome.heard


def test_no_process_file_or_kernel_object_is_left_behind(outcome):
    outcome.skip_without("filesystem", "syscalls")
    assert not outcome.left, "\n".join(outcome.left)


def test_files_that_existed_before_the_batch_are_unchanged(outcome):
    """Nobody may change the assignment, the submissions or the grader's home."""
    outcome.skip_without("filesystem")
    assert not outcome.touched


def test_messages_are_short_and_fit_to_print(outcome):
    """A message is short even after 200 MB of output, and holds no terminal codes."""
    for name, row in outcome.rows.items():
        texts = [row["message"] or "", *(test["message"] or "" for test in row["tests"])]
        assert max(map(len, texts)) < 6000, name
        assert not [text for text in texts if "\x1b" in text or "\x00" in text], name
        json.dumps(row, ensure_ascii=False).encode()


def test_time_limits_end_endless_submissions(outcome):
    """The verdicts are `timeout`, and the batch computes no longer than all limits together."""
    endless = [
        {test["status"] for test in row["tests"]}
        for name, row in outcome.rows_of(["nuisances"])
        if is_endless(outcome.stage.samples[name])
    ]
    assert endless
    assert all("timeout" in statuses for statuses in endless)
    assert outcome.processor <= len(outcome.rows) * TIMEOUT


@pytest.mark.unit
def test_every_hostile_sample_has_an_expectation():
    """Each sample has an expectation, and the corpus has at least 75 samples."""
    samples = {**dict.fromkeys(sample_files()), **dict.fromkeys(odd_files.KINDS)}
    assert set(expectations()) == set(samples)
    assert len(samples) >= 75


@pytest.mark.unit
def test_a_forged_answer_has_a_valid_format(tmp_path):
    """A forgery that is refused because of its format alone would prove little."""
    allowed = {"memory": MEMORY, "disk": ALLOWED.disk, "files": ALLOWED.files}
    (tmp_path / "hints.json").write_text(json.dumps(allowed))
    shutil.copyfile(HERE / "accomplice.py", tmp_path / "accomplice.py")
    spec = importlib.util.spec_from_file_location("accomplice", tmp_path / "accomplice.py")
    accomplice = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(accomplice)
    entry, payload = accomplice.zeros(2, 3)
    answer = decode_answer(received(accomplice.answer({"value": entry}, payload)))
    assert torch.equal(answer.value, torch.zeros(2, 3))


def _verdicts(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: test[key] for key in test if key != "duration_s"} for test in row["tests"]]


def _score(outcome: Outcome, sample: str) -> float:
    (name,) = [name for name, staged in outcome.stage.samples.items() if staged == sample]
    score: float = outcome.rows[name]["score"]
    return score
