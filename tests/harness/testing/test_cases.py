"""Cases: drawn inputs, expected values, and what is frozen of them for students."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from grader.core.verdict import Diagnosis
from grader.testing.cases import (
    SAMPLE,
    SEED,
    Case,
    CaseExhausted,
    Draw,
    FrozenModule,
    FrozenTest,
    HomeCases,
    fixture_file,
    freeze,
    fresh_case,
    remove_frozen,
    sample,
    seed_of,
    thaw,
)

pytestmark = pytest.mark.unit

TEST = "tests/public/test_x.py::test_y"


# --- One case -----------------------------------------------------------------------------------


def test_every_submission_gets_the_same_inputs():
    """They follow from the batch's seed and the test's id alone."""
    case = fresh_case(7, TEST)
    first = [Draw(case)(3), Draw(case)(2, 2)]
    case.rewind()
    assert all(map(torch.equal, first, [Draw(case)(3), Draw(case)(2, 2)]))
    assert torch.equal(Draw(fresh_case(7, TEST))(3), first[0])
    for other in (fresh_case(8, TEST), fresh_case(7, f"{TEST}s")):
        assert not torch.equal(Draw(other)(3), first[0])


def test_a_test_that_writes_into_an_input_changes_it_for_nobody_else():
    case = fresh_case(7, TEST)
    own = Draw(case)(3)
    before = own.clone()
    own.zero_()
    assert torch.equal(Draw(case.rewind())(3), before)


def test_expected_values_are_computed_once():
    """They are kept without their history, in the order in which the test asks."""
    case, asked = fresh_case(7, TEST), []

    def expect(number: float) -> dict[str, object]:
        asked.append(number)
        return {"": torch.tensor([number], requires_grad=True), "more": [number]}

    for _ in range(2):
        case.rewind()
        values = [case.expect(lambda n=n: expect(n)) for n in (1.0, 2.0)]
        assert [value[""].tolist() for value in values] == [[1.0], [2.0]]
        assert [value["more"] for value in values] == [[1.0], [2.0]]
        assert not any(value[""].requires_grad for value in values)
    assert asked == [1.0, 2.0]
    values[0].clear()
    assert case.rewind().expect(lambda: {}).keys() == {"", "more"}


def test_a_frozen_case_gives_only_what_was_frozen():
    """The exception says that the test asks for more."""
    case = Case(None, [torch.ones(2)], [{"": 1}])
    assert case.draw(lambda _: torch.zeros(2)).tolist() == [1.0, 1.0]
    assert case.expect(lambda: {"": 2}) == {"": 1}
    with pytest.raises(CaseExhausted):
        case.draw(lambda _: torch.zeros(2))
    with pytest.raises(CaseExhausted):
        case.expect(dict)


def test_a_branch_draws_as_its_case_would_and_changes_nothing():
    """A failed test goes on with it, and the next submission gets the same inputs."""
    case = fresh_case(7, TEST)
    first = Draw(case)(3)
    case.expect(lambda: {"": 1})
    branch = case.branch()
    assert torch.equal(Draw(branch)(3), first)
    assert branch.expect(dict) == {"": 1}
    further = Draw(branch)(3)
    branch.expect(lambda: {"": 2})
    assert (len(case.drawn), len(case.expected)) == (1, 1)
    assert torch.equal(Draw(case)(3), further)
    frozen = Case(None, [first]).branch()
    assert torch.equal(Draw(frozen)(3), first)
    with pytest.raises(CaseExhausted):
        Draw(frozen)(3)


# --- Kinds of inputs ----------------------------------------------------------------------------


@pytest.fixture
def draw() -> Draw:
    """Draws of a fresh case."""
    return Draw(fresh_case(7, TEST))


def test_normal_numbers_have_the_mean_and_deviation_that_were_asked_for(draw):
    """None is far out, and every processor draws the same."""
    numbers = draw(200, 100, scale=3.0)
    assert numbers.dtype is torch.float32
    assert abs(float(numbers.mean())) < 0.1
    assert 2.9 < float(numbers.std()) < 3.1
    assert float(numbers.abs().max()) <= 18
    assert draw(2, dtype=torch.float16).dtype is torch.float16
    few = Draw(Case(torch.Generator().manual_seed(0)))(3)
    assert [round(one, 4) for one in few.tolist()] == FIRST_OF_SEED_0


FIRST_OF_SEED_0 = [0.3722, 1.0031, 1.2136]


def test_other_inputs_are_of_their_range(draw):
    uniform = draw.uniform(1000)
    assert 0 <= float(uniform.min()) < 0.1
    assert 0.9 < float(uniform.max()) < 1
    integers = draw.integers(3, 6, 200)
    assert sorted(set(integers.tolist())) == [3, 4, 5]
    assert sorted(draw.permutation(9).tolist()) == [*range(9)]
    text = draw.text(300, "abc")
    assert (len(text), {*text}) == (300, {*"abc"})


def test_a_mask_allows_a_key_in_every_row(draw):
    """Even where the chance is 0; what a row without one means is nobody's business."""
    none, some, most = (draw.mask(50, 40, keep=keep) for keep in (0.0, 0.6, 1.0))
    assert none.dtype is torch.bool
    assert none.sum(-1).tolist() == [1] * 50
    assert 0.5 < float(some.float().mean()) < 0.7
    assert bool(most.all())


