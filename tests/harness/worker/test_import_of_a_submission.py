"""The import of a submission: its paths, its adapters, its end, and packages that it replaces."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.metadata
import io
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grader.core.wire.calls import ImportReport
from grader.worker import packages
from grader.worker.loading import EngineBlocker, load
from grader.worker.packages import is_installed, load_ahead, make_room, package_folders

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def interpreter(monkeypatch) -> Iterator[None]:
    """Restores all that the import of a submission changes in its process."""
    before = dict(sys.modules)
    for name in ("path", "meta_path", "argv"):
        monkeypatch.setattr(sys, name, list(getattr(sys, name)))
    loader = importlib.machinery.SourceFileLoader
    monkeypatch.setattr(loader, "exec_module", loader.exec_module)
    monkeypatch.chdir(Path.cwd())
    yield
    for name in set(sys.modules) - set(before):
        del sys.modules[name]
    sys.modules.update(before)


Load = Callable[..., tuple[dict[str, Callable[..., Any]], ImportReport]]


@pytest.fixture
def loaded(tmp_path) -> Load:
    """A function that writes the files of a submission and imports a module of it."""

    def load_files(
        files: dict[str, str],
        module: str = "of_a_student",
        paths: tuple[str, ...] = ("",),
        engine: tuple[str, ...] = (),
        cell_seconds: float | None = None,
    ) -> tuple[dict[str, Callable[..., Any]], ImportReport]:
        root, scratch = tmp_path / "root", tmp_path / "scratch"
        scratch.mkdir()
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return load(root, scratch, engine, module, paths, (), cell_seconds)

    return load_files


def test_the_adapters_are_the_callables_with_an_adapters_name(loaded):
    """Names are sorted; a number under such a name is no adapter."""
    program = """
        def run_b(): return 1
        class run_a: pass
        run_c = 3
        def helper(): pass
        def get_d(): pass
        """
    functions, report = loaded({"of_a_student.py": program})
    assert set(functions) == {"run_a", "run_b", "get_d"}
    assert report.adapters == ("get_d", "run_a", "run_b")
    assert functions["run_b"]() == 1
    assert (report.problem, report.cell_errors, report.uses, report.absent) == (None, (), (), ())
    assert report.not_run == ()


def test_the_working_directory_is_a_likeness_of_the_handed_in_folder(loaded, tmp_path):
    """Import paths come first, and the command line holds nothing of the grader's."""
    loaded({"lib/of_a_student.py": "", "data.txt": "kept"}, paths=("lib", "lib/.."))
    assert Path.cwd() == tmp_path / "scratch" / "submission"
    assert Path("data.txt").read_text() == "kept"
    assert sys.path[:2] == [str(tmp_path / "root" / "lib"), str(tmp_path / "root")]
    assert sys.argv == ["adapters"]


@pytest.mark.parametrize(
    ("module", "paths", "home"),
    [
        ("work.of_a_student", ("work",), "work"),
        ("work.of_a_student", ("", "work"), ""),
        ("of_a_student", ("work",), ""),
    ],
)
def test_a_package_that_was_handed_in_is_the_working_directory(
    loaded, tmp_path, module, paths, home
):
    """Its files are then named from within it."""
    loaded({"work/__init__.py": "", "work/of_a_student.py": ""}, module, paths)
    assert Path.cwd() == tmp_path / "scratch" / "submission" / home


def test_numbers_drawn_at_the_import_are_the_same_each_time(loaded, tmp_path):
    program = """
        import random
        import numpy
        import torch
        DRAWN = random.random(), numpy.random.rand(), torch.rand(()).item()
        def run_a(): return DRAWN
    """
    drawn = []
    for number in range(2):
        functions, _ = loaded({f"drawing_{number}.py": program}, f"drawing_{number}")
        shutil.rmtree(tmp_path / "scratch")
        drawn.append(functions["run_a"]())
    assert drawn[0] == drawn[1]


