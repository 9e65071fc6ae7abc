"""Intake of notebooks: cells run in order, and each keeps its own line numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.core.submission import Submission, Unreadable
from grader.intake.entry import Entry
from grader.intake.limits import CopyLimits, FileAllowance
from grader.intake.process import take_in
from grader.intake.programs.notebook import WrittenFile, as_python, read_notebook

pytestmark = pytest.mark.process

ENGINE = str(Path(__file__).parents[3])


def a_notebook(path: Path, *cells: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {"cell_type": "markdown", "source": ["# Attention\n"]},
            *({"cell_type": "code", "source": cell.splitlines(True)} for cell in cells),
        ],
    }
    path.write_text(json.dumps(document))
    return path


def taken(path: Path, into: Path) -> Submission:
    into.mkdir()
    return take_in(Entry("alice", path), into)


def run(submission: Submission, program: str) -> subprocess.CompletedProcess[str]:
    paths = [str(submission.root / path) for path in submission.import_paths]
    begin = (
        f"import sys, importlib; sys.path[:0] = {paths!r}; sys.path.append({ENGINE!r})\n"
        "from grader.worker.notebook import install\n"
        "shell, cells = install(60)\n"
        f"module = importlib.import_module({submission.module!r})\n"
    )
    return subprocess.run(
        [sys.executable, "-I", "-c", begin + program],
        cwd=submission.root,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_error_in_a_cell_does_not_hide_later_ones(tmp_path: Path) -> None:
    """Later cells run, as in a notebook, and each error is kept with its cell."""
    path = a_notebook(
        tmp_path / "my work.ipynb",
        "x = 1\n",
        "raise ValueError('first')\n",
        "def broken(:\n",
        "",
        "import sys; sys.exit(3)\n",
        "display(x)\ndef run_softmax(in_features, dim):\n    return x + dim\n",
    )
    done = run(
        taken(path, tmp_path / "into"),
        "print(module.run_softmax(None, 4)); print(*cells.failed, sep=',')\n"
        "print(*map(repr, cells.failed.values()))",
    )
    sum_of_both, cells, errors = done.stdout.splitlines()
    assert sum_of_both == "5"
    assert cells == "my work.ipynb/cell 2,my work.ipynb/cell 3,my work.ipynb/cell 4"
    assert errors.startswith("ValueError('first') SyntaxError('invalid syntax'")


def test_cells_keep_their_own_lines(tmp_path: Path) -> None:
    """Tracebacks and `inspect` show the cell, its line and the source."""
    path = a_notebook(
        tmp_path / "work.ipynb",
        "x = 1\n",
        "%matplotlib inline\n\ndef run_softmax(in_features, dim):\n    return in_features / 0\n",
    )
    done = run(
        taken(path, tmp_path / "into"),
        "import inspect; print(inspect.getsource(module.run_softmax)); module.run_softmax(1, 1)",
    )
    assert "return in_features / 0" in done.stdout
    assert 'work.ipynb/cell 2", line 4, in run_softmax' in done.stderr


def test_magics_and_shell_lines_are_skipped(tmp_path: Path) -> None:
    """Every form that students use is recognised, but not `%` and `!` in Python code."""
    path = a_notebook(
        tmp_path / "work.ipynb",
        "%load_ext autoreload\n!pip install \\\n   einops\nfiles = !ls\ntorch.nn?\n?torch\na = 1\n",
        "%%bash\nexit 1\n",
        "%%time\nb = 2\n",
        "if True:\n    %time len([])\n    !ls\nc = 3\n",
        "text = '''\n%not magic\n!nor this\n'''\nd = (9\n%5\n) != 0\n",
        "!ls\ne = (1\n  != 2)  # really?\n",
        "run_softmax = lambda in_features, dim: (a, b, c, d, e, text)\n",
    )
    done = run(taken(path, tmp_path / "into"), "print(module.run_softmax(0, 0))")
    assert done.stdout == "(1, 2, 3, True, True, '\\n%not magic\\n!nor this\\n')\n", done.stderr


@pytest.mark.unit
def test_a_cell_of_thousands_of_magics_is_read() -> None:
    """Each of them stands for the rest of the cell."""
    cell = as_python("%%capture\n" * 3000 + "x = 1\n")
    assert cell.count("run_line_magic") == 3000
    assert cell.splitlines()[-1] == "x = 1"


def test_a_future_import_holds_for_later_cells(tmp_path: Path) -> None:
    """The same is true in a notebook."""
    path = a_notebook(
        tmp_path / "work.ipynb",
        "from __future__ import annotations\n",
        "def run_softmax(in_features: Unknown, dim): return 1\n",
    )
    assert run(taken(path, tmp_path / "into"), "print(module.run_softmax(0, 0))").stdout == "1\n"


def test_a_notebook_whose_cells_all_fail_raises_its_first_error(tmp_path: Path) -> None:
    """Otherwise every exercise would be missing without a reason."""
    path = a_notebook(tmp_path / "work.ipynb", "import no_such_package\n", "def run_x(:\n")
    done = run(taken(path, tmp_path / "into"), "")
    assert done.returncode == 1
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'no_such_package'\n")


def test_a_folder_with_one_notebook_of_adapters_needs_no_adapters_file(tmp_path: Path) -> None:
    """A module beside it may have the notebook's name."""
    home = tmp_path / "alice"
    a_notebook(
        home / "attention.ipynb", "from attention import answer", "def run_x(): return answer"
    )
    a_notebook(home / "exploration.ipynb", "print(1)")
    (home / "attention.py").write_text("answer = 7\n")
    submission = taken(home, tmp_path / "into")
    assert submission.adapters == "adapters.py"
    assert run(submission, "print(module.run_x())").stdout == "7\n"


