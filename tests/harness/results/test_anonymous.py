"""Anonymous grading: pages show numbers in place of names, and decisions reach the right person."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner, Result

from grader.cli.command_line import cli
from grader.core.evidence import Excerpt
from grader.core.submission import Author
from grader.core.verdict import Grade
from grader.reports.pages.class_data import Graded
from grader.results.anonymous import AnonymousResults, Mask, numbered
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settling import effects
from grader.results.results import People, Results
from grader.results.store import Store
from tests.harness.pages_fixtures import a_class, a_submission, store_class, suite
from tests.harness.storing import add

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
FIRST = ("Ada", "Bo", "Chiara", "Dmitri", "Elif", "Fatou", "Max", "Hana")
LAST = ("Achebe", "Berg", "Çelik", "Diaz", "Fischer", "Garcia-Ruiz", "O'Neil", "Kim")


def run_grader(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, arguments)], catch_exceptions=False)


def a_talkative_class(count: int) -> Iterator[tuple[Grade, Author]]:
    """Yields submissions whose names and people appear in every text that a submission controls."""
    rng, tests = random.Random(5), suite(8, 9)
    for number in range(count):
        first, last = FIRST[number % len(FIRST)], LAST[number // len(FIRST)]
        name = f"{last}{first}".lower().replace("'", "") + f"_{10_000 + 7 * number}"
        author = Author(f"{first} {last}", f"{880_000 + number}", f"{first}.{last}@x.edu".lower())
        grade = a_submission(tests, number, rng)
        said = f"{author.name} ({author.email}, {author.id}) of {name}"
        told = tuple(
            test._replace(message=f"{test.message}\n{said}") if test.message else test
            for test in grade.tests
        )
        excerpts = (*grade.evidence.excerpts, Excerpt(f"{name}.py", 1, (f"# by {said}", "x = 1")))
        evidence = replace(grade.evidence, printed=f"hello from {last}, {first}", excerpts=excerpts)
        notes = (f"Left out (beside {name}.zip): essay of {author.name}.pdf",)
        yield (
            replace(grade, submission=name, tests=told, evidence=evidence, notes=notes),
            author,
        )


def store_talkative_class(folder: Path, count: int = 40) -> Path:
    with Store.open(folder, "attention") as store:
        people = {}
        for place, (grade, author) in enumerate(a_talkative_class(count)):
            add(store, grade, "key", place)
            people[grade.submission] = [author]
        absent = Author("Wanda Absent", "990001", "wanda@x.edu")
        store.set_people(People(people, [*people][3::9], [absent]))
    return folder


def all_names(results: Results) -> set[str]:
    """Returns every name, id and address of submissions and people, in all spellings."""
    people = [
        *(a for own in results.people.authors.values() for a in own),
        *results.people.absentees,
    ]
    names = {*results.submissions()}
    turned = {", ".join(reversed(person.name.split())) for person in people}
    return names | turned | {t for a in people for t in (a.name, a.id, a.email)}


@pytest.mark.process(takes="a second")
def test_an_anonymous_report_contains_no_name(tmp_path: Path):
    """The test searches everything: texts, titles, data, file names, sources and comments."""
    folder = store_talkative_class(tmp_path / "results")
    results = Store.read(folder)
    name, (author, *_) = next(iter(results.people.authors.items()))
    (folder / "decisions.toml").write_text(
        f'[[points]]\nperson = "{name}"\nby = 1\nreason = "{name} was right"\n'
        f'[[comment]]\nperson = "{name}"\ntext = "Well done, {author.name}"\n'
    )
    done = run_grader("report", folder, "--anonymous")
    assert "are not replaced" in done.output
    report = folder / "report-anonymous"
    pages = [path for path in report.rglob("*") if path.is_file()]
    assert len(pages) == 41
    text = "\n".join(f"{path.name}\n{path.read_text('utf-8')}" for path in pages).casefold()
    text = text.replace("&#39;", "'")
    found = [word for word in all_names(results) if word.casefold() in text]
    assert not found
    assert text.count("submission ") > 40


def test_an_anonymous_report_compares_no_batches(tmp_path: Path):
    """One sentence says so."""
    folder = store_class(tmp_path / "before", a_class(3))
    arguments = ["report", str(folder), "--against", str(folder), "--anonymous"]
    refused = CliRunner().invoke(cli, arguments)
    assert refused.exit_code == 2
    assert "leave out --against" in refused.output


def test_anonymous_numbers_are_stable_and_in_random_order(tmp_path: Path):
    """Every report has the same numbers, and new submissions get new ones.

    Their order is not the order of the class.
    """
    results = Store.read(store_talkative_class(tmp_path / "results", 30))
    first = numbered(results)
    assert numbered(results) == first
    with Store.open(tmp_path / "results", "attention") as store:
        for place, (grade, _) in enumerate(a_talkative_class(40)):
            add(store, grade, "key", place)
    later = numbered(Store.read(tmp_path / "results"))
    assert later.items() >= first.items()
    assert len(set(later.values())) == 40
    assert [*later.values()] != sorted(later.values())
    again = numbered(Store.read(store_talkative_class(tmp_path / "elsewhere", 30)))
    assert again != first


def test_no_anonymous_number_equals_a_persons_id(tmp_path: Path):
    """Tables of times and earlier decisions use ids, which must keep their meaning."""
    results = Store.read(store_talkative_class(tmp_path / "results", 6))
    people = {
        name: [replace(author, id=str(100 + place)) for author in own]
        for place, (name, own) in enumerate(results.people.authors.items())
    }
    absentees = [Author(f"Absent {place}", str(place)) for place in range(200, 1000)]
    with Store.open(tmp_path / "results", results.assignment) as store:
        store.set_people(People(people, absentees=absentees))
    numbers = set(numbered(Store.read(tmp_path / "results")).values())
    assert numbers.isdisjoint([*range(100, 106), *range(200, 1000)])


def test_an_anonymous_report_has_the_same_points(tmp_path: Path):
    """Decisions by name, by address or for everyone give the same points in an anonymous report."""
    folder = store_talkative_class(tmp_path / "results", 12)
    results = Store.read(folder)
    name, other = [*results.people.authors][:2]
    (folder / "decisions.toml").write_text(
        f'[[points]]\nperson = "{name}"\nby = 1\nreason = "right"\n'
        f'[[excused]]\nperson = "{results.people.authors[other][0].email}"\n'
        f'[[points]]\nperson = "everybody"\nby = 0.5\nreason = "a bad test"\n'
    )
    blind = AnonymousResults.of(results)
    seen = open_settling(results)
    unseen = open_settling(blind)
    for grade in blind.grades():
        own = blind.mask.names[grade.submission]
        named = results.grade(own)
        assert named is not None
        (known,), (unknown,) = seen.settle(named), unseen.settle(grade)
        assert (known.hundredths, known.excused) == (unknown.hundredths, unknown.excused)
        assert len(known.changes) == len(unknown.changes)
        assert unknown.people == (Author(grade.submission),)


@pytest.mark.parametrize("said", ["{number}", "Submission {number}", "submission {number}"])
def test_a_decision_accepts_an_anonymous_number(tmp_path: Path, said: str):
    """The decision reaches the person with that number. Neither output nor file has the name."""
    folder = store_talkative_class(tmp_path / "results", 12)
    results = Store.read(folder)
    name, number = next(iter(numbered(results).items()))
    done = run_grader(
        "decide", folder, "points", said.format(number=number), "+1", "--reason", "right"
    )
    assert done.exit_code == 0
    written = (folder / "decisions.toml").read_text("utf-8")
    assert f'"Submission {number}"' in written
    assert not [word for word in all_names(results) if word in done.output + written]
    grade = results.grade(name)
    assert grade is not None
    (settled,) = open_settling(results).settle(grade)
    assert [change.hundredths for change in settled.changes] == [100]
    assert settled.people == results.people.authors[name]
    listed = run_grader("decide", folder, "list", "--anonymous").output
    assert f"Submission {number}" in listed
    assert not [word for word in all_names(results) if word in listed]


def test_a_number_that_is_also_an_id_is_refused(tmp_path: Path):
    """Such a decision could otherwise go to the wrong student."""
    folder = store_talkative_class(tmp_path / "results", 3)
    name, number = next(iter(numbered(Store.read(folder)).items()))
    with Store.open(folder, "attention") as store:
        authors = dict(store.people.authors)
        other = next(own for own in authors if own != name)
        store.set_people(People(authors | {other: (Author("Zoë Roe", str(number)),)}))
    arguments = ["decide", str(folder), "comment", str(number), "hello"]
    refused = CliRunner().invoke(cli, arguments)
    assert "submission's number in an anonymous report, and" in str(refused.exception)


def test_an_export_after_anonymous_decisions_has_the_names(tmp_path: Path):
    """Numbers are for reading only: an export has names, and the decided points."""
    folder = store_talkative_class(tmp_path / "results", 6)
    name, number = next(iter(numbered(Store.read(folder)).items()))
    run_grader("decide", folder, "points", number, "3", "--reason", "by hand")
    table = run_grader("export", folder, "--format", "csv").output
    (row,) = [line for line in table.splitlines() if name in line]
    assert re.search(r"\b3\b", row)


def test_ordinary_words_that_equal_names_are_not_masked():
    """A student called Max does not change `max` in all code, and short numbers stay too."""
    mask = Mask({"max": 100, "doe.jane": 200}, People({"max": (Author("Max", "12", "max@x.edu"),)}))
    code = "y = torch.max(x, 12)  # by doe.jane, Doe Jane and max@x.edu"
    shown = "y = torch.max(x, 12)  # by Submission 200, Submission 200 and Submission 100"
    assert mask.text(code) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("some values are wrong (+1 more)", "some values are wrong (+1 more)"),
        ("wrong: wrong.", "wrong: wrong."),
        ("wrong.py:3, /home/wrong/a.py", "Submission 100.py:3, /home/Submission 100/a.py"),
        ('"Wrong" wrote to wrong@x.edu', '"Submission 100" wrote to Submission 100@x.edu'),
        ("wrong", "Submission 100"),
        ("by Anna, by jdoe, by bob2", "by Submission 200, by Submission 300, by Submission 400"),
    ],
)
def test_an_ordinary_word_as_a_name_leaves_messages_alone(text: str, shown: str):
    """If its people are unknown, only files, addresses and quoted names are masked."""
    people = {"anna": (Author("Anna Lee"),), "jdoe": (Author("Jo Doe", "jdoe"),)}
    mask = Mask({"wrong": 100, "anna": 200, "jdoe": 300, "bob2": 400}, People(people))
    assert mask.text(text) == shown


@pytest.mark.parametrize("submission", ["1.2", "to be", "2,5"])
def test_two_short_words_that_equal_a_folder_are_not_masked(submission: str):
    """Two short words are masked only if the roster says that they are a name."""
    mask = Mask({submission: 100, "bo-li": 200}, People({"bo-li": (Author("Bo Li"),)}))
    text = f"{submission} in all, by Bo Li"
    assert mask.text(text) == f"{submission} in all, by Submission 200"
    mask.add("Yu Xu", (Author("Yu Xu"),), "Submission 300")
    assert mask.text("Xu, Yu") == "Submission 300"


def test_a_name_joined_by_canvas_is_masked_when_written_as_two_words():
    """Canvas's name is `doejane`, but students sign their code with both words."""
    mask = Mask({"doejane_123": 417}, People({"doejane_123": (Author("doejane", "1230"),)}))
    assert mask.text("# (c) Jane Doe, 2026") == "# (c) Submission 417, 2026"
    assert mask.text("# Doe, Jane") == "# Submission 417"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("by Jane van der Doe.", "by Submission 200."),
        ("van der Doe, Jane!", "Submission 200!"),
        ("Doe, Jane van der", "Submission 200"),
        ("Jane Doe", "Jane Doe"),
        ("id 4711, not 12 or Bo", "id Submission 200, not 12 or Bo"),
        ("Jane@X.edu, ANN-LEE", "Submission 200, Submission 300"),
        ("doejane_1/a.py of Wanda Absent", "Submission 200/a.py of Absent 1"),
        ("Absent, Wanda", "Absent 1"),
        ("Mary Ann Smith, MaryAnn Smith", "Submission 400, Submission 400"),
        ("(Smith Mary Ann) (Ann Smith Mary)", "(Submission 400) (Submission 400)"),
        ("Ma ry Ann Smith", "Ma ry Ann Smith"),
        ("Jo Doe", "Jo Doe"),
        ("def x(): ...", "def x(): ..."),
        # Code, or the end of a line, between the words makes them no name.
        ("mary = ann(smith)", "mary = ann(smith)"),
        ("# Mary\n# Ann\n# Smith", "# Mary\n# Ann\n# Smith"),
        ("", ""),
    ],
)
def test_a_name_is_masked_in_every_order_of_its_words(text: str, shown: str):
    """A short name or number that stands alone may be anything, and is kept."""
    people = {
        "doejane_1": (Author("Jane van der Doe", "4711", "jane@x.edu"),),
        "ann-lee": (Author("Bo", "12", ""),),
        "s3": (Author("maryannsmith"), Author("jodoe")),
    }
    numbers = {"doejane_1": 200, "ann-lee": 300, "s3": 400}
    mask = Mask(numbers, People(people, absentees=(Author("Wanda Absent"),)))
    assert mask.text(text) == shown


