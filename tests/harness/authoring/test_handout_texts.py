"""The texts of a handout: the frozen contract, the README, and how to install."""

import shlex
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import pytest

from grader.authoring.handout.folder import CONFTEST, frozen_contract, readme, rules
from grader.authoring.handout.installing import Installation
from grader.core.assignment import find_assignment
from grader.core.late_rule import LateRule
from tests.harness.conftest import TINY, write_files

pytestmark = pytest.mark.unit

ADAPTERS = '''
"""Says what students fill in."""
from __future__ import annotations
import assignment.parts as parts
import torch, numpy
from jaxtyping import *
from typing import NamedTuple as Tuple
from assignment import helper
Mask = "Bool | None"
Bool: object = torch.Tensor
unused = 3

class Pair(Tuple):
    """Holds two."""
    one: Mask
    def both(self):
        return parts.both(self)

def hidden():
    return helper()

@typed
def run_it(pair: Pair, x: "numpy.ndarray") -> Float[Mask, "n"]:
    """Does it."""
    def inner():
        return 1
    return parts.it(pair)

async def run_later(): return helper()
'''
CONTRACT = '''
from __future__ import annotations

import torch, numpy

from jaxtyping import *

from typing import NamedTuple as Tuple

Mask = 'Bool | None'

Bool: object = torch.Tensor

unused = 3

class Pair(Tuple):
    """Holds two."""
    one: Mask

    def both(self):
        return parts.both(self)

def hidden():
    return helper()

def run_it(pair: Pair, x: 'numpy.ndarray') -> Float[Mask, 'n']:
    """Does it."""

    def inner():
        return 1
    return parts.it(pair)

async def run_later():
    return helper()
'''


def test_the_frozen_contract_holds_the_adapters_without_imports_of_students_modules():
    """Decorators are left out too."""
    about, rest = frozen_contract(ADAPTERS).split("\n", 1)
    assert about.startswith('"""Holds the types of the adapters')
    assert rest == CONTRACT


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("# It\n\nBe.\n\n## A\n\nDo.\n", "# It\n\nBe.\n\nINSTALL\n\n## A\n\nDo.\n\nHAND IN\n"),
        ("# It\n", "# It\n\nINSTALL\n\nHAND IN\n"),
    ],
    ids=["sections", "no section"],
)  # fmt: skip
def test_the_readme_installs_before_the_first_section_and_hands_in_last(page, expected):
    assert readme("it", page, "INSTALL\n", "\nHAND IN\n") == expected


def test_a_readme_without_a_page_of_the_author_says_how_to_work():
    text = readme("softmax", None, "INSTALL", "HAND IN")
    assert text.startswith("# softmax\n")
    assert text.index("INSTALL") < text.index("## While you work") < text.index("HAND IN")


def test_the_readme_tells_the_due_date_and_what_must_be_written_by_hand(tmp_path):
    plain = find_assignment(write_files(tmp_path, TINY))
    due = datetime(2026, 10, 1, 23, 59)
    late = LateRule(due, "Europe/Oslo", grace=15, percent=10, of="possible", days=2)
    assert rules(plain) == ""
    told = rules(replace(plain, late=late, forbidden={"torch.softmax": 50, "torch.exp": 0}))
    assert told.splitlines()[2:] == [
        "- Due 2026-10-01 23:59 (Europe/Oslo). You are in time until 15 minutes later. "
        "Later: minus 10 % of the possible points a day, after 2 free days.",
        "- Write this by hand: `torch.softmax`. "
        "It costs 50 % of the points of each exercise that calls it.",
        "- Write this by hand: `torch.exp`. Calling it is noted.",
    ]


def test_an_installation_names_the_wheel_the_constraints_and_the_index():
    """With an index of builds for CPUs, the warning about gigabytes is left out."""
    plain = Installation("Ünit vectors!", "it.whl")
    assert plain.requirements() == "./it.whl\n"
    assert "\nname: nit-vectors\n" in plain.environment()
    assert "  - pytorch >=2.4\n" in plain.environment()
    assert "several gigabytes" in plain.section()
    whole = Installation("!", "it.whl", "constraints.txt", "https://somewhere")
    assert whole.requirements() == "--constraint constraints.txt\n./it.whl\n"
    assert "\nname: assignment\n" in whole.environment()
    assert "several gigabytes" not in whole.section()
    assert "-r requirements.txt --extra-index-url https://somewhere\n" in whole.section()


def test_an_installation_brings_the_packages_that_the_assignment_lists():
    """Otherwise the handout's workflow fails for a student who uses one of them."""
    needing = Installation("lm", "it.whl", packages=("einx", "regex"))
    assert needing.requirements() == "./it.whl\neinx\nregex\n"
    assert needing.environment().endswith("      - ./it.whl\n      - einx\n      - regex\n")


def test_the_command_for_another_folder_can_be_typed_as_it_stands(tmp_path):
    """Students' folders have spaces and brackets: `Assignment 2 (copy)`."""
    folder = tmp_path / "Assignment 2 (copy)"
    handed_out: dict[str, object] = {"__file__": str(folder / "conftest.py")}
    exec(CONFTEST, handed_out)
    written: list[str] = []
    reporter = SimpleNamespace(stats={}, write_line=written.append)
    handed_out["pytest_terminal_summary"](reporter, exitstatus=5)
    assert shlex.split(written[0].partition("Type: ")[2]) == ["cd", str(folder)]