def test_two_notebooks_with_adapters_are_ambiguous(tmp_path: Path) -> None:
    """The grader does not guess which one counts; `--adapters` may name it."""
    home = tmp_path / "alice"
    a_notebook(home / "a.ipynb", "def run_x(): return 1")
    a_notebook(home / "b.ipynb", "def run_x(): return 2")
    with pytest.raises(Unreadable, match=r"more than one notebook .*a\.ipynb, b\.ipynb"):
        taken(home, tmp_path / "into")
    (tmp_path / "second").mkdir()
    submission = take_in(Entry("alice", home), tmp_path / "second", "b.ipynb")
    assert run(submission, "print(module.run_x())").stdout == "2\n"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("not JSON", r"damaged, it is not JSON \(line 1\): save it again"),
        ("[" * 100_000, "damaged"),
        ('{"cells": [\n{"x": }]}', "line 2"),
        ("[1, 2]", "JSON but no notebook"),
        ('{"name": "attention", "version": 3}', "JSON but no notebook"),
        ('{"nbformat": 5, "cells": []}', "version 5 of nbformat: save it as version 4"),
        ('{"nbformat": "4", "cells": []}', "no code cells"),
        ('{"nbformat": 3, "worksheets": [{"cells": [4]}]}', "no code cells"),
        ('{"nbformat": 4, "metadata": {"language_info": {"name": "R"}}, "cells": []}', "is for R"),
        ('{"metadata": {"kernelspec": {"language": "julia"}}, "cells": []}', "for julia, not for"),
        ('{"cells": [3, {"cell_type": "code", "source": [1, {}]}]}', "no code cells"),
        ('{"cells": {"a": 1}, "worksheets": 4}', "no code cells"),
    ],
)
def test_a_file_that_is_no_notebook_is_unreadable(
    tmp_path: Path, content: str, reason: str
) -> None:
    """The content may be any JSON, or none."""
    (tmp_path / "work.ipynb").write_text(content)
    with pytest.raises(Unreadable, match=reason):
        taken(tmp_path / "work.ipynb", tmp_path / "into")


CODE = {"cell_type": "code", "language": "python", "collapsed": False}
THREE = {
    "nbformat": 3,
    "nbformat_minor": 0,
    "metadata": {"name": "work"},
    "worksheets": [
        {"cells": [{"cell_type": "heading", "level": 1, "source": "Attention"}]},
        {"cells": [CODE | {"input": ["x = 7\n", "def run_x(): return x\n"], "outputs": [{}]}]},
    ],
}
ONE = {"nbformat": 1, "cells": [{"cell_type": "code", "code": "def run_x(): return 7"}]}
FOUR = {"nbformat": 4, "nbformat_minor": 2, "cells": [CODE | {"source": "run_x = lambda: 7"}]}
UNNUMBERED = {"cells": [CODE | {"source": "run_x = lambda: 7"}], "metadata": 3}


