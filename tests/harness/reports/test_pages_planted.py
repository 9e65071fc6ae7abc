"""The pages of ten graded submissions, each with one mistake that may fail most exercises."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from grader.reports.pages.report import write_report
from grader.results.store import Store
from tests.harness.conftest import ROOT
from tests.harness.marks import asked_for, rest_slow
from tests.harness.pages_browser import PHONE, opened
from tests.harness.planted import LOOKED_AT_SOONER, RIGHT, SLIPS

pytestmark = pytest.mark.process

# The tests that students have are too few to distinguish these.
NAMED_IN_CLASS = "no known mistake"
# If a mask hides a whole column, its lowest number stands for infinity. The first exercise then has
# no known mistake, and later exercises name the mistake without its hint.
NAMED_FOR_OTHERS = "softmax-over-queries"
DESK, TALLEST = {"width": 1280, "height": 900}, 4000


@pytest.fixture(scope="module")
def pages(
    request: pytest.FixtureRequest, grader, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The page of the submission with each mistake, by the mistake."""
    folder = tmp_path_factory.mktemp("planted")
    names = asked_for(request, "name")
    for number, name in enumerate(names):
        mine = Path(shutil.copytree(RIGHT, folder / "class" / f"slip-{number}"))
        SLIPS[name].plant(mine)
    done = grader("batch", folder / "class", "--out", folder / "out", "--jobs", "2", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    index = write_report(Store.read(folder / "out"), folder / "pages").index
    found = sorted((index.parent / "submissions").iterdir())
    return {name: page for name, page in zip(names, found, strict=True)}


@pytest.mark.parametrize("name", rest_slow(SLIPS, LOOKED_AT_SOONER[1:]))
def test_one_mistake_is_one_cause_on_a_short_page(chromium: Browser, pages, name):
    """The sentence, the hint and the line need no click, and the page fits the window."""
    for viewport in (DESK, PHONE):
        with opened(chromium, pages[name], viewport=viewport) as found:
            size = found.page.evaluate(
                "[document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
            )
            assert size[1] <= viewport["width"]
            assert viewport is PHONE or size[0] <= TALLEST
            assert found.page.locator(".cause").count() == 1
            text = " ".join(found.page.locator(".cause").inner_text().split())
            sentence, hint, line = SLIPS[name].told()
            wanted = {NAMED_IN_CLASS: (line,), NAMED_FOR_OTHERS: (sentence, line)}
            for told in wanted.get(name, (sentence, hint, line)):
                assert " ".join(told.split()) in text, text
