"""Similarity: disguised copies are found, and shared stubs are no sign of copying."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from playwright.sync_api import Browser

from benchmarks.alike_corpus import by_hand, disguised, independent
from grader.cli.command_line import cli
from grader.core.assignment import find_assignment
from grader.core.submission import Unreadable
from grader.core.text import Refusal
from grader.intake.discovery import single
from grader.reports.similarity.comparison import SimilarPairs, compare, write_alike
from grader.reports.similarity.process import tokens
from grader.reports.similarity.sources import SourcesClient
from grader.results.store import Store
from tests.harness.pages_browser import LOOKS, opened
from tests.harness.storing import store_submissions

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
ASSIGNMENT = find_assignment(ROOT)


def write_programs(folder: Path, programs: dict[str, dict[str, str]]) -> Path:
    for name, files in programs.items():
        for path, text in files.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text, encoding="utf-8")
    return folder


def compared_tokens(source: str) -> list[str]:
    return [token.text for token in tokens([source])[0]]


def store_results(folder: Path, out: Path) -> Path:
    return store_submissions(folder, out, ASSIGNMENT.name)


def compared(place: Path, programs: dict[str, dict[str, str]], most: int = 30) -> SimilarPairs:
    """Returns the comparison of a class of these programs."""
    results = store_results(write_programs(place / "class", programs), place / "results")
    return compare(Store.read(results), ASSIGNMENT, most=most)


@pytest.mark.unit
def test_renaming_comments_annotations_and_layout_change_no_token():
    """These are the first things that a copier changes."""
    one = "import torch\ndef f(q, k):\n    s = torch.matmul(q, k)  # scores\n    return s\n"
    other = (
        "from torch import matmul\n\ndef attend(a: int,\n    b: int = 3) -> int:\n"
        '    """Why."""\n    result: int = matmul(\n        a, b)\n    return result\n'
    )
    assert compared_tokens(one) == compared_tokens(other.replace(" = 3", ""))


@pytest.mark.unit
def test_names_of_library_functions_are_compared():
    """A copy cannot rename the library's functions, and different programs call different ones."""
    assert compared_tokens("y = torch.tril(x)") != compared_tokens("y = torch.triu(x)")
    assert compared_tokens("y = x.softmax(-1)") != compared_tokens("y = x.sum(-1)")


def test_disguised_copies_rank_before_independent_programs(tmp_path: Path):
    """A copy is renamed, reordered, commented, partly einsum or split into two files.

    It comes before all pairs of independent programs.
    """
    people = [*by_hand()]
    programs = independent(len(people) + 20)
    copied = ["two_files", people[0], "student-0003", "student-0015"]
    copies = {f"copy-of-{name}": disguised(programs[name], n) for n, name in enumerate(copied)}
    found = compared(tmp_path, programs | copies, most=6)
    pairs = [{pair.one.name, pair.other.name} for pair in found.pairs]
    assert all({name, f"copy-of-{name}"} in pairs[:4] for name in copied)
    assert found.pairs[3].pair.similarity > found.pairs[4].pair.similarity + 0.05
    assert found.pairs[0].lines[0]


def test_a_submission_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Reading costs most, and a hostile submission can make it slow."""
    texts = [*independent(3).values()][:2]
    programs = {f"copy-{number}": texts[number % 2] for number in range(6)}
    programs["empty"] = {"adapters.py": "x = 1\n"}
    read: list[str] = []
    original = SourcesClient.read

    def counted(self, entry, *args, **kwargs):
        read.append(entry.name)
        return original(self, entry, *args, **kwargs)

    monkeypatch.setattr(SourcesClient, "read", counted)
    found = compared(tmp_path, programs)
    assert len(found.pairs) >= len(programs) - 1
    assert found.pairs[0].one.sources.files[0].text
    assert {name: read.count(name) for name in programs} == dict.fromkeys(programs, 1)


def test_code_from_the_handout_is_not_reported_as_similar(tmp_path: Path):
    """All submissions begin with the same stubs, and contain the public tests and their code."""
    files = [ROOT / "adapters.py", *sorted((ROOT / "assignment").glob("*.py"))]
    stubs = {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files}
    programs = {"ann": stubs, "bob": stubs | {"own.py": "answer = 42\n"}}
    assert not compared(tmp_path, programs).pairs


def test_submissions_are_compared_with_an_earlier_class_and_a_repository(tmp_path: Path):
    """A copy may come from last year's class or a public repository.

    Those two are not compared with each other.
    """
    programs = independent(45)
    mine = {name: programs[name] for name in [*programs][:6]}
    first, second = [*mine][1], [*mine][2]
    old = {"last-year": disguised(programs[first], 1), "twin": disguised(programs[first], 2)}
    repository = (
        write_programs(tmp_path / "net", {"clone": disguised(programs[second], 3)}) / "clone"
    )
    results = store_results(write_programs(tmp_path / "class", mine), tmp_path / "results")
    earlier = write_programs(tmp_path / "earlier", old)
    found = compare(Store.read(results), ASSIGNMENT, [earlier], [repository], most=5)
    top = [(pair.one.name, pair.other.name, pair.other.origin) for pair in found.pairs[:3]]
    assert set(top) == {
        (first, "last-year", "earlier"),
        (first, "twin", "earlier"),
        (second, "clone", "repository"),
    }


def test_a_moved_class_is_reported_in_one_sentence(tmp_path: Path):
    """An earlier class's folder may have been moved: the present class is still compared."""
    programs = {name: files for name, files in [*independent(4).items()][:3]}
    results = store_results(write_programs(tmp_path / "class", programs), tmp_path / "results")
    gone = store_results(
        write_programs(tmp_path / "old", {"zoe": next(iter(programs.values()))}), tmp_path / "past"
    )
    (tmp_path / "old").rename(tmp_path / "moved")
    found = compare(Store.read(results), ASSIGNMENT, [gone])
    assert len(found.remarks) == 1
    assert "are no longer where they were graded" in found.remarks[0]
    (tmp_path / "class").rename(tmp_path / "away")
    said = CliRunner().invoke(cli, ["alike", str(results), "--assignment", str(ROOT)])
    assert said.exit_code != 0
    assert "are no longer where they were graded" in str(said.exception)