@pytest.mark.parametrize("name", ["José Núñez", "Hoàng Thị Ngọc"])
@pytest.mark.parametrize(("known", "written"), [("NFC", "NFD"), ("NFD", "NFC"), ("NFC", "NFC")])
def test_a_name_with_accents_is_masked(
    name: str, known: Literal["NFC", "NFD"], written: Literal["NFC", "NFD"]
):
    """Accents are characters of their own in file names of macOS."""
    mask = Mask({"s": 200}, People({"s": (Author(unicodedata.normalize(known, name)),)}))
    text = unicodedata.normalize(written, f"# “{name}” × 2 \u26a0\ufe0f{name}")
    assert mask.text(text) == "# “Submission 200” × 2 \u26a0\ufe0fSubmission 200"


@pytest.mark.parametrize("gap", [": ", "\n", " = "])
def test_a_name_is_masked_also_where_a_longer_one_is_interrupted(gap: str):
    """A submission `anna` is named in `anna: smith`, although Anna Smith is not."""
    people = {"s": (Author("Anna Smith"),), "anna": (Author("Anna Lee"),)}
    mask = Mask({"anna": 200, "s": 300}, People(people))
    assert mask.text(f"anna{gap}smith (anna smith)") == f"Submission 200{gap}smith (Submission 300)"


