"""The choice among edits that fix a program, or none: silence is better than a wrong hint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
import torch

from grader.core.verdict import Aspect
from grader.core.wire.calls import Call
from grader.explain.line_words import subject_in_words, suspicion
from grader.explain.repair.choice import RepairedExercise, chosen
from grader.explain.repair.exercises import ExerciseRepair
from grader.explain.repair.proof import Changes, Proved, proved
from grader.explain.repair.questions import CheckedCall
from grader.explain.repair.search import FileEdit, Lines, RepairEdit
from grader.explain.repair.sources import EditableSources
from grader.testing.outcome import Question
from tests.harness.undoing import ATTENTION, edits_of

pytestmark = pytest.mark.unit

FILE, ADAPTERS = "blocks.py", "adapters.py"
PROGRAM = """
def blocks(length, scale):
    middle = length // 2
    return [(0, middle), (middle, length)] if length > 1 else [(0, length)]

def total(parts):
    found = parts[0] * 3
    return found

def scores(q, k):
    return [
        q * 2,
        q * 2,
        k * 2,
    ]

def alias(parts):
    weights = parts
    return weights * 2

def shifted(parts):
    moved = parts + 1
    if len(parts) > 1:
        hidden = moved * 2
    return moved

def size(parts):
    result = abs(parts)
    return result

def bounded(length, width):
    near = length + 1
    far = length * width
    return near, far

def compared(q, k):
    return scores(q, k)

def guarded(parts, least):
    if not parts:
        return 0
    elif least > 1:
        parts = parts * 2
    return parts
"""
FIRST, SECOND = frozenset({"run_a"}), frozenset({"run_b"})


@pytest.fixture(name="sources")
def _sources(tmp_path):
    (tmp_path / FILE).write_text(PROGRAM)
    return EditableSources.below(tmp_path, ATTENTION)


def edits_producing(*wanted: str, exercises: frozenset[str] = FIRST) -> list[RepairEdit]:
    """Returns edits of the program, each by the line that it produces."""
    found = {}
    for edit in edits_of(PROGRAM):
        line = edit.applied(PROGRAM).splitlines()[edit.line - 1].strip()
        found.setdefault(line, RepairEdit(FileEdit(FILE, edit), 1.0, exercises, frozenset()))
    return [found[one] for one in wanted]


CONTRARY, DROPPED = "elif least < 1:", "elif True:"


def test_a_wrong_condition_is_named(sources):
    """Only the opposite condition makes this program right."""
    choice = chosen(edits_producing(CONTRARY), sources)
    assert choice is not None
    assert choice.places[0].source == "elif least > 1:"


def test_a_condition_that_only_guards_wrong_code_is_not_named(sources):
    """If the program is right without the condition, the error is in the code behind it."""
    assert chosen(edits_producing(CONTRARY, DROPPED), sources) is None


def test_an_edit_that_also_fixes_tests_of_precision_comes_first(sources):
    """A lighter edit may get the values right, and be unstable with large inputs."""
    lighter, stable = edits_producing("found = parts[0] * 2", "middle = length * 2")
    unstable = replace(lighter, share_with_precision=0.8)
    for edits in ([unstable, stable], [stable, unstable]):
        choice = chosen(edits, sources)
        assert choice is not None
        assert [one.source for one in choice.places] == ["middle = length // 2"]


def test_swapping_queries_and_keys_in_order_is_not_suggested(sources):
    """Such a swap only compensates for another swap, which no edit undid."""
    assert chosen(edits_producing("return scores(k, q)"), sources) is None


def test_a_cheap_edit_does_not_rule_out_another_line(sources):
    """A low cost alone does not rule out the only other line."""
    slip, change = "near = length - 1", "far = length / width"
    choice = chosen(edits_producing(slip, change), sources)
    assert choice is not None
    assert len(choice.places) == 2


def words_for(one: Proved | None, test: str) -> str:
    """Returns the words for a test."""
    assert one is not None
    return one.in_words(test)


def test_an_edit_that_breaks_a_test_that_passed_fixes_nothing(sources):
    """A student would mend one test and break another."""
    choice = chosen(edits_producing("near = length - 1"), sources)
    assert choice is not None

    def passing(_changes: Changes) -> set[str]:
        return {"test a", "test b"}

    assert proved(choice, {"test a"}, {"test c"}, passing) is None
    whole = proved(choice, {"test a"}, {"test b"}, passing)
    assert " alone fixes all failed tests of the exercise." in words_for(whole, "test a")


def test_a_heavier_edit_proves_its_line_if_the_lightest_does_not(sources):
    """The lightest edit may suit the few calls of a search, and break a test."""
    edits = edits_producing("near = length - 1", "near = length / 1")
    choice = chosen(edits, sources)
    assert choice is not None

    def passing(changes: Changes) -> set[str]:
        (change,) = changes[FILE]
        return {"test a"} if "/" in change.text else set()

    whole = proved(choice, {"test a"}, (), passing)
    assert "near = length + 1" in words_for(whole, "test a")
    assert whole is not None
    assert whole.repaired.places[0].new_source == "near = length / 1"


def test_an_edit_fixes_the_exercise_only_if_it_fixes_every_failed_test(sources):
    """A test that fails only for new inputs, or did not end, may still fail."""
    choice = chosen(edits_producing("near = length - 1"), sources)
    assert choice is not None
    whole = Proved(choice, frozenset({"test a"}), frozenset())
    assert " alone fixes all failed tests of the exercise." in whole.in_words("test a")
    part = replace(whole, others=frozenset({"test b"}))
    assert "fixes this test." in part.in_words("test a")


@dataclass
class Found:
    """A search's result: likely edits, unlikely ones, and the lines that wrong calls pass."""

    found: Sequence[RepairEdit]
    passed: Mapping[str, Lines]
    unlikely: Sequence[RepairEdit] = ()
    tried: int = 0
    left_out: int = 0
    sufficed: list[bool] = field(default_factory=list)

    def chosen(
        self,
        _sources: EditableSources,
        choose: Callable[[Sequence[RepairEdit]], RepairedExercise | None],
        likely_only: bool,
    ) -> RepairedExercise | None:
        """Returns the choice among the edits that were found."""
        choice = choose(self.found)
        self.sufficed.append(likely_only or choice is not None)
        return choice if self.sufficed[-1] else choose([*self.found, *self.unlikely])