def test_each_submission_that_is_not_compared_is_named(tmp_path: Path):
    """One may be gone or unreadable. Those that cannot be read count in no median."""
    code = "def f(q, k):\n    s = torch.einsum('qd,kd->qk', q, k)\n    return s.softmax(-1)\n"
    renamed = re.sub(r"\b(?:f|q|k|s)\b(?!d|')", lambda name: name[0] + "_", code)
    given = "def given(x):\n    return torch.triu(x, 1).masked_fill(x > 3, 0.5)\n"
    folder = write_programs(
        tmp_path / "class",
        {
            "ann": {"adapters.py": code, "theirs.py": given},
            "bob": {"adapters.py": renamed, "theirs.py": given},
            "cem": {"adapters.py": "x = 1\n"},
            "lost": {"adapters.py": code},
        },
    )
    (folder / "odd.zip").write_bytes(b"this is no archive")
    (handed_out := tmp_path / "theirs.py").write_text(given)
    results = Store.read(store_results(folder, tmp_path / "results"))
    shutil.rmtree(folder / "lost")
    earlier = write_programs(tmp_path / "earlier", {"zoe": {"adapters.py": "x = 1\n"}})
    seen: list[int] = []
    found = compare(results, ASSIGNMENT, [folder, earlier], given=[handed_out], advance=seen.append)
    assert found.remarks == (
        "gone since they were graded, and not compared: lost",
        "could not be read, and not compared: odd",
    )
    assert (found.read, found.others, seen) == (3, 1, [5] * 5)
    (pair,) = found.pairs
    assert {pair.one.name, pair.other.name} == {"ann", "bob"}
    assert [file.name for side in (pair.one, pair.other) for file in side.sources.files] == [
        "adapters.py"
    ] * 2
    assert pair.pair.share_of_one == pytest.approx(1.0)
    assert pair.lines[0] == {(0, 1), (0, 2), (0, 3)}
    assert found.usual == pytest.approx(pair.pair.similarity)
    nowhere = [tmp_path / "nowhere"]
    for places in ({"others": nowhere}, {"repositories": nowhere}, {"given": nowhere}):
        with pytest.raises(Refusal, match="does not exist"):
            compare(results, ASSIGNMENT, **places)


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 3000 + ")" * 3000,
        "x = " + "-" * 200_000 + "1",
        "\n".join(f"a{n} = {n}" for n in range(120_000)),
        "x = '''" + "\\" * 19_000,
        "\0\0\0 = \ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
    ],
    ids=["nested", "long line", "too much", "open text", "no text"],
)
def test_hostile_sources_stay_within_the_bounds(tmp_path: Path, text: str):
    """Too much source is left out, or ends a process that holds nothing secret."""
    entry = single(
        write_programs(tmp_path, {"one": {"adapters.py": text, "b.py": "y = f(3, 4) + 5"}})
    )
    (tmp_path / "into").mkdir()
    with SourcesClient() as client, contextlib.suppress(Unreadable):
        assert len(client.read(entry, tmp_path / "into").prints) <= 60_000


def test_similarity_pages_show_both_sources_with_markup_escaped(tmp_path: Path):
    """Hostile source text is escaped, and a page fetches nothing."""
    programs = independent(3)
    name = next(iter(programs))
    programs["copy"] = disguised(programs[name], 0)
    evil = "</span><script>alert(1)</script>"
    programs["copy"]["adapters.py"] += f"\n# {evil}\n"
    results = store_results(write_programs(tmp_path / "class", programs), tmp_path / "results")
    arguments = ["alike", str(results), "--assignment", str(ROOT)]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert f"alike: {results / 'alike' / 'index.html'}" in done.output
    index = (results / "alike" / "index.html").read_text("utf-8")
    page = (results / "alike" / "pairs" / "001.html").read_text("utf-8")
    assert "Similar code need not be copied" in index
    assert name in page
    assert "copy" in page
    assert evil not in page
    assert 'class="shared"' in page


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "size"), LOOKS)
def test_similarity_pages_are_accessible_on_every_screen(
    chromium: Browser, tmp_path: Path, scheme: str, size: dict
):
    """Axe finds no serious fault, and nothing is cut off on a phone."""
    programs = independent(3)
    programs["copy"] = disguised(programs[next(iter(programs))], 0)
    found = compared(tmp_path, programs)
    index = write_alike("attention", found, tmp_path / "alike")
    for file in (index, index.parent / "pairs" / "001.html"):
        with opened(chromium, file, color_scheme=scheme, viewport=size) as shown:
            width = shown.page.evaluate("document.documentElement.scrollWidth")
            violations = Axe().run(shown.page).response["violations"]
        assert width <= size["width"]
        serious = [one for one in violations if one["impact"] in ("serious", "critical")]
        assert not serious, [(one["id"], one["nodes"][0]["html"][:200]) for one in serious]