def test_a_mask_covers_the_texts_of_any_plain_data():
    """Numbers and enumerations stay as they are."""
    mask = Mask({"ann-lee": 300}, People())
    excerpt = Excerpt("ann-lee.py", 3, ("# ann-lee", "x = 1"))
    assert mask.over(excerpt) == Excerpt("Submission 300.py", 3, ("# Submission 300", "x = 1"))
    assert mask.over({"ann-lee": ("ann-lee", 2)}) == {"ann-lee": ("Submission 300", 2)}
    assert mask.over((0.5, 1.5)) == (0.5, 1.5)
    assert mask.over(()) == ()
    verdict = a_submission(suite(), 0, random.Random(0)).tests[0]
    masked = mask.over(verdict._replace(message="by ann-lee"))
    assert (masked.message, masked.status) == ("by Submission 300", verdict.status)
    assert type(masked) is type(verdict)


def test_an_absentee_has_one_label_in_a_decision_and_its_effect(tmp_path: Path):
    """Another absentee, to whom a submission is given, moves nobody to another number."""
    folder = store_talkative_class(tmp_path / "results", 2)
    with Store.open(folder, "attention") as store:
        name = next(iter(store.people.authors))
        absent = Author("Wanda Absent"), Author("Zoë Away")
        store.set_people(People(store.people.authors, absentees=absent))
    (folder / "decisions.toml").write_text(
        f'[[whose]]\nsubmission = "{name}"\nperson = "Wanda Absent"\n\n'
        '[[excused]]\nperson = "Zoë Away"\nreason = "ill"\n'
    )
    results = AnonymousResults.of(Store.read(folder))
    effect = effects(results, open_settling(results))[1]
    assert effect.words == "excused: Absent 2: ill"
    assert effect.lines == ["Absent 2: excused, handed in nothing"]


