"""Wrong answers without a known mistake are grouped by their values, and can be named."""

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from grader.cli.api import batch as grade_class
from grader.core.explanation import WrongAnswer, WrongAnswers
from grader.explain.mistakes.clusters import clusters_of
from grader.explain.mistakes.named_mistakes import BadNames, read_names
from grader.results.store import Store
from tests.harness.conftest import ROOT, TINY, write_files

pytestmark = pytest.mark.process

COUNT = "def run_count(x): return x.numel()\n"
CLASS = {
    # One mistake without a name, written in three ways with other words and sums in another order.
    "anna": f"def run_double(x):\n    return 2.5 * x\n{COUNT}",
    "bert": f"def run_double(x):\n    twice = x + x\n    return twice * 1.25\n{COUNT}",
    "cleo": f"def run_double(x):\n    return x / 3 + x / 3 + x / 3 + 1.5 * x\n{COUNT}",
    "dora": f"def run_double(x):\n    return x * x\n{COUNT}",
    "emil": f"def run_double(x):\n    return 3 * x\n{COUNT}",
    "fred": f"def run_double(x):\n    return 2 * x\n{COUNT}",
}
SENTENCE, HINT = "You take half of every number too much.", "How much is twice a half?"


@pytest.fixture
def graded(untouched, tmp_path) -> Path:
    """The results of a small class, three of whose submissions answer alike."""
    return Path(shutil.copytree(untouched, tmp_path / "graded"))


@pytest.fixture(scope="module")
def untouched(tmp_path_factory) -> Path:
    """The same results, for tests that name no group."""
    return grade_in(tmp_path_factory.mktemp("untouched"))


@pytest.fixture(scope="module")
def named(untouched, tmp_path_factory, grader) -> Path:
    """The same results with one named group, for tests that change the file of names."""
    folder = Path(shutil.copytree(untouched, tmp_path_factory.mktemp("named") / "graded"))
    group, *_ = groups(folder)
    saying = ("--sentence", SENTENCE, "--hint", HINT)
    grader("mistakes", str(folder / "out"), "name", group, "half", *saying)
    return folder


def grade_in(folder: Path) -> Path:
    """Grades the class in an empty folder."""
    write_files(folder / "course", TINY)
    for name, program in CLASS.items():
        write_files(folder / "class" / name, {"adapters.py": program})
    batch(folder)
    return folder


def batch(folder: Path) -> None:
    """Grades the class, or only its new submissions."""
    grade_class(folder / "class", folder / "out", assignment=folder / "course", jobs=1)


def groups(folder: Path) -> dict[str, list[str]]:
    """Returns the members of each group, by the group's id."""
    return {one.id: one.members for one in clusters_of(Store.read(folder / "out").wrong_answers())}


def named_mistakes(folder: Path) -> dict[str, set[str]]:
    """Returns the mistakes that `results.jsonl` names for each submission."""
    lines = (folder / "out" / "results.jsonl").read_text().splitlines()
    return {
        row["submission"]: {t["diagnosis"]["mistake"] for t in row["tests"] if t["diagnosis"]}
        for row in map(json.loads, lines)
    }


def test_submissions_with_equal_answers_form_a_group_whatever_their_code(untouched):
    """All others stay apart: emil's mistake has a name, fred is right, dora is alone."""
    assert [*groups(untouched).values()] == [["anna", "bert", "cleo"], ["dora"]]


def test_mistakes_lists_each_group_with_its_smallest_case(untouched, grader):
    """The group is listed with a suspected cause."""
    done = grader("mistakes", str(untouched / "out"))
    assert done.returncode == 0, done.stderr
    first, who, tests, case, *_ = done.stdout.splitlines()
    assert "3 submissions answer alike in run_double: " in first
    assert first.endswith("?")
    assert who.split() == ["who:", "anna,", "bert,", "cleo"]
    assert "test_doubles" in tests
    assert "for x: float32[4] the answer is a tensor of shape [4]: " in case


