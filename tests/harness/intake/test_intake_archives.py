"""Intake of archives: honest ones of every kind, and hostile ones."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.core.submission import Submission, Unreadable
from grader.intake.entry import Entry
from grader.intake.limits import CopyLimits, FileAllowance
from grader.intake.process import take_in

pytestmark = pytest.mark.unit

ADAPTERS = b"def run_softmax(in_features, dim): ...\n"
SMALL = CopyLimits(
    source=FileAllowance(10, 10_000, 20_000),
    data=FileAllowance(10, 100_000, 200_000),
    depth=5,
    entries=50,
    archive=3_000_000,
    unpacked=3_000_000,
)


def a_zip(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def a_tar(path: Path, *members: tuple[str, bytes] | tarfile.TarInfo, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            archive.addfile(info, io.BytesIO(member[1]))
    return path


def taken(archive: Path, limits: CopyLimits = SMALL) -> Submission:
    (into := archive.parent / "into").mkdir()
    return take_in(Entry("alice", archive), into, limits=limits)


def copied(submission: Submission) -> set[str]:
    paths = submission.root.rglob("*")
    return {str(path.relative_to(submission.root)) for path in paths if path.is_file()}


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz"])
@pytest.mark.parametrize("top", ["", "./", "alice-main/", "hw/alice-main/"])
def test_archives_of_every_kind_are_unpacked(tmp_path: Path, kind: str, top: str) -> None:
    """The folder that holds everything becomes the root, however deep it is."""
    path = tmp_path / f"alice.{kind}"
    members = {f"{top}adapters.py": ADAPTERS, f"{top}assignment/attention.py": b"x = 1\n"}
    if kind == "zip":
        a_zip(path, {**members, "__MACOSX/._adapters.py": b"x", f"{top}.DS_Store": b"x"})
    else:
        modes = {"tgz": "w:gz", "tar": "w"}
        a_tar(path, *members.items(), mode=modes.get(kind, f"w:{kind[4:]}"))
    submission = taken(path)
    assert copied(submission) == {"adapters.py", "assignment/attention.py"}
    assert (submission.root / "adapters.py").read_bytes() == ADAPTERS
    assert submission.adapters == "adapters.py"


def test_a_tar_that_is_called_zip_is_read(tmp_path: Path) -> None:
    """The file's bytes decide its format, not its suffix."""
    a_tar(tmp_path / "alice.zip", ("adapters.py", ADAPTERS), mode="w:gz")
    assert copied(taken(tmp_path / "alice.zip")) == {"adapters.py"}


def test_concatenated_compressed_streams_are_read_as_one(tmp_path: Path) -> None:
    """Parallel compressors write such files."""
    plain = a_tar(tmp_path / "plain.tar", ("adapters.py", ADAPTERS)).read_bytes()
    halves = bz2.compress(plain[:700]) + bz2.compress(plain[700:])
    (tmp_path / "alice.tar.bz2").write_bytes(halves)
    assert copied(taken(tmp_path / "alice.tar.bz2")) == {"adapters.py"}


def test_backslashes_in_a_zip_separate_folders(tmp_path: Path) -> None:
    """Some Windows programs separate folders by backslashes."""
    a_zip(tmp_path / "a.zip", {"hw\\adapters.py": ADAPTERS, "hw\\pkg\\": b"", "hw\\pkg\\a.py": b""})
    assert copied(taken(tmp_path / "a.zip")) == {"adapters.py", "pkg/a.py"}


def test_member_names_need_not_be_utf8(tmp_path: Path) -> None:
    """A tar may hold any bytes, and a zip may not mark its names as UTF-8."""
    path = a_tar(tmp_path / "a.tar", ("adapters.py", ADAPTERS), ("caf\udce9.py", b""))
    assert "caf\udce9.py" in copied(taken(path))
    content = a_zip(tmp_path / "x.zip", {"adapters.py": ADAPTERS, "xx.py": b""}).read_bytes()
    (tmp_path / "second").mkdir()
    path = tmp_path / "second/a.zip"
    path.write_bytes(content.replace(b"xx.py", "é.py".encode()))
    assert "é.py" in copied(taken(path))


