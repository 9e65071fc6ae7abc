"""The files of the corpus of slips, which lie in one archive, `benchmarks/slips.zip`.

A style is a folder in it: a right submission, with the labels of its slips in `slips.toml`. To
search or change them, unpack the archive into a new folder, and pack that folder afterwards:

    .venv/bin/python benchmarks/slips_archive.py unpack DIR
    .venv/bin/python benchmarks/slips_archive.py pack DIR

Equal files make an equal archive, whatever their times and order.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ARCHIVE = Path(__file__).with_name("slips.zip")
_LABELS = "slips.toml"
_EARLIEST = (1980, 1, 1, 0, 0, 0)


class NotPacked(Exception):
    """A folder that cannot be packed or unpacked into; the text says why."""


def styles() -> list[str]:
    """Returns the names of the styles, sorted."""
    return sorted({name.partition("/")[0] for name in _archive().namelist()})


def submission(style: str) -> dict[str, str]:
    """Returns the texts of a style's right submission by their paths."""
    return {path: text for path, text in _texts(style).items() if path != _LABELS}


def labels(style: str) -> dict[str, Any]:
    """Returns the table of a style's slips."""
    return tomllib.loads(_texts(style)[_LABELS])


def unpack(folder: Path, archive: Path = ARCHIVE) -> None:
    """Writes the archive's files into a folder.

    Raises:
        NotPacked: if the folder is not empty, because its files would be packed too.
    """
    if folder.exists() and any(folder.iterdir()):
        raise NotPacked(f"{folder} is not empty: unpack into a new folder")
    with ZipFile(archive) as opened:
        opened.extractall(folder)


def pack(folder: Path, archive: Path = ARCHIVE) -> None:
    """Makes the archive of a folder's styles, without caches and hidden files.

    Raises:
        NotPacked: if the folder holds no style.
    """
    files = [
        file
        for style in sorted(folder.glob(f"*/{_LABELS}"))
        for file in sorted(style.parent.rglob("*"))
        if file.is_file() and not _is_left_out(file.relative_to(folder))
    ]
    if not files:
        raise NotPacked(f"{folder} holds no style: no {_LABELS} one level down")
    packed = BytesIO()
    with ZipFile(packed, "w") as opened:
        for file in files:
            member = ZipInfo(file.relative_to(folder).as_posix(), _EARLIEST)
            member.create_system = 3  # the archive names Unix on every system
            member.external_attr = 0o644 << 16
            opened.writestr(member, file.read_bytes(), ZIP_DEFLATED, compresslevel=9)
    archive.write_bytes(packed.getvalue())


def _is_left_out(path: PurePath) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts)


@cache
def _archive() -> ZipFile:
    """Returns the archive in memory, because forked processes would share a file's position."""
    return ZipFile(BytesIO(ARCHIVE.read_bytes()))


@cache
def _texts(style: str) -> Mapping[str, str]:
    """Returns all texts of a style, including its labels."""
    names = [name for name in _archive().namelist() if name.startswith(f"{style}/")]
    if not names:
        raise LookupError(f"{ARCHIVE.name} holds no style {style!r}")
    return {name.partition("/")[2]: _archive().read(name).decode("utf-8") for name in names}


def main() -> None:
    """Unpacks or packs the archive."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("verb", choices=["unpack", "pack"])
    parser.add_argument("folder", type=Path, metavar="DIR")
    asked = parser.parse_args()
    {"unpack": unpack, "pack": pack}[asked.verb](asked.folder)


if __name__ == "__main__":
    try:
        main()
    except NotPacked as error:
        sys.exit(str(error))