def test_an_exception_at_the_import_is_the_problem(loaded):
    functions, report = loaded({"of_a_student.py": "def run_a(): pass\n1 / 0\n"})
    assert functions == {}
    assert report.problem.kind == "ZeroDivisionError"
    assert [(one.file, one.line) for one in report.problem.frames] == [("of_a_student.py", 2)]


@pytest.mark.parametrize(
    "end", ["exit()", "raise SystemExit(3)", "input()", "raise EOFError('EOF when reading a line')"]
)
def test_definitions_before_an_early_end_count(loaded, monkeypatch, end):
    """The report names the line that ended the file."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    program = f"import helper\ndef run_a(): return helper.x\n{end}\ndef run_b(): pass\n"
    helper = f"x = 1\n{end}\n"
    functions, report = loaded({"of_a_student.py": program, "helper.py": helper})
    assert (set(functions), functions["run_a"]()) == ({"run_a"}, 1)
    notes = tuple(f"what follows {end} ({place})" for place in ("helper.py:2", "of_a_student.py:3"))
    assert report.not_run == notes
    assert report.problem is None


def test_an_early_end_before_all_adapters_is_the_problem(loaded):
    _, report = loaded({"of_a_student.py": "raise SystemExit(3)\ndef run_a(): pass\n"})
    assert report.problem.kind == "SystemExit"


@pytest.mark.parametrize(
    "raised", ["EOFError('Ran out of input')", "EOFError", "KeyboardInterrupt"]
)
def test_another_exception_is_no_early_end(loaded, raised):
    """`pickle` raises the same kind for a file that was cut off."""
    _, report = loaded({"of_a_student.py": f"def run_a(): pass\nraise {raised}\n"})
    assert report.problem.kind == raised.partition("(")[0]
    assert report.not_run == ()


def test_an_end_in_a_file_of_another_is_an_exception(loaded, tmp_path):
    """An installed module that exits has not defined what it promises."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "of_another.py").write_text("raise SystemExit\n")
    sys.path.append(str(tmp_path / "elsewhere"))
    _, report = loaded({"of_a_student.py": "def run_a(): pass\nimport of_another\nx = 1\n"})
    assert report.not_run == ("what follows import of_another (of_a_student.py:2)",)


def test_the_engine_cannot_be_imported(loaded):
    """Its modules are dropped; a submission's own `grader` is found."""
    marker = ModuleType("engine_part")
    sys.modules["engine_part"] = marker
    files = {"of_a_student.py": "import grader\ndef run_a(): return grader.x\n"}
    _, report = loaded(files, engine=("engine_part", "grader", "not_loaded"))
    assert "engine_part" not in sys.modules
    assert report.problem.kind == "ModuleNotFoundError"
    assert report.problem.lacks == "grader"


def test_a_grader_of_the_submissions_own_is_found(tmp_path):
    finder = EngineBlocker([str(tmp_path)])
    with pytest.raises(ModuleNotFoundError, match="No module named 'grader'") as caught:
        finder.find_spec("grader", None)
    assert caught.value.name == "grader"
    assert finder.find_spec("grader.core", None) is finder.find_spec("json", None) is None
    (tmp_path / "grader.py").write_text("x = 1")
    importlib.invalidate_caches()
    assert finder.find_spec("grader", None).origin == str(tmp_path / "grader.py")


def test_a_module_of_the_submission_replaces_a_package_that_is_loaded_already(loaded):
    """At home it stands first on the import path."""
    import einops

    assert sys.modules["einops"] is einops
    program = "import einops\ndef run_a(): return einops.OWN\n"
    functions, _ = loaded({"of_a_student.py": program, "einops.py": "OWN = 7\n"})
    assert functions["run_a"]() == 7


def test_modules_of_the_submission_have_version_0_and_absent_packages_stubs(loaded):
    """Modules in inner folders count too."""
    program = """
        import absent_one
        from importlib.metadata import version
        versions = version("inner"), version("of-a-student")
        def run_a(): return absent_one.make()
        def run_b(): return versions
        """
    functions, report = loaded({"of_a_student.py": program, "deep/inner.py": ""})
    assert functions["run_b"]() == ("0", "0")
    assert report.absent == ("absent_one",)
    with pytest.raises(ModuleNotFoundError, match=r"absent_one\.make is used here"):
        functions["run_a"]()


