"""The pages of a report in a real browser: they open from disk, and their controls work."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from grader.core.verdict import Aspect, Status
from grader.reports.pages.report import write_report
from grader.results.store import Store
from tests.harness.marks import rest_slow
from tests.harness.pages_browser import DESK, PHONE, opened
from tests.harness.pages_fixtures import a_class, regraded, store_class, with_a_shared_mistake

pytestmark = pytest.mark.process

COUNT = 60


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a class after a test was fixed, compared with the batch before."""
    folder = tmp_path_factory.mktemp("report")
    before = Store.read(store_class(folder / "before", a_class(COUNT)))
    after = Store.read(store_class(folder / "after", regraded(a_class(COUNT))))
    return write_report(after, folder / "pages", before).index.parent


def with_pictures(report: Path) -> Path:
    """Returns the page of some submission that has pictures."""
    pages = sorted((report / "submissions").iterdir())
    return next(page for page in pages if 'class="picture"' in page.read_text())


def names(page: Page) -> list[str]:
    """Returns the submissions in the list that are drawn so far."""
    return page.locator("#list tbody th a").all_inner_texts()


@pytest.mark.parametrize("width", rest_slow(["desk", "phone"], 2))
def test_every_report_page_opens_from_disk_without_console_output(
    chromium: Browser, report: Path, width
):
    """Pages need no server and no network, and fit the window."""
    files = [report / "index.html", report / "changes.html", with_pictures(report)]
    for file in [*files, *sorted((report / "submissions").iterdir())[:8]]:
        options = {"viewport": PHONE, "is_mobile": True} if width == "phone" else {}
        with opened(chromium, file, **options) as found:
            expect(found.page.locator("h1")).to_be_visible()
            fits = "document.documentElement.scrollWidth <= innerWidth"
            assert found.page.evaluate(fits), file
            assert found.is_quiet, (file, found.complaints, found.elsewhere)


def test_reports_of_an_empty_class_and_of_one_submission_open(chromium: Browser, tmp_path):
    """A batch may be stopped before its first grade, or hold a single submission."""
    for count in (0, 1):
        results = Store.read(store_class(tmp_path / f"results-{count}", a_class(count)))
        index = write_report(results, tmp_path / f"pages-{count}").index
        with opened(chromium, index) as found:
            expect(found.page.locator("#found")).to_have_text(f"{count} of {count}")
            assert found.is_quiet, found.complaints


def test_a_submission_page_opens_without_other_files(chromium: Browser, report: Path, tmp_path):
    """A submission's page may be sent alone and needs no other file."""
    alone = tmp_path / "mail.html"
    alone.write_bytes(with_pictures(report).read_bytes())
    with opened(chromium, alone) as found:
        expect(found.page.locator(".panels svg").first).to_be_visible()
        assert found.page.evaluate("getComputedStyle(document.body).maxWidth") == "1024px"
        assert found.is_quiet


def test_the_list_is_sorted_by_its_headings(chromium: Browser, report: Path):
    """One click sorts upwards, the next downwards. Submissions without a score come last."""
    with opened(chromium, report / "index.html") as found:
        button = found.page.get_by_role("button", name="name", exact=True)
        button.click()
        upwards = names(found.page)
        assert [name[:1] for name in upwards[:3]] == ["A", "A", "A"]
        expect(found.page.locator("th[aria-sort=ascending]")).to_have_text("name")
        button.click()
        assert names(found.page)[0] > upwards[0]
        found.page.get_by_role("button", name="points", exact=True).click()
        scores = found.page.locator("#list tbody td:nth-child(2)").all_inner_texts()
        numbers = [float(score.split(" / ")[0]) for score in scores[1:-1] if "/" in score]
        assert numbers == sorted(numbers)


def test_the_list_is_searched_and_filtered(chromium: Browser, report: Path):
    """The list filters by name, message, status and mistake, and counts the rows that remain."""
    with opened(chromium, report / "index.html") as found:
        page = found.page
        page.fill("#search", "mask-inverted")
        words = page.locator("#list tbody td:nth-child(3)").all_text_contents()
        assert words
        assert all("mask-inverted" in text for text in words if text)
        page.fill("#search", "nobody is called so")
        expect(page.locator("#found")).to_have_text(f"0 of {COUNT}")
        page.fill("#search", "")
        page.select_option("#status", "n")
        expect(page.locator("#found")).to_have_text(f"1 of {COUNT}")
        expect(page.locator("#list .red")).to_have_text("not graded")


