"""Names and sizes: what is clutter or code, how a name is printed, and in which order."""

from __future__ import annotations

import pytest

from grader.core.names import natural_order, printable, several, shortened
from grader.intake.limits import (
    MIB,
    CopyLimits,
    FileAllowance,
    FileKind,
    is_clutter,
    is_clutter_folder,
    kind_of,
    name_as_written,
    size_in_words,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.py", "source"),
        ("a.PY.txt", "source"),
        ("a.pyi", "source"),
        ("setup.cfg", "source"),
        ("pyproject.toml", "source"),
        ("a.ipynb", "notebooks"),
        ("a.ipynb.json", "notebooks"),
        ("a.ipynb.txt", "notebooks"),
        ("a.txt", "data"),
        ("py", "data"),
    ],
)
def test_the_name_of_a_file_tells_its_limits(name: str, kind: FileKind) -> None:
    """Each kind has its own."""
    assert kind_of(name) is kind
    limits = CopyLimits(*(FileAllowance(many, 1, 1) for many in (1, 2, 3)))
    files = {"source": 1, "notebooks": 2, "data": 3}
    assert limits.allowance(kind).files == files[kind]


@pytest.mark.parametrize(
    ("path", "is_so"),
    [
        ("a.py", False),
        ("Thumbs.db", True),
        ("Icon\r", True),
        ("a/desktop.ini", True),
        ("._a.py", True),
        ("a.pyc", True),
        ("a/b.pyo", True),
        (".gitignore", False),
        (".git/config", True),
        ("a/venv/b.py", True),
        ("a.egg-info/b", True),
        ("venv", False),
        ("wandb/run-1/a", True),
        ("wandb/offline-run-1/a", True),
        ("a/wandb/latest-run", True),
        ("wandb/mine.py", False),
        ("other/run-1/a", False),
    ],
)
def test_files_of_tools_are_clutter(path: str, is_so: bool) -> None:
    """Runs of wandb are, and a student's own folder of that name is not."""
    assert is_clutter(path.split("/")) is is_so


def test_folders_of_tools_are_known_by_their_names() -> None:
    """Hidden ones, environments, caches and installed packages."""
    known = (".git", "__pycache__", "node_modules", "x.egg-info")
    assert all(map(is_clutter_folder, known))
    assert not any(map(is_clutter_folder, ("src", "my.venv", "egg-info.x")))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Zoë 名.py", "Zoë 名.py"),
        ("red\x1b[31m", "red\\x1b[31m"),
        ("a\nb\u202ec", "a\\nb\\u202ec"),
        ("ali\u034fce", "ali\\u034fce"),
        ("caf\udce9", "caf\\xe9"),
        ("\udc80\udcff", "\\x80\\xff"),
        ("\ud800\udc7f", "\\ud800\\udc7f"),
    ],
)
def test_a_name_of_any_bytes_is_printable(name: str, shown: str) -> None:
    """A byte that is not UTF-8 is told as this byte."""
    assert printable(name) == shown


def test_a_long_name_loses_its_middle() -> None:
    """Its beginning and its end say most."""
    assert shortened("a" * 60 + "b" * 60) == "a" * 60 + "b" * 60
    assert shortened("a" * 60 + "-" + "b" * 60) == "a" * 60 + "…" + "b" * 60


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a.PY", "a.py"),
        ("a.py.txt", "a.py"),
        ("a.ipynb.json", "a.ipynb"),
        ("a.IPYNB.txt", "a.ipynb"),
        ("a.tar.gz", "a.tar.gz"),
        (".py", ".py"),
        (".py.txt", ".py.txt"),
        ("a.txt", "a.txt"),
    ],
)
def test_a_browsers_additions_to_a_name_are_dropped(name: str, written: str) -> None:
    """A name that is nothing but a suffix stays."""
    assert name_as_written(name) == written


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 kB"),
        (MIB - 1, "1024 kB"),
        (MIB, "1 MB"),
        (3 * MIB // 2, "1.5 MB"),
        (2000 * MIB, "2,000 MB"),
    ],
)
def test_sizes_are_told_as_people_say_them(size: int, words: str) -> None:
    """Bytes, then kilobytes, then megabytes with at most one decimal."""
    assert size_in_words(size) == words


def test_a_list_of_names_is_cut_after_a_few() -> None:
    """The rest is counted, also if only some of the names are known."""
    assert several(["a", "b"]) == "a, b"
    assert several(["a", "b"], 2) == "a, b"
    assert several(["a", "b"], 3) == "a, b and 1 more"
    assert several([*"abcde"]) == "a, b, c, d, e"
    assert several([*"abcdef"]) == "a, b, c, d, e and 1 more"
    assert several([*"abc"], shown=1) == "a and 2 more"
    assert several(["\x1b"]) == "\\x1b"


def test_numbers_in_names_are_ordered_by_value() -> None:
    """Numbers come before letters, case makes no difference, and zeros in front none either."""
    names = ["b10", "B2", "a", "7", "10", "b02x"]
    assert sorted(names, key=natural_order) == ["7", "10", "a", "B2", "b02x", "b10"]
    assert natural_order("b002") == natural_order("B2")
