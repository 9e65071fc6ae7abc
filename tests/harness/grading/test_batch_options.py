"""The options of a batch: what they become, when they differ, and the isolation they ask for."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.core.assignment import BadAssignment, Settings, find_assignment
from grader.core.submission import Author
from grader.core.verdict import GradeStatus
from grader.grading.cluster.connection import chosen_pools
from grader.grading.coordinator import Coordinator
from grader.grading.options import (
    SEEDS,
    NotIsolated,
    Options,
    Task,
    chosen_otherwise,
    require_isolation,
)
from grader.intake.entry import Entry
from grader.sandbox import probe

pytestmark = pytest.mark.unit

SOME = Options(
    seed=7,
    exercises=("run_double", "run_count", "run_double"),
    adapters="src/adapters.py",
    timeout=3.5,
    memory_mb=99,
    device="cuda",
    explain_seconds=4.0,
)


def test_settings_hold_each_option_and_name_each_exercise_once(tiny):
    """A seed that was chosen may grade later submissions too."""
    settings = SOME.settings(find_assignment(tiny))
    assert (settings.seed, settings.reuses_seed) == (7, True)
    assert settings.exercises == ("run_count", "run_double")
    chosen = (settings.adapters, settings.timeout, settings.memory_mb, settings.device)
    assert chosen == ("src/adapters.py", 3.5, 99, "cuda")
    assert (settings.explain_seconds, settings.assignment) == (4.0, str(tiny.resolve()))
    assert settings.suite_hash
    assert Settings.from_json(json.loads(json.dumps(settings.as_json()))) == settings


def test_without_a_seed_one_is_drawn(tiny):
    """It is another one each time, and grades one class."""
    drawn = [Options().settings(find_assignment(tiny)) for _ in range(20)]
    assert len({settings.seed for settings in drawn}) > 1
    assert all(0 <= settings.seed < SEEDS for settings in drawn)
    assert {settings.reuses_seed for settings in drawn} == {False}


def test_hashes_of_tests_depend_on_the_chosen_exercises(tiny):
    """A batch of one exercise has a suite of its own."""
    assignment = find_assignment(tiny)
    one, both = (Options(exercises=own).settings(assignment) for own in [("run_count",), ()])
    assert one.suite_hash != both.suite_hash


def test_an_unknown_exercise_is_refused_with_the_nearest_name(tiny):
    """The command stops before anything is graded."""
    with pytest.raises(BadAssignment, match=r"run_cuont is not an exercise of tiny: .*run_count"):
        Options(exercises=("run_double", "run_cuont")).settings(find_assignment(tiny))


def test_options_are_read_back_as_they_were_stored():
    assert Options.from_json(json.loads(json.dumps(SOME.as_json()))) == SOME


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (Options(seed=7), []),
        (Options(seed=None), []),
        (Options(seed=8), ["seed: 7, now 8"]),
        (Options(7, ("run_b", "run_a", "run_a")), ["exercises: all, now run_a and run_b"]),
        (Options(7, adapters="a.py"), ["adapters: adapters.py, now a.py"]),
        (Options(7, timeout=1.5, memory_mb=1), ["timeout: 120, now 1.5", "memory: 2048, now 1"]),
        (Options(7, device="cuda"), ["device: cpu, now cuda"]),
        (Options(7, explain_seconds=1.0), []),
    ],
)
def test_options_on_which_grades_depend_are_compared(now, said):
    """The time for explanations changes no grade."""
    assert chosen_otherwise(now, Options(seed=7)) == said


# --- Tasks --------------------------------------------------------------------------------------

TASK = Task(Entry("alice", Path("class/alice")), 3, "hash", "key")


def test_a_judge_reads_a_task_without_the_people():
    people = dataclasses.replace(TASK.entry, authors=(Author("Alice Doe"),), late=True)
    named = dataclasses.replace(TASK, entry=people)
    assert Task.from_json(json.loads(json.dumps(named.without_people.as_json()))) == TASK


def test_a_task_that_was_not_graded_costs_no_points():
    grade = TASK.ungraded(Settings("course", 5, (), "adapters.py", 1.0, 64, "suite"), "no room")
    assert (grade.submission, grade.status) == ("alice", GradeStatus.NOT_GRADED)
    assert (grade.score, grade.max_score, grade.duration_s) == (0.0, 0.0, 0.0)
    assert (grade.seed, grade.submission_hash, grade.suite_hash) == (5, "hash", "suite")
    assert (grade.message, grade.tests, grade.isolation) == ("no room", (), {})


# --- Isolation ----------------------------------------------------------------------------------


@pytest.fixture
def examined(monkeypatch):
    """A function that sets what the machine grants, without trying it."""

    def examine(isolation: dict[str, str], attempts: list[tuple[str, bool]]) -> None:
        tried = [SimpleNamespace(what=what, ok=ok) for what, ok in attempts]
        found = SimpleNamespace(isolation=isolation, attempts=tried)
        monkeypatch.setattr(probe, "examine_confinement", lambda **_: found)

    return examine


GRANTED = {"filesystem": "landlock", "network": "denied"}, [("read a secret", True)]


def test_isolation_is_required_of_every_layer_and_attempt(examined):
    """A layer that is not there, or an attempt that succeeds, is named."""
    examined(*GRANTED)
    require_isolation()
    examined({"filesystem": "none", "network": "denied"}, [("fork", False), ("read", True)])
    with pytest.raises(NotIsolated, match=r"does not hold here \(filesystem, fork\): see"):
        require_isolation()


@pytest.mark.parametrize("jobs", [3, None])
def test_a_local_batch_has_as_many_jobs_as_asked_for_or_as_processors(examined, monkeypatch, jobs):
    """Isolation is only tried if it is required."""
    monkeypatch.setattr("grader.grading.cluster.connection.processors", lambda: 17)
    examined({"filesystem": "none"}, [])
    told: list[str] = []
    with chosen_pools(None, jobs, print, waits=told.append) as pools:
        pool = pools(Settings("course", 5, (), "adapters.py", 1.0, 64, "suite"))
    assert isinstance(pool, Coordinator)
    assert (pool._jobs, pool._settings.seed) == (jobs or 17, 5)
    assert pool._say is not None
    pool._say("late")
    assert told == ["late"]
    with pytest.raises(NotIsolated), chosen_pools(None, jobs, print, require_isolation=True):
        pass
    examined(*GRANTED)
    with chosen_pools(None, jobs, print, require_isolation=True):
        pass