def test_a_named_group_counts_as_a_known_mistake_at_once(graded, grader):
    """Result lines and exports show it, and so do later submissions with the same answers."""
    out, (group, *_) = str(graded / "out"), groups(graded)
    saying = ("--sentence", SENTENCE, "--hint", HINT)
    done = grader("mistakes", out, "name", group, "half-too-much", *saying)
    assert done.returncode == 0, done.stderr
    named = {"anna", "bert", "cleo"}
    assert {
        name for name, found in named_mistakes(graded).items() if "half-too-much" in found
    } == named
    (anna,) = Store.read(graded / "out").grades_of(["anna"])
    diagnoses = {test.diagnosis for test in anna.tests if test.diagnosis}
    assert [(one.explanation, one.hint) for one in diagnoses] == [(SENTENCE, HINT)]
    write_files(graded / "class" / "gina", {"adapters.py": CLASS["cleo"]})
    batch(graded)
    assert named_mistakes(graded)["gina"] == {"half-too-much"}
    assert named_mistakes(graded)["emil"] == {"tripled"}


def test_names_of_groups_can_be_edited_in_their_file(graded, grader):
    """A name that is removed there is no longer shown. Scores never change."""
    out, (group, *_) = graded / "out", groups(graded)
    before = [one.score for one in Store.read(out).grades()]
    grader("mistakes", str(out), "name", group, "half", "--sentence", SENTENCE, "--hint", HINT)
    file = out / "mistakes.toml"
    file.write_text(file.read_text().replace(SENTENCE, "Half is too much."))
    assert grader("mistakes", str(out)).returncode == 0
    (anna,) = Store.read(out).grades_of(["anna"])
    assert {t.diagnosis.explanation for t in anna.tests if t.diagnosis} == {"Half is too much."}
    file.unlink()
    grader("mistakes", str(out))
    assert named_mistakes(graded)["anna"] == set()
    assert [one.score for one in Store.read(out).grades()] == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("hint =", "hnit ="), "toml, mistake 1: a mistake has no 'hnit'"),
        (
            lambda text: text.replace('id = "half"', 'id = "Half!"'),
            "toml, mistake 1: 'Half!' is not an id",
        ),
        (lambda text: text.replace("[[mistake]]", "[[mistake"), "is not TOML"),
        (
            lambda text: text.replace("numbers = [", 'numbers = ["x", '),
            "toml, mistake 1: an answer of this",
        ),
        (lambda text: text + text.partition("\n\n")[2], "'half' is there twice for run_double"),
    ],
)
def test_a_damaged_names_file_is_refused_with_its_place(named, grader, change, said):
    """A slip in the file must not give a student another one's mistake."""
    out, file = named / "out", named / "out" / "mistakes.toml"
    right = file.read_text()
    try:
        file.write_text(change(right))
        with pytest.raises(BadNames, match=said):
            read_names(out)
        done = grader("mistakes", str(out))
    finally:
        file.write_text(right)
    assert (done.returncode, said in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("zzz", "half"), "no group has the id 'zzz'"),
        (("", "half"), "several groups have the id ''"),
    ],
)
def test_naming_a_group_needs_a_unique_id(untouched, grader, arguments, said):
    """The beginning of the id is enough where it is unique."""
    saying = ("--sentence", SENTENCE, "--hint", HINT)
    done = grader("mistakes", str(untouched / "out"), "name", *arguments, *saying)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_named_mistake_can_be_added_to_the_assignment(graded, grader):
    """The command writes a stub, and a test from the class's answers.

    `verify` passes once the stub is right.
    """
    out, (group, *_), course = str(graded / "out"), groups(graded), graded / "course"
    saying = ("--sentence", SENTENCE, "--hint", HINT)
    grader("mistakes", out, "name", group, "half-too-much", *saying)
    there = ("--assignment", str(course))
    done = grader("mistakes", out, "add", "half-too-much", *there)
    assert done.returncode == 0, done.stderr
    seen = tomllib.loads((course / "solutions" / "seen" / "half-too-much.toml").read_text())
    assert seen["mistake"][0]["sentence"] == SENTENCE
    assert (course / "solutions" / "seen" / "half_too_much.py").exists()
    wanted = "half-too-much does not answer in run_double as"
    assert wanted in grader("verify", *there).stdout
    mistakes = course / "solutions" / "mistakes.py"
    stub = 'Mistake("half-too-much", "a.", "b?", {"run_double": (lambda x: 2.5 * x,)}),'
    mistakes.write_text(mistakes.read_text().replace("MISTAKES = (", f"MISTAKES = ({stub}", 1))
    assert wanted not in grader("verify", *there).stdout


