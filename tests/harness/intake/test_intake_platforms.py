"""Downloads of course platforms: recognised as they are, and attributed to their authors."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.core.submission import Author, Submission, Unreadable
from grader.intake.discovery import discover
from grader.intake.entry import Discovery, Entry
from grader.intake.handed_in import fingerprint, handed_in
from grader.intake.process import take_in

pytestmark = pytest.mark.unit

ADAPTERS = "def run_softmax(in_features, dim): return {}\n"


def code(answer: int = 1) -> bytes:
    return ADAPTERS.format(answer).encode()


def a_zip(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def zipped(tmp_path: Path, members: Mapping[str, bytes]) -> bytes:
    return a_zip(tmp_path / "inner.zip", members).read_bytes()


def laid_out(folder: Path, members: Mapping[str, bytes]) -> Path:
    for name, content in members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


@pytest.fixture(params=["zipped", "unpacked"])
def download(request: pytest.FixtureRequest, tmp_path: Path):
    """A function that makes a download, as a zip or as a folder."""

    def make(members: Mapping[str, bytes]) -> Path:
        (tmp_path / "downloads").mkdir()
        if request.param == "zipped":
            return a_zip(tmp_path / "downloads/submissions.zip", members)
        laid_out(tmp_path / "downloads/submissions", members)
        (tmp_path / "downloads/submissions/.DS_Store").write_bytes(b"x")
        return tmp_path / "downloads/submissions"

    return make


def by_name(found: Discovery) -> dict[str, Entry]:
    return {entry.name: entry for entry in found.entries}


def taken(entry: Entry, tmp_path: Path) -> Submission:
    into = tmp_path / f"into {entry.name}"
    into.mkdir()
    return take_in(entry, into)


def answer(entry: Entry, tmp_path: Path) -> str:
    submission = taken(entry, tmp_path)
    return (submission.root / submission.adapters).read_text().rpartition(" ")[2].strip()


def test_a_canvas_download_is_recognised_and_attributed(download, tmp_path: Path) -> None:
    """A file name holds the person, "LATE", the user's id, the attachment's id, the file's name."""
    found = discover(
        [
            download(
                {
                    "doejane_123_4567_attention.zip": zipped(tmp_path, {"adapters.py": code()}),
                    "roejohn_LATE_124_4568_adapters.py": code(2),
                    "müllerzoë_125_4569_work.ipynb": b"{}",
                    "o_neil_126_4570_a_1_2_b.py": code(3),
                    "LATE_anon_aB3xY_4571_adapters.py": code(4),
                    "anon_cD4zZ_4572_adapters.py": code(5),
                    "__MACOSX/._x": b"x",
                }
            )
        ]
    )
    assert found.kinds == ("Canvas download, 6 submissions, 2 late",)
    assert found.skipped == ()
    entries = by_name(found)
    assert [*entries] == [
        "anon_aB3xY", "anon_cD4zZ", "doejane_123", "müllerzoë_125", "o_neil_126", "roejohn_124",
    ]  # fmt: skip
    assert entries["doejane_123"].authors == (Author("doejane", "123"),)
    assert entries["anon_aB3xY"].authors == (Author(id="anon_aB3xY"),)
    assert [name for name, entry in entries.items() if entry.late] == ["anon_aB3xY", "roejohn_124"]
    assert answer(entries["doejane_123"], tmp_path) == "1"
    assert answer(entries["roejohn_124"], tmp_path) == "2"
    assert answer(entries["o_neil_126"], tmp_path) == "3"


def test_the_latest_resubmission_on_canvas_counts(download, tmp_path: Path) -> None:
    """Canvas numbers repeated names; a late file is newer, and a new zip replaces the old one."""
    path = download(
        {
            "doejane_123_4567_adapters.py": code(1),
            "doejane_123_4600_adapters-2.py": code(3),
            "doejane_123_4580_adapters-1.py": code(2),
            "roejohn_124_4568_adapters.py": code(1),
            "roejohn_LATE_124_4700_adapters.py": code(2),
            "poeann_125_4800_old.zip": zipped(tmp_path, {"adapters.py": code(1)}),
            "poeann_125_4900_new.zip": zipped(tmp_path, {"adapters.py": code(2)}),
            "loefay_126_4901_adapters-1.py": code(1),
        }
    )
    found = discover([path])
    assert found.kinds == ("Canvas download, 4 submissions, 1 late, 3 resubmitted: latest taken",)
    assert sorted(skipped.path.name for skipped in found.skipped) == [
        "doejane_123_4567_adapters.py",
        "doejane_123_4580_adapters-1.py",
        "poeann_125_4800_old.zip",
        "roejohn_124_4568_adapters.py",
    ]
    assert found.skipped[0].reason == "handed in again: the latest of doejane_123 counts"
    answers = {name: answer(entry, tmp_path) for name, entry in by_name(found).items()}
    assert answers == {"doejane_123": "3", "roejohn_124": "2", "poeann_125": "2", "loefay_126": "1"}


