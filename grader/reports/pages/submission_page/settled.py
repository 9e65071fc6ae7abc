"""What people get for a submission, in words: for its page, which all of them may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.core.text import one_line, points
from grader.results.decisions.settlement import Settlement, in_words
from grader.results.decisions.settling import common

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Settled:
    """The headline, whether there is a number in it, and each change and comment.

    `score` of `worth` points is the final one. `differ` says that members get different points:
    what is shown is what they have in common. `counts` is false where another submission was taken
    instead. `exercises` are the points of those whose points were changed.
    """

    score: str
    worth: str
    machine: str
    changes: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    excused: bool = False
    differ: bool = False
    counts: bool = True
    exercises: Mapping[str, str] = field(default_factory=dict)


def settled_in_words(settled: tuple[Settlement, ...]) -> Settled:
    """What the people of a submission have in common."""
    own = common(settled)
    if own is None:
        return Settled("", "", "", counts=False)
    return Settled(
        score="" if own.final is None else points(own.final),
        worth=points(own.worth / 100),
        machine="" if own.machine is None else points(own.machine / 100),
        changes=tuple(one_line(in_words(change), _LONGEST) for change in own.changes),
        comments=tuple(one_line(comment, 2000) for comment in own.comments),
        excused=own.excused,
        exercises={
            name: points(each.final / 100)
            for name, each in own.exercises.items()
            if each.final != each.machine and len(settled) == 1
        },
        differ=len({(one.final, one.excused) for one in settled}) > 1,
    )
