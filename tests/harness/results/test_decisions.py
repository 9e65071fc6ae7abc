"""Instructors' decisions lie in a file of their own, and every wrong line of it is reported."""

from __future__ import annotations

import datetime
import errno
import fcntl
import random
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader.core.submission import Author
from grader.results.anonymous import numbered
from grader.results.decisions.decision import (
    BadDecisions,
    ClassList,
    DecisionKind,
    UnknownName,
    Whom,
)
from grader.results.decisions.file import FORMS, append_decision, read_decisions, remove_decision
from grader.results.decisions.opening import open_settling
from grader.results.decisions.settling import effects
from grader.results.store import Store
from tests.harness.export_fixtures import a_batch, scored

pytestmark = pytest.mark.unit

ALICE, JANE, BOB = Author("Alice Apple", "11"), Author("Jane Doe", "12"), Author("Bob Roe", "13")
HAND_WRITTEN = """
# a text that looks like a table's first line is none
[[points]]
person = "alice"   # as in the list
exercise = "run_rope"
to = 2.5
reason = '''
the stub said so:
[[points]]
'''

[[excused]]
person = "Bob Roe"
"""


def write_decisions(folder: Path, text: str) -> Path:
    file = folder / "decisions.toml"
    file.write_text(text, encoding="utf-8")
    return file


def refusal(folder: Path, text: str) -> str:
    """Returns the message that refuses a file."""
    with pytest.raises(BadDecisions) as refused:
        read_decisions(write_decisions(folder, text))
    return str(refused.value)


def a_class(folder: Path):
    return a_batch(
        folder,
        scored("alice", 4, 2),
        scored("group 1", 0, 6),
        authors={"alice": [ALICE], "group 1": [JANE, BOB]},
    )


def test_a_handwritten_decision_is_read_with_its_line(tmp_path: Path) -> None:
    """Reports name the line, so that a reader finds the decision at once."""
    points, excused = read_decisions(write_decisions(tmp_path, HAND_WRITTEN))
    assert (points.kind, excused.kind) == (DecisionKind.POINTS, DecisionKind.EXCUSED)
    assert (points.person, points.to, points.source) == ("alice", 250, "decisions.toml:3")
    assert excused.source == "decisions.toml:12"


def test_a_missing_decisions_file_means_no_decisions(tmp_path: Path) -> None:
    """Most classes need no decisions."""
    assert read_decisions(tmp_path / "decisions.toml") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[point]]\nperson = "a"', "decisions.toml:1: nothing is decided by [[point]]: did you"),
        ('\n[[comment]]\nperson = "a"', "decisions.toml:2: [[comment]] needs 'text'"),
        (
            '[[comment]]\nperson = "a"\ntekst = "b"',
            "decisions.toml:1: [[comment]] knows no 'tekst': did you mean text?",
        ),
        ('[[points]]\nto = 1.234\nperson = "a"\nreason = "r"', ":1: to must be whole hundredths"),
        ('[[excused]]\nperson = "a\n', "decisions.toml:2: this is not TOML"),
        ('person = "a"', "decisions.toml:1: 'person' stands in no decision"),
        (
            'excused = [{person = "a"}, {person = "b"}]',
            "decisions.toml:1: 'excused' stands in no decision: each begins with a line such as",
        ),
        (
            "[[excused]]\n<<<<<<< mine\n",
            "decisions.toml:2: this is not TOML",
        ),
    ],
)
def test_a_wrong_decision_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    """A misunderstood decision would change a grade: it is never skipped."""
    assert said in refusal(tmp_path, text)


def test_all_wrong_decisions_are_reported_at_once(tmp_path: Path) -> None:
    """One run is enough to fix a file of forty decisions."""
    text = '[[excused]]\nperson = 1\n\n[[comment]]\nperson = "a"\ntext = ""\n'
    assert [line.split(" ")[0] for line in refusal(tmp_path, text).split("\n")] == [
        "decisions.toml:1:",
        "decisions.toml:4:",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[excused]]\nperson = "alicia"', "decisions.toml:1: 'alicia' is nobody of this class"),
        ('[[excused]]\nperson = "alice"\nexercise = "run_rop"', "did you mean run_rope?"),
        ('[[bonus]]\nreason = "r"\ntest = "test_value"', "no test is called 'test_value'"),
        ('[[comment]]\nperson = "everybody"\ntext = "hi"', "name the person"),
        ('[[taken_instead]]\nperson = "alice"\nsubmission = "x"', "no submission is called 'x'"),
    ],
)
def test_a_decision_about_an_unknown_person_test_or_exercise_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    """A typing error must not leave a decision without effect."""
    results = a_class(tmp_path)
    write_decisions(tmp_path, text)
    with pytest.raises(BadDecisions) as refused:
        open_settling(results)
    assert said in str(refused.value)


