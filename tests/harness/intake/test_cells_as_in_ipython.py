"""Cells mean the same as in IPython: the same notebooks run in IPython and as in a worker.

Each defines the same names with the same values, or gets a note of the lines that were not run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.intake.entry import Entry
from grader.intake.process import take_in
from tests.harness.marks import asked_for, rest_slow

pytestmark = pytest.mark.process

RUN = Path(__file__).with_name("notebooks_run.py")
ENGINE = Path(__file__).parents[3]

# Notebooks that run as in IPython.
SAME: dict[str, list[str]] = {
    "plain": ["x = 1", "y = x + 1"],
    "an error": ["x = 1", "y = 1 / 0", "z = x"],
    "no syntax": ["x = 1", "def broken(:", "z = x"],
    "exit": ["import sys\nx = 1\nsys.exit(0)", "y = 2"],
    "main guard": ["if __name__ == '__main__':\n    x = 1"],
    "main module": ["import __main__\ndef f(): pass\nx = f.__module__, __main__.f is f"],
    "future": ["from __future__ import annotations", "def f(a: Unknown): pass\nx = 1"],
    "indented": ["    x = 1\n    y = 2"],
    "indented, magic": ["    x = 1\n    %time y = 2"],
    "empty lines first": ["\n\n%%time\nx = 1"],
    "prompts": [">>> x = 1\n>>> y = 2"],
    "prompts of IPython": ["In [1]: x = 1\n   ...: y = 2"],
    "doctest of a function": [">>> def f():\n...     return 1\n>>> x = f()"],
    "Windows lines": ["x = 1\r\n%time y = 2\r\n"],
    "time": ["%time x = 1"],
    "time of a value": ["x = %time 1 + 1"],
    "time of several": ["%time x = 1; y = 2"],
    "time in a block": ["for n in range(2):\n    %time x = n"],
    "time in a function": ["def f(a):\n    %time print(a)\n    return a\nx = f(3)"],
    "time does not bind in a function": ["def f():\n    %time y = 1\n    return y\nx = f()"],
    "time that raises": ["%time x = 1 / 0", "y = 1"],
    "timeit": ["%timeit -n 1 -r 1 x = 1", "y = 1"],
    "timeit of a block": ["%%timeit -n 1 -r 1\nx = 1", "y = 1"],
    "prun": ["%prun x = 1"],
    "block of time": ["%%time\nx = 1\ndef f(): return x", "y = f()"],
    "block of time in time": ["%%time\n%time x = 1"],
    "block of capture": ["%%capture\nprint(1)\nx = 1"],
    "block of capture, then time": ["%%capture\n%%time\nx = 1"],
    "block of prun": ["%%prun\nx = 1"],
    "env": ["import os\n%env A_B=1\nx = os.environ['A_B']", "y = %env A_B"],
    "env with a space": ["import os\n%env A_B 1 2\nx = os.environ['A_B']"],
    "set_env": ["import os\n%set_env A_B=1\nx = os.environ['A_B']"],
    "pwd": ["import os\nhere = %pwd\nx = here == os.getcwd()\ndel here"],
    "cd": ["import os\nos.mkdir('sub')\n%cd sub\nx = os.path.basename(os.getcwd())"],
    "writefile": ["%%writefile core.py\na = 1\ndef f(): return 2\n", "from core import *\nx = f()"],
    "file": ["%%file core.py\na = 1\n", "import core\nx = core.a"],
    "writefile -a": [
        "%%writefile core.py\na = 1\n",
        "%%writefile -a core.py\nb = 2\n",
        "from core import a, b",
    ],
    "writefile into a folder": [
        "import os\nos.makedirs('pkg', exist_ok=True)",
        "%%writefile pkg/__init__.py\n",
        "%%writefile pkg/core.py\na = 1\n",
        "from pkg.core import a",
    ],
    "writefile of data": ["%%writefile data.txt\n1 2\n%time\n", "x = open('data.txt').read()"],
    "writefile in quotes": ['%%writefile "my file.txt"\n1\n', "x = open('my file.txt').read()"],
    "writefile of a magic": ["%%writefile a.py\nx = 1\n# %time\n", "import a\ny = a.x"],
    "run": ["%%writefile helper.py\na = 1\ndef f(): return a\n", "%run helper.py", "x = f()"],
    "run without a suffix": ["%%writefile helper.py\na = 1\n", "%run helper", "x = a"],
    "run -i": ["%%writefile helper.py\nb = a + 1\n", "a = 1\n%run -i helper.py"],
    "run in a namespace of its own": [
        "%%writefile helper.py\nb = a + 1\n",
        "a = 1",
        "%run helper.py",
    ],
    "run as main": [
        "%%writefile helper.py\nif __name__ == '__main__':\n    a = 1\n",
        "%run helper.py",
    ],
    "run with arguments": [
        "%%writefile helper.py\nimport sys\na = sys.argv[1:]\n",
        "%run helper.py 1 'two three'\ndel sys",
    ],
    "run of what exits": [
        "%%writefile helper.py\na = 1\nimport sys\nsys.exit()\n",
        "%run helper.py",
        "x = 1",
    ],
    "percent is an operator": ["x = (9\n%5\n)", "y = 7 \\\n  % 4"],
    "percent in a text": ["x = '''\n%time\n!ls\nwhat?\n'''"],
    "different": ["x = 1\ny = (x\n!= 2)"],
    "question in a comment": ["x = 1  # really?"],
    "slash calls": ["def f(a, b): return a + b\n/f 1 2\nx = 1"],
    "comma quotes": ["found = []\n,found.append 1"],
    "semicolon quotes": ["found = []\n;found.append 1 2"],
    "semicolon ends": ["x = 1;\nx;"],
    "a value": ["3", "x = 1"],
}

# Notebooks with lines that are not run, and noted.
NOTED: dict[str, list[str]] = {
    "pip": ["%pip --version", "x = 1"],
    "shell": ["!true", "x = 1"],
    "shell over lines": ["!echo \\\n   a", "x = 1"],
    "shell in a block": ["if True:\n    !true\nx = 1"],
    "output": ["files = !echo a", "x = 1"],
    "output, doubled": ["!!echo a", "x = 1"],
    "sx": ["files = %sx echo a"],
    "bash": ["%%bash\nexport A=1", "x = 1"],
    "bash --out": ["%%bash --out said\necho a", "x = 1"],
    "script": ["%%script bash\ntrue", "x = 1"],
    "names": ["x = 1\nnames = %who_ls"],
    "reset": ["x = 1\n%reset -f"],
    "xdel": ["x = 1\n%xdel x"],
    "alias": ["%alias say echo", "x = 1"],
    "macro": ["x = 1", "%macro m 1"],
    "store": ["x = 1\n%store x"],
    "load": ["%load core.py", "x = 1"],
    "save": ["x = 1", "%save kept 1"],
    "bookmark": ["%bookmark here", "x = 1"],
    "pushd": ["import os\nos.mkdir('sub')\n%pushd sub"],
    "mkdir": ["%mkdir sub", "x = 1"],
    "no such magic": ["%no_such_magic", "x = 1"],
    "no such block": ["%%no_such_magic\nx = 1", "y = 1"],
}

# Notebooks with lines that are not run, and only show something.
SHOWN: dict[str, list[str]] = {
    "html": ["%%html\n<b>a</b>", "x = 1"],
    "javascript": ["%%javascript\nalert(1)", "x = 1"],
    "latex": ["%%latex\na", "x = 1"],
    "matplotlib": ["%matplotlib inline", "x = 1"],
    "autoreload": ["%load_ext autoreload\n%autoreload 2", "x = 1"],
    "config": ["%config InlineBackend.figure_format = 'retina'", "x = 1"],
    "help": ["len?", "x = 1"],
    "help before": ["?len", "x = 1"],
    "source": ["len??", "x = 1"],
    "help of a magic": ["%time?", "x = 1"],
    "search": ["*len*?", "x = 1"],
    "who": ["%who\n%whos", "x = 1"],
    "history": ["x = 1", "%history"],
    "precision": ["%precision 3", "x = 1"],
    "xmode": ["%xmode Plain", "x = 1"],
    "lsmagic": ["%lsmagic", "x = 1"],
}

CODE = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
TEXT = {"cell_type": "markdown", "metadata": {}, "source": ["# Work"]}
BELOW = ["%alias say echo\nimport math\n", "%time x = math.floor(1.5)\n", "    y = x\n"]


def _format_3() -> dict[str, Any]:
    heading = {"cell_type": "heading", "level": 1, "metadata": {}, "source": ["Work"]}
    cells = [
        {
            "cell_type": "code",
            "language": "python",
            "collapsed": False,
            "metadata": {},
            "input": one.splitlines(True),
            "outputs": [],
        }
        for one in BELOW
    ]
    sheet = {"cells": [heading, *cells], "metadata": {}}
    return {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [sheet]}


def _format_4(**more: Any) -> dict[str, Any]:
    cells = [TEXT, *(CODE | {"source": one.splitlines(True)} for one in BELOW)]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | more


DOCUMENTS = {
    "format 2": {
        "metadata": {"name": ""},
        "nbformat": 2,
        "worksheets": [{"cells": [{"cell_type": "code", "input": one} for one in BELOW]}],
    },
    "format 3": _format_3(),
    "format 4": _format_4(),
    "Colab": _format_4(
        nbformat_minor=0,
        metadata={
            "colab": {"provenance": []},
            "kernelspec": {"name": "python3"},
            "language_info": {"name": "python"},
            "accelerator": "GPU",
        },
    ),
    "Kaggle": _format_4(
        metadata={
            "kernelspec": {"language": "python", "name": "python3"},
            "kaggle": {"dataSources": []},
        }
    ),
    "VS Code": _format_4(
        cells=[
            CODE | {"id": f"{n:08x}", "source": one, "vscode": {"languageId": "python"}}
            for n, one in enumerate(BELOW)
        ],
        metadata={"language_info": {"name": "python", "version": "3.11.7"}},
    ),
}


def document(cells: list[str]) -> dict[str, Any]:
    return {"cells": [CODE | {"source": cell} for cell in cells], "nbformat": 4}


@pytest.fixture(scope="module")
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Any, Any]]:
    """The results of the notebooks of these tests in IPython and as in a worker, by name."""
    folder = tmp_path_factory.mktemp("notebooks")
    every = SAME | NOTED | SHOWN | dict.fromkeys(DOCUMENTS, BELOW)
    cells = {name: every[name] for name in asked_for(request, "name")}
    documents = {name: DOCUMENTS.get(name) or document(own) for name, own in cells.items()}
    taken_in = []
    for number, content in enumerate(documents.values()):
        place = folder / str(number)
        place.mkdir()
        (place / "work.ipynb").write_text(json.dumps(content))
        (place / "into").mkdir()
        submission = take_in(Entry("alice", place / "work.ipynb"), place / "into")
        taken_in.append(submission.as_json())
    there = _run("ipython", list(cells.values()), folder)
    here = _run("here", taken_in, folder)
    return dict(zip(cells, zip(there, here, strict=True), strict=True))


def _run(how: str, work: list[Any], temporary: Path) -> list[Any]:
    done = subprocess.run(
        [sys.executable, str(RUN), how],
        input=json.dumps(work),
        env=os.environ | {"PYTHONPATH": str(ENGINE), "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=True,
    )
    return list(json.loads(done.stdout))


@pytest.mark.parametrize("name", rest_slow(SAME, 3))
def test_a_notebook_leaves_the_names_that_it_leaves_in_ipython(
    found: dict[str, tuple[Any, Any]], name: str
) -> None:
    """The values are the same, and every line runs."""
    (there, _), (here, not_run) = found[name]
    assert here == there
    assert not_run == []


@pytest.mark.parametrize("name", rest_slow(NOTED, 3))
def test_lines_of_a_notebook_that_are_not_run_are_noted(
    found: dict[str, tuple[Any, Any]], name: str
) -> None:
    """The rest of the notebook has the same effect as in IPython."""
    (there, _), (here, not_run) = found[name]
    assert not_run
    assert here.get("x") == there.get("x", here.get("x"))


@pytest.mark.parametrize("name", rest_slow(SHOWN, 3))
def test_lines_of_a_notebook_that_only_show_something_are_left_out(
    found: dict[str, tuple[Any, Any]], name: str
) -> None:
    """Neither their effect nor their absence can be seen in the names that stay."""
    (there, _), (here, not_run) = found[name]
    assert not_run == []
    assert here.get("x") == there.get("x", here.get("x"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_notebook_format_is_read(found: dict[str, tuple[Any, Any]], name: str) -> None:
    """The notebooks have the metadata that each platform writes."""
    (there, _), (here, not_run) = found[name]
    assert here == there
    assert here["y"] == "1"
    assert not_run == ["%alias say echo (work.ipynb/cell 1)"]
