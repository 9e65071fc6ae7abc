"""The page that compares two batches."""

from __future__ import annotations

from operator import attrgetter

from grader.core.text import one_line
from grader.reports.pages.changes import Changes
from grader.reports.pages.rendering import assets, render

_STYLES = ("assets/page.css", "assets/changes.css")
_SCRIPTS = ("assets/theme.js", "assets/changes.js")
_TESTS = 200


def changes_page(assignment: str, changes: Changes) -> str:
    """The page of what is other than in an earlier batch, the greatest differences first."""
    tests = sorted(changes.tests.values(), key=lambda test: -test.count)
    return render(
        "changes.html.jinja",
        assets=assets(_STYLES, _SCRIPTS),
        assignment=one_line(assignment),
        changes=changes,
        up=sorted(changes.up, key=attrgetter("difference"), reverse=True),
        down=sorted(changes.down, key=attrgetter("difference")),
        exercises=sorted(changes.exercises.items(), key=lambda each: -each[1].total()),
        tests=tests[:_TESTS],
        more_tests=max(len(tests) - _TESTS, 0),
    )