def test_a_huge_numeric_id_takes_no_number(tmp_path: Path):
    """Python refuses to read thousands of digits."""
    folder = store_talkative_class(tmp_path / "results", 2)
    with Store.open(folder, "attention") as store:
        absent = (Author("Wanda", "9" * 5000), Author("Zoë", "not a number"))
        store.set_people(People(store.people.authors, absentees=absent))
    assert len(numbered(Store.read(folder))) == 2


def test_a_file_named_after_its_author_is_masked(tmp_path: Path):
    """The name of a notebook appears in every place that a report shows."""
    folder = store_talkative_class(tmp_path / "results", 3)
    with Store.open(folder, "attention") as store:
        name = next(iter(store.people.authors))
        store.remember(
            downloads={name: (f"{name}_4567_jane-doe.ipynb", f"{name}_4568_adapters.py")}
        )
    mask = AnonymousResults.of(Store.read(folder)).mask
    assert mask.text("jane-doe.ipynb/cell 3:4") == "handed-in.ipynb/cell 3:4"
    assert mask.text("adapters.py:2") == "adapters.py:2"


def test_a_file_named_like_a_message_leaves_the_message_alone(tmp_path: Path):
    """One student's file would otherwise take words out of everybody's report."""
    folder = store_talkative_class(tmp_path / "results", 3)
    said = "your activation is the sigmoid alone"
    with Store.open(folder, "attention") as store:
        name = next(iter(store.people.authors))
        files = (said.replace(" sigmoid", ".sigmoid"), f"{said}.py", "is the.py")
        store.remember(
            downloads={name: tuple(f"{name}_456{n}_{file}" for n, file in enumerate(files))}
        )
    mask = AnonymousResults.of(Store.read(folder)).mask
    assert mask.text(f"run_silu: {said} (model.py:3)") == f"run_silu: {said} (model.py:3)"
    assert mask.text(f"{said}.py:3") == "handed-in.py:3"