def test_a_long_list_is_drawn_in_part_until_the_rest_is_requested(chromium: Browser, report: Path):
    """Thousands of rows are slow: a button shows the rest, and only the page scrolls."""
    with opened(chromium, report / "index.html") as found:
        assert len(names(found.page)) < COUNT
        expect(found.page.locator("#list table")).to_have_attribute("aria-rowcount", str(COUNT + 1))
        found.page.click("#more")
        assert len(names(found.page)) == COUNT
        expect(found.page.locator("#more")).to_be_hidden()
        expect(found.page.locator(f"#list tr[aria-rowindex='{COUNT + 1}'] a")).to_be_visible()
        own = "getComputedStyle(document.getElementById('list')).overflowY"
        assert found.page.evaluate(own) == "visible"


def test_submissions_that_need_a_decision_are_listed_first(chromium: Browser, report: Path):
    """Submissions that are not graded, late without a rule or unreadable say what to do."""
    with opened(chromium, report / "index.html") as found:
        titles = found.page.locator(".needs h3").all_inner_texts()
        assert titles[0] == "1 NOT GRADED"
        assert any("late, and nothing says" in title for title in titles)
        needs = found.page.locator(".needs").bounding_box()
        submissions = found.page.locator("#submissions").bounding_box()
        exercises = found.page.locator("#exercises").bounding_box()
        assert needs["y"] < submissions["y"] < exercises["y"]


def test_unreadable_submissions_are_counted_in_their_own_column(chromium: Browser, tmp_path: Path):
    """Unreadable submissions have their own column and colour."""
    results = store_class(tmp_path / "results", a_class(80, seed=4))
    index = write_report(Store.read(results), tmp_path / "pages").index
    with opened(chromium, index) as found:
        count = int(found.page.locator(".figures div:nth-child(2) dd").inner_text())
        assert count > 0
        rows = found.page.locator("[aria-labelledby=exercises] tbody tr")
        for row in rows.all()[:3]:
            numbers = [int(cell) for cell in row.locator("td.number").all_inner_texts()[:5]]
            assert numbers[-1] == count
            assert sum(numbers) == 80


def test_a_mistake_links_to_its_submissions_and_filters_the_list(chromium: Browser, report: Path):
    """The mistake's button filters the list."""
    with opened(chromium, report / "index.html") as found:
        kind = found.page.locator("[data-kind]").first
        made = int(kind.locator(".count").inner_text())
        kind.locator("summary").click()
        expect(kind.locator(".who a")).to_have_count(made)
        kind.get_by_role("button").click()
        expect(found.page.locator("#found")).to_have_text(f"{made} of {COUNT}")


def test_submission_pages_link_only_within_themselves(chromium: Browser, report: Path):
    """The class links to each submission. A submission's page links only within itself."""
    with opened(chromium, report / "index.html") as found:
        link = found.page.locator("#list tbody th a").first
        name = link.inner_text()
        link.click()
        expect(found.page.locator("h1")).to_have_text(name)
    for page in (report / "submissions").iterdir():
        assert all(link.startswith("#") for link in re.findall('href="([^"]*)"', page.read_text()))


def test_each_persons_row_unfolds_its_problems(chromium: Browser, report: Path):
    """A closed row is as high as any other."""
    with opened(chromium, report / "index.html") as found:
        rows = found.page.locator("#list tbody tr")
        heights = {round(row.bounding_box()["height"]) for row in rows.all()[:30]}
        assert max(heights) < 1.2 * min(heights)
        line = found.page.locator("#list tbody details").first
        expect(line.locator("li").first).to_be_hidden()
        line.locator("summary").click()
        expect(line.locator("li").first).to_be_visible()


def test_the_next_step_is_on_the_first_screen(chromium: Browser, report: Path):
    """An instructor first sees the needed decisions, and a student the first thing to fix."""
    for viewport in (DESK, PHONE):
        with opened(chromium, report / "index.html", viewport=viewport) as found:
            assert found.page.locator(".need h3").first.bounding_box()["y"] < 600
        with opened(chromium, with_pictures(report), viewport=viewport) as found:
            told = found.page.locator(".causes li a, .cause h2").first
            assert told.bounding_box()["y"] < 600


