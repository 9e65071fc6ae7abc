"""The search for why a test failed: known mistakes, and lines of the student's code."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from grader.core.assignment import BadAssignment
from grader.core.verdict import COUNTED_ASPECTS, Aspect, Diagnosis, Status, name_of_test
from grader.core.wire.calls import Answer, Call
from grader.explain.layouts import Steps
from grader.explain.mistakes.catalogue import RIGHT, Catalogue
from grader.explain.mistakes.diagnosis import Finding, diagnose
from grader.explain.mistakes.prediction import prediction_of
from grader.explain.repair.choice import RepairedExercise
from grader.explain.repair.earlier_calls import Dependence
from grader.explain.repair.proof import Changes, Proved, is_made, proved
from grader.explain.repair.questions import CheckedCall, checked_calls
from grader.explain.repair.search import SearchBounds
from grader.explain.step_comparison import MOST_COMPARED, StepComparison, compare_steps
from grader.home.bench import DirectCalls, Home
from grader.home.failure import Failure
from grader.home.reimport import CannotCopy
from grader.home.repair import HomeBench, HomeRepair, quietly
from grader.home.rerun import NOT_TELLING, RerunAnswers, Siblings, passes, rerun, siblings
from grader.home.time_limit import Limit, is_debugged, own_time
from grader.testing.cases import FrozenModule, FrozenTest
from grader.testing.exercise import membership
from grader.testing.outcome import Observation, Prediction
from grader.worker.trials.alarm import TooLong


class FrozenMistakes(Catalogue):
    """The mistakes that were frozen beside the public tests."""

    def __init__(self, module_of: Callable[[str], FrozenModule]) -> None:
        self._module_of = module_of

    def names(self, observation: Observation) -> Sequence[str]:
        """Returns the known mistakes for a call, then the pairs of mistakes made together."""
        rows, known = self._rows(observation)
        return [name for name in dict.fromkeys(known[: len(rows)]) if name != RIGHT]

    def predictions(self, name: str, observation: Observation) -> Sequence[Prediction | None]:
        """Returns samples of the answer that each numeric variant of a mistake gives to a call."""
        rows, known = self._rows(observation)
        dropped_from = self._module(observation).dropped_from.get(observation.call.adapter)
        return [
            prediction_of(row, dropped_from)
            for row, mistake in zip(rows, known, strict=False)
            if mistake == name
        ]

    def ignored(self, observation: Observation) -> Mapping[str, Collection[str]]:
        """Returns the arguments that each mistake's answer ignores."""
        return self._module(observation).ignored_by

    def echoes(self, name: str, observation: Observation) -> bool:
        """Returns whether a mistake looks like another one in a call's exercise."""
        return observation.call.adapter in self._module(observation).echoed_in.get(name, ())

    def diagnosis(self, name: str, observation: Observation) -> Diagnosis:
        """Returns the explanation and hint of a mistake, or of two made together."""
        return self._module(observation).diagnoses[name]

    def steps(self, observation: Observation) -> Steps | None:
        """Returns the reference's frozen steps to its answer to a call, if any."""
        test = self._test(observation)
        return None if test is None else test.steps.get(observation.number)

    def fixed_steps(self, observation: Observation) -> Collection[str]:
        """Returns the steps that are equal whatever numbers the inputs of the exercise hold."""
        return self._module(observation).fixed_steps.get(observation.call.adapter, ())

    def _rows(self, observation: Observation) -> tuple[torch.Tensor, Sequence[str]]:
        module, test = self._module(observation), self._test(observation)
        rows = None if test is None else test.answers.get(observation.number)
        known = module.mistakes.get(observation.call.adapter, ())
        return torch.empty(0, 0) if rows is None else rows, known

    def _test(self, observation: Observation) -> FrozenTest | None:
        return self._module(observation).tests.get(name_of_test(observation.test))

    def _module(self, observation: Observation) -> FrozenModule:
        return self._module_of(observation.test.partition("::")[0])


# The time limit of a call in reruns.
_CALL_SECONDS = 0.5
CUT_SHORT = "The search for a line to change stopped early: `pytest --locate` finishes it."


