"""The table `[tool.grader]`: each key has its meaning, and a mistake in it is one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.core.assignment import Assignment, BadAssignment, NoAssignment, find_assignment
from grader.core.names import meant
from grader.core.verdict import Aspect

pytestmark = pytest.mark.unit

EXERCISES = "[tool.grader.exercises]\nrun_x = 4\n"


def assignment(folder: Path, table: str, exercises: str = EXERCISES) -> Assignment:
    """Returns the assignment of a table with one exercise."""
    text = f"[tool.grader]\n{table}\n{exercises}"
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return find_assignment(folder)


def test_a_table_of_points_alone_has_defaults(tmp_path: Path) -> None:
    """The folder gives the name, and most of the points belong to right values."""
    found = assignment(tmp_path, "")
    assert found == Assignment(
        root=tmp_path,
        name=tmp_path.name,
        points={"run_x": 4.0},
        aspects={
            Aspect.VALUES: 60.0,
            Aspect.GENERALITY: 15.0,
            Aspect.NUMERICS: 10.0,
            Aspect.GRADIENTS: 5.0,
            Aspect.DISCIPLINE: 5.0,
            Aspect.EFFICIENCY: 5.0,
        },
        call_timeout=10.0,
        forbidden={},
        carry_over=100.0,
    )
    assert found.public_tests == tmp_path / "tests/public"
    assert found.hidden_tests == tmp_path / "tests/hidden"
    assert found.solutions == tmp_path / "solutions"


def test_every_key_of_the_table_is_read(tmp_path: Path) -> None:
    """An unquoted dotted name is nested tables to TOML, and a name given twice counts once."""
    found = assignment(
        tmp_path,
        'name = "x"\naspects = {values = 80, numerics = 20.5}\ncall_timeout = 2.5\n'
        'packages = ["numpy", "pandas", "numpy"]\npreload = ["numpy.linalg"]\n'
        'system_calls = ["inotify_init1"]\nshow_edits = true\ncarry_over = 50\n'
        '[tool.grader.forbidden]\ntorch.nn.Linear = 100\n"torch.add" = 0\n',
    )
    assert found == Assignment(
        root=tmp_path,
        name="x",
        points={"run_x": 4.0},
        aspects={Aspect.VALUES: 80.0, Aspect.NUMERICS: 20.5},
        call_timeout=2.5,
        forbidden={"torch.nn.Linear": 100.0, "torch.add": 0.0},
        packages=("numpy", "pandas"),
        preload=("numpy.linalg",),
        system_calls=("inotify_init1",),
        show_edits=True,
        carry_over=50.0,
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("nmae = 1", "knows no 'nmae': did you mean name?"),
        ("aspects = {value = 1}", "aspects knows no 'value': did you mean values?"),
        ("aspects = {speed = 1}", "aspects knows no 'speed': there is values, generality, "),
        ("aspects = {values = true}", "aspects: values must be a number from 0 on, not True"),
        ("aspects = 3", "aspects must be a table of numbers"),
        ("call_timeout = -1", "call_timeout must be above 0, not -1"),
        ("call_timeout = 0", "call_timeout must be above 0, not 0"),
        ("call_timeout = inf", "call_timeout must be above 0, not inf"),
        ("call_timeout = '2'", "call_timeout must be above 0, not '2'"),
        ("packages = 'numpy'", 'packages must be a list of names, as ["numpy", "pandas"]'),
        ("packages = ['import']", "packages: 'import' is not such a name as"),
        ("packages = ['a b']", "packages: 'a b' is not such a name as"),
        ("packages = [3]", "packages: 3 is not such a name as"),
        ("packages = ['a.b']", "packages: write 'a' for 'a.b', the package"),
        ("packages = ['grader']", "packages: grader is out of a submission's reach"),
        ("preload = ['grader.core']", "preload: grader.core is out of a submission's reach"),
        ("system_calls = 'x'", "system_calls must be a list of names"),
        ("system_calls = ['a-b']", "system_calls: 'a-b' is not such a name as"),
        ("system_calls = [3]", "system_calls: 3 is not such a name as"),
        ("show_edits = 1", "show_edits must be true or false, not 1"),
        ("carry_over = 100.5", "carry_over must be 0 to 100 percent, not 100.5"),
        ("carry_over = -1", "[tool.grader] carry_over must be 0 to 100 percent, not -1"),
        ("forbidden = 3", "forbidden must be a table of dotted names"),
        ("forbidden = {f = 101}", "forbidden: f must cost 0 to 100 percent, not 101"),
        ("forbidden = {torch = {f = 101}}", "forbidden: torch.f must cost 0 to 100"),
        (
            "forbidden = {torch = {f = '1'}}",
            "forbidden: torch.f must cost 0 to 100 percent, not '1'",
        ),
        ("late = {percents = 1}", "[tool.grader.late] knows no 'percents': did you mean percent?"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_key(tmp_path: Path, table: str, said: str) -> None:
    """The author reads the sentence before anything is graded."""
    with pytest.raises(BadAssignment) as refused:
        assignment(tmp_path, table)
    assert said in str(refused.value)
    assert str(refused.value).startswith("[tool.grader")


@pytest.mark.parametrize(
    ("exercises", "said"),
    [
        ("", "lists no exercise: give each one its points"),
        ("exercises = 3", "exercises must be a table of numbers"),
        ("exercises = {run_x = 0.125}", "run_x must be worth whole hundredths of a point, as 0.12"),
        ("exercises = {run_x = nan}", "exercises: run_x must be a number from 0 on, not nan"),
        ("exercises = {run_x = 1e308}", "exercises: run_x must be a number from 0 on, not 1e+308"),
        (f"exercises = {{run_x = {'9' * 400}}}", "exercises: run_x must be a number from 0 on"),
    ],
)
def test_points_are_needed_for_each_exercise(tmp_path: Path, exercises: str, said: str) -> None:
    """An assignment without points grades nothing."""
    with pytest.raises(BadAssignment) as refused:
        assignment(tmp_path, "", exercises)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[tool.grader", "is not TOML"),
        (b"# \xff\n", "is not TOML"),
        (b"[tool]\ngrader = 3\n", "[tool.grader] must be a table, not 3"),
    ],
)
def test_a_file_that_holds_no_table_is_refused_by_its_path(
    tmp_path: Path, content: bytes, said: str
) -> None:
    """Python's own error would name neither the file nor the table."""
    file = tmp_path / "pyproject.toml"
    file.write_bytes(content)
    with pytest.raises(BadAssignment) as refused:
        find_assignment(tmp_path)
    assert str(file) in str(refused.value)
    assert said in str(refused.value)