def test_a_picture_has_a_slider_and_numbers(chromium: Browser, report: Path):
    """The slider selects a slice, arrow keys read out each number, and a table has them all."""
    with opened(chromium, with_pictures(report)) as found:
        picture = found.page.locator("details.picture").first
        told = picture.locator(".readout")
        expect(picture.locator("figcaption")).to_have_text(["expected", "got", "difference"])
        picture.locator("summary", has_text="as a table").click()
        expect(picture.locator("tbody tr")).to_have_count(5 * 7)
        first = picture.locator("tbody").inner_text()
        expect(picture.locator("label")).to_have_text(
            [re.compile("the first leading axis"), re.compile("heads")]
        )
        picture.get_by_label("heads").fill("2")
        assert picture.locator("tbody").inner_text() != first
        before = told.inner_text()
        picture.locator(".panels").focus()
        found.page.keyboard.press("ArrowDown")
        assert told.inner_text() != before
        assert re.match(r"queries \d, keys \d: expected .*, got .*, difference ", told.inner_text())


def test_a_page_has_one_section_for_each_cause(chromium: Browser, tmp_path: Path):
    """One wrong line that fails eight exercises is one section, with the exercises folded."""
    results = store_class(tmp_path / "results", iter([with_a_shared_mistake()]))
    index = write_report(Store.read(results), tmp_path / "pages").index
    (page,) = (index.parent / "submissions").iterdir()
    for viewport, most in ((DESK, 4000), (PHONE, 6000)):
        with opened(chromium, page, viewport=viewport) as found:
            assert found.page.evaluate("document.documentElement.scrollHeight") <= most
            expect(found.page.locator(".cause")).to_have_count(1)
            expect(found.page.locator("pre.message:visible")).to_have_count(1)
            expect(found.page.locator(".failing li:visible")).to_have_count(0)
            found.page.locator(".failing summary").click()
            expect(found.page.locator(".failing li:visible")).to_have_count(8)
            expect(found.page.locator("tbody a[href='#cause-0']")).to_have_count(8)


def test_decided_points_leave_room_for_the_table_on_a_phone(chromium: Browser, tmp_path: Path):
    """The last words of a row were cut where a decision had added a line to its points."""
    wrong = with_a_shared_mistake()
    right = {"status": Status.PASSED, "score": 1.0}
    tests = (one._replace(**right) if one.aspect is Aspect.VALUES else one for one in wrong.tests)
    folder = store_class(tmp_path / "results", iter([replace(wrong, tests=tuple(tests))]))
    exercise = wrong.tests[0].exercise
    (folder / "decisions.toml").write_text(
        f'[[points]]\nperson = "everybody"\nexercise = "{exercise}"\nby = 1\nreason = "so"\n'
    )
    index = write_report(Store.read(folder), tmp_path / "pages").index
    (page,) = (index.parent / "submissions").iterdir()
    with opened(chromium, page, viewport=PHONE) as found:
        assert found.page.locator("#exercises ~ .wide").evaluate(
            "it => it.scrollWidth <= it.clientWidth"
        )


def test_nan_and_infinities_are_marked_in_pictures(chromium: Browser, report: Path):
    """NaN and infinities have a colour and a sign of their own."""
    with opened(chromium, with_pictures(report)) as found:
        picture = found.page.locator("details.picture").first
        signs = picture.locator("figure").nth(1).locator("text.in").all_text_contents()
        assert {"NaN", "∞", "−∞"} <= set(signs)


def test_the_page_switches_between_light_and_dark_colours(chromium: Browser, report: Path):
    """The page follows the system until the switch is used. Canvases follow it too."""
    ground = "getComputedStyle(document.body).backgroundColor"
    with opened(chromium, report / "index.html", color_scheme="dark") as found:
        dark = found.page.evaluate(ground)
        found.page.get_by_role("button", name="Light colours").click()
        light = found.page.evaluate(ground)
        assert light != dark
        found.page.get_by_role("button", name="Dark colours").click()
        assert found.page.evaluate(ground) == dark
        assert found.is_quiet


def test_the_page_of_changes_can_be_searched(chromium: Browser, report: Path):
    """The page shows each change and its reason. The search leaves only the matches."""
    with opened(chromium, report / "changes.html") as found:
        changes = found.page.locator(".changes > li:visible")
        assert changes.count() > 3
        expect(changes.first.locator("b.down")).to_be_visible()
        expect(changes.first).to_contain_text("passed → error")
        found.page.fill("#search", "no grade")
        expect(changes).to_have_count(1)
        expect(changes.first).to_contain_text("the worker was lost")


def test_printing_the_page_includes_all_submissions(chromium: Browser, report: Path):
    """Paper does not scroll."""
    with opened(chromium, report / "index.html") as found:
        found.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert len(names(found.page)) == COUNT
        found.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert len(names(found.page)) < COUNT
