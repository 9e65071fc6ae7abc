"""The parts of a submission's page: pictures, excerpts, failed tests, points and remarks."""

from __future__ import annotations

import base64
import json
import re
import struct
from typing import Any

import pytest

from grader.core.evidence import Evidence, Excerpt, Picture, StepSeen, StepWalk
from grader.core.points import OF_THE_VALUES, WITH_VALUES
from grader.core.submission import Author
from grader.core.verdict import Grade, GradeStatus, Status, Verdict, Visibility, Where
from grader.reports.pages.class_data import Graded
from grader.reports.pages.rendering import percent
from grader.reports.pages.submission_page import submission_page
from grader.results.decisions.settlement import (
    ChangeKind,
    ExercisePoints,
    PointsChange,
    Settlement,
)
from tests.harness.export_fixtures import a_grade, a_verdict

pytestmark = pytest.mark.unit

ANN, BOB = Author("Ann Lee"), Author("Bob Roe")
AGREED = PointsChange(ChangeKind.DECIDED, 100, "run_x", "agreed", "decisions.toml:1")


def a_failure(
    test: str, exercise: str = "run_x", message: str = "wrong", public: bool = True, **fields: Any
) -> Verdict:
    visibility = Visibility.PUBLIC if public else Visibility.HIDDEN
    told = {"id": f"t.py::{test}", "visibility": visibility, "message": message}
    return a_verdict(exercise, 0.0, **told | fields)


def a_settlement(*people: Author, **fields: Any) -> Settlement:
    told: dict[str, Any] = {
        "submission": "ann", "people": people or (ANN,), "status": GradeStatus.GRADED,
        "late": False, "machine": 300, "worth": 400,
        "exercises": {"run_x": ExercisePoints(300, 400, 400)},
    }  # fmt: skip
    return Settlement(**told | fields)


def page_of(
    grade: Grade, evidence: Evidence | None = None, *settled: Settlement, whole: bool = False
) -> str:
    """Returns the page without its style and script, which hold words of their own."""
    page = submission_page(
        "attention", Graded.of(grade), evidence or Evidence(), settled or (a_settlement(),)
    )
    return page if whole else page.partition("<body>")[2].partition('<script type="module">')[0]


def a_picture(test: str, shape: tuple[int, ...] = (2,), **fields: Any) -> Picture:
    numbers = tuple(float(n) for n in range(int(fields.pop("size", 2))))
    told = {"axes": ("",) * len(shape), "expected": numbers, "got": numbers[::-1]}
    return Picture(f"t.py::{test}", "the result", shape=shape, **told | fields)


