"""The handout: its files, and the output that students see."""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from zipfile import ZipFile

import pytest
import torch
from safetensors.torch import save_file

from grader.authoring.handout.fixture_differences import differences
from grader.authoring.handout.folder import _lines
from grader.authoring.handout.freezing import freeze_public_tests, outdated_fixtures
from grader.authoring.handout.installing import Platform, section
from grader.core.assignment import BadAssignment, find_assignment
from grader.explain.mistakes.mistakes import load_mistakes
from grader.testing.cases import FrozenModule, freeze, remove_frozen, thaw
from grader.testing.suite import Suite
from tests.harness.conftest import TINY, write_files
from tests.harness.opened_suites import opened
from tests.harness.own_course import imported_alone

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def handout(attention_handout, tmp_path_factory) -> Path:
    """The handout of the attention assignment."""
    folder = tmp_path_factory.mktemp("handout") / "attention"
    return Path(shutil.copytree(attention_handout, folder))


@pytest.fixture
def mine(handout, tmp_path) -> Path:
    """A student's own copy of the handout."""
    return Path(shutil.copytree(handout, tmp_path / "mine"))


@pytest.fixture(scope="module")
def pytest_in(home_pytest) -> Callable[..., str]:
    """A function that runs `pytest` in a folder and returns its output."""

    def run(folder: Path, *arguments: str) -> str:
        done = home_pytest(folder, *arguments)
        return done.stdout + done.stderr

    return run


def names_of_hidden_tests() -> set[str]:
    """Returns the functions in tests/hidden whose names no public test has."""
    found = {
        part: set(re.findall(r"def (test_\w+)", "".join(f.read_text() for f in files)))
        for part in ("public", "hidden")
        for files in [(ROOT / "tests" / part).glob("*.py")]
    }
    return found["hidden"] - found["public"]


def texts_in(handout: Path) -> Iterator[tuple[str, str]]:
    """Yields the name and text of every file in the handout and in its wheel."""
    for file in handout.rglob("*"):
        if file.suffix == ".whl":
            with ZipFile(file) as wheel:
                for name in wheel.namelist():
                    yield name, wheel.read(name).decode("utf-8", errors="replace")
        elif file.is_file():
            yield str(file), file.read_bytes().decode("utf-8", errors="replace")


def test_the_handout_holds_no_solution_and_no_hidden_test(handout):
    """The handout does not even have a hidden test's name."""
    (wheel,) = handout.glob("*.whl")
    assert {path.name for path in handout.iterdir()} == {
        ".github", ".gitignore", "README.md", "adapters.py", "assignment", "conftest.py",
        "constraints.txt", "environment.yml", wheel.name, "pyproject.toml", "requirements.txt",
        "tests",
    }  # fmt: skip
    assert not (handout / "tests" / "hidden").exists()
    solutions = {
        line.strip()
        for file in (ROOT / "solutions").rglob("*.py")
        for line in file.read_text().splitlines()
        if len(line.strip()) > 40
        and not line.strip().startswith(("#", '"', "from", "import", "def"))
    }
    stubs = "".join(file.read_text() for file in (ROOT / "assignment").glob("*.py"))
    secret = [line for line in solutions if line not in stubs]
    name_of_one = re.compile(rf"\b({'|'.join(names_of_hidden_tests())})\b(?!\.)")
    for name, content in texts_in(handout):
        assert not [text for text in secret if text in content], name
        assert not name_of_one.search(content), name


def test_an_untouched_handout_reports_missing_exercises_without_a_traceback(mine, pytest_in):
    """The command works at once and prints one quiet line per exercise."""
    printed = pytest_in(mine)
    assert printed.count("not implemented yet") == 15
    assert printed.index("run_softmax ") < printed.index("run_rope "), "easy ones first"
    assert "Traceback" not in printed
    assert "Error" not in printed


