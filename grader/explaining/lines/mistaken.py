"""Finds where a call goes astray whose mistake is known, by the steps of both."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from grader.explaining.deadline import NEVER, Deadline
from grader.explaining.lines.astray import Astray, computed, walked
from grader.explaining.lines.blame import Proven, sound_lines, to_blame
from grader.explaining.lines.layouts import (
    RESULT,
    KeptSteps,
    KnownSteps,
    Likeness,
    Steps,
    numbers_by_step,
    numbers_of,
)
from grader.wire.records import Line, Record


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


def astray_by_mistake(
    records: Sequence[Record],
    given: Iterable[torch.Tensor],
    right: Steps,
    wrong: Steps,
    shows_at: str | None,
    proven: Proven,
    deadline: Deadline = NEVER,
) -> Astray | None:
    """Where a call with these `given` tensors goes astray by a known mistake with `wrong` steps.

    `shows_at` is the right step at whose line something is left out. Of functions that are
    `proven` for a step, who calls them is to blame.

    Raises:
        TooLate: if the deadline passes.
    """
    call = _Comparison(records, given, right, wrong, deadline)
    left_out = None if shows_at is None else call.taken_rightly(shows_at)
    if shows_at is not None and left_out is not None:
        step = next(iter(call.differing), shows_at)
        return call.stopped(step, left_out, call.right_until(shows_at, including=True), ())
    passed_over = False
    for step in deadline.each(call.differing):
        if step == RESULT and not call.is_next(step):
            return None
        if step == RESULT and passed_over and call.counts(step):
            return None
        wrongly, unused = call.taken_wrongly(step), call.taken_in_vain(step)
        taken = wrongly or unused
        if taken is not None:
            is_called_wrongly = wrongly is not None and not call.has_other_axes(wrongly, step)
            sound = proven if is_called_wrongly else ()
            place = call.stopped(step, taken, call.right_until(step), sound)
            # Whose caller is to blame may be wrong because of what went astray unseen before.
            is_sure = not passed_over or place.line in taken.stack[-1:]
            return place if is_sure else call.stopped_somewhere(place)
        passed_over = passed_over or not call.is_left_out(step)
    return None


class _Comparison:
    """The records of a call, held against the right steps and those of a mistake.

    `differing` are the steps that the mistake takes otherwise, as far as they can be known.
    """

    def __init__(
        self,
        records: Sequence[Record],
        given: Iterable[torch.Tensor],
        right: Steps,
        wrong: Steps,
        deadline: Deadline,
    ) -> None:
        known, mistaken = KnownSteps.of(right), KnownSteps.of(wrong)
        given = list(given)
        self._deadline = deadline
        self._moved: dict[int, bool] = {}
        self._records = records
        self._right = right
        self._wrong = wrong
        self._seen = [
            _Seen(record, known.likeness(record.value), mistaken.likeness(record.value))
            for record in deadline.each(computed(records, given, deadline))
        ]
        self._given = set(map(numbers_of, given))
        self._given_floats = [one.to(torch.float32) for one in given]
        self.differing = [step for step in differing_steps(right, wrong) if mistaken.tells(step)]

    def taken_rightly(self, step: str) -> Record | None:
        """The first record in which a right step is taken as such."""
        return next(self._rightly(step, self._seen), None)

    def taken_wrongly(self, step: str) -> Record | None:
        """The first record in which a step is taken as the mistake has it."""
        seen = self._after_what_is_right(step) if self.counts(step) else self._seen
        alike = (one.record for one in self._deadline.each(seen) if one.is_of(step))
        wrongly = next((record for record in alike if not self._is_moved(record)), None)
        if wrongly is None and step == RESULT and self.counts(step) and self._seen:
            last = self._seen[-1]
            wrongly = last.record if step in last.wrong else None
        return wrongly

    def taken_in_vain(self, step: str) -> Record | None:
        """What took a step rightly though something else went on: or that, if it was given."""
        if step == RESULT or self.counts(step):
            return None
        alone = [one for one in self._seen if set(one.right) == {step}]
        unused = next(self._rightly(step, alone), None)
        if unused is None:
            return None
        instead = numbers_by_step(self._wrong)[step] & self._given
        later = self._records[self._place_of(unused) + 1 :] if instead else ()
        return next((one for one in later if numbers_of(one.value) in instead), unused)

    def counts(self, step: str) -> bool:
        """Whether a step that is asked for is a number."""
        return step in self._right and all(form.dim() == 0 for form in self._wrong[step])

    def has_other_axes(self, record: Record, step: str) -> bool:
        """Whether a record is a right step but for axes of size 1."""
        return any(
            one.record is record and one.right.get(step, 0) >= Likeness.SAME for one in self._seen
        )

    def is_left_out(self, step: str) -> bool:
        """Whether the mistake goes on with an earlier right step instead of this one."""
        names = list(self._right)
        before = names[: names.index(step)] if step in names else []
        right, wrong = numbers_by_step(self._right), numbers_by_step(self._wrong)
        return any(right[name] & wrong[step] for name in before)

    def is_next(self, step: str) -> bool:
        """Whether the step before this one was taken rightly, if there is one.

        Numbers are added up in any order: of these, the last step that is not known to be wrong.
        """
        before = list(self._right)[: list(self._right).index(step)]
        if not before:
            return True
        if self.counts(step):
            before = [name for name in before if name not in self.differing]
        return any(name in one.right for one in self._seen for name in before[-1:])

    def right_until(self, step: str, including: bool = False) -> tuple[str, ...]:
        """The steps before `step` that were taken rightly, in the reference's order."""
        names = list(self._right)
        end = names.index(step) + including if step in names else len(names)
        taken = {name for one in self._seen for name in one.right}
        taken -= {RESULT}.union(() if including else self.differing)
        return tuple(name for name in names[:end] if name in taken)

    def stopped(self, step: str, record: Record, before: tuple[str, ...], proven: Proven) -> Astray:
        """Astray at a step and a record that are known."""
        sound = sound_lines(proven, step, self._right) | self._sound_for_kin(step)
        line = to_blame(record, sound, self._elsewhere(record, step))
        shapes = {
            name: tuple(one.record.value.shape)
            for one in reversed(self._seen)
            for name in one.right
        }
        shapes[step] = tuple(record.value.shape)
        return Astray(step, line, before, walked(self._right, shapes, step))

    @staticmethod
    def stopped_somewhere(place: Astray) -> Astray | None:
        """The same without its line; None if nothing is left to tell."""
        return dataclasses.replace(place, line=None) if place.right else None

    def _elsewhere(self, record: Record, step: str) -> list[Sequence[Line]]:
        """The stacks of other steps taken rightly, if none is at the very stack of the record."""
        stacks: list[Sequence[Line]] = [
            one.record.stack
            for one in self._seen
            if max(one.right.values(), default=0) >= Likeness.PERMUTED and step not in one.right
        ]
        return [] if record.stack in stacks else stacks

    def _sound_for_kin(self, step: str) -> set[Line]:
        """Of a step that is not asked for, the lines that rightly take others of its kind."""
        kind = step.split()[0]
        return {
            one.record.stack[-1]
            for one in self._seen
            if step not in self._right
            and one.record.stack
            and any(kind == name.split()[0] for name in one.right)
        }

    def _is_moved(self, record: Record) -> bool:
        """Whether a record has no other numbers than one of the given tensors."""
        if id(record) not in self._moved:
            value = record.value.to(torch.float32)
            givens = self._deadline.each(self._given_floats)
            moved = any(bool(torch.isin(value, given).all()) for given in givens)
            self._moved[id(record)] = moved
        return self._moved[id(record)]

    def _rightly(self, step: str, seen: Iterable[_Seen]) -> Iterator[Record]:
        return (one.record for one in seen if one.right.get(step, 0) >= Likeness.PERMUTED)

    def _after_what_is_right(self, step: str) -> Sequence[_Seen]:
        """What was seen after the steps before this one that are right."""
        names = list(self._right)
        before = {name for name in names[: names.index(step)] if name not in self.differing}
        taken = [place for place, one in enumerate(self._seen) if before & one.right.keys()]
        return self._seen[taken[0] + 1 :] if taken else self._seen

    def _place_of(self, record: Record) -> int:
        return next(place for place, one in enumerate(self._records) if one is record)


def differing_steps(right: Steps, wrong: Steps) -> dict[str, Sequence[torch.Tensor]]:
    """The steps that a mistake takes otherwise, in its order."""

    def compared() -> dict[str, Sequence[torch.Tensor]]:
        return {
            name: forms
            for name, forms in wrong.items()
            if not all(any(_same(form, own) for own in right.get(name, ())) for form in forms)
        }

    return wrong.differing(right, compared) if isinstance(wrong, KeptSteps) else compared()


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape:
        return False
    rtol = 1e-5 if one.dim() else 0
    return torch.allclose(one.double(), other.double(), rtol=rtol, equal_nan=True)


def confusable(right: Steps, wrong: Steps, given: Iterable[torch.Tensor]) -> int:
    """How many steps of a mistake have the very numbers of right ones, or of given tensors."""
    known = {*map(numbers_of, given)}.union(*numbers_by_step(right).values())
    mistaken = numbers_by_step(wrong)
    return sum(not known.isdisjoint(mistaken[step]) for step in differing_steps(right, wrong))
