"""The sources of a submission: their lines and functions, and the files that edits may use."""

import pytest

from grader.core.wire.trials import Passed
from grader.explain.repair.sources import EditableSources
from tests.harness.conftest import write_files

pytestmark = pytest.mark.unit

FILES = {
    "adapters.py": "from model.layers import attend\n",
    "model/layers.py": "from model import masks\n\ndef attend(x):\n    return x\n",
    "model/masks.py": "def causal(n):\n    return n\n",
    "unrelated.py": "def plot(x):\n    return x\n",
}


@pytest.fixture
def sources(tmp_path):
    return EditableSources.below(write_files(tmp_path, FILES))


def test_edits_of_a_file_may_use_the_package_that_it_imports(sources):
    """No edit uses the edited file itself, or a file that nothing links to it."""
    package = [FILES["model/layers.py"], FILES["model/masks.py"]]
    assert sources.elsewhere("adapters.py") == package


def test_edits_of_a_file_may_use_files_in_its_folder(sources):
    """Files in one folder count even without an import; files at the top do not."""
    assert sources.elsewhere("model/masks.py") == [FILES["model/layers.py"]]
    assert sources.elsewhere("unrelated.py") == []


def test_users_of_a_file_are_the_files_that_import_it(sources):
    """The import names the module, and that name leads to the file."""


PROGRAM = """\
import parts.heads
from masks import causal as hidden

SIZE: int = 4
TABLE = [1,
         2]
TOTAL = 0
TOTAL += 1


def first(x, n=SIZE,
          k=2):
    y = x
    def inner():
        return y
    return inner()


class Base:
    scale = 2
    kept: int = 3

    def run(self):
        return self.scale

    def rnu(self):
        return self.first


class Net(Base):
    def run(self):
        return TABLE

    def other(self):
        pass
"""


def concerned(tmp_path, *lines: int, file: str = "a.py") -> dict[str, list[int]]:
    """Returns the lines concerned if a call ran these lines."""
    (tmp_path / "a.py").write_text(PROGRAM)
    (tmp_path / "masks.py").write_text(
        "scale = 1\nother = 2\n\nclass Base:\n    x = 1\n    y = 2\n"
    )
    found = EditableSources.below(tmp_path).concerned([Passed(file, lines)])
    return {name: sorted(own) for name, own in found.items()}


def test_lines_that_ran_concern_the_defaults_and_values_that_they_use(tmp_path):
    """A default, a table, a class's attribute or the name of its method may be the wrong place."""
    base, net = [19, 20, 21, 22, 23, 25, 26], [30, 31, 32, 33, 34]
    assert concerned(tmp_path, 13, 16) == {"a.py": [4, 11, 12, 13, 16]}
    assert concerned(tmp_path, 32) == {"a.py": [5, 6, *base, *net], "masks.py": [1, 4, 5, 6]}
    assert concerned(tmp_path, 24)["a.py"] == sorted([*base, 24])
    assert concerned(tmp_path, 24)["masks.py"] == [1]
    assert concerned(tmp_path, 7) == {"a.py": [7, 8]}
    assert concerned(tmp_path, 7, file="none.py") == {}
    assert concerned(tmp_path) == {}


def test_a_value_concerns_the_values_that_it_is_made_of(tmp_path):
    """A pattern may be compiled from a table in another file; what nothing reads is left out."""
    program = "from rules import RULES\n\nPATTERN = joined(RULES)\n\ndef cut(text):\n"
    (tmp_path / "a.py").write_text(f"{program}    return PATTERN.findall(text)\n")
    (tmp_path / "rules.py").write_text('SPACE = " ?"\nRULES = [\n    SPACE,\n]\nOTHER = 1\n')
    found = EditableSources.below(tmp_path).concerned([Passed("a.py", [6])])
    assert found == {"a.py": {3, 6}, "rules.py": {1, 2, 3, 4}}


