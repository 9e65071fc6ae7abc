"""What students get, and what they see in it."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.frozen_fixtures import differences

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def handout(grader, tmp_path_factory) -> Path:
    """The handout of the attention assignment."""
    folder = tmp_path_factory.mktemp("handout") / "attention"
    done = grader("handout", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def mine(handout, tmp_path) -> Path:
    """A student's own copy of it."""
    return Path(shutil.copytree(handout, tmp_path / "mine"))


@pytest.fixture(scope="module")
def pytest_in(home_pytest) -> Callable[..., str]:
    """All that `pytest` prints in a folder."""

    def run(folder: Path, *arguments: str) -> str:
        done = home_pytest(folder, *arguments)
        return done.stdout + done.stderr

    return run


def names_of_hidden_tests() -> set[str]:
    """The functions in tests/hidden that no public test is called like."""
    found = {
        part: set(re.findall(r"def (test_\w+)", "".join(f.read_text() for f in files)))
        for part in ("public", "hidden")
        for files in [(ROOT / "tests" / part).glob("*.py")]
    }
    return found["hidden"] - found["public"]


def test_the_handout_holds_no_solution_and_no_hidden_test(handout):
    """Not even a name of one."""
    parts = {path.relative_to(handout).parts[0] for path in handout.rglob("*")}
    assert parts == {
        ".github", "README.md", "adapters.py", "assignment", "constraints.txt", "grader",
        "pyproject.toml", "tests",
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
    for file in handout.rglob("*"):
        if file.is_file():
            content = file.read_bytes().decode("utf-8", errors="replace")
            assert not [text for text in secret if text in content], file
            assert not name_of_one.search(content), file


def test_an_untouched_handout_is_not_implemented_yet_without_a_traceback(mine, pytest_in):
    """One quiet line per exercise, and the command works at once."""
    printed = pytest_in(mine)
    assert printed.count("not implemented yet") == 15
    assert printed.index("run_softmax ") < printed.index("run_rope "), "easy ones first"
    assert "Traceback" not in printed
    assert "Error" not in printed


def test_right_code_passes_on_the_frozen_fixture_tensors(mine, pytest_in):
    """The expected values were made from the references, which are not there."""
    shutil.copytree(ROOT / "solutions", mine / "assignment" / "model_answers")
    for part in ("warmup", "attention", "positions"):
        stubs = mine / "assignment" / f"{part}.py"
        names = re.findall(r"^def (\w+)", stubs.read_text(), re.MULTILINE)
        imports = [f"from .model_answers import run_{name} as {name}\n" for name in names]
        stubs.write_text("".join(imports))
    printed = pytest_in(mine)
    assert "failed" not in printed
    assert re.search(r"run_rope +(\d+) of \1 passed", printed)


def test_a_failure_reads_as_a_short_paragraph(mine, pytest_in):
    """What the test is about and what was wrong; no page of traceback."""
    stub = mine / "assignment" / "warmup.py"
    text = stub.read_text()
    stub.write_text(
        re.sub(r"raise NotImplementedError\(\"softmax.*\"\)", "return in_features.exp()", text)
    )
    assert stub.read_text() != text
    printed = pytest_in(mine, "-k", "softmax")
    assert "numbers in the result are wrong" in printed
    assert "Traceback" not in printed
    assert "def test_" not in printed


def test_an_import_that_fails_says_what_and_where(mine, pytest_in):
    """A syntax error is one sentence, for every test the same."""
    (mine / "assignment" / "warmup.py").write_text("def softmax(:\n")
    printed = pytest_in(mine, "-k", "softmax")
    assert "SyntaxError" in printed
    assert "assignment/warmup.py, line 1" in printed
    assert "importlib" not in printed


def test_home_and_class_give_the_same_verdicts(mine, grader, pytest_in):
    """A pass at home is a pass in class, test by test, for code that is right only in part."""
    shutil.copytree(ROOT / "examples" / "class" / "hugo-martin", mine, dirs_exist_ok=True)
    printed = pytest_in(mine, "-rA", "-q")
    line = re.compile(r"^(PASSED|FAILED) (tests/public/\S+\.py::.+?)(?: - .*)?$", re.MULTILINE)
    at_home = {test: outcome for outcome, test in line.findall(printed)}
    done = grader("run", ROOT / "examples" / "class" / "hugo-martin", "--format", "json")
    in_class = {
        test["id"]: "PASSED" if test["status"] == "passed" else "FAILED"
        for test in json.loads(done.stdout)["tests"]
        if test["visibility"] == "public"
    }
    assert at_home == in_class


def test_the_committed_fixtures_are_those_that_the_references_make(handout):
    """`grader freeze` was run after the last change of a public test, reference or mistake."""
    committed = ROOT / "tests" / "public" / "fixtures"
    assert differences(handout / "tests" / "public" / "fixtures", committed) == []


def test_a_handout_never_overwrites_what_is_there(grader, tmp_path):
    """A folder with something in it is refused."""
    (tmp_path / "mine.txt").write_text("precious")
    done = grader("handout", tmp_path)
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_students_hear_of_what_is_to_be_written_by_hand(mine, pytest_in):
    """Once for an exercise, below the table of the tests that they ran."""
    by_torch = "torch.nn.functional.scaled_dot_product_attention"
    call = f"    return {by_torch}(Q, K, V, attn_mask=mask)"
    written = f"\n\ndef scaled_dot_product_attention(Q, K, V, mask=None):\n{call}\n"
    attention = mine / "assignment" / "attention.py"
    attention.write_text(f"{attention.read_text()}\nimport torch.nn.functional\n{written}")
    printed = pytest_in(mine, "-q", "tests/public/test_scaled_dot_product_attention.py")
    line = attention.read_text().splitlines().index(call) + 1
    assert (
        f"note on run_scaled_dot_product_attention: calls {by_torch} "
        f"(assignment/attention.py, line {line}), which this assignment wants written by hand"
    ) in printed
    assert printed.count(f"calls {by_torch} ") == 1