def test_a_project_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A folder has the name of the file."""
    (tmp_path / "pyproject.toml").mkdir()
    with pytest.raises(BadAssignment, match=f"cannot be read: {os.strerror(21)}"):
        find_assignment(tmp_path)


def test_the_nearest_assignment_above_a_folder_is_found(tmp_path: Path) -> None:
    """Other projects on the way, and files in the place of folders, do not matter."""
    assignment(tmp_path, "name = 'outer'")
    inner = tmp_path / "course" / "inner"
    inner.mkdir(parents=True)
    assert find_assignment(inner).root == tmp_path
    (tmp_path / "course" / "pyproject.toml").write_text("tool = 3\n")
    (inner / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    (inner / "file").touch()
    assert find_assignment(inner / "file").name == "outer"
    assignment(inner, "name = 'inner'")
    assert find_assignment(inner / "none").name == "inner"


def test_a_folder_outside_of_any_assignment_is_refused() -> None:
    """The sentence says what to do."""
    with pytest.raises(NoAssignment, match=r"no pyproject\.toml with .* is in / or"):
        find_assignment(Path("/"))


def test_an_unknown_name_gets_a_question_or_a_list() -> None:
    """Names that are too many slips away are not asked about."""
    assert meant("pesron", ["text", "person"]) == "did you mean person?"
    assert meant("grade", ["text", "person"]) == "there is text, person"
