"""Sentences on a class's packages: missing ones, and how to install them."""

from __future__ import annotations

import dataclasses
import shlex
import sys

import pytest

from grader.core.assignment import BadAssignment, find_assignment
from grader.reports.package_needs import (
    PackageNeed,
    distribution_of,
    missing_in_words,
    needs_in_words,
    needs_of,
    not_preloaded_in_words,
    required_distributions,
)
from tests.harness.conftest import ROOT

pytestmark = pytest.mark.unit


def test_the_packages_of_a_class_are_listed_by_the_number_of_submissions():
    """The course's own are left out."""
    imported = {"mine": 9, "yaml": 1, "sklearn": 3, "einx": 3, "json_tools": 1}
    assert needs_of(imported, ["mine"], lambda name: name == "yaml") == [
        PackageNeed("einx", 3, False),
        PackageNeed("sklearn", 3, False),
        PackageNeed("json_tools", 1, False),
        PackageNeed("yaml", 1, True),
    ]
    many = {f"p{number}": 1 for number in range(31)}
    assert len(needs_of(many, (), lambda _: False)) == 30


def test_only_a_well_known_package_has_a_distribution():
    """A stranger's import is no reason to install what happens to have its name."""
    names = [distribution_of(name) for name in ("sklearn", "flash_attn", "json_tools")]
    assert names == ["scikit-learn", "flash-attn", None]


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ([], []),
        ([PackageNeed("flash_attn", 3, True), PackageNeed("json_tools", 1, True)], []),
        ([PackageNeed("tqdm", 3, False)], ["not installed here, and not needed: tqdm"]),
        (
            [PackageNeed("flash_attn", 3, False)],
            [
                "not installed here: flash_attn, which 3 submissions import",
                "an import alone costs nothing; code that uses a missing package fails",
                f"to install them: {shlex.quote(sys.executable)} -m pip install flash-attn",
            ],
        ),
        (
            [PackageNeed("json_tools", 1, False)],
            [
                "not installed here: json_tools, which 1 submission imports",
                "an import alone costs nothing; code that uses a missing package fails",
                "unknown to the grader, so check them before you install them: json_tools "
                "(perhaps a file of their own that was not handed in)",
            ],
        ),
    ],
)
def test_each_kind_of_absent_package_has_its_sentence(needs: list[PackageNeed], said: list[str]):
    """An installed package, or one whose stub suffices, is not to be installed."""
    assert [*needs_in_words(needs)] == said


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