def test_a_later_download_of_the_same_class_takes_precedence(tmp_path: Path) -> None:
    """Instructors download again for late work; the order of the paths does not matter."""
    own = {"doejane_1_10_adapters.py": code(1), "doejane_1_11_model.py": code()}
    early = a_zip(tmp_path / "a.zip", {**own, "x_2_12_a.py": code()})
    late = a_zip(tmp_path / "b.zip", {"doejane_1_20_adapters-1.py": code(2)})
    for paths in ([early, late], [late, early]):
        found = discover(paths)
        assert [entry.name for entry in found.entries] == ["doejane_1", "x_2"]
        assert [skipped.path.name for skipped in found.skipped] == [*own]
        assert {skipped.later for skipped in found.skipped} == {"doejane_1"}
        assert found.entries[0].path == late
    assert answer(found.entries[0], tmp_path) == "2"
    assert not found.notes


def test_a_submission_of_two_downloads_was_not_handed_in_again(tmp_path: Path) -> None:
    """A later download holds the whole class; only those who handed in again are listed."""
    first = {"doejane_1_10_adapters.py": code(1), "roejohn_2_11_a.py": code(), "x_3_12_a.py": ""}
    early = a_zip(tmp_path / "a.zip", first)
    late = a_zip(tmp_path / "b.zip", {**first, "doejane_1_20_adapters-1.py": code(2)})
    found = discover([early, late])
    assert {skipped.later for skipped in found.skipped} == {"doejane_1"}
    assert found.notes == ("2 submissions are the same in several downloads: taken once.",)


def test_several_files_of_one_person_on_canvas_are_one_submission(download, tmp_path: Path) -> None:
    """The files import each other under their original names."""
    path = download(
        {
            "doejane_123_1_adapters-1.py": b"from attention import run_softmax\n",
            "doejane_123_2_attention-1.py": code(),
            "doejane_123_3_report.pdf": b"%PDF",
            "roejohn_124_4_work.zip": zipped(tmp_path, {"work/adapters.py": code(7)}),
            "roejohn_124_5_report.pdf": b"%PDF",
            "poeann_125_6_attention.py": code(8),
            "poeann_125_7_report.pdf": b"%PDF",
        }
    )
    entries = by_name(discover([path]))
    submission = taken(entries["doejane_123"], tmp_path)
    there = {file.name for file in submission.root.iterdir()}
    assert there == {"adapters.py", "attention.py", "report.pdf"}
    submission = taken(entries["roejohn_124"], tmp_path)
    assert submission.notes == ("Left out (beside work.zip): report.pdf.",)
    assert answer(entries["poeann_125"], tmp_path) == "8"


def test_text_typed_into_canvas_is_unreadable_with_that_reason(download, tmp_path: Path) -> None:
    """The student must learn why the typed text earns nothing."""
    found = discover([download({"doejane_123_text.html": b"<p>", "r_LATE_4_link.html": b"<a>"})])
    assert found.kinds == ("Canvas download, 2 submissions, 1 late",)
    doe, roe = found.entries
    with pytest.raises(Unreadable, match="typed into the platform"):
        taken(doe, tmp_path)
    with pytest.raises(Unreadable, match="a web address"):
        taken(roe, tmp_path)


def test_other_files_in_a_canvas_download_are_skipped(tmp_path: Path) -> None:
    """One stray file does not turn the download into a plain folder of submissions."""
    folder = laid_out(
        tmp_path / "d",
        {"a_1_2_a.py": code(), "b_2_3_a.py": code(), "grades.csv": b"", "notes_3.txt": b""},
    )
    found = discover([folder])
    assert [entry.name for entry in found.entries] == ["a_1", "b_2"]
    reasons = {skipped.path.name: skipped.reason for skipped in found.skipped}
    assert reasons == dict.fromkeys(
        ["grades.csv", "notes_3.txt"], "not named as Canvas names submissions"
    )


