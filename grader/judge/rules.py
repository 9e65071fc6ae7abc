"""The rules of the assignment: what a submission used of what is forbidden, and what it costs.

No matter of security: code that wants to hide a call can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from grader.judge.mentions import find_mentions
from grader.plain_text import plain
from grader.testing.uses import WISH, in_words
from grader.verdict import Verdict
from grader.wire.calls import MAX_USES, Use


class Conduct:
    """What one submission's source names, and what its worker tells that it calls.

    `forbidden` are the names with the percentage of its points that each costs an exercise.
    """

    def __init__(self, forbidden: Mapping[str, float], root: Path) -> None:
        self.forbidden = forbidden
        self._root = root
        self._mentioned = find_mentions(root, forbidden)
        self._at_import: dict[Use, None] = {}
        self._called: dict[str, dict[Use, None]] = {}

    def note_import(self, uses: Iterable[Use]) -> None:
        """Keeps what was used while the submission was imported; that is no exercise's doing."""
        self._keep(self._at_import, uses)

    def note_call(self, exercise: str, uses: Iterable[Use]) -> None:
        """Keeps what was used while a test called an exercise's adapter."""
        kept = self._called.setdefault(exercise, {})
        self._keep(kept, uses)
        if not kept:
            del self._called[exercise]

    def applied(self, tests: Sequence[Verdict]) -> tuple[Verdict, ...]:
        """The verdicts with what the rules take off, and a note on a test of each exercise."""
        judged = list(tests)
        for exercise, uses in self._called.items():
            places = [place for place, test in enumerate(tests) if test.exercise == exercise]
            earned = [place for place in places if tests[place].score > 0]
            cost = max(self.forbidden[use.name] for use in uses)
            remark = f"calls {plain(in_words(uses))}, {WISH}"
            if cost:
                remark += f": {cost:g} % of this exercise's points are taken off"
            for place in earned if cost and earned else (earned or places)[:1]:
                judged[place] = _remarked(tests[place], remark, 1 - cost / 100)
        return tuple(judged)

    def summary(self) -> str | None:
        """One sentence about all that was found, in the source and as it was called."""
        called = dict.fromkeys(use for uses in self._called.values() for use in uses)
        called |= self._at_import
        only_named = [use for use in self._mentioned if use not in called]
        if not called and not only_named:
            return None
        if not called:
            named = plain(in_words(only_named))
            return f"its source names {named}, {WISH}; no call of it was seen"
        also = f"; its source also names {plain(in_words(only_named))}" if only_named else ""
        return f"it uses {plain(in_words(called))}, {WISH}{also}"

    def _keep(self, kept: dict[Use, None], uses: Iterable[Use]) -> None:
        """Adds what can be true: a forbidden name, in a file of the submission."""
        for use in uses:
            if len(kept) < MAX_USES and use.name in self.forbidden and self._is_own(use.file):
                kept[use] = None

    def _is_own(self, file: str) -> bool:
        path = PurePosixPath(file)
        inside = not path.is_absolute() and ".." not in path.parts
        return inside and (self._root / path).is_file()


def _remarked(verdict: Verdict, remark: str, share: float) -> Verdict:
    message = f"{verdict.message}; {remark}" if verdict.message else remark
    return verdict._replace(score=round(verdict.score * share, 6), message=message)
