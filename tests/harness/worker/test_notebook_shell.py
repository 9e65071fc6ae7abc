"""The shell and the cells of a notebook: what each magic does, and what is noted of the rest."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from grader.worker.notebook import Cells, Shell, timed, write
from grader.worker.stubs import Stub

pytestmark = pytest.mark.unit


@pytest.fixture
def shell(tmp_path, monkeypatch) -> Shell:
    """The shell of a notebook in an empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return Shell(Cells(60))


def ran(shell: Shell, code: str) -> dict[str, Any]:
    """Returns the names after some code, which has the shell as `sh`."""
    names: dict[str, Any] = {"sh": shell}
    exec(compile(textwrap.dedent(code), "/notebook/cell 1", "exec"), names)
    return names


def notebook(folder: Path, *cells: str) -> Path:
    """Writes the cells of a notebook; returns its folder."""
    folder.mkdir(parents=True)
    for number, text in enumerate(cells, 1):
        (folder / f"cell {number}").write_text(text)
    return folder


# --- Magics that are run -------------------------------------------------------------------------


def test_a_timed_statement_runs_where_the_magic_stands(shell):
    """It binds names, and an expression is its value."""
    names = ran(
        shell,
        """
        sh.run_line_magic("time", "x = 1; z = 0")
        one = sh.run_line_magic("time", "x + 1")
        two = sh.run_line_magic("prun", "-l 3 y = x + 2")
        three = sh.run_line_magic("time", "")
        def f(a):
            return sh.run_line_magic("time", "a + x")
        four = f(10)
        """,
    )
    assert (names["one"], names["two"], names["three"], names["four"]) == (2, None, None, 11)
    assert (names["x"], names["y"]) == (1, 3)


def test_an_error_in_a_statement_is_at_the_magics_line(shell):
    """The frame has the cell's file and the line of the magic."""
    with pytest.raises(ZeroDivisionError) as caught:
        ran(shell, '\n\nsh.run_line_magic("time", "0; 1 / 0")\n')
    trace = caught.value.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    assert (trace.tb_frame.f_code.co_filename, trace.tb_lineno) == ("/notebook/cell 1", 3)


def test_blocks_that_are_timed_or_captured_run_as_they_are(shell):
    """`%%capture` binds a name to an empty result, and options are no names."""
    names = ran(
        shell,
        """
        sh.run_cell_magic("time", "", "x = 1")
        sh.run_cell_magic("prun", "-q", "y = 2")
        sh.run_cell_magic("capture", "--no-stderr out err", "z = 3")
        """,
    )
    assert (names["x"], names["y"], names["z"]) == (1, 2, 3)
    assert type(names["out"]) is Stub
    assert "err" not in names
    assert shell.not_run == ()


def test_environment_variables_are_set_and_read(shell, monkeypatch):
    monkeypatch.setenv("OF_A_CELL", "0")
    names = ran(
        shell,
        """
        sh.run_line_magic("env", "OF_A_CELL = 3")
        one = sh.run_line_magic("env", "OF_A_CELL")
        sh.run_line_magic("set_env", "OF_A_CELL 4 5")
        two = sh.magic("%env OF_A_CELL")
        """,
    )
    assert (names["one"], names["two"]) == ("3", "4 5")


def test_a_cell_may_change_the_working_directory(shell, tmp_path):
    """A folder that does not exist is noted, as IPython goes on too."""
    (tmp_path / "data dir").mkdir()
    names = ran(
        shell,
        """
        sh.run_line_magic("cd", "-q 'data dir'")
        one = sh.run_line_magic("pwd")
        sh.run_line_magic("cd", "absent")
        two = sh.run_line_magic("pwd")
        """,
    )
    assert names["one"] == names["two"] == str(tmp_path / "data dir")
    assert shell.not_run == ("%cd absent (cell 1:4)",)


