"""The other files whose names an edit of one file may use."""

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
    assert sources.users("model/layers.py") == [FILES["adapters.py"]]
