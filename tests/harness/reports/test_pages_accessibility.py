"""Accessible pages: axe finds no serious fault in light or dark, wide or narrow."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from grader.reports.pages.report import write_report
from grader.results.store import Store
from tests.harness.pages_browser import LOOKS, opened
from tests.harness.pages_fixtures import a_class, regraded, store_class

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The pages of a class, of changes, and of a submission with pictures and an unreadable one."""
    folder = tmp_path_factory.mktemp("accessible")
    before = Store.read(store_class(folder / "before", a_class(12)))
    after = Store.read(store_class(folder / "after", regraded(a_class(12))))
    index = write_report(after, folder / "pages", before).index
    submissions = [(page, page.read_text()) for page in index.parent.glob("submissions/*")]
    drawn = next(page for page, text in submissions if 'class="picture"' in text)
    unreadable = next(page for page, text in submissions if "Nothing could be graded" in text)
    return [index, index.with_name("changes.html"), drawn, unreadable]


@pytest.mark.parametrize(("scheme", "size"), LOOKS)
def test_axe_finds_no_serious_fault(chromium: Browser, pages, scheme, size):
    """Everything is unfolded; axe checks contrast, names, roles, headings and focus."""
    for file in pages:
        with opened(chromium, file, color_scheme=scheme, viewport=size) as found:
            unfold = "for (const each of document.querySelectorAll('details')) each.open = true"
            found.page.evaluate(unfold)
            found.page.wait_for_function("document.readyState === 'complete'")
            violations = Axe().run(found.page).response["violations"]
        serious = [
            (each["id"], [node["html"][:160] for node in each["nodes"][:3]])
            for each in violations
            if each["impact"] in ("serious", "critical")
        ]
        assert not serious, (file.name, serious)