def test_the_numbers_of_a_module_are_drawn(draw):
    """torch's own would follow another seed in each process."""
    module = draw.module(torch.nn.Linear(30, 30))
    again = Draw(fresh_case(7, TEST)).module(torch.nn.Linear(30, 30))
    assert torch.equal(module.weight, again.weight)
    assert torch.equal(module.bias, again.bias)
    assert 0.45 < float(module.weight.detach().std()) < 0.55
    assert module.weight.requires_grad


# --- Fixture files ------------------------------------------------------------------------------

MISTAKE = Diagnosis("m", "It is wrong.", "Why?")
WHOLE = FrozenModule(
    {
        "test_a": FrozenTest(
            Case(
                None,
                [torch.arange(3.0), torch.tensor([True])],
                [
                    {"": torch.tensor([1.5], dtype=torch.float64), "x": torch.ones(2, 2)},
                    {"": [1, "two", (b"3", None)]},
                ],
            ),
            1.25,
            {0: torch.zeros(2, SAMPLE + 2), 3: torch.ones(1, SAMPLE + 2)},
            {
                1: {
                    "scores": [torch.ones(2), torch.zeros(3)],
                    "a/b": [torch.ones(1, dtype=torch.float64)],
                }
            },
        ),
        "test_a/b[1/2]": FrozenTest(Case(None, [torch.ones(1)]), 0.0),
    },
    {"run_x": ["", "m"]},
    {"m": MISTAKE},
    {"m": "run_y"},
    {"m": ["run_z"]},
    {"m": ["run_w"]},
    {"run_x": frozenset({"table", "mask"})},
)


def frozen(folder: Path, module: FrozenModule = WHOLE) -> Path:
    """Returns the fixture file of `test_x.py` in a folder, after writing it."""
    file = fixture_file(folder / "test_x.py")
    freeze(file, module)
    return file


def test_a_module_of_tests_is_read_as_it_was_frozen(tmp_path):
    """Numbers, texts and bytes survive, and so does all that the author says of mistakes."""
    file = frozen(tmp_path)
    assert file == tmp_path / "fixtures" / "test_x.safetensors"
    assert file.stat().st_mode & 0o777 == 0o644
    found = thaw(file)
    assert [*found.tests] == [*WHOLE.tests]
    own, other = found.tests.values()
    assert (own.points, other.points) == (1.25, 0.0)
    assert [one.tolist() for one in own.case.drawn] == [[0.0, 1.0, 2.0], [True]]
    first, second = own.case.expected
    assert (first[""].dtype, first[""].tolist()) == (torch.float64, [1.5])
    assert first["x"].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert second == {"": [1, "two", (b"3", None)]}
    assert {call: rows.shape[0] for call, rows in own.answers.items()} == {0: 2, 3: 1}
    assert [*own.steps[1]] == ["scores", "a/b"]
    assert [one.tolist() for one in own.steps[1]["scores"]] == [[1.0, 1.0], [0.0, 0.0, 0.0]]
    assert own.steps[1]["a/b"][0].dtype is torch.float32
    assert [one.tolist() for one in other.case.drawn] == [[1.0]]
    assert own.case.generator is None
    assert found.mistakes == {"run_x": ["", "m"]}
    assert found.diagnoses == {"m": MISTAKE}
    assert (found.dropped_from, found.ignored_by) == ({"m": "run_y"}, {"m": ["run_z"]})
    assert found.echoed_in == {"m": ["run_w"]}
    assert found.fixed_steps == {"run_x": ["mask", "table"]}


def test_expected_tensors_may_share_their_memory(tmp_path):
    """Both gradients of a sum are one tensor, and a part of another is a view."""
    one = torch.arange(6.0).reshape(2, 3)
    case = Case(None, [], [{"x": one, "y": one}, {"": one.T, "z": one[:, 1:]}])
    found = thaw(frozen(tmp_path, FrozenModule({"test_a": FrozenTest(case, 1.0)})))
    first, second = found.tests["test_a"].case.expected
    assert all(torch.equal(own, one) for own in (first["x"], first["y"], second[""].T))
    assert torch.equal(second["z"], one[:, 1:])