def test_cells_of_notebooks_run_where_they_are_allowed_to(loaded, monkeypatch):
    """Their errors are reported, unless the import failed."""
    import builtins

    for name in ("get_ipython", "display"):
        monkeypatch.setattr(builtins, name, None, raising=False)
    files = {
        "of_a_student.py": "get_ipython().run_main(globals(), 'work.ipynb')\n",
        "work.ipynb/cell 1": "def run_a(): return 1\nget_ipython().system('ls')\n",
        "work.ipynb/cell 2": "get_ipython().run_line_magic('matplotlib', '')\n1 / 0\n",
        "work.ipynb/cell 3": "display(3)\n",
    }
    sys.modules["__main__"] = sys.modules["__main__"]
    functions, report = loaded(files, cell_seconds=60.0)
    assert functions["run_a"]() == 1
    assert [one.kind for one in report.cell_errors] == ["ZeroDivisionError"]
    assert report.not_run == ("!ls (work.ipynb/cell 1)",)
    assert str(Path.cwd()) == sys.path[1]


def test_a_module_that_the_working_directory_leads_to_is_the_handed_in_one(loaded, tmp_path):
    program = """
        import os, sys
        sys.path.insert(0, os.getcwd())
        sys.path.insert(0, "lib")
        import beside, deep
        def run_a(): return beside.__file__, deep.__file__
        """
    files = {"work/of_a_student.py": program, "beside.py": "", "lib/deep.py": ""}
    functions, _ = loaded(files, paths=("work",))
    root = tmp_path / "root"
    assert functions["run_a"]() == (str(root / "beside.py"), str(root / "lib" / "deep.py"))


# --- Installed packages --------------------------------------------------------------------------


def test_modules_are_loaded_ahead_and_failures_say_why(tmp_path):
    """One that exits or raises keeps no other from being loaded."""
    sys.path.insert(0, str(tmp_path))
    for name, text in {
        "ahead_one": "x = 1",
        "ahead_two": "raise ValueError('no\\n  room ' + 'x' * 300)",
        "ahead_three": "raise SystemExit(3)",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    importlib.invalidate_caches()
    failed = load_ahead(["ahead_two", "ahead_three", "absent_one", "ahead_one"])
    assert list(failed) == ["ahead_two", "ahead_three", "absent_one"]
    assert failed["ahead_two"].startswith("ValueError: no room xxx")
    assert len(failed["ahead_two"]) == 200
    assert failed["ahead_three"] == "SystemExit: 3"
    assert failed["absent_one"] == "ModuleNotFoundError: No module named 'absent_one'"
    assert sys.modules["ahead_one"].x == 1


def test_a_preloaded_package_makes_room_for_a_module_of_the_submission(tmp_path):
    """All of its modules do, and only those; a mere folder replaces no package."""
    names = ("pre_one", "pre_one.inner", "pre_one_more", "pre_two", "pre_two.inner")
    sys.modules.update({name: ModuleType(name) for name in names})
    (tmp_path / "pre_one.py").write_text("")
    (tmp_path / "pre_two").mkdir()
    importlib.invalidate_caches()
    make_room([str(tmp_path)], ["pre_one.inner", "pre_two", "pre_three"])
    assert [name for name in names if name in sys.modules] == [*names[2:]]


def test_a_package_is_installed_only_in_a_folder_of_packages(tmp_path, monkeypatch):
    """A folder without modules, which Python could import too, is no package."""
    (tmp_path / "one.py").write_text("")
    (tmp_path / "two").mkdir()
    importlib.invalidate_caches()
    monkeypatch.setattr(packages, "package_folders", lambda: (str(tmp_path),))
    assert is_installed("one")
    assert not is_installed("two")
    assert not is_installed("torch")


def test_folders_of_packages_are_listed_once():
    folders = package_folders()
    assert len(set(folders)) == len(folders)
    assert Path(pytest.__file__).parents[1] in map(Path, folders)
