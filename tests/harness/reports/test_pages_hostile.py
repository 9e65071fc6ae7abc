"""No text of a submission becomes part of a page: no markup, style, script, link or title."""

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from grader.core.evidence import Evidence, Excerpt, Picture, StepSeen, StepWalk
from grader.core.submission import Author
from grader.core.verdict import Grade, Status, Verdict, Visibility, Where
from grader.reports.pages.rendering import as_json
from grader.reports.pages.report import write_report
from grader.results.results import People
from grader.results.store import Store
from tests.harness.ci_fixtures import CONTROLS, DIAGNOSIS, hostile_grade
from tests.harness.export_fixtures import a_grade, a_verdict
from tests.harness.pages_browser import opened
from tests.harness.storing import add

pytestmark = pytest.mark.process

MARKUP = (
    "</script><script>document.title='owned';alert(1)</script>"
    "<img src=x onerror=alert(2)><svg onload=alert(3)><style>*{display:none}</style>"
    "<a id=owned href='javascript:alert(4)'>x</a><iframe srcdoc='<script>alert(5)</script>'>"
    '"\' onmouseover=alert(6) autofocus onfocus=alert(7) x="{{7*7}}{% raw %}${7*7}<!--\u2028]]>'
)
ID = f"tests/public/test_x.py::test_y[{MARKUP}]"


def a_hostile_verdict(status: Status, visibility: Visibility, exercise: str) -> Verdict:
    """Returns a verdict in which every text is markup."""
    return a_verdict(
        exercise,
        4.0 if status is Status.PASSED else 0.0,
        id=ID + exercise,
        status=status,
        visibility=visibility,
        message=MARKUP + CONTROLS,
        where=Where(MARKUP, 3, MARKUP),
        diagnosis=replace(DIAGNOSIS, mistake=MARKUP, explanation=MARKUP, hint=MARKUP)
        if status is Status.FAILED
        else None,
    )


def a_hostile_grade() -> Grade:
    """Returns a grade with markup in each text that a submission controls."""
    tests = [
        a_hostile_verdict(status, Visibility.PUBLIC, f"run_{status}{MARKUP}")
        for status in (Status.PASSED, Status.FAILED, Status.ERROR, Status.MISSING)
    ]
    evidence = Evidence(
        pictures=(Picture(tests[1].id, MARKUP, (MARKUP, MARKUP), (1, 2), (0.0, 1.0), (1.0, 0.0)),),
        walks=(StepWalk(tests[1].exercise, tests[1].id, (StepSeen(MARKUP, (1,), (2,), False),)),),
        excerpts=(Excerpt(MARKUP, 1, (MARKUP, f"# {MARKUP}", f"'''{MARKUP}", MARKUP)),),
        printed=MARKUP + CONTROLS,
    )
    return a_grade(MARKUP, *tests, message=MARKUP, notes=(MARKUP,), evidence=evidence)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a hostile class, compared with a batch of other hostile texts."""
    folder = tmp_path_factory.mktemp("hostile")
    commands = hostile_grade()
    # The judge gives tests their ids; everything else comes from a submission.
    named = tuple(test._replace(id=f"{n}") for n, test in enumerate(commands.tests))
    grades = [
        a_hostile_grade(),
        replace(commands, tests=named),
        a_grade("ann", a_verdict("run_x", 0.0)),
    ]
    before = [replace(grade, tests=grade.tests[1:], score=-1.0) for grade in grades]
    for name, found in (("after", grades), ("before", before)):
        with Store.open(folder / name, "attention") as store:
            for place, grade in enumerate(found):
                add(store, grade, "key", place)
            store.set_people(
                People({MARKUP: [Author(MARKUP, MARKUP, MARKUP)]}, [MARKUP], [Author(MARKUP)])
            )
    results = Store.read(folder / "after")
    return write_report(results, folder / "pages", Store.read(folder / "before")).index.parent


def pages(report: Path) -> list[Path]:
    return sorted(report.rglob("*.html"))


def test_markup_stays_text_in_every_page(chromium: Browser, report: Path):
    """No dialog, foreign element, handler or title appears, and nothing is fetched.

    The text itself is shown.
    """
    for file in pages(report):
        with opened(chromium, file) as found:
            page = found.page
            expect(page.locator("h1")).to_be_visible()
            for details in page.locator("details").all():
                details.evaluate("details => (details.open = true)")
            page.mouse.wheel(0, 4000)
            page.wait_for_function("document.readyState === 'complete'")
            counted = page.evaluate(
                """() => [
                    document.querySelectorAll('img, iframe, #owned, [onerror], [onload]').length,
                    document.querySelectorAll('[onmouseover], [onfocus], [autofocus]').length,
                    document.querySelectorAll('script:not([type])').length,
                    document.querySelectorAll('style').length,
                    document.querySelectorAll('a[href^=javascript]').length,
                ]"""
            )
            assert counted == [0, 0, 0, 1, 0], file
            assert page.title() != "owned"
            assert found.is_quiet, (file, found.complaints)


def test_markup_is_displayed_as_it_was_written(chromium: Browser, report: Path):
    """The text is escaped once, so that the page shows exactly what the submission wrote."""
    file = next(p for p in pages(report) if p.name.startswith("script-script-document"))
    with opened(chromium, file) as found:
        shown = found.page.locator("pre.message").first
        expect(shown).to_contain_text("<img src=x onerror=alert(2)>")
        expect(found.page.locator(".source .marked").first).to_contain_text("{{7*7}}")


def test_the_content_security_policy_blocks_unescaped_markup(chromium: Browser, report: Path):
    """If markup slipped through, the browser would still run, fetch and style nothing of it."""
    for file in (report / "index.html", *list((report / "submissions").iterdir())[:1]):
        with opened(chromium, file) as found:
            found.page.evaluate(
                """() => {
                    const script = document.createElement('script');
                    script.textContent = 'window.owned = true';
                    const image = document.createElement('img');
                    image.src = 'https://example.org/x.png';
                    const style = document.createElement('style');
                    style.textContent = 'h1 { display: none }';
                    document.body.append(script, image, style);
                    document.body.insertAdjacentHTML('beforeend', '<b onclick="owned = 1">x</b>');
                    document.body.lastChild.click();
                }"""
            )
            assert found.page.evaluate("window.owned") is None
            expect(found.page.locator("h1")).to_be_visible()
            refused = "\n".join(found.complaints)
            for directive in ("script-src", "style-src", "inline event handler", "img-src"):
                assert directive in refused


@pytest.mark.unit
@pytest.mark.parametrize("text", ["</script>", "<!--", "&lt;", "'"])
def test_json_in_a_page_cannot_close_its_script_element(text):
    """JSON in a script element needs more escapes than JSON itself."""
    assert not set(as_json([text])) & set("<>&'")
