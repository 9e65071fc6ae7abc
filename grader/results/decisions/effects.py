"""The effects of each decision: the people whose points it changed or whom it told something."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.core.points import points_of
from grader.core.submission import Author
from grader.results.decisions.decision import Comment, Decision, Excused, TakenInstead, Times, Whose
from grader.results.decisions.form import FORMS
from grader.results.decisions.settlement import ChangeKind, Settlement, in_words
from grader.results.decisions.settling import Aimed, Settling
from grader.results.results import Results

_LISTED = 6


@dataclass(slots=True)
class Effect:
    """A decision, and a line for each of those whom it concerns.

    `unchanged` counts those for whom it holds and changes nothing, if it names nobody.
    """

    decision: Decision
    lines: list[str] = field(default_factory=list)
    unchanged: int = 0

    @property
    def words(self) -> str:
        """Returns the decision in a line: "points: alice, run_rope, to 2 (wrong docstring)"."""
        return _words(self.decision)

    def in_short(self) -> list[str]:
        """Returns the first lines, and how many more there are."""
        more = len(self.lines) - _LISTED
        short = [*self.lines[:_LISTED], *[f"and {more} more"] * (more > 0)]
        if self.lines and self.unchanged:
            others = "1 other" if self.unchanged == 1 else f"{self.unchanged} others"
            short.append(f"changes nothing for {others}")
        return short or ["changes nobody's points"]


def effects(results: Results, settling: Settling) -> list[Effect]:
    """Returns every decision with what came of it, in the order of the file."""
    found: dict[str, Effect] = {}
    for one in settling.aimed:
        effect = found.setdefault(one.decision.source, Effect(one.decision))
        if isinstance(one.decision, TakenInstead):
            who = _person(one)
            effect.lines = [f"{who}: gets the grade of {one.decision.submission} and of no other"]
        if isinstance(one.decision, Whose):
            effect.lines = [f"{_person(one)}: handed in {one.decision.submission}"]
    for person in settling.absentees:
        for decision, _ in settling.of(Excused, "", person):
            found[decision.source].lines.append(f"{_called(person)}: excused, handed in nothing")
    for grade in results.bare_grades() if found else ():
        for own in settling.settle(grade):
            _add(found, own)
    return [*found.values()]


def _add(found: dict[str, Effect], own: Settlement) -> None:
    """Says under each decision what came of it for some people."""
    who, final = ", ".join(map(_called, own.people)), _final(own)
    for change in own.changes:
        effect = found.get(change.source)
        if effect is not None and not change.hundredths and change.source not in own.sources:
            effect.unchanged += len(own.people)
        elif effect is not None:
            said = [in_words(change), *([] if own.excused else [final])]
            effect.lines.append(f"{who}: {'; '.join(said)}")
    silent = own.sources | ({own.timed_by} if own.timed_by else set())
    for source in sorted(silent - {change.source for change in own.changes}):
        effect = found[source]
        if isinstance(effect.decision, Comment):
            effect.lines.append(f"{who}: reads it")
        elif isinstance(effect.decision, Times) and not own.late:
            effect.unchanged += len(own.people)
        elif not isinstance(effect.decision, TakenInstead | Whose):
            effect.lines.append(f"{who}: {final}")


def _person(one: Aimed) -> str:
    whose = one.target.whom.author
    return _called(whose) if whose else getattr(one.decision, "person", "")


def _final(own: Settlement) -> str:
    if own.excused:
        return "excused"
    if own.final is None:
        return "not graded"
    late = own.of_kind(ChangeKind.LATE)
    days = f" after {points_of(-late):.10g} were taken off for being late" if late else ""
    return f"{own.final:.10g} {'point' if own.final == 1 else 'points'}{days}"


def _called(person: Author) -> str:
    return person.name or person.email or person.id


def _words(decision: Decision) -> str:
    """Returns the decision as its file has it, on one line."""
    keys = [key for key in FORMS[decision.kind].keys if key not in ("reason", "who", "when")]
    said = {key: getattr(decision, key) for key in keys}
    parts = [_value(key, value) for key, value in said.items() if value is not None and value != ""]
    by = f" ({decision.who})" if decision.who else ""
    reason = f": {decision.reason}" if decision.reason else ""
    return f"{decision.kind}: {', '.join(parts)}{reason}{by}"


def _value(key: str, value: object) -> str:
    if key in ("to", "by"):
        number = points_of(int(str(value)))
        return f"to {number:.10g}" if key == "to" else f"by {number:+.10g}"
    return str(value) if key in ("person", "exercise", "test", "text") else f"{key} {value}"