def test_right_code_passes_on_the_frozen_fixture_tensors(mine, pytest_in):
    """The expected values come from the references, which are not in the handout."""
    shutil.copytree(ROOT / "solutions", mine / "assignment" / "model_answers")
    for part in ("warmup", "attention", "positions"):
        stubs = mine / "assignment" / f"{part}.py"
        names = re.findall(r"^def (\w+)", stubs.read_text(), re.MULTILINE)
        imports = [f"from .model_answers import run_{name} as {name}\n" for name in names]
        stubs.write_text("".join(imports))
    printed = pytest_in(mine)
    assert "failed" not in printed
    assert re.search(r"run_rope +(\d+) of \1 passed", printed)


def test_a_failure_is_reported_without_a_traceback(mine, pytest_in):
    """The paragraph says what the test is about and what was wrong, without a traceback."""
    stub = mine / "assignment" / "warmup.py"
    text = stub.read_text()
    stub.write_text(
        re.sub(r"raise NotImplementedError\(\"softmax.*\"\)", "return in_features.exp()", text)
    )
    assert stub.read_text() != text
    printed = pytest_in(mine, "-k", "softmax")
    assert "values in the result are wrong" in printed
    assert "Traceback" not in printed
    assert "def test_" not in printed


def test_a_failed_import_names_the_error_and_its_line(mine, pytest_in):
    """A syntax error is one sentence, the same for every test."""
    (mine / "assignment" / "warmup.py").write_text("def softmax(:\n")
    printed = pytest_in(mine, "-k", "softmax")
    assert "SyntaxError" in printed
    assert "assignment/warmup.py:1" in printed
    assert "importlib" not in printed


@pytest.mark.slow
def test_home_and_class_give_the_same_verdicts(mine, grader, pytest_in):
    """Code that is only partly right passes the same tests at home and in class."""
    shutil.copytree(ROOT / "examples" / "class" / "hugo-martin", mine, dirs_exist_ok=True)
    printed = pytest_in(mine, "-v")
    line = re.compile(r"^(tests/public/\S+\.py::.+) (PASSED|FAILED)", re.MULTILINE)
    at_home = dict(line.findall(printed))
    done = grader("run", ROOT / "examples" / "class" / "hugo-martin", "--format", "json")
    in_class = {
        test["id"]: "PASSED" if test["status"] == "passed" else "FAILED"
        for test in json.loads(done.stdout)["tests"]
        if test["visibility"] == "public"
    }
    assert at_home == in_class


def test_the_committed_fixtures_are_up_to_date(handout):
    """An author runs `grader freeze` after each change of a public test, reference or mistake."""
    committed = ROOT / "tests" / "public" / "fixtures"
    assert differences(handout / "tests" / "public" / "fixtures", committed) == []


@pytest.mark.unit
def test_the_fixtures_of_the_language_model_know_the_mistakes_of_today():
    """Freezing the whole course takes a minute; the mistakes and their words are quickly read."""
    course = ROOT / "examples" / "language_model"
    frozen = [thaw(file) for file in (course / "tests/public/fixtures").glob("*.safetensors")]

    def check(suite: Suite) -> int:
        mistakes = load_mistakes(course, suite.references)
        for module in frozen:
            for exercise, rows in module.mistakes.items():
                known = ("", *mistakes.names_in(exercise))
                assert rows == [name for name in known for _ in mistakes.variants(name, exercise)]
            for name, told in module.diagnoses.items():
                assert told == mistakes.diagnosis(name)
        return len(frozen)

    assert opened(course, check) > 20


@pytest.mark.unit
def test_the_tables_of_a_handout_have_every_name_and_all_digits():
    """TOML takes accents and dots in quotes only; without, pytest would not start."""
    numbers = {"run_double": 12345.67, "run_größe": 2.0, "torch.nn.Linear": 50.0}
    assert tomllib.loads(_lines(numbers)) == numbers


@pytest.mark.unit
def test_only_frozen_files_are_removed(tmp_path):
    """An author's own tensors stay, and so does a file that holds no tensors."""
    freeze(tmp_path / "test_old.safetensors", FrozenModule({}))
    save_file({"weights": torch.ones(2)}, tmp_path / "weights.safetensors")
    save_file({"x": torch.ones(2)}, tmp_path / "own.safetensors", metadata={"module": "[1]"})
    (tmp_path / "notes.safetensors").write_text("none")
    remove_frozen(tmp_path)
    left = sorted(path.stem for path in tmp_path.iterdir())
    assert left == ["notes", "own", "weights"]


