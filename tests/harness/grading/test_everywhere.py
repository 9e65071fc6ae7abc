"""The same on every machine: on processors that add up in another order, wherever they stand."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from tests.harness.conftest import RIGHT
from tests.harness.frozen_fixtures import differences
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "public" / "fixtures"
# No processor of today is as different from another as one without vectors is from itself.
ANOTHER_PROCESSOR = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
}
ELSEWHERE = {"LC_ALL": "C", "TZ": "Pacific/Auckland"}
# Right by complex numbers; wrong with other axes, in masks, in scales, in positions.
STUDENTS = ("elif-yilmaz", "hugo-martin", "ines-pereira", "jonas-berg", "mei-tanaka")
FILE = "test_scaled_dot_product_attention.safetensors"
SEED = 20


@pytest.fixture
def another_processor(monkeypatch) -> None:
    """What is started computes as an older processor in another country would."""
    for name, value in (ANOTHER_PROCESSOR | ELSEWHERE).items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("another_processor")
@pytest.mark.parametrize("assignment", rest_slow(["examples/feed_forward", "."], 2))
def test_another_processor_freezes_the_committed_fixtures(grader, tmp_path, assignment):
    """Whoever changes an assignment may do so on any machine."""
    done = grader("handout", tmp_path / "handout", cwd=ROOT / assignment)
    assert done.returncode == 0, done.stderr
    public = Path("tests", "public", "fixtures")
    assert differences(tmp_path / "handout" / public, ROOT / assignment / public) == []


@pytest.mark.slow
def test_another_processor_gives_the_same_grades_for_the_same_reasons(grader, tmp_path, request):
    """Verdicts, mistakes and lines; only by how much answers err differs."""
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
    """A grade's score, and of each test its outcome and what explains it.

    At which line of an endless loop its time was over is a measurement.
    """
    said = ("id", "status", "score", "diagnosis", "where")
    tests = [{name: test[name] for name in said} for test in row["tests"]]
    for test in tests:
        if test["status"] == "timeout":
            assert test.pop("where") is not None
    return {"submission": row["submission"], "score": row["score"], "tests": tests}


def test_a_name_that_a_terminal_lacks_letters_for_stops_no_batch(
    grader, tiny, tmp_path, monkeypatch
):
    """Its letters are told by their numbers."""
    (tmp_path / "class" / "王").mkdir(parents=True)
    (tmp_path / "class" / "王" / "adapters.py").write_text(RIGHT, encoding="utf-8")
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    done = grader("batch", tmp_path / "class", "--out", tmp_path / "out", cwd=tiny)
    assert done.returncode == 0, done.stderr
    assert "\\u738b" in done.stdout


def a_little_more(tensor: torch.Tensor) -> torch.Tensor:
    """The next number that the dtype holds, as after a sum in another order."""
    more = torch.nextafter(tensor, torch.full_like(tensor, torch.inf))
    return torch.where(tensor.isfinite(), more, tensor)


def one_in_ten_thousand_more(tensor: torch.Tensor) -> torch.Tensor:
    """As if what computes it had been changed a little."""
    return tensor * 1.0001


def with_leeway(times: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """Answers of which as many times as much is rounding."""

    def changed(rows: torch.Tensor) -> torch.Tensor:
        rows = rows.clone()
        rows[:, -2] *= times
        return rows

    return changed


def without_the_last(rows: torch.Tensor) -> torch.Tensor:
    """As if the mistake in the last row were no longer known."""
    return rows[:-1].clone()


@pytest.fixture
def changed(tmp_path) -> Callable[..., list[str]]:
    """What is noticed of the committed fixtures of a module with some of its tensors changed."""

    def found(kind: str, change: Callable[[torch.Tensor], torch.Tensor]) -> list[str]:
        folder = Path(shutil.copytree(FIXTURES, tmp_path / "fixtures"))
        with safe_open(folder / FILE, "pt") as stored:
            metadata = stored.metadata()
            tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
        of_kind = {key: tensor for key, tensor in tensors.items() if f"/{kind}/" in key}
        floating = {key: one for key, one in of_kind.items() if one.is_floating_point()}
        assert floating
        save_file(tensors | {k: change(t) for k, t in floating.items()}, folder / FILE, metadata)
        return differences(folder, FIXTURES)

    return found


@pytest.mark.unit
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("drawn", a_little_more),
        ("expected", one_in_ten_thousand_more),
        ("steps", one_in_ten_thousand_more),
        ("answer", one_in_ten_thousand_more),
        ("answer", with_leeway(10_000)),
        ("answer", with_leeway(1e-4)),
        ("answer", without_the_last),
    ],
)
def test_what_was_frozen_before_a_change_is_noticed(changed, kind, change):
    """Another draw, another reference, a mistake made in another way or none any more."""
    assert changed(kind, change)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("expected", a_little_more),
        ("steps", a_little_more),
        ("answer", a_little_more),
        ("answer", with_leeway(2)),
        ("answer", with_leeway(0.5)),
    ],
)
def test_another_order_of_sums_is_not_taken_for_a_change(changed, kind, change):
    """It moves the last digit of what was computed, and a little how far rounding may move it."""
    assert changed(kind, change) == []