HANDED_OUT = """\
def run_norm(x, momentum, eps):
    return work.norm(x, momentum, eps)

def run_pool(x, size):
    return work.pool(x, size)
"""
CHANGED = """\
@typed
def run_norm(x, momentum, eps):
    return work.norm(
        x, momentum, eps
    )

def run_pool(x, size):
    return work.pool(size, x)

def norm(x, momentum, eps):
    return work.norm(x, momentum, eps)
"""


def test_lines_that_were_handed_out_concern_nobody(tmp_path):
    """Only unchanged statements of an adapter count; layout does not."""
    files = {"contract.py": HANDED_OUT, "mine/adapters.py": CHANGED}
    mine, ran = write_files(tmp_path, files) / "mine", Passed("adapters.py", [3, 4, 8, 11])
    sources = EditableSources.below(mine, contract=tmp_path / "contract.py")
    assert sources.concerned([ran]) == {"adapters.py": {8, 11}}
    for contract in (None, tmp_path / "none.py"):
        sources = EditableSources.below(mine, contract=contract)
        assert sources.concerned([ran]) == {"adapters.py": {3, 4, 8, 11}}


@pytest.mark.parametrize(
    ("line", "name"),
    [(4, None), (11, "first"), (13, "first"), (15, "inner"), (16, "first"), (20, None), (24, "run"),
     (34, "other"), (99, None)],
)  # fmt: skip
def test_the_innermost_function_around_a_line_is_found(tmp_path, line, name):
    """A line outside of any has none."""
    (tmp_path / "a.py").write_text(PROGRAM)
    node = EditableSources.below(tmp_path).node("a.py", line)
    assert (node.name if node else None) == name


def test_lines_are_those_of_the_files(tmp_path):
    """A worker may invent both files and numbers."""
    (tmp_path / "a.py").write_text(PROGRAM)
    sources = EditableSources.below(tmp_path)
    assert sources.line("a.py", 13) == "y = x"
    assert [sources.line("a.py", number) for number in (0, 99)] == ["", ""]
    assert sources.line("b.py", 1) == ""


SEVERAL = {
    "a.py": "import parts.heads\nfrom masks import causal\n",
    "masks.py": "import a\n",
    "parts/__init__.py": "x = 1\n",
    "parts/heads.py": "y = 1\n",
    "parts/tails.py": "from parts.heads import y\n",
    "far/deep.py": "z = 1\n",
    "broken.py": "x = (\n",
    "notes.txt": "import a, masks\n",
    "book.ipynb/1": "w = 1\n",
}


@pytest.fixture(name="several")
def _several(tmp_path):
    for name, text in SEVERAL.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return EditableSources.below(tmp_path)


def test_files_that_are_imported_or_lie_beside_a_file_are_read_for_it(several):
    """In the top folder, only imported ones are."""

    def names(texts: list[str]) -> list[str]:
        return [name for text in texts for name, own in SEVERAL.items() if own == text]

    assert names(several.elsewhere("a.py")) == ["masks.py", "parts/__init__.py", "parts/heads.py",
                                                "parts/tails.py"]  # fmt: skip
    assert names(several.elsewhere("masks.py")) == ["a.py"]
    assert names(several.elsewhere("parts/heads.py")) == ["parts/__init__.py", "parts/tails.py"]
    assert names(several.elsewhere("far/deep.py")) == []
    assert "broken.py" not in names(several.texts.values())
    assert "book.ipynb/1" in names(several.texts.values())


def test_only_so_much_of_other_files_is_read(tmp_path):
    """Four hundred thousand characters, in whole files."""
    (tmp_path / "a.py").write_text("import b, c, d\n")
    for name, size in (("b", 199_000), ("c", 199_000), ("d", 5_000)):
        (tmp_path / f"{name}.py").write_text("#" * size)
    (tmp_path / "large.py").write_text("#" * 200_001)
    sources = EditableSources.below(tmp_path)
    assert [len(text) for text in sources.elsewhere("a.py")] == [199_000, 199_000]
    assert len(sources.texts) == 4
    (tmp_path / "d.py").write_text("#" * 2_000)
    assert len(EditableSources.below(tmp_path).elsewhere("a.py")) == 3
