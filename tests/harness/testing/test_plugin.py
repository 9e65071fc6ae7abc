"""The plugin of an assignment's tests: its options, marks and fixtures."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import grader.home.plugin
from grader.testing import hiding_file, not_installed, plugin
from grader.testing.cases import Case, Draw
from grader.testing.exercise import exercise

pytestmark = pytest.mark.unit


def test_students_have_two_options():
    parser = pytest.Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    given = parser.parse_known_args(["--call-timeout", "2.5", "--locate"])
    assert (given.call_timeout, given.locate) == (2.5, True)
    without = parser.parse_known_args([])
    assert (without.call_timeout, without.locate) == (None, False)


class Config:
    """A configuration of pytest, as far as the plugin needs it."""

    def __init__(self, **stash: Any) -> None:
        self.stash = stash
        self.lines: list[tuple[str, str]] = []
        self.registered: list[Any] = []
        self.pluginmanager = SimpleNamespace(register=self.registered.append)

    def addinivalue_line(self, name: str, line: str) -> None:
        self.lines.append((name, line))


def test_without_a_judge_the_bench_is_at_home(monkeypatch):
    """With one, nothing of home is loaded."""
    config = Config()
    plugin.pytest_configure(config)
    assert [(name, line.partition("(")[0]) for name, line in config.lines] == [
        ("markers", "exercise"),
        ("markers", "aspect"),
    ]
    assert config.registered == [grader.home.plugin]
    judged = Config()
    judged.stash = {plugin.BENCH: "a judge's"}
    plugin.pytest_configure(judged)
    assert judged.registered == []

    def absent(_: str) -> None:
        raise ModuleNotFoundError("No module named 'rich'", name="rich")

    monkeypatch.setattr(plugin.importlib, "import_module", absent)
    with pytest.raises(pytest.UsageError, match="rich is not installed for this Python"):
        plugin.pytest_configure(Config())


def test_advice_for_another_python_names_both():
    said = not_installed(ModuleNotFoundError("No module", name="torch"))
    assert said.startswith(f"torch is not installed for this Python, {sys.executable}: run the ")


def test_a_file_with_the_name_of_torch_is_named(monkeypatch):
    """Otherwise the engine's traceback says that torch has no attribute `bool`."""
    assert hiding_file() == ""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(__file__="/mine/torch.py"))
    said = "your file /mine/torch.py hides the package torch: give it another name"
    assert hiding_file() == said


class Bench:
    """A bench that notes what handles are made for."""

    def __init__(self) -> None:
        self.case = Case(None, [], [{"": 1}])
        self.asked: list[Any] = []

    def case_of(self, test: str) -> Case:
        self.asked.append(test)
        return self.case

    def student(self, member: Any, test: str) -> str:
        return f"student of {member.exercise} in {test}"

    def reference(self, name: str, case: Case) -> str:
        assert case is self.case
        return f"reference of {name}"


def request_of(bench: Bench, *marks: Any) -> Any:
    """Returns the request for a fixture by a test with these marks."""
    own = {one.mark.name: one.mark for one in marks}
    node = SimpleNamespace(nodeid="test_x.py::test_y", get_closest_marker=own.get)
    config = SimpleNamespace(stash={plugin.BENCH: bench})
    return SimpleNamespace(node=node, config=config)


def fixture(of: Any) -> Any:
    """Returns the function of a fixture."""
    return of._get_wrapped_function()


def test_fixtures_come_from_the_bench():
    """A case begins at its first value; a test without an exercise fails."""
    bench = Bench()
    request = request_of(bench, exercise("run_x"))
    bench.case.expect(dict)
    case = fixture(plugin.case)(request)
    assert (case, bench.asked) == (bench.case, ["test_x.py::test_y"])
    assert case.expect(dict) == {"": 1}
    assert isinstance(fixture(plugin.draw)(case), Draw)
    assert fixture(plugin.student)(request) == "student of run_x in test_x.py::test_y"
    assert fixture(plugin.reference)(request, case) == "reference of run_x"
    for of in (plugin.student, plugin.reference):
        given = (request_of(bench), case)[: 1 + (of is plugin.reference)]
        with pytest.raises(pytest.fail.Exception, match=r"test_y has no @exercise\(\.\.\.\)"):
            fixture(of)(*given)