def test_eleven_inputs_come_back_in_their_order(tmp_path):
    """Keys are sorted by their numbers, not as texts."""
    drawn = [torch.tensor([float(number)]) for number in range(12)]
    case = Case(None, drawn, [{"": one.clone()} for one in drawn])
    found = thaw(frozen(tmp_path, FrozenModule({"test_a": FrozenTest(case, 1.0)})))
    own = found.tests["test_a"].case
    assert [one.item() for one in own.drawn] == [*range(12)]
    assert [one[""].item() for one in own.expected] == [*range(12)]


def test_without_a_fixture_file_nothing_is_frozen(tmp_path):
    assert thaw(tmp_path / "no.safetensors") == FrozenModule({})


def test_only_files_that_were_frozen_are_removed(tmp_path):
    """An author's own tensors lie beside them."""
    file = frozen(tmp_path)
    folder = file.parent
    others = {"foreign": {}, "of_another": {"module": "[]"}, "older": {"module": "{}"}}
    for name, metadata in others.items():
        save_file({"x": torch.ones(1)}, folder / f"{name}.safetensors", metadata)
    (folder / "broken.safetensors").write_bytes(b"no tensors")
    (folder / "slips.json").write_text("{}")
    (folder / "notes.txt").write_text("own")
    remove_frozen(folder)
    left = {path.name for path in folder.iterdir()}
    assert left == {f"{name}.safetensors" for name in (*others, "broken")} | {"notes.txt"}
    remove_frozen(folder)


def test_a_few_numbers_of_an_answer_are_kept():
    """They are spread evenly, from the first to the last; a small answer repeats its own."""
    many = sample(torch.arange(1000).reshape(10, 100))
    assert (many.dtype, len(many), many[0].item(), many[-1].item()) == (
        torch.float64,
        SAMPLE,
        0.0,
        999.0,
    )
    assert bool((many.diff() > 30).all())
    assert sample(torch.tensor(5.0)).tolist() == [5.0] * SAMPLE
    assert sorted(set(sample(torch.tensor([1.0, 2.0])).tolist())) == [1.0, 2.0]
    assert sample(torch.zeros(0)).tolist() == [0.0] * SAMPLE


# --- Cases at home ------------------------------------------------------------------------------


def test_tests_at_home_use_frozen_cases_where_there_are_some(tmp_path):
    """Others are drawn from the seed of home if references can answer, and are empty if not."""
    frozen(tmp_path / "tests" / "public")
    own, other = "tests/public/test_x.py::test_a", "tests/public/test_x.py::test_new"
    for fresh in (False, True):
        cases = HomeCases(tmp_path, fresh)
        assert cases(own) is cases(own)
        assert [one.tolist() for one in cases(own).drawn] == [[0.0, 1.0, 2.0], [True]]
        assert (cases(other).generator is not None) is fresh
        assert (cases.points(own), cases.points(other)) == (1.25, 0.0)
        assert cases.module("tests/public/test_x.py") is cases.module("tests/public/test_x.py")
        assert cases.module("tests/public/test_z.py").tests == {}
    drawn = Draw(HomeCases(tmp_path, True)(other))(3)
    assert torch.equal(drawn, Draw(fresh_case(SEED, other))(3))


def test_the_points_of_a_folder_are_those_of_all_its_frozen_tests(tmp_path):
    """Other files there carry none."""
    file = frozen(tmp_path / "tests" / "public")
    more = FrozenModule({"test_b": FrozenTest(Case(None), 2.0)})
    freeze(file.with_name("test_z.safetensors"), more)
    save_file({"x": torch.ones(1)}, file.with_name("own.safetensors"))
    assert HomeCases(tmp_path, False).all_points("tests/public") == 3.25
    assert HomeCases(tmp_path, False).all_points("tests/hidden") == 0


def test_the_seed_of_a_test_is_a_number_that_nobody_guesses():
    """Forty-eight bits of a hash: the same on every machine."""
    assert seed_of(7, TEST) == seed_of(7, TEST) < 1 << 48
    assert seed_of(7, TEST) != seed_of(7, "other") != seed_of(70, "other")


def test_the_metadata_of_a_fixture_file_is_json(tmp_path):
    """Other programs may read the points."""
    with safe_open(frozen(tmp_path), "pt") as stored:
        metadata = json.loads(stored.metadata()["module"])
    assert metadata["points"] == {"test_a": 1.25, "test_a/b[1/2]": 0.0}
