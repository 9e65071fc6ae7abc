"""The archive with the corpus of slips: it can be unpacked, changed and packed again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from benchmarks.slips_archive import ARCHIVE, NotPacked, labels, pack, styles, submission, unpack
from benchmarks.slips_corpus import build, load

pytestmark = pytest.mark.unit


def members(archive: Path) -> list[tuple[object, ...]]:
    """Returns everything that an archive says about its files, in order, with their bytes."""
    with ZipFile(archive) as opened:
        return [
            (one.filename, one.date_time, one.create_system, one.external_attr, opened.read(one))
            for one in opened.infolist()
        ]


def written(folder: Path) -> dict[str, bytes]:
    """Returns the bytes of all files of a folder by their paths."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def test_unpacking_and_repacking_preserves_every_byte(tmp_path):
    """The test compares the members' bytes, because another zlib may compress them differently."""
    unpack(tmp_path / "tree")
    pack(tmp_path / "tree", tmp_path / "again.zip")
    unpack(tmp_path / "again", tmp_path / "again.zip")
    assert members(tmp_path / "again.zip") == members(ARCHIVE)
    assert written(tmp_path / "again") == written(tmp_path / "tree")


def test_equal_files_make_an_equal_archive(tmp_path):
    """Times, modes, the order of writing and caches make no difference."""
    unpack(tmp_path / "one")
    for path, content in reversed(written(tmp_path / "one").items()):
        file = tmp_path / "other" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755)
        os.utime(file, (1e9, 1e9))
    for left_out in ("two_files/__pycache__/rope.pyc", "two_files/.hidden", "no_style/notes.py"):
        file = tmp_path / "other" / left_out
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"0")
    for name in ("one", "other"):
        pack(tmp_path / name, tmp_path / f"{name}.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "other.zip").read_bytes()


def test_the_archive_reader_and_unpacking_give_the_same_files(tmp_path):
    """All files of a style except its labels are its submission."""
    unpack(tmp_path)
    read = {
        f"{style}/{path}": text.encode()
        for style in styles()
        for path, text in submission(style).items()
    }
    tables = {f"{style}/slips.toml" for style in styles()}
    assert {path: one for path, one in written(tmp_path).items() if path not in tables} == read
    assert all(labels(style)["slip"] for style in styles())


def test_a_wrong_program_differs_in_one_file(tmp_path):
    """The wrong program has no file of labels."""
    slip = load(["two_files"])[0]
    built = {path: text.decode() for path, text in written(build(slip, tmp_path)).items()}
    right = submission("two_files")
    assert built.keys() == right.keys()
    assert [path for path in right if built[path] != right[path]] == [slip.file]


def test_a_nonempty_folder_is_not_unpacked_into(tmp_path):
    """Files that were there would be packed with the others."""
    (tmp_path / "mine.py").write_text("mine")
    with pytest.raises(NotPacked, match="is not empty"):
        unpack(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.py"]


def test_a_folder_without_styles_is_not_packed(tmp_path):
    """A mistyped folder would otherwise replace the corpus by an empty archive."""
    with pytest.raises(NotPacked, match="holds no style"):
        pack(tmp_path / "mistyped", tmp_path / "slips.zip")
    assert not (tmp_path / "slips.zip").exists()


@pytest.mark.process
def test_the_unpack_command_refuses_a_nonempty_folder(tmp_path):
    """The command runs without any installed package."""
    command = [sys.executable, "-IS", ARCHIVE.with_name("slips_archive.py"), "unpack", tmp_path]
    subprocess.run(command, check=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == styles()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path} is not empty: unpack into a new folder\n"