MOODLE = {
    "Jane Doe_123_assignsubmission_file/attention.zip": None,
    "Jane Doe_123_assignsubmission_onlinetext/onlinetext.html": b"<p>see the file</p>",
    "Jané Ó'Roe_124_assignsubmission_file/src/lib/helper.py": b"x = 1\n",
    "Jané Ó'Roe_124_assignsubmission_file/adapters.py": code(2),
    "Participant_125_assignsubmission_file/adapters.py": code(3),
    "Group A_7_assignsubmission_file/adapters.py": code(4),
    "Default group_assignsubmission_file/adapters.py": code(5),
    "Ann Poe_126_assignsubmission_onlinetext/onlinetext.html": b"<p>sorry</p>",
}


def test_a_moodle_download_with_folders_is_recognised_and_attributed(
    download, tmp_path: Path
) -> None:
    """Uploads and typed texts have separate folders, for people, teams and the default group."""
    inner = zipped(tmp_path, {"work/adapters.py": code(1)})
    members = {name: inner if content is None else content for name, content in MOODLE.items()}
    found = discover([download(members)])
    assert found.kinds == ("Moodle download, 6 submissions",)
    entries = by_name(found)
    assert [*entries] == [
        "Ann Poe_126", "Default group", "Group A_7", "Jane Doe_123", "Jané Ó'Roe_124",
        "Participant_125",
    ]  # fmt: skip
    assert entries["Jane Doe_123"].authors == (Author("Jane Doe", "123"),)
    assert entries["Default group"].authors == (Author("Default group"),)
    assert taken(entries["Jané Ó'Roe_124"], tmp_path).adapters == "adapters.py"
    assert answer(entries["Jane Doe_123"], tmp_path) == "1"
    assert answer(entries["Default group"], tmp_path) == "5"
    with pytest.raises(Unreadable, match="typed into the platform"):
        taken(entries["Ann Poe_126"], tmp_path)


def test_a_moodle_download_without_folders_is_recognised_and_attributed(
    download, tmp_path: Path
) -> None:
    """Every file name begins with its owner."""
    members = {
        "Jane Doe_123_assignsubmission_file_adapters.py": b"from own_part import run_softmax\n",
        "Jane Doe_123_assignsubmission_file_own_part.py": code(1),
        "Jane Doe_123_assignsubmission_onlinetext_onlinetext.html": b"<p>",
        "Participant_125_assignsubmission_file_my_work.py": code(3),
    }
    found = discover([download(members)])
    assert found.kinds == ("Moodle download, 2 submissions",)
    jane, participant = found.entries
    assert answer(participant, tmp_path) == "3"
    there = {file.name for file in taken(jane, tmp_path).root.iterdir()}
    assert there == {"adapters.py", "own_part.py", "onlinetext.html"}


MOODLE_FLAT = [f"{name}_assignsubmission_file_a.py" for name in ("Ann_1", "Jane Doe_2", "Jim_3")]
CANVAS_FLAT = ["poeann_1_101_a.py", "doejane_2_102_a.py", "roejim_3_103_a.py"]


@pytest.mark.parametrize(
    ("honest", "forged"),
    [
        (MOODLE_FLAT, "Bob_4_assignsubmission_file_{}_assignsubmission_x.py"),
        (MOODLE_FLAT, "Bob_4_assignsubmission_file_{}_2_x.py"),
        (MOODLE_FLAT, "Bob_4_assignsubmission_file_{}_2_assignsubmission_x.py"),
        (CANVAS_FLAT, "roebob_4_10{}_assignsubmission_file_x.py"),
    ],
)
def test_file_names_of_one_person_do_not_hide_the_platform(
    download, tmp_path: Path, honest: list[str], forged: str
) -> None:
    """Every other name is the platform's, and keeps its author."""
    names = [*honest, *(forged.format(number) for number in range(4, 8))]
    found = discover([download({name: code() for name in names})])
    assert found.kinds[0].startswith("Moodle" if honest is MOODLE_FLAT else "Canvas")
    by_id = {author.id: entry for entry in found.entries for author in entry.authors}
    assert [answer(by_id[number], tmp_path) for number in ("1", "2", "3")] == ["1", "1", "1"]
    assert all(item.later for item in found.skipped)
    unsure = [entry for entry in found.entries if not entry.authors]
    assert len(unsure) == len(found.notes) == (4 if "assignsubmission_x" in forged else 0)