def test_a_decision_that_a_later_one_replaces_claims_no_effect(tmp_path: Path) -> None:
    """Otherwise the list names two submissions, each of which counts "and no other"."""
    results = a_batch(
        tmp_path,
        *(scored(name, 4, 2) for name in ("a", "b", "c")),
        authors={"a": [ALICE], "b": [BOB], "c": [JANE]},
    )
    tables = '[[taken_instead]]\nperson = "a"\nsubmission = "{}"\n\n'
    file = write_decisions(tmp_path, tables.format("b") + tables.format("c"))
    settling = open_settling(results)
    first, second = (effect.in_short() for effect in effects(results, settling))
    assert first == ["changes nobody's points"]
    assert second == ["a: gets the grade of c and of no other"]
    assert settling.taken == {"c": frozenset({f"{file.name}:5"})}


def test_a_submission_counts_for_its_owner_and_for_everybody_who_takes_it(tmp_path: Path) -> None:
    """The order of the decisions does not matter. Nothing tells who handed in "new"."""
    results = a_batch(
        tmp_path,
        *(scored(name, 4, 2) for name in ("a", "b", "new")),
        authors={"a": [ALICE], "b": [BOB]},
        absentees=[JANE],
    )
    tables = [
        *(f'[[taken_instead]]\nperson = "{who}"\nsubmission = "new"\n' for who in ("a", "Bob Roe")),
        '[[whose]]\nperson = "Jane Doe"\nsubmission = "new"\n',
    ]
    for order in (tables, tables[::-1]):
        write_decisions(tmp_path, "\n".join(order))
        settling = open_settling(results)
        (grade,) = results.grades_of(["new"])
        found = {one.name for own in settling.settle(grade) for one in own.people}
        assert found == {"Alice Apple", "Bob Roe", "Jane Doe"}


def test_a_decision_by_a_shared_name_is_refused(tmp_path: Path) -> None:
    """Only the id distinguishes them."""
    twins = [Author("Jane Doe", "1"), Author("Jane Doe", "2")]
    results = a_batch(tmp_path, scored("g", 4, 2), authors={"g": twins})
    write_decisions(tmp_path, '[[excused]]\nperson = "jane doe"\n')
    with pytest.raises(BadDecisions, match=r"2 people are called 'jane doe': give the id \(1, 2\)"):
        open_settling(results)


@pytest.mark.parametrize("is_person", [False, True])
def test_a_decision_by_a_number_that_is_somebody_elses_name_never_reaches_the_wrong_one(
    tmp_path: Path, is_person: bool
) -> None:
    """A number that is also somebody's id is refused; a submission's own name counts first."""
    number = str(numbered(a_class(tmp_path))["alice"])
    people = {"c": [Author(number)]} if is_person else {number: []}
    a_batch(tmp_path, scored("c" if is_person else number, 0, 6), authors=people)
    known = ClassList(Store.read(tmp_path))
    if is_person:
        with pytest.raises(UnknownName, match="and somebody's name or id"):
            known.whom(number)
    else:
        assert known.whom(number) == Whom(submission=number)


def test_a_later_name_changes_no_decision_about_a_reserved_one(tmp_path: Path) -> None:
    """Otherwise one student's name could stop the reports of a class, or take another's points."""
    label = f"Submission {numbered(a_class(tmp_path))['alice']}"
    results = a_batch(tmp_path, *(scored(name, 0, 6) for name in ("everybody", label)))
    tables = (
        f'[[points]]\nperson = "{who}"\nreason = "r"\nby = 7\n' for who in ("everybody", label)
    )
    write_decisions(tmp_path, "\n".join(tables))
    assert [one.whom for one in open_settling(results).decisions] == [Whom(), Whom("alice")]


def test_the_submission_of_a_reserved_name_is_reached_by_its_number(tmp_path: Path) -> None:
    """No later number is the name of a submission that is there."""
    names = ("everybody", *(f"Submission {number}" for number in range(100, 1000)))
    results = a_batch(tmp_path, *(scored(name, 4, 2) for name in names))
    numbers = numbered(results)
    assert min(numbers.values()) >= 1000
    known = ClassList(results)
    assert known.whom(str(numbers["everybody"])) == Whom("everybody")
    assert known.whom("Submission 140") == Whom("Submission 140")
    assert known.submission("Submission 140") == "Submission 140"


