"""What came of each decision: who got other points by it, or was told something."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.decisions.decision import Decision, Excused, Times
from grader.decisions.form import FORMS
from grader.decisions.settlement import Kind, Settlement, in_words
from grader.decisions.settling import Settling
from grader.points import points_of
from grader.store import Results
from grader.submission import Author

_LISTED = 6


@dataclass(slots=True)
class Effect:
    """A decision, and a line for each of those whom it concerns."""

    decision: Decision
    lines: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The decision in a line: "points: alice, run_rope, to 2 (the docstring was wrong)"."""
        return _words(self.decision)


def effects(results: Results, settling: Settling) -> list[Effect]:
    """Every decision with what came of it, in the order of the file."""
    found: dict[str, Effect] = {}
    for one in settling.aimed:
        found.setdefault(one.decision.source, Effect(one.decision))
    tables = [one for one in found.values() if isinstance(one.decision, Times)]
    for grade in results.grades() if found else ():
        for own in settling.settle(grade):
            for source, line in _lines(own):
                if source in found:
                    found[source].lines.append(line)
            for times in tables if own.late else ():
                times.lines.append(f"{_who(own)}: late; {_final(own)}")
    for person in settling.absentees:
        for decision, _ in settling.of(Excused, "", person):
            found[decision.source].lines.append(f"{_called(person)}: excused, handed in nothing")
    for effect in found.values():
        more = len(effect.lines) - _LISTED
        if more > 0:
            effect.lines[_LISTED:] = [f"and {more} more"]
        elif not effect.lines:
            effect.lines.append("changes nobody's points")
    return [*found.values()]


def _lines(own: Settlement) -> Iterator[tuple[str, str]]:
    """The sources of what was changed, each with what is said of that."""
    changed = {change.source for change in own.changes}
    for change in own.changes:
        yield change.source, f"{_who(own)}: {in_words(change)}; {_final(own)}"
    for source in sorted(own.sources - changed):
        yield source, f"{_who(own)}: {_final(own)}"


def _who(own: Settlement) -> str:
    return ", ".join(map(_called, own.people))


def _final(own: Settlement) -> str:
    if own.excused:
        return "excused"
    if own.final is None:
        return "not graded"
    late = own.of_kind(Kind.LATE)
    days = f", {points_of(-late):.10g} of them taken off for being late" if late else ""
    return f"{own.final:.10g} {'point' if own.final == 1 else 'points'}{days}"


def _called(person: Author) -> str:
    return person.name or person.email or person.id


def _words(decision: Decision) -> str:
    """The decision as its file has it, on one line."""
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