@pytest.mark.process
def test_anonymous_similarity_pages_contain_no_name(tmp_path: Path):
    """The list and the pages hold no name of this class."""
    from grader.intake.discovery import discover

    source = "import torch\n\n\ndef run_x(q, k):\n    s = q @ k.mT / q.shape[-1] ** 0.5\n"
    source += "    s = s.softmax(-1)\n    return torch.tril(s) / s.sum(-1, keepdim=True)\n"
    for name in ("jane-doe", "john-roe", "ann-poe"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / f"{name}.py").write_text(f"# by {name}\n{source}")
    folder = tmp_path / "results"
    with Store.open(folder, "attention") as store:
        rng = random.Random(1)
        for place, entry in enumerate(discover([tmp_path / "class"]).entries):
            grade = a_submission(suite(8, 3), place, rng)
            add(store, replace(grade, submission=entry.name), "key", place)
        store.remember(paths=[str(tmp_path / "class")])
    done = run_grader("alike", folder, "--anonymous", "--assignment", ROOT)
    pages = [*(folder / "alike-anonymous").rglob("*.html")]
    assert len(pages) == 4
    text = done.output + "\n".join(path.read_text("utf-8") for path in pages)
    assert "Submission" in text
    assert not re.search("jane|doe|john|roe|ann-|poe", text)


def test_page_file_names_of_an_anonymous_report_contain_no_name(tmp_path: Path):
    """The file name of a page consists of the number and a digest that uses no name."""
    blind = AnonymousResults.of(Store.read(store_talkative_class(tmp_path / "results", 4)))
    for grade in blind.grades():
        page = Graded.of(grade).page
        assert page.startswith(grade.submission.lower().replace(" ", "-"))