def test_a_comment_with_any_text_is_read_back_unchanged(tmp_path: Path) -> None:
    """A comment may hold quotes, line breaks, backslashes and any script."""
    file = tmp_path / "decisions.toml"
    texts = ['"', "a\nb", "\\u00e9 \\", "'''", '"""', "[[points]]", "é 名 😀", "\t\x7f", "# no"]
    lines = [append_decision(file, "comment", {"person": "a", "text": text}) for text in texts]
    found = [one for one in read_decisions(file) if one.kind is DecisionKind.COMMENT]
    assert [(one.line, one.text) for one in found] == [*zip(lines, texts, strict=True)]


def test_adding_or_removing_a_decision_keeps_every_other_line(tmp_path: Path) -> None:
    """The file may be under version control, and other people's lines stay theirs."""
    file = write_decisions(tmp_path, HAND_WRITTEN)
    line = append_decision(file, "comment", {"person": "a", "text": "well done"})
    assert file.read_text().startswith(HAND_WRITTEN.rstrip())
    remove_decision(file, line)
    assert file.read_text() == HAND_WRITTEN.rstrip() + "\n"
    remove_decision(file, 3)
    assert file.read_text().startswith("\n# a text that looks like")
    assert [one.kind for one in read_decisions(file)] == ["excused"]


def test_a_linked_file_of_decisions_stays_a_link(tmp_path: Path) -> None:
    """The file may lie in the course's repository."""
    file = write_decisions(tmp_path, HAND_WRITTEN)
    link = tmp_path / "results" / "decisions.toml"
    link.parent.mkdir()
    link.symlink_to(file)
    line = append_decision(link, "comment", {"person": "a", "text": "well done"})
    assert "well done" in file.read_text()
    remove_decision(link, line)
    assert link.is_symlink()
    assert file.read_text() == HAND_WRITTEN.rstrip() + "\n"


def test_a_folder_that_grants_no_lock_is_reported_in_one_sentence(tmp_path: Path, monkeypatch):
    """Some network file systems have no locks."""

    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    decision = {"person": "ann", "text": "good"}
    with pytest.raises(BadDecisions, match="cannot be written: No locks available"):
        append_decision(tmp_path / "decisions.toml", "comment", decision)


def test_decisions_that_are_written_at_once_are_all_kept(tmp_path: Path) -> None:
    """Two people of a course's staff may decide in one folder."""
    file = tmp_path / "decisions.toml"

    def decide(who: int) -> None:
        for number in range(8):
            append_decision(file, "comment", {"person": "a", "text": f"{who}.{number}"})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(decide, range(4)))
    said = {
        decision.text for decision in read_decisions(file) if decision.kind is DecisionKind.COMMENT
    }
    assert said == {f"{who}.{number}" for who in range(4) for number in range(8)}


@pytest.mark.process
@pytest.mark.skipif(shutil.which("git") is None, reason="git merges")
@pytest.mark.parametrize("seed", range(40))
def test_git_merges_decisions_of_two_people(tmp_path: Path, seed: int) -> None:
    """Both people append to one file, and git's union merge keeps both sides."""
    rng = random.Random(seed)
    base = tmp_path / "base.toml"
    base.write_text("")
    for _ in range(rng.randint(0, 3)):
        append_decision(base, *a_decision(rng, "Zoe"))
    sides = []
    for who in ("Ada", rng.choice(["Ada", "Bo"])):
        side = tmp_path / f"side{len(sides)}.toml"
        shutil.copy(base, side)
        for _ in range(rng.randint(1, 4)):
            append_decision(side, *a_decision(rng, who))
        sides.append(side)
    wanted = [*read_decisions(sides[0]), *read_decisions(sides[1])]
    subprocess.run(["git", "merge-file", "--union", sides[0], base, sides[1]], check=True)
    found = read_decisions(sides[0])
    assert {fields_of(one) for one in found} == {fields_of(one) for one in wanted}


def test_two_concatenated_decisions_files_are_a_valid_file(tmp_path: Path) -> None:
    """Instructors without version control append one file to another."""
    rng = random.Random(3)
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    for file in (one, other, one, other):
        append_decision(file, *a_decision(rng, "Ada"))
    both = write_decisions(tmp_path, one.read_text() + other.read_text())
    assert len(read_decisions(both)) == 4