def test_the_home_is_the_folder_of_a_magic_without_one(shell, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    ran(shell, 'sh.run_line_magic("cd", "")')
    assert Path.cwd() == tmp_path / "home"


def test_a_cell_writes_a_file_or_appends_to_it(shell, tmp_path):
    """A link to a submitted file, which is read-only, is replaced by a copy."""
    (tmp_path / "submitted.py").write_text("x = 1\n")
    (tmp_path / "link.py").symlink_to(tmp_path / "submitted.py")
    ran(
        shell,
        """
        sh.run_cell_magic("writefile", "made.txt", "one")
        sh.run_cell_magic("file", "-a made.txt", "two")
        sh.run_cell_magic("writefile", "--append new.txt", "three")
        sh.run_cell_magic("writefile", "-a link.py", "y = 2")
        sh.run_cell_magic("writefile", "'with space'", "z = 2")
        """,
    )
    texts = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert texts["made.txt"] == "onetwo"
    assert texts["new.txt"] == "three"
    assert texts["link.py"] == "x = 1\ny = 2"
    assert texts["submitted.py"] == "x = 1\n"
    assert texts["with space"] == "z = 2"
    for line in ("", "one two", "-a"):
        with pytest.raises(ValueError, match="takes the name of one file"):
            write(line, "text")


def test_a_written_file_begins_anew_without_an_option(shell, tmp_path):
    ran(shell, 'for text in "ab": sh.run_cell_magic("writefile", "made.txt", text)')
    assert (tmp_path / "made.txt").read_text() == "b"


SCRIPT = """
import sys
arguments, name, file = sys.argv, __name__, __file__
__hidden = 1
seen = "given" in globals()
if len(sys.argv) > 1 and sys.argv[1] == "leave":
    sys.exit(int(sys.argv[2]))
late = 1
"""


@pytest.mark.parametrize(
    ("line", "name", "seen"),
    [
        ("script.py 1 '2 3'", "__main__", False),
        ("script", "__main__", False),
        ("-t script.py", "__main__", False),
        ("-i script.py", "here", True),
    ],
)
def test_a_script_is_run_and_its_names_are_added(shell, tmp_path, line, name, seen):
    """With `-i` it sees the notebook's names."""
    (tmp_path / "script.py").write_text(SCRIPT)
    before = sys.argv
    code = f'given, __name__, __file__ = 1, "here", "own"\nsh.run_line_magic("run", {line!r})'
    names = ran(shell, code)
    assert (names["name"], names["seen"], names["late"]) == (name, seen, 1)
    assert (names["__name__"], names["__file__"]) == ("here", "own")
    assert names["file"] == ("own" if seen else "script.py")
    assert names["arguments"] == (["script.py", "1", "2 3"] if "1" in line else [line.split()[-1]])
    assert sys.argv is before
    assert ("__hidden" in names) is seen


@pytest.mark.parametrize(("code", "is_error"), [(0, False), (3, True)])
def test_a_script_may_end_itself_without_an_error(shell, tmp_path, code, is_error):
    (tmp_path / "script.py").write_text(SCRIPT)
    before = sys.argv
    run = f'sh.run_line_magic("run", "script.py leave {code}")'
    if is_error:
        with pytest.raises(SystemExit):
            ran(shell, run)
    else:
        names = ran(shell, run)
        assert names["name"] == "__main__"
        assert "late" not in names
    assert sys.argv is before


def test_another_notebook_is_noted_and_an_absent_file_is_an_error(shell):
    ran(shell, 'sh.run_line_magic("run", "other.ipynb")')
    assert shell.not_run == ("%run other.ipynb (cell 1:1)",)
    with pytest.raises(FileNotFoundError):
        ran(shell, 'sh.run_line_magic("run", "absent.py")')
    with pytest.raises(ValueError, match="name of a file"):
        ran(shell, 'sh.run_line_magic("run", "-i")')


# --- Magics that are not run ---------------------------------------------------------------------


def test_magics_and_commands_that_are_not_run_are_noted_with_their_places(shell):
    """Those that only show something are not."""
    names = ran(
        shell,
        """
        one = sh.run_line_magic("matplotlib", "inline")
        two = sh.run_line_magic("bookmark", "")
        three = sh.getoutput(" ls   -l ")
        four = sh.run_line_magic("sx", "pwd")
        sh.system("pip install x")
        sh.run_cell_magic("bash", "-e", "ls")
        sh.run_cell_magic("html", "", "<b>")
        """,
    )
    assert shell.not_run == (
        "%bookmark (cell 1:3)",
        "!ls -l (cell 1:4)",
        "!pwd (cell 1:5)",
        "!pip install x (cell 1:6)",
        "%%bash -e (cell 1:7)",
    )
    assert (names["one"], names["two"]) == (None, None)
    assert names["three"] == names["four"] == []


def test_notes_are_short_and_few(shell):
    ran(shell, 'sh.system("x" * 79)\nsh.system("y" * 80)\nfor n in range(30): sh.system(str(n))')
    assert len(shell.not_run) == 20
    assert shell.not_run[0] == f"!{'x' * 79} (cell 1:1)"
    assert shell.not_run[1] == f"!{'y' * 78}… (cell 1:2)"


def test_a_note_names_the_cell_of_a_running_notebook(tmp_path):
    cells = Cells(60)
    shell = Shell(cells)
    cells.run({"sh": shell}, notebook(tmp_path / "n", "1", "sh.system('ls')"))
    assert shell.not_run == ("!ls (n/cell 2)",)


def test_a_submitted_notebook_runs_as_the_main_module(tmp_path, monkeypatch):
    """Its cells lie beside the module that stands for it."""
    module = ModuleType("of_a_notebook")
    module.__file__ = str(tmp_path / "of_a_notebook.py")
    notebook(tmp_path / "work.ipynb", "name = __name__")
    monkeypatch.setitem(sys.modules, "of_a_notebook", module)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    shell = Shell(Cells(60))
    shell.run_main(vars(module), "work.ipynb")
    assert vars(module)["name"] == module.__name__ == "__main__"
    assert sys.modules["__main__"] is module


def frame_here() -> FrameType:
    return sys._getframe(1)


def test_a_timed_statement_needs_only_a_frame():
    seen: list[int] = []
    assert timed("seen.append(2)", frame_here()) is None
    assert timed("len(seen)", frame_here()) == 1
    assert seen == [2]
