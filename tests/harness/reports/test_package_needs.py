"""Sentences on a class's packages: missing ones, and how to install them."""

from __future__ import annotations

import dataclasses
import shlex
import sys

import pytest

from grader.core.assignment import BadAssignment, find_assignment
from grader.reports.package_needs import (
    distribution_of,
    missing_in_words,
    needs_in_words,
    not_preloaded_in_words,
    required_distributions,
)
from tests.harness.conftest import ROOT

pytestmark = pytest.mark.unit


def test_the_packages_of_a_class_are_listed_by_the_number_of_submissions():
    """The course's own are left out, and so are those that are installed."""
    imported = {"mine": 9, "yaml": 1, "sklearn": 3, "einx": 4, "json_tools": 1}
    first, second, third, *_ = needs_in_words(imported, ["mine"], lambda name: name == "yaml")
    assert first == "not installed here: einx, which 4 submissions import"
    assert second == "not installed here: sklearn, which 3 submissions import"
    assert third == "not installed here: json_tools, which 1 submission imports"


def test_only_a_well_known_package_has_a_distribution():
    """A stranger's import is no reason to install what happens to have its name."""
    names = [distribution_of(name) for name in ("sklearn", "flash_attn", "json_tools")]
    assert names == ["scikit-learn", "flash-attn", None]


@pytest.mark.parametrize(
    ("imported", "said"),
    [
        ({}, ["nothing is missing"]),
        ({"tqdm": 3}, ["not installed here, and not needed: tqdm", "nothing is missing"]),
        (
            {"flash_attn": 3},
            [
                "not installed here: flash_attn, which 3 submissions import",
                "an import alone costs nothing; code that uses a missing package fails",
                f"to install them: {shlex.quote(sys.executable)} -m pip install flash-attn",
            ],
        ),
        (
            {"json_tools": 1},
            [
                "not installed here: json_tools, which 1 submission imports",
                "an import alone costs nothing; code that uses a missing package fails",
                "unknown to the grader, so check them before you install them: json_tools "
                "(perhaps a file of their own that was not handed in)",
            ],
        ),
    ],
)
def test_each_kind_of_absent_package_has_its_sentence(imported: dict[str, int], said: list[str]):
    """An installed package, or one whose stub suffices, is not to be installed."""
    assert [*needs_in_words(imported, (), lambda _: False)] == said


def test_missing_packages_of_a_batch_are_one_sentence():
    """Five are named."""
    assert missing_in_words({}) == ""
    assert missing_in_words({"einx": 12, "cv2": 1}) == (
        "not installed here: einx (12 submissions), cv2 (1 submission); "
        "see grader doctor SUBMISSIONS"
    )
    five = {f"p{number}": 2 for number in range(5)}
    assert "p4 (2 submissions); see" in missing_in_words(five)
    assert "p4 (2 submissions) and 1 more; see" in missing_in_words(five | {"p5": 2})


def test_a_module_that_cannot_be_preloaded_is_named():
    """The sentence says why."""
    assert [*not_preloaded_in_words({"jaxx": "No module named 'jaxx'"})] == [
        "preload: jaxx could not be imported, and is left out: No module named 'jaxx'"
    ]


def test_pip_installs_what_an_assignment_lists_under_the_names_that_are_installed_here():
    """Only an installed or well-known package has a name for pip; `preload` may be absent."""
    course = dataclasses.replace(
        find_assignment(ROOT), packages=("yaml", "einx", "json"), preload=("rich.text", "not_there")
    )
    assert required_distributions(course, with_preload=False) == ["einx", "pyyaml"]
    assert required_distributions(course, with_preload=True) == ["einx", "pyyaml", "rich"]
    strange = dataclasses.replace(course, packages=("json_tools",))
    with pytest.raises(BadAssignment, match="json_tools is not installed here"):
        required_distributions(strange, with_preload=False)