def answer(*numbers: float, test: str = "t", plain: bool = True) -> WrongAnswer:
    """Returns an answer to the first call of a test."""
    return WrongAnswer(test, 0, plain, (len(numbers),), numbers, (1.3e-6, 1e-5), "x", 1)


@pytest.mark.unit
def test_rounding_does_not_split_a_group():
    """Answers are compared within their tolerance. A grid would split values at its edges."""
    alike = [answer(0.5 + noise, 1e4 + 1e4 * noise) for noise in (0.0, 4e-7, -4e-7, 9e-7)]
    wrong = {str(one): [WrongAnswers("run", (own,))] for one, own in enumerate(alike)}
    wrong["far"] = [WrongAnswers("run", (answer(0.51, 1e4),))]
    assert [one.members for one in clusters_of(wrong)] == [["0", "1", "2", "3"], ["far"]]


@pytest.mark.unit
def test_an_exception_on_an_unusual_shape_does_not_split_a_group():
    """An exception on an unusual shape does not count: the other answers decide."""
    plain, deep = answer(1.0, 2.0), answer(3.0, test="deep", plain=False)
    one, other = WrongAnswers("run", (plain, deep)), WrongAnswers("run", (plain,))
    unlike = WrongAnswers("run", (plain, replace(deep, numbers=(4.0,))))
    wrong = {"a": [one], "b": [other], "c": [unlike]}
    assert [group.members for group in clusters_of(wrong)] == [["a", "b"], ["c"]]


@pytest.mark.unit
def test_a_fixed_test_does_not_split_a_group():
    """Submissions graded before and after the fix had different inputs. That test is ignored."""
    plain, fixed = answer(1.0, 2.0), answer(3.0, test="fixed")
    before = WrongAnswers("run", (plain, fixed))
    after = WrongAnswers("run", (plain, replace(fixed, numbers=(4.0, 5.0), inputs="y")))
    unlike = WrongAnswers("run", (plain, replace(fixed, numbers=(4.0,))))
    wrong = {"a": [before], "b": [after], "c": [unlike]}
    assert [group.members for group in clusters_of(wrong)] == [["a", "b"], ["c"]]


def test_stored_answers_do_not_depend_on_the_graded_draw(tmp_path):
    """Two batches with two seeds keep the same answers, those to the inputs that students have."""
    write_files(tmp_path / "course", TINY)
    write_files(tmp_path / "class" / "anna", {"adapters.py": CLASS["anna"]})
    kept = []
    for seed in (1, 2):
        out = tmp_path / f"out{seed}"
        course = tmp_path / "course"
        grade_class(tmp_path / "class", out, assignment=course, jobs=1, seed=seed)
        kept.append(Store.read(out).wrong_answers())
    assert kept[0]["anna"]
    assert kept[0] == kept[1]


@pytest.mark.unit
def test_the_root_assignment_has_no_seen_answers():
    """`verify` would compare the answers in that folder with the variants of the mistakes."""
    assert not (ROOT / "solutions" / "seen").exists()