def wrong_calls(*names: str) -> dict[str, list[CheckedCall]]:
    """Returns a wrong call of each exercise."""
    call = Call("run", {})
    return {
        name: [CheckedCall(name, Question("test", 0, Aspect.VALUES, call), right=False)]
        for name in names
    }


def named_lines(
    sources: EditableSources,
    by_exercise: Mapping[str, Sequence[RepairEdit]],
    lines: Mapping[str, Lines],
    unlikely: Sequence[RepairEdit] = (),
):
    """Returns the exercises for which a line is named, with its number."""
    repair = ExerciseRepair(
        sources,
        ADAPTERS,
        lambda exercise, _: Found(
            by_exercise.get(exercise, ()), lines, unlikely if exercise == "run_a" else ()
        ),
    )
    return {
        name: attempt.choice.places[0].line
        for attempt in repair.attempts(wrong_calls("run_a", "run_b"))
        if attempt.choice is not None
        for name in attempt.fixed
    }


FACTOR = "found = (parts[0] * 3) / 2"
SHARED = {"run_a": frozenset({(FILE, 7)}), "run_b": frozenset({(FILE, 7), (FILE, 8)})}
APART = {"run_a": frozenset({(FILE, 7)}), "run_b": frozenset({(FILE, 18)})}


def test_a_large_edit_that_leaves_exercises_on_its_lines_wrong_is_ignored(sources):
    """A large edit that fixes one exercise, but not another on the same lines, is not the slip."""
    assert named_lines(sources, {"run_a": edits_producing(FACTOR)}, SHARED) == {}


def test_a_large_edit_that_leaves_exercises_on_other_lines_wrong_is_named(sources):
    """An exercise that runs other lines has its own mistake."""
    assert named_lines(sources, {"run_a": edits_producing(FACTOR)}, APART) == {"run_a": 7}


def test_a_plain_slip_is_named_whatever_else_is_wrong(sources):
    """Several mistakes in one program are common."""
    plain = edits_producing("found = parts[0] * 4")
    assert named_lines(sources, {"run_a": plain}, SHARED) == {"run_a": 7}


def test_a_doubtful_edit_is_doubtful_for_every_exercise_that_it_fixes(sources):
    """If four lines could be wrong, none is named, not even where only one of them was tried."""
    four = ("found = parts[0] * 4", "return weights * 3", "k * 3,", "far = length / width")
    every, one = (edits_producing(*lines, exercises=FIRST | SECOND) for lines in (four, four[:1]))
    assert named_lines(sources, {"run_a": every, "run_b": one}, SHARED) == {}


