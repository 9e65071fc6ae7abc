"""Reports at home: each one has the cause's sentence, hint and line."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.harness.marks import rest_slow
from tests.harness.planted import LOOKED_AT_SOONER, OF_ONE_EXERCISE, RIGHT, SLIPS, WARMUP, Slip

pytestmark = pytest.mark.process

COLUMNS, SCREEN = 80, 40
# At this width no sentence is broken.
WIDE = 999
# Writes the text that an editor's test panel shows.
CONFTEST = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.failed:
        with open("panel.txt", "a", encoding="utf-8") as panel:
            panel.write(report.longreprtext)
"""


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def right(attention_handout, tmp_path_factory) -> Path:
    """The handout with a right submission in it."""
    folder = Path(shutil.copytree(attention_handout, tmp_path_factory.mktemp("handout") / "mine"))
    shutil.copytree(RIGHT, folder, dirs_exist_ok=True)
    (folder / "conftest.py").write_text(CONFTEST)
    return folder


@pytest.fixture
def with_slip(right, warm, tmp_path) -> Callable[[str], Run]:
    """A function that plants a slip in a copy of the handout and returns a way to run pytest."""
    mine = Path(shutil.copytree(right, tmp_path / "mine"))
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def plant(name: str) -> Run:
        SLIPS[name].plant(mine)

        def run(*options: str, columns: int = WIDE) -> subprocess.CompletedProcess[str]:
            (mine / "panel.txt").unlink(missing_ok=True)
            variables = without | {"COLUMNS": str(columns)}
            arguments = ("-P", "-m", "pytest", "--junitxml=junit.xml", *options)
            return warm.run(arguments, mine, variables)

        return run

    plant.folder = mine
    return plant


def junit_failures(folder: Path) -> list[str]:
    """Returns the message and the text of each failure in JUnit's XML."""
    tree = ElementTree.parse(folder / "junit.xml")
    return [f"{one.get('message')}\n{one.text}" for one in tree.iter("failure")]


def assert_full_explanation(slip: Slip, *texts: str) -> None:
    """Asserts that each of the texts holds the slip's sentence, hint and line."""
    for text in texts:
        missing = [words for words in slip.told() if words not in text]
        assert not missing, text


@pytest.mark.parametrize("name", rest_slow(SLIPS, LOOKED_AT_SOONER[1:2]))
def test_one_failing_test_shows_sentence_hint_and_line_in_every_output(with_slip, name):
    """The terminal, JUnit's XML and an editor's panel all have the sentence, the hint and the line.

    The runs use a test's id, `-x` or `--lf`; each slip is tried in one or two of these ways.
    `--locate` waits for the line however busy the machine is.
    """
    run, slip, folder = with_slip(name), SLIPS[name], with_slip.folder
    ways = ((["-x"], ["--lf"]), ([slip.test],))
    for options in ways[[*SLIPS].index(name) % len(ways)]:
        printed = run("--locate", *options).stdout
        assert "1 failed" in printed, printed
        panel = (folder / "panel.txt").read_text()
        (told,) = junit_failures(folder)
        assert_full_explanation(slip, printed, panel, told)


@pytest.mark.parametrize("name", rest_slow(SLIPS, LOOKED_AT_SOONER[::2]))
def test_a_slip_is_one_cause_that_fits_on_one_screen(with_slip, name):
    """However many exercises fail, every failure has the sentence and the line."""
    run, slip = with_slip(name), SLIPS[name]
    printed = run("--locate", columns=COLUMNS).stdout
    assert height_of(printed) <= SCREEN, printed
    assert " of 1 kind =" in printed, printed
    below = printed.partition(" of 1 kind ")[2].partition("\n")[2]
    assert all(len(line) <= COLUMNS for line in below.splitlines()), below
    assert below.startswith("run_"), printed
    assert slip.sentence in " ".join(below.splitlines()[:3]), printed
    assert_full_explanation(slip, " ".join(printed.split()))
    failures = junit_failures(with_slip.folder)
    assert len(failures) > (0 if name in OF_ONE_EXERCISE else 15)
    unsaid = [told for told in failures if f"{slip.file}:" not in told]
    assert not unsaid, unsaid[0]


def test_the_root_exercise_is_printed_first(with_slip):
    """The order of the tests does not matter, nor which exercise has the most failures."""
    lines = with_slip("mask-inverted")("-p", "no:randomly").stdout.splitlines()
    title = next(place for place, line in enumerate(lines) if " of 1 kind " in line)
    assert lines[title + 1].startswith("run_attention_weights: ")
    assert any(line.startswith("test_attention_weights_with_mask: ") for line in lines)


@pytest.mark.parametrize(
    ("options", "headings", "listed"),
    rest_slow(
        [
            (["-v"], 34, 34),
            (["-q"], 0, 0),
        ],
        1,
        rows=True,
    ),
    ids=str,
)
def test_failures_are_listed_one_by_one_if_asked(with_slip, options, headings, listed):
    """`-v` shows every failure; without it, the causes stand for them."""
    lines = with_slip("mask-inverted")("--locate", *options).stdout.splitlines()
    assert sum(line.startswith("____") for line in lines) == headings
    assert sum(line.startswith("FAILED ") for line in lines) == listed
    assert sum(" 34 failures of 1 kind " in line for line in lines) == 1
    headline = "run_attention_weights: your mask works the wrong way round"
    assert sum(line.startswith(headline) for line in lines) == 1
    in_full = sum("Hint: Does True in a mask" in line for line in lines)
    assert in_full == (headings or 1)
    assert any(line.strip("= ").startswith("34 failed, 56 passed") for line in lines)


def test_two_slips_are_two_causes(with_slip):
    """Each cause has its line, and the earlier exercise comes first."""
    with_slip("causal-reversed")
    run = with_slip("projection-transposed")
    printed = run(columns=COLUMNS).stdout
    told = headlines(printed)
    assert printed.count(" of 2 kinds =") == 1
    assert told[0].startswith("1. run_causal_mask: your causal mask is transposed")
    assert f"{WARMUP}:14" in printed.partition("\n2. ")[0]
    assert told[1].startswith("2. run_")
    assert printed.count("\nHint: ") == 2


def height_of(printed: str) -> int:
    """Returns how many rows the text takes in a terminal."""
    shown = [line for line in printed.splitlines() if "generated xml file" not in line]
    return sum(max(1, math.ceil(len(line) / COLUMNS)) for line in shown)


def headlines(printed: str) -> Sequence[str]:
    """Returns the numbered headlines of several causes."""
    return [line for line in printed.splitlines() if line[:3] in ("1. ", "2. ", "3. ")]