def drawn(page: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Returns the caption, the shape and the data of each picture, with numbers for base64."""
    found = re.findall(
        r'<details class="picture".*?>\s*<summary>(.*?) <small>(.*?)</small></summary>.*?'
        r'<script type="application/json">(.*?)</script>',
        page,
        re.DOTALL,
    )
    return [
        (caption.replace("<wbr>", ""), shape, json.loads(data)) for caption, shape, data in found
    ]


def numbers_in(text: str) -> list[float]:
    content = base64.b64decode(text)
    return [*struct.unpack(f"<{len(content) // 4}f", content)]


@pytest.mark.parametrize(
    ("axes", "shape", "names", "said"),
    [
        (("", "keys"), (1, 2), ["axis 0", "keys"], "1 × 2"),
        (("keys",), (2, 1), ["keys", "axis 1"], "2 × 1"),
        (("heads", "keys", "more"), (1, 2), ["heads", "keys"], "1 × 2"),
    ],
)
def test_a_picture_has_little_endian_numbers_and_a_name_for_each_axis(
    axes: tuple[str, ...], shape: tuple[int, ...], names: list[str], said: str
):
    """The page's script reads them in this form on every machine."""
    picture = a_picture("a", shape, axes=axes)
    page = page_of(a_grade("ann", a_failure("a")), Evidence((picture,)), whole=True)
    ((caption, size, data),) = drawn(page)
    assert (caption, size) == ("a: the result", said)
    assert (data["axes"], data["shape"]) == (names, list(shape))
    assert (numbers_in(data["expected"]), numbers_in(data["got"])) == ([0.0, 1.0], [1.0, 0.0])
    assert '("details.picture")' in page


def test_a_picture_of_one_number_is_drawn():
    """Its shape has no axis."""
    picture = a_picture("a", (), size=1)
    ((_, shape, data),) = drawn(page_of(a_grade("ann", a_failure("a")), Evidence((picture,))))
    assert (shape, data["axes"], data["shape"]) == ("one number", [], [])


@pytest.mark.parametrize(
    "picture",
    [
        a_picture("a", (3,)),
        a_picture("a", (2,), got=(1.0,)),
        a_picture("a", (0,), size=0),
        a_picture("hidden"),
        a_picture("other"),
    ],
)
def test_a_picture_that_does_not_fit_or_is_not_public_is_left_out(picture: Picture):
    """The evidence comes from a process that holds the submission."""
    grade = a_grade("ann", a_failure("a"), a_failure("hidden", public=False))
    page = page_of(grade, Evidence((picture,)), whole=True)
    assert drawn(page) == []
    assert '("details.picture")' not in page


def test_a_cause_has_three_pictures_and_the_page_a_limited_number_of_values():
    """A later cause has none that an earlier one showed."""
    one = [a_failure(test, message="a is wrong") for test in "abcd"]
    other = [a_failure(test, "run_y", "b is odd") for test in "efg"]
    sizes = {"a": 1024, "b": 1000, "c": 500, "d": 1, "e": 549, "f": 548, "g": 1}
    pictures = tuple(a_picture(test, (size,), size=size) for test, size in sizes.items())
    page = page_of(a_grade("ann", *one, *other), Evidence(pictures))
    assert [caption[0] for caption, *_ in drawn(page)] == ["a", "b", "c", "f"]
    first, second = page.split('<section id="cause-1"')
    assert len(drawn(first)) == 3
    assert len(drawn(second)) == 1
    assert page.count('class="picture" open') == 2


def lines_shown(page: str) -> list[tuple[str, ...]]:
    """Returns the caption of each excerpt, its first line and its marked line."""
    return [
        (caption, *re.findall(r"<b>(\d+)</b>", source)[:1], *re.findall(r"<b>(\d+)<span", source))
        for caption, source in re.findall(
            r'<figure class="source">\s*<figcaption>(.*?)</figcaption>(.*?)</figure>',
            page,
            re.DOTALL,
        )
    ]


@pytest.mark.parametrize(
    ("line", "first"), [(1, "2"), (5, "1"), (7, "4"), (10, "4"), (11, None), (0, None)]
)
def test_the_lines_around_a_place_come_from_the_nearest_excerpt(line: int, first: str | None):
    """Excerpts may overlap: the one is shown whose middle is nearest."""
    files = [("a.py", 1), ("a.py", 4), ("b.py", 5)]
    excerpts = tuple(
        Excerpt(file, start, tuple(f"x{number}" for number in range(7))) for file, start in files
    )
    failure = a_failure("a", where=Where("a.py", line))
    page = page_of(a_grade("ann", failure), Evidence(excerpts=excerpts))
    assert lines_shown(page) == ([(f"a.py:{line}", first, str(line))] if first else [])
    assert (f"At a.py:{line}" in page) == (first is None)


def test_an_unreadable_submission_shows_the_line_that_could_not_be_read():
    """It has no causes, and no table of exercises."""
    tests = [
        a_failure("a", status=Status.ERROR),
        a_failure("b", status=Status.ERROR, where=Where("a.py", 2)),
    ]
    grade = a_grade("ann", *tests, status=GradeStatus.UNREADABLE, message="SyntaxError: no")
    page = page_of(grade, Evidence(excerpts=(Excerpt("a.py", 1, ("x", "y(", "z")),)))
    assert lines_shown(page) == [("a.py:2", "1", "2")]
    assert "Nothing could be graded. Fix this first:" in page
    assert '<pre class="message" tabindex="0" aria-label="Message">SyntaxError: no</pre>' in page
    assert "Score by exercise" not in page
    assert 'id="cause-0"' not in page


def test_a_readable_submission_shows_no_line_of_its_own():
    """The lines stand with the causes."""
    failure = a_failure("a", where=Where("a.py", 2))
    excerpt = Excerpt("a.py", 1, ("x", "y", "z"))
    page = page_of(a_grade("ann", failure), Evidence(excerpts=(excerpt,)))
    assert len(lines_shown(page)) == 1
    assert 'id="cause-0"' in page.partition('<figure class="source">')[0]


def test_a_missing_exercise_has_neither_message_nor_source():
    """There is no code to show."""
    missing = a_failure(
        "a", status=Status.MISSING, message="run_x is missing\nsee below", where=Where("a.py", 1)
    )
    page = page_of(a_grade("ann", missing), Evidence(excerpts=(Excerpt("a.py", 1, ("x",)),)))
    assert "see below" not in page
    assert lines_shown(page) == []
    wrong = page_of(a_grade("ann", a_failure("a", message="it is wrong\nsee below")))
    assert '<pre class="message" tabindex="0" aria-label="Message">see below</pre>' in wrong


@pytest.mark.parametrize(
    ("public", "hidden", "said"),
    [
        (1, 0, "<code>t0</code>"),
        (1, 1, "<code>t0</code>; 1 hidden test"),
        (0, 2, "2 hidden tests"),
        (9, 1, ", ".join(f"<code>t{n}</code>" for n in range(8)) + " and 1 more; 1 hidden test"),
    ],
)
def test_the_tests_that_a_cause_fails_are_named_up_to_eight(public: int, hidden: int, said: str):
    """Hidden tests are only counted."""
    tests = [a_failure(f"t{n}") for n in range(public)]
    tests += [a_failure(f"hidden{n}", public=False) for n in range(hidden)]
    page = page_of(a_grade("ann", *tests))
    (listed,) = re.findall(r"<li>run_<wbr>x: (.*?)</li>", page, re.DOTALL)
    assert " ".join(listed.split()) == said


def test_an_exercise_links_to_its_first_cause():
    """The first one counts."""
    tests = [a_failure("a"), a_failure("b", message="odd shape"), a_failure("c", "run_y")]
    page = page_of(a_grade("ann", *tests, a_verdict("run_z")))
    links = re.findall(r'<th scope="row"><a href="(.*?)">(.*?)</a>', page)
    assert links == [("#cause-0", "run_<wbr>x"), ("#cause-2", "run_<wbr>y")]
    assert "The failures are of 3 kinds. Start with the first:" in page


def test_the_steps_of_a_causes_own_test_are_shown():
    """A walk of another test would explain another answer."""
    walks = [
        StepWalk("run_y", "t.py::a", (StepSeen("other", (1,), None, None),)),
        StepWalk("run_x", "t.py::b", (StepSeen("scores", (2, 3), (3,), False),)),
    ]
    evidence = Evidence(walks=tuple(walks))
    page = page_of(a_grade("ann", a_failure("a"), a_failure("b")), evidence)
    assert page.count('class="walk"') == 1
    assert '<th scope="row">scores</th><td class="exact">2 × 3</td><td class="exact">3</td>' in page


def test_the_points_of_a_page_are_the_final_ones():
    """Points from tests stand beside final points only where these differ."""
    tests = a_verdict("run_x", 3.0, 4.0, message="wrong"), a_verdict("run_y")
    grade = a_grade("ann", *tests)
    exercises = {"run_x": ExercisePoints(300, 400, 400), "run_y": ExercisePoints(400, 400, 400)}
    own = a_settlement(machine=700, worth=800, exercises=exercises, changes=(AGREED,))
    page = page_of(grade, None, own)
    assert "<strong>8</strong> of 8 points</p>" in page
    assert page.count("from the tests</span>") == 1
    assert '4 <span class="faint">/ 4 <span class="apart">3 from the tests</span>' in page
    assert "<li>7 points from the tests</li>" in page
    assert "<li>+1 point in run_x: agreed</li>" in page
    assert "<h1>Ann Lee</h1>" in page
    group = page_of(grade, None, own, a_settlement(BOB, machine=700, worth=800))
    assert "of 8 points" not in group
    assert "from the tests</span>" not in group
    assert "<h1>Ann Lee, Bob Roe</h1>" in group


@pytest.mark.parametrize(
    ("others", "is_told"),
    [
        ((), False),
        ((a_settlement(BOB, changes=(AGREED,)),), True),
        ((a_settlement(BOB, excused=True),), True),
    ],
)
def test_members_with_different_points_read_that_they_differ(
    others: tuple[Settlement, ...], is_told: bool
):
    """Each has a letter of their own."""
    page = page_of(a_grade("ann", a_failure("a")), None, a_settlement(), *others)
    assert ("The members of this group have different points" in page) == is_told


def test_remarks_and_printed_text_stand_at_the_end():
    """A note is told once, with its exercises; a page without any has no such section."""
    noted = [a_verdict(f"run_{one}", message="Runs on a CPU only.") for one in "xxy"]
    noted.append(a_verdict("run_z", 2.0, status=Status.PASSED, message=f"50% {OF_THE_VALUES}"))
    page = page_of(
        a_grade("ann", *noted, unexplained="the worker was lost"),
        Evidence(printed="\n\nloss 0.3\n"),
    )
    assert "<li>run_x, run_y: Runs on a CPU only.</li>" in page
    assert f'<p class="faint">{WITH_VALUES}</p>'.replace("'", "&#39;") in page
    assert ">loss 0.3</pre>" in page
    assert "does not affect the grade: the worker was lost." in page
    assert '<p class="words">every test passed, see the notes</p>' in page
    bare = page_of(a_grade("ann", a_verdict("run_x")))
    for heading in ("Noted", "Printed", "incomplete", "Message"):
        assert heading not in bare
    assert '<p class="words">everything right</p>' in bare


def test_a_message_about_a_lower_score_is_shown_once():
    """Without it, the page says in words how things stand."""
    costly = a_verdict("run_x", 2.0, status=Status.PASSED)
    page = page_of(a_grade("ann", costly, message="it uses sum"))
    assert page.count("it uses sum") == 1
    assert 'aria-label="Message">it uses sum</pre>' in page


def test_a_submission_with_a_test_that_was_not_judged_has_no_causes():
    """Its page says that nobody need do anything."""
    tests = a_failure("a"), a_failure("b", status=Status.NOT_GRADED)
    page = page_of(a_grade("ann", *tests), None, a_settlement(machine=None))
    assert "<strong>Not graded</strong>" in page
    assert "there is no score yet" in page
    assert 'id="cause-0"' not in page


@pytest.mark.parametrize(
    ("share", "shown"), [(-0.1, 0), (0.0, 0), (0.005, 0), (0.126, 13), (1.0, 100), (1.2, 100)]
)
def test_a_share_is_shown_as_whole_percent(share: float, shown: int):
    """Points beyond the possible ones fill a bar, and no more."""
    assert percent(share) == shown