def test_three_lines_that_are_equally_likely_are_all_told(sources):
    """Each was seen to fix the exercise, and nothing else tells them apart."""
    three = ("found = parts[0] * 4", "return weights * 3", "far = length / width")
    choice = chosen(edits_producing(*three), sources)
    assert choice is not None
    assert [place.line for place in choice.places] == [7, 19, 33]
    assert "Changing one of these lines fixes this test." in choice.in_words(is_all=False)
    assert choice.in_words().startswith(
        "Check a constant at blocks.py:7, or a constant at blocks.py:19, or an operator at "
        "blocks.py:33.\nChanging one of these lines fixes all failed tests of the exercise."
    )


def test_unlikely_edits_are_tried_if_likely_ones_name_no_line(sources):
    """An edit that fixes an exercise by chance does not end the search."""
    unlikely = edits_producing("found = parts[0] * 4")
    (heavy,) = edits_producing("far = length / width")
    edit = replace(heavy.made.edit, cost=3.0)
    by_chance = {"run_a": [replace(heavy, made=FileEdit(FILE, edit))]}
    assert named_lines(sources, by_chance, APART) == {}
    assert named_lines(sources, by_chance, APART, unlikely) == {"run_a": 7}


def test_unlikely_edits_are_not_tried_if_likely_ones_name_a_line(sources):
    """More trials would only cost time."""
    plain, other = edits_producing("found = parts[0] * 4"), edits_producing("return weights * 3")
    assert named_lines(sources, {"run_a": plain}, APART, other) == {"run_a": 7}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_size_is_not_named_if_only_another_dtype_is_wrong(sources, dtype):
    """Another size can take a way around the operation that refuses the dtype."""
    search = Found(edits_producing("found = parts[0] * 2"), APART)
    asked = [
        CheckedCall(
            "run_a", Question("test", 0, Aspect.VALUES, Call("run_a", {"x": x})), right=is_right
        )
        for x, is_right in ((torch.ones(2), True), (torch.ones(2, dtype=dtype), False))
    ]
    repair = ExerciseRepair(sources, ADAPTERS, lambda *_: search)
    (attempt,) = repair.attempts({"run_a": asked})
    assert (attempt.choice is None) is (dtype is torch.bfloat16)


def unfixed_exercises(
    sources: EditableSources, lines: Mapping[str, Lines], *names: str
) -> dict[str, bool]:
    """Returns the exercises that are searched without success, and whether unlikely edits too."""
    searches: dict[str, Found] = {}
    repair = ExerciseRepair(
        sources, ADAPTERS, lambda name, *_: searches.setdefault(name, Found((), lines))
    )
    list(repair.attempts(wrong_calls(*names)))
    return {name: True not in one.sufficed for name, one in searches.items()}


def test_the_search_soon_gives_up_on_lines_that_no_edit_fixes(sources):
    """One slip that no edit undoes affects every exercise that builds on it."""
    names = ("run_a", "run_b", "run_c", "run_d", "run_e")
    shared = frozenset({(FILE, 7)})
    lines = dict.fromkeys(names, shared) | {"run_e": frozenset({(FILE, 18)})}
    every = {"run_a": True, "run_b": False, "run_c": False, "run_e": True}
    assert unfixed_exercises(sources, lines, *names) == every


def test_a_missing_call_is_mentioned_only_by_name():
    """The words "a call" without a name help no student, and a replaced call is not missing."""
    name = subject_in_words("a call that is missing", "return x / s", "return x.exp() / s")
    assert suspicion([name], ["a.py:3"]) == "A call of `exp` may be missing at a.py:3."
    two = subject_in_words("a call that is missing", "y = x", "y = x.exp().sum()")
    other = subject_in_words("a call that is missing", "y = x", "y = (-x)")
    assert {suspicion([one], ["a.py:3"]) for one in (two, other)} == {"Check a.py:3."}
    assert suspicion([name, other], ["a.py:3", "b.py:4"]) == "Check a.py:3 or b.py:4."


def test_two_suspected_lines_each_get_their_own_subject():
    """The two places make one sentence, also if something is missing at one of them."""
    said = "Check a constant at a.py:3, or whether a factor is missing at b.py:4."
    assert suspicion(["a number", "a factor that is missing"], ["a.py:3", "b.py:4"]) == said
