"""JUnit XML, as pytest writes it: one suite for each submission."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from xml.etree import ElementTree as ET

from grader.core.causes import Cause
from grader.core.points import points_of
from grader.core.text import one_line, plain, points
from grader.core.verdict import Grade, GradeStatus, Status, Verdict
from grader.reports.standing import causes_of, title
from grader.results.decisions.settlement import Settlement

_ELEMENTS = {
    Status.FAILED: "failure",
    Status.MISSING: "failure",
    Status.ERROR: "error",
    Status.TIMEOUT: "error",
    Status.CRASHED: "error",
    Status.NOT_GRADED: "skipped",
}
_LONGEST_SUMMARY = 300


def junit_xml(
    suite_name: str,
    grades: Iterable[Grade],
    settle: Callable[[Grade], Sequence[Settlement]] = lambda _: (),
) -> str:
    """Returns the document; `suite_name` is the assignment's name.

    If points changed after the tests ran, the suite's property `final` holds those of `settle`.
    """
    root = ET.Element("testsuites", {"name": plain(suite_name)})
    root.extend(_suite(grade, settle(grade)) for grade in grades)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _suite(grade: Grade, settled: Sequence[Settlement]) -> ET.Element:
    found = {
        (test.exercise, test.id): cause for cause in causes_of(grade.tests) for test in cause.tests
    }
    cases = [_case(verdict, found.get((verdict.exercise, verdict.id))) for verdict in grade.tests]
    cases = cases or [*_case_without_tests(grade)]
    outcomes = Counter(child.tag for case in cases for child in case)
    suite = _element(
        "testsuite",
        name=grade.submission,
        errors=str(outcomes["error"]),
        failures=str(outcomes["failure"]),
        skipped=str(outcomes["skipped"]),
        tests=str(len(cases)),
        time=_seconds(grade.duration_s),
    )
    properties = {"status": str(grade.status), "seed": str(grade.seed)}
    if grade.is_complete:
        properties |= {"score": points(grade.score), "max_score": points(grade.max_score)}
    if grade.message:
        properties["message"] = grade.message
    if any(own.final is not None for own in settled):
        properties["possible"] = points(points_of(settled[0].worth))
    if any(own.changes or own.excused for own in settled):
        finals = ["excused" if own.final is None else points(own.final) for own in settled]
        properties["final"] = " or ".join(dict.fromkeys(finals))
    suite.append(_properties(properties))
    suite.extend(cases)
    return suite


def _case(verdict: Verdict, cause: Cause | None) -> ET.Element:
    """Returns a test case with all that is known of the test: readers may look at one case only."""
    case = _element(
        "testcase",
        classname=verdict.exercise,
        name=verdict.id,
        time=_seconds(verdict.duration_s),
    )
    properties = {
        "aspect": str(verdict.aspect),
        "visibility": str(verdict.visibility),
        "max_score": points(verdict.max_score),
    }
    if verdict.status is not Status.NOT_GRADED:
        properties["score"] = points(verdict.score)
    case.append(_properties(properties))
    if cause is not None:
        summary = title(cause, _LONGEST_SUMMARY) if cause.id else verdict.message
        told = "\n".join(_cause_text(verdict, cause))
        case.append(_outcome(_ELEMENTS[verdict.status], verdict.status, summary, told))
    elif verdict.message:
        note = ET.SubElement(case, "system-out")
        note.text = plain(verdict.message)
    return case


def _case_without_tests(grade: Grade) -> Iterator[ET.Element]:
    """Yields a case for an unreadable or ungraded submission: an empty suite looks all right."""
    if grade.status is GradeStatus.GRADED:
        return
    case = _element("testcase", classname="submission", name=grade.submission, time="0.000")
    tag = "error" if grade.status is GradeStatus.UNREADABLE else "skipped"
    case.append(_outcome(tag, grade.status, grade.message, grade.message))
    yield case


def _outcome(
    tag: str, status: Status | GradeStatus, summary: str | None, told: str | None
) -> ET.Element:
    said = one_line(summary or "", _LONGEST_SUMMARY) or str(status).replace("_", " ")
    element = _element(tag, type=str(status), message=said)
    element.text = plain(told) if told else None
    return element


def _cause_text(verdict: Verdict, cause: Cause) -> Iterator[str]:
    if verdict.message:
        yield verdict.message
    if where := verdict.where:
        yield f"at {where.file}:{where.line}" + (f": {where.step}" * bool(where.step))
    if cause.mistake is not None:
        yield title(cause, _LONGEST_SUMMARY)
        yield f"Hint: {cause.hint}"
    elif verdict.diagnosis is not None:
        yield f"{verdict.diagnosis.explanation} [{verdict.diagnosis.mistake}]"
        yield f"Hint: {verdict.diagnosis.hint}"
    if cause.exercises[0] != verdict.exercise:
        yield f"The same cause as in {cause.exercises[0]}."


def _properties(values: Mapping[str, str]) -> ET.Element:
    properties = ET.Element("properties")
    for name, value in values.items():
        properties.append(_element("property", name=name, value=value))
    return properties


def _element(tag: str, **attributes: str) -> ET.Element:
    """Returns an element, its attributes without control characters: XML has no escape for them."""
    return ET.Element(tag, {name: plain(value) for name, value in attributes.items()})


def _seconds(duration: float) -> str:
    return f"{duration:.3f}"
