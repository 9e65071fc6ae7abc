"""The check of an assignment's tests against its own references, mistakes and habits."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from grader.authoring.handout.freezing import outdated_fixtures
from grader.authoring.seen_mistakes import seen_in_classes
from grader.core.assignment import Assignment, BadAssignment
from grader.core.names import meant, nearest
from grader.core.verdict import Aspect, Status, Verdict
from grader.core.wire.calls import Answer, Call, encode_call
from grader.explain.answers import InFull
from grader.explain.explainer.explainer import Explainer
from grader.explain.mistakes.diagnosis import TELLING_CASES
from grader.explain.mistakes.mistakes import load_mistakes
from grader.explain.rewriting.generation import check_examples
from grader.explain.rewriting.slips import load_slips
from grader.grading.judge.judge import Judge
from grader.home.bench import DirectCalls
from grader.testing.assertions import WrongNumbers
from grader.testing.cases import SEED, fresh_case
from grader.testing.course import Foundations, listed_in, load_references
from grader.testing.handles.bench import Bench
from grader.testing.handles.handle import BrokenReference
from grader.testing.outcome import StudentFault
from grader.testing.suite import Suite
from grader.worker.observing.watching import NAMESPACE

Function = Callable[..., Any]
_KINDS = ("MISTAKES", "HABITS")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A function with a mistake or habit; `way` numbers its functions in an exercise from 1."""

    mistake: str
    function: Function
    way: int
    is_habit: bool


@dataclass(frozen=True, slots=True)
class MistakeTrial:
    """One function with a mistake in one exercise, and the tests' verdicts on it.

    `way` numbers the mistake's functions in the exercise from 1. A habit gives right answers, so
    the diagnosis cannot name it. `named` is the mistake that the diagnosis named, if it named one;
    `unnamed` says why it could not.
    """

    mistake: str
    exercise: str
    caught_by: tuple[str, ...]
    named: str | None
    way: int = 1
    is_habit: bool = False
    unnamed: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """The tests' verdicts on wrong functions, and a sentence on each fault of the assignment."""

    trials: tuple[MistakeTrial, ...]
    complaints: tuple[str, ...] = ()

    @property
    def misnamed(self) -> list[MistakeTrial]:
        """Returns the wrong functions that the diagnosis calls by another mistake's name."""
        return [trial for trial in self.trials if trial.named not in (None, trial.mistake)]

    @property
    def catches(self) -> dict[str, list[str]]:
        """Returns the mistakes and habits that each test catches."""
        found: dict[str, dict[str, None]] = {}
        for trial in self.trials:
            for test in trial.caught_by:
                found.setdefault(test, {})[trial.mistake] = None
        return {test: list(mistakes) for test, mistakes in found.items()}


def answering(
    root: Path,
    functions: Mapping[str, Function],
    references: Mapping[str, Function] | None = None,
) -> Callable[[Call], Answer]:
    """Returns the `ask` that answers the calls of tests with given functions, by exercise.

    If the tests of an exercise also call other adapters, `references` answer these calls.
    """

    @functools.cache
    def calls_of(exercise: str) -> DirectCalls:
        own = {name: one for name, one in (references or functions).items() if name != exercise}
        own |= {exercise: functions[exercise]} if exercise in functions else {}
        return DirectCalls(SimpleNamespace(**own), root)

    return lambda call: calls_of(call.exercise or call.adapter)(call)


def _asked(call: Call) -> bytes:
    """Returns the content of a call without its seed and frame, as bytes."""
    return encode_call(replace(call, seed=0, frame=None))


def verify(assignment: Assignment) -> Verification:
    """Runs references, right variants, and all ways of mistakes and habits through the tests.

    Mistakes are in `solutions.mistakes.MISTAKES`. `HABITS` in the same module give right values in
    a way that other tests forbid. `solutions.variants.VARIANTS` may hold other right solutions,
    each with a `name` and its `functions` by exercise.

    Raises:
        BadAssignment: if the tests cannot be run, or a row of `solutions/slips.toml` is wrong.
    """
    check_examples(load_slips(assignment.root))
    return Suite(assignment).open(_verification)