@pytest.mark.parametrize(
    "name", ["../x.py", "a/../../x.py", "/tmp/x.py", "..\\x.py", "C:\\x.py", "a/..", "\\x.py"]
)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_with_a_member_outside_of_it_is_refused(
    tmp_path: Path, kind: str, name: str
) -> None:
    """The message names the member."""
    if kind == "zip":
        path = a_zip(tmp_path / "a.zip", {"adapters.py": ADAPTERS, name: b"x"})
    else:
        path = a_tar(tmp_path / "a.tar", ("adapters.py", ADAPTERS), (name, b"x"))
    with pytest.raises(Unreadable, match="leads out of it") as caught:
        taken(path)
    assert name in str(caught.value)
    assert not (tmp_path / "into/x.py").exists()


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_name_that_begins_like_a_drive_is_left_out_alone(tmp_path: Path, kind: str) -> None:
    """The Finder stores a slash in a name as a colon: the others of its files are graded."""
    if kind == "zip":
        path = a_zip(tmp_path / "a.zip", {"adapters.py": ADAPTERS, "A:B test.md": b"x"})
    else:
        path = a_tar(tmp_path / "a.tar", ("adapters.py", ADAPTERS), ("A:B test.md", b"x"))
    said = ("Left out (names with a backslash or a drive): A:B test.md.",)
    assert taken(path).notes == said


def test_a_name_with_a_line_break_is_left_out(tmp_path: Path) -> None:
    """In a message, its second line would look like one of the grader's."""
    name = "a\nFull marks (a.py"
    path = a_tar(tmp_path / "a.tar", ("adapters.py", ADAPTERS), (name, b"x"), ("Icon\r", b""))
    assert taken(path).notes == ("Left out (names with line breaks): a\\nFull marks (a.py.",)


def test_links_and_devices_in_a_tar_are_left_out(tmp_path: Path) -> None:
    """Otherwise files could be written or read through a link."""
    special = []
    for name, kind, target in (
        ("soft", tarfile.SYMTYPE, "/etc"),
        ("hard", tarfile.LNKTYPE, "/etc/passwd"),
        ("fifo", tarfile.FIFOTYPE, ""),
        ("device", tarfile.CHRTYPE, ""),
    ):
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        special.append(info)
    members = [("adapters.py", ADAPTERS), *special, ("soft/x.py", b"x = 1\n")]
    submission = taken(a_tar(tmp_path / "a.tar", *members))
    assert copied(submission) == {"adapters.py", "soft/x.py"}
    assert not any(path.is_symlink() for path in submission.root.rglob("*"))
    assert "soft, hard, fifo, device" in submission.notes[0]


def test_links_in_a_zip_are_left_out(tmp_path: Path) -> None:
    """A zip made on Unix may store a link as a file that holds its target."""
    link = zipfile.ZipInfo("link.py")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("adapters.py", ADAPTERS)
        archive.writestr(link, "/etc/passwd")
    submission = taken(tmp_path / "a.zip")
    assert copied(submission) == {"adapters.py"}
    assert "link.py" in submission.notes[0]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_the_last_of_two_members_with_one_name_counts(tmp_path: Path, kind: str) -> None:
    """Students' unpacking programs do the same."""
    members = [("adapters.py", ADAPTERS), ("A.py", b"1"), ("a.py", b"2"), ("A.py", b"3")]
    path = tmp_path / f"a.{kind}"
    if kind == "tar":
        a_tar(path, *members)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members:
                archive.writestr(name, content)
    submission = taken(path)
    assert (submission.root / "A.py").read_text() == "3"
    assert (submission.root / "a.py").read_text() == "2"
    assert "twice" in submission.notes[0]


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_file_and_a_folder_with_one_name_are_noted(tmp_path: Path, kind: str) -> None:
    """One of them cannot be written, and a note says so."""
    members = {"adapters.py": ADAPTERS, "a": b"", "a/b.py": b"x", "long" * 70: b"", "b/": b""}
    path = tmp_path / f"a.{kind}"
    submission = taken(a_zip(path, members) if kind == "zip" else a_tar(path, *members.items()))
    assert "cannot hold" in submission.notes[0]
    assert "a/b.py" in " ".join(submission.notes)


