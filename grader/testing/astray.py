"""Finds the first step of a recorded call that goes astray, and the line that takes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from grader.evidence import StepSeen
from grader.testing.layouts import KnownSteps, Likeness, Steps
from grader.wire.records import Line, Record

# What comes out in the end is a step of its own, also where a reference names none.
RESULT = "result"
STRANGE = "first NaN or infinity"
_NAMED = 6


@dataclass(frozen=True, slots=True)
class Astray:
    """The first wrong step, its line (if that is certain), and the steps that were right before.

    `walk` holds all steps of the reference, with the shapes in which they were taken.
    """

    step: str
    line: Line | None
    right: tuple[str, ...] = ()
    walk: tuple[StepSeen, ...] = ()

    def in_words(self) -> str:
        """What is right until there, and the line: one or two short sentences."""
        until = f"Right so far: {_listed(self.right)}. " if self.right else ""
        if self.step == STRANGE and self.line is not None:
            return f"The first NaN or infinity appears in {in_place(self.line)}"
        step = "the result" if self.step == RESULT else f'the step "{self.step}"'
        if self.line is None:
            return f"{until}Wrong: {step}." if until else ""
        return f"{until}{step[0].upper()}{step[1:]} goes astray in {in_place(self.line)}"


@dataclass(frozen=True, slots=True)
class _Seen:
    """A record, and the steps that it is like: of the reference, and of a mistake."""

    record: Record
    right: Mapping[str, Likeness]
    wrong: Mapping[str, Likeness]

    def is_of(self, mistaken: str) -> Likeness:
        """How alike it is to a mistake's step, if it is more so than to any right one."""
        likeness = self.wrong.get(mistaken, Likeness.NONE)
        return likeness if likeness > max(self.right.values(), default=0) else Likeness.NONE


@dataclass(frozen=True, slots=True)
class Proof:
    """A function takes a step rightly on the way to another exercise's right answer.

    `covers` are all the steps that it takes there, `asked` all that are asked for there.
    """

    file: str
    function: str
    step: str
    covers: frozenset[str]
    asked: frozenset[str]

    def holds_for(self, step: str, names: Sequence[str]) -> bool:
        """Whether it proves a step among those that are asked for here, in this order.

        It does not if the function covers a stretch into which a step falls that was not asked for
        there: it may be just that one which is missing.
        """
        if step != self.step:
            return bool(set(step.split()) & set(self.step.split()))
        if step not in names:
            return True
        start = min(names.index(name) for name in self.covers if name in names)
        return self.asked >= {*names[start : names.index(step)]}


Proven = Collection[Proof]


def astray_by_mistake(
    records: Sequence[Record],
    given: Iterable[torch.Tensor],
    right: Steps,
    wrong: Steps,
    shows_at: str | None,
    proven: Proven,
) -> Astray | None:
    """Where a call with these `given` tensors goes astray by a known mistake with `wrong` steps.

    `shows_at` is the right step at whose line something is left out. Of functions that are
    `proven` for a step, who calls them is to blame.
    """
    known, mistaken = KnownSteps.of(right), KnownSteps.of(wrong)
    seen = [
        _Seen(record, known.likeness(record.value), mistaken.likeness(record.value))
        for record in _computed(records, given)
    ]
    differing = [step for step in differing_steps(right, wrong) if mistaken.tells(step)]
    if shows_at is not None:
        taken = _taken(shows_at, seen)
        if taken is not None:
            before = _right_until(shows_at, right, seen)
            return _stopped(next(iter(differing), shows_at), taken, before, right, seen, ())
    for step in differing:
        # What was done rightly, and is not what went on, was done for nothing.
        alone = [one for one in seen if set(one.right) == {step}]
        unused = _taken(step, alone) if step != RESULT else None
        wrongly = (one.record for one in seen if one.is_of(step))
        taken = unused or next(wrongly, None)
        if step == RESULT and not _is_next(step, right, seen):
            return None
        if taken is not None:
            before = _right_until(step, right, seen, including=False)
            return _stopped(step, taken, before, right, seen, () if unused else proven)
    return None


def proof_of(records: Iterable[Record], right: Steps) -> set[Proof]:
    """What functions show on the way to a right answer with these steps."""
    known, covers = KnownSteps.of(right), defaultdict[tuple[str, str], set[str]](set)
    for record in records:
        steps = known.likeness(record.value)
        for line in record.stack if steps else ():
            covers[line.file, line.function].update(steps)
    asked = frozenset(right)
    return {
        Proof(file, function, step, frozenset(steps), asked)
        for (file, function), steps in covers.items()
        for step in steps
    }


def line_of_answer(
    records: Iterable[Record], given: Iterable[torch.Tensor], answer: torch.Tensor
) -> Line | None:
    """The line that computes the very numbers of an answer."""
    wanted = _numbers(answer)
    for record in _computed(records, given):
        if record.stack and _numbers(record.value) == wanted:
            return record.stack[-1]
    return None


def _computed(records: Iterable[Record], given: Iterable[torch.Tensor]) -> list[Record]:
    """The records that are more than a given tensor in another layout."""
    moved = set(map(_numbers, given))
    return [record for record in records if _numbers(record.value) not in moved]


