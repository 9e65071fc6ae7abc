"""Groups of equal wrong answers and people, as a terminal lists them."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console

from grader.core.explanation import WrongAnswer, WrongAnswers
from grader.core.submission import Author
from grader.core.verdict import Diagnosis
from grader.core.wire.value_rows import as_tensor
from grader.core.wire.values import Named, Value
from grader.explain.mistakes.clusters import AnswerCluster
from grader.explain.mistakes.named_mistakes import NamedMistake
from grader.reports.summary import (
    case_in_words,
    heading,
    in_words,
    labelled,
    print_summary,
)
from grader.results.decisions.opening import open_settling
from grader.results.results import Results
from tests.harness.export_fixtures import a_batch, not_graded, scored, unreadable

pytestmark = pytest.mark.unit


def answers(
    *numbers: float, exercise: str = "run_x", tests: str = "a", **more: str
) -> WrongAnswers:
    """Returns answers to tests of these names, the first of which has the smallest inputs."""
    return WrongAnswers(
        exercise,
        tuple(
            WrongAnswer(
                f"t.py::{test}", 0, True, (len(numbers),), numbers, (1e-6, 1e-5), f"x{size}", size
            )
            for size, test in enumerate(tests, 1)
        ),
        more.get("suspicion"),
    )


def a_group(wrong: WrongAnswers, *members: str) -> AnswerCluster:
    group = AnswerCluster(wrong.exercise, wrong)
    for member in members:
        group.add(member, wrong)
    return group


RESULTS = Path("some/results")
TWO = a_group(answers(1.5, 2.0, suspicion="a.py:3 takes half"), "ann", "bob")
ONE = a_group(answers(3.0), "cem")
NAMED = NamedMistake(Diagnosis("half", "You take half.", "How much?"), TWO.answers)


def test_a_group_is_listed_with_its_members_tests_and_smallest_case():
    """A group of one is only counted."""
    assert [*in_words([TWO, ONE], [], RESULTS)] == [
        f"{TWO.id}  2 submissions answer alike in run_x: a.py:3 takes half?",
        "    who:   ann, bob",
        "    tests: a",
        "    case:  for x1 the answer is a tensor of shape [2]: 1.5, 2",
        "",
        "1 submission answers like nobody else",
        f'To name a group: grader mistakes some/results name {TWO.id} ID --sentence "Your …" '
        '--hint "…?"',
    ]


def test_a_class_whose_groups_are_named_has_none_to_name():
    """The line about naming would lead nowhere."""
    said = [*in_words([TWO, ONE, ONE], [NAMED], RESULTS)]
    assert said[0] == f"{TWO.id}  2 submissions answer alike in run_x: named half"
    assert said[-1] == "2 times a submission answers like nobody else"
    (none,) = in_words([], [], RESULTS)
    assert none == "There is no group: no wrong answers without a name can be compared."
    assert [*in_words([TWO], [NAMED], RESULTS)][-1] == ""


def test_submissions_without_an_explanation_are_counted():
    """After `grader batch --no-explain`, no mistake is known, and none may be denied."""
    (said,) = in_words([], [], RESULTS, unexplained=2)
    assert said.startswith("2 submissions are not fully explained yet")
    assert said.endswith(": grader explain some/results")


def test_a_large_group_is_cut_and_counted():
    """A group has six names, four tests and six numbers; other exercises follow."""
    wrong = answers(*range(7), tests="abcde")
    group = a_group(wrong, *"abcdefg")
    group.also.append(a_group(answers(1, exercise="run_y"), *"abcdefg"))
    assert [*in_words([group], [], RESULTS)][1:5] == [
        "    who:   a, b, c, d, e, f and 1 more",
        "    also:  run_y",
        "    tests: a, b, c, d and 1 more",
        "    case:  for x1 the answer is a tensor of shape [7]: 0, 1, 2, 3, 4, 5, …",
    ]
    bare = WrongAnswer("whole", 0, True, (), (0.123456,), (0, 0), "", 0)
    (_, _, tests, case, *_) = in_words(
        [a_group(WrongAnswers("run_x", (bare,)), "a", "b")], [], RESULTS
    )
    assert (tests, case) == (
        "    tests: whole",
        "    case:  an answer is 0.1235",
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no", "'no'"),
        (["no", [1, 0.25]], "['no', [1, 0.25]]"),
        ([-1.004e9, 3], "a tuple, list or set"),
        (b"no", "of type bytes"),
        ((1.0, torch.ones(3)), "a tuple, list or set"),
        ({"weight": torch.ones(2)}, "a dict"),
        (Named("State", {"step": 1}), "[1]"),
        (torch.tensor([1.0, 2.0]), "a tensor of shape [2]: 1, 2"),
    ],
)
def test_an_answer_that_is_no_tensor_is_told_by_its_kind(value: Value, said: str):
    """The numbers that stand for it are no values of it."""
    row = tuple(as_tensor(value).tolist())
    assert case_in_words(answers(*row).answers[0]) == f"for x1 the answer is {said}"


def test_a_heading_names_the_mistake_or_asks():
    """A suspicion is no certainty."""
    assert heading(TWO, None) == "2 submissions answer alike in run_x: a.py:3 takes half?"
    assert heading(ONE, "half") == "1 submission answers in run_x: named half"


@pytest.mark.parametrize(
    ("authors", "label"),
    [
        ([], "sub"),
        ([Author(id="7")], "sub"),
        ([Author("Ann", "7", "a@x.edu")], "Ann (sub)"),
        ([Author("", "7", "a@x.edu")], "a@x.edu (sub)"),
        ([Author(name) for name in "abc"], "a, b, c (sub)"),
        ([Author(name) for name in "abcde"], "a, b, c and 2 more (sub)"),
    ],
)
def test_a_submission_is_labelled_with_its_people(authors: list[Author], label: str):
    """An id alone tells nobody who it is."""
    assert labelled("sub", authors) == label


def test_a_person_is_called_by_name_address_or_id():
    """The first that is known."""
    people = Author("Ann", "7", "a@x.edu"), Author("", "7", "a@x.edu"), Author("", "7")
    assert [person.called for person in people] == ["Ann", "a@x.edu", "7"]


def printed(results: Results) -> list[str]:
    """Returns the lines of a summary with final points, without the width of columns."""
    paper = io.StringIO()
    print_summary(results, open_settling(results), Console(file=paper, width=120))
    return [" ".join(line.split()) for line in paper.getvalue().splitlines()]


def test_a_row_has_the_final_points_of_its_people(tmp_path: Path):
    """Members of a group may differ; a name that is not unique stands with its submission."""
    alice = Author("Alice Apple", "11")
    results = a_batch(
        tmp_path,
        scored("one", 4, 6),
        scored("two", 1, 1),
        scored("group", 2, 2),
        unreadable("bea"),
        unreadable("cem"),
        not_graded("dan"),
        replace(not_graded("eva"), max_score=10.0),
        authors={"one": [alice], "two": [alice], "group": [Author("Jane Doe"), Author("Bob Roe")]},
    )
    (tmp_path / "decisions.toml").write_text(
        '[[taken_instead]]\nperson = "11"\nsubmission = "two"\n'
        '[[points]]\nperson = "Jane Doe"\nby = 1\nreason = "r"\n'
        '[[points]]\nperson = "cem"\nto = 3\nreason = "r"\n'
        '[[points]]\nperson = "eva"\nto = 5\nreason = "r"\n'
    )
    lines = printed(results)
    for row, expected in enumerate(
        (
            "Alice Apple (one) another was taken instead ",
            "Alice Apple (two) 2 / 10 ",
            "Jane Doe, Bob Roe 4–5 / 10 ",
            "bea unreadable the zip is empty",
            "cem 3 / 10 the zip is empty",
            "dan not graded the judge was lost twice",
            "eva 5 / 10 the judge was lost twice",
        )
    ):
        assert lines[row].startswith(expected)
    assert lines[8] == (
        "7 submissions: 3 graded, 2 unreadable, 2 not graded; mean 3.67, median 4 of 10 points of "
        "those graded"
    )
    assert lines[9].startswith("4 scores are not the sum of the tests alone")


def test_five_submissions_without_a_grade_are_listed_and_the_others_counted(tmp_path: Path):
    """A broken machine may fail a whole class."""
    for count, more in ((5, []), (7, ["and 2 more"])):
        results = a_batch(tmp_path / str(count), *(not_graded(f"s{n}") for n in range(count)))
        lines = [line.strip("│ ") for line in printed(results)]
        assert [line for line in lines if line.endswith(": the judge was lost twice")] == [
            f"s{n}: the judge was lost twice" for n in range(5)
        ]
        assert [line for line in lines if line.startswith("and ")] == more
        assert any(f"{count} NOT GRADED" in line for line in lines)