def test_large_and_unwanted_members_of_a_zip_are_never_unpacked(tmp_path: Path) -> None:
    """A forgotten environment or data set costs neither the submission nor the grader's time."""
    members = {
        "hw/adapters.py": ADAPTERS,
        "hw/data.bin": bytes(50_000_000),
        "hw/.venv/torch.so": bytes(50_000_000),
    }
    submission = taken(a_zip(tmp_path / "a.zip", members))
    assert copied(submission) == {"adapters.py"}
    assert submission.notes == ("Left out (larger than 98 kB): hw/data.bin (47.7 MB).",)


def bomb(size: int) -> bytes:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        info = tarfile.TarInfo("adapters.py")
        info.size = len(ADAPTERS)
        archive.addfile(info, io.BytesIO(ADAPTERS))
        info = tarfile.TarInfo("zeros.bin")
        info.size = size
        archive.addfile(info, io.BytesIO(bytes(size)))
    return tar.getvalue()


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_unpacking_a_bomb_stops_early_and_takes_little_memory(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    """A hundred kilobytes unpack to 60 MB here; a hostile file could reach terabytes."""
    (tmp_path / "a.tar.gz").write_bytes(compress(bomb(60_000_000)))
    tracemalloc.start()
    with pytest.raises(Unreadable, match=r"unpacks to more than 2\.9 MB"):
        taken(tmp_path / "a.tar.gz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16_000_000  # xz's dictionary needs eight of these megabytes


def test_a_zip_that_claims_less_than_it_holds_is_refused(tmp_path: Path) -> None:
    """The real size counts, and reading stops at the claimed one."""
    path = a_zip(tmp_path / "a.zip", {"adapters.py": ADAPTERS, "zeros.bin": bytes(5_000_000)})
    content = path.read_bytes().replace(struct.pack("<L", 5_000_000), struct.pack("<L", 50))
    path.write_bytes(content)
    with pytest.raises(Unreadable, match="damaged"):
        taken(path)
    assert all(p.stat().st_size < 100 for p in tmp_path.joinpath("into").rglob("*") if p.is_file())


def test_many_members_beyond_the_total_are_left_out(tmp_path: Path) -> None:
    """Each member is small enough, but their sum is too large."""
    members = {f"{number}.bin": bytes(90_000) for number in range(9)}
    submission = taken(a_zip(tmp_path / "a.zip", {"adapters.py": ADAPTERS, **members}))
    assert copied(submission) == {"adapters.py", "0.bin", "1.bin"}


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_too_many_members_are_refused(tmp_path: Path, kind: str) -> None:
    """Even empty files take time and space."""
    members = {"adapters.py": ADAPTERS, **{f"{number}.txt": b"" for number in range(60)}}
    path = tmp_path / f"a.{kind}"
    a_zip(path, members) if kind == "zip" else a_tar(path, *members.items())
    with pytest.raises(Unreadable, match="more than 50 files"):
        taken(path)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_as_many_members_as_allowed_are_accepted(tmp_path: Path, kind: str) -> None:
    """The limit of `SMALL` is fifty."""
    members = {"adapters.py": ADAPTERS, **{f"{number}.txt": b"" for number in range(49)}}
    path = tmp_path / f"a.{kind}"
    a_zip(path, members) if kind == "zip" else a_tar(path, *members.items())
    assert "adapters.py" in copied(taken(path))


def test_a_table_of_contents_that_is_too_long_is_not_even_read(tmp_path: Path) -> None:
    """`zipfile` creates an object for each entry before anyone can count them."""
    path = a_zip(tmp_path / "a.zip", {f"{number:0200}.txt": b"" for number in range(3000)})
    with pytest.raises(Unreadable, match="too many files"):
        taken(path)


def test_a_member_whose_description_never_ends_is_refused(tmp_path: Path) -> None:
    """`tarfile` reads a member's extended header into memory, whatever its claimed length."""
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 2_500_000
    with gzip.open(tmp_path / "a.tar.gz", "wb") as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT) + bytes(2_500_000))
    with pytest.raises(Unreadable, match="description of a member never ends"):
        taken(tmp_path / "a.tar.gz")