def _verification(suite: Suite) -> Verification:
    root = suite.assignment.root
    judge = Judge(suite, SEED)
    explainer = Explainer(suite, load_mistakes(root, suite.references))
    _check_wrong_functions(suite)
    solutions = load_references(root)
    references = answering(root, solutions)
    answers: dict[bytes, Answer] = {}

    def remembering(call: Call) -> Answer:
        # Calls that differ only in their random numbers are the same key: keep the first answer.
        answer = references(call)
        answers.setdefault(_asked(call), answer)
        return answer

    right = list(judge.grade(remembering))
    complaints = [
        f"the reference fails {verdict.id}: {_reason(suite, verdict, references)}"
        for verdict in right
        if verdict.status is not Status.PASSED
    ]
    is_right = not complaints
    complaints += (
        f"the right variant {variant.name!r} fails {verdict.id}: {_reason(suite, verdict, ask)}"
        for variant in listed_in("solutions.variants", "VARIANTS")
        for ask in [answering(root, variant.functions, solutions)]
        for verdict in judge.grade(ask, variant.functions)
        if verdict.status is not Status.PASSED
    )
    trials: list[MistakeTrial] = []
    failed: set[str] = set()
    for exercise, several in wrong_functions().items():
        for wrong in several:
            ask = answering(root, {exercise: wrong.function}, solutions)
            verdicts = list(judge.grade(ask, (exercise,)))
            statuses = {verdict.id: verdict.status for verdict in verdicts}
            named, cases = explainer.names(ask, statuses)
            shown = cases.get(exercise, 0)
            trials.append(_trial(wrong, exercise, verdicts, named.get(exercise), shown))
            failed |= set(trials[-1].caught_by)
    found = Verification(tuple(trials))
    complaints += (
        f"{one.mistake} in {one.exercise} passes every test" for one in trials if not one.caught_by
    )
    complaints += (
        f"{one.mistake} in {one.exercise} is called {one.named}" for one in found.misnamed
    )
    complaints += (
        f"nothing wrong fails {verdict.id}: add a mistake or a habit that does"
        for verdict in right
        if verdict.id not in failed
    )
    complaints += (
        f"answers remembered from another draw pass {test}: draw its inputs"
        for test in _remembered(suite, answers)
    )
    complaints += _apart(suite.foundations)
    complaints += _unlike(suite, explainer, references)
    complaints += (
        f"[tool.grader.forbidden] lists {name}, which does not exist"
        + (f": did you mean {near}?" if near else "")
        for name, near in unknown_names(suite.assignment.forbidden)
    )
    if is_right and (outdated := outdated_fixtures(suite)):
        first, more = outdated[0], len(outdated) - 1
        others = f" (and {more} more)" if more else ""
        complaints.append(
            f"the fixtures are outdated: run grader freeze. They differ in {first}{others}"
        )
    return replace(found, complaints=tuple(complaints))


def _remembered(suite: Suite, answers: Mapping[bytes, Answer]) -> list[str]:
    """Returns the tests of values that earlier answers pass in each of three other draws.

    If a test draws one of a few numbers, some draw asks the same again by chance.
    """

    def ask(call: Call) -> Answer:
        if _asked(call) not in answers:
            raise StudentFault(Status.FAILED, f"{call.adapter} was never called like this")
        return answers[_asked(call)]

    passed = [*suite.tests]
    for seed in range(SEED + 1, SEED + 4):
        exercises = {suite.tests[test].exercise for test in passed}
        passed = [
            verdict.id
            for verdict in Judge(suite, seed).grade(ask, exercises)
            if verdict.id in passed
            and verdict.aspect is Aspect.VALUES
            and verdict.status is Status.PASSED
        ]
    return passed


def _reason(suite: Suite, verdict: Verdict, ask: Callable[[Call], Answer]) -> str:
    """Returns why right functions fail a test, in the words that students read at home.

    For wrong numbers, also returns how far off they are.
    """
    case_of = functools.cache(functools.partial(fresh_case, SEED))
    given = suite.contract, ask, suite.references, case_of, SEED, InFull()
    raised = suite.run(verdict.id, Bench(*given)).raised
    first = (verdict.message or "").partition("\n")[0]
    if isinstance(raised, BrokenReference):
        return str(raised)
    if raised is None:
        return f"{first} It passes when it runs again: does chance decide the answer?"
    if isinstance(raised, StudentFault):
        return raised.message.partition("\n")[0]
    if not isinstance(raised, WrongNumbers):
        # A bare assertion has no message.
        said = str(raised).partition("\n")[0] if isinstance(raised, AssertionError) else ""
        return f"{first.removesuffix('.')} ({said})" if said else first
    allowed, by_how_much = raised.comparison.measurement, "; ".join(raised.words.splitlines()[:2])
    return (
        f"{first} {by_how_much[:1].upper()}{by_how_much[1:]} (rtol={allowed.rtol:g}, "
        f"atol={allowed.atol:g}). It ran in the test's dtypes; the expected values are float64."
    )


