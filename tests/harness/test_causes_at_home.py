"""Why, wherever a student looks: every report has the sentence, the hint and the line."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.conftest import ROOT

HEADS, WARMUP = "assignment/heads.py", "assignment/warmup.py"
COLUMNS, SCREEN = 100, 45
# What an editor's panel reads.
CONFTEST = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.failed:
        with open("panel.txt", "a", encoding="utf-8") as panel:
            panel.write(report.longreprtext)
"""


@dataclass(frozen=True, slots=True)
class Slip:
    """One line of a right submission made wrong, and what a student is told, wherever it is seen.

    `test` is one of those that fail, and far from the root.
    """

    file: str
    right: str
    wrong: str
    sentence: str
    hint: str
    test: str

    def told(self) -> list[str]:
        """The sentence, the hint and the line."""
        return [self.sentence, self.hint, f"{self.file}, line "]


MHA = "tests/public/test_multihead_attention.py::test_multihead_attention"
ROPE = "tests/public/test_multihead_self_attention_with_rope.py::test_multihead_with_rope"
STACKED = "tests/public/test_multihead_attention_stacked.py::test_stacked_heads"
SLIPS = {
    "mask-inverted": Slip(
        HEADS,
        "torch.where(mask, scores",
        "torch.where(~mask, scores",
        "mask works the wrong way round",
        "What does True in a mask stand for here",
        f"{MHA}_to_itself_causal",
    ),
    "softmax-over-queries": Slip(
        HEADS,
        "softmax(scores, dim=-1)",
        "softmax(scores, dim=-2)",
        "softmax runs along the queries",
        "Whose shares must add up to 1",
        f"{MHA}_to_itself",
    ),
    "no-scale": Slip(
        HEADS,
        "scores = scores / d_k ** 0.5",
        "scores = scores",
        "scores are not scaled before the softmax",
        "How does the spread of a dot product grow",
        f"{ROPE}_without_positions",
    ),
    "scale-by-d_k": Slip(
        HEADS,
        "d_k ** 0.5",
        "d_k",
        "scores are divided by d_k itself",
        "Look at the denominator in the formula",
        f"{STACKED}_with_other_weights",
    ),
    "causal-reversed": Slip(
        WARMUP,
        "column <= row",
        "column >= row",
        "causal mask is turned round",
        "Write down the mask for three tokens",
        f"{STACKED}_of_a_batch",
    ),
    "causal-sees-next": Slip(
        WARMUP,
        "column <= row",
        "column <= row + 1",
        "lets each token see the one after it",
        "Count what the first token may see",
        f"{MHA}_to_itself_causal",
    ),
    "projection-transposed": Slip(
        HEADS,
        "torch.matmul(torch.cat(outputs, dim=-1), Wo.T)",
        "torch.matmul(torch.cat(outputs, dim=-1), Wo)",
        "output projection uses its weight the other way round",
        "Over which axis of the output weight",
        f"{ROPE}_with_other_weights",
    ),
    "dropout-unscaled": Slip(
        WARMUP,
        "survivors / (1 - p)",
        "survivors",
        "weights that your dropout keeps are not scaled",
        "what must happen to the others for the mean to stay",
        "tests/public/test_attention_dropout.py::test_dropout_scales_what_it_keeps[0.5]",
    ),
    "an exception": Slip(
        HEADS,
        "torch.cat(outputs, dim=-1)",
        "torch.cat(outputs, dim=-2)",
        "mat1 and mat2 shapes cannot be multiplied",
        "Look at an axis of `cat`",
        f"{MHA}_to_itself",
    ),
    "no known mistake": Slip(
        WARMUP,
        "torch.sum(numerator, dim=dim",
        "torch.sum(numerator, dim=-1",
        "24 of 24 numbers in the result are wrong",
        "ook at a value that is written out",
        "tests/public/test_softmax.py::test_softmax_along_any_axis[(3, 4, 2)--2]",
    ),
}
SHARED = [name for name in SLIPS if name not in ("dropout-unscaled", "no known mistake")]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def right(grader, tmp_path_factory) -> Path:
    """The handout, with a right submission in it."""
    folder = tmp_path_factory.mktemp("handout") / "attention"
    done = grader("handout", folder)
    assert done.returncode == 0, done.stderr
    shutil.copytree(ROOT / "examples/class/dana-okafor", folder, dirs_exist_ok=True)
    (folder / "conftest.py").write_text(CONFTEST)
    return folder