def test_a_sparse_member_is_refused(tmp_path: Path) -> None:
    """A few bytes may stand for terabytes of zeros."""
    info = tarfile.TarInfo("sparse.bin")
    info.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(1 << 50)}
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
    with pytest.raises(Unreadable, match="sparse"):
        taken(tmp_path / "a.tar")


def test_an_encrypted_zip_is_refused_with_advice(tmp_path: Path) -> None:
    """The flag is checked before any content, so the test sets only the flag."""
    path = a_zip(tmp_path / "a.zip", {"adapters.py": ADAPTERS})
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=r"encrypted.*without a password"):
        taken(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_compression_in_a_zip_is_refused(tmp_path: Path, method: int) -> None:
    """`zipfile` unpacks blocks of these methods without a size limit."""
    path = a_zip(tmp_path / "a.zip", {"adapters.py": ADAPTERS}, method)
    with pytest.raises(Unreadable, match="unusual way"):
        taken(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "an empty file"),
        (b"PK\x03\x04 and then nothing", "damaged"),
        (b"hello, world", "damaged or no zip or tar"),
        (b"\x1f\x8b\x08 and then nothing", "damaged"),
        (b"Rar!\x1a\x07\x01\x00", "RAR.*hand in"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
        (bytes(3_100_000), "larger than"),
    ],
    ids=["empty", "zip", "text", "gzip", "rar", "7z", "large"],
)
def test_a_file_that_is_no_archive_is_unreadable(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    """One sentence says what the file is instead."""
    (tmp_path / "alice.zip").write_bytes(content)
    with pytest.raises(Unreadable, match=reason) as caught:
        taken(tmp_path / "alice.zip")
    assert "\n" not in str(caught.value)


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tar.xz", "tar"])
def test_an_archive_damaged_anywhere_is_read_or_refused(tmp_path: Path, kind: str) -> None:
    """Damage at any byte raises `Unreadable`, never another exception."""
    path = tmp_path / f"whole.{kind}"
    members = {"adapters.py": ADAPTERS, "x.py": b"x = 1\n"}
    mode = "w" if kind == "tar" else f"w:{kind[4:]}"
    a_zip(path, members) if kind == "zip" else a_tar(path, *members.items(), mode=mode)
    whole = path.read_bytes()
    step = max(1, len(whole) // 80)
    for number, place in enumerate(range(0, len(whole), step)):
        changed = bytearray(whole)
        changed[place] ^= 0xFF
        for name, content in (("cut", whole[:place]), ("changed", bytes(changed))):
            (folder := tmp_path / f"{name}{number}").mkdir()
            (folder / f"a.{kind}").write_bytes(content)
            with contextlib.suppress(Unreadable):
                taken(folder / f"a.{kind}")


def test_an_empty_archive_is_unreadable(tmp_path: Path) -> None:
    """An empty folder is unreadable too."""
    with pytest.raises(Unreadable, match="empty"):
        taken(a_zip(tmp_path / "a.zip", {}))
