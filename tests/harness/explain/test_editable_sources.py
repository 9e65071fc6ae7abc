"""The sources that an edit of one file may take ingredients from."""

import pytest

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


def test_a_file_may_use_what_it_imports_and_not_itself(sources):
    """All of the package that it imports from, and nothing that nothing connects it with."""
    package = [FILES["model/layers.py"], FILES["model/masks.py"]]
    assert sources.elsewhere("adapters.py") == package


def test_a_file_may_use_its_neighbours_in_a_folder(sources):
    """Whether it imports them or not; files at the top have no such neighbours."""
    assert sources.elsewhere("model/masks.py") == [FILES["model/layers.py"]]
    assert sources.elsewhere("unrelated.py") == []


def test_its_users_are_the_files_that_import_it(sources):
    """By its name."""
    assert sources.users("model/layers.py") == [FILES["adapters.py"]]