@pytest.mark.parametrize(
    "document", [ONE, THREE, FOUR, UNNUMBERED], ids=["1", "3", "4.2 without outputs", "none"]
)
def test_notebooks_of_every_version_are_read(
    tmp_path: Path, document: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    """Outputs and metadata may be absent, and no warning is printed."""
    (tmp_path / "work.ipynb").write_text(json.dumps(document))
    submission = taken(tmp_path / "work.ipynb", tmp_path / "into")
    assert run(submission, "print(module.run_x())").stdout == "7\n"
    assert capfd.readouterr() == ("", "")


def test_modules_of_colab_and_ipython_stop_no_cell(tmp_path: Path) -> None:
    """Modules of Colab and IPython do nothing here, and code can tell that it is not in Colab."""
    path = a_notebook(
        tmp_path / "work.ipynb",
        "from google.colab import drive, files\ndrive.mount('/content/drive')\nimport math\n",
        "import google.colab.output\nfrom google.colab.patches import cv2_imshow\n"
        "for name in files.upload():\n    raise AssertionError\n",
        "from IPython.display import clear_output, Image\nclear_output(wait=True)\n"
        "get_ipython().run_line_magic('matplotlib', 'inline')\n%cd /content\n%pip install einops\n",
        "import sys\nIN_COLAB = 'google.colab' in str(get_ipython())\n",
        "def run_x(): return math.pi > 3, IN_COLAB\n",
    )
    done = run(taken(path, tmp_path / "into"), "print(module.run_x(), len(cells.failed))")
    assert done.stdout == "(True, False) 0\n", done.stderr


def test_modules_of_colab_are_absent_until_they_are_imported(tmp_path: Path) -> None:
    """Many notebooks look for `'google.colab' in sys.modules`."""
    path = a_notebook(
        tmp_path / "work.ipynb",
        "import sys\nIN_COLAB = 'google.colab' in sys.modules\ndef run_x(): return IN_COLAB\n",
    )
    assert run(taken(path, tmp_path / "into"), "print(module.run_x())").stdout == "False\n"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            "x = missing_name\ndef run_y(q):\n    return q\n",
            "NameError: cell 2 raised NameError: name 'missing_name' is not defined, so run_y is "
            "not defined",
        ),
        (
            "def helper(:\n    pass\n\ndef run_y(q): ...\n",
            "invalid syntax, so run_y is not defined",
        ),
        ("raise ValueError('first')\nrun_y = print\n", "cell 2 raised ValueError: first, so run_y"),
    ],
)
def test_calling_an_adapter_whose_cell_failed_reports_the_error_of_the_cell(
    tmp_path: Path, cell: str, said: str
) -> None:
    """Otherwise the adapter would count as not written."""
    path = a_notebook(tmp_path / "work.ipynb", "def run_x(): return 1\n", cell)
    done = run(taken(path, tmp_path / "into"), "print(module.run_x()); module.run_y(1)")
    assert done.stdout == "1\n"
    assert said in done.stderr.splitlines()[-1]
    assert 'work.ipynb/cell 2", line 1' in done.stderr


@pytest.mark.unit
@pytest.mark.parametrize(
    ("cells", "adapters"),
    [
        (["def run_x(): ...", "%%writefile core.py\ndef run_y(): ...\n"], "adapters.py"),
        (["x = 1", "%%writefile core.py\ndef run_y(): ...\n"], "core.py"),
        (
            ["%%writefile core.py\nrun_y = 1\n", "%%writefile adapters.py\nrun_y = 2\n"],
            "adapters.py",
        ),
        (["%%writefile a.py\nx = 1\n", "%%writefile b.py\ndef run_y(): ...\n"], "b.py"),
        (["def run_x(): ...", "%%writefile adapters.py\nx = 1\n"], "notebook_1.py"),
    ],
)
def test_the_adapters_are_those_of_the_cells_or_else_of_a_file_that_they_write(
    tmp_path: Path, cells: list[str], adapters: str
) -> None:
    """A module that runs the cells gets a free name."""
    submission = taken(a_notebook(tmp_path / "work.ipynb", *cells), tmp_path / "into")
    assert submission.adapters == adapters
    assert submission.has_shell


@pytest.mark.unit
def test_the_code_of_a_notebook_is_that_of_its_cells_and_files() -> None:
    """A cell that writes a file stands for that file's text."""
    cells = ["x = 1\n", "%%writefile -a a.py\ny = 2\n", "%%writefile\nz\n", "  \n", "%time 3"]
    document = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    notebook = read_notebook(json.dumps(document).encode(), FileAllowance(10, 1000, 1000))
    assert notebook.sources[:2] == ["x = 1\n", "y = 2\n"]
    assert notebook.files == [WrittenFile("a.py", "y = 2\n", is_appended=True)]
    assert len(notebook.cells) == 4
    assert notebook.sources[3] == notebook.cells[3] == "get_ipython().run_line_magic('time', '3')\n"


@pytest.mark.unit
def test_too_many_cells_are_refused(tmp_path: Path) -> None:
    """Each cell becomes a file."""
    path = a_notebook(tmp_path / "work.ipynb", *["x = 1"] * 11)
    (tmp_path / "into").mkdir()
    limits = CopyLimits(source=FileAllowance(10, 1000, 1000))
    with pytest.raises(Unreadable, match="more than 10 code cells"):
        take_in(Entry("alice", path), tmp_path / "into", limits=limits)