def test_a_moodle_download_that_was_zipped_again_on_windows_is_read(tmp_path: Path) -> None:
    """Some Windows programs separate folders by backslashes."""
    members = {
        "Jane Doe_123_assignsubmission_file\\src\\part.py": b"x = 1\n",
        "Jane Doe_123_assignsubmission_file\\adapters.py": code(4),
    }
    (entry,) = discover([a_zip(tmp_path / "d.zip", members)]).entries
    assert entry.name == "Jane Doe_123"
    assert answer(entry, tmp_path) == "4"


@pytest.mark.parametrize(
    "name",
    [
        "doejane_1_2_..",
        "doejane_1_2_../../evil.py",
        "doejane_1_2_/etc/evil.py",
        "doejane_1_2_..\\e.py",
    ],
)
def test_a_file_name_outside_of_a_download_affects_only_its_own_submission(
    tmp_path: Path, name: str
) -> None:
    """One student's file name must not cost the class its grades."""
    members = {name: code(), "roejohn_2_3_adapters.py": code(2), "poeann_3_4_adapters.py": code()}
    found = discover([a_zip(tmp_path / "d.zip", members)])
    entries = by_name(found)
    assert answer(entries["roejohn_2"], tmp_path) == "2"
    assert not [*tmp_path.rglob("evil.py")]
    if "doejane_1" in entries:
        with pytest.raises(Unreadable):
            taken(entries["doejane_1"], tmp_path)


def test_names_in_a_download_are_fit_to_print(tmp_path: Path) -> None:
    """The names appear in terminals, tables and pages."""
    members = {
        "d\x1b[31moe_1_2_adapters.py": code(),
        "[bold]roe_2_3_adapters.py": code(),
        "p\u202eoe_3_4_adapters.py": code(),
    }
    found = discover([a_zip(tmp_path / "d.zip", members)])
    assert all(entry.name.isprintable() for entry in found.entries)
    assert all(author.name.isprintable() for e in found.entries for author in e.authors)
    assert len(found.entries) == 3


@pytest.mark.process(takes="a second")
def test_a_bomb_in_a_download_is_one_unreadable_submission(tmp_path: Path) -> None:
    """The other submissions are graded, and the bomb is not unpacked."""
    path = tmp_path / "d.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("doejane_1_2_work.zip", "w", force_zip64=True) as member:
            for _ in range(513):
                member.write(bytes(1 << 20))
        archive.writestr("roejohn_2_3_adapters.py", code(2))
    jane, john = discover([path]).entries
    with pytest.raises(Unreadable, match=r"work\.zip \(513 MB\)"):
        taken(jane, tmp_path)
    assert answer(john, tmp_path) == "2"


def test_links_in_a_download_are_not_followed(tmp_path: Path) -> None:
    """A link may lead to another student's work, or to the instructor's files."""
    folder = laid_out(tmp_path / "d", {"a_1_2_adapters.py": code(), "b_2_3_adapters.py": code()})
    (tmp_path / "secret.py").write_bytes(code())
    (folder / "c_3_4_adapters.py").symlink_to(tmp_path / "secret.py")
    entries = by_name(discover([folder]))
    assert [*entries] == ["a_1", "b_2"]


def test_the_same_submission_has_the_same_hash_zipped_and_unpacked(tmp_path: Path) -> None:
    """Unpacking a download causes no second grading, but a changed file does."""
    members = {
        "Jane Doe_1_assignsubmission_file_adapters.py": code(),
        "Jane Doe_1_assignsubmission_file_more.py": code(),
    }
    (in_zip,) = discover([a_zip(tmp_path / "d.zip", members)]).entries
    (in_folder,) = discover([laid_out(tmp_path / "d", members)]).entries
    assert fingerprint(in_zip) == fingerprint(in_folder)
    laid_out(tmp_path / "d", {"Jane Doe_1_assignsubmission_file_more.py": code(2)})
    assert fingerprint(in_zip) != fingerprint(in_folder)
    a_zip(tmp_path / "d.zip", {})
    assert fingerprint(in_zip) != fingerprint(in_folder)


