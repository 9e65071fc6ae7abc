"""A worker's claims: uses, exceptions without this machine's paths, packages that are missing."""

from __future__ import annotations

import site
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from grader.core.assignment import find_assignment
from grader.core.verdict import Aspect, Status, Verdict, Visibility
from grader.core.wire.calls import MAX_USES, Operand, Raised, Use
from grader.sandbox.claims import Uses, redacted, with_what_was_not_run, without_places
from grader.sandbox.environment import Environment, in_words
from tests.harness.conftest import TINY, write_files

pytestmark = pytest.mark.unit

ALLOWED = "surely_not_installed"


@pytest.fixture
def root(tmp_path) -> Path:
    """The files of a submission."""
    return write_files(
        tmp_path / "root",
        {"adapters.py": "", "deep/helpers.py": "", "data.csv": "", "hw/model.tar.gz": ""},
    )


@pytest.fixture
def environment(tmp_path, root) -> Environment:
    """The environment of an assignment that allows one package, which is absent."""
    named = f'name = "tiny"\n        packages = ["{ALLOWED}"]'
    settings = TINY["pyproject.toml"].replace('name = "tiny"', named)
    own = {
        "pyproject.toml": settings,
        "adapters.py": f"from work import helpers\n{TINY['adapters.py']}",
        "course.py": "",
        "hidden/helpers.py": "",
        "work/__init__.py": "",
        "work/helpers.py": "",
    }
    folder = write_files(tmp_path / "tiny", TINY | own)
    return Environment(find_assignment(folder), root)


# --- Uses of forbidden names ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "is_kept"),
    [
        (Use("torch.add", "adapters.py", 3), True),
        (Use("torch.add", "deep/helpers.py", 3), True),
        (Use("torch.sub", "adapters.py", 3), False),
        (Use("torch.add", "absent.py", 3), False),
        (Use("torch.add", "deep", 3), False),
        (Use("torch.add", "deep/../adapters.py", 3), False),
        (Use("torch.add", "/etc/passwd", 3), False),
        (Use("torch.add", "adapters.py\0", 3), False),
        (Use("torch.add", "x" * 5000, 3), False),
    ],
)
def test_only_a_possible_use_is_kept(root, use, is_kept):
    """It is of a forbidden name, in a file of the submission."""
    uses = Uses(["torch.add"], root)
    uses.note_import([use])
    uses.note_call("run_double", [use])
    assert list(uses.at_import) == [use] * is_kept
    assert uses.called == ({"run_double": {use: None}} if is_kept else {})


def test_uses_are_bounded_and_each_counts_once(root):
    uses = Uses(["torch.add"], root)
    uses.note_call("run_double", [Use("torch.add", "adapters.py", 1)] * 2)
    uses.note_call("run_double", [Use("torch.add", "adapters.py", n) for n in range(2 * MAX_USES)])
    assert len(uses.called["run_double"]) == MAX_USES


# --- Exceptions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{root}/deep/helpers.py is bad", "deep/helpers.py is bad"),
        ("in {root}: no", "in .: no"),
        ("{scratch}/made.txt", "scratch/made.txt"),
        ("{scratch}", "scratch/"),
        ("{scratch}/submission/data.csv", "data.csv"),
        ("{packages}/torch/nn/x.py", "torch/nn/x.py"),
        ("{stdlib}/json/x.py", "json/x.py"),
        ("{home}/own.txt", "~/own.txt"),
        ("{engine}/grader/x.py", "grader/grader/x.py"),
        ("/etc/passwd", "/etc/passwd"),
        ("no path at all", "no path at all"),
    ],
)
def test_no_text_shows_this_machines_folders(tmp_path, root, monkeypatch, text, shown):
    """The longest folder is replaced first."""
    monkeypatch.setenv("HOME", "/home/of-nobody")
    engine = Path(__file__).parents[3]
    places = {
        "root": root,
        "scratch": tmp_path / "scratch",
        "packages": site.getsitepackages()[0],
        "stdlib": sysconfig.get_paths()["stdlib"],
        "home": Path.home(),
        "engine": engine,
    }
    assert without_places(text.format(**places), root, tmp_path / "scratch") == shown


def redact(root: Path, kind: str, message: str, **more: Any) -> Raised:
    return redacted(Raised(kind, message, **more), root, root.parent / "scratch")


@pytest.mark.parametrize(
    ("kind", "message", "says"),
    [
        ("PermissionError", "no", "starts no other program and no connection"),
        ("AccessDenied", "(pid=1)", "starts no other program and no connection"),
        ("OSError", "[Errno 30] Read-only file system: 'x'", "reads its own files"),
        ("OSError", "[Errno 1] Operation not permitted", "reads its own files"),
        ("ValueError", "no", ""),
        ("OSError", "Name or service not known", "there is no network"),
        ("HTTPError", "HTTPConnectionPool: Max retries exceeded", "there is no network"),
        ("PermissionError", "Network is unreachable", "reads its own files"),
    ],
)
def test_a_refusal_is_explained(root, kind, message, says):
    """A student knows neither the walls nor the missing network."""
    said = redact(root, kind, message).message
    assert said.startswith(message)
    assert says in said
    assert (said == message) is (says == "")