@pytest.fixture
def with_slip(right, warm, tmp_path) -> Callable[[str], Run]:
    """Runs pytest in a copy with one of the slips."""
    mine = Path(shutil.copytree(right, tmp_path / "mine"))
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def plant(name: str) -> Run:
        slip = SLIPS[name]
        text = (mine / slip.file).read_text()
        assert slip.right in text
        (mine / slip.file).write_text(text.replace(slip.right, slip.wrong, 1))

        def run(*options: str) -> subprocess.CompletedProcess[str]:
            (mine / "panel.txt").unlink(missing_ok=True)
            variables = without | {"COLUMNS": str(COLUMNS)}
            arguments = ("--junitxml=junit.xml", *options)
            return warm.run("pytest", arguments, mine, variables, finds_cwd=False)

        return run

    plant.folder = mine
    return plant


def junit_failures(folder: Path) -> list[str]:
    """What JUnit's XML has of each failure: the message, and the text."""
    tree = ElementTree.parse(folder / "junit.xml")
    return [f"{one.get('message')}\n{one.text}" for one in tree.iter("failure")]


def assert_all_told(slip: Slip, *texts: str) -> None:
    """Each of the texts holds the sentence, the hint and the line."""
    for text in texts:
        missing = [words for words in slip.told() if words not in text]
        assert not missing, text


@pytest.mark.parametrize("name", SLIPS)
def test_one_test_tells_all_wherever_it_is_looked_at(with_slip, name):
    """By its id; stopping at the first one; those that failed last; in a process of its own.

    In the terminal, in JUnit's XML, and in what editors are handed. However busy the machine is:
    `--locate` waits for the line.
    """
    run, slip, folder = with_slip(name), SLIPS[name], with_slip.folder
    for options in (["-x"], ["--lf"], [slip.test], ["-n", "2", slip.test]):
        printed = run("--locate", *options).stdout
        assert "1 failed" in printed, printed
        panel = (folder / "panel.txt").read_text()
        (told,) = junit_failures(folder)
        assert_all_told(slip, printed, panel, told)


@pytest.mark.parametrize("name", SHARED)
def test_a_slip_in_a_shared_helper_fills_one_screen_and_is_one_cause(with_slip, name):
    """However many exercises it fails; and every failure of a run has the sentence and the line."""
    run, slip = with_slip(name), SLIPS[name]
    printed = run("--locate").stdout
    height = sum(max(1, math.ceil(len(line) / COLUMNS)) for line in printed.splitlines())
    assert height <= SCREEN, printed
    assert "\n1 cause, " in printed, printed
    assert_all_told(slip, printed)
    failures = junit_failures(with_slip.folder)
    assert len(failures) > 15
    unsaid = [told for told in failures if f"{slip.file}, line " not in told]
    assert not unsaid, unsaid[0]


def test_the_root_is_told_first(with_slip):
    """Whichever tests come first, and whichever exercise has the most failures."""
    printed = with_slip("mask-inverted")("-p", "no:randomly").stdout
    shown = [line for line in printed.splitlines() if line.startswith("FAILED ")]
    assert [line.partition(" - ")[0] for line in shown] == [
        "FAILED tests/public/test_attention_weights.py::test_attention_weights_with_mask"
    ]


@pytest.mark.parametrize(
    ("options", "headings", "listed"),
    [
        (["-v"], 34, 34),
        (["-rf"], 0, 34),
        (["-rN"], 0, 0),
        (["--tb=no"], 0, 1),
        (["-q"], 0, 1),
    ],
    ids=str,
)
def test_what_pytest_offers_still_makes_sense(with_slip, options, headings, listed):
    """Everything with -v, all names with -rf, nothing in full with --tb=no."""
    lines = with_slip("mask-inverted")(*options).stdout.splitlines()
    assert sum(line.startswith("____") for line in lines) == headings
    assert sum(line.startswith("FAILED ") for line in lines) == listed
    assert sum("1 cause, 34 failures: your mask works the wrong way" in line for line in lines) == 1
    in_full = sum("Hint: What does True in a mask" in line for line in lines)
    assert in_full == (0 if options == ["--tb=no"] else headings or 1)
    assert any(line.strip("= ").startswith("34 failed, 55 passed") for line in lines)


def test_two_slips_are_two_causes(with_slip):
    """Each with its line, the earlier exercise first."""
    with_slip("causal-reversed")
    printed = with_slip("projection-transposed")().stdout
    told = headlines(printed)
    assert printed.count("\n2 causes, ") == 1
    assert told[0].startswith("1. your causal mask is turned round")
    assert f"{WARMUP}, line 14)" in told[0]
    assert told[1].startswith("2. ")


def headlines(printed: str) -> Sequence[str]:
    """The numbered lines of several causes."""
    return [line for line in printed.splitlines() if line[:3] in ("1. ", "2. ", "3. ")]
