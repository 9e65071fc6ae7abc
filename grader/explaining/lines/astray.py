"""Finds the first step of a recorded call that goes astray, and the line that takes it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from grader.evidence import StepSeen
from grader.explaining.deadline import NEVER, Deadline
from grader.explaining.lines.blame import Proven, sound_lines, to_blame
from grader.explaining.lines.layouts import RESULT, KnownSteps, Steps, numbers_of
from grader.wire.records import Line, Record

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


def line_of_answer(
    records: Sequence[Record],
    given: Iterable[torch.Tensor],
    answer: torch.Tensor,
    deadline: Deadline = NEVER,
) -> Line | None:
    """The line that computes the very numbers of an answer, or else gives them back as given."""
    wanted = numbers_of(answer)
    alike = [
        record
        for record in deadline.each(records)
        if record.value.numel() == answer.numel()
        and record.stack
        and numbers_of(record.value) == wanted
    ]
    for record in computed(alike, given, deadline):
        return record.stack[-1]
    return max(alike, key=lambda record: len(record.stack)).stack[-1] if alike else None


def line_of_draw(
    records: Iterable[Record], answer: torch.Tensor, deadline: Deadline = NEVER
) -> Line | None:
    """The line that decides which entries of an answer chance sets to zero."""
    dropped = answer == 0
    for record in deadline.each(records):
        if record.stack and len(torch.unique(record.value)) == 2:
            with contextlib.suppress(RuntimeError):  # of another shape
                zero = (record.value == 0).broadcast_to(answer.shape)
                if torch.equal(zero, dropped) or torch.equal(~zero, dropped):
                    return record.stack[-1]
    return None


def computed(
    records: Iterable[Record], given: Iterable[torch.Tensor], deadline: Deadline = NEVER
) -> list[Record]:
    """The records that are more than a given tensor in another layout."""
    moved = {numbers_of(tensor): tensor.numel() for tensor in given}
    counts = set(moved.values())
    return [
        record
        for record in deadline.each(records)
        if record.value.numel() not in counts or numbers_of(record.value) not in moved
    ]


def astray(
    records: Sequence[Record],
    given: Iterable[torch.Tensor],
    right: Steps,
    proven: Proven,
    deadline: Deadline = NEVER,
) -> Astray | None:
    """Where a call with these `given` tensors goes astray for reasons unknown.

    That is after the last step that is right; the line is told if only one can be it: if no step
    was missed before, and nothing else was done at that line or after it on the way.

    Raises:
        TooLate: if the deadline passes.
    """
    known = KnownSteps.of(right)
    likenesses = [known.likeness(record.value) for record in deadline.each(records)]
    reached = {name: n for n, found in reversed(list(enumerate(likenesses))) for name in found}
    names = list(right)
    last = max((names.index(name) for name in reached), default=-1)
    if last + 1 >= len(names):
        return None
    start = max((number + 1 for number in reached.values()), default=0)
    own = {_sizes(form) for form in right[names[last + 1]]}
    following = {_sizes(form) for name in names[last + 2 :] for form in right[name]} - own
    moved = {*map(numbers_of, given), *(numbers_of(record.value) for record in records[:start])}
    sound = sound_lines(proven, names[last + 1], right)
    lines: dict[Line | None, None] = {}
    is_complete = all(name in reached for name in names[: last + 1])
    for record in deadline.each(records[start:]) if is_complete else ():
        if _sizes(record.value) in following:
            break
        if numbers_of(record.value) not in moved:
            moved.add(numbers_of(record.value))
            lines[to_blame(record, sound)] = None
    (line,) = lines if len(lines) == 1 else (None,)
    if start and line in records[start - 1].stack:
        line = None
    shapes = {name: tuple(records[number].value.shape) for name, number in reached.items()}
    before = tuple(name for name in names if name in reached)
    return Astray(names[last + 1], line, before, walked(right, shapes, names[last + 1]))


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


def walked(
    right: Steps, shapes: Mapping[str, tuple[int, ...]], astray_step: str
) -> tuple[StepSeen, ...]:
    """All steps of a reference, with the shapes in which they were taken, if they were."""
    return tuple(
        StepSeen(
            name,
            tuple(forms[0].shape),
            shapes.get(name),
            False if name == astray_step else (True if name in shapes else None),
        )
        for name, forms in right.items()
    )


def _sizes(tensor: torch.Tensor) -> tuple[int, ...]:
    """The sizes of a tensor's axes, in no particular order."""
    return tuple(sorted(size for size in tensor.shape if size > 1))


def _listed(names: Sequence[str]) -> str:
    shown = list(names[-_NAMED:])
    *others, last = ["…", *shown] if len(names) > _NAMED else shown
    return f"{', '.join(others)} and {last}" if others else last