def a_decision(rng: random.Random, who: str) -> tuple[str, dict[str, object]]:
    person = rng.choice(["alice", "bob", "carol"])
    when = datetime.datetime(2026, 10, 5, 12, 0, rng.randrange(60), rng.randrange(10**6))
    shared = {"who": who, "when": when, "person": person}
    if rng.random() < 0.3:
        return "comment", shared | {"text": rng.choice(["see me", "well done"])}
    part = {"exercise": rng.choice(["run_rope", "run_mha"])} if rng.random() < 0.7 else {}
    return "points", shared | part | {
        "to": rng.randint(0, 2),
        "reason": rng.choice(["typo", "bug"]),
    }


def fields_of(decision) -> tuple[object, ...]:
    """Returns the fields of a decision, without its place in the file."""
    return tuple(
        getattr(decision, name)
        for name in ("kind", "person", "who", "when", "reason", "exercise", "to", "text")
        if hasattr(decision, name)
    )


GUIDE = Path(__file__).parents[3] / "docs" / "instructors.md"
COMMAND = re.compile(r"^    \.venv/bin/grader (decide .+)$", re.MULTILINE)


@pytest.mark.process
def test_every_decide_command_of_the_guide_runs(grader, tmp_path: Path) -> None:
    """The commands run in the guide's order, and the file then holds each decision."""
    authors = {"alice": [ALICE], "bob": [BOB]}
    a_batch(tmp_path / "results", scored("alice", 1, 2), scored("bob", 4, 6), authors=authors)
    (tmp_path / "times.csv").write_text("id,submitted_at\n11,2026-10-03T12:00+02:00\n")
    commands = COMMAND.findall(GUIDE.read_text(encoding="utf-8"))
    assert len(commands) > 8
    for command in commands:
        done = grader(*shlex.split(command), cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    kinds = [one.kind for one in read_decisions(tmp_path / "results" / "decisions.toml")]
    wanted = ["points"] * 3 + ["comment", "excused", "extension", "taken_out", "times"]
    assert kinds == wanted  # the bonus was taken back


def test_the_guide_mentions_every_kind_of_decision() -> None:
    """An instructor cannot find a decision that the guide omits."""
    text = GUIDE.read_text(encoding="utf-8")
    assert not [kind for kind in FORMS if f"`{kind}`" not in text and f"[[{kind}]]" not in text]


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("points", "alicia", "2", "--reason", "r"), "'alicia' is nobody of this class: did you"),
        (("points", "alice", "run_rop", "2", "--reason", "r"), "did you mean run_rope?"),
        (("points", "alice", "many", "--reason", "r"), "the points must be a number such as 2"),
        (("points", "alice", "1.234", "--reason", "r"), "to must be whole hundredths of a point"),
        (("points", "alice", "2"), "missing option '--reason'"),
        (("extension", "alice"), "[[extension]] needs one of until and days"),
        (
            ("extension", "alice", "--until", "soon"),
            "'soon' does not match the formats",
        ),
        # A date alone would be its first second.
        (
            ("extension", "alice", "--until", "2026-10-05"),
            "'2026-10-05' does not match the formats",
        ),
        (
            ("extension", "alice", "--until", "9999-12-31T23:59"),
            "until must be in the years 100 to 9899, not 9999-12-31",
        ),
        (("times", "absent.csv"), "absent.csv"),
        (("undo", "3"), "holds 0 decisions, and none with the number 3"),
        (("taken-instead", "alice", "zoe"), "no submission is called 'zoe'"),
    ],
)
def test_a_refused_decision_is_one_sentence_and_writes_no_file(
    grader, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """The refusal has no traceback, and the exit code is 2."""
    a_class(tmp_path)
    done = grader("decide", ".", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "decisions.toml").exists()


@pytest.mark.process
def test_report_and_export_refuse_wrong_decisions(grader, tmp_path: Path) -> None:
    """The report would otherwise show points that differ from an export."""
    a_class(tmp_path)
    write_decisions(tmp_path, '[[excused]]\nperson = "nobody"\n')
    for command in (("report", "."), ("export", ".", "--format", "csv")):
        done = grader(*command, cwd=tmp_path)
        assert done.returncode == 2
        assert "decisions.toml:1: 'nobody' is nobody of this class" in done.stderr