def test_an_archive_alone_in_a_folder_is_the_submission(tmp_path: Path) -> None:
    """This also holds in a plain folder. Code beside the archive takes precedence."""
    inner = zipped(tmp_path, {"work/adapters.py": code(1)})
    folder = laid_out(
        tmp_path / "class",
        {
            "alice/sub/work.zip": inner,
            "bob/work.zip": inner,
            "bob/adapters.py": code(2),
            "cem/README.md": b"see hw1",
            "cem/hw1/work.zip": inner,
            "dan/adapters.py": code(4),
            "dan/data/work.zip": inner,
        },
    )
    alice, bob, cem, dan = discover([folder]).entries
    before = fingerprint(alice)
    assert [answer(one, tmp_path) for one in (alice, bob, cem, dan)] == ["1", "2", "1", "4"]
    with handed_in(cem) as found:
        assert found.left_out == ("Left out (beside work.zip): README.md.",)
    inner = zipped(tmp_path, {"work/adapters.py": code(3)})
    laid_out(tmp_path / "class", {"alice/sub/work.zip": inner})
    assert fingerprint(alice) != before


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + bytes(18), b"PK\x03\x04 cut off"])
def test_a_zip_that_is_no_download_is_one_submission(tmp_path: Path, content: bytes) -> None:
    """Even an empty or damaged zip is one submission."""
    (tmp_path / "alice.zip").write_bytes(content)
    found = discover([tmp_path / "alice.zip"])
    assert [entry.name for entry in found.entries] == ["alice"]
    assert found.kinds == ()


RUN = b"def run_x(): return 1\n"
METADATA = b"submission_1:\n  :submitters:\n  - :name: Alice\n    :email: a@x.example\n"
FORGED: dict[str, dict[str, bytes]] = {
    "Gradescope": {"submission_metadata.yml": METADATA, "submission_1/adapters.py": RUN},
    "Gradescope, below": {
        "assignment_1_export/submission_metadata.yml": METADATA,
        "assignment_1_export/submission_1/adapters.py": RUN,
    },
    "Canvas": {"alicea_7_8_adapters.py": RUN, "alicea_7_9_core.py": RUN},
    "Canvas, late": {"alicea_LATE_7_8_adapters.py": RUN},
    "Moodle": {"Alice A_7_assignsubmission_file/adapters.py": RUN},
    "Moodle, flat": {"Alice A_7_assignsubmission_file_adapters.py": RUN},
    "Classroom": {
        "hw-alice/.git/HEAD": b"",
        "hw-alice/adapters.py": RUN,
        "hw-bob/.git/HEAD": b"",
    },
}


@pytest.mark.parametrize("is_zip", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("platform", FORGED)
def test_files_in_a_submission_never_make_it_a_download(
    tmp_path: Path, platform: str, is_zip: bool
) -> None:
    """Even in a single submission, all files belong to its author, whatever their names."""
    (tmp_path / "class").mkdir()
    if is_zip:
        a_zip(tmp_path / "class/mallory.zip", FORGED[platform])
    else:
        laid_out(tmp_path / "class/mallory", FORGED[platform])
    found = discover([tmp_path / "class"])
    assert [(entry.name, entry.authors) for entry in found.entries] == [("mallory", ())]
    if is_zip or "below" not in platform:
        assert "looks like a platform's download" in found.notes[0]


@pytest.mark.parametrize("plugin", ["file", "onlinetext"])
@pytest.mark.parametrize("name", ["Alice A_7_assignsubmission_file", "Alice A_7_assignsubmission"])
def test_a_person_named_like_a_moodle_folder_keeps_their_own_submission(
    tmp_path: Path, name: str, plugin: str
) -> None:
    """Only the end of a folder's name comes from Moodle."""
    for folder in (f"{name}_66_assignsubmission_{plugin}", "Alice A_7_assignsubmission_file"):
        laid_out(tmp_path / folder, {"adapters.py": RUN})
    numbers = {entry.authors[0].id: entry.authors[0].name for entry in discover([tmp_path]).entries}
    assert numbers == {"66": name, "7": "Alice A"}