def test_all_texts_of_an_exception_lose_their_folders(root):
    operand = Operand("name", f"'{root}/data.csv'")
    raised = redact(root, "KeyError", f"{root}/x", operands=(operand,), printed=f"at {root}/y")
    assert (raised.kind, raised.message, raised.printed) == ("KeyError", "x", "at y")
    assert [one.words for one in raised.operands] == ["'data.csv'"]


@pytest.mark.parametrize(
    ("raised", "is_absence"),
    [
        (Raised("NameError", "x"), True),
        (Raised("FileNotFoundError", "x"), True),
        (Raised("KeyError", "x"), True),
        (Raised("ValueError", "x"), False),
        (Raised("NotImplementedError", "x", missing=True), True),
    ],
)
def test_skipped_commands_are_told_where_something_is_missing(raised, is_absence):
    """Three are shown, and the others counted."""
    assert with_what_was_not_run(raised, ()) == raised
    one = with_what_was_not_run(raised, ["!ls (cell 1)"]).not_run
    assert one == ("Not run while it is graded: !ls (cell 1)." if is_absence else "")
    three = with_what_was_not_run(raised, ["a", "b", "c"]).not_run
    five = with_what_was_not_run(raised, ["a", "b", "c", "d", "e"]).not_run
    if is_absence:
        assert three == "Not run while it is graded: a, b, c."
        assert five == "Not run while it is graded: a, b, c and 2 more."


# --- Missing packages ----------------------------------------------------------------------------


def lacks(name: str) -> Raised:
    return Raised("ModuleNotFoundError", f"No module named {name!r}", lacks=name)


@pytest.mark.parametrize(
    ("name", "is_missing"),
    [
        ("absent_one", True),
        (ALLOWED, True),
        ("torch", False),
        ("json", False),
        ("grader", False),
        ("course", False),
        ("solutions", False),
        ("helpers", False),
        ("deep", False),
        ("no name", False),
        ("x" * 60, True),
        ("x" * 61, False),
    ],
)
def test_a_package_is_missing_only_if_nobody_has_it(environment, name, is_missing):
    """The worker could claim any name."""
    assert environment.checked(lacks(name)).lacks == (name if is_missing else "")
    assert list(environment.lacking) == [name] * is_missing


def test_after_the_first_call_only_listed_packages_are_kept(environment):
    """Another name might tell the inputs of the call."""
    assert environment.checked(lacks("absent_one"), asked=True).lacks == "absent_one"
    environment.checked(lacks(ALLOWED), asked=True)
    assert list(environment.lacking) == [ALLOWED]
    for number in range(30):
        environment.checked(lacks(f"absent_{number}"))
    assert len(environment.lacking) == 20


def test_only_an_allowed_package_that_is_missing_is_the_machines_fault(environment):
    fault = environment.fault(lacks(ALLOWED))
    assert (fault.status, fault.message) == (Status.NOT_GRADED, in_words(ALLOWED))
    assert environment.fault(lacks("absent_one")) is None
    assert environment.fault(Raised("ValueError", "")) is None


def verdict(status: Status, message: str | None = None) -> Verdict:
    return Verdict("t", "run", Aspect.VALUES, status, 1.0, 1.0, Visibility.PUBLIC, 0.0, message)


ABSENT = verdict(Status.ERROR, "run raised ModuleNotFoundError")
OTHER = verdict(Status.ERROR, "run raised ValueError")
PASSED, MISSING = verdict(Status.PASSED), verdict(Status.MISSING)


@pytest.mark.parametrize(
    ("absent", "has_adapters", "tests", "is_nothing"),
    [
        (["absent_one"], True, [ABSENT, MISSING], True),
        (["absent_one"], True, [ABSENT, PASSED], False),
        (["course"], True, [ABSENT], True),
        (["absent_one"], True, [ABSENT, OTHER], False),
        (["absent_one"], True, [MISSING], False),
        (["absent_one"], False, [MISSING], True),
        (["torch"], True, [ABSENT], False),
        ([], False, [MISSING], False),
        (["absent_one"], True, [verdict(Status.ERROR)], False),
    ],
)
def test_absent_packages_leave_nothing_only_if_no_test_ran(
    environment, absent, has_adapters, tests, is_nothing
):
    """A submission without adapters may have intended to import them."""
    environment.note_absent(absent, has_adapters)
    assert environment.leaves_nothing_of(tests) is is_nothing


def test_the_absent_modules_are_named_in_pythons_words(environment):
    environment.note_absent(["absent_a", "torch", "absent_b", "absent_c", "absent_d"])
    assert environment.absence == (
        "ModuleNotFoundError: No module named 'absent_a' and 'absent_b' and 'absent_c': "
        "neither handed in nor installed"
    )


def test_a_cell_without_an_allowed_package_spares_all_but_passed_tests(environment):
    tests = (PASSED, OTHER)
    assert environment.spared(tests, [lacks("absent_one")]) == tests
    first, second = environment.spared(tests, [lacks("absent_one"), lacks(ALLOWED)])
    assert first == PASSED
    assert (second.status, second.message) == (Status.NOT_GRADED, in_words(ALLOWED))