def test_handout_refuses_a_folder_that_is_not_empty(grader, tmp_path):
    """The command refuses a folder that is not empty."""
    (tmp_path / "mine.txt").write_text("precious")
    done = grader("handout", tmp_path)
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_forbidden_function_is_noted_once_at_home(mine, pytest_in):
    """The note appears once per exercise, below the table of tests."""
    by_torch = "torch.nn.functional.scaled_dot_product_attention"
    call = f"    return {by_torch}(Q, K, V, attn_mask=mask)"
    written = f"\n\ndef scaled_dot_product_attention(Q, K, V, mask=None):\n{call}\n"
    attention = mine / "assignment" / "attention.py"
    attention.write_text(f"{attention.read_text()}\nimport torch.nn.functional\n{written}")
    printed = pytest_in(mine, "-q", "tests/public/test_scaled_dot_product_attention.py")
    line = attention.read_text().splitlines().index(call) + 1
    assert (
        f"Note on run_scaled_dot_product_attention: uses {by_torch} "
        f"(assignment/attention.py:{line}), which must be written by hand in this assignment"
    ) in printed
    assert printed.count(f"uses {by_torch} ") == 1


def test_a_handout_has_at_most_sixty_files(handout):
    """The whole engine, which students do not read, is a single file."""
    assert len([path for path in handout.rglob("*") if path.is_file()]) <= 60


def test_every_folder_of_a_handout_has_the_mode_of_the_umask(handout):
    """Folders that come from a private folder get the same mode as the rest."""
    folders = {path.relative_to(handout): path for path in handout.rglob("*") if path.is_dir()}
    assert {oct(path.stat().st_mode & 0o777) for path in folders.values()} == {
        oct(handout.stat().st_mode & 0o777)
    }


def test_an_untouched_handout_names_the_first_exercise(mine, pytest_in):
    """The first run ends with the first exercise: its file, its line and its tests."""
    stub = (mine / "assignment" / "warmup.py").read_text().splitlines()
    line = next(number for number, text in enumerate(stub, 1) if "NotImplementedError" in text)
    *_, place, command, _ = pytest_in(mine).splitlines()
    assert place == (
        f"Nothing is written yet. Start with run_softmax (assignment/warmup.py:{line})."
    )
    assert command.endswith("then run `pytest tests/public/test_softmax.py`.")


def test_a_run_without_failures_names_the_next_exercise(mine, pytest_in):
    """A run with a failure names no next exercise."""
    warmup = mine / "assignment" / "warmup.py"
    begun = warmup.read_text()
    right = begun.replace(
        'raise NotImplementedError("softmax is not written yet")', "return in_features.softmax(dim)"
    )
    assert right != begun
    warmup.write_text(right)
    first = [f"tests/public/test_{name}.py" for name in ("softmax", "simple_self_attention")]
    printed = pytest_in(mine, *first)
    assert "Next: run_simple_self_attention (assignment/warmup.py" in printed
    warmup.write_text(right.replace("softmax(dim)", "softmax(0)"))
    assert "Next:" not in pytest_in(mine, "tests/public/test_softmax.py")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("platform", "button"),
    [
        ("canvas", "*Submit Assignment*"),
        ("moodle", "*Save changes*"),
        ("gradescope", "*Submit Programming Assignment*"),
        ("github", "git push"),
    ],
)
def test_the_readme_explains_handing_in_on_the_chosen_platform(platform, button):
    """The text names the files, and no other platform."""
    text = section(Platform(platform))
    assert "`adapters.py` and the folder `assignment/`" in text
    assert button in text
    others = {"Canvas", "Moodle", "Gradescope"} - {platform.capitalize()}
    assert not [name for name in others if name in text]


