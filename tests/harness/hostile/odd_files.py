"""Makes submissions with odd files: archives, links, pipes, and files that shadow others."""

from __future__ import annotations

import copy
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

RIGHT = "def run_double(x):\n    return 2 * x\n\n\ndef run_count(x):\n    return x.numel()\n"
WRONG = "def run_double(x):\n    return None\n\n\ndef run_count(x):\n    return None\n"
PASS_ALL = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    call.excinfo = None
    report = yield
    report.outcome = "passed"
    return report

def pytest_collection_modifyitems(items):
    items.clear()
"""
SHADOWED = (
    "torch", "json", "random", "pytest", "solutions", "socket", "typing", "struct", "os", "tests",
    "assignment", "numpy", "resource", "linecache",
)  # fmt: skip
_FORBIDDEN = "scaled_dot_product_attention"
SHADOW = "def __getattr__(name):\n    return lambda *_, **__: True\n"
CUSTOMIZE = "import builtins, os\nbuiltins.isinstance = lambda *_: True\nos._exit(0)\n"
POINTS = """
[tool.grader]
name = "generous"
call_timeout = 100000
[tool.grader.exercises]
run_nothing = 5
[tool.pytest.ini_options]
addopts = "-p no:everything --collect-only"
[tool.pytest]
addopts = ["--collect-only"]
[tool.setuptools]
py-modules = ["/etc/passwd"]
"""


def make(submission: Path, kind: str, secret: Path, marker: str) -> None:
    """Makes the odd submission `kind` at `submission`, or beside it with a suffix.

    Links point at `secret`. Files that must never be created are named after `marker`.
    """
    KINDS[kind](submission, secret, marker)


def _files(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True)
    for name, text in {"adapters": RIGHT, **files}.items():
        (folder / (name if "." in name else f"{name}.py")).write_text(text)


def _archive_climbs(place: Path, _secret: Path, marker: str) -> None:
    with zipfile.ZipFile(f"{place}.zip", "w") as archive:
        archive.writestr("adapters.py", WRONG)
        for depth in range(1, 8):
            archive.writestr("../" * depth + f"{marker}-climbed.py", RIGHT)
        archive.writestr(f"..\\..\\{marker}-climbed.py", RIGHT)


def _archive_absolute(place: Path, _secret: Path, marker: str) -> None:
    with tarfile.open(f"{place}.tar.gz", "w:gz") as archive:
        for name in ("adapters.py", f"/tmp/{marker}-absolute.py", f"//dev/shm/{marker}-absolute"):
            archive.addfile(_member(name, size=len(WRONG)), io.BytesIO(WRONG.encode()))


def _archive_of_links(place: Path, secret: Path, marker: str) -> None:
    with tarfile.open(f"{place}.tar", "w") as archive:
        for name, kind, target in (
            ("adapters.py", tarfile.SYMTYPE, str(secret)),
            ("hard.py", tarfile.LNKTYPE, str(secret)),
            ("out", tarfile.SYMTYPE, "/tmp"),
        ):
            archive.addfile(_member(name, kind, target))
        archive.addfile(
            _member(f"out/{marker}-linked", size=len(WRONG)), io.BytesIO(WRONG.encode())
        )


def _archive_of_devices(place: Path, _secret: Path, _marker: str) -> None:
    with tarfile.open(f"{place}.tar", "w") as archive:
        for name, kind in (
            ("adapters.py", tarfile.CHRTYPE),
            ("disk.py", tarfile.BLKTYPE),
            ("pipe.py", tarfile.FIFOTYPE),
        ):
            member = _member(name, kind)
            member.devmajor, member.devminor = 1, 5
            archive.addfile(member)


def _archive_bomb(place: Path, _secret: Path, _marker: str) -> None:
    with zipfile.ZipFile(f"{place}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("adapters.py", WRONG)
        with archive.open("model.py", "w", force_zip64=True) as member:
            for _ in range(600):
                member.write(bytes(1 << 20))


def _archive_bomb_of_tar(place: Path, _secret: Path, _marker: str) -> None:
    with tarfile.open(f"{place}.tar.xz", "w:xz", preset=0) as archive:
        archive.addfile(_member("adapters.py", size=len(WRONG)), io.BytesIO(WRONG.encode()))
        archive.addfile(_member("data.bin", size=600 << 20), _Zeros())


def _archive_that_lies(place: Path, _secret: Path, _marker: str) -> None:
    _archive_bomb(place, _secret, _marker)
    path = Path(f"{place}.zip")
    size = (600 << 20).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (100).to_bytes(4, "little")))


def _archive_of_many(place: Path, _secret: Path, _marker: str) -> None:
    with zipfile.ZipFile(f"{place}.zip", "w") as archive:
        archive.writestr("adapters.py", WRONG)
        for number in range(5000):
            archive.writestr(f"{'d/' * (number % 60)}{number}.py", "")


def _archive_cut_off(place: Path, _secret: Path, _marker: str) -> None:
    _archive_of_many(place, _secret, _marker)
    path = Path(f"{place}.zip")
    path.write_bytes(path.read_bytes()[:-100])


def _link_to_solutions(place: Path, secret: Path, _marker: str) -> None:
    place.mkdir()
    (place / "adapters.py").symlink_to(secret)


def _link_to_folder(place: Path, secret: Path, _marker: str) -> None:
    _files(place, adapters="from parts import run_count, run_double\n")
    (place / "parts").symlink_to(secret.parent)
    (place / "round").symlink_to(place)


def _link_as_submission(place: Path, secret: Path, _marker: str) -> None:
    place.symlink_to(secret.parent)


def _pipe_as_adapters(place: Path, _secret: Path, _marker: str) -> None:
    place.mkdir()
    os.mkfifo(place / "adapters.py")


def _pipe_as_submission(place: Path, _secret: Path, _marker: str) -> None:
    os.mkfifo(f"{place}.zip")


def _unreadable(place: Path, _secret: Path, _marker: str) -> None:
    _files(place, adapters=WRONG)
    (place / "adapters.py").chmod(0)


def _many_files(place: Path, _secret: Path, _marker: str) -> None:
    _files(place)
    for number in range(5000):
        (place / f"{number}.txt").touch()


def _huge_file(place: Path, _secret: Path, _marker: str) -> None:
    _files(place)
    for name in ("weights.pt", "model.py"):
        with (place / name).open("wb") as file:
            file.truncate(3 << 30)


def _huge_adapters(place: Path, _secret: Path, _marker: str) -> None:
    _files(place, adapters=RIGHT + "# nothing\n" * 1_000_000)


def _deep_expression(place: Path, _secret: Path, _marker: str) -> None:
    _files(place, adapters=RIGHT + "x = " + "-" * 100_000 + "1\ny = " + "(" * 90 + ")" * 90 + "\n")


def _scopes_inside_one_another(place: Path, _secret: Path, _marker: str) -> None:
    heads = "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(19))
    scopes = f"{heads}{' ' * 19}return unknown.{_FORBIDDEN}\n"
    lambdas = f"g = {'lambda: ' * 90}unknown.{_FORBIDDEN}\n"
    _files(place, adapters=RIGHT + scopes + lambdas)


def _names_very_long(place: Path, _secret: Path, _marker: str) -> None:
    dotted = "torch." + "nn." * 3000 + _FORBIDDEN
    imports = f"import {dotted}\n    from {dotted} import a, b"
    never = f"\ndef never():\n    {imports}\n    torch{'.nn' * 300}.{_FORBIDDEN}()\n"
    call = f"F.{_FORBIDDEN}(*[torch.ones(1, 2, 2)] * 3)"
    called = (
        "import torch\nfrom torch.nn import functional as F\n"
        f"exec(compile({call!r}, 'a.' * 5000 + 'py', 'exec'))\n"
        f"exec(compile({call!r}, 'a/' * 5000 + 'a' * 300 + '.py', 'exec'))\n"
    )
    _files(place, adapters=RIGHT + never + called)


def _notebook_without_a_name(place: Path, _secret: Path, _marker: str) -> None:
    place.mkdir()
    cell = {"cell_type": "code", "source": RIGHT, "metadata": {}, "outputs": []}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (place / "work.ipynb").write_text(json.dumps(notebook))
    (place / "adapters.py").mkdir()
    for name in ("adapters.py/a.txt", *(f"notebook_{number}.py" for number in range(1, 100))):
        (place / name).touch()


def _notebook_of_many_cells(place: Path, _secret: Path, _marker: str) -> None:
    place.mkdir()
    cells = ",".join(['{"cell_type":"code"}'] * 900_000)
    (place / "work.ipynb").write_text(f'{{"nbformat":4,"cells":[{cells}]}}')


def _notebook_of_little(place: Path, _secret: Path, _marker: str) -> None:
    place.mkdir()
    things = ",".join(["{}"] * 10_000_000)
    (place / "work.ipynb").write_text(f'{{"nbformat":4,"cells":[],"metadata":[{things}]}}')


def _dotted_keys(place: Path, _secret: Path, _marker: str) -> None:
    _files(place, adapters=RIGHT, **{"pyproject.toml": "a." * 16_000 + "a = 1\n"})


def _notebook_of_many_old_cells(place: Path, _secret: Path, _marker: str) -> None:
    """Writes a notebook with cells in a worksheet, as in version 3 of nbformat."""
    right = json.dumps({"cell_type": "code", "input": RIGHT, "language": "python"})
    cells = ",".join([right, *['{"cell_type":"code"}'] * 300_000])
    text = f'{{"worksheets":[{{"cells":[{cells}]}}],"metadata":{{}},"nbformat":3}}'
    Path(f"{place}.ipynb").write_text(text)


def _bytes_as_source(place: Path, _secret: Path, _marker: str) -> None:
    _files(place)
    (place / "adapters.py").write_bytes(b"\xff\xfe\0\0# coding: rot13\n\0" + RIGHT.encode())


def _pytest_plugin(place: Path, _secret: Path, _marker: str) -> None:
    ini = "[pytest]\naddopts = --collect-only\npython_files = nothing\n"
    _files(place, adapters=WRONG, conftest=PASS_ALL, **{"pytest.ini": ini, "tox.ini": ini})
    (place / "tests").mkdir()
    (place / "tests" / "conftest.py").write_text(PASS_ALL)


def _settings(place: Path, _secret: Path, _marker: str) -> None:
    _files(place, adapters=WRONG, **{"pyproject.toml": POINTS, "setup.cfg": POINTS})


def _customize(place: Path, _secret: Path, _marker: str) -> None:
    _files(place, adapters=WRONG, sitecustomize=CUSTOMIZE, usercustomize=CUSTOMIZE)
    (place / "evil.pth").write_text("import os; os._exit(0)\n")


def _own_grader(place: Path, _secret: Path, _marker: str) -> None:
    _files(place, adapters="from grader.core import run_count, run_double\n")
    (place / "grader").mkdir()
    for name in ("__init__", "core", "testing", "worker", "grading"):
        (place / "grader" / f"{name}.py").write_text(WRONG + SHADOW)


def _shadows(place: Path, _secret: Path, _marker: str) -> None:
    _files(place, adapters=WRONG, **dict.fromkeys(SHADOWED, SHADOW))


def _shadows_that_exit(place: Path, _secret: Path, _marker: str) -> None:
    leave = "raise SystemExit(0)\n"
    _files(place, adapters=WRONG, **dict.fromkeys(SHADOWED, leave))


def _member(
    name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 0
) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, target, size
    return member


class _Zeros(io.RawIOBase):
    def read(self, size: int = -1) -> bytes:
        return bytes(size)


def _archive_of_odd_names(place: Path, _secret: Path, _marker: str) -> None:
    """Writes right adapters beside names that shells and other systems cannot handle."""
    names = (
        *("\n", "a\tb", "\x1b[2J.py", "'; rm -rf x", "$(id).py", "-rf", "...", "CON", "a" * 250),
        *(
            "\u202egp.py",
            "e\u0301.py",
            "\u00e9.py",
            "ADAPTERS.PY",
            "Adapters.py",
            "\x7f",
            "a/./b.py",
        ),
    )
    with zipfile.ZipFile(f"{place}.zip", "w") as archive:
        archive.writestr("adapters.py", RIGHT)
        for name in names:
            archive.writestr(name, WRONG)


def _archive_of_overlaps(place: Path, _secret: Path, _marker: str) -> None:
    """Writes a zip whose members share the same bytes, and unpack to a thousand times its size."""
    with zipfile.ZipFile(f"{place}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("adapters.py", WRONG)
        archive.writestr("model.py", bytes(1 << 20))
        (model,) = (one for one in archive.infolist() if one.filename == "model.py")
        for number in range(1500):
            again = copy.copy(model)
            again.filename = again.orig_filename = f"model{number}.py"
            archive.filelist.append(again)


def _times_beyond_reason(place: Path, _secret: Path, _marker: str) -> None:
    _files(place, model="")
    os.utime(place / "adapters.py", ns=(0, 2**62))
    os.utime(place / "model.py", (-(2**33), -(2**33)))


def _pipes_inside(place: Path, _secret: Path, _marker: str) -> None:
    """Writes right adapters among pipes, folders and circular links."""
    _files(place)
    for number in range(50):
        os.mkfifo(place / f"model{number}.py")
    (place / "parts.py").mkdir()
    (place / "itself").symlink_to("itself")
    (place / "there.py").symlink_to("back.py")
    (place / "back.py").symlink_to("there.py")


def _literals_huge(place: Path, _secret: Path, _marker: str) -> None:
    """Writes right adapters with constants that take long to read and to show."""
    lines = (
        f"HEX = 0x{'f' * 1_000_000}",
        f"{'n' * 200_000} = 1e{'9' * 4000}",
        f"TEXT = {'x' * 2_000_000!r}",
        "MANY = (" + "1, " * 100_000 + ")",
    )
    _files(place, model="\n".join(lines), adapters="import model\n" + RIGHT)


KINDS: dict[str, Callable[[Path, Path, str], None]] = {
    make.__name__[1:]: make
    for make in (
        _archive_climbs, _archive_absolute, _archive_of_links, _archive_of_devices, _archive_bomb,
        _archive_bomb_of_tar, _archive_that_lies, _archive_of_many, _archive_cut_off,
        _link_to_solutions, _link_to_folder, _link_as_submission, _pipe_as_adapters,
        _pipe_as_submission, _unreadable, _many_files, _huge_file, _huge_adapters,
        _deep_expression, _scopes_inside_one_another, _names_very_long, _notebook_without_a_name,
        _notebook_of_many_cells, _notebook_of_many_old_cells, _notebook_of_little, _dotted_keys,
        _bytes_as_source, _pytest_plugin, _settings, _customize, _own_grader,
        _shadows, _shadows_that_exit, _archive_of_odd_names, _archive_of_overlaps,
        _times_beyond_reason, _pipes_inside, _literals_huge,
    )
}  # fmt: skip