def _check_wrong_functions(suite: Suite) -> None:
    """Checks the ids of wrong functions, that their exercises are known, and their parameters.

    Raises:
        BadAssignment: if an id occurs twice, or a function fits no adapter with a reference.
    """
    listed = [one.id for kind in _KINDS for one in listed_in("solutions.mistakes", kind)]
    twice = [name for name, count in Counter(listed).items() if count > 1]
    if twice:
        said = "a further way of a mistake is one more of its variants"
        raise BadAssignment(f"solutions/mistakes.py lists {twice[0]} twice: {said}")
    for exercise, wrong in wrong_functions().items():
        for one in wrong:
            what = f"solutions/mistakes.py: {one.mistake}"
            if exercise not in suite.contract:
                known = meant(exercise, suite.contract)
                raise BadAssignment(f"{what} lists {exercise}, which is not an adapter: {known}")
            if exercise not in suite.references:
                raise BadAssignment(f"{what} lists {exercise}, which has no reference: write one")
            try:
                asked = inspect.signature(suite.references[exercise]).parameters.values()
                needed = [own.name for own in asked if own.default is own.empty]
                inspect.signature(one.function).bind(**dict.fromkeys(needed))
            except ValueError:
                continue  # A builtin function may have no signature.
            except TypeError as misfit:
                raise BadAssignment(
                    f"{what} cannot be called with the parameters of {exercise}, way {one.way}: "
                    f"{misfit}"
                ) from None


def _apart(foundations: Foundations) -> Iterator[str]:
    for exercise, of in foundations.builds_on.items():
        for below in of:
            if not foundations.shared(exercise, below):
                yield (
                    f"BUILDS_ON says that {exercise} builds on {below}, and no mistake is known in "
                    "both"
                )


def _unlike(suite: Suite, explainer: Explainer, right: Callable[[Call], Answer]) -> Iterator[str]:
    """Yields a sentence on each mistake seen in a class whose answers no variant gives."""
    known = {one.id: one.variants for one in listed_in("solutions.mistakes", "MISTAKES")}
    for seen in seen_in_classes(suite.assignment.solutions):
        mistake, exercise = seen.diagnosis.mistake, seen.exercise
        variants = known.get(mistake, {}).get(exercise, ())
        asked = (answering(suite.assignment.root, {exercise: one}) for one in variants)
        answers = (explainer.wrong_answers(ask, exercise) for ask in asked)
        if not any(one is not None and seen.is_shown_by(one) for one in answers):
            calls = {(one.test, one.number) for one in explainer.observations(right, exercise)}
            gone = any(one.key not in calls for one in seen.answers.answers)
            file = f"solutions/seen/{mistake}.toml"
            if variants and gone:
                yield (
                    f"{file} holds answers to calls of {exercise} that its tests no longer make: "
                    "delete the file, MISTAKES suffices"
                )
            else:
                yield (
                    f"{mistake} does not answer in {exercise} as {file} says that a class did: "
                    "list it in MISTAKES, with a variant that does"
                )


def _trial(
    wrong: Wrong, exercise: str, verdicts: Sequence[Verdict], named: str | None, cases: int
) -> MistakeTrial:
    caught = [verdict for verdict in verdicts if verdict.status is not Status.PASSED]
    raises = bool(caught) and not any(one.status is Status.FAILED for one in caught)
    tests = tuple(verdict.id for verdict in caught)
    why = _unnamed(raises, cases) if named is None else ""
    return MistakeTrial(wrong.mistake, exercise, tests, named, wrong.way, wrong.is_habit, why)


def _unnamed(raises: bool, cases: int) -> str:
    """Returns why a mistake is not named; `cases` are its wrong answers in telling tests."""
    if raises:
        return "it raises where it is wrong, and a mistake is named by its answers"
    if cases >= TELLING_CASES:
        return "another mistake answers like it in every case, or chance decides its answers"
    if cases:
        more = "two are needed: another parameter or another test"
        return f"it shows in one case of values or generality ({more})"
    return "it shows in no case of values or generality (cases of chance do not count)"


def wrong_functions() -> dict[str, list[Wrong]]:
    """Returns each exercise's functions that make a mistake or have a habit."""
    wrong: dict[str, list[Wrong]] = defaultdict(list)
    for kind in _KINDS:
        for entry in listed_in("solutions.mistakes", kind):
            for exercise, functions in entry.variants.items():
                # In an exercise that it echoes, it is known as another mistake.
                if exercise not in getattr(entry, "echoes", ()):
                    numbered = enumerate(functions, start=1)
                    wrong[exercise] += [
                        Wrong(entry.id, function, way, kind == "HABITS")
                        for way, function in numbered
                    ]
    return wrong


def unknown_names(forbidden: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields each name that torch or a package does not have, and a similar name or ""."""
    operations = {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    for name in forbidden:
        if name.startswith(NAMESPACE):
            if name not in operations:
                yield name, nearest(name, operations)
        elif importlib.util.find_spec(name.partition(".")[0]) is not None:
            yield from _unknown(name)


def _unknown(name: str) -> Iterator[tuple[str, str]]:
    """Yields a dotted name if its package does not have it, and a similar name or ""."""
    first, *rest = name.split(".")
    found, so_far = importlib.import_module(first), first
    for attribute in rest:
        with contextlib.suppress(ImportError):
            importlib.import_module(f"{so_far}.{attribute}")
        if not hasattr(found, attribute):
            yield name, nearest(name, [f"{so_far}.{one}" for one in dir(found)])
            return
        found, so_far = getattr(found, attribute), f"{so_far}.{attribute}"