def _taken(step: str, seen: Iterable[_Seen]) -> Record | None:
    """The first record in which a right step is taken as such."""
    alike = (one.record for one in seen if one.right.get(step, 0) >= Likeness.PERMUTED)
    return next(alike, None)


def astray(
    records: Sequence[Record], given: Iterable[torch.Tensor], right: Steps, proven: Proven
) -> Astray | None:
    """Where a call with these `given` tensors goes astray for reasons unknown.

    That is after the last step that is right; the line is told if only one can be it.
    """
    known = KnownSteps.of(right)
    likenesses = [known.likeness(record.value) for record in records]
    reached = {name: n for n, found in reversed(list(enumerate(likenesses))) for name in found}
    names = list(right)
    last = max((names.index(name) for name in reached), default=-1)
    if last + 1 >= len(names):
        return None
    start = max((number + 1 for number in reached.values()), default=0)
    own = {_sizes(form) for form in right[names[last + 1]]}
    following = {_sizes(form) for name in names[last + 2 :] for form in right[name]} - own
    moved = {*map(_numbers, given), *(_numbers(record.value) for record in records[:start])}
    lines: dict[Line | None, None] = {}
    for record in records[start:]:
        if _sizes(record.value) in following:
            break
        if _numbers(record.value) not in moved:
            moved.add(_numbers(record.value))
            lines[_to_blame(record, names[last + 1], right, proven)] = None
    (line,) = lines if len(lines) == 1 else (None,)
    shapes = {name: tuple(records[number].value.shape) for name, number in reached.items()}
    before = tuple(name for name in names if name in reached)
    return Astray(names[last + 1], line, before, _walk(right, shapes, names[last + 1]))


def in_place(line: Line) -> str:
    """A line with its file and source."""
    return f"{line.file}, line {line.line}: {line.source}"


def first_strange(records: Iterable[Record]) -> tuple[int, Line] | None:
    """When and at which line the first NaN or positive infinity appears.

    Of a NaN after something was masked with infinity, the mask may be the cause: then None.
    """
    masked = False
    for place, record in enumerate(records):
        value = record.value
        if value.is_floating_point() and record.stack:
            overflow = bool((value == torch.inf).any())
            if overflow or bool(value.isnan().any()):
                return (place, record.stack[-1]) if overflow or not masked else None
            masked = masked or bool((value == -torch.inf).any())
    return None


def _stopped(
    step: str,
    record: Record,
    before: tuple[str, ...],
    right: Steps,
    seen: Sequence[_Seen],
    proven: Proven,
) -> Astray:
    """Astray at a step and a record that are known."""
    shapes = {name: tuple(one.record.value.shape) for one in reversed(seen) for name in one.right}
    shapes[step] = tuple(record.value.shape)
    return Astray(step, _to_blame(record, step, right, proven), before, _walk(right, shapes, step))


def _walk(
    right: Steps, shapes: Mapping[str, tuple[int, ...]], astray_step: str
) -> tuple[StepSeen, ...]:
    return tuple(
        StepSeen(
            name,
            tuple(forms[0].shape),
            shapes.get(name),
            False if name == astray_step else (True if name in shapes else None),
        )
        for name, forms in right.items()
    )


def differing_steps(right: Steps, wrong: Steps) -> dict[str, Sequence[torch.Tensor]]:
    """The steps that a mistake takes otherwise, in its order."""
    return {
        name: forms
        for name, forms in wrong.items()
        if not all(any(_same(form, own) for own in right.get(name, ())) for form in forms)
    }


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one.double(), other.double(), equal_nan=True)


def _right_until(
    step: str, right: Steps, seen: Iterable[_Seen], including: bool = True
) -> tuple[str, ...]:
    """The steps before `step` that were taken rightly, in the reference's order."""
    names = list(right)
    end = names.index(step) + including if step in names else len(names)
    taken = {name for one in seen for name in one.right}
    return tuple(name for name in names[:end] if name in taken and name != RESULT)


def _is_next(step: str, right: Steps, seen: Iterable[_Seen]) -> bool:
    """Whether the step before this one was taken rightly, if there is one."""
    before = list(right)[: list(right).index(step)][-1:]
    return not before or any(name in one.right for one in seen for name in before)


def _sizes(tensor: torch.Tensor) -> tuple[int, ...]:
    """The sizes of a tensor's axes, in no particular order."""
    return tuple(sorted(size for size in tensor.shape if size > 1))


def _numbers(tensor: torch.Tensor) -> bytes:
    """The numbers of a tensor, in whatever layout: moving them about changes nothing."""
    return bytes(tensor.to(torch.float32).flatten().sort().values.numpy().tobytes())


def _to_blame(record: Record, step: str, right: Steps, proven: Proven) -> Line | None:
    """The innermost line of a record whose function is not known to take such a step rightly."""
    names = list(right)
    sound = {(one.file, one.function) for one in proven if one.holds_for(step, names)}
    for line in reversed(record.stack):
        if (line.file, line.function) not in sound:
            return line
    return record.stack[-1] if record.stack else None


def _listed(names: Sequence[str]) -> str:
    shown = list(names[-_NAMED:])
    *others, last = ["…", *shown] if len(names) > _NAMED else shown
    return f"{', '.join(others)} and {last}" if others else last
