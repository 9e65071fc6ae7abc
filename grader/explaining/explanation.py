"""Adds to the verdicts on a submission what is known of its mistakes, and of their lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.evidence import Walk
from grader.explaining.deadline import NEVER, Deadline
from grader.explaining.lines.astray import Astray
from grader.explaining.lines.locating import Ask, locate
from grader.explaining.naming.catalogue import Catalogue
from grader.explaining.naming.diagnosis import Finding, diagnose
from grader.plain_text import plain
from grader.testing.observation import Observation
from grader.verdict import Status, Verdict, Where


def explain(
    verdicts: Sequence[Verdict],
    catalogue: Catalogue,
    ask: Ask,
    seen: Mapping[str, Sequence[Observation]],
    deadline: Deadline = NEVER,
) -> tuple[tuple[Verdict, ...], tuple[Walk, ...]]:
    """The verdicts, with the mistake and the line that explain them; no outcome is changed.

    Beside them the steps of one call of each exercise whose line was looked for. `seen` are the
    submission's answers by exercise, `ask` asks it for more. What is not found by the deadline
    stays unsaid.
    """
    failed: dict[str, set[str]] = {}
    for verdict in verdicts:
        if verdict.status is Status.FAILED:
            failed.setdefault(verdict.exercise, set()).add(verdict.id)
    flawed = {verdict.exercise for verdict in verdicts if verdict.status is not Status.PASSED}
    told = {name: seen[name] for name in seen if name in failed or name not in flawed}
    findings = diagnose(catalogue, {name: seen[name] for name in told if name in failed}, deadline)
    located = locate(catalogue, ask, told, findings, failed, deadline)
    explained = tuple(
        _explained(verdict, findings.get(verdict.exercise), located.get(verdict.id))
        if verdict.status is Status.FAILED
        else verdict
        for verdict in verdicts
    )
    walks: dict[str, Walk] = {}
    for verdict in explained:
        place = located.get(verdict.id)
        if place is not None and place.walk:
            walks.setdefault(verdict.exercise, Walk(verdict.exercise, verdict.id, place.walk))
    return explained, tuple(walks.values())


def _explained(verdict: Verdict, finding: Finding | None, place: Astray | None) -> Verdict:
    if finding is not None and verdict.id in finding.tests:
        verdict = verdict._replace(diagnosis=finding.diagnosis)
    if place is None:
        return verdict
    message = "\n".join(filter(None, [verdict.message, plain(place.in_words())]))
    line = place.line
    where = verdict.where if line is None else Where(plain(line.file), line.line, place.step)
    return verdict._replace(message=message, where=where)