def test_an_unknown_platform_is_refused_with_the_list_of_known_ones(grader, tmp_path):
    """The refusal comes before any writing."""
    done = grader("handout", tmp_path / "new", "--platform", "blackboard")
    assert done.returncode == 2
    assert "'canvas', 'github', 'gradescope', 'moodle'" in done.stderr
    assert not (tmp_path / "new").exists()


def test_git_tracks_the_handout_and_ignores_files_of_tools(mine):
    """Students commit with `git add .`"""
    expected = {str(path.relative_to(mine)) for path in mine.rglob("*") if path.is_file()}
    for left in (".venv/bin/python", "assignment/__pycache__/warmup.pyc", ".pytest_cache/v/x"):
        (mine / left).parent.mkdir(parents=True, exist_ok=True)
        (mine / left).write_text("")
    subprocess.run(["git", "init", "--quiet", mine], check=True)
    listed = ["git", "-C", mine, "ls-files", "--others", "--exclude-standard"]
    done = subprocess.run(listed, capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == expected


FREEZING = {
    "tests/hidden/test_wrong.py": """
        from grader.testing import exercise

        @exercise("run_count")
        def test_wrong(student, draw):
            '''The test itself is wrong.'''
            student(draw(1)) / 0
        """,
    "solutions/slips.toml": """
        [[slip]]
        subject = "a factor"
        before = "3 * $x"
        after = "2 * $x"
        example = ["return 3 * y", "return 2 * y"]
        """,
}


@pytest.mark.process(takes="a second")
def test_freezing_returns_the_fixtures_of_each_public_module(tmp_path):
    """A hidden test in which the reference fails does not matter; old fixtures are replaced."""
    root = write_files(tmp_path / "course", TINY | FREEZING)
    fixtures = root / "tests" / "public" / "fixtures"
    freeze(fixtures / "test_old.safetensors", FrozenModule({}))
    assignment = find_assignment(root)
    with imported_alone():
        written = freeze_public_tests(assignment, assignment.public_tests)
    assert sorted(written) == sorted(fixtures.iterdir())
    assert [file.suffix for file in written] == [".json", ".safetensors"]


@pytest.mark.process(takes="a second")
def test_a_public_test_that_the_reference_fails_stops_the_freezing(tmp_path):
    """No student could pass it."""
    wrong = FREEZING["tests/hidden/test_wrong.py"]
    root = write_files(tmp_path / "course", TINY | {"tests/public/test_wrong.py": wrong})
    assignment = find_assignment(root)
    with imported_alone(), pytest.raises(BadAssignment, match=r"the reference fails .*test_wrong"):
        freeze_public_tests(assignment, assignment.public_tests)
    assert not (root / "tests" / "public" / "fixtures").exists()


@pytest.mark.process(takes="a second")
def test_fixtures_are_outdated_if_freezing_would_change_them(tmp_path):
    """Old files of modules that are gone count too; an assignment without fixtures has none."""
    root = write_files(tmp_path / "course", TINY | FREEZING)
    assignment = find_assignment(root)
    fixtures = assignment.public_tests / "fixtures"
    outdated = partial(Suite(assignment).open, outdated_fixtures)
    with imported_alone():
        assert outdated() == []
        _, file = freeze_public_tests(assignment, assignment.public_tests)
        assert outdated() == []
        freeze(fixtures / "test_old.safetensors", FrozenModule({}))
        (fixtures / "slips.json").write_text("[]")
        save_file({"x": torch.ones(1)}, fixtures / "own.safetensors")
        (fixtures / "README.md").write_text("The author's own.")
        frozen = thaw(file)
        case = next(iter(frozen.tests.values())).case
        case.drawn[0] += 1
        freeze(file, frozen)
        assert outdated() == [
            "slips.json: text",
            "test_old.safetensors: the file is left over",
            f"{file.name}: ['{next(iter(frozen.tests))}']['drawn'][0]",
        ]
        file.write_bytes(file.read_bytes()[:-1])
        assert outdated()[2:] == [f"{file.name}: the file is damaged"]
        (fixtures / "test_old.safetensors").unlink()
        assert outdated()[1:] == [f"{file.name}: the file is damaged"]
