"""Equal results on every machine: on processors that sum in another order, in other locales."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from grader.authoring.handout.fixture_differences import differences
from grader.core.wire.values import mapped
from grader.testing.cases import Case, FrozenTest, content_of, freeze, thaw
from tests.harness.conftest import RIGHT
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "public" / "fixtures"
# Turning vector instructions off changes the sums more than any two current processors differ.
ANOTHER_PROCESSOR = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
}
ELSEWHERE = {"LC_ALL": "C", "TZ": "Pacific/Auckland"}
# A right one with complex numbers, and wrong axes, masks, scales and positions.
STUDENTS = ("elif-yilmaz", "hugo-martin", "ines-pereira", "jonas-berg", "mei-tanaka")
FILE = "test_scaled_dot_product_attention.safetensors"
SEED = 20


@pytest.fixture
def another_processor(monkeypatch) -> None:
    """An environment in which programs compute like an older processor, with another locale."""
    for name, value in (ANOTHER_PROCESSOR | ELSEWHERE).items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("another_processor")
@pytest.mark.parametrize("assignment", rest_slow(["examples/feed_forward", "."], 2))
def test_another_processor_freezes_the_committed_fixtures(grader, tmp_path, assignment):
    """Authors may freeze fixtures on any machine."""
    done = grader("handout", tmp_path / "handout", cwd=ROOT / assignment)
    assert done.returncode == 0, done.stderr
    public = Path("tests", "public", "fixtures")
    assert differences(tmp_path / "handout" / public, ROOT / assignment / public) == []


@pytest.mark.slow
def test_another_processor_gives_the_same_grades_for_the_same_reasons(grader, tmp_path, request):
    """Verdicts, mistakes and lines are the same; only the measured errors differ."""
    for name in STUDENTS:
        shutil.copytree(ROOT / "examples" / "class" / name, tmp_path / "class" / name)

    def graded(out: Path) -> list[dict]:
        done = grader("batch", tmp_path / "class", "--out", out, "--seed", SEED)
        assert done.returncode == 0, done.stderr
        rows = map(json.loads, (out / "results.jsonl").read_text().splitlines())
        return [_without_measurements(row) for row in rows]

    here = graded(tmp_path / "here")
    request.getfixturevalue("another_processor")
    assert graded(tmp_path / "there") == here


def _without_measurements(row: dict) -> dict:
    """Returns a grade's score, and for each test its status, mistake and place.

    The line at which an endless loop was stopped is left out: it depends on timing.
    """
    said = ("id", "status", "score", "diagnosis", "where")
    tests = [{name: test[name] for name in said} for test in row["tests"]]
    for test in tests:
        if test["status"] == "timeout":
            assert test.pop("where") is not None
    return {"submission": row["submission"], "score": row["score"], "tests": tests}


def test_a_name_outside_the_encoding_of_the_terminal_stops_no_batch(
    grader, tiny, tmp_path, monkeypatch
):
    """Characters outside the terminal's encoding are printed as escapes."""
    (tmp_path / "class" / "王").mkdir(parents=True)
    (tmp_path / "class" / "王" / "adapters.py").write_text(RIGHT, encoding="utf-8")
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    done = grader("batch", tmp_path / "class", "--out", tmp_path / "out", cwd=tiny)
    assert done.returncode == 0, done.stderr
    assert "\\u738b" in done.stdout


def next_larger_numbers(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the next larger numbers of the dtype, as after a sum in another order."""
    more = torch.nextafter(tensor, torch.full_like(tensor, torch.inf))
    return torch.where(tensor.isfinite(), more, tensor)


def one_in_ten_thousand_more(tensor: torch.Tensor) -> torch.Tensor:
    """Returns values that differ as after a small change of the code that computes them."""
    return tensor * 1.0001


def with_leeway(times: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """Returns a change that multiplies the stored rounding of each answer."""

    def changed(rows: torch.Tensor) -> torch.Tensor:
        rows = rows.clone()
        rows[:, -2] *= times
        return rows

    return changed


def without_the_last_mistake(rows: torch.Tensor) -> torch.Tensor:
    """Returns the rows as if the last row's mistake had left the catalogue."""
    return rows[:-1].clone()


def with_parts(
    test: FrozenTest, kind: str, change: Callable[[torch.Tensor], torch.Tensor]
) -> FrozenTest:
    """Returns a frozen test with another form of its floating-point tensors of a kind."""
    content = content_of(test)
    content[kind] = mapped(
        content[kind],
        lambda one: change(one) if torch.is_tensor(one) and one.is_floating_point() else one,
    )
    case = Case(None, content["drawn"], content["expected"])
    return FrozenTest(case, test.points, content["answers"], content["steps"])


@pytest.fixture
def changed(tmp_path) -> Callable[..., list[str]]:
    """A function that changes tensors of committed fixtures, and returns the differences found."""

    def found(kind: str, change: Callable[[torch.Tensor], torch.Tensor]) -> list[str]:
        folder = Path(shutil.copytree(FIXTURES, tmp_path / "fixtures"))
        module = thaw(folder / FILE)
        assert module.tests
        tests = {name: with_parts(test, kind, change) for name, test in module.tests.items()}
        freeze(folder / FILE, replace(module, tests=tests))
        return differences(folder, FIXTURES)

    return found


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("drawn", next_larger_numbers),
        ("expected", one_in_ten_thousand_more),
        ("steps", one_in_ten_thousand_more),
        ("answers", one_in_ten_thousand_more),
        ("answers", with_leeway(10_000)),
        ("answers", with_leeway(1e-4)),
        ("answers", without_the_last_mistake),
    ],
)
def test_fixtures_that_were_frozen_before_a_change_are_noticed(changed, kind, change):
    """The change is another draw, another reference, or a mistake that changed or vanished."""
    assert changed(kind, change)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("expected", next_larger_numbers),
        ("steps", next_larger_numbers),
        ("answers", next_larger_numbers),
        ("answers", with_leeway(2)),
        ("answers", with_leeway(0.5)),
    ],
)
def test_another_order_of_sums_is_not_taken_for_a_change(changed, kind, change):
    """The order changes the last digit of results, and slightly the size of the rounding error."""
    assert changed(kind, change) == []
