"""Compares one call of a failed exercise with the reference, step by step."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import filterfalse

import torch

from grader.core.evidence import StepSeen, StepWalk
from grader.core.text import enumerated
from grader.core.verdict import TELLING_ASPECTS, Aspect
from grader.core.wire.calls import Answer, Call, Record, Reply
from grader.core.wire.records import Line
from grader.explain.deadline import NEVER, Deadline, TooLate
from grader.explain.layouts import NEARLY, RESULT, Cut, KnownSteps, Likeness, Steps
from grader.explain.mistakes.catalogue import Catalogue
from grader.explain.mistakes.diagnosis import is_right
from grader.testing.differences import is_near
from grader.testing.outcome import Observation, StudentFault


def first_strange(records: Iterable[Record]) -> Line | None:
    """Returns the line at which the first NaN or positive infinity appears.

    Returns None for a NaN after a negative infinity, because a mask may cause it.
    """
    masked = False
    for record in records:
        value = record.value
        if value.is_floating_point() and record.stack:
            overflow = bool((value == torch.inf).any())
            if overflow or bool(value.isnan().any()):
                return record.stack[-1] if overflow or not masked else None
            masked = masked or bool((value == -torch.inf).any())
    return None


# The most exercises to compare for a submission. Further ones often repeat the mistake of these.
MOST_COMPARED = 6
# The most calls to look at for one with known steps.
_MOST_LOOKED_AT = 6
# The most calls whose first NaN or infinity is located: their lines may differ.
_MOST_STRANGE = 6
# The most steps that a message lists.
_NAMED = 6

Ask = Callable[[Call], Reply]
# The likeness of a value to a step, and the value's shape.
_Found = tuple[Likeness, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class StepComparison:
    """The findings from one call of a failed exercise, step by step.

    `walk` is present if a step was right. It belongs to its own test alone, because another call
    may go wrong at another step. `strange` holds the line of `first_strange`, by test, for calls
    whose own answer holds a NaN or an infinity.
    """

    walk: StepWalk | None
    strange: Mapping[str, Line]

    def in_words(self, test: str) -> str:
        """Returns the words for a test: a sentence or two, or ""."""
        line = self.strange.get(test)
        if line is not None:
            place = f"{line.file}:{line.line}: {line.source}"
            return f"The first NaN or positive infinity appears in {place}"
        is_own = self.walk is not None and test == self.walk.test
        return in_words(self.walk.steps) if self.walk is not None and is_own else ""


def compare_steps(
    catalogue: Catalogue,
    ask: Ask,
    seen: Mapping[str, Sequence[Observation]],
    failed: Collection[str],
    deadline: Deadline = NEVER,
) -> dict[str, StepComparison]:
    """Returns step comparisons for one call of each of the first few failed exercises.

    `seen` holds the answers by exercise, and `failed` the failed tests. Comparisons that miss the
    deadline are left out.
    """
    found: dict[str, StepComparison] = {}
    with contextlib.suppress(TooLate):
        for exercise in deadline.each(seen):
            wrong = [
                one
                for one in seen[exercise]
                if one.test in failed and is_right(catalogue, one) is False
            ]
            chosen, steps = _chosen(catalogue, wrong)
            if chosen and len(found) < MOST_COMPARED:
                fixed = catalogue.fixed_steps(chosen[0]) if steps else ()
                found[exercise] = _compared(ask, exercise, chosen, steps, fixed, deadline)
    return found


def in_words(steps: Sequence[StepSeen]) -> str:
    """Returns the sentences that list the right steps, the first wrong one, and unseen ones.

    Steps inside a single operation cannot be seen.
    """
    right = [step.name for step in steps if step.right]
    before = [*itertools.takewhile(lambda step: step.right is not False, steps)]
    wrong = steps[len(before)].name
    said = f'The next step, "{wrong}", or what it is given is missing or wrong.'
    named = "The result is wrong." if wrong == RESULT else said
    unseen = [step.name for step in before if not step.right]
    also = f" Not recognised before it: {_listed(unseen)}." if unseen else ""
    return f"Right so far: {_listed(right)}. {named}{also}"


def steps_seen(
    records: Sequence[Record], right: Steps, deadline: Deadline = NEVER, fixed: Collection[str] = ()
) -> tuple[StepSeen, ...]:
    """Returns the steps of the reference, each right, wrong or not seen in the records.

    The first step after the last right one is wrong, if a value was seen that may be it. Unseen
    steps before it may be computed in another way, in blocks for example. `fixed` steps are equal
    for every input: a right one does not show that steps before it are right, unless they are fixed
    too. Doubtful and unseen steps are left out.

    Returns nothing if no step before the wrong one is right, or if none is wrong. Returns nothing
    either if the wrong one is nearly right, because rounding may be the cause.

    Raises:
        TooLate: if the deadline passes.
    """
    known = KnownSteps(right)
    found = _shapes(records, known, deadline)
    names = [name for name in right if name not in known.doubtful | known.unseen]
    sizes = {(one.value.numel(), one.value.is_floating_point()) for one in records}
    possible = {name for name in names if any(_may_be(form, sizes) for form in right[name])}
    wrong = _first_wrong(names, found, fixed, possible | {RESULT})
    before = names[: names.index(wrong)] if wrong is not None else []
    shapes = {name: found[name] for name in before if name in found}
    if wrong is None or not shapes:
        return ()
    nearly = KnownSteps({wrong: right[wrong]}, NEARLY)
    if wrong not in found and wrong in _shapes(records, nearly, deadline):
        return ()
    return tuple(
        StepSeen(
            name,
            shape,
            shapes.get(name),
            False if name == wrong else (True if name in shapes else None),
        )
        for name, shape in _first_shapes(right).items()
        if name in names
    )


def _first_wrong(
    names: Sequence[str], right: Collection[str], fixed: Collection[str], possible: Collection[str]
) -> str | None:
    """Returns the first step that is not right, and that no later right step may build on.

    Only a `possible` step can be the wrong one: a value was seen that may be it.
    """
    for place, name in enumerate(names):
        later = (other for other in names[place:] if other in right)
        builds = any(other not in fixed or name in fixed for other in later)
        if name in possible and not builds:
            return name
    return None


def _may_be(step: torch.Tensor, sizes: Collection[tuple[int, bool]]) -> bool:
    """Returns whether a value of one of these sizes may be a step, or what a loop makes of it.

    Loops go over sequences or heads: over axes before the last two. Each size says whether the
    value has fractions. A step with fractions is no value without, such as a mask.
    """
    lead = [size for size in step.shape[:-2] if size > 1]
    cuts = (some for many in range(len(lead) + 1) for some in itertools.combinations(lead, many))
    kinds = {True, step.is_floating_point()}
    return any((step.numel() // math.prod(cut), kind) in sizes for cut in cuts for kind in kinds)


def _shapes(
    records: Sequence[Record], known: KnownSteps, deadline: Deadline
) -> dict[str, tuple[int, ...]]:
    """Returns the recognised steps with their shapes.

    Torch makes shapes of its own within a line, like a flattened batch for a matrix product. The
    last shape on a line counts therefore, and no step whose numbers the line then mixes up. Among
    several lines, the one most like the reference counts. A step in slices counts only if all its
    slices are found.
    """
    seen: dict[str, _Found] = {}
    slices: dict[Cut, set[int]] = {}
    for _, on_a_line in itertools.groupby(deadline.each(records), lambda one: one.stack):
        last: dict[str, _Found] = {}
        for record in on_a_line:
            alike = known.alike(record.value)
            names = known.most_like(record.value)
            for name in alike.mixed_up:
                last.pop(name, None)
            for name in names:
                found = alike.steps[name], tuple(record.value.shape)
                if name not in last or not _is_merged(found, last[name]):
                    last[name] = found
            for (cut, part), likeness in alike.slices.items():
                numbers = slices.setdefault(cut, set())
                numbers.add(part)
                if len(numbers) == cut.count and cut.name not in known.doubtful:
                    last.setdefault(cut.name, (likeness, tuple(record.value.shape)))
        for name, found in last.items():
            if name not in seen or found[0] > seen[name][0]:
                seen[name] = found
    return {name: shape for name, (_, shape) in seen.items()}


def _first_shapes(steps: Steps) -> dict[str, tuple[int, ...]]:
    return {name: tuple(forms[0].shape) for name, forms in steps.items()}


def _is_merged(found: _Found, earlier: _Found) -> bool:
    """Returns whether a value has fewer axes than an earlier one, and is less like its step."""
    return found[0] < earlier[0] and len(found[1]) < len(earlier[1])


def _chosen(
    catalogue: Catalogue, wrong: Sequence[Observation]
) -> tuple[Sequence[Observation], Steps]:
    """Returns the wrong answers to compare step by step, and the steps of the first.

    Prefers a plain answer with known steps as the first, and one whose axes differ in length:
    where there are as many heads as features of a head, a wrong split looks right. A few answers
    with NaN or infinity follow, one of each test. Without any of these, takes one plain answer.
    """
    plain = [one for one in wrong if one.aspect in TELLING_ASPECTS]
    strange = {one.test: one for one in sorted(filterfalse(_is_finite, wrong), key=_order)}
    few = [*strange.values()][:_MOST_STRANGE]
    known: list[tuple[Observation, Steps]] = []
    for one in sorted(plain, key=_order)[:_MOST_LOOKED_AT]:
        steps = catalogue.steps(one) or {}
        # In a nearly right answer, the wrong steps are nearly right too, and not recognisable.
        if len(steps) > 1 and not any(is_near(one.value, form) for form in steps.get(RESULT, ())):
            known.append((one, steps))
    if not known:
        return few or sorted(plain, key=_order)[:1], {}
    one, steps = min(known, key=lambda each: _coincidences(*each))
    return [one, *(other for other in few if other.test != one.test)], steps


def _compared(
    ask: Ask,
    exercise: str,
    chosen: Sequence[Observation],
    steps: Steps,
    fixed: Collection[str],
    deadline: Deadline,
) -> StepComparison:
    recorded = [(one, _recorded(ask, one)) for one in deadline.each(chosen)]
    taken = steps_seen(recorded[0][1].records, steps, deadline, fixed)
    strange: dict[str, Line] = {}
    for one, own in recorded:
        line = None if _is_finite(one) else first_strange(own.records)
        if line is not None:
            strange.setdefault(one.test, line)
    return StepComparison(StepWalk(exercise, chosen[0].test, taken) if taken else None, strange)


def _recorded(ask: Ask, observation: Observation) -> Answer:
    try:
        return ask(dataclasses.replace(observation.call, record=True, frame=None)).opened()
    except StudentFault:
        return Answer()


def _order(observation: Observation) -> tuple[bool, int]:
    """Returns the sorting key: plain cases first, then large ones, which match less by chance."""
    return observation.aspect is not Aspect.VALUES, -observation.value.numel()


def _coincidences(one: Observation, steps: Steps) -> tuple[int, int]:
    """Returns the number of steps with two axes of one length, and minus that of input lengths.

    Axes of length 1 do not count. With values as wide as keys, a scale by the width of the values
    looks right.
    """
    shapes = ([size for size in shape if size > 1] for shape in _first_shapes(steps).values())
    inputs = (
        value.shape for value in one.call.arguments.values() if isinstance(value, torch.Tensor)
    )
    lengths = {size for shape in inputs for size in shape}
    return sum(len({*shape}) < len(shape) for shape in shapes), -len(lengths)


def _is_finite(observation: Observation) -> bool:
    return bool(observation.value.isfinite().all())


def _listed(names: Sequence[str]) -> str:
    shown = list(names[-_NAMED:])
    return enumerated(["…", *shown] if len(names) > _NAMED else shown)
