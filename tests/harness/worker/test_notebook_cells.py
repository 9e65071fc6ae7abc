"""The cells of notebooks: their order, time and errors; and modules that exist only there."""

from __future__ import annotations

import importlib
import importlib.machinery
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grader.worker.notebook import Cells, NotebookModules, Shell, TookTooLong
from grader.worker.stubs import StubModule

pytestmark = pytest.mark.unit


@pytest.fixture
def shell(tmp_path, monkeypatch) -> Shell:
    """The shell of a notebook in an empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return Shell(Cells(60))


def notebook(folder: Path, *cells: str) -> Path:
    """Writes the cells of a notebook; returns its folder."""
    folder.mkdir(parents=True)
    for number, text in enumerate(cells, 1):
        (folder / f"cell {number}").write_text(text)
    return folder


# --- Cells ---------------------------------------------------------------------------------------


def test_cells_run_in_the_order_of_their_numbers(tmp_path):
    """`cell 10` follows `cell 9`; a cell without a number comes first."""
    place = notebook(tmp_path / "n", *[f"order.append({number})" for number in range(1, 12)])
    (place / "setup").write_text("order = [0]")
    names: dict[str, Any] = {}
    Cells(60).run(names, place)
    assert names["order"] == [*range(12)]


def test_a_failed_cell_keeps_no_other_from_running(tmp_path):
    """An adapter that it would have defined raises its error, and others stay as they are."""
    place = notebook(
        tmp_path / "n",
        "def run_first(): return 1\nimport sys",
        "1 / 0\ndef run_second(): pass\nasync def run_third(): pass\nrun_fourth = 3",
        "def run_fifth(:",
        "sys.exit(3)\nrun_sixth: object = 1\nrun_seventh == 3",
        "here = 5",
    )
    names: dict[str, Any] = {}
    cells = Cells(60)
    cells.run(names, place)
    assert [*cells.failed] == ["n/cell 2", "n/cell 3", "n/cell 4"]
    assert (names["here"], names["run_first"](), cells.current) == (5, 1, "")
    adapters = sorted(name for name in names if name.startswith("run_"))
    assert adapters == [
        f"run_{one}" for one in ("fifth", "first", "fourth", "second", "sixth", "third")
    ]
    why = "cell 2 raised ZeroDivisionError: division by zero, so run_second is not defined"
    with pytest.raises(NameError, match=why) as caught:
        names["run_second"](3, x=1)
    assert caught.value.__traceback__ is not None
    with pytest.raises(SyntaxError, match="so run_fifth is not defined") as wrong:
        names["run_fifth"]()
    assert (wrong.value.lineno, Path(str(wrong.value.filename)).name) == (1, "cell 3")


def test_adapters_that_return_objects_are_adapters_of_a_notebook_too(tmp_path):
    """Their names begin with `get_`; a failed cell costs only what it would have defined."""
    place = notebook(tmp_path / "n", "1 / 0\ndef get_lost(): pass", "def get_kept(): return 1")
    names: dict[str, Any] = {}
    Cells(60).run(names, place)
    assert names["get_kept"]() == 1
    with pytest.raises(NameError, match="so get_lost is not defined"):
        names["get_lost"]()


def test_the_first_error_is_raised_if_no_adapter_is_defined(tmp_path):
    place = notebook(tmp_path / "n", "x = 1", "x.y", "1 / 0")
    with pytest.raises(AttributeError):
        Cells(60).run({}, place)
    Cells(60).run({}, notebook(tmp_path / "m", "x = 1"))


def test_a_future_import_holds_for_later_cells_only(tmp_path):
    """An annotation of an unknown name is an error before it."""
    cells = Cells(60)
    names: dict[str, Any] = {"run_x": 1}
    future = "from __future__ import annotations"
    cells.run(names, notebook(tmp_path / "n", "def f(a: B): 0", future, "def g(a: B): 0"))
    assert [*cells.failed] == ["n/cell 1"]
    assert names["g"].__annotations__ == {"a": "B"}


def test_a_cell_that_never_ends_leaves_time_for_the_others(tmp_path):
    """It may take half of the time that is left."""
    place = notebook(tmp_path / "n", *["while True: pass"] * 2, "x = 3")
    names: dict[str, Any] = {"run_x": 1}
    cells = Cells(0.4)
    cells.run(names, place)
    assert names["x"] == 3
    assert [*cells.failed] == ["n/cell 1", "n/cell 2"]
    first, second = cells.failed.values()
    assert str(first) == "it took longer than 0.2 seconds and was ended"
    assert str(second) == "it took longer than 0.1 seconds and was ended"
    assert isinstance(first, TookTooLong)
    assert first.__traceback__ is not None
    assert 0.05 <= cells._left <= 0.1


# --- Modules that exist only in notebooks --------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("google", ModuleType),
        ("google.colab", StubModule),
        ("google.colab.drive", StubModule),
        ("google.cloud", None),
        ("IPython", StubModule),
        ("IPython.display", StubModule),
        ("IPythonic", None),
    ],
)
def test_modules_of_notebooks_are_stubs(shell, name, kind):
    """Any use of them works, and `get_ipython` returns the shell."""
    finder = NotebookModules(shell)
    spec = finder.find_spec(name, None)
    assert (spec is None) == (kind is None)
    if spec is not None:
        module = importlib.util.module_from_spec(spec)
        assert type(module) is kind
        assert spec.submodule_search_locations == []
        if kind is StubModule:
            assert [*module.display(3).more] == []
            assert not hasattr(module, "__wrapped__")
        is_shells = name.startswith("IPython")
        assert (vars(module).get("get_ipython", int)() is shell) is is_shells