class Reasons:
    """The search for the causes of failures, which examines each exercise once.

    The first failure starts it. It reruns all frozen tests, whichever were selected, on a copy of
    the student's modules. A single selected test is then explained as well as in a full run, and
    the search leaves no state for other tests.
    """

    def __init__(self, root: Path, home: Home, patience: SearchBounds) -> None:
        self._root = root
        self._home = home
        self._patience = patience
        self._known = FrozenMistakes(home.cases.module)
        self._begun = False
        self._tests: Siblings = {}
        self._reruns: dict[str, RerunAnswers] = {}
        self._depends = Dependence()
        self._findings: dict[str, Finding] = {}
        self._bench: HomeBench | None = None
        self._repair: HomeRepair | None = None
        self._comparisons = 0
        # By exercise, others that are also wrong.
        self._builds_on: dict[str, Sequence[str]] = {}
        # The comparison of an exercise's steps with the reference's, made once.
        self._way: Callable[[str], StepComparison | None] = functools.cache(self._compared)
        # The proof of an exercise's repair, also made once.
        self._proof: Callable[[str, RepairedExercise], Proved | None] = functools.cache(
            self._proved
        )
        self._limit = Limit(_CALL_SECONDS, root, spares_imports=True)

    def explain(self, item: pytest.Item, failure: Failure) -> None:
        """Adds the mistake and the line to the message of a failed test.

        Raises:
            KeyboardInterrupt: at Ctrl-C; the failure then says that the search stopped early.
        """
        said = failure.said
        if said.status not in (Status.FAILED, Status.ERROR) or is_debugged():
            return
        try:
            if not self._begun:
                self._begun = True
                self._begin(item)
            proved, way = self._reason(said.exercise)
            if not self._is_dependent(failure):
                self._add(failure, proved, way)
            is_whole = all(one.is_whole for one in self._reruns.values())
            if not is_whole or (self._repair is not None and not self._repair.is_complete):
                failure.search = CUT_SHORT
        except KeyboardInterrupt:
            failure.search = CUT_SHORT
            raise
        except Exception as problem:  # as in class: it costs words, and never the run
            failure.search = f"The search for a line to change failed ({type(problem).__name__})."

    def _is_dependent(self, failure: Failure) -> bool:
        """Returns whether a test depends on earlier calls; if so, says so in the failure."""
        said, depends = failure.said, self._depends
        if said.id not in depends.concerned:
            return False
        # The rest of an exception's message is about state from earlier calls, not about this call.
        is_raised = said.status is Status.ERROR
        message = said.headline if is_raised else said.message
        failure.said = dataclasses.replace(
            said, message=message, places=(), advice=depends.in_words(said.id)
        )
        return True

    def _add(self, failure: Failure, proved: Proved | None, way: StepComparison | None) -> None:
        said = failure.said
        words = "" if proved is None else proved.in_words(said.id, shown=self._home.shows_edits)
        repaired = proved.repaired if proved is not None and said.id in proved.passing else None
        if words and repaired is None:
            said = dataclasses.replace(said, message=f"{said.message}\n{words}")
        # An edit that makes a test pass undoes the exercise's mistake, and with it wrong gradients.
        undone = repaired is not None
        follows = undone or (said.aspect is Aspect.GRADIENTS and not said.is_apart)
        finding, mistake = self._findings.get(said.exercise), None
        if finding is not None and (follows or said.id in finding.tests):
            # The first exercise with a mistake; the others refer to it.
            root, mistake = next(
                (name, one.diagnosis)
                for name, one in self._findings.items()
                if one.diagnosis.mistake == finding.diagnosis.mistake
            )
            if root != said.exercise:
                failure.more.append(f"The same mistake as in {root}: fix it there first.")
        advice, places = "", said.places
        if repaired is not None:
            advice, _, failure.line = words.partition("\n")
            places = tuple((place.file, place.line) for place in repaired.places)
        elif self._repair is not None and said.exercise in self._repair.ignored:
            failure.more.append(self._repair.ignored[said.exercise])
        if repaired is None and way is not None:
            told = filter(None, [said.message, way.in_words(said.id)])
            said = dataclasses.replace(said, message="\n".join(told))
            line = way.strange.get(said.id)
            places = places or (() if line is None else ((line.file, line.line),))
        is_bare = mistake is None and repaired is None and not said.is_apart
        if is_bare and said.status is Status.FAILED:
            failure.builds_on = [*self._builds_on.get(said.exercise, ())]
            failure.more += (f"{one} is also wrong: start there." for one in failure.builds_on[:1])
        failure.said = dataclasses.replace(said, mistake=mistake, places=places, advice=advice)

    def _begin(self, item: pytest.Item) -> None:
        """Reruns all frozen tests after the first failure, its own exercise's first."""
        tests, member = siblings(item, list(self._home.exercises)), membership(item)
        if not any(tests.values()):
            return
        # `grader verify` names what is wrong with an assignment's slips.
        with contextlib.suppress(CannotCopy, BadAssignment):
            self._bench = HomeBench(self._root)
        self._tests = tests
        with self._asking() as ask:
            self._rerun(member.exercise if member else "", ask)
        asked = self._asked()
        if self._bench is not None:
            every = itertools.chain(*asked.values())
            self._depends = self._bench.dependence(self._known, every)
        seen = {
            name: [*itertools.filterfalse(self._depends.holds, one.observations)]
            for name, one in self._reruns.items()
        }
        self._findings = diagnose(self._known, seen, contradicts=self._contradicts)
        if self._bench is not None:
            asked = {
                name: [one for one in own if not self._depends.holds(one.question)]
                for name, own in asked.items()
            }
            self._repair = HomeRepair(self._bench, self._known, asked, self._patience)

    def _reason(self, exercise: str) -> tuple[Proved | None, StepComparison | None]:
        """Returns the proof of an exercise's repair or, without one, its steps."""
        repaired, proved = None, None
        if self._repair is not None:
            repaired = self._repair.of(exercise)
            if exercise not in self._builds_on:
                failing = [*self._builds_on]
                self._builds_on[exercise] = self._repair.roots_of(exercise, failing)
        if repaired is not None:
            proved = self._proof(exercise, repaired)
        return proved, self._way(exercise) if proved is None else None

    def _rerun(self, first: str, ask: Callable[[Call], Answer]) -> None:
        end = own_time() + self._patience.seconds
        self._reruns = {exercise: RerunAnswers() for exercise in self._tests}
        for exercise in sorted(self._tests, key=lambda name: name != first):
            own = self._tests[exercise]
            self._reruns[exercise] = rerun(own, self._home.bench, ask, end)

    def _proved(self, exercise: str, repaired: RepairedExercise) -> Proved | None:
        """Returns an exercise's repair, after running its tests with the edit."""
        bench = self._bench
        assert bench is not None
        concerned = self._depends.concerned
        own = [one for one in self._tests[exercise] if one.nodeid not in concerned]
        beside = self._passed_beside(exercise, repaired)
        tests = [*own, *(one for one in beside if one.nodeid not in concerned)]

        def passing(changes: Changes, tests: Sequence[pytest.Function] = tests) -> set[str]:
            if not is_made(bench.try_edits, changes):
                return set()
            with self._asking() as ask:
                return {one.nodeid for one in tests if passes(one, self._home.bench, ask)}

        try:
            silent = [one for one in own if _has_aspect(one, NOT_TELLING)]
            unknown = {one.nodeid for one in silent}
            wrong = self._reruns[exercise].failed - concerned
            wrong |= unknown - passing({}, silent) if silent else set()
            # Wrong answers may take less work than right ones.
            kept = {one.nodeid for one in tests if not _has_aspect(one, COUNTED_ASPECTS)} - wrong
            found = proved(repaired, wrong, kept, passing)
            others = self._not_run_with(exercise, wrong | unknown)
            return None if found is None else dataclasses.replace(found, others=others)
        except (MemoryError, TooLong):
            return None
        finally:
            is_made(bench.try_edits, {})

    def _passed_beside(self, exercise: str, repaired: RepairedExercise) -> list[pytest.Function]:
        """Returns the passed tests of other exercises that run a line of a repair."""
        assert self._repair is not None
        beside = self._repair.running({(place.file, place.line) for place in repaired.places})
        return [
            test
            for name in beside
            if name != exercise
            for test in self._tests[name]
            if test.nodeid not in self._reruns[name].failed and not _has_aspect(test, NOT_TELLING)
        ]

    def _not_run_with(self, exercise: str, known: Collection[str]) -> frozenset[str]:
        """Returns the tests that fail or may fail, without those `known` to fail or to pass."""
        reran = self._reruns[exercise]
        every = {one.nodeid for one in self._tests[exercise]}
        return frozenset((reran.failed if reran.is_whole else every).difference(known))

    @contextlib.contextmanager
    def _asking(self) -> Iterator[Callable[[Call], Answer]]:
        """Provides calls of the reimported copy; if there is none, of the student's functions."""
        if self._bench is None:
            with quietly():
                own = self._home.calls
                yield DirectCalls(
                    own.adapters, self._root, limit=self._limit, settings=own.settings
                )
            return
        functions = SimpleNamespace(**self._bench.functions)
        settings = self._bench.settings
        with self._bench.in_place():
            yield DirectCalls(functions, self._root, limit=self._limit, settings=settings)

    def _contradicts(self, exercise: str, mistake: str) -> bool:
        """Returns whether state that earlier calls left speaks against a mistake."""
        observed = self._reruns[exercise].observations
        return self._depends.contradicts(self._known, mistake, observed)

    def _compared(self, exercise: str) -> StepComparison | None:
        if self._comparisons >= MOST_COMPARED:
            return None
        reran = self._reruns.get(exercise, RerunAnswers())
        answers = [*itertools.filterfalse(self._depends.holds, reran.observations)]
        with self._asking() as ask:
            seen = {exercise: answers}
            way = compare_steps(self._known, ask, seen, reran.failed).get(exercise)
        self._comparisons += way is not None
        return way

    def _asked(self) -> Mapping[str, Sequence[CheckedCall]]:
        """Returns the plain calls with a known right answer, by exercise in course order."""
        return {
            name: [*checked_calls(self._known, name, one.observations, one.raised, one.failed)]
            for name, one in self._reruns.items()
        }


def _has_aspect(test: pytest.Function, aspects: Collection[Aspect]) -> bool:
    member = membership(test)
    return member is not None and member.aspect in aspects
